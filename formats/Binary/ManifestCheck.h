// SPDX-License-Identifier: Apache-2.0
///
/// Checks everything that the runtime relies on in a manifest. The runtime checks a manifest before
/// use, and the compiler before it writes one, so that no binary is written that would be refused.
/// After the check, no index, offset or size in it leads the runtime outside a table, the weights,
/// the images or an arena, whoever wrote it. (The code of kernels is not covered.)
#ifndef HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H
#define HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/// What a manifest describes beside itself.
struct DescribedSections {
  /// Bytes of .heddle.weights.
  uint64_t weightsSize = 0;
  /// .heddle.device; empty if there is none.
  std::span<const std::byte> images = {};
};

/// Verifies the bytes as a FlatBuffer of the schema, then its meaning. The tokenizer is checked by
/// Tokenizer::load, the content of weights and images by their checksums when they are used.
Status checkManifest(std::span<const std::byte> bytes, const DescribedSections &sections);

/// The same for bytes that the caller has just written, with messages that do not speak of damage.
Status checkWrittenManifest(std::span<const std::byte> bytes, const DescribedSections &sections);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H
