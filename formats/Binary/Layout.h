// SPDX-License-Identifier: Apache-2.0
///
/// The layout of the section .heddle.manifest, shared by its writer and its reader: the FlatBuffer,
/// zeros up to a multiple of eight, and a trailer. The trailer's checksum covers the manifest and
/// the place of the weights; each parameter has its own checksum.
#ifndef HEDDLE_FORMATS_BINARY_LAYOUT_H
#define HEDDLE_FORMATS_BINARY_LAYOUT_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace heddle {

/// The last bytes of the section.
struct ManifestTrailer {
  /// The size of the FlatBuffer in bytes, without the zeros.
  uint64_t manifestSize;
  /// manifestChecksum() of the file.
  uint64_t checksum;
};
static_assert(sizeof(ManifestTrailer) == 16);

/// Returns the XXH3-64 checksum of the manifest's bytes, combined with the place of the weights in
/// the file.
uint64_t manifestChecksum(std::span<const std::byte> manifest, uint64_t weightsOffset,
                          uint64_t weightsSize);

/// Returns the XXH3-64 checksum of a parameter or an image: Parameter.checksum, Image.checksum.
uint64_t contentChecksum(std::span<const std::byte> bytes);

/// Computes contentChecksum() of bytes that arrive in pieces.
class ContentChecksum {
public:
  ContentChecksum();
  ~ContentChecksum();

  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// Returns `value` rounded up to a multiple of `alignment`.
constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_LAYOUT_H
