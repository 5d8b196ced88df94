// SPDX-License-Identifier: Apache-2.0
///
/// Writes code first, then weights, then the manifest, which has the checksums of both.
#include "compiler/Link/LinkModel.h"

#include "compiler/Link/Linker.h"
#include "formats/Binary/AppendSections.h"

#include <shared_mutex>
#include <thread>

using namespace mlir;

namespace heddle {

using TargetModules = std::vector<std::pair<ModuleOp, TargetDescription>>;

static Result<TargetModules> targetModules(ModuleOp module) {
  TargetModules found;
  for (auto nested : module.getOps<ModuleOp>()) {
    std::string reason;
    auto target = targetOf(nested, reason);
    if (failed(target)) {
      return HEDDLE_ERROR(InvalidArgument, std::move(reason));
    }
    if (*target) {
      found.emplace_back(nested, **target);
    }
  }
  return found;
}

Result<std::vector<llvm::SmallVector<char, 0>>> generateCodeOfTargets(ModuleOp module,
                                                                      CodeKind kind) {
  HEDDLE_ASSIGN(const TargetModules modules, targetModules(module));
  if (modules.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "the program has no kernel module, expected one named "
                                         "after a target: " +
                                             targetNames());
  }
  const std::shared_lock lock(optionsMutex());
  std::vector<std::unique_ptr<TargetCode>> targets;
  for (auto [nested, target] : modules) {
    HEDDLE_ASSIGN(std::unique_ptr<TargetCode> code, target.backend->translate(nested, target));
    targets.push_back(std::move(code));
  }
  std::vector<std::optional<Result<llvm::SmallVector<char, 0>>>> results(targets.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < targets.size(); ++i) {
    threads.emplace_back([&, i] { results[i].emplace(targets[i]->compile(kind)); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  std::vector<llvm::SmallVector<char, 0>> code;
  for (auto &result : results) {
    HEDDLE_TRY(result->status());
    code.push_back(*std::move(*result));
  }
  return code;
}

static Result<ManifestInputs> describe(ModuleOp module, const Weights &weights,
                                       const ModelFacts &facts) {
  ManifestInputs inputs;
  HEDDLE_ASSIGN(const TargetModules modules, targetModules(module));
  for (const auto &[nested, target] : modules) {
    inputs.targets.push_back(
        {target.name.str(), target.panelColumns, static_cast<uint32_t>(target.tileRows)});
  }
  inputs.functionName = kernelFunctionName;
  inputs.finishName = finishKernelName;
  // Callers have one scratch memory for all kernels: enough for every kind of machine.
  inputs.scratch = [modules](dataflow::KernelOp kernel) {
    ScratchSize most;
    for (const auto &[nested, target] : modules) {
      const KernelScratch scratch = target.backend->scratchOf(kernel);
      most.fixed = std::max(most.fixed, scratch.fixed);
      most.perLongest = std::max(most.perLongest, scratch.perLongest);
    }
    return most;
  };
  for (const PlacedParameter &placed : weights.parameters()) {
    inputs.parameters[placed.parameter.getSymName()] = placed.place;
  }
  inputs.weightsSize = weights.size();
  inputs.sourceHash = facts.sourceHash;
  inputs.producer = facts.producer;
  inputs.precision = facts.precision;
  inputs.tokenizer = [&facts](auto &) { return facts.tokenizer; };
  inputs.targetTokenizer = [&facts](auto &) { return facts.targetTokenizer; };
  inputs.reportSummary = facts.reportSummary;
  return inputs;
}

static Result<std::string> makeManifest(ModuleOp module, const ManifestInputs &inputs,
                                        flatbuffers::FlatBufferBuilder &builder) {
  if (failed(buildManifest(module, inputs, builder))) {
    return HEDDLE_ERROR(Internal, "the program cannot be described by a manifest");
  }
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
}

Status writeModel(ModuleOp module, llvm::StringRef library, const ParameterSource &source,
                  ModelFacts &facts, const std::string &path) {
  HEDDLE_ASSIGN(Weights weights, Weights::place(module, source));
  HEDDLE_ASSIGN(ManifestInputs inputs, describe(module, weights, facts));
  return writeArtifact(
      library, weights.size(), [&](const WeightsSink &sink) { return weights.write(sink); },
      [&](uint64_t codeChecksum) {
        inputs.codeChecksum = codeChecksum;
        return makeManifest(module, inputs, facts.builder);
      },
      path);
}

Status linkModel(ModuleOp module, const ParameterSource &source, ModelFacts &facts,
                 const std::string &path) {
  HEDDLE_ASSIGN(auto objects, generateCodeOfTargets(module, CodeKind::Object));
  HEDDLE_ASSIGN(std::string library, linkSharedObject(objects));
  return writeModel(module, library, source, facts, path);
}

} // namespace heddle
