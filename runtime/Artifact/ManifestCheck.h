// SPDX-License-Identifier: Apache-2.0
///
/// Everything the runtime relies on in a manifest, checked before it is used. After it has passed,
/// no index, offset or size in it can lead the runtime out of a table, of the weights or of an
/// arena, whoever wrote it. (What the kernels do with their operands is their code's affair.)
#ifndef HEDDLE_RUNTIME_ARTIFACT_MANIFESTCHECK_H
#define HEDDLE_RUNTIME_ARTIFACT_MANIFESTCHECK_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/// Verifies the bytes as a FlatBuffer of the schema, then its meaning. `weightsSize` is the size of
/// the section .heddle.weights. The tokenizer is checked by Tokenizer::load.
Status checkManifest(std::span<const std::byte> bytes, uint64_t weightsSize);

} // namespace heddle

#endif // HEDDLE_RUNTIME_ARTIFACT_MANIFESTCHECK_H
