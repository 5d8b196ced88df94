// SPDX-License-Identifier: Apache-2.0
///
/// The types in which f32 products may be computed, as a note on their kernel: set for products
/// with weights by the precision of the weights, for attentions by that of the program. The pass
/// narrow-rows writes it; targets with suitable matrix units read it. The kernel still specifies
/// f32 products, which all other targets compute.
#ifndef HEDDLE_COMPILER_FLOATPRODUCTS_H
#define HEDDLE_COMPILER_FLOATPRODUCTS_H

#include "compiler/Parameters/Precision.h"
#include "dialects/Dataflow/Dataflow.h"

namespace heddle {

/// Returns its name: "tf32x3"; empty if there is no note.
llvm::StringRef floatProductsName(FloatProducts products);

/// Sets the note of a kernel; none for exact products.
void noteFloatProducts(dataflow::KernelOp kernel, FloatProducts products);
/// Returns the note: exact products without one, or if checkFloatProducts() rejects it.
FloatProducts floatProductsOf(dataflow::KernelOp kernel);

/// Rejects an unknown note, and a note on a kernel that is neither an attention nor an f32 product
/// with f32 weights. Programs in text may contain either.
mlir::LogicalResult checkFloatProducts(dataflow::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_COMPILER_FLOATPRODUCTS_H
