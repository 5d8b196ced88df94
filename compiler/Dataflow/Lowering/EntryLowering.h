// SPDX-License-Identifier: Apache-2.0
///
/// Converts one entry: its arguments, its operations in order, each verified and passed to its
/// pattern, and the signature of the resulting graph.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H

#include "compiler/Dataflow/Lowering/EntryContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// The layout of each cache of a module, by name: `keys` if an attention of any entry uses it as
/// keys. Fails if it is used both as keys and as values.
using CacheLayouts = llvm::DenseMap<mlir::StringAttr, dataflow::CacheLayout>;
mlir::FailureOr<CacheLayouts> chooseCacheLayouts(mlir::ModuleOp module);

/// Replaces a function by a graph of the same name. Reports errors at the operation that cannot be
/// lowered.
mlir::LogicalResult lowerEntry(mlir::func::FuncOp entry, mlir::SymbolTable &symbols,
                               const CacheLayouts &layouts);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H
