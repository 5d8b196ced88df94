// SPDX-License-Identifier: Apache-2.0
///
/// The use of LLVM that all kinds of targets share: from a module of the llvm dialect to units, and
/// from a unit to code (docs/decisions/0022). Kernels are already vectorised, unrolled and
/// scheduled by tiles, so LLVM's passes for these are disabled: they cost compile time and undo
/// tiles.
#ifndef HEDDLE_COMPILER_TARGET_LLVMCODE_H
#define HEDDLE_COMPILER_TARGET_LLVMCODE_H

#include "compiler/Target/Target.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace llvm {
class PassBuilder;
} // namespace llvm

namespace heddle {

/// Creates LLVM's code generator for a target, whose back end must have been registered.
Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const TargetDescription &target);

/// Translates a module of the llvm dialect to LLVM IR for a machine.
Result<std::unique_ptr<llvm::Module>> toLlvm(mlir::ModuleOp module, const TargetDescription &target,
                                             const llvm::TargetMachine &machine,
                                             llvm::LLVMContext &context);

/// Returns a module with the functions selected by `isOfUnit`, and only what they refer to.
CodeUnit separateUnit(const llvm::Module &module, llvm::StringRef name,
                      llvm::function_ref<bool(const llvm::Function &)> isOfUnit);

/// Parses the bitcode of a unit.
Result<std::unique_ptr<llvm::Module>> parseUnit(const CodeUnit &unit, llvm::LLVMContext &context);

/// Runs the passes that `createPasses` returns, with LLVM's own passes for tiles disabled.
void runPasses(
    llvm::Module &module, llvm::TargetMachine &machine,
    llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &builder)> createPasses);

/// Runs the passes for code of a target.
void optimizeUnit(llvm::Module &module, llvm::TargetMachine &machine);

Result<Code> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                      llvm::CodeGenFileType fileType);

/// Returns the identity of these functions for a target, for TargetCode::compilerIdentity().
std::string llvmIdentity(const TargetDescription &target);

/// Returns LLVM and its version.
std::string llvmName();

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_LLVMCODE_H
