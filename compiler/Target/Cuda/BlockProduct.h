// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products computed by blocks of a GPU.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// Returns how blocks compute a kernel for a target; nullopt if each thread is a separate caller:
/// for other families, for products of integers or by groups, and for panels whose width a user has
/// chosen.
std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target);

/// Emits such a kernel. The sum of an element is computed over k from the first step to the last in
/// every tile, by one chain of FMAs or tensor-core instructions, so its bits depend neither on the
/// number of rows nor on tile boundaries. In f32 they are those of a product by a single thread.
void emitBlockProduct(VectorCode &code, const KernelBody &body, dataflow::ContractAttr computes);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H
