// SPDX-License-Identifier: Apache-2.0
///
/// The lowering pipeline, phase by phase. Optimisation passes can be disabled; lowering passes
/// cannot.
#include "compiler/Pipeline.h"

#include "compiler/Compile.h"
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"
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

using namespace mlir;

namespace heddle {

namespace {
/// Adds the passes that are not disabled, and records which passes may be.
class PhaseBuilder {
public:
  /// Without options it only records the passes.
  PhaseBuilder(OpPassManager &manager, const PipelineOptions *options)
      : manager(manager), options(options) {}

  /// Assigns passes added from now on to this phase.
  void begin(Phase next) { phase = next; }

  /// Adds a required pass.
  void add(std::unique_ptr<Pass> pass) { manager.addPass(std::move(pass)); }

  /// Adds a pass unless it is disabled.
  void addOptional(std::unique_ptr<Pass> pass) {
    if (isEnabled(*pass)) {
      add(std::move(pass));
    }
  }

  /// Records a pass that may be disabled. Returns whether it is enabled.
  bool isEnabled(const Pass &pass) {
    const StringRef argument = pass.getArgument();
    const std::string name = argument.substr(argument.find('-') + 1).str();
    // A pass that runs several times is listed at its last run.
    llvm::erase_if(passes, [&](const OptionalPass &known) { return known.name == name; });
    passes.push_back({name, phase, pass.getDescription().str()});
    return options == nullptr || !llvm::is_contained(options->disabledPasses, name);
  }

  const PipelineOptions &chosen() const {
    static const PipelineOptions none;
    return options == nullptr ? none : *options;
  }
  std::vector<OptionalPass> takePasses() { return std::move(passes); }

private:
  OpPassManager &manager;
  const PipelineOptions *options;
  Phase phase = Phase::Model;
  std::vector<OptionalPass> passes;
};
} // namespace

static void buildFused(PhaseBuilder &builder) {
  const PipelineOptions &options = builder.chosen();
  // Both are explicit requests of the user, so they cannot be disabled.
  if (const unsigned bits = findCachePrecision(options.cache)->bits; bits != 32) {
    NarrowCachesPassOptions narrow;
    narrow.bits = bits;
    builder.add(createNarrowCachesPass(narrow));
  }
  if (!options.sharing.empty()) {
    ApplySharingPassOptions sharing;
    sharing.policy = options.sharing;
    builder.add(createApplySharingPass(sharing));
  }
  builder.addOptional(createObserveAttentionPass());
  builder.addOptional(createDeduplicateParametersPass());
  builder.addOptional(createEliminateCommonPass());
  builder.addOptional(createFuseActivationPass());
  builder.addOptional(createFuseNormPass());
  builder.addOptional(createNormalizeHeadsPass());
  builder.addOptional(createFuseRotaryPass());
  builder.addOptional(createFuseAttentionPass(options.reader));
  builder.addOptional(createShareAttentionPass(options.hasher));
  // Runs before projections of the same rows are fused, because sharing leaves some of them unused.
  builder.addOptional(createEliminateDeadPass());
  builder.addOptional(createFuseBranchesPass(options.reader));
  builder.addOptional(createFuseProjectionsPass());
  builder.addOptional(createFuseEmbeddingPass());
  builder.addOptional(createEliminateDeadPass());
}

std::vector<Precision> precisionsOf(const PipelineOptions &options) {
  std::vector<Precision> found = {options.chosenPrecision()};
  for (const std::string &kept : options.keep) {
    found.push_back(*findPrecision(StringRef(kept).rsplit('=').second));
  }
  return found;
}

std::vector<std::string> defaultTargets(const PipelineOptions &options) {
  const std::vector<Precision> precisions = precisionsOf(options);
  std::vector<std::string> targets;
  for (const TargetDescription &target : allTargets()) {
    const bool isUsed = llvm::any_of(
        precisions, [&](const Precision &precision) { return precision.isFor(target.name); });
    if (isUsed || target.name == StringRef(leastTarget)) {
      targets.push_back(target.name.str());
    }
  }
  return targets;
}

static std::vector<std::string> targetsOf(const PipelineOptions &options) {
  return options.targets.empty() ? defaultTargets(options) : options.targets;
}

/// Sets the chosen targets, or the default ones, as an option of a pass.
template <typename TargetList>
static void setTargets(TargetList &list, const PipelineOptions &options) {
  const std::vector<std::string> targets = targetsOf(options);
  list.assign(targets.begin(), targets.end());
}

/// Returns whether kernels of a chosen target run on a device with its own memory.
static bool hasDevice(const PipelineOptions &options) {
  return llvm::any_of(targetsOf(options), [](const std::string &text) {
    std::string reason;
    const FailureOr<TargetDescription> target = parseTarget(text, reason);
    return succeeded(target) && target->backend->launchShape().unit() != manifest::LaunchUnit::None;
  });
}

static void buildDataflow(PhaseBuilder &builder) {
  const PipelineOptions &options = builder.chosen();
  builder.add(createConvertTransformerToDataflowPass());
  const std::vector<Precision> precisions = precisionsOf(options);
  // The user or the model's files request this, so it cannot be disabled.
  if (options.precision != f32Precision || !options.keep.empty()) {
    NarrowWeightsPassOptions narrow;
    narrow.precision = options.precision;
    narrow.keep.assign(options.keep.begin(), options.keep.end());
    narrow.quantisesRows = options.quantisesRows;
    builder.add(createNarrowWeightsPass(narrow));
  }
  // Both number rows by the dispatches that the lowering wrote, so they run before passes change
  // them.
  if (options.compensates) {
    builder.add(createCompensateWeightsPass());
  }
  if (!options.observedRows.empty()) {
    ObserveRowsPassOptions observed;
    observed.sites.assign(options.observedRows.begin(), options.observedRows.end());
    builder.add(createObserveRowsPass(observed));
  }
  // Runs before maths is folded into products, some of which are hoisted out of loops.
  builder.addOptional(createHoistFromLoopsPass());
  builder.addOptional(createFuseWindowsPass());
  builder.addOptional(createFoldEpiloguesPass());
  // Runs after products are rewritten, when no other product uses the remaining weights.
  const auto changesProducts = [](const Precision &each) {
    return each.narrowsRows || each.products != FloatProducts::Exact;
  };
  if (llvm::any_of(precisions, changesProducts)) {
    NarrowRowsPassOptions narrow;
    narrow.precision = options.precision;
    narrow.keep.assign(options.keep.begin(), options.keep.end());
    narrow.quantisesRows = options.quantisesRows;
    builder.add(createNarrowRowsPass(narrow));
  }
  builder.addOptional(createFuseStatesPass());
  // Runs when the logits have their last form, because nothing is folded into what reads them.
  if (builder.isEnabled(*createSelectTokensPass()) && hasDevice(options)) {
    builder.add(createSelectTokensPass());
  }
  builder.addOptional(createMergeKernelsPass());
  EncodeWeightsPassOptions encoding;
  setTargets(encoding.targets, options);
  builder.add(createEncodeWeightsPass(encoding));
  ShareTablesPassOptions tables;
  setTargets(tables.targets, options);
  builder.addOptional(createShareTablesPass(tables));
  // Runs last, so that nothing is placed between loops. Their buffers live as long as all of them.
  builder.addOptional(createGroupLoopsPass());
  // Memory is always planned; only its reuse can be disabled.
  PlanMemoryPassOptions plan;
  plan.reuse = builder.isEnabled(*createPlanMemoryPass());
  builder.add(createPlanMemoryPass(plan));
}

static void buildKernels(PhaseBuilder &builder) {
  ConvertDataflowToKernelsPassOptions kernels;
  setTargets(kernels.targets, builder.chosen());
  builder.add(createConvertDataflowToKernelsPass(kernels));
  builder.add(createExpandMathPass());
  builder.add(createAddEntriesPass());
}

static void build(PhaseBuilder &builder, Phase phase) {
  builder.begin(phase);
  switch (phase) {
  case Phase::Fused:
    return buildFused(builder);
  case Phase::Dataflow:
    return buildDataflow(builder);
  case Phase::Kernels:
    return buildKernels(builder);
  case Phase::Llvm:
    return builder.add(createConvertKernelsToLLVMPass());
  case Phase::Model:
  case Phase::Assembly:
  case Phase::SharedObject:
    return;
  }
}

void buildPhase(OpPassManager &manager, Phase phase, const PipelineOptions &options) {
  PhaseBuilder builder(manager, &options);
  build(builder, phase);
}

bool verifiesEveryPass(Phase phase) {
#ifdef NDEBUG
  return phase < Phase::Kernels;
#else
  return true;
#endif
}

std::vector<OptionalPass> describePasses() {
  OpPassManager unused(ModuleOp::getOperationName());
  PhaseBuilder builder(unused, nullptr);
  for (Phase phase = Phase::Fused; phase < Phase::Assembly; phase = phaseAfter(phase)) {
    build(builder, phase);
  }
  return builder.takePasses();
}

std::vector<std::string> optionalPasses() {
  std::vector<std::string> names;
  for (OptionalPass &pass : describePasses()) {
    names.push_back(std::move(pass.name));
  }
  return names;
}

Phase phaseOfPass(std::string_view optionalPass) {
  const std::vector<OptionalPass> passes = describePasses();
  const auto found =
      llvm::find_if(passes, [&](const OptionalPass &pass) { return pass.name == optionalPass; });
  assert(found != passes.end() && "every optional pass has a phase");
  return found->phase;
}

std::vector<KnownTarget> knownTargets() {
  std::vector<KnownTarget> targets;
  for (const TargetDescription &target : allTargets()) {
    targets.push_back({target.name.str(), target.backend->describe(target)});
  }
  return targets;
}

void registerDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<transformer::TransformerDialect, dataflow::DataflowDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerTargetDialects(registry);
  context.appendDialectRegistry(registry);
}

} // namespace heddle
