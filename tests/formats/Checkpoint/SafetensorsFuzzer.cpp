// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a safetensors file: an error, or tensors that satisfy the reader's
/// guarantees.
#include "formats/Checkpoint/Convert.h"
#include "formats/Checkpoint/Safetensors.h"
#include "tests/Fuzzing/JsonMutation.h"

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateSafetensors)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto contents = parseSafetensors(file, "input");
  if (!contents.ok()) {
    require(contents.status().message().starts_with("input: "));
    return 0;
  }
  size_t total = 0;
  for (const SafetensorsTensor &tensor : contents->tensors) {
    require(tensor.bytes.data() >= file.data());
    require(tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size());
    require(byteSize(tensor.dtype, tensor.shape) == tensor.bytes.size());
    total += tensor.bytes.size();
    const size_t count = tensor.bytes.size() / infoOf(tensor.dtype).bytes();
    std::vector<float> floats(count);
    std::vector<int32_t> integers(count);
    (void)convertToF32(tensor.dtype, tensor.bytes, floats);
    (void)convertToI32(tensor.dtype, tensor.bytes, integers);
  }
  // Every byte belongs to exactly one tensor.
  require(total + 8 < size || (total == 0 && size > 8));
  return 0;
}
