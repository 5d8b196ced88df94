// SPDX-License-Identifier: Apache-2.0
///
/// The last step of a compilation. Appends .heddle.weights, .heddle.device if there are images, and
/// .heddle.manifest to the linked kernels as sections that the loader ignores, then section names
/// and a new table of section headers.
///
///   | linked library | pad to 4096 | weights | pad to 64 | images | pad to 64 | manifest |
///   | names | headers |
///
/// The weights are streamed once, in order, and never held in memory. The manifest contains their
/// checksums, so it comes after them. The same input gives the same bytes.
#ifndef HEDDLE_FORMATS_BINARY_APPENDSECTIONS_H
#define HEDDLE_FORMATS_BINARY_APPENDSECTIONS_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// Receives the next bytes of the weights.
using WeightsSink = std::function<Status(std::span<const std::byte>)>;
/// Passes all bytes of the weights to the sink, in order.
using WeightsWriter = std::function<Status(const WeightsSink &)>;
/// Returns the manifest, a finished FlatBuffer. Called after the weights were written.
/// `codeChecksum` goes into the field code_checksum.
using ManifestWriter = std::function<Result<std::string>(uint64_t codeChecksum)>;

/// Writes a compiled model. `sharedObject` is the linker's output for the kernels; it must pass
/// ElfFile::checkLoadable(), as in the runtime. `images` is all of .heddle.device; if it is empty,
/// the section is omitted. An existing file is replaced only if everything succeeds.
Status writeArtifact(std::string_view sharedObject, uint64_t weightsSize,
                     const WeightsWriter &writeWeights, std::string_view images,
                     const ManifestWriter &makeManifest, const std::string &path);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_APPENDSECTIONS_H
