// SPDX-License-Identifier: Apache-2.0
///
/// Conversions between element types of the IR and the table heddle/ElementTypes.def. A program may
/// use every type of the table; verifiers and targets restrict where each may occur.
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

/// Returns the table entry for a type of the IR; nothing if there is none. For quantised elements
/// it is the entry of their codes.
std::optional<ElementType> findElementType(mlir::Type type);

/// The same for a type that a verifier has found in the table.
ElementType elementTypeOf(mlir::Type type);

/// Returns the type of the IR for an entry of the table.
mlir::Type typeOf(ElementType element, mlir::MLIRContext *context);

/// The layout of a parameter in a file: its elements or, if they are quantised, rows of bytes; and
/// its total size in bytes, at most 2^62 for verified types.
struct StoredLayout {
  ElementType element;
  llvm::SmallVector<int64_t, 4> shape;

  int64_t bytes() const;
};
StoredLayout storedAs(mlir::Type element, llvm::ArrayRef<int64_t> shape);

/// Lists the element types of the table for messages: "f32, i32, f64, ...".
std::string elementTypeChoices(mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_DIALECTS_TRANSFORMER_ELEMENTTYPES_H
