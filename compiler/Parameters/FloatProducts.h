// SPDX-License-Identifier: Apache-2.0
///
/// What products of f32 may be computed with, as a note on their kernel: those with weights where
/// the precision of the weights says so, and those of an attention where that of the program does.
/// The pass narrow-rows writes it, targets with units for it read it. What the kernel computes
/// stays products of f32, which is what all other targets give.
#ifndef HEDDLE_COMPILER_FLOATPRODUCTS_H
#define HEDDLE_COMPILER_FLOATPRODUCTS_H

#include "compiler/Parameters/Precision.h"
#include "dialects/Dataflow/Dataflow.h"

namespace heddle {

/// Its name: "tf32x3"; empty for what needs no note.
llvm::StringRef floatProductsName(FloatProducts products);

/// Writes the note on a kernel; none for exact products.
void noteFloatProducts(dataflow::KernelOp kernel, FloatProducts products);
/// Reads it: exact products without one, and where checkFloatProducts() refuses it.
FloatProducts floatProductsOf(dataflow::KernelOp kernel);

/// Refuses a note that says nothing known, or of a kernel that is neither an attention nor a
/// product of f32 with weights of f32 in one group: programs in text may have anything.
mlir::LogicalResult checkFloatProducts(dataflow::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_COMPILER_FLOATPRODUCTS_H
