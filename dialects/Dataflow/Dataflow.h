// SPDX-License-Identifier: Apache-2.0
///
/// The dataflow level of the IR: graphs of dispatches over buffers, and the kernels that they run.
/// The .td files beside this header specify every operation; docs/reference/dataflow.md is
/// generated from them.
#ifndef HEDDLE_DIALECTS_DATAFLOW_DATAFLOW_H
#define HEDDLE_DIALECTS_DATAFLOW_DATAFLOW_H

#include "dialects/Dataflow/Sizes.h"
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

#include "dialects/Dataflow/Families/KernelFamily.h"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dataflow/Attrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dataflow/Ops.h.inc"

namespace heddle::dataflow {

namespace detail {

template <typename... Attributes> struct AttributeList {};
using Attributes = AttributeList<
#define GET_ATTRDEF_LIST
#include "dialects/Dataflow/Attrs.cpp.inc"
    >;

template <typename Attribute, typename Visitor>
bool visitIf(KernelFamily family, Visitor &visitor) {
  if constexpr (std::is_base_of_v<KernelFamily::Trait<Attribute>, Attribute>) {
    if (auto found = llvm::dyn_cast<Attribute>(family)) {
      visitor(found);
      return true;
    }
  }
  return false;
}

template <typename Visitor, typename... Attributes>
bool visitAny(KernelFamily family, Visitor &visitor, AttributeList<Attributes...>) {
  return (visitIf<Attributes>(family, visitor) || ...);
}

} // namespace detail

/// Calls `visitor` with a family, cast to its attribute class. The visitor must accept every family
/// of the dialect; a missing overload is a compile-time error.
template <typename Visitor> void visitFamily(KernelFamily family, Visitor visitor) {
  [[maybe_unused]] bool isFound = detail::visitAny(family, visitor, detail::Attributes());
  assert(isFound && "every kernel family is an attribute of the dialect");
}

// Parse and print `at` of a dispatch: a single place without brackets for one result, else a list.
mlir::ParseResult parsePlaces(mlir::OpAsmParser &parser, mlir::ArrayAttr &places);
void printPlaces(mlir::OpAsmPrinter &printer, mlir::Operation *dispatch, mlir::ArrayAttr places);

/// Looks through any number of views and returns the value that they show.
mlir::Value viewedValue(mlir::Value value);

} // namespace heddle::dataflow

#endif // HEDDLE_DIALECTS_DATAFLOW_DATAFLOW_H
