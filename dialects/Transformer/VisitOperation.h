// SPDX-License-Identifier: Apache-2.0
///
/// A visitor over every operation of the dialect. A visitor without an overload for one of them
/// does not compile, so that no operation is forgotten.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_VISITOPERATION_H
#define HEDDLE_DIALECTS_TRANSFORMER_VISITOPERATION_H

#include "dialects/Transformer/Transformer.h"

namespace heddle::transformer {

namespace detail {

template <typename... Operations> struct OperationList {};
using Operations = OperationList<
#define GET_OP_LIST
#include "dialects/Transformer/Ops.cpp.inc"
    >;

template <typename Visitor, typename Op>
bool visitIf(mlir::Operation *operation, Visitor &visitor) {
  auto found = llvm::dyn_cast<Op>(operation);
  if (found) {
    visitor(found);
  }
  return bool(found);
}

template <typename Visitor, typename... Operations>
bool visitAny(mlir::Operation *operation, Visitor &visitor, OperationList<Operations...>) {
  return (visitIf<Visitor, Operations>(operation, visitor) || ...);
}

} // namespace detail

/// Calls `visitor` with an operation, cast to its class; returns false, without a call, for an
/// operation of another dialect. The visitor must accept every operation of the dialect.
template <typename Visitor> bool visitOperation(mlir::Operation *operation, Visitor visitor) {
  return detail::visitAny(operation, visitor, detail::Operations());
}

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_VISITOPERATION_H
