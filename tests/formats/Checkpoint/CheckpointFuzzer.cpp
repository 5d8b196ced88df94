// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as the index of a checkpoint of several files: an error, or tensors of the files
/// next to it, each of which can be read.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Checkpoint/Convert.h"
#include "tests/Fuzzing/JsonMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"

#include <array>

using namespace heddle;
using fuzzing::require;

/// A folder with two files of tensors, which have one tensor in common.
static const fuzzing::ScratchFolder &folderWithShards() {
  static const fuzzing::ScratchFolder folder;
  static const bool isWritten = [] {
    static const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
    const auto bytes = std::as_bytes(std::span(values));
    const SafetensorsTensor whole{"a.weight", ElementType::F32, {2, 3}, bytes};
    const SafetensorsTensor part{"b.bias", ElementType::F32, {3}, bytes.first(12)};
    const SafetensorsTensor both{"both", ElementType::F32, {}, bytes.first(4)};
    const SafetensorsTensor integers{"positions", ElementType::I64, {1, 3}, bytes};
    const std::array<SafetensorsTensor, 2> first = {whole, both};
    const std::array<SafetensorsTensor, 3> second = {part, both, integers};
    return writeSafetensors(folder.path("x-1.safetensors"), first).ok() &&
           writeSafetensors(folder.path("x-2.safetensors"), second).ok();
  }();
  require(isWritten);
  return folder;
}

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJson)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzzing::ScratchFolder &folder = folderWithShards();
  folder.write("model.safetensors.index.json", {reinterpret_cast<const char *>(data), size});
  const Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  if (!checkpoint.ok()) {
    require(checkpoint.status().message().starts_with(folder.path()));
    return 0;
  }
  for (const std::string &name : checkpoint->names()) {
    const StoredTensor *const tensor = checkpoint->find(name);
    require(tensor != nullptr && checkpoint->fileOf(name).ok());
    std::vector<float> floats(tensor->bytes.size() / infoOf(tensor->dtype).bytes());
    require(checkpoint->readF32(name, floats).ok() == (tensor->dtype == ElementType::F32));
    checkpoint->releasePages(name);
  }
  return 0;
}
