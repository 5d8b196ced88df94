// SPDX-License-Identifier: Apache-2.0
///
/// The one lowering path, phase by phase. An optimising pass is left out by its name; a lowering
/// pass cannot be.
#include "compiler/Pipeline.h"

#include "compiler/Passes.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle {

static constexpr struct {
  Phase phase;
  llvm::StringLiteral name;
} phases[] = {
#define HEDDLE_PHASE(Name, text, summary) {Phase::Name, text},
#include "compiler/Phases.def"
};

llvm::StringRef phaseName(Phase phase) { return phases[static_cast<size_t>(phase)].name; }

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (const auto &entry : phases) {
    if (entry.name == name) {
      return entry.phase;
    }
  }
  return std::nullopt;
}

std::string phaseNames() {
  return llvm::join(llvm::map_range(phases, [](const auto &p) { return p.name.str(); }), ", ");
}

bool CompileOptions::isEnabled(llvm::StringRef pass) const {
  return !llvm::is_contained(disabledPasses, pass);
}

namespace {
struct OptionalPass {
  llvm::StringLiteral name;
  Phase phase;
};
} // namespace

static constexpr OptionalPass optional[] = {
    {"observe-attention", Phase::Fused}, {"deduplicate-parameters", Phase::Fused},
    {"eliminate-common", Phase::Fused},  {"normalize-heads", Phase::Fused},
    {"fuse-attention", Phase::Fused},    {"share-attention", Phase::Fused},
    {"fuse-branches", Phase::Fused},     {"fuse-projections", Phase::Fused},
    {"fuse-embedding", Phase::Fused},    {"eliminate-dead", Phase::Fused},
    {"fold-epilogues", Phase::Dataflow}, {"merge-kernels", Phase::Dataflow},
    {"plan-memory", Phase::Dataflow}};

std::vector<std::string> optionalPasses() {
  std::vector<std::string> names;
  for (const OptionalPass &pass : optional) {
    names.push_back(pass.name.str());
  }
  return names;
}

Phase phaseOfPass(llvm::StringRef optionalPass) {
  return llvm::find_if(optional, [&](const OptionalPass &it) { return it.name == optionalPass; })
      ->phase;
}

static void buildFused(OpPassManager &manager, const CompileOptions &options) {
  auto add = [&](llvm::StringRef name, std::unique_ptr<Pass> pass) {
    if (options.isEnabled(name)) {
      manager.addPass(std::move(pass));
    }
  };
  // Asked for, not found: it is never left out.
  if (!options.sharing.empty()) {
    ApplySharingPassOptions sharing;
    sharing.policy = options.sharing;
    manager.addPass(createApplySharingPass(sharing));
  }
  add("observe-attention", createObserveAttentionPass());
  add("deduplicate-parameters", createDeduplicateParametersPass());
  add("eliminate-common", createEliminateCommonPass());
  add("normalize-heads", createNormalizeHeadsPass());
  add("fuse-attention", createFuseAttentionPass(options.reader));
  add("share-attention", createShareAttentionPass(options.hasher));
  // Before projections of the same rows become one: what is shared leaves some of them unread.
  add("eliminate-dead", createEliminateDeadPass());
  add("fuse-branches", createFuseBranchesPass(options.reader));
  add("fuse-projections", createFuseProjectionsPass());
  add("fuse-embedding", createFuseEmbeddingPass());
  add("eliminate-dead", createEliminateDeadPass());
}

static void buildDataflow(OpPassManager &manager, const CompileOptions &options) {
  manager.addPass(createConvertTransformerToDataflowPass());
  // Asked for, not found: it is never left out.
  if (options.precision == bf16Weights) {
    manager.addPass(createNarrowWeightsPass());
  }
  if (options.isEnabled("fold-epilogues")) {
    manager.addPass(createFoldEpiloguesPass());
  }
  if (options.isEnabled("merge-kernels")) {
    manager.addPass(createMergeKernelsPass());
  }
  EncodeWeightsPassOptions encoding;
  encoding.targets.assign(options.targets.begin(), options.targets.end());
  manager.addPass(createEncodeWeightsPass(encoding));
  // Memory is always planned; what can be switched off is sharing it.
  PlanMemoryPassOptions plan;
  plan.reuse = options.isEnabled("plan-memory");
  manager.addPass(createPlanMemoryPass(plan));
}

static void buildKernels(OpPassManager &manager, const CompileOptions &options) {
  ConvertDataflowToKernelsPassOptions kernels;
  kernels.targets.assign(options.targets.begin(), options.targets.end());
  manager.addPass(createConvertDataflowToKernelsPass(kernels));
  manager.addPass(createExpandMathPass());
}

void buildPhase(OpPassManager &manager, Phase phase, const CompileOptions &options) {
  switch (phase) {
  case Phase::Fused:
    return buildFused(manager, options);
  case Phase::Dataflow:
    return buildDataflow(manager, options);
  case Phase::Kernels:
    return buildKernels(manager, options);
  case Phase::Llvm:
    manager.addPass(createConvertKernelsToLLVMPass());
    return;
  case Phase::Model:
  case Phase::Assembly:
  case Phase::SharedObject:
    return;
  }
}

void registerDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<transformer::TransformerDialect, dataflow::DataflowDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

} // namespace heddle
