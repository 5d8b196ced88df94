// SPDX-License-Identifier: Apache-2.0
///
/// GPU kernels as PTX: the results of a target's code generation, and its errors.
#include "compiler/Target/Cuda/CudaTargets.h"

#include "compiler/CompileOptions.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Pipeline.h"
#include "compiler/Target/LlvmCode.h"
#include "heddle/RoofKernels.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <cctype>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <vector>

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
  EXPECT_EQ(names, (std::vector<std::string>{"gelu", "norm$$of$2d48", "norm$$of$2d48$$finish",
                                             "roof$multiply_f32", "roof$multiply_bf16",
                                             "roof$multiply_tf32", "roof$multiply_integers",
                                             "roof$read"}));
  // The manifest uses the same names.
  const TargetDescription &target = *findTarget("sm_80");
  EXPECT_EQ(target.backend->symbolOf("norm.of-48", target), names[1]);
  EXPECT_EQ(target.backend->symbolOf(finishKernelName("norm.of-48"), target), names[2]);
}

/// Returns the text of an entry, and how often it contains another text.
std::string entryOf(const std::string &ptx, const std::string &name) {
  const size_t begin = ptx.find(".visible .entry " + name + "(");
  return begin == std::string::npos ? std::string()
                                    : ptx.substr(begin, ptx.find("\tret;", begin) - begin);
}
size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// The loops that measure a GPU have the instructions of products, and none that they can do
// without.
TEST_F(CudaCodeTest, RoofsUseTheInstructionsOfProducts) {
  for (const std::string target : {"sm_80", "sm_90a"}) {
    const std::string ptx = ptxOf(kProgram, target);
    const auto expectLoop = [&](Roof roof, const std::string &instruction, size_t count,
                                size_t others) {
      const std::string entry = entryOf(ptx, infoOf(roof).entry);
      const std::string threads = ".reqntid " + std::to_string(infoOf(roof).threads) + "\n";
      EXPECT_NE(entry.find(threads), std::string::npos) << infoOf(roof).entry << entry;
      // From the label before the instruction to the jump back to it.
      const size_t at = entry.find(instruction);
      ASSERT_NE(at, std::string::npos) << infoOf(roof).entry;
      const size_t begin = entry.rfind("\n$L", at) + 1;
      const std::string label = entry.substr(begin, entry.find(':', begin) - begin);
      const size_t jump = entry.find(label + ";", at);
      ASSERT_NE(jump, std::string::npos) << label << entry;
      const std::string loop = entry.substr(begin, jump - begin);
      EXPECT_EQ(countOf(loop, instruction), count) << loop;
      EXPECT_LE(countOf(loop, ";\n"), count + others) << loop;
      EXPECT_EQ(countOf(loop, ".local"), 0U) << loop;
    };
    // Counting rounds takes an addition and a comparison.
    expectLoop(Roof::MultiplyF32, "fma.rn.f32", 128, 2);
    expectLoop(Roof::MultiplyTf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, 2);
    expectLoop(Roof::MultiplyIntegers, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", 8, 2);
    expectLoop(Roof::Read, "ld.volatile.global.v4.b32", 8, 100);
    if (target == "sm_80") {
      expectLoop(Roof::MultiplyBf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 8, 2);
      EXPECT_EQ(entryOf(ptx, infoOf(Roof::WarpgroupsMultiplyBf16).entry), "");
    } else {
      // Each has a predicate and sets it. For a round: another predicate as a number, a fence, a
      // commit and a wait.
      expectLoop(Roof::WarpgroupsMultiplyBf16,
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16", 4, 4 * 2 + 8);
      EXPECT_EQ(entryOf(ptx, infoOf(Roof::MultiplyBf16).entry), "");
    }
  }
}

TEST_F(CudaCodeTest, RoofsDependOnTheTargetAlone) {
  const auto roofsOf = [](const std::string &ptx) {
    return ptx.substr(ptx.find(std::string(".visible .entry ") + infoOf(Roof::MultiplyF32).entry));
  };
  const std::string other = R"(
dataflow.kernel @roof.read : (!dataflow.buffer<[tokens, 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.rows<width = 8> {
^bb0(%x: f32):
  dataflow.yield %x
}
)";
  const std::string ptx = ptxOf(other, "sm_80");
  EXPECT_EQ(roofsOf(ptx), roofsOf(ptxOf(kProgram, "sm_80")));
  // No kernel of a model has the name of one of them.
  EXPECT_EQ(definitions(ptx, ".visible .entry ").front(), "roof$$read");
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

/// LLVM may not copy instructions of a warpgroup into branches that some of its threads take.
TEST_F(CudaCodeTest, AssemblyOfAllThreadsStaysInItsPlace) {
  const llvm::StringRef text = R"(
module { module @sm_90a {
  llvm.func @kernel(%a: !llvm.ptr) attributes {nvvm.kernel} {
    %0 = llvm.load %a : !llvm.ptr -> i32
    %1 = llvm.inline_asm has_side_effects asm_dialect = att "", "=r,0" %0 : (i32) -> i32
    %2 = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.fence.sync.aligned;", "=r,0" %1 : (i32) -> i32
    llvm.store %2, %a : i32, !llvm.ptr
    llvm.return
  }
} })";
  auto program = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(program);
  const TargetDescription &target = *findTarget("sm_90a");
  auto kernels = mlir::cast<mlir::ModuleOp>(program->getBody()->front());
  const Result<std::unique_ptr<TargetCode>> code = translateToDevice(kernels, target);
  ASSERT_TRUE(code.ok()) << code.status().message();
  ASSERT_EQ((*code)->units().size(), 1U);
  llvm::LLVMContext own;
  const Result<std::unique_ptr<llvm::Module>> unit = parseUnit((*code)->units().front(), own);
  ASSERT_TRUE(unit.ok()) << unit.status().message();
  std::vector<bool> areConvergent;
  for (const llvm::Instruction &each : llvm::instructions(*(*unit)->getFunction("kernel"))) {
    const auto *const call = llvm::dyn_cast<llvm::CallInst>(&each);
    if (call && call->isInlineAsm()) {
      areConvergent.push_back(call->isConvergent());
    }
  }
  EXPECT_EQ(areConvergent, (std::vector<bool>{false, true}));
}

TEST(EntryName, IsLegalAndOfOneKernel) {
  std::set<std::string> names;
  for (const RoofKernel &roof : roofKernels) {
    names.insert(roof.entry);
  }
  for (const char *const kernel : {"a",
                                   "a.b",
                                   "a$b",
                                   "a$$b",
                                   "a b",
                                   "a_b",
                                   "1",
                                   "k$31",
                                   "k1",
                                   "k",
                                   "",
                                   "_",
                                   "$",
                                   ".",
                                   "ä",
                                   "a$20b",
                                   "a+b",
                                   "contract_48x32_gelu.finish",
                                   "roof$read",
                                   "roof.read",
                                   "roof$multiply_f32",
                                   "roof$multiply_bf16"}) {
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
