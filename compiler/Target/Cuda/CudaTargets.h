// SPDX-License-Identifier: Apache-2.0
///
/// The targets that are GPUs of NVIDIA, and what their back end is made of. A thread is a caller of
/// a kernel, so vectors have one lane: docs/decisions/0038.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_CUDATARGETS_H
#define HEDDLE_COMPILER_TARGET_CUDA_CUDATARGETS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// The least capable first.
std::vector<TargetDescription> cudaTargets();

/// The name of the entry of a kernel. PTX has letters, digits, `_` and `$` in names: `$$` stands
/// for a point, `$hh` for another byte that it does not have, so that no two kernels share one.
std::string entryName(llvm::StringRef kernel);

/// Adds an entry that calls it for every kernel in a module.
void addCudaEntries(mlir::ModuleOp module, const TargetDescription &target);

/// As TargetBackend::translate() says. Where programs end in images: the tests' emulated device has
/// another definition in a program of its own.
Result<std::unique_ptr<TargetCode>> translateToDevice(mlir::ModuleOp module,
                                                      const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_CUDATARGETS_H
