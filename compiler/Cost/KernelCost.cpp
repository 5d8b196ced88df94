// SPDX-License-Identifier: Apache-2.0
///
/// Counts the products of a kernel, and the weights it reads, from its configuration.
#include "compiler/Cost/KernelCost.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

KernelFlops kernelFlops(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  RowSpace rows = kernel.getRows();
  SmallVector<RowSpace> spaces = namedSpaces(type);
  auto other = llvm::find_if(spaces, [&](RowSpace space) { return space != rows; });
  RowSpace keys = other == spaces.end() ? rows : *other;
  return {kernel.getResultBuffer() ? kernel.getComputes().getFlops(type) : Flops(), rows, keys};
}

Flops KernelFlops::perToken() const {
  // A bounded number of keys is part of the row's own work.
  bool isBounded = ofRow.mostKeys != 0;
  uint64_t ofKeys = isBounded ? ofRow.mostKeys * ofRow.perRowAndKey : 0;
  return {rows.perToken(ofRow.perRow + ofKeys),
          isBounded ? 0 : keys.perToken(rows.perToken(ofRow.perRowAndKey))};
}

uint64_t parameterBytes(dataflow::ParameterOp parameter, unsigned target, SymbolTable &symbols) {
  auto stored = symbols.lookup<transformer::ParameterOp>(parameter.getStored(target).getAttr());
  RankedTensorType type = stored.getTensorType();
  return storedAs(type.getElementType(), type.getShape()).bytes();
}

/// Counts one row of a table for each row of the result.
static void describeRead(WeightRead &read, const KernelInput &input, BufferType type) {
  read.isPerRow =
      input.role == KernelInput::Role::Table || input.role == KernelInput::Role::Positions;
  if (read.isPerRow) {
    read.bytes = read.neededBytes = storedAs(type.getElementType(), type.getWidth()).bytes();
  }
  if (input.role == KernelInput::Role::Matrix) {
    read.neededBytes = storedAs(type.getElementType(), type.getShape()).bytes();
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
    (read.isPerRow ? traffic.perRow : traffic.perRun) += read.bytes;
  }
  return traffic;
}

} // namespace heddle
