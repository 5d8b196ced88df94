// SPDX-License-Identifier: Apache-2.0
///
/// The dataflow level of the IR: graphs of dispatches over buffers, and the kernels they run.
/// The specification of every operation is in the .td files beside this header and, generated, in
/// docs/reference/dataflow.md.
#ifndef HEDDLE_DIALECTS_DATAFLOW_DATAFLOW_H
#define HEDDLE_DIALECTS_DATAFLOW_DATAFLOW_H

#include "dialects/Transformer/Transformer.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Dataflow/Dialect.h.inc"
#include "dialects/Dataflow/Enums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Dataflow/Types.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dataflow/Attrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dataflow/Ops.h.inc"

namespace heddle::dataflow {

/// The family that an attribute of a kernel configures: "contract", "attention", "rows"...
llvm::StringRef familyName(mlir::Attribute computes);

/// What a value of a graph shows, through any number of views.
mlir::Value viewedValue(mlir::Value value);

} // namespace heddle::dataflow

#endif // HEDDLE_DIALECTS_DATAFLOW_DATAFLOW_H
