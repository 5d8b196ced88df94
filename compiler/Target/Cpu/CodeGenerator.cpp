// SPDX-License-Identifier: Apache-2.0
///
/// LLVM's part of the work, function by function: docs/decisions/0022. Kernels arrive vectorised,
/// unrolled and scheduled by tiles, so the passes that would do these things again are off: they
/// cost compile time and undo tiles.
#include "compiler/Target/Cpu/CpuTargets.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

namespace heddle {

/// Counts the changes of this file, and of Heddle's choice of LLVM's passes, that change code: code
/// of another number is not taken from a cache.
static constexpr int kCodeVersion = 1;

/// Makes LLVM's back end known.
static void initializeCodeGenerator() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  // For programs with inline assembly.
  LLVMInitializeX86AsmParser();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions options;
  options.LoopUnrolling = false;
  options.LoopVectorization = false;
  options.LoopInterleaving = false;
  options.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, options);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

static Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const TargetDescription &target) {
  llvm::Triple triple(target.triple);
  std::string message;
  const llvm::Target *backEnd = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!backEnd) {
    return HEDDLE_ERROR(Unsupported,
                        "LLVM has no code generator for '" + target.triple.str() + "': " + message);
  }
  return std::unique_ptr<llvm::TargetMachine>(backEnd->createTargetMachine(
      triple, target.processor, target.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
}

static Result<Code> emit(llvm::Module &module, llvm::TargetMachine &machine,
                         llvm::CodeGenFileType fileType) {
  Code bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, fileType)) {
    return HEDDLE_ERROR(Internal,
                        "LLVM cannot emit code for '" + machine.getTargetCPU().str() + "'");
  }
  passes.run(module);
  return bytes;
}

// --- units -----------------------------------------------------------------------------------

/// What kernels share is private to the library: each object that has it has the same.
static void shareInternalFunctions(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (!function.isDeclaration() && function.hasLocalLinkage()) {
      function.setLinkage(llvm::GlobalValue::WeakODRLinkage);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
      function.setComdat(module.getOrInsertComdat(function.getName()));
    }
  }
}

/// A module with one function, and nothing that it does not refer to.
static CodeUnit separate(const llvm::Module &module, const llvm::Function &function) {
  llvm::ValueToValueMapTy values;
  std::unique_ptr<llvm::Module> unit =
      llvm::CloneModule(module, values, [&](const llvm::GlobalValue *value) {
        return value == &function || !llvm::isa<llvm::Function>(value);
      });
  for (llvm::Function &other : llvm::make_early_inc_range(*unit)) {
    if (other.isDeclaration() && other.use_empty()) {
      other.eraseFromParent();
    }
  }
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(unit->globals())) {
    if (variable.use_empty()) {
      variable.eraseFromParent();
    }
  }
  CodeUnit result{function.getName().str(), {}};
  llvm::raw_svector_ostream stream(result.source);
  llvm::WriteBitcodeToFile(*unit, stream);
  return result;
}

static Result<std::unique_ptr<llvm::Module>> parseUnit(const CodeUnit &unit,
                                                       llvm::LLVMContext &context) {
  const llvm::StringRef bytes(unit.source.data(), unit.source.size());
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, unit.name), context);
  if (!module) {
    return HEDDLE_ERROR(Internal, unit.name + ": " + llvm::toString(module.takeError()));
  }
  return std::move(*module);
}

namespace {

class CpuCode final : public TargetCode {
public:
  CpuCode(const TargetDescription &target, std::vector<CodeUnit> functions)
      : target(target), functions(std::move(functions)) {}

  llvm::ArrayRef<CodeUnit> units() const override { return functions; }
  std::string compilerIdentity() const override;
  Result<Code> compile(const CodeUnit &unit) const override;
  Result<Code> assembly() const override;

private:
  TargetDescription target;
  std::vector<CodeUnit> functions;
};

} // namespace

std::string CpuCode::compilerIdentity() const {
  return (llvm::Twine("LLVM " LLVM_VERSION_STRING ", ") + target.triple + ", " + target.processor +
          target.features + ", " + llvm::Twine(kCodeVersion))
      .str();
}

Result<Code> CpuCode::compile(const CodeUnit &unit) const {
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> module, parseUnit(unit, context));
  optimize(*module, *machine);
  return emit(*module, *machine, llvm::CodeGenFileType::ObjectFile);
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
    optimize(*module, *machine);
    if (linker.linkInModule(std::move(module))) {
      return HEDDLE_ERROR(Internal, unit.name + ": LLVM cannot join it to other functions");
    }
  }
  return emit(all, *machine, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::unique_ptr<TargetCode>> translateKernels(mlir::ModuleOp module,
                                                     const TargetDescription &target) {
  static std::once_flag once;
  std::call_once(once, initializeCodeGenerator);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(module, context, target.name);
  if (!code) {
    return HEDDLE_ERROR(InvalidArgument, "the kernels of '" + target.name.str() +
                                             "' could not be translated to LLVM IR");
  }
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  shareInternalFunctions(*code);
  std::vector<CodeUnit> functions;
  for (const llvm::Function &function : *code) {
    if (!function.isDeclaration()) {
      functions.push_back(separate(*code, function));
    }
  }
  return std::unique_ptr<TargetCode>(std::make_unique<CpuCode>(target, std::move(functions)));
}

} // namespace heddle
