// SPDX-License-Identifier: Apache-2.0
///
/// The model level of the IR: types, attributes and operations of the `transformer` dialect.
/// The specification of every operation is in the .td files beside this header and, generated, in
/// docs/reference/transformer.md.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H
#define HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Transformer/Dialect.h.inc"
#include "dialects/Transformer/Enums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Transformer/Types.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Transformer/Attrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Transformer/Ops.h.inc"

#endif // HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H
