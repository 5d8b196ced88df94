// SPDX-License-Identifier: Apache-2.0
///
/// Checks requests: first by themselves, then against the imported program.
#include "compiler/Driver/Request.h"

#include "base/NearestName.h"
#include "base/Utf8.h"
#include "compiler/Driver/ChatCheck.h"
#include "compiler/Driver/ProgramText.h"
#include "compiler/Model/Sharing/SharingPolicy.h"
#include "compiler/Parameters/LayerPrecisions.h"
#include "compiler/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <map>
#include <set>

using namespace mlir;

namespace heddle {

static Status wrong(const llvm::Twine &message) {
  return HEDDLE_ERROR(InvalidArgument, message.str());
}

/// The attribute with the precisions of a program whose weights are stored.
static constexpr StringLiteral precisionAttribute = "transformer.precision";

bool Task::wantsText(Phase phase) const { return llvm::is_contained(request.texts, phase); }

// --- a request alone -------------------------------------------------------------------------

static Status checkInput(const CompileRequest &request) {
  const RequestNames &names = request.names;
  if (request.path.empty() == request.program.empty()) {
    return wrong(request.path.empty() ? "no input, expected a path or a program"
                                      : "a path and a program, expected one of them");
  }
  if (!request.tensors.empty() && request.program.empty()) {
    return wrong("tensors are for a program in memory, got " + quote(request.path));
  }
  if (!request.tensors.empty() && !request.weights.empty()) {
    return wrong(llvm::Twine(names.weights) + " and tensors, expected one of them");
  }
  const bool isProgram = !request.program.empty() || StringRef(request.path).ends_with(".mlir");
  if (request.startAt && !isProgram) {
    return wrong(llvm::Twine(names.startAt) + " needs a program, got " + quote(request.path) +
                 ", expected a file .mlir");
  }
  if (!request.weights.empty() && !isProgram) {
    return wrong(llvm::Twine(names.weights) + " is for a program, got " + quote(request.path) +
                 ", expected a file .mlir");
  }
  if (request.textLength < 0 || request.textLength > longestText) {
    return wrong(llvm::Twine(names.textLength) + " is " + llvm::Twine(request.textLength) +
                 ", expected a number from 0 to " + llvm::Twine(longestText));
  }
  return {};
}

/// Resolves a target in the request's spelling; `useful` are the candidates for "native", the least
/// capable first.
static Result<TargetDescription> resolveTarget(StringRef text, ArrayRef<std::string> useful) {
  auto [name, columns] = text.split(':');
  const TargetDescription *target = name == "native" ? nativeTarget(useful) : findTarget(name);
  if (!target) {
    return wrong("unknown target " + quote(name.str()) + ", expected native or some of " +
                 targetNames());
  }
  std::string reason;
  FailureOr<TargetDescription> parsed =
      parseTarget((target->name + text.drop_front(name.size())).str(), reason);
  if (failed(parsed)) {
    return wrong(reason);
  }
  return *parsed;
}

/// Rejects options for GPU targets if there is no such target.
static Status checkDevices(const CompileRequest &request, const PipelineOptions &options) {
  const auto isDevice = [](const std::string &text) {
    const StringRef name = StringRef(text).split(':').first;
    return findTarget(name)->backend->launchShape().unit() != manifest::LaunchUnit::None;
  };
  if (llvm::any_of(options.targets, isDevice)) {
    return {};
  }
  const std::string got = llvm::join(options.targets, ", ");
  if (!request.ptxas.empty()) {
    return wrong(llvm::Twine(request.names.ptxas) + " is for kernels of GPUs, got targets " + got);
  }
  for (const Precision &precision : precisionsOf(options)) {
    if (precision.products != FloatProducts::Exact) {
      return wrong("precision " + quote(precision.name) +
                   " is of products on GPUs, expected a target of one among " +
                   std::string(request.names.targets) + ", such as " +
                   std::string(precision.target) + ", got " + got);
    }
  }
  return {};
}

static Status resolveTargets(const CompileRequest &request, PipelineOptions &options) {
  const std::vector<std::string> defaults = defaultTargets(options);
  const std::vector<std::string> &texts = request.targets.empty() ? defaults : request.targets;
  std::map<StringRef, TargetDescription> asked;
  std::set<StringRef> named;
  for (const std::string &text : texts) {
    HEDDLE_ASSIGN(const TargetDescription target, resolveTarget(text, defaults));
    const TargetDescription &known = asked.try_emplace(target.name, target).first->second;
    if (known.panelColumns != target.panelColumns) {
      return wrong("target " + quote(target.name.str()) + " is asked for with panels of " +
                   llvm::Twine(known.panelColumns) + " and of " + llvm::Twine(target.panelColumns) +
                   " columns, expected one width");
    }
    // "native" may stand for a target that is named too: the list then suits several machines.
    if (!named.insert(StringRef(text).split(':').first).second) {
      return wrong(llvm::Twine(request.names.targets) + " names the target " +
                   quote(StringRef(text).split(':').first.str()) + " twice, expected each once");
    }
  }
  // Orders targets by capability, without duplicates.
  options.targets.clear();
  for (const TargetDescription &target : allTargets()) {
    if (auto found = asked.find(target.name); found != asked.end()) {
      options.targets.push_back(targetText(found->second));
    }
  }
  return checkDevices(request, options);
}

static Status checkCache(const CompileRequest &request) {
  if (findCachePrecision(request.cache)) {
    return {};
  }
  std::vector<std::string> known;
  for (const CachePrecision &each : cachePrecisions) {
    known.emplace_back(each.name);
  }
  return wrong(llvm::Twine(request.names.cache) + " is " + quote(request.cache) +
               ", expected one of " + llvm::join(known, ", ") + didYouMean(request.cache, known));
}

static Status resolveOptions(const CompileRequest &request, PipelineOptions &options) {
  const RequestNames &names = request.names;
  if (!findPrecision(options.precision)) {
    return wrong(llvm::Twine(names.precision) + " is " + unknownPrecision(options.precision));
  }
  options.keep.clear();
  for (const std::string &text : request.keep) {
    const Result<std::vector<KeptLayers>> parsed = parseKept(text);
    if (!parsed.ok()) {
      return wrong(llvm::Twine(names.keep) + " " + llvm::Twine(parsed.status().message()));
    }
    // One for each pattern, because commas separate pass options.
    for (const KeptLayers &kept : *parsed) {
      options.keep.push_back(kept.text());
    }
  }
  HEDDLE_TRY(checkCache(request));
  const std::vector<std::string> passes = optionalPasses();
  for (const std::string &name : options.disabledPasses) {
    if (!llvm::is_contained(passes, name)) {
      return wrong(llvm::Twine(names.disabledPasses) + " is " + quote(name) + ", expected one of " +
                   llvm::join(passes, ", ") + didYouMean(name, passes));
    }
  }
  if (!options.sharing.empty()) {
    std::string reason;
    const FailureOr<SharingPolicy> policy = parseSharingPolicy(options.sharing, reason);
    if (failed(policy)) {
      return wrong(llvm::Twine(names.sharing) + " has " + reason);
    }
    options.sharing = policy->text();
  }
  if (!request.analysis.empty() && request.report != ReportForm::Page) {
    return wrong(llvm::Twine(names.analysis) + " is shown by " + llvm::Twine(names.page) +
                 ", which is not asked for");
  }
  return resolveTargets(request, options);
}

/// Returns a field of a request with its value, for messages: "--emit=llvm".
static std::string setting(std::string_view field, Phase phase) {
  return std::string(field) + "=" + std::string(phaseName(phase));
}

/// Returns the part of the request that required passes of the phase `fused` implement, for
/// messages; empty if there is none.
static std::string askedOfFused(const Task &task) {
  const RequestNames &names = task.request.names;
  if (!task.request.sharing.empty()) {
    return std::string(names.sharing);
  }
  return task.request.cache == f32Precision ? std::string()
                                            : std::string(names.cache) + "=" + task.request.cache;
}

static Status resolvePhases(Task &task) {
  const CompileRequest &request = task.request;
  const RequestNames &names = request.names;
  const std::optional<Phase> start = request.startAt;
  if (start == Phase::SharedObject) {
    return wrong(llvm::Twine(names.startAt) +
                 " is \"so\", expected a phase whose input is a program: model to asm");
  }
  task.first = std::max(start.value_or(Phase::Fused), Phase::Fused);
  task.last = request.stopAfter;
  for (const Phase phase : request.texts) {
    if (phase == Phase::SharedObject) {
      return wrong(setting(names.texts, phase) + " is the binary, which is no text");
    }
    if (phase > task.last) {
      return wrong(setting(names.texts, phase) + " is after " +
                   setting(names.stopAfter, task.last));
    }
  }
  if (task.last < task.first && !(task.last == Phase::Model && !start)) {
    return wrong(setting(names.startAt, start.value_or(task.first)) + " is after the last phase, " +
                 llvm::Twine(phaseName(task.last)));
  }
  // The phase before the first one stands for the program as it was read.
  for (const Phase phase : request.texts) {
    if (start && phase < phaseBefore(task.first)) {
      return wrong(setting(names.texts, phase) + " is before " + setting(names.startAt, *start));
    }
  }
  // Disabling a pass after the last phase has no effect and is allowed.
  for (const std::string &name : request.disabledPasses) {
    if (phaseOfPass(name) < task.first) {
      return wrong(llvm::Twine(names.disabledPasses) + "=" + name + " is of the phase " +
                   llvm::Twine(phaseName(phaseOfPass(name))) + ", which is before " +
                   setting(names.startAt, task.first));
    }
  }
  const auto isDone = [&](std::string_view field, Phase phase) -> Status {
    if (task.first <= phase && task.last >= phase) {
      return {};
    }
    return wrong(llvm::Twine(field) + " is done in the phase " + llvm::Twine(phaseName(phase)) +
                 ", which is not among those from " +
                 llvm::Twine(phaseName(task.first > phase ? task.first : Phase::Model)) + " to " +
                 llvm::Twine(phaseName(task.last)));
  };
  if (const std::string asked = askedOfFused(task); !asked.empty()) {
    HEDDLE_TRY(isDone(asked, Phase::Fused));
  }
  return request.keep.empty() ? Status() : isDone(names.keep, Phase::Dataflow);
}

/// Rejects an option that only changes a binary if none is made.
static Status needsBinary(const Task &task, std::string_view option) {
  if (task.last == Phase::SharedObject) {
    return {};
  }
  return wrong(llvm::Twine(option) + " is for a binary, expected " +
               llvm::Twine(task.request.names.output) + " and all phases, got " +
               llvm::Twine(phaseName(task.last)) + " as the last one");
}

/// Checks calibration, which chooses codes in the phase dataflow and evaluates them for a binary.
static Status checkCalibration(const Task &task) {
  const CompileRequest &request = task.request;
  const RequestNames &names = request.names;
  if (request.calibration.empty()) {
    return {};
  }
  if (findPrecision(task.options.precision)->bits > 8) {
    const std::string chooses = std::string(names.calibration) + " chooses codes of weights, ";
    if (task.options.precision.empty()) {
      return wrong(chooses + "which need a " + llvm::Twine(names.precision) +
                   " of 8 or 4 bits, such as int4, got none: codes of a model's files stay as they "
                   "are");
    }
    return wrong(chooses + "of which " + llvm::Twine(names.precision) + " " +
                 quote(task.options.precision) +
                 " has none, expected one of 8 or 4 bits, such as int4");
  }
  HEDDLE_TRY(needsBinary(task, names.calibration));
  if (task.first > Phase::Dataflow) {
    return wrong(llvm::Twine(names.calibration) + " needs the phase dataflow, which is before " +
                 setting(names.startAt, task.first));
  }
  return {};
}

Result<Task> resolveRequest(const CompileRequest &request) {
  Task task(request);
  task.input = request.path.empty() ? request.name : request.path;
  static_cast<CompileOptions &>(task.options) = request;
  HEDDLE_TRY(checkInput(request));
  HEDDLE_TRY(resolveOptions(request, task.options));
  HEDDLE_TRY(resolvePhases(task));
  HEDDLE_TRY(checkCalibration(task));
  // Only a binary contains what ptxas makes.
  HEDDLE_TRY(request.ptxas.empty() ? Status() : needsBinary(task, request.names.ptxas));
  task.options.compensates = !request.calibration.empty();
  return task;
}

// --- a request and its program ---------------------------------------------------------------

/// Rejects a program whose phase does not match the first phase to run, if that phase's passes
/// would only report that they do not support it. Earlier phases leave operations of later ones
/// unchanged.
static Status checkPhase(ModuleOp program, const Task &task) {
  const std::string startAt(task.request.names.startAt);
  ModuleOp kernels;
  for (auto nested : program.getOps<ModuleOp>()) {
    if (nested.getSymName() && findTarget(*nested.getSymName())) {
      kernels = nested;
      break;
    }
  }
  if (task.first > Phase::Kernels && !kernels) {
    return wrong(task.input + ": has no kernel module, expected one named after a target, " +
                 targetNames() + ", or " + startAt + "=kernels or earlier");
  }
  if (!kernels) {
    return {};
  }
  const std::string found =
      task.input + ": has the kernel module " + quote(kernels.getSymName()->str());
  if (task.first <= Phase::Kernels) {
    return wrong(found + " already, expected " + startAt + "=llvm or asm");
  }
  const bool isLowered = kernels.getOps<func::FuncOp>().empty();
  if (task.first == Phase::Assembly && !isLowered) {
    return wrong(found + ", not in the llvm dialect yet, expected " + startAt + "=llvm");
  }
  return {};
}

/// Rejects requested targets that differ from those of the program: code for others would be in the
/// binary, or missing.
static Status checkTargets(ModuleOp program, Task &task) {
  if (task.request.targets.empty() || task.first <= Phase::Kernels) {
    return {};
  }
  std::vector<std::string> found;
  for (const TargetDescription &known : allTargets()) {
    if (auto kernels = program.lookupSymbol<ModuleOp>(known.name)) {
      std::string reason;
      auto target = targetOf(kernels, reason);
      if (failed(target)) {
        return wrong(task.input + ": " + reason);
      }
      found.push_back(targetText(**target));
    }
  }
  if (found == task.options.targets) {
    return {};
  }
  return wrong(task.input + ": has the kernels of " + llvm::join(found, ", ") +
               ", expected those of " + std::string(task.request.names.targets) + ", " +
               llvm::join(task.options.targets, ", ") +
               ": targets are chosen in the phase \"kernels\"");
}

/// Determines the first phase for a program that declares its own phase: the next one, unless the
/// request sets it.
static Status findFirstPhase(ModuleOp program, Task &task) {
  const Result<Phase> said = phaseOfText(program);
  HEDDLE_TRY_WITH(said.status(), task.input);
  const Phase found = *said;
  if (task.request.startAt || found == Phase::Model) {
    return {};
  }
  const std::string seen = task.input + ": is in the phase " + quote(phaseName(found));
  Phase earliest = task.last;
  for (const Phase phase : task.request.texts) {
    earliest = std::min(earliest, phase);
  }
  if (earliest < found) {
    return wrong(seen + ", expected to be asked for that phase or a later one, not for " +
                 quote(phaseName(earliest)));
  }
  if (const std::string asked = askedOfFused(task); !asked.empty()) {
    return wrong(seen + ", expected one in the phase \"model\" for " + asked);
  }
  if (task.options.compensates && found >= Phase::Dataflow) {
    return wrong(seen + ", expected one before \"dataflow\" for " +
                 llvm::Twine(task.request.names.calibration));
  }
  if (!task.options.keep.empty() && found >= Phase::Dataflow) {
    return wrong(seen + ", expected one in the phase \"model\" or \"fused\" for " +
                 llvm::Twine(task.request.names.keep));
  }
  for (const std::string &name : task.options.disabledPasses) {
    if (phaseOfPass(name) <= found) {
      return wrong(seen + ", expected one in the phase " +
                   quote(phaseName(phaseBefore(phaseOfPass(name)))) + " for " +
                   llvm::Twine(task.request.names.disabledPasses) + "=" + name);
    }
  }
  task.first = phaseAfter(found);
  return {};
}

/// Reads the declared precisions of a program whose weights are stored: its own, and those of kept
/// layers, which need code for targets of theirs. The text is not trusted.
static Status readStored(ModuleOp program, const Quantization *codes, Task &task) {
  auto said = program->getAttrOfType<DictionaryAttr>(precisionAttribute);
  const std::string stored =
      said ? said.getAs<StringAttr>("name").getValue().str() : std::string(f32Precision);
  const std::string has = task.input + ": has weights ";
  if (!findPrecision(stored)) {
    return wrong(has + "in " + unknownPrecision(stored));
  }
  std::vector<std::string> kept;
  for (auto each : said ? said.getAs<ArrayAttr>("kept").getValue() : ArrayRef<Attribute>()) {
    auto layers = cast<DictionaryAttr>(each);
    const KeptLayers rule{layers.getAs<StringAttr>("layers").str(),
                          layers.getAs<StringAttr>("precision").str()};
    if (!findPrecision(rule.precision)) {
      return wrong(has + "kept in " + unknownPrecision(rule.precision));
    }
    kept.push_back(rule.text());
  }
  const std::string seen = has + (stored.empty() ? "as its files have them" : "in " + stored);
  const std::string &asked = task.options.precision;
  if (!asked.empty() && asked != stored) {
    return wrong(seen + ", expected those of " + std::string(task.request.names.precision) + ", " +
                 asked + ": weights are stored in the phase \"dataflow\"");
  }
  if (stored.empty() && !codes && task.last == Phase::SharedObject) {
    return wrong(seen + ", expected files with weights in codes");
  }
  task.options.precision = stored;
  task.options.keep = std::move(kept);
  return {};
}

/// Sets the precision from the program and its files, unless the request has one. A program whose
/// weights are stored declares its precision. For others the declaration is removed, because the
/// following passes store the weights.
static Status fitPrecision(ModuleOp program, const Quantization *codes, Task &task) {
  std::string &precision = task.options.precision;
  if (task.first > Phase::Dataflow) {
    HEDDLE_TRY(readStored(program, codes, task));
  } else {
    program->removeAttr(precisionAttribute);
    precision = precision.empty() && !codes ? std::string(f32Precision) : precision;
  }
  task.precision = precision.empty() && codes ? codes->text() : precision;
  task.options.quantisesRows = precision.empty() && codes && codes->rowBits != 0;
  // Integer products have a default target of their own.
  return resolveTargets(task.request, task.options);
}

/// Checks kept layers against the tensors that the program reads.
static Status checkLayers(ModuleOp program, const Task &task) {
  if (task.first > Phase::Dataflow) {
    return {};
  }
  HEDDLE_ASSIGN(const std::vector<KeptLayers> kept,
                readPrecisions(task.options.precision, task.options.keep));
  const Status status = checkKept(program, kept);
  return status.ok()
             ? Status()
             : wrong(llvm::Twine(task.request.names.keep) + " " + llvm::Twine(status.message()));
}

Status fitTask(ModuleOp program, const Quantization *codes, Task &task) {
  HEDDLE_TRY(findFirstPhase(program, task));
  HEDDLE_TRY(checkPhase(program, task));
  HEDDLE_TRY(checkChat(program, task.request));
  HEDDLE_TRY(fitPrecision(program, codes, task));
  HEDDLE_TRY(checkLayers(program, task));
  return checkTargets(program, task);
}

} // namespace heddle
