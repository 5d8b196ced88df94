// SPDX-License-Identifier: Apache-2.0
///
/// Checks everything that the runtime relies on in a manifest. The runtime checks a manifest before
/// use, and the compiler before it writes one, so that no binary is written that would be refused.
/// After the check, no index, offset or size in it leads the runtime outside a table, the weights
/// or an arena, whoever wrote it. (The code of kernels is not covered.)
#ifndef HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H
#define HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/// Verifies the bytes as a FlatBuffer of the schema, then its meaning. `weightsSize` is the size of
/// the section .heddle.weights. The tokenizer is checked by Tokenizer::load.
Status checkManifest(std::span<const std::byte> bytes, uint64_t weightsSize);

/// The same for bytes that the caller has just written, with messages that do not speak of damage.
Status checkWrittenManifest(std::span<const std::byte> bytes, uint64_t weightsSize);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_MANIFESTCHECK_H
