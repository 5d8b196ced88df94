// SPDX-License-Identifier: Apache-2.0
///
/// The kernels that order the hypotheses of beam searches (heddle/HypothesisOrder.h). Images have
/// them if blocks select tokens, because they order what is selected.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ORDERKERNELS_H
#define HEDDLE_COMPILER_TARGET_CUDA_ORDERKERNELS_H

#include "compiler/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Marks the module of a kernel that selects tokens with an attribute.
void wantOrderKernels(mlir::func::FuncOp kernel);

/// Removes the mark of a module, and adds the kernels if there was one.
void addOrderKernels(mlir::ModuleOp module, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ORDERKERNELS_H
