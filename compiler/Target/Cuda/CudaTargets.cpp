// SPDX-License-Identifier: Apache-2.0
///
/// The table of GPUs. sm_80 runs on everything since Ampere, sm_90a on Hopper alone.
#include "compiler/Target/Cuda/CudaTargets.h"

#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "compiler/Target/Cuda/BlockAttention.h"
#include "compiler/Target/Cuda/BlockProduct.h"
#include "compiler/Target/Cuda/WarpRows.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Panels.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/ADT/StringExtras.h"

namespace heddle {

static constexpr int64_t kKibibyte = 1024;
static constexpr ElementType kWeightElements[] = {ElementType::F32, ElementType::BF16,
                                                  ElementType::I8};
static constexpr ElementType kCacheElements[] = {ElementType::F32};

/// Callers share nothing, so blocks need only be large enough for a multiprocessor to be full with
/// as many of them as it takes, and small enough that a kernel with all registers fits.
static constexpr uint32_t kBlockThreads = 64;

namespace {

class CudaBackend final : public TargetBackend {
public:
  std::string describe(const TargetDescription &target) const override {
    // Names that end in a letter are for one capability, others for all from theirs on.
    const llvm::StringRef digits = target.name.drop_front(llvm::StringRef("sm_").size());
    const llvm::StringRef number = digits.take_while(llvm::isDigit);
    return ("GPUs of NVIDIA of compute capability " + number.drop_back() + "." +
            number.take_back() + (number == digits ? " or more" : ""))
        .str();
  }
  MatrixEncoding encodeMatrix(const TargetDescription &target, transformer::ParameterOp matrix,
                              const dataflow::KernelInput &input) const override {
    return encodePanels(target, matrix, input);
  }
  manifest::LaunchShape launchShape() const override {
    return {manifest::LaunchUnit::Caller, kBlockThreads, /*shared=*/0};
  }
  manifest::LaunchShape finishShape() const override;
  manifest::LaunchShape launchShapeOf(dataflow::KernelOp kernel,
                                      const TargetDescription &target) const override;
  void emitKernel(VectorCode &code, const KernelBody &body) const override;
  void emitFinish(VectorCode &code, const KernelBody &body) const override {
    emitWarpNorms(code, body);
  }
  std::string symbolOf(llvm::StringRef kernel, const TargetDescription &) const override {
    return entryName(kernel);
  }
  void addEntries(mlir::ModuleOp module, const TargetDescription &target) const override {
    addCudaEntries(module, target);
  }
  void setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &target,
                     bool isShared) const override;
  KernelScratch scratchOf(dataflow::KernelOp kernel) const override {
    // Blocks have shared memory.
    return blockAttention(kernel) ? KernelScratch() : kernelScratch(kernel);
  }
  Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                const TargetDescription &target) const override {
    return translateToDevice(module, target);
  }
};

} // namespace

/// How blocks compute a kernel; nothing where each thread is a caller of its own.
static std::optional<BlockWork> blockWork(dataflow::KernelOp kernel,
                                          const TargetDescription &target) {
  if (const std::optional<BlockWork> attention = blockAttention(kernel)) {
    return attention;
  }
  const std::optional<BlockWork> product = blockProduct(kernel, target);
  return product ? product : warpRows(kernel);
}

static manifest::LaunchShape togetherShape(int64_t threads, int64_t shared) {
  return {manifest::LaunchUnit::Caller, static_cast<uint32_t>(threads),
          static_cast<uint32_t>(shared)};
}

manifest::LaunchShape CudaBackend::finishShape() const {
  return togetherShape(kRowThreads, kSharedAlignment);
}

manifest::LaunchShape CudaBackend::launchShapeOf(dataflow::KernelOp kernel,
                                                 const TargetDescription &target) const {
  const std::optional<BlockWork> work = blockWork(kernel, target);
  return work ? togetherShape(work->threads, work->shared) : launchShape();
}

/// Says of an attention how a target computes it, or why no blocks do.
static void reportAttention(dataflow::KernelOp kernel, const TargetDescription &target) {
  const std::optional<AttentionChoice> choice = attentionChoice(kernel);
  if (!choice) {
    return;
  }
  const std::string text = target.name.str() + ": " + choice->text;
  if (choice->isByBlocks) {
    reportTaken(kernel.getLoc(), passNames::convertDataflowToKernels, text);
  } else {
    reportDeclined(kernel.getLoc(), passNames::convertDataflowToKernels, text);
  }
}

void CudaBackend::emitKernel(VectorCode &code, const KernelBody &body) const {
  reportAttention(body.kernel, code.target);
  if (blockProduct(body.kernel, code.target)) {
    emitBlockProduct(code, body, mlir::cast<dataflow::ContractAttr>(body.kernel.getComputes()));
  } else if (blockAttention(body.kernel)) {
    emitBlockAttention(code, body, mlir::cast<dataflow::AttentionAttr>(body.kernel.getComputes()));
  } else if (warpRows(body.kernel)) {
    emitWarpRows(code, body);
  } else {
    emitFamily(code, body);
  }
}

void CudaBackend::setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &,
                                bool isShared) const {
  mlir::Builder builder(function.getContext());
  llvm::SmallVector<mlir::Attribute> attributes = {builder.getStringAttr("nounwind"),
                                                   builder.getStringAttr("no-builtins")};
  // A block's function would save registers for a call of each piece, and nothing that it reads is
  // written by its entry.
  if (BlockWork::forget(function) || isShared) {
    // Calls are expensive, and a tile of one row is short.
    attributes.push_back(builder.getStringAttr("alwaysinline"));
    function.setLinkage(mlir::LLVM::Linkage::Internal);
  } else if (!function->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName())) {
    // A kernel reads its context as what never changes; an entry writes a copy of it. In one
    // function LLVM would take what is read for what was there before.
    attributes.push_back(builder.getStringAttr("noinline"));
  }
  function.setPassthroughAttr(builder.getArrayAttr(attributes));
}

std::string entryName(llvm::StringRef kernel) {
  if (kernel.empty()) {
    return "k$";
  }
  std::string name;
  // A name begins with a letter.
  if (!llvm::isAlpha(kernel.front())) {
    name = "k$" + llvm::toHex(kernel.take_front(), /*LowerCase=*/true);
    kernel = kernel.drop_front();
  }
  for (const char each : kernel) {
    if (llvm::isAlnum(each) || each == '_') {
      name += each;
    } else {
      name += each == '.' ? "$$" : "$" + llvm::toHex(llvm::StringRef(&each, 1), true);
    }
  }
  return name;
}

std::vector<TargetDescription> cudaTargets() {
  static const CudaBackend backend;
  static constexpr llvm::StringLiteral triple = "nvptx64-nvidia-cuda";
  // A third of a panel at once: 16 accumulators and as many weights of 255 registers. Callers have
  // a share of the second-level cache that is hardly worth blocking for.
  const auto row = [&](llvm::StringRef name) -> TargetDescription {
    return {name,
            triple,
            name,
            /*features=*/"",
            /*lanes=*/1,
            /*tileRows=*/1,
            /*tileVectors=*/16,
            sharedPanelColumns,
            /*hasScale=*/false,
            IntegerProducts::Single,
            /*hasBf16DotProduct=*/false,
            /*hasAmx=*/false,
            /*cacheBytes=*/16 * kKibibyte,
            kWeightElements,
            kCacheElements,
            &backend};
  };
  return {row("sm_80"), row("sm_90a")};
}

} // namespace heddle
