// SPDX-License-Identifier: Apache-2.0
///
/// Attention as blocks of a GPU compute it.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>
#include <string>

namespace heddle {

/// How blocks compute a kernel; nothing where each thread is a caller of its own.
std::optional<BlockWork> blockAttention(dataflow::KernelOp kernel);

/// What blocks, or threads, do of a kernel that is an attention, for reports: "blocks of 128
/// threads, products of bf16" or why none do. Nothing of other kernels.
struct AttentionChoice {
  bool isByBlocks;
  std::string text;
};
std::optional<AttentionChoice> attentionChoice(dataflow::KernelOp kernel);

/// Writes such a kernel.
void emitBlockAttention(VectorCode &code, const KernelBody &body, dataflow::AttentionAttr computes);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKATTENTION_H
