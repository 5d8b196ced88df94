// SPDX-License-Identifier: Apache-2.0
///
/// Counting the products of a kernel, and the weights it reads, from its configuration.
#include "compiler/Cost/KernelCost.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

Flops kernelFlops(KernelOp kernel) {
  if (!kernel.getResultBuffer() || kernel.getRows() == RowSpace::sequences()) {
    return {};
  }
  FunctionType type = kernel.getKernelType();
  Flops flops = kernel.getComputes().getFlops(type);
  // Scaled to tokens: a block of b tokens is one row, and one key.
  SmallVector<RowSpace> spaces = namedSpaces(type);
  RowSpace rows = kernel.getRows();
  auto other = llvm::find_if(spaces, [&](RowSpace space) { return space != rows; });
  RowSpace keys = other == spaces.end() ? rows : *other;
  return {rows.perToken(flops.perRow), keys.perToken(rows.perToken(flops.perRowAndKey))};
}

uint64_t parameterBytes(dataflow::ParameterOp parameter, unsigned target, SymbolTable &symbols) {
  auto stored = symbols.lookup<transformer::ParameterOp>(parameter.getStored(target).getAttr());
  RankedTensorType type = stored.getTensorType();
  return *byteSize(elementTypeOf(type.getElementType()), type.getShape());
}

/// Counts for a table a row for each row of the result.
static void describeRead(WeightRead &read, const KernelInput &input, BufferType type,
                         RowSpace rows) {
  read.isPerToken =
      input.role == KernelInput::Role::Table || input.role == KernelInput::Role::Positions;
  if (read.isPerToken) {
    read.bytes = read.neededBytes = rows.perToken(type.getWidth() * type.getElementBytes());
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
      describeRead(read, inputs[index], cast<BufferType>(input.getType()), kernel.getRows());
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
