// SPDX-License-Identifier: Apache-2.0
///
/// Checksums of the manifest, and of what it describes.
#include "formats/Binary/Layout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heddle {

uint64_t manifestChecksum(std::span<const std::byte> manifest, uint64_t weightsOffset,
                          uint64_t weightsSize) {
  const uint64_t place[2] = {weightsOffset, weightsSize};
  return XXH3_64bits_withSeed(manifest.data(), manifest.size(), XXH3_64bits(place, sizeof place));
}

uint64_t contentChecksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace heddle
