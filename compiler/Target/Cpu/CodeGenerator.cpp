// SPDX-License-Identifier: Apache-2.0
///
/// LLVM's part of the work. Kernels arrive vectorised, unrolled and scheduled by tiles, so the
/// passes that would do these things again are off: they cost compile time and undo tiles.
#include "compiler/Target/Cpu/CpuTargets.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/Twine.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace heddle {

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

namespace {

/// One target's module in LLVM IR, in a context of its own.
class CpuCode final : public TargetCode {
public:
  CpuCode(const TargetDescription &target, std::unique_ptr<llvm::LLVMContext> context,
          std::unique_ptr<llvm::Module> code)
      : target(target), context(std::move(context)), code(std::move(code)) {}

  Result<llvm::SmallVector<char, 0>> compile(CodeKind kind) override;

private:
  TargetDescription target;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> code;
};

} // namespace

Result<std::unique_ptr<TargetCode>> translateKernels(mlir::ModuleOp module,
                                                     const TargetDescription &target) {
  static std::once_flag once;
  std::call_once(once, initializeCodeGenerator);
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(module, *context, target.name);
  if (!code) {
    return HEDDLE_ERROR(InvalidArgument, "the kernels of '" + target.name.str() +
                                             "' could not be translated to LLVM IR");
  }
  return std::unique_ptr<TargetCode>(
      std::make_unique<CpuCode>(target, std::move(context), std::move(code)));
}

Result<llvm::SmallVector<char, 0>> CpuCode::compile(CodeKind kind) {
  llvm::Triple triple(target.triple);
  std::string message;
  const llvm::Target *backEnd = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!backEnd) {
    return HEDDLE_ERROR(Unsupported,
                        "LLVM has no code generator for '" + target.triple.str() + "': " + message);
  }
  std::unique_ptr<llvm::TargetMachine> machine(backEnd->createTargetMachine(
      triple, target.processor, "", llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
  code->setTargetTriple(triple);
  code->setDataLayout(machine->createDataLayout());
  optimize(*code, *machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto fileType = kind == CodeKind::Object ? llvm::CodeGenFileType::ObjectFile
                                           : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, fileType)) {
    return HEDDLE_ERROR(Internal, "LLVM cannot emit code for '" + target.name.str() + "'");
  }
  passes.run(*code);
  return bytes;
}

} // namespace heddle
