// SPDX-License-Identifier: Apache-2.0
///
/// The part of checkManifest() for device code: images, and the launch shapes of their kernels.
#ifndef HEDDLE_FORMATS_BINARY_IMAGECHECK_H
#define HEDDLE_FORMATS_BINARY_IMAGECHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle {

/// Checks that the images are in `section`, and that each begins and ends as its kind requires;
/// that kernels have a launch shape for every target, zeros if a target has no image; and the names
/// of entry points.
Status checkImages(const manifest::Manifest &model, std::span<const std::byte> section);

/// Returns the bytes of one image of a checked manifest.
std::span<const std::byte> imageBytes(const manifest::Image &image,
                                      std::span<const std::byte> section);

/// Compares image `number` of a checked manifest with its checksum.
Status checkImageContent(const manifest::Manifest &model, uint32_t number,
                         std::span<const std::byte> section);

/// Returns the name of a kind for users: "ptx", "cubin", "host"; empty for an unknown kind.
std::string_view imageKindName(manifest::ImageKind kind);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_IMAGECHECK_H
