// SPDX-License-Identifier: Apache-2.0
///
/// Any bytes as a GGUF file: an error, or tensors that keep the reader's promises and can be
/// converted; and where it names an architecture, a model or an error.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Gguf/GgufModel.h"
#include "tests/Fuzzing/GgufMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"

#include <algorithm>
#include <string>

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateGguf)

/// Every span lies inside the file, and is as many blocks as the shape has.
static void checkTensor(const GgufTensor &tensor, std::span<const std::byte> file) {
  require(tensor.type != nullptr && tensor.type->isRead());
  require(tensor.bytes.data() >= file.data());
  require(tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size());
  require(tensor.bytes.size() % tensor.type->bytes == 0);
  const size_t count = tensor.bytes.size() / tensor.type->bytes * tensor.type->elements;
  size_t expected = 1;
  for (const int64_t size : tensor.shape) {
    expected *= static_cast<size_t>(size);
  }
  require(count == expected);
  std::vector<float> values(count);
  require(convertGgufToF32(*tensor.type, tensor.bytes, values).ok());
  const Result<GgufCodes> codes = readGgufCodes(*tensor.type, tensor.bytes);
  require(codes.ok() == !tensor.type->plain.has_value());
  if (codes.ok()) {
    require(codes->codes.size() == count && codes->scales.size() * codes->group == count);
  }
}

/// The file as a model, through a file of its own.
static void checkModel(std::span<const std::byte> file) {
  static const fuzzing::ScratchFolder folder;
  folder.write("m.gguf", {reinterpret_cast<const char *>(file.data()), file.size()});
  const std::string path = folder.path("m.gguf");
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  require(checkpoint.ok());
  const Result<GgufModel> model = readGgufModel(*checkpoint->gguf());
  if (!model.ok()) {
    require(model.status().message().starts_with(path + ": "));
    return;
  }
  // Names of the file may be those of the family, which views refuse.
  (void)std::move(*checkpoint).withViews(model->tensors);
  (void)model->tokenizer.packAlone();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto contents = parseGguf(file, "input");
  if (!contents.ok()) {
    require(contents.status().message().starts_with("input: "));
    return 0;
  }
  for (const GgufTensor &tensor : contents->tensors) {
    checkTensor(tensor, file);
  }
  if (contents->metadata.contains("general.architecture")) {
    checkModel(file);
  }
  return 0;
}
