// SPDX-License-Identifier: Apache-2.0
///
/// The table of CPUs. Tiles are those measured fastest, see docs/performance.md.
#include "compiler/Target/Cpu/CpuTargets.h"

namespace heddle {

/// Three registers of 16 lanes and six of 8, so that x86-64 targets share what is stored: their
/// binary has the weights once.
static constexpr int64_t kPanelColumns = 48;

static constexpr ElementType kWeightElements[] = {ElementType::F32, ElementType::BF16,
                                                  ElementType::I8};
static constexpr ElementType kCacheElements[] = {ElementType::F32, ElementType::BF16,
                                                 ElementType::I8};

namespace {

class CpuBackend final : public TargetBackend {
public:
  MatrixEncoding encodeMatrix(const TargetDescription &target, transformer::ParameterOp matrix,
                              const dataflow::KernelInput &input) const override {
    return encodePanels(target, matrix, input);
  }
  KernelScratch scratchOf(dataflow::KernelOp kernel) const override {
    return kernelScratch(kernel);
  }
  Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                const TargetDescription &target) const override {
    return translateKernels(module, target);
  }
};

} // namespace

llvm::ArrayRef<TargetDescription> cpuTargets() {
  static const CpuBackend backend;
  static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";
  static const TargetDescription targets[] = {
      // 16 registers: 6 x 2 accumulators, 2 weights, 1 broadcast.
      {"x86-64-v3", triple, "x86-64-v3", /*features=*/"", /*lanes=*/8, /*tileRows=*/6,
       /*tileVectors=*/2, kPanelColumns, /*hasScale=*/false, /*hasIntegerDotProduct=*/false,
       /*hasBf16DotProduct=*/false, /*cacheBytes=*/512 * 1024, kWeightElements, kCacheElements,
       &backend},
      // 32 registers: 8 x 3 accumulators, 3 weights; broadcasts are memory operands.
      {"x86-64-v4", triple, "x86-64-v4", /*features=*/"", /*lanes=*/16, /*tileRows=*/8,
       /*tileVectors=*/3, kPanelColumns, /*hasScale=*/true, /*hasIntegerDotProduct=*/false,
       /*hasBf16DotProduct=*/false, /*cacheBytes=*/1024 * 1024, kWeightElements, kCacheElements,
       &backend},
      // The same with vpdpbusd.
      {"x86-64-v4-vnni", triple, "x86-64-v4", "+avx512vnni", /*lanes=*/16, /*tileRows=*/8,
       /*tileVectors=*/3, kPanelColumns, /*hasScale=*/true, /*hasIntegerDotProduct=*/true,
       /*hasBf16DotProduct=*/false, /*cacheBytes=*/1024 * 1024, kWeightElements, kCacheElements,
       &backend},
      // The same with vdpbf16ps, which no processor has without vpdpbusd.
      {"x86-64-v4-bf16", triple, "x86-64-v4", "+avx512vnni,+avx512bf16", /*lanes=*/16,
       /*tileRows=*/8,
       /*tileVectors=*/3, kPanelColumns, /*hasScale=*/true, /*hasIntegerDotProduct=*/true,
       /*hasBf16DotProduct=*/true, /*cacheBytes=*/1024 * 1024, kWeightElements, kCacheElements,
       &backend},
  };
  return targets;
}

} // namespace heddle
