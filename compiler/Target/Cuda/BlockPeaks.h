// SPDX-License-Identifier: Apache-2.0
///
/// What pieces of logits have for a selection of tokens, by blocks: half a warp has a piece, a lane
/// for each of its sums. This is most of the work of a selection, so it is divided among many small
/// blocks (docs/decisions/0067).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKPEAKS_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKPEAKS_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// Returns how blocks compute it; nullopt if a lane has no registers for its part of a piece.
std::optional<BlockWork> blockPeaks(dataflow::PeaksAttr computes);

/// Emits a kernel of that kind.
void emitBlockPeaks(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKPEAKS_H
