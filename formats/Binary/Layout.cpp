// SPDX-License-Identifier: Apache-2.0
///
/// Checksums of the manifest, and of the contents that it describes.
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

struct ContentChecksum::State {
  XXH3_state_t hash;
};

ContentChecksum::ContentChecksum() : state(std::make_unique<State>()) {
  XXH3_64bits_reset(&state->hash);
}

ContentChecksum::~ContentChecksum() = default;

void ContentChecksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state->hash, bytes.data(), bytes.size());
}

uint64_t ContentChecksum::value() const { return XXH3_64bits_digest(&state->hash); }

} // namespace heddle
