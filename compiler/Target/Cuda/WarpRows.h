// SPDX-License-Identifier: Apache-2.0
///
/// Rows as warps of a GPU compute them: a warp, or a part of it where rows are narrow, is a team
/// (VectorCode.h) whose neighbouring lanes have neighbouring columns. The order of a sum follows
/// from the width of its row: each lane adds its own columns, then lanes are added two by two.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_WARPROWS_H
#define HEDDLE_COMPILER_TARGET_CUDA_WARPROWS_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// Threads of a block of every such kernel.
inline constexpr int64_t kRowThreads = 128;

/// How blocks compute a kernel whose family goes over rows as teams may; nothing for others.
std::optional<BlockWork> warpRows(dataflow::KernelOp kernel);

/// Write a kernel of that kind, and the norm of any kernel's finished rows.
void emitWarpRows(VectorCode &code, const KernelBody &body);
void emitWarpNorms(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_WARPROWS_H
