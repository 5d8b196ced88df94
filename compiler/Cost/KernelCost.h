// SPDX-License-Identifier: Apache-2.0
///
/// Counts the floating-point operations of a kernel and the weights that its dispatches read, from
/// its configuration, for the manifest and the reports.
#ifndef HEDDLE_COMPILER_COST_KERNELCOST_H
#define HEDDLE_COMPILER_COST_KERNELCOST_H

#include "dialects/Dataflow/Dataflow.h"

#include <cstdint>

namespace heddle {

/// Floating-point operations of the products of one kernel: for each row, and for each row and key,
/// of these spaces.
struct KernelFlops {
  dataflow::Flops ofRow;
  RowSpace rows;
  RowSpace keys;

  /// Converts to numbers per token, and per token and key: spreads those of rows of another space
  /// over tokens; sequences count nothing.
  dataflow::Flops perToken() const;
};
KernelFlops kernelFlops(dataflow::KernelOp kernel);

/// Returns the bytes of a parameter as the binary stores it for a target, including the padding of
/// its encoding.
uint64_t parameterBytes(dataflow::ParameterOp parameter, unsigned target,
                        mlir::SymbolTable &symbols);

/// A parameter that a dispatch reads: the whole parameter once per run or, for a look-up table, one
/// row for each row of the result.
struct WeightRead {
  dataflow::ParameterOp parameter;
  /// As stored for the target.
  uint64_t bytes = 0;
  /// The bytes without padding: excludes columns that only fill the last panel of packed weights.
  uint64_t neededBytes = 0;
  bool isPerRow = false;
};
llvm::SmallVector<WeightRead> weightReads(dataflow::DispatchOp dispatch, dataflow::KernelOp kernel,
                                          unsigned target, mlir::SymbolTable &symbols);

/// The total bytes that a dispatch reads, as stored for a target.
struct WeightTraffic {
  uint64_t perRun = 0;
  uint64_t perRow = 0;
};
WeightTraffic weightTraffic(dataflow::DispatchOp dispatch, dataflow::KernelOp kernel,
                            unsigned target, mlir::SymbolTable &symbols);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_KERNELCOST_H
