// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a template. A parsed template renders, or fails with a place; both are
/// deterministic and within the given limits.
#include "formats/Template/Template.h"

#include "tests/formats/Template/TemplateMutation.h"

#include <nlohmann/json.hpp>

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateTemplate)

static const nlohmann::ordered_json &variables() {
  static const nlohmann::ordered_json values = {
      {"messages",
       {{{"role", "user"}, {"content", " Grüße "}}, {{"role", "assistant"}, {"content", nullptr}}}},
      {"s", "a b\nc"},
      {"n", 3},
      {"l", {3, 1.5, "x", true}},
      {"d", {{"b", 1}, {"a", {{"c", 2}}}}},
      {"add_generation_prompt", true}};
  return values;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const Result<chat::Template> parsed = chat::Template::parse(text);
  if (!parsed.ok()) {
    require(parsed.status().code() == StatusCode::InvalidArgument);
    return 0;
  }
  const chat::RenderOptions options{.now = std::tm{}, .steps = 20'000, .bytes = 50'000};
  const Result<std::string> rendered = parsed->render(variables(), options);
  const Result<std::string> again = parsed->render(variables(), options);
  require(rendered.ok() == again.ok());
  if (!rendered.ok()) {
    require(rendered.status().message() == again.status().message());
    require(rendered.status().message().starts_with("line "));
  } else {
    require(*rendered == *again && rendered->size() <= options.bytes);
  }
  return 0;
}
