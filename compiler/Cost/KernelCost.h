// SPDX-License-Identifier: Apache-2.0
///
/// Floating-point operations of a kernel and the weights that its dispatches read, counted from its
/// configuration: the numbers of the manifest and of the reports.
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

  /// For each token, and for each token and key: those of rows of another space are spread over
  /// tokens, and count nothing for sequences.
  dataflow::Flops perToken() const;
};
KernelFlops kernelFlops(dataflow::KernelOp kernel);

/// Bytes of a parameter as the binary stores it for a target, the padding of its encoding included.
uint64_t parameterBytes(dataflow::ParameterOp parameter, unsigned target,
                        mlir::SymbolTable &symbols);

/// A parameter that a dispatch reads: all of it once in a run, or of a table that is looked up one
/// row for each row of the result.
struct WeightRead {
  dataflow::ParameterOp parameter;
  /// As stored for the target.
  uint64_t bytes = 0;
  /// Those of them that count: of packed weights not the columns that only fill the last panel.
  uint64_t neededBytes = 0;
  bool isPerRow = false;
};
llvm::SmallVector<WeightRead> weightReads(dataflow::DispatchOp dispatch, dataflow::KernelOp kernel,
                                          unsigned target, mlir::SymbolTable &symbols);

/// Bytes of all that a dispatch reads so, as stored for a target.
struct WeightTraffic {
  uint64_t perRun = 0;
  uint64_t perRow = 0;
};
WeightTraffic weightTraffic(dataflow::DispatchOp dispatch, dataflow::KernelOp kernel,
                            unsigned target, mlir::SymbolTable &symbols);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_KERNELCOST_H
