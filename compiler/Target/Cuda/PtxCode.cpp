// SPDX-License-Identifier: Apache-2.0
///
/// Compiles kernels to PTX with LLVM, in the process: compiling a model needs no CUDA program.
#include "compiler/Target/Cuda/CudaTargets.h"
#include "compiler/Target/Cuda/DeviceUnits.h"
#include "compiler/Target/Cuda/Ptx.h"

#include "llvm/Support/TargetSelect.h"

#include <mutex>

namespace heddle {

/// Registers LLVM's NVPTX back end.
static void initializeCodeGenerator() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

namespace {

class PtxCode final : public TargetCode {
public:
  PtxCode(const TargetDescription &target, std::vector<CodeUnit> kernels)
      : target(target), kernels(std::move(kernels)) {}

  llvm::ArrayRef<CodeUnit> units() const override { return kernels; }
  std::string compilerIdentity() const override { return llvmIdentity(target); }
  Result<Code> compile(const CodeUnit &unit) const override;
  Result<std::vector<DeviceImage>> images(llvm::ArrayRef<Code> code,
                                          const DeviceTools &tools) const override;
  Result<Code> assembly() const override;

private:
  TargetDescription target;
  std::vector<CodeUnit> kernels;
};

} // namespace

Result<Code> PtxCode::compile(const CodeUnit &unit) const {
  llvm::LLVMContext context;
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  HEDDLE_ASSIGN(std::unique_ptr<llvm::Module> module, parseUnit(unit, context));
  optimizeUnit(*module, *machine);
  HEDDLE_TRY(finishUnit(*module, unit));
  return emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::vector<DeviceImage>> PtxCode::images(llvm::ArrayRef<Code> code,
                                                 const DeviceTools &tools) const {
  HEDDLE_ASSIGN(Code text, joinPtx(code));
  std::vector<DeviceImage> images;
  if (!tools.ptxas.empty()) {
    HEDDLE_ASSIGN(DeviceImage cubin, assemblePtx(text, target.processor, tools.ptxas));
    images.push_back(std::move(cubin));
  }
  text.push_back('\0');
  images.push_back({manifest::ImageKind::Ptx, std::move(text), llvmName()});
  return images;
}

Result<Code> PtxCode::assembly() const {
  std::vector<Code> code;
  for (const CodeUnit &unit : kernels) {
    HEDDLE_ASSIGN(Code text, compile(unit));
    code.push_back(std::move(text));
  }
  return joinPtx(code);
}

Result<std::unique_ptr<TargetCode>> translateToDevice(mlir::ModuleOp module,
                                                      const TargetDescription &target) {
  static std::once_flag once;
  std::call_once(once, initializeCodeGenerator);
  HEDDLE_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target));
  HEDDLE_ASSIGN(std::vector<CodeUnit> units, deviceUnits(module, target, *machine));
  return std::unique_ptr<TargetCode>(std::make_unique<PtxCode>(target, std::move(units)));
}

} // namespace heddle
