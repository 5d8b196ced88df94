// SPDX-License-Identifier: Apache-2.0
///
/// The selection of tokens by blocks, after BlockPeaks.h: a block has a row of logits. The best
/// tokens are found one after another by all threads.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKSELECT_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKSELECT_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Select.h"

namespace heddle {

/// Returns the first of the elements of so many adjacent lanes, in all of them. `mask` says which
/// these are, unless they are the whole warp.
RankedElement firstOfLanes(BlockCode &block, RankedElement own, int64_t lanes,
                           mlir::Value mask = {});

/// Returns how blocks compute a selection.
std::optional<BlockWork> blockSelect(dataflow::SelectAttr computes);

/// Emits a kernel of that kind, and marks its module.
void emitBlockSelect(VectorCode &code, const KernelBody &body);

/// Adds to a module with that mark, which it removes, the kernels that selections need beside them:
/// one excludes tokens before, and others order hypotheses after them (OrderKernels.h).
void addSelectionKernels(mlir::ModuleOp module, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKSELECT_H
