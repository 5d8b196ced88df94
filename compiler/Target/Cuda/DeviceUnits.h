// SPDX-License-Identifier: Apache-2.0
///
/// Splits the kernels of a GPU into units of code: an entry, the kernel that it calls, and the
/// functions that the kernel calls.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_DEVICEUNITS_H
#define HEDDLE_COMPILER_TARGET_CUDA_DEVICEUNITS_H

#include "compiler/Target/LlvmCode.h"

#include <optional>
#include <vector>

namespace heddle {

/// Returns the units of a module of the llvm dialect, each named after its entry, for the code
/// generator of `machine`. All names in them are legal in PTX, and no two units define the same
/// name.
Result<std::vector<CodeUnit>> deviceUnits(mlir::ModuleOp module, const TargetDescription &target,
                                          const llvm::TargetMachine &machine);

/// Renames symbols that LLVM has added to a unit after the unit's entry. Fails if the unit calls a
/// function that neither the unit nor the device defines: GPUs have no library; the tests' emulated
/// device has library functions with one prefix.
Status finishUnit(llvm::Module &module, const CodeUnit &unit,
                  std::optional<llvm::StringRef> libraryPrefix = std::nullopt);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_DEVICEUNITS_H
