// SPDX-License-Identifier: Apache-2.0
///
/// The kernels that order the hypotheses of beam searches (heddle/HypothesisOrder.h). Images have
/// them if blocks select tokens, because they order what is selected.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ORDERKERNELS_H
#define HEDDLE_COMPILER_TARGET_CUDA_ORDERKERNELS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// Adds them to a module of kernels of which one selects.
void addOrderKernels(mlir::ModuleOp module, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ORDERKERNELS_H
