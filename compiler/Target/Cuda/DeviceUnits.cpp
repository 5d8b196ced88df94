// SPDX-License-Identifier: Apache-2.0
///
/// Each unit contains the tile functions that it uses, which are inlined, so that images are
/// concatenations of units.
#include "compiler/Target/Cuda/DeviceUnits.h"

#include "compiler/Target/Cuda/CudaTargets.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace heddle {

static bool isEntry(const llvm::Function &function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// Returns a function and all functions that it calls, directly or indirectly.
static llvm::DenseSet<const llvm::Function *> reachable(const llvm::Function &entry) {
  llvm::DenseSet<const llvm::Function *> found = {&entry};
  llvm::SmallVector<const llvm::Function *> open = {&entry};
  while (!open.empty()) {
    for (const llvm::Instruction &instruction : llvm::instructions(open.pop_back_val())) {
      const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
      if (callee && found.insert(callee).second) {
        open.push_back(callee);
      }
    }
  }
  return found;
}

/// Keeps LLVM from moving or copying instructions of warps and warpgroups to where only some of
/// their threads come. It knows intrinsics that are such, but not inline assembly.
static void keepConverged(llvm::Module &code) {
  for (llvm::Function &function : code) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && call->isInlineAsm() &&
          llvm::cast<llvm::InlineAsm>(call->getCalledOperand())
              ->getAsmString()
              .contains(".sync.aligned")) {
        call->setConvergent();
        function.setConvergent();
      }
    }
  }
}

Result<std::vector<CodeUnit>> deviceUnits(mlir::ModuleOp module, const TargetDescription &target,
                                          const llvm::TargetMachine &machine) {
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> code, toLlvm(module, target, machine, context));
  keepConverged(*code);
  for (llvm::Function &function : *code) {
    if (!function.isDeclaration() && !isEntry(function)) {
      // The suffix prevents clashes between kernels and the names of entries.
      function.setName(entryName(function.getName()) + "$body");
    }
  }
  std::vector<CodeUnit> units;
  for (const llvm::Function &function : *code) {
    if (!function.isDeclaration() && isEntry(function)) {
      const auto functions = reachable(function);
      units.push_back(separateUnit(*code, function.getName(), [&](const llvm::Function &other) {
        return functions.contains(&other);
      }));
    }
  }
  return units;
}

Status finishUnit(llvm::Module &module, const CodeUnit &unit,
                  std::optional<llvm::StringRef> libraryPrefix) {
  for (const llvm::Function &function : module) {
    const bool isThere = !function.isDeclaration() || function.isIntrinsic() ||
                         (libraryPrefix && function.getName().starts_with(*libraryPrefix));
    if (!isThere && !function.use_empty()) {
      return HEDDLE_ERROR(Internal, "kernel '" + unit.name + "' calls '" +
                                        function.getName().str() +
                                        "', which the device does not have");
    }
  }
  size_t count = 0;
  for (llvm::GlobalVariable &variable : module.globals()) {
    const bool isOfDevice = libraryPrefix && variable.getName().starts_with(*libraryPrefix);
    if (variable.hasLocalLinkage()) {
      variable.setName(unit.name + "$data" + llvm::Twine(count++));
    } else if (variable.isDeclaration() && !isOfDevice) {
      // The shared memory of the launch is the only array that is declared but not defined.
      variable.setName(unit.name + "$shared");
    }
  }
  return {};
}

} // namespace heddle
