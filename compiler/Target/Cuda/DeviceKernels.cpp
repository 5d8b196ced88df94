// SPDX-License-Identifier: Apache-2.0
///
/// A new family has to be named here or in WarpRows.cpp.
#include "compiler/Target/Cuda/DeviceKernels.h"

#include "compiler/Target/Cuda/BlockAttention.h"
#include "compiler/Target/Cuda/BlockOrder.h"
#include "compiler/Target/Cuda/BlockPeaks.h"
#include "compiler/Target/Cuda/BlockProduct.h"
#include "compiler/Target/Cuda/BlockSelect.h"
#include "compiler/Target/Cuda/WarpRows.h"

using namespace mlir;

namespace heddle {

/// Returns a kernel with code of its own if blocks compute it; otherwise each thread runs that of
/// its family.
static KernelOnGpu byBlocks(const std::optional<BlockWork> &work,
                            void (*emit)(VectorCode &, const KernelBody &),
                            std::optional<KernelChoice> choice = {}) {
  return {work, work ? emit : emitFamily, std::move(choice)};
}

template <typename Family>
static KernelOnGpu kernelOnGpuOf(dataflow::KernelOp kernel, Family computes,
                                 const TargetDescription &target) {
  if constexpr (isOfAttention<Family>) {
    KernelOnGpu found = byBlocks(blockAttention(kernel, target), emitBlockAttention,
                                 attentionChoice(kernel, target));
    found.partialBytes = partialBytes(kernel);
    return found;
  } else if constexpr (isOfProducts<Family>) {
    KernelOnGpu found =
        byBlocks(blockProduct(kernel, target), emitBlockProduct, productChoice(kernel, target));
    found.rounded = roundedLaunches(kernel, target);
    return found;
  } else if constexpr (std::is_same_v<Family, dataflow::PeaksAttr>) {
    return byBlocks(blockPeaks(computes), emitBlockPeaks);
  } else if constexpr (std::is_same_v<Family, dataflow::SelectAttr>) {
    return byBlocks(blockSelect(computes), emitBlockSelect);
  } else if constexpr (std::is_same_v<Family, dataflow::OrderAttr>) {
    return byBlocks(blockOrder(computes), emitBlockOrder, orderChoice(computes));
  } else {
    static_assert(!isOfBlocks<Family>);
    return byBlocks(warpRows(kernel), emitWarpRows);
  }
}

KernelOnGpu kernelOnGpu(dataflow::KernelOp kernel, const TargetDescription &target) {
  KernelOnGpu found;
  dataflow::visitFamily(kernel.getComputes(),
                        [&](auto computes) { found = kernelOnGpuOf(kernel, computes, target); });
  return found;
}

} // namespace heddle
