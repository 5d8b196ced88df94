// SPDX-License-Identifier: Apache-2.0
///
/// Checks everything that the runtime relies on in a manifest. The runtime checks a manifest before
/// use, and the compiler before writing one, so that no binary is written that would be rejected.
/// After the check, no index, offset or size leads the runtime outside a table, the weights, the
/// images or an arena, even in a malicious file. (The code of kernels is not covered.)
#ifndef HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H
#define HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/// The sections that a manifest describes.
struct DescribedSections {
  /// The size of .heddle.weights in bytes.
  uint64_t weightsSize = 0;
  /// The contents of .heddle.device; empty if there is none.
  std::span<const std::byte> images = {};
};

/// Verifies the bytes as a FlatBuffer of the schema, then their meaning. Tokenizer::load checks the
/// tokenizer; checksums verify the content of weights and images when these are used.
Status checkManifest(std::span<const std::byte> bytes, const DescribedSections &sections);

/// As checkManifest(), for bytes that the caller has just written: messages do not mention damage.
Status checkWrittenManifest(std::span<const std::byte> bytes, const DescribedSections &sections);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H
