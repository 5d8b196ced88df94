// SPDX-License-Identifier: Apache-2.0
///
/// The targets that are NVIDIA GPUs, and the parts of their back end. Each thread calls a kernel
/// separately by default, so vectors have one lane: docs/decisions/0038.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_CUDATARGETS_H
#define HEDDLE_COMPILER_TARGET_CUDA_CUDATARGETS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// Returns the targets, the least capable first.
std::vector<TargetDescription> cudaTargets();

/// Returns the name of a kernel's entry. PTX names have letters, digits, `_` and `$`: `$$` stands
/// for a point and `$hh` for another byte that PTX does not allow, so that entry names are unique.
std::string entryName(llvm::StringRef kernel);

/// Adds an entry for every kernel in a module, which calls it.
void addCudaEntries(mlir::ModuleOp module, const TargetDescription &target);

/// Implements TargetBackend::translate(). It is a separate function because the tests' emulated
/// device defines it differently, in its own program.
Result<std::unique_ptr<TargetCode>> translateToDevice(mlir::ModuleOp module,
                                                      const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_CUDATARGETS_H
