// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products computed by blocks of a GPU.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Cuda/RowBlocks.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>
#include <string>

namespace heddle {

/// Returns how blocks compute a product for a target; nullopt if each thread is a separate caller:
/// for codes of which many
/// share a scale but not whole rows, and for panels whose width a user has chosen.
std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target);

/// Returns whether a target computes products by warpgroups, given their arithmetic and sizes.
/// Their weights are in panels of [k / 8][columns][8].
bool usesWarpgroups(const TargetDescription &target, dataflow::Arithmetic arithmetic,
                    int64_t groups, int64_t k);
/// The elements of a column that are together in such panels.
inline constexpr int64_t kWarpgroupTogether = 8;

/// How a target computes a product of bf16 by warpgroups, if it has these, or one with codes by
/// blocks, for reports; or why it does not. Nullopt for other products.
std::optional<KernelChoice> productChoice(dataflow::KernelOp kernel,
                                          const TargetDescription &target);

/// Returns for which launches of a product a separate kernel rounds the rows first: large ones of
/// wide products by warpgroups, whose blocks read rows many times.
RoundedLaunches roundedLaunches(dataflow::KernelOp kernel, const TargetDescription &target);
/// Emits the kernel that rounds the rows of such a product.
void emitRoundedRows(VectorCode &code, const KernelBody &body);

/// Emits such a kernel. The sum of an element is computed over k from the first step to the last in
/// every tile, by one chain of FMAs or tensor-core instructions, so its bits depend neither on the
/// number of rows nor on tile boundaries. In f32 and of integers they are those of a product by a
/// single thread.
void emitBlockProduct(VectorCode &code, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKPRODUCT_H
