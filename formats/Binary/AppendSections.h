// SPDX-License-Identifier: Apache-2.0
///
/// The last step of a compilation: the linked kernels, then .heddle.weights and .heddle.manifest as
/// sections that are not loaded, then the section names and a new table of section headers.
///
///   | linked shared library | pad to 4096 | weights | pad to 64 | manifest | names | headers |
///
/// The weights pass through once, in order, and are never held: the manifest, which has their
/// checksums, comes after them. The same input gives the same bytes.
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

/// Takes the next bytes of the weights.
using WeightsSink = std::function<Status(std::span<const std::byte>)>;
/// Gives all bytes of the weights to the sink, in order.
using WeightsWriter = std::function<Status(const WeightsSink &)>;
/// Makes the manifest (a finished FlatBuffer), called after the weights were written.
/// `codeChecksum` is its field code_checksum.
using ManifestWriter = std::function<Result<std::string>(uint64_t codeChecksum)>;

/// Writes a compiled model. `sharedObject` is what the linker made of the kernels: it must pass
/// ElfFile::checkLoadable, which the runtime applies too. An existing file of that name is replaced
/// only if everything succeeds.
Status writeArtifact(std::string_view sharedObject, uint64_t weightsSize,
                     const WeightsWriter &writeWeights, const ManifestWriter &makeManifest,
                     const std::string &path);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_APPENDSECTIONS_H
