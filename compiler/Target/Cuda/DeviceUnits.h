// SPDX-License-Identifier: Apache-2.0
///
/// Kernels of a GPU as units of code: an entry, the kernel that it calls, and what that is made of.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_DEVICEUNITS_H
#define HEDDLE_COMPILER_TARGET_CUDA_DEVICEUNITS_H

#include "compiler/Target/LlvmCode.h"

#include <optional>
#include <vector>

namespace heddle {

/// The units of a module of the llvm dialect, each named after its entry, for the code generator of
/// `machine`. All names in them are legal in PTX, and no two units define the same.
Result<std::vector<CodeUnit>> deviceUnits(mlir::ModuleOp module, const TargetDescription &target,
                                          const llvm::TargetMachine &machine);

/// Names what LLVM has added to a unit after its entry. Fails if the unit calls what neither it nor
/// the device has: GPUs have no library, the tests' emulated device has functions of one prefix.
Status finishUnit(llvm::Module &module, const CodeUnit &unit,
                  std::optional<llvm::StringRef> libraryPrefix = std::nullopt);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_DEVICEUNITS_H
