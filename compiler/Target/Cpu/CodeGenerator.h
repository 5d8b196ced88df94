// SPDX-License-Identifier: Apache-2.0
///
/// Object code and assembly for a kernel module of the llvm dialect.
#ifndef HEDDLE_COMPILER_TARGET_CPU_CODEGENERATOR_H
#define HEDDLE_COMPILER_TARGET_CPU_CODEGENERATOR_H

#include "compiler/Target/Target.h"
#include "heddle/Status.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class ModuleOp;
}

namespace heddle {

/// What the code generator writes.
enum class CodeKind { Object, Assembly };

/// Makes LLVM's x86 back end known; called once before generateCode.
void initializeCodeGenerator();

/// One target's module in LLVM IR, in a context of its own.
class TargetCode {
public:
  /// Translates a module of the llvm dialect. Not for several threads at once: it uses the module's
  /// context.
  static Result<TargetCode> translate(mlir::ModuleOp module, const TargetDescription &target);

  TargetCode(TargetCode &&) noexcept;
  TargetCode &operator=(TargetCode &&) noexcept;
  ~TargetCode();

  /// Optimises and compiles it, once. Several may be compiled by several threads.
  Result<llvm::SmallVector<char, 0>> compile(CodeKind kind);

private:
  TargetCode(const TargetDescription &target, std::unique_ptr<llvm::LLVMContext> context,
             std::unique_ptr<llvm::Module> code);

  const TargetDescription *target;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> code;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_CODEGENERATOR_H
