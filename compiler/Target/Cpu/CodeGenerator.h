// SPDX-License-Identifier: Apache-2.0
///
/// Object code and assembly for a kernel module of the llvm dialect.
#ifndef HEDDLE_COMPILER_TARGET_CPU_CODEGENERATOR_H
#define HEDDLE_COMPILER_TARGET_CPU_CODEGENERATOR_H

#include "compiler/Target/Target.h"
#include "heddle/Status.h"

#include "llvm/ADT/SmallVector.h"

namespace mlir {
class ModuleOp;
}

namespace heddle {

/// What the code generator writes.
enum class CodeKind { Object, Assembly };

/// Makes LLVM's x86 back end known; called once before generateCode.
void initializeCodeGenerator();

/// Optimises and compiles one target's module. Modules of several targets may be compiled by
/// several threads at once.
Result<llvm::SmallVector<char, 0>> generateCode(mlir::ModuleOp module,
                                                const TargetDescription &target, CodeKind kind);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_CODEGENERATOR_H
