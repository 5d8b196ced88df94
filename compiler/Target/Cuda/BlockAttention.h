// SPDX-License-Identifier: Apache-2.0
///
/// Kernels of attention, and of its halves, computed by blocks of a GPU.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>
#include <string>

namespace heddle {

/// Return how blocks compute attention, or one of its halves, nullopt if each thread is a separate
/// caller; and how blocks or threads do, for reports.
std::optional<BlockWork> blockAttention(dataflow::KernelOp kernel, const TargetDescription &target);
KernelChoice attentionChoice(dataflow::KernelOp kernel, const TargetDescription &target);

/// Emits such a kernel.
void emitBlockAttention(VectorCode &code, const KernelBody &body);

/// Returns the bytes of a partial result, of a row, a head and a section of keys, if different
/// blocks can compute the sections of a row (KeySections.h); otherwise 0.
int64_t partialBytes(dataflow::KernelOp kernel);
/// Emits the kernel that merges partial results, for such kernels.
void emitMergedSections(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H
