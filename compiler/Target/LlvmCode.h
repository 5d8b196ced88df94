// SPDX-License-Identifier: Apache-2.0
///
/// LLVM's part of the work as all kinds of machines have it: from a module of the llvm dialect to
/// units, and from a unit to code (docs/decisions/0022). Kernels arrive vectorised, unrolled and
/// scheduled by tiles, so the passes that would do these things again are off: they cost compile
/// time and undo tiles.
#ifndef HEDDLE_COMPILER_TARGET_LLVMCODE_H
#define HEDDLE_COMPILER_TARGET_LLVMCODE_H

#include "compiler/Target/Target.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace heddle {

/// LLVM's code generator for a target, which must have been made known to it.
Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const TargetDescription &target);

/// A module of the llvm dialect as LLVM IR for a machine.
Result<std::unique_ptr<llvm::Module>> toLlvm(mlir::ModuleOp module, const TargetDescription &target,
                                             const llvm::TargetMachine &machine,
                                             llvm::LLVMContext &context);

/// A module with the functions that `isOfUnit` names, and nothing that they do not refer to.
CodeUnit separateUnit(const llvm::Module &module, llvm::StringRef name,
                      llvm::function_ref<bool(const llvm::Function &)> isOfUnit);

/// The module that a unit has the bitcode of.
Result<std::unique_ptr<llvm::Module>> parseUnit(const CodeUnit &unit, llvm::LLVMContext &context);

void optimizeUnit(llvm::Module &module, llvm::TargetMachine &machine);

Result<Code> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                      llvm::CodeGenFileType fileType);

/// What code of a unit follows from for a target, as TargetCode::compilerIdentity() says, where it
/// is made by these functions alone.
std::string llvmIdentity(const TargetDescription &target);

/// LLVM and its version.
std::string llvmName();

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_LLVMCODE_H
