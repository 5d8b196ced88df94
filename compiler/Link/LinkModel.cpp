// SPDX-License-Identifier: Apache-2.0
///
/// Writes code first, then weights, then the manifest with the checksums of both.
#include "compiler/Link/LinkModel.h"

#include "base/ParallelFor.h"
#include "compiler/Link/Linker.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "formats/Binary/AppendSections.h"
#include "formats/Binary/Layout.h"
#include "heddle/Abi.h"

#include <algorithm>
#include <iterator>
#include <shared_mutex>

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

static Result<std::vector<std::unique_ptr<TargetCode>>> translateTargets(ModuleOp module) {
  HEDDLE_ASSIGN(const TargetModules modules, targetModules(module));
  if (modules.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "the program has no kernel module, expected one named "
                                         "after a target: " +
                                             targetNames());
  }
  std::vector<std::unique_ptr<TargetCode>> targets;
  for (auto [nested, target] : modules) {
    HEDDLE_ASSIGN(std::unique_ptr<TargetCode> code, target.backend->translate(nested, target));
    targets.push_back(std::move(code));
  }
  return targets;
}

/// `kept` is what became of the cache.
static Result<Code> compileUnit(const TargetCode &target, const CodeUnit &unit,
                                const CodeCache *cache, Status &kept) {
  if (!cache) {
    return target.compile(unit);
  }
  const std::string key = CodeCache::keyOf(target.compilerIdentity(), unit);
  if (std::optional<Code> code = cache->find(key)) {
    return *std::move(code);
  }
  HEDDLE_ASSIGN(Code code, target.compile(unit));
  kept = cache->store(key, code);
  return code;
}

using TargetUnits = std::vector<std::pair<const TargetCode *, const CodeUnit *>>;

/// Compiles all of them, by as many threads as the machine has.
static Result<std::vector<Code>> compileUnits(const TargetUnits &units, const CodeCache *cache,
                                              Status &kept) {
  std::vector<std::optional<Result<Code>>> results(units.size());
  std::vector<Status> stored(units.size());
  parallelFor(units.size(), [&](size_t i) {
    results[i].emplace(compileUnit(*units[i].first, *units[i].second, cache, stored[i]));
  });
  if (const auto failed = llvm::find_if(stored, [](const Status &each) { return !each.ok(); });
      failed != stored.end()) {
    kept = std::move(*failed);
  }
  std::vector<Code> code;
  for (auto &result : results) {
    HEDDLE_TRY(result->status());
    code.push_back(*std::move(*result));
  }
  return code;
}

Result<CompiledKernels> compileKernels(ModuleOp module, const CodeCache *cache,
                                       const DeviceTools &tools) {
  std::shared_lock lock(optionsMutex());
  HEDDLE_ASSIGN(const TargetModules modules, targetModules(module));
  HEDDLE_ASSIGN(const auto targets, translateTargets(module));
  TargetUnits units;
  for (const auto &target : targets) {
    for (const CodeUnit &unit : target->units()) {
      units.emplace_back(target.get(), &unit);
    }
  }
  CompiledKernels compiled;
  HEDDLE_ASSIGN(std::vector<Code> code, compileUnits(units, cache, compiled.kept));
  // Whoever links an image needs the linker.
  lock.unlock();
  llvm::MutableArrayRef<Code> rest = code;
  for (const auto &[number, target] : llvm::enumerate(targets)) {
    const auto own = rest.take_front(target->units().size());
    rest = rest.drop_front(own.size());
    if (modules[number].second.backend->launchShape().unit() == manifest::LaunchUnit::None) {
      llvm::move(own, std::back_inserter(compiled.objects));
      continue;
    }
    HEDDLE_ASSIGN(auto images, target->images(own, tools));
    for (DeviceImage &image : images) {
      compiled.images.emplace_back(static_cast<uint32_t>(number), std::move(image));
    }
  }
  return compiled;
}

Result<std::vector<Code>> assemblyOfKernels(ModuleOp module) {
  const std::shared_lock lock(optionsMutex());
  HEDDLE_ASSIGN(const auto targets, translateTargets(module));
  std::vector<Code> listings;
  for (const auto &target : targets) {
    HEDDLE_ASSIGN(Code listing, target->assembly());
    listings.push_back(std::move(listing));
  }
  return listings;
}

static Result<ManifestInputs> describe(ModuleOp module, const Weights &weights,
                                       const ModelFacts &facts) {
  ManifestInputs inputs;
  HEDDLE_ASSIGN(const TargetModules modules, targetModules(module));
  for (const auto &[nested, target] : modules) {
    inputs.targets.push_back({target.name.str(), target.panelColumns,
                              static_cast<uint32_t>(target.tileRows),
                              target.backend->finishShape()});
  }
  inputs.functionName = [](llvm::StringRef kernel, llvm::StringRef target) {
    const TargetDescription &described = *findTarget(target);
    return described.backend->symbolOf(kernel, described);
  };
  inputs.launchShape = [](dataflow::KernelOp kernel, const ManifestTarget &named) {
    TargetDescription described = *findTarget(named.name);
    described.panelColumns = named.panelColumns;
    return described.backend->launchShapeOf(kernel, described);
  };
  inputs.tileRows = [](dataflow::KernelOp kernel, const ManifestTarget &named) {
    return static_cast<uint32_t>(tileRowsOf(kernel, *findTarget(named.name)));
  };
  inputs.finishName = finishKernelName;
  // Callers allocate one scratch memory for all kernels, so it is large enough on every target.
  inputs.scratch = [](dataflow::KernelOp kernel) {
    const KernelScratch scratch = kernelScratch(kernel);
    return ScratchSize{scratch.fixed, scratch.perLongest};
  };
  for (const PlacedParameter &placed : weights.parameters()) {
    inputs.parameters[placed.parameter.getSymName()] = placed.place;
  }
  inputs.weightsSize = weights.size();
  inputs.sourceHash = facts.sourceHash;
  inputs.producer = facts.producer;
  inputs.precision = facts.precision;
  inputs.codes = facts.codes;
  inputs.tokenizer = [&facts](auto &) { return facts.tokenizer; };
  inputs.targetTokenizer = [&facts](auto &) { return facts.targetTokenizer; };
  inputs.reportSummary = facts.reportSummary;
  inputs.calibration = facts.calibration;
  return inputs;
}

/// Assigns consecutive offsets to images.
static void placeImages(const LinkedKernels &code, ManifestInputs &inputs) {
  for (const auto &[target, image] : code.images) {
    inputs.imageSection.resize(alignUp(inputs.imageSection.size(), HEDDLE_ALIGNMENT));
    const std::span<const char> bytes(image.bytes.data(), image.bytes.size());
    inputs.images.push_back({target, image.kind, inputs.imageSection.size(), bytes.size(),
                             contentChecksum(std::as_bytes(bytes)), image.compiler});
    inputs.imageSection.append(bytes.begin(), bytes.end());
  }
}

static Result<std::string> makeManifest(ModuleOp module, const ManifestInputs &inputs,
                                        flatbuffers::FlatBufferBuilder &builder) {
  if (failed(buildManifest(module, inputs, builder))) {
    return HEDDLE_ERROR(Internal, "the program cannot be described by a manifest");
  }
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
}

Status writeModel(ModuleOp module, const LinkedKernels &code, const ParameterSource &source,
                  ModelFacts &facts, const std::string &path) {
  HEDDLE_ASSIGN(Weights weights, Weights::place(module, source));
  HEDDLE_ASSIGN(ManifestInputs inputs, describe(module, weights, facts));
  placeImages(code, inputs);
  return writeArtifact(
      code.library, weights.size(), [&](const WeightsSink &sink) { return weights.write(sink); },
      inputs.imageSection,
      [&](uint64_t codeChecksum) {
        inputs.codeChecksum = codeChecksum;
        return makeManifest(module, inputs, facts.builder);
      },
      path);
}

Status linkModel(ModuleOp module, const ParameterSource &source, ModelFacts &facts,
                 const std::string &path, const CodeCache *cache, const DeviceTools &tools) {
  HEDDLE_ASSIGN(CompiledKernels compiled, compileKernels(module, cache, tools));
  facts.kept = compiled.kept;
  HEDDLE_ASSIGN(std::string library, linkSharedObject(compiled.objects));
  return writeModel(module, {std::move(library), std::move(compiled.images)}, source, facts, path);
}

} // namespace heddle
