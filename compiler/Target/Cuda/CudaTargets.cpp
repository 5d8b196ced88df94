// SPDX-License-Identifier: Apache-2.0
///
/// The table of GPU targets. sm_80 runs on Ampere and all later GPUs, sm_90a only on Hopper.
#include "compiler/Target/Cuda/CudaTargets.h"

#include "base/NvidiaTargets.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "compiler/Target/Cuda/BlockAttention.h"
#include "compiler/Target/Cuda/BlockProduct.h"
#include "compiler/Target/Cuda/DeviceKernels.h"
#include "compiler/Target/Cuda/KeySections.h"
#include "compiler/Target/Cuda/WarpRows.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Panels.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

#include "llvm/ADT/StringExtras.h"

namespace heddle {

/// Callers share nothing, so blocks need only be large enough to fill a multiprocessor with the
/// blocks that it can hold, and small enough for kernels that use all registers.
static constexpr uint32_t kBlockThreads = 64;

namespace {

class CudaBackend final : public TargetBackend {
public:
  void registerDialects(mlir::DialectRegistry &registry) const override {
    mlir::registerNVVMDialectTranslation(registry);
  }
  std::string describe(const TargetDescription &target) const override {
    const NvidiaTarget &gpu = *findNvidiaTarget(target.name);
    return "GPUs of NVIDIA of compute capability " + std::to_string(gpu.capability / 10) + "." +
           std::to_string(gpu.capability % 10) + (gpu.isExact ? "" : " or more");
  }
  MatrixEncoding encodeMatrix(const TargetDescription &target, transformer::ParameterOp matrix,
                              const dataflow::KernelInput &input) const override;
  manifest::LaunchShape launchShape() const override {
    return {manifest::LaunchUnit::Caller,
            kBlockThreads,
            /*shared=*/0,
            /*section_keys=*/0,
            /*partial_bytes=*/0,
            /*rounded_from=*/0,
            /*rounded_bytes=*/0,
            /*piece_rows=*/0,
            /*piece_columns=*/0};
  }
  manifest::LaunchShape finishShape() const override;
  manifest::LaunchShape launchShapeOf(dataflow::KernelOp kernel,
                                      const TargetDescription &target) const override;
  void emitKernel(VectorCode &code, const KernelBody &body) const override;
  void emitFinish(VectorCode &code, const KernelBody &body) const override {
    emitWarpNorms(code, body);
  }
  llvm::SmallVector<KernelCompanion> companionsOf(dataflow::KernelOp kernel,
                                                  const TargetDescription &target) const override;
  std::string symbolOf(llvm::StringRef kernel, const TargetDescription &) const override {
    return entryName(kernel);
  }
  void addEntries(mlir::ModuleOp module, const TargetDescription &target) const override {
    addCudaEntries(module, target);
  }
  void setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &target,
                     bool isShared) const override;
  Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                const TargetDescription &target) const override {
    return translateToDevice(module, target);
  }
};

} // namespace

MatrixEncoding CudaBackend::encodeMatrix(const TargetDescription &target,
                                         transformer::ParameterOp matrix,
                                         const dataflow::KernelInput &input) const {
  const int64_t k = matrix.getTensorType().getShape().back();
  return usesWarpgroups(target, input.arithmetic, input.groups, k)
             ? encodePanels(target, matrix, input, kWarpgroupTogether)
             : encodePanels(target, matrix, input);
}

llvm::SmallVector<KernelCompanion>
CudaBackend::companionsOf(dataflow::KernelOp kernel, const TargetDescription &target) const {
  const KernelOnGpu found = kernelOnGpu(kernel, target);
  llvm::SmallVector<KernelCompanion> companions;
  if (found.partialBytes != 0) {
    companions.push_back({mergeKernelName(kernel.getSymName()), emitMergedSections});
  }
  if (found.rounded.from != 0) {
    companions.push_back({roundKernelName(kernel.getSymName()), emitRoundedRows});
  }
  return companions;
}

/// `partial` are the bytes of a partial result, 0 if keys are not divided into sections; then
/// `piece` is that of launches of few rows.
static manifest::LaunchShape togetherShape(int64_t threads, int64_t shared, int64_t partial,
                                           const RoundedLaunches &rounded, BlockPiece piece) {
  const bool hasSections = partial != 0;
  return {manifest::LaunchUnit::Caller,
          static_cast<uint32_t>(threads),
          static_cast<uint32_t>(shared),
          static_cast<uint32_t>(hasSections ? kSectionKeys : 0),
          static_cast<uint32_t>(partial),
          static_cast<uint32_t>(rounded.from),
          static_cast<uint32_t>(rounded.blocks.rowBytes()),
          static_cast<uint32_t>(hasSections ? piece.rows : 0),
          static_cast<uint32_t>(hasSections ? piece.columns : 0)};
}

manifest::LaunchShape CudaBackend::finishShape() const {
  return togetherShape(kRowThreads, kSharedAlignment, /*partial=*/0, /*rounded=*/{}, /*piece=*/{});
}

manifest::LaunchShape CudaBackend::launchShapeOf(dataflow::KernelOp kernel,
                                                 const TargetDescription &target) const {
  const KernelOnGpu found = kernelOnGpu(kernel, target);
  return found.work ? togetherShape(found.work->threads, found.work->shared, found.partialBytes,
                                    found.rounded, found.work->few)
                    : launchShape();
}

/// Reports how a target computes a kernel.
static void report(dataflow::KernelOp kernel, const TargetDescription &target,
                   const KernelChoice &choice) {
  const std::string text = target.name.str() + ": " + choice.text;
  if (choice.isTaken) {
    reportTaken(kernel.getLoc(), passNames::convertDataflowToKernels, text);
  } else {
    reportDeclined(kernel.getLoc(), passNames::convertDataflowToKernels, text);
  }
}

void CudaBackend::emitKernel(VectorCode &code, const KernelBody &body) const {
  const KernelOnGpu found = kernelOnGpu(body.kernel, code.target);
  if (found.choice) {
    report(body.kernel, code.target, *found.choice);
  }
  found.emit(code, body);
}

void CudaBackend::setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &,
                                bool isShared) const {
  mlir::Builder builder(function.getContext());
  llvm::SmallVector<mlir::Attribute> attributes = {builder.getStringAttr("nounwind"),
                                                   builder.getStringAttr("no-builtins")};
  // An entry may say that its threads work together.
  if (const mlir::ArrayAttr own = function.getPassthroughAttr()) {
    llvm::append_range(attributes, own);
  }
  // As a separate function, a block's kernel would save registers at every call. Inlining is safe,
  // because the entry writes nothing that the kernel reads.
  if (BlockWork::forget(function) || isShared) {
    // Calls are expensive compared to a tile of one row.
    attributes.push_back(builder.getStringAttr("alwaysinline"));
    function.setLinkage(mlir::LLVM::Linkage::Internal);
  } else if (!function->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName())) {
    // A kernel loads its context as invariant, but the entry writes a copy of it. If both were one
    // function, LLVM could forward values from before the copy.
    attributes.push_back(builder.getStringAttr("noinline"));
  }
  function.setPassthroughAttr(builder.getArrayAttr(attributes));
}

std::string entryName(llvm::StringRef kernel) {
  if (kernel.empty()) {
    return "k$";
  }
  std::string name;
  // A name must begin with a letter.
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
  // Tiles cover a third of a panel: 16 accumulators and as many weights, of 255 registers. The
  // share of the second-level cache per caller is too small for blocking to pay off.
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
            kStoredElements,
            kStoredElements,
            &backend};
  };
  std::vector<TargetDescription> targets;
  for (const NvidiaTarget &gpu : nvidiaTargets) {
    targets.push_back(row(gpu.name));
  }
  return targets;
}

} // namespace heddle
