// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a model.bin: an error, or variables that satisfy the reader's guarantees.
#include "formats/Checkpoint/CTranslate2File.h"
#include "formats/Checkpoint/Convert.h"
#include "tests/Fuzzing/RecordMutation.h"

#include <cmath>

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateCTranslate2)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto contents = parseCTranslate2(file, "input");
  if (!contents.ok()) {
    require(contents.status().message().starts_with("input: "));
    return 0;
  }
  require(contents->places.size() == contents->variables.size());
  for (const StoredTensor &variable : contents->variables) {
    require(contents->variables[contents->places.at(variable.name)].name == variable.name);
    require(variable.bytes.data() >= file.data());
    require(variable.bytes.data() + variable.bytes.size() <= file.data() + file.size());
    require(byteSize(variable.dtype, variable.shape) == variable.bytes.size());
    std::vector<float> values(variable.bytes.size() / infoOf(variable.dtype).bytes());
    if (variable.scales.empty()) {
      (void)convertToF32(variable.dtype, variable.bytes, values);
      continue;
    }
    require(convertScaledToF32(variable.dtype, variable.bytes, variable.scales, values).ok());
    for (const float value : values) {
      require(!std::isnan(value));
    }
  }
  return 0;
}
