// SPDX-License-Identifier: Apache-2.0
///
/// Element types of the IR and the table heddle/ElementTypes.def: the one place that converts
/// between them. A program may have every type of the table; verifiers and targets say which of
/// them stand where.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H
#define HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H

#include "heddle/ElementType.h"

#include "mlir/IR/Types.h"

#include <optional>
#include <string>

namespace heddle {

/// The line of the table for a type of the IR; nothing if the table has none.
std::optional<ElementType> findElementType(mlir::Type type);

/// The same for a type that a verifier has found in the table.
ElementType elementTypeOf(mlir::Type type);

/// The type of the IR for a line of the table.
mlir::Type typeOf(ElementType element, mlir::MLIRContext *context);

/// The types of the IR that the table has, for messages: "f32, i32, f64, ...".
std::string elementTypeChoices(mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H
