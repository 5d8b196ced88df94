// SPDX-License-Identifier: Apache-2.0
///
/// Counting the products of a kernel, and the weights it reads, from its configuration.
#include "compiler/Cost/KernelCost.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

Flops kernelFlops(KernelOp kernel) {
  BufferType result = kernel.getResultBuffer();
  if (!result || result.hasSymbol(BufferType::kSequences)) {
    return {};
  }
  return kernel.getComputes().getFlops(kernel.getKernelType());
}

uint64_t parameterBytes(dataflow::ParameterOp parameter, unsigned target, SymbolTable &symbols) {
  auto stored = symbols.lookup<transformer::ParameterOp>(parameter.getStored(target).getAttr());
  RankedTensorType type = stored.getTensorType();
  return *byteSize(elementTypeOf(type.getElementType()), type.getShape());
}

/// Counts for a table a row for each token.
static void describeRead(WeightRead &read, const KernelInput &input, BufferType type) {
  read.isPerToken =
      input.role == KernelInput::Role::Table || input.role == KernelInput::Role::Positions;
  if (read.isPerToken) {
    read.bytes = read.neededBytes = type.getWidth() * type.getElementBytes();
  }
  if (input.role == KernelInput::Role::Matrix) {
    read.neededBytes = type.getConstantElements() * type.getElementBytes();
  }
}

SmallVector<WeightRead> weightReads(DispatchOp dispatch, KernelOp kernel, unsigned target,
                                    SymbolTable &symbols) {
  SmallVector<WeightRead> reads;
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  for (auto [index, input] : llvm::enumerate(dispatch.getInputs())) {
    auto parameter = viewedValue(input).getDefiningOp<dataflow::ParameterOp>();
    if (!parameter) {
      continue;
    }
    WeightRead read{parameter, parameterBytes(parameter, target, symbols)};
    read.neededBytes = read.bytes;
    if (index < inputs.size()) {
      describeRead(read, inputs[index], cast<BufferType>(input.getType()));
    }
    reads.push_back(read);
  }
  return reads;
}

WeightTraffic weightTraffic(DispatchOp dispatch, KernelOp kernel, unsigned target,
                            SymbolTable &symbols) {
  WeightTraffic traffic;
  for (const WeightRead &read : weightReads(dispatch, kernel, target, symbols)) {
    (read.isPerToken ? traffic.perToken : traffic.perRun) += read.bytes;
  }
  return traffic;
}

} // namespace heddle
