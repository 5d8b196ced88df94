// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a GGUF file: an error, or tensors that satisfy the reader's guarantees and
/// can be converted; and if it names an architecture, a model or an error.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Gguf/GgufModel.h"
#include "tests/Fuzzing/GgufMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateGguf)

/// Checks that the bytes of a tensor lie inside the file and are as many blocks as the shape
/// requires.
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

/// Checks that codes, scales and minimums give the converted values, bit for bit.
static void checkCodes(const Checkpoint &checkpoint, const std::string &name) {
  const StoredTensor &tensor = *checkpoint.find(name);
  if (!tensor.codes) {
    return;
  }
  const int64_t rows = tensor.codes->rows();
  const CodeRows all = tensor.codes->read(0, rows);
  require(static_cast<int64_t>(all.scales.size()) == rows * tensor.codes->groups());
  std::vector<float> kept(all.codes.size()), converted(all.codes.size());
  tensor.codes->widen(0, rows, kept);
  require(checkpoint.readF32(name, converted).ok());
  for (size_t i = 0; i < kept.size(); ++i) {
    require(std::bit_cast<uint32_t>(kept[i]) == std::bit_cast<uint32_t>(converted[i]) ||
            (std::isnan(kept[i]) && std::isnan(converted[i])));
  }
}

/// Writes the file to disk and reads it as a model.
static void checkModel(std::span<const std::byte> file) {
  static const fuzzing::ScratchFolder folder;
  folder.write("m.gguf", {reinterpret_cast<const char *>(file.data()), file.size()});
  const std::string path = folder.path("m.gguf");
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  require(checkpoint.ok());
  for (const std::string &name : checkpoint->names()) {
    checkCodes(*checkpoint, name);
  }
  const Result<GgufModel> model = readGgufModel(*checkpoint->gguf());
  if (!model.ok()) {
    require(model.status().message().starts_with(path + ": "));
    return;
  }
  // Tensors may already have the names of the family, which withViews() rejects.
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
