// SPDX-License-Identifier: Apache-2.0
///
/// The order of rows by the groups that they have chosen, as one block sorts them
/// (docs/decisions/0073).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKORDER_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKORDER_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// Return how a block computes an order, nullopt for more groups than a block has threads; and why
/// it does not then, for reports.
std::optional<BlockWork> blockOrder(dataflow::OrderAttr computes);
std::optional<KernelChoice> orderChoice(dataflow::OrderAttr computes);

/// Emits a kernel of that kind.
void emitBlockOrder(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKORDER_H
