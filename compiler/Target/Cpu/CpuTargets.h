// SPDX-License-Identifier: Apache-2.0
///
/// The targets that are CPUs, and what their back end is made of.
#ifndef HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H
#define HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// The least capable first.
llvm::ArrayRef<TargetDescription> cpuTargets();

// The answers of the back end, as TargetBackend says.
MatrixEncoding encodePanels(const TargetDescription &target, transformer::ParameterOp matrix,
                            const dataflow::KernelInput &input);
KernelScratch kernelScratch(dataflow::KernelOp kernel);
Result<std::unique_ptr<TargetCode>> translateKernels(mlir::ModuleOp module,
                                                     const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_CPUTARGETS_H
