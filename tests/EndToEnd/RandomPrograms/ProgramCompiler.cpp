// SPDX-License-Identifier: Apache-2.0
///
/// Phases, kernels and linking.
#include "tests/EndToEnd/RandomPrograms/ProgramCompiler.h"

#include "compiler/Compile.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Link/Linker.h"
#include "compiler/Pipeline.h"
#include "dialects/Dataflow/Dataflow.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <filesystem>

using namespace mlir;

namespace heddle {

/// Kernels that are kept for other programs.
static constexpr size_t mostKernels = 4000;

std::vector<PassChoice> passChoices() {
  const std::vector<std::string> all = optionalPasses();
  std::vector<PassChoice> choices = {{"all passes", {}}, {"no optional pass", all}};
  for (const std::string &pass : all) {
    choices.push_back({"all passes but " + pass, {pass}});
  }
  return choices;
}

static std::string printed(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

static ParameterSource sourceOf(const TestProgram &program) {
  return [&program](llvm::StringRef name, ElementType, std::span<std::byte> values) -> Status {
    const auto found = program.tensors.find(name.str());
    const auto bytes = found == program.tensors.end() ? std::span<const std::byte>()
                                                      : std::as_bytes(std::span(found->second));
    if (found == program.tensors.end() || bytes.size() != values.size()) {
      return HEDDLE_ERROR(NotFound, "no tensor '" + name.str() + "' of that size");
    }
    std::copy(bytes.begin(), bytes.end(), values.begin());
    return {};
  };
}

static Status runPhase(ModuleOp module, Phase phase, const PipelineOptions &options) {
  std::string reason;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      reason += diagnostic.str() + "\n";
    }
    return success();
  });
  PassManager manager(module.getContext());
  buildPhase(manager, phase, options);
  return succeeded(manager.run(module))
             ? Status()
             : HEDDLE_ERROR(InvalidArgument,
                            "the phase '" + std::string(phaseName(phase)) + "' fails: " + reason);
}

/// A module of its own with one kernel, and its text.
static OwningOpRef<ModuleOp> moduleOf(dataflow::KernelOp kernel) {
  OwningOpRef<ModuleOp> one = ModuleOp::create(kernel.getLoc());
  OpBuilder::atBlockEnd(one->getBody()).clone(*kernel);
  return one;
}

/// The number of a kernel among all that were compiled, by what it computes.
Result<size_t> ProgramCompiler::numberOf(dataflow::KernelOp kernel,
                                         const PipelineOptions &options) {
  kernel.setSymName("kernel");
  const std::string text = printed(kernel);
  const auto [found, isNew] = numbers.try_emplace(text, kernels.size());
  kernel.setSymName("kernel_" + std::to_string(found->second));
  if (!isNew) {
    return found->second;
  }
  OwningOpRef<ModuleOp> one = moduleOf(kernel);
  Status status = runPhase(*one, Phase::Kernels, options);
  if (status.ok()) {
    status = runPhase(*one, Phase::Llvm, options);
  }
  if (status.ok()) {
    Result<CompiledKernels> compiled = compileKernels(*one, /*cache=*/nullptr, {});
    status = compiled.status();
    if (status.ok()) {
      kernels.push_back(std::move(compiled->objects));
      return kernels.size() - 1;
    }
  }
  numbers.erase(text);
  return status;
}

/// Names kernels after what they compute, compiles those that no program had before, and gives the
/// code of all.
Result<std::vector<ProgramCompiler::Code>>
ProgramCompiler::generateCode(ModuleOp module, const PipelineOptions &options) {
  llvm::StringMap<StringAttr> names;
  std::vector<Code> objects;
  for (auto kernel : llvm::make_early_inc_range(module.getOps<dataflow::KernelOp>())) {
    const std::string before = kernel.getSymName().str();
    HEDDLE_ASSIGN(const size_t number, numberOf(kernel, options));
    names[before] = kernel.getSymNameAttr();
    // Without merge-kernels two may be the same.
    if (module.lookupSymbol(kernel.getSymNameAttr()) != kernel) {
      kernel.erase();
      continue;
    }
    objects.insert(objects.end(), kernels[number].begin(), kernels[number].end());
  }
  module.walk([&](dataflow::DispatchOp dispatch) {
    dispatch.setKernelAttr(FlatSymbolRefAttr::get(names.lookup(dispatch.getKernel())));
  });
  return objects;
}

Result<ProgramCompiler::Binary> ProgramCompiler::link(ModuleOp module, const TestProgram &program,
                                                      const PipelineOptions &options) {
  HEDDLE_ASSIGN(const std::vector<Code> objects, generateCode(module, options));
  HEDDLE_ASSIGN(std::string library, linkSharedObject(objects));
  // The code is elsewhere, but a binary is for the targets of the module's kernels.
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (const std::string &target : targets) {
    ModuleOp::create(builder, module.getLoc(), target);
  }
  ModelFacts facts;
  facts.producer = "RandomProgramsTest";
  facts.precision = "f32";
  const std::string path = folder + "/" + std::to_string(binaries.size()) + ".so";
  HEDDLE_TRY(writeModel(module, {std::move(library), {}}, sourceOf(program), facts, path));
  return Binary{path, true};
}

PipelineOptions ProgramCompiler::optionsOf(const TestProgram &program,
                                           const PassChoice &passes) const {
  PipelineOptions options;
  options.targets = targets;
  options.disabledPasses = passes.disabled;
  options.hasher = parameterHasher(sourceOf(program));
  options.reader = parameterReader(sourceOf(program));
  return options;
}

Result<OwningOpRef<ModuleOp>> ProgramCompiler::fuse(const TestProgram &program,
                                                    const PassChoice &passes,
                                                    const Corruption &corruption) const {
  OwningOpRef<ModuleOp> module((*program.module).clone());
  HEDDLE_TRY(runPhase(*module, Phase::Fused, optionsOf(program, passes)));
  if (corruption) {
    corruption(*module);
  }
  return module;
}

Result<ProgramCompiler::Binary> ProgramCompiler::compile(const TestProgram &program,
                                                         const PassChoice &passes,
                                                         const Corruption &corruption) {
  HEDDLE_ASSIGN(const OwningOpRef<ModuleOp> module, fuse(program, passes, corruption));
  const PipelineOptions options = optionsOf(program, passes);
  HEDDLE_TRY(runPhase(*module, Phase::Dataflow, options));
  const std::string dispatches = printed(*module);
  if (const auto known = binaries.find(dispatches); known != binaries.end()) {
    return Binary{known->second, false};
  }
  HEDDLE_ASSIGN(Binary binary, link(*module, program, options));
  binaries[dispatches] = binary.path;
  return binary;
}

void ProgramCompiler::clear() {
  for (const auto &[text, path] : binaries) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  binaries.clear();
  if (kernels.size() > mostKernels) {
    kernels.clear();
    numbers.clear();
  }
}

} // namespace heddle
