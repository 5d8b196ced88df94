// SPDX-License-Identifier: Apache-2.0
///
/// Runs LLVM's passes and code generators, and reads and writes its bitcode.
#include "compiler/Target/LlvmCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace heddle {

/// The version of this file's code generation, including its choice of LLVM passes; increase it
/// with every change of the generated code. Cached code of other versions is not used.
static constexpr int kCodeVersion = 1;

std::string llvmName() { return "LLVM " LLVM_VERSION_STRING; }

std::string llvmIdentity(const TargetDescription &target) {
  return (llvm::Twine(llvmName()) + ", " + target.triple + ", " + target.processor +
          target.features + ", " + llvm::Twine(kCodeVersion))
      .str();
}

Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const TargetDescription &target) {
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

void runPasses(
    llvm::Module &module, llvm::TargetMachine &machine,
    llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &builder)> createPasses) {
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
  createPasses(builder).run(module, modules);
}

void optimizeUnit(llvm::Module &module, llvm::TargetMachine &machine) {
  runPasses(module, machine, [](llvm::PassBuilder &builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  });
}

Result<Code> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
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

Result<std::unique_ptr<llvm::Module>> toLlvm(mlir::ModuleOp module, const TargetDescription &target,
                                             const llvm::TargetMachine &machine,
                                             llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(module, context, target.name);
  if (!code) {
    return HEDDLE_ERROR(InvalidArgument, "the kernels of '" + target.name.str() +
                                             "' could not be translated to LLVM IR");
  }
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  return code;
}

CodeUnit separateUnit(const llvm::Module &module, llvm::StringRef name,
                      llvm::function_ref<bool(const llvm::Function &)> isOfUnit) {
  llvm::ValueToValueMapTy values;
  std::unique_ptr<llvm::Module> unit =
      llvm::CloneModule(module, values, [&](const llvm::GlobalValue *value) {
        const auto *function = llvm::dyn_cast<llvm::Function>(value);
        return !function || isOfUnit(*function);
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
  CodeUnit result{name.str(), {}};
  llvm::raw_svector_ostream stream(result.source);
  llvm::WriteBitcodeToFile(*unit, stream);
  return result;
}

Result<std::unique_ptr<llvm::Module>> parseUnit(const CodeUnit &unit, llvm::LLVMContext &context) {
  const llvm::StringRef bytes(unit.source.data(), unit.source.size());
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, unit.name), context);
  if (!module) {
    return HEDDLE_ERROR(Internal, unit.name + ": " + llvm::toString(module.takeError()));
  }
  return std::move(*module);
}

} // namespace heddle
