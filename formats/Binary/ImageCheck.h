// SPDX-License-Identifier: Apache-2.0
///
/// The part of checkManifest() that is about code for devices: images, and how kernels in them are
/// launched.
#ifndef HEDDLE_FORMATS_BINARY_IMAGECHECK_H
#define HEDDLE_FORMATS_BINARY_IMAGECHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle {

/// Checks where the images lie in `section`, and that each begins and ends as its kind does; that
/// kernels have a launch shape for every target, the usual zeros where a target has no image; and
/// the names of entries.
Status checkImages(const manifest::Manifest &model, std::span<const std::byte> section);

/// The bytes of one image of a checked manifest.
std::span<const std::byte> imageBytes(const manifest::Image &image,
                                      std::span<const std::byte> section);

/// Compares image number `number` of a checked manifest with its checksum.
Status checkImageContent(const manifest::Manifest &model, uint32_t number,
                         std::span<const std::byte> section);

/// What users call a kind: "ptx", "cubin", "host"; empty for one that there is not.
std::string_view imageKindName(manifest::ImageKind kind);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_IMAGECHECK_H
