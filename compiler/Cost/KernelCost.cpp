// SPDX-License-Identifier: Apache-2.0
///
/// Counting the products of a kernel, and the weights it reads, from its configuration.
#include "compiler/Cost/KernelCost.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Two for each term of a sum over the axes of a nest.
KernelFlops nestFlops(KernelOp kernel, NestAttr nest) {
  if (nest.getReduction() != ReductionKind::Sum) {
    return {};
  }
  uint64_t terms = 1;
  bool overKeys = false;
  llvm::SmallString<8> seen;
  auto visit = [&](StringRef axes, Type type) {
    SmallVector<int64_t> shape;
    if (auto cache = dyn_cast<CacheType>(type)) {
      shape.push_back(BufferType::kLongest);
      llvm::append_range(shape, cache.getShape());
    } else {
      llvm::append_range(shape, cast<BufferType>(type).getShape());
    }
    for (auto [axis, dimension] : llvm::zip_equal(axes, shape)) {
      if (seen.str().contains(axis)) {
        continue;
      }
      seen.push_back(axis);
      overKeys |= axis == 'k';
      terms *= dimension > 0 ? dimension : 1;
    }
  };
  for (unsigned i = 0; i < nest.getNumInputs(); ++i) {
    visit(nest.getInputAxes(i), kernel.getKernelType().getInput(i));
  }
  return overKeys ? KernelFlops{0, 2 * terms} : KernelFlops{2 * terms, 0};
}

} // namespace

KernelFlops kernelFlops(KernelOp kernel) {
  if (kernel.writesCache() || kernel.getResultBuffer().hasSymbol(BufferType::kSequences)) {
    return {};
  }
  return llvm::TypeSwitch<Attribute, KernelFlops>(kernel.getComputes())
      .Case([](ContractAttr contract) {
        uint64_t inGroup = uint64_t{2} * contract.getN() * contract.getK();
        return KernelFlops{inGroup * contract.getGroups(), 0};
      })
      .Case([](AttendAttr attend) {
        return KernelFlops{0, uint64_t{2} * attend.getHeads() * attend.getValueSize()};
      })
      .Case([](AttentionWeightsAttr weights) {
        return KernelFlops{0, uint64_t{2} * weights.getHeads() * weights.getKeySize()};
      })
      .Case([](AttentionAttr attention) {
        uint64_t sizes = attention.getKeySize() + attention.getValueSize();
        return KernelFlops{0, 2 * attention.getHeads() * sizes};
      })
      .Case([&](NestAttr nest) { return nestFlops(kernel, nest); })
      .Default([](Attribute) { return KernelFlops{}; });
}

/// Whether input `index` of a look-up is a table. Each of the id inputs is followed by its table,
/// then come the tables by position; what is behind them belongs to the norm.
static bool isTable(GatherAttr gather, unsigned index) {
  unsigned ids = 2 * gather.getLookups();
  return index < ids ? index % 2 == 1 : index < ids + gather.getPositionOffsets().size();
}

uint64_t parameterBytes(dataflow::ParameterOp parameter) {
  auto type = cast<BufferType>(parameter.getResult().getType());
  return type.getConstantElements() * sizeof(float);
}

SmallVector<WeightRead> weightReads(DispatchOp dispatch, KernelOp kernel) {
  SmallVector<WeightRead> reads;
  auto gather = dyn_cast<GatherAttr>(kernel.getComputes());
  auto contract = dyn_cast<ContractAttr>(kernel.getComputes());
  for (auto [index, input] : llvm::enumerate(dispatch.getInputs())) {
    auto parameter = viewedValue(input).getDefiningOp<dataflow::ParameterOp>();
    if (!parameter) {
      continue;
    }
    WeightRead read{parameter, parameterBytes(parameter)};
    read.isPerToken = gather && isTable(gather, index);
    if (read.isPerToken) {
      read.bytes = gather.getWidth() * sizeof(float);
    }
    read.neededBytes = read.bytes;
    if (contract && index == 1) {
      read.neededBytes = contract.getGroups() * contract.getN() * contract.getK() * sizeof(float);
    }
    reads.push_back(read);
  }
  return reads;
}

WeightTraffic weightTraffic(DispatchOp dispatch, KernelOp kernel) {
  WeightTraffic traffic;
  for (const WeightRead &read : weightReads(dispatch, kernel)) {
    (read.isPerToken ? traffic.perToken : traffic.perRun) += read.bytes;
  }
  return traffic;
}

} // namespace heddle
