// SPDX-License-Identifier: Apache-2.0
///
/// The kernels that measure what a GPU can do at best, with which the runtime compares a model's
/// kernels. They depend on the target alone, and are part of each image because the runtime has no
/// compiler.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ROOFKERNELS_H
#define HEDDLE_COMPILER_TARGET_CUDA_ROOFKERNELS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// Adds those of a target (heddle/RoofKernels.def) to a module of its kernels.
void addRoofKernels(mlir::ModuleOp module, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ROOFKERNELS_H
