// SPDX-License-Identifier: Apache-2.0
///
/// Generates objects of functions, and their assembly.
#include "compiler/Target/Cpu/CpuTargets.h"
#include "compiler/Target/LlvmCode.h"

#include "llvm/Linker/Linker.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

namespace heddle {

/// Registers LLVM's x86 back end.
static void initializeCodeGenerator() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  // For programs with inline assembly.
  LLVMInitializeX86AsmParser();
}

/// Makes functions that kernels share weak_odr and hidden: every object that uses one has the same
/// copy.
static void shareInternalFunctions(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (!function.isDeclaration() && function.hasLocalLinkage()) {
      function.setLinkage(llvm::GlobalValue::WeakODRLinkage);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
      function.setComdat(module.getOrInsertComdat(function.getName()));
    }
  }
}

namespace {

class CpuCode final : public TargetCode {
public:
  CpuCode(const TargetDescription &target, std::vector<CodeUnit> functions)
      : target(target), functions(std::move(functions)) {}

  llvm::ArrayRef<CodeUnit> units() const override { return functions; }
  std::string compilerIdentity() const override { return llvmIdentity(target); }
  Result<Code> compile(const CodeUnit &unit) const override;
  Result<std::vector<DeviceImage>> images(llvm::ArrayRef<Code>,
                                          const DeviceTools &) const override {
    return std::vector<DeviceImage>();
  }
  Result<Code> assembly() const override;

private:
  TargetDescription target;
  std::vector<CodeUnit> functions;
};

} // namespace

Result<Code> CpuCode::compile(const CodeUnit &unit) const {
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> module, parseUnit(unit, context));
  optimizeUnit(*module, *machine);
  return emitCode(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

Result<Code> CpuCode::assembly() const {
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  llvm::Module all(target.name, context);
  all.setTargetTriple(machine->getTargetTriple());
  all.setDataLayout(machine->createDataLayout());
  llvm::Linker linker(all);
  for (const CodeUnit &unit : functions) {
    HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> module, parseUnit(unit, context));
    optimizeUnit(*module, *machine);
    if (linker.linkInModule(std::move(module))) {
      return HEDDLE_ERROR(Internal, unit.name + ": LLVM cannot join it to other functions");
    }
  }
  return emitCode(all, *machine, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::unique_ptr<TargetCode>> translateToCpu(mlir::ModuleOp module,
                                                   const TargetDescription &target) {
  static std::once_flag once;
  std::call_once(once, initializeCodeGenerator);
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> code, toLlvm(module, target, *machine, context));
  shareInternalFunctions(*code);
  std::vector<CodeUnit> functions;
  for (const llvm::Function &function : *code) {
    if (!function.isDeclaration()) {
      functions.push_back(separateUnit(*code, function.getName(), [&](const llvm::Function &other) {
        return &other == &function;
      }));
    }
  }
  return std::unique_ptr<TargetCode>(std::make_unique<CpuCode>(target, std::move(functions)));
}

} // namespace heddle
