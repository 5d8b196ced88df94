// SPDX-License-Identifier: Apache-2.0
///
/// The conversion of one entry: its arguments, its operations in order, each checked and handed to
/// its pattern, and the signature of the graph that they give.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H

#include "compiler/Dataflow/Lowering/EntryContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// How the blocks of each cache of a module lie, by the cache's name: `keys` if an attention of any
/// entry has it as keys. Fails where one has it as keys and another as values.
using CacheLayouts = llvm::DenseMap<mlir::StringAttr, dataflow::CacheLayout>;
mlir::FailureOr<CacheLayouts> chooseCacheLayouts(mlir::ModuleOp module);

/// Replaces a function by a graph of the same name. Failures are reported at what cannot be
/// lowered.
mlir::LogicalResult lowerEntry(mlir::func::FuncOp entry, mlir::SymbolTable &symbols,
                               const CacheLayouts &layouts);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYLOWERING_H
