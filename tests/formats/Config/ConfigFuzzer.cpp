// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a configuration: both readers agree, every accessor returns, and the result
/// can be written and read again.
#include "formats/Config/Config.h"
#include "formats/Config/Json.h"
#include "tests/Fuzzing/JsonMutation.h"

using namespace heddle;
using fuzzing::require;

/// Calls every accessor for every key.
static void walk(const Config &config) {
  for (const std::string &key : config.keys()) {
    (void)config.integer(key, 1, 1 << 20);
    (void)config.integerOr(key, INT64_MIN, INT64_MAX, 0);
    (void)config.number(key, 0, 1);
    (void)config.string(key);
    (void)config.boolean(key);
    (void)config.oneOf(key, {"gelu", "relu"});
    (void)config.strings(key);
    if (const Result<Config> inner = config.object(key); inner.ok()) {
      walk(*inner);
    }
  }
}

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJson)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const auto value = parseJson(text, "input");
  const auto ordered = parseOrderedJson(text, "input");
  require(value.ok() == ordered.ok());
  if (!value.ok()) {
    require(value.status().message().starts_with("input: "));
    return 0;
  }
  const auto again = parseJson(value->dump(), "again");
  require(again.ok() && *again == *value);
  if (const Result<Config> config = Config::parse(text, "input"); config.ok()) {
    walk(*config);
  }
  return 0;
}
