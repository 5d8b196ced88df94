// SPDX-License-Identifier: Apache-2.0
///
/// Phases, kernels and linking.
#include "tests/EndToEnd/RandomPrograms/ProgramCompiler.h"

#include "compiler/Compile.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Link/Linker.h"
#include "compiler/Pipeline.h"
#include "dialects/Dataflow/Dataflow.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

using namespace mlir;

namespace heddle {

/// The maximum number of kernels that are kept for other programs.
static constexpr size_t mostKernels = 4000;
/// One in this many times, the code of twins is compiled and compared.
static constexpr int64_t trialOfTwins = 20;

std::vector<PassChoice> passChoices() {
  const std::vector<std::string> all = optionalPasses();
  std::vector<PassChoice> choices = {{"all passes", {}}, {"no optional pass", all}};
  for (const std::string &pass : all) {
    choices.push_back({"all passes but " + pass, {pass}});
  }
  return choices;
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

/// Adds a function and all its callees.
static void addNeeded(LLVM::LLVMFuncOp function, SymbolTable &symbols,
                      llvm::SetVector<LLVM::LLVMFuncOp> &needed) {
  if (!function || !needed.insert(function)) {
    return;
  }
  function.walk([&](LLVM::CallOp call) {
    if (call.getCallee()) {
      addNeeded(symbols.lookup<LLVM::LLVMFuncOp>(*call.getCallee()), symbols, needed);
    }
  });
}

std::vector<dataflow::KernelOp> ProgramCompiler::nameKernels(ModuleOp module) {
  llvm::StringMap<StringAttr> renamed;
  std::vector<dataflow::KernelOp> unknown;
  for (auto kernel : llvm::make_early_inc_range(module.getOps<dataflow::KernelOp>())) {
    const std::string before = kernel.getSymName().str();
    kernel.setSymName("kernel");
    const auto [found, isNew] =
        names.try_emplace(printed(kernel), "kernel_" + std::to_string(names.size()));
    kernel.setSymName(found->second);
    renamed[before] = kernel.getSymNameAttr();
    if (isNew) {
      unknown.push_back(kernel);
    }
    // Without merge-kernels, two may be equal.
    if (module.lookupSymbol(kernel.getSymNameAttr()) != kernel) {
      kernel.erase();
    }
  }
  module.walk([&](dataflow::DispatchOp dispatch) {
    dispatch.setKernelAttr(FlatSymbolRefAttr::get(renamed.lookup(dispatch.getKernel())));
  });
  return unknown;
}

/// Returns the functions of a kernel: its own, and that of the norm at its end if it has one.
static std::array<std::string, 2> functionsOf(dataflow::KernelOp kernel, llvm::StringRef target) {
  return {kernelFunctionName(kernel.getSymName(), target),
          kernelFunctionName(finishKernelName(kernel.getSymName()), target)};
}

Status ProgramCompiler::keepCode(ModuleOp target, ArrayRef<dataflow::KernelOp> of,
                                 const Code *&next) {
  for (auto function : target.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal()) {
      continue;
    }
    const auto [found, isNew] = code.try_emplace(function.getSymName().str(), *next);
    if (!isNew && found->second != *next) {
      return HEDDLE_ERROR(Internal, "two functions are called " + found->first);
    }
    ++next;
  }
  SymbolTable symbols(target);
  for (dataflow::KernelOp kernel : of) {
    llvm::SetVector<LLVM::LLVMFuncOp> needed;
    for (const std::string &name : functionsOf(kernel, *target.getSymName())) {
      addNeeded(symbols.lookup<LLVM::LLVMFuncOp>(name), symbols, needed);
    }
    for (LLVM::LLVMFuncOp function : needed) {
      needs[kernel.getSymName()].push_back(function.getSymName().str());
    }
  }
  return {};
}

void ProgramCompiler::keepTwin(const std::string &target, const std::string &twin,
                               ArrayRef<dataflow::KernelOp> of) {
  for (dataflow::KernelOp kernel : of) {
    for (const auto &[own, others] :
         llvm::zip_equal(functionsOf(kernel, target), functionsOf(kernel, twin))) {
      if (code.contains(others)) {
        aliases[own] = others;
        needs[kernel.getSymName()].push_back(own);
      }
    }
  }
}

/// Checks that the code of a target, at `next`, is that of its twin.
static Status checkTwin(ModuleOp target, const std::string &twin,
                        const std::map<std::string, Code> &code, const Code *&next) {
  for (auto function : target.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal()) {
      continue;
    }
    const std::string name = function.getSymName().drop_back(target.getSymName()->size()).str();
    if (!haveSameCode(*next++, code.at(name + twin))) {
      return HEDDLE_ERROR(Internal, function.getSymName().str() + " has other code than for " +
                                        twin + ", of the same loops");
    }
  }
  return {};
}

Status ProgramCompiler::compileAll(ArrayRef<dataflow::KernelOp> of,
                                   const PipelineOptions &options) {
  if (of.empty()) {
    return {};
  }
  dataflow::KernelOp first = of.front();
  HEDDLE_ASSIGN(const CodeCache cache, CodeCache::open(folder + "/code"));
  OwningOpRef<ModuleOp> module = ModuleOp::create(first.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  for (dataflow::KernelOp kernel : of) {
    builder.clone(*kernel);
  }
  HEDDLE_TRY(runPhase(*module, Phase::Kernels, options));
  const TargetTwins twins = findTwins(*module);
  if (batches++ % trialOfTwins != 0) {
    removeTwins(*module, twins);
  }
  HEDDLE_TRY(runPhase(*module, Phase::Llvm, options));
  HEDDLE_ASSIGN(const CompiledKernels compiled, compileKernels(*module, &cache, {}));
  // Code is in the order of modules and functions.
  const Code *next = compiled.objects.data();
  for (auto target : module->getOps<ModuleOp>()) {
    const auto twin = twins.find(target.getSymName()->str());
    HEDDLE_TRY(twin == twins.end() ? keepCode(target, of, next)
                                   : checkTwin(target, twin->second, code, next));
  }
  for (const auto &[target, twin] : twins) {
    keepTwin(target, twin, of);
  }
  return {};
}

Result<std::set<std::string>> ProgramCompiler::generateCode(ModuleOp module,
                                                            const PipelineOptions &options) {
  if (Status status = compileAll(nameKernels(module), options); !status.ok()) {
    // Some have a name and no code.
    forgetKernels();
    return status;
  }
  std::set<std::string> functions;
  for (auto kernel : module.getOps<dataflow::KernelOp>()) {
    const std::vector<std::string> &needed = needs[kernel.getSymName()];
    functions.insert(needed.begin(), needed.end());
  }
  return functions;
}

Result<std::string> ProgramCompiler::libraryOf(const std::set<std::string> &functions) {
  const auto [found, isNew] = libraries.try_emplace(functions);
  if (!isNew) {
    return found->second;
  }
  std::vector<Code> objects;
  // A linker script, which the linker accepts in place of an object.
  std::string script;
  for (const std::string &function : functions) {
    if (const auto alias = aliases.find(function); alias != aliases.end()) {
      script += "\"" + function + "\" = \"" + alias->second + "\";\n";
    } else {
      objects.push_back(code.at(function));
    }
  }
  if (!script.empty()) {
    objects.emplace_back(script.begin(), script.end());
  }
  HEDDLE_ASSIGN(found->second, linkSharedObject(objects));
  return found->second;
}

TargetTwins ProgramCompiler::twinsOf(const std::set<std::string> &functions) const {
  TargetTwins twins;
  for (const std::string &target : targets) {
    std::set<std::string> owners;
    for (const std::string &function : functions) {
      if (const auto alias = aliases.find(function); function.ends_with("." + target)) {
        owners.insert(alias == aliases.end() ? target
                                             : alias->second.substr(alias->second.find('.') + 1));
      }
    }
    if (owners.size() == 1 && *owners.begin() != target) {
      twins[target] = *owners.begin();
    }
  }
  return twins;
}

/// Returns whether a target's code is an image for a device, which is linked as a whole.
static bool hasImages(ArrayRef<std::string> targets) {
  return llvm::any_of(targets, [](const std::string &target) {
    return findTarget(target)->backend->launchShape().unit() != manifest::LaunchUnit::None;
  });
}

Result<ProgramCompiler::Binary> ProgramCompiler::link(ModuleOp module, const TestProgram &program,
                                                      const PipelineOptions &options) {
  ModelFacts facts;
  facts.producer = "RandomProgramsTest";
  facts.precision = "f32";
  const std::string path = pathOf(linked.size());
  if (hasImages(targets)) {
    HEDDLE_ASSIGN(const CodeCache cache, CodeCache::open(folder + "/code"));
    HEDDLE_TRY(runPhase(module, Phase::Kernels, options));
    HEDDLE_TRY(runPhase(module, Phase::Llvm, options));
    HEDDLE_TRY(linkModel(module, sourceOf(program), facts, path, &cache, {}));
    return Binary{path, {}};
  }
  HEDDLE_ASSIGN(const std::set<std::string> functions, generateCode(module, options));
  HEDDLE_ASSIGN(const std::string library, libraryOf(functions));
  // The code is elsewhere, but a binary has the targets of the module's kernels.
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (const std::string &target : targets) {
    ModuleOp::create(builder, module.getLoc(), target);
  }
  HEDDLE_TRY(writeModel(module, {library, {}}, sourceOf(program), facts, path));
  return Binary{path, twinsOf(functions)};
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

/// Returns the disabled passes after the phase `fused`.
static std::string laterPasses(const PassChoice &passes) {
  static const std::set<std::string> fusing = [] {
    std::set<std::string> names;
    for (const OptionalPass &pass : describePasses()) {
      if (pass.phase == Phase::Fused) {
        names.insert(pass.name);
      }
    }
    return names;
  }();
  std::string text;
  for (const std::string &pass : passes.disabled) {
    text += fusing.contains(pass) ? "" : pass + " ";
  }
  return text;
}

Result<std::optional<ProgramCompiler::Binary>>
ProgramCompiler::compile(const TestProgram &program, const PassChoice &passes,
                         const Corruption &corruption) {
  HEDDLE_ASSIGN(const OwningOpRef<ModuleOp> module, fuse(program, passes, corruption));
  const PipelineOptions options = optionsOf(program, passes);
  if (!lowered.insert(printed(*module) + laterPasses(passes)).second) {
    return std::optional<Binary>();
  }
  HEDDLE_TRY(runPhase(*module, Phase::Dataflow, options));
  if (!linked.insert(printed(*module)).second) {
    return std::optional<Binary>();
  }
  HEDDLE_ASSIGN(Binary binary, link(*module, program, options));
  return std::optional(std::move(binary));
}

void ProgramCompiler::clear() {
  for (size_t number = 1; number <= linked.size(); ++number) {
    std::error_code ignored;
    std::filesystem::remove(pathOf(number), ignored);
  }
  lowered.clear();
  linked.clear();
  libraries.clear();
  if (names.size() > mostKernels) {
    forgetKernels();
  }
}

void ProgramCompiler::forgetKernels() {
  names.clear();
  needs.clear();
  code.clear();
  aliases.clear();
  libraries.clear();
  std::error_code ignored;
  std::filesystem::remove_all(folder + "/code", ignored);
}

} // namespace heddle
