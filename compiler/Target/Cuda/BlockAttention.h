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

/// Returns whether blocks compute a kernel, on every target.
bool isBlockAttention(dataflow::KernelOp kernel);
/// Returns how blocks compute a kernel; nullopt if each thread is a separate caller.
std::optional<BlockWork> blockAttention(dataflow::KernelOp kernel, const TargetDescription &target);

/// How blocks or threads compute an attention kernel, for reports: "blocks of 128 threads, products
/// of bf16", or why blocks do not. Nullopt for other kernels.
struct AttentionChoice {
  bool isByBlocks;
  std::string text;
};
std::optional<AttentionChoice> attentionChoice(dataflow::KernelOp kernel,
                                               const TargetDescription &target);

/// Emits such a kernel.
void emitBlockAttention(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H
