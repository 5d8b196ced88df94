// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a manifest. The first run starts from the test model's, so that mutations
/// reach the checks of meaning, which random bytes never do.
#include "runtime/Artifact/ManifestCheck.h"

#include "tests/runtime/Artifact/FixtureModel.h"

#include <cstdlib>
#include <cstring>
#include <memory>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// The test model's manifest.
static const std::string &seed() {
  static const std::string bytes = heddle::fixture::serialize(heddle::fixture::model(), 0);
  return bytes;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned int) {
  if (size < 64 && seed().size() <= maxSize) {
    std::memcpy(data, seed().data(), seed().size());
    size = seed().size();
  }
  return LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Aligned as in a file.
  const std::unique_ptr<std::byte, decltype(&std::free)> copy(
      static_cast<std::byte *>(std::aligned_alloc(64, (size + 63) / 64 * 64 + 64)), &std::free);
  std::memcpy(copy.get(), data, size);
  const heddle::Status status =
      heddle::checkManifest({copy.get(), size}, heddle::fixture::model().actualWeightsSize);
  if (!status.ok() && status.message().empty()) {
    std::abort();
  }
  return 0;
}
