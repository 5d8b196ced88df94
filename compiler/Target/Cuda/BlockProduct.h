// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products as blocks of a GPU compute them.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// How blocks compute a kernel for a target; nothing where each thread is a caller of its own: of
/// other families, of products of integers or by groups, and with panels of a width that somebody
/// has asked for.
std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target);

/// Writes such a kernel. The sum of an element goes over k from the first step to the last in every
/// tile, one FMA or one instruction of tensor cores after the other, so that bits depend neither on
/// the number of rows nor on where a tile ends. Those of f32 are the bits of a caller.
void emitBlockProduct(VectorCode &code, const KernelBody &body, dataflow::ContractAttr computes);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H
