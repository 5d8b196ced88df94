// SPDX-License-Identifier: Apache-2.0
///
/// The table of CPU targets. Tile sizes are the fastest measured ones, see docs/performance.md.
#include "compiler/Target/Cpu/CpuTargets.h"

#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Panels.h"

namespace heddle {

namespace {

class CpuBackend final : public TargetBackend {
public:
  void registerDialects(mlir::DialectRegistry &) const override {}
  std::string describe(const TargetDescription &target) const override {
    return "processors with vectors of " + std::to_string(target.lanes) + " f32 numbers" +
           (target.integerProducts == IntegerProducts::Fours ? ", products of 8-bit integers"
                                                             : "") +
           (target.hasBf16DotProduct ? " and of bf16" : "") +
           (target.hasAmx ? ", on the tile registers of AMX" : "");
  }
  MatrixEncoding encodeMatrix(const TargetDescription &target, transformer::ParameterOp matrix,
                              const dataflow::KernelInput &input) const override {
    return encodePanels(target, matrix, input);
  }
  manifest::LaunchShape launchShape() const override { return {}; }
  manifest::LaunchShape finishShape() const override { return {}; }
  manifest::LaunchShape launchShapeOf(dataflow::KernelOp,
                                      const TargetDescription &) const override {
    return {};
  }
  void emitKernel(VectorCode &code, const KernelBody &body) const override {
    emitFamily(code, body);
  }
  void emitFinish(VectorCode &code, const KernelBody &body) const override {
    emitRowNorms(code, body);
  }
  llvm::SmallVector<KernelCompanion> companionsOf(dataflow::KernelOp,
                                                  const TargetDescription &) const override {
    return {};
  }
  std::string symbolOf(llvm::StringRef kernel, const TargetDescription &target) const override {
    return kernelFunctionName(kernel, target.name);
  }
  void addEntries(mlir::ModuleOp, const TargetDescription &) const override {}
  void setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &target,
                     bool isShared) const override;
  Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                const TargetDescription &target) const override {
    return translateToCpu(module, target);
  }
};

} // namespace

void CpuBackend::setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &target,
                               bool isShared) const {
  mlir::Builder builder(function.getContext());
  const std::string bits = std::to_string(target.lanes * 32);
  llvm::SmallVector<mlir::Attribute> attributes;
  // Without these attributes LLVM tunes AVX-512 code for 256-bit registers.
  for (llvm::StringRef name : {"prefer-vector-width", "min-legal-vector-width"}) {
    attributes.push_back(builder.getStrArrayAttr({name, bits}));
  }
  attributes.push_back(builder.getStringAttr("nounwind"));
  // The binary links no library: stores must not become calls of memset.
  attributes.push_back(builder.getStringAttr("no-builtins"));
  if (isShared) {
    // A tile remains a separate function that all products share and that profilers can see.
    attributes.push_back(builder.getStringAttr("noinline"));
    function.setLinkage(mlir::LLVM::Linkage::Internal);
  }
  function.setPassthroughAttr(builder.getArrayAttr(attributes));
}

std::vector<TargetDescription> cpuTargets() {
  static const CpuBackend backend;
  static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";
  return {
      // 16 registers: 6 x 2 accumulators, 2 weights, 1 broadcast.
      {"x86-64-v3", triple, "x86-64-v3", /*features=*/"", /*lanes=*/8, /*tileRows=*/6,
       /*tileVectors=*/2, sharedPanelColumns, /*hasScale=*/false, IntegerProducts::Pairs,
       /*hasBf16DotProduct=*/false, /*hasAmx=*/false, /*cacheBytes=*/512 * kKibibyte,
       kStoredElements, kStoredElements, &backend},
      // 32 registers: 8 x 3 accumulators, 3 weights; broadcasts are memory operands.
      {"x86-64-v4", triple, "x86-64-v4", /*features=*/"", /*lanes=*/16, /*tileRows=*/8,
       /*tileVectors=*/3, sharedPanelColumns, /*hasScale=*/true, IntegerProducts::Pairs,
       /*hasBf16DotProduct=*/false, /*hasAmx=*/false, /*cacheBytes=*/1024 * kKibibyte,
       kStoredElements, kStoredElements, &backend},
      // The same with vpdpbusd.
      {"x86-64-v4-vnni", triple, "x86-64-v4", "+avx512vnni", /*lanes=*/16, /*tileRows=*/8,
       /*tileVectors=*/3, sharedPanelColumns, /*hasScale=*/true, IntegerProducts::Fours,
       /*hasBf16DotProduct=*/false, /*hasAmx=*/false, /*cacheBytes=*/1024 * kKibibyte,
       kStoredElements, kStoredElements, &backend},
      // The same with vdpbf16ps, which no processor has without vpdpbusd.
      {"x86-64-v4-bf16", triple, "x86-64-v4", "+avx512vnni,+avx512bf16", /*lanes=*/16,
       /*tileRows=*/8,
       /*tileVectors=*/3, sharedPanelColumns, /*hasScale=*/true, IntegerProducts::Fours,
       /*hasBf16DotProduct=*/true, /*hasAmx=*/false, /*cacheBytes=*/1024 * kKibibyte,
       kStoredElements, kStoredElements, &backend},
      // The same with AMX, whose products have tiles of their own (ContractAmx.h).
      {"x86-64-v4-amx", triple, "x86-64-v4",
       "+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16", /*lanes=*/16, /*tileRows=*/8,
       /*tileVectors=*/3, sharedPanelColumns, /*hasScale=*/true, IntegerProducts::Fours,
       /*hasBf16DotProduct=*/true, /*hasAmx=*/true, /*cacheBytes=*/1024 * kKibibyte,
       kStoredElements, kStoredElements, &backend},
  };
}

} // namespace heddle
