// SPDX-License-Identifier: Apache-2.0
///
/// Rows computed by warps of a GPU: a warp, or a part of it if rows are narrow, is a team
/// (VectorCode.h) whose neighbouring lanes have neighbouring columns. The order of a sum depends
/// only on the width of its row: each lane adds its own columns, then lanes are added pairwise.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_WARPROWS_H
#define HEDDLE_COMPILER_TARGET_CUDA_WARPROWS_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// Threads of a block, for every such kernel.
inline constexpr int64_t kRowThreads = 128;

/// Returns how blocks compute a kernel if teams can compute its family; nullopt otherwise.
std::optional<BlockWork> warpRows(dataflow::KernelOp kernel);

/// Emit a kernel of that kind, and the norm of any kernel's finished rows.
void emitWarpRows(VectorCode &code, const KernelBody &body);
void emitWarpNorms(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_WARPROWS_H
