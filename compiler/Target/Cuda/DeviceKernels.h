// SPDX-License-Identifier: Apache-2.0
///
/// How a GPU computes the kernels of each family: by blocks with code of their own, by warps, or
/// with each thread alone.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_DEVICEKERNELS_H
#define HEDDLE_COMPILER_TARGET_CUDA_DEVICEKERNELS_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Cuda/RowBlocks.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// The families for which blocks have code of their own: attention and its halves, products, the
/// two of the selection of tokens, and the order of rows. Warps compute all others (WarpRows.h).
template <typename Family>
concept isOfAttention =
    llvm::is_one_of<Family, dataflow::AttentionAttr, dataflow::AttentionWeightsAttr,
                    dataflow::AttendAttr>::value;
template <typename Family>
concept isOfProducts = llvm::is_one_of<Family, dataflow::ContractAttr, dataflow::ContractChosenAttr,
                                       dataflow::ContractSlideAttr>::value;
template <typename Family>
concept isOfBlocks =
    isOfAttention<Family> || isOfProducts<Family> ||
    llvm::is_one_of<Family, dataflow::PeaksAttr, dataflow::SelectAttr, dataflow::OrderAttr>::value;

/// How a GPU computes a kernel.
struct KernelOnGpu {
  /// How blocks do; nullopt if each thread is a separate caller.
  std::optional<BlockWork> work;
  void (*emit)(VectorCode &code, const KernelBody &body) = emitFamily;
  /// What the report says, if anything.
  std::optional<KernelChoice> choice = {};
  /// The bytes of a partial result, if different blocks can compute sections of a row; otherwise 0.
  int64_t partialBytes = 0;
  RoundedLaunches rounded = {};
};

KernelOnGpu kernelOnGpu(dataflow::KernelOp kernel, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_DEVICEKERNELS_H
