// SPDX-License-Identifier: Apache-2.0
///
/// Element types of the IR and the table heddle/ElementTypes.def: the one place that converts
/// between them. A program may have every type of the table; verifiers and targets say which of
/// them stand where.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H
#define HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H

#include "heddle/ElementType.h"

#include "mlir/IR/Types.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace heddle {

/// The line of the table for a type of the IR; nothing if the table has none. Of elements that are
/// quantised that of their codes.
std::optional<ElementType> findElementType(mlir::Type type);

/// The same for a type that a verifier has found in the table.
ElementType elementTypeOf(mlir::Type type);

/// The type of the IR for a line of the table.
mlir::Type typeOf(ElementType element, mlir::MLIRContext *context);

/// How a parameter of this type lies in a file: as its elements or, if they are quantised, as rows
/// of bytes. And the bytes of all of it, of which verified types have at most 2^62.
struct StoredLayout {
  ElementType element;
  llvm::SmallVector<int64_t, 4> shape;

  int64_t bytes() const;
};
StoredLayout storedAs(mlir::Type element, llvm::ArrayRef<int64_t> shape);

/// The types of the IR that the table has, for messages: "f32, i32, f64, ...".
std::string elementTypeChoices(mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H
