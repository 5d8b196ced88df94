// SPDX-License-Identifier: Apache-2.0
///
/// GPU kernels as PTX: the results of a target's code generation, and its errors.
#include "compiler/Target/Cuda/CudaTargets.h"

#include "compiler/CompileOptions.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Pipeline.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cctype>
#include <gtest/gtest.h>
#include <set>

namespace heddle {
namespace {

/// Two kernels, one of which has a norm in a separate kernel; both call math functions.
constexpr llvm::StringLiteral kProgram = R"(
dataflow.kernel @gelu : (!dataflow.buffer<[tokens, 40], f32>) -> !dataflow.buffer<[tokens, 40], f32>
    computes #dataflow.rows<width = 40> {
^bb0(%x: f32):
  %0 = math.erf %x : f32
  %1 = math.exp %0 : f32
  dataflow.yield %1
}
dataflow.kernel @"norm.of-48" : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[48, 40], f32>, !dataflow.buffer<[48], f32>, !dataflow.buffer<[48], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 40> norm #dataflow.norm<layer_norm, 1.000000e-05 : f32> {
^bb0(%sum: f32):
  %0 = math.tanh %sum : f32
  dataflow.yield %0
}
)";

class CudaCodeTest : public testing::Test {
protected:
  CudaCodeTest() { registerDialects(context); }

  /// Lowers a program from text to the llvm dialect.
  mlir::OwningOpRef<mlir::ModuleOp> lowered(llvm::StringRef text,
                                            std::vector<std::string> targets) {
    PipelineOptions options;
    options.targets = std::move(targets);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    mlir::PassManager manager(&context);
    buildPhase(manager, Phase::Kernels, options);
    buildPhase(manager, Phase::Llvm, options);
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    return module;
  }

  static std::string textOf(const Code &code) { return {code.begin(), code.end()}; }

  std::string ptxOf(llvm::StringRef text, const std::string &target) {
    auto module = lowered(text, {target});
    const Result<std::vector<Code>> listings = assemblyOfKernels(*module);
    EXPECT_TRUE(listings.ok()) << listings.status().message();
    return listings.ok() && listings->size() == 1 ? textOf(listings->front()) : std::string();
  }

  mlir::MLIRContext context;
};

/// Returns the names that follow `keyword` in PTX.
std::vector<std::string> definitions(const std::string &ptx, const std::string &keyword) {
  std::vector<std::string> names;
  for (size_t at = ptx.find(keyword); at != std::string::npos; at = ptx.find(keyword, at + 1)) {
    const size_t begin = at + keyword.size();
    names.push_back(ptx.substr(begin, ptx.find('(', begin) - begin));
  }
  return names;
}

TEST_F(CudaCodeTest, SameInputSamePtx) {
  EXPECT_EQ(ptxOf(kProgram, "sm_80"), ptxOf(kProgram, "sm_80"));
}

TEST_F(CudaCodeTest, PtxNamesItsTarget) {
  for (const std::string target : {"sm_80", "sm_90a"}) {
    const std::string ptx = ptxOf(kProgram, target);
    EXPECT_NE(ptx.find("\n.target " + target + "\n"), std::string::npos) << ptx.substr(0, 200);
    EXPECT_EQ(ptx.find(".version"), ptx.rfind(".version"));
  }
}

TEST_F(CudaCodeTest, EveryKernelHasAnEntry) {
  const std::vector<std::string> names = definitions(ptxOf(kProgram, "sm_80"), ".visible .entry ");
  EXPECT_EQ(names, (std::vector<std::string>{"gelu", "norm$$of$2d48", "norm$$of$2d48$$finish"}));
  // The manifest uses the same names.
  const TargetDescription &target = *findTarget("sm_80");
  EXPECT_EQ(target.backend->symbolOf("norm.of-48", target), names[1]);
  EXPECT_EQ(target.backend->symbolOf(finishKernelName("norm.of-48"), target), names[2]);
}

TEST_F(CudaCodeTest, ImagesEndInZero) {
  auto module = lowered(kProgram, {"x86-64-v3", "sm_80", "sm_90a"});
  const Result<CompiledKernels> code = compileKernels(*module, /*cache=*/nullptr, {});
  ASSERT_TRUE(code.ok()) << code.status().message();
  // Three functions, and a tile for each number of rows on the CPU target.
  EXPECT_GE(code->objects.size(), 4U);
  ASSERT_EQ(code->images.size(), 2U);
  EXPECT_EQ(code->images[0].first, 1U);
  EXPECT_EQ(code->images[1].first, 2U);
  auto alone = lowered(kProgram, {"sm_90a"});
  const Result<std::vector<Code>> listing = assemblyOfKernels(*alone);
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(code->images[1].second.kind, manifest::ImageKind::Ptx);
  EXPECT_EQ(textOf(code->images[1].second.bytes), textOf(listing->front()) + '\0');
}

TEST_F(CudaCodeTest, RefusesWhatCallsALibrary) {
  const llvm::StringRef text = R"(
module { module @sm_80 {
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @kernel(%a: !llvm.ptr) attributes {nvvm.kernel} {
    %0 = llvm.load %a : !llvm.ptr -> f32
    %1 = llvm.call @__nv_expf(%0) : (f32) -> f32
    llvm.store %1, %a : f32, !llvm.ptr
    llvm.return
  }
} })";
  auto calling = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(calling);
  EXPECT_EQ(assemblyOfKernels(*calling).status().message(),
            "kernel 'kernel' calls '__nv_expf', which the device does not have");
}

TEST(EntryName, IsLegalAndOfOneKernel) {
  std::set<std::string> names;
  for (const char *const kernel :
       {"a", "a.b", "a$b", "a$$b", "a b", "a_b", "1", "k$31", "k1", "k", "", "_", "$", ".", "ä",
        "a$20b", "a+b", "contract_48x32_gelu.finish"}) {
    const std::string name = entryName(kernel);
    EXPECT_TRUE(names.insert(name).second) << kernel << " is " << name;
    ASSERT_FALSE(name.empty());
    EXPECT_TRUE(std::isalpha(static_cast<unsigned char>(name.front()))) << name;
    for (const char each : name) {
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(each)) || each == '_' || each == '$')
          << name;
    }
  }
  EXPECT_EQ(entryName("contract_48x32_gelu.finish"), "contract_48x32_gelu$$finish");
  EXPECT_EQ(entryName("a+b"), "a$2bb");
}

} // namespace
} // namespace heddle
