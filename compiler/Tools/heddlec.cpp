// SPDX-License-Identifier: Apache-2.0
///
/// heddlec: a model folder, or a program of the IR, to a binary or to the program after any phase.
#include "base/AtomicFile.h"
#include "base/MappedFile.h"
#include "base/Signals.h"
#include "compiler/Cost/PredictedGain.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Model/Sharing/SharingPolicy.h"
#include "compiler/Pipeline.h"
#include "compiler/Remarks/Report.h"
#include "compiler/ReportPage/AnalysisCheck.h"
#include "compiler/ReportPage/ReportPage.h"
#include "compiler/Tools/CommandLine.h"
#include "compiler/Tools/ProgramText.h"
#include "compiler/Tools/RunPhase.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "frontend/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

using namespace mlir;
using namespace heddle;

namespace {
enum ExitCode { Success = 0, BadInput = 1, BadUsage = 2 };

/// What the command line asks for, checked.
struct Task {
  CompileOptions options;
  Phase first = Phase::Fused;
  Phase last = Phase::SharedObject;
  std::optional<Phase> print;
};

/// Says on a terminal which phase runs, once the work takes over a second.
class Progress {
public:
  void phase(llvm::StringRef name) {
    auto elapsed = std::chrono::steady_clock::now() - start;
    if (isTerminal && elapsed > std::chrono::seconds(1)) {
      llvm::errs() << "\r\033[Kheddlec: " << name << " ...";
      shown = true;
    }
  }
  ~Progress() {
    if (shown) {
      llvm::errs() << "\r\033[K";
    }
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool isTerminal = ::isatty(STDERR_FILENO);
  bool shown = false;
};
} // namespace

static int fail(const llvm::Twine &message, ExitCode code) {
  llvm::errs() << "heddlec: " << message << "\n";
  if (code == BadUsage) {
    llvm::errs() << "heddlec: see 'heddlec --help'\n";
  }
  return code;
}

static Status usage(const llvm::Twine &message) {
  return HEDDLE_ERROR(InvalidArgument, message.str());
}

/// Whether the report is a page.
static bool wantsPage(const CommandLine &line) {
  return llvm::StringRef(line.reportFile).ends_with(".html");
}

static Status parseTargets(const CommandLine &line, CompileOptions &options) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(line.targets).split(names, ',');
  options.targets.clear();
  for (llvm::StringRef name : names) {
    const TargetDescription *target = name == "native" ? nativeTarget() : findTarget(name);
    if (!target) {
      return usage("unknown target '" + name + "', expected native or some of " + targetNames());
    }
    options.targets.push_back(target->name.str());
  }
  // Least capable first, each once, whatever the order asked for.
  std::vector<std::string> ordered;
  for (const TargetDescription &target : allTargets()) {
    if (llvm::is_contained(options.targets, target.name)) {
      ordered.push_back(target.name.str());
    }
  }
  options.targets = ordered;
  return {};
}

static Status parsePhaseOption(llvm::StringRef option, llvm::StringRef value,
                               std::optional<Phase> &phase) {
  if (value.empty()) {
    return {};
  }
  phase = parsePhase(value);
  return phase ? Status() : usage(option + " is '" + value + "', expected one of " + phaseNames());
}

static Status parsePhases(const CommandLine &line, Task &task) {
  std::optional<Phase> start, stop;
  HEDDLE_TRY(parsePhaseOption("--emit", line.emitPhase, task.print));
  HEDDLE_TRY(parsePhaseOption("--stop-after", line.stopAfter, stop));
  HEDDLE_TRY(parsePhaseOption("--start-at", line.startAt, start));
  if (start == Phase::SharedObject) {
    return usage("--start-at is 'so', expected a phase whose input is a program: model to asm");
  }
  const bool isProgram = llvm::StringRef(line.input).ends_with(".mlir");
  if (start && !isProgram) {
    return usage("--start-at needs a program, got '" + line.input + "', expected a file .mlir");
  }
  if (!line.weights.empty() && !isProgram) {
    return usage("--weights is for a program, got '" + line.input + "', expected a file .mlir");
  }
  task.first = std::max(start.value_or(Phase::Fused), Phase::Fused);
  if (task.print == Phase::SharedObject) {
    task.print.reset();
  }
  if (stop) {
    task.last = *stop;
  } else if (task.print && line.output.empty()) {
    task.last = *task.print;
  }
  if (task.last == Phase::SharedObject && line.output.empty()) {
    if (line.emitPhase.empty() && line.stopAfter.empty()) {
      return usage("no output, expected -o OUT.so or --emit=PHASE");
    }
    return usage(llvm::Twine(line.emitPhase.empty() ? "--stop-after" : "--emit") +
                 "=so is the binary, which is not printed, expected -o OUT.so");
  }
  if (task.print > task.last) {
    return usage(llvm::Twine("--emit=") + line.emitPhase +
                 " is after --stop-after=" + line.stopAfter);
  }
  if (task.last < task.first && !(task.last == Phase::Model && !start)) {
    return usage(llvm::Twine("--start-at=") + line.startAt + " is after the last phase, " +
                 phaseName(task.last));
  }
  // The phase before the first is the program as it was read.
  if (start && task.print && static_cast<int>(*task.print) < static_cast<int>(task.first) - 1) {
    return usage(llvm::Twine("--emit=") + line.emitPhase + " is before --start-at=" + line.startAt);
  }
  return {};
}

static Status parseSharing(const CommandLine &line, Task &task) {
  if (line.sharing.empty()) {
    return {};
  }
  std::string reason;
  const llvm::FailureOr<SharingPolicy> policy = parseSharingPolicy(line.sharing, reason);
  if (failed(policy)) {
    return usage("--share-attention has " + llvm::Twine(reason));
  }
  task.options.sharing = policy->text();
  return {};
}

static Status parseTask(const CommandLine &line, Task &task) {
  if (!llvm::is_contained(precisions, line.precision)) {
    return usage("--precision is '" + llvm::Twine(line.precision) + "', expected " +
                 llvm::join(precisions, " or "));
  }
  for (const std::string &name : line.disabledPasses) {
    if (!llvm::is_contained(optionalPasses(), name)) {
      return usage("--disable-pass is '" + llvm::Twine(name) + "', expected one of " +
                   llvm::join(optionalPasses(), ", "));
    }
  }
  HEDDLE_TRY(parseSharing(line, task));
  if (!line.analysisFile.empty() && !wantsPage(line)) {
    return usage("--analysis is shown by --report=FILE.html, which is not asked for");
  }
  task.options.disabledPasses = line.disabledPasses;
  task.options.precision = line.precision;
  HEDDLE_TRY(parseTargets(line, task.options));
  HEDDLE_TRY(parsePhases(line, task));
  // A pass that comes later than the last phase is left out as it was asked for.
  for (const std::string &name : line.disabledPasses) {
    if (phaseOfPass(name) < task.first) {
      return usage("--disable-pass=" + llvm::Twine(name) + " is of the phase " +
                   phaseName(phaseOfPass(name)) + ", which is before --start-at=" + line.startAt);
    }
  }
  if (!line.sharing.empty() && (task.first > Phase::Fused || task.last < Phase::Fused)) {
    return usage(llvm::Twine("--share-attention is done in the phase fused, which is not among "
                             "those from ") +
                 phaseName(task.first > Phase::Fused ? task.first : Phase::Model) + " to " +
                 phaseName(task.last));
  }
  return {};
}

// Not by the name /dev/stdout: of a redirected one, that is the file, which would be replaced.
static Status writeStandardOutput(llvm::StringRef text) {
  llvm::raw_fd_ostream stream(STDOUT_FILENO, /*shouldClose=*/false, /*unbuffered=*/true);
  stream << text;
  const std::error_code error = stream.error();
  stream.clear_error();
  // A reader that has left has what it wanted; the files are made all the same.
  if (!error || error == std::errc::broken_pipe) {
    return {};
  }
  return HEDDLE_ERROR(InputOutput, "standard output: cannot write: " + error.message());
}

static Status writeText(const std::string &text, const std::string &path) {
  if (path.empty() || path == "-") {
    return writeStandardOutput(text);
  }
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::open(path));
  HEDDLE_TRY(file.write(text));
  return file.commit();
}

/// The last part of a path, which may end in a slash.
static std::string lastPart(llvm::StringRef path) {
  return llvm::sys::path::filename(path.rtrim('/')).str();
}

/// What the program costs where every pass that can be left out is, and no sharing is asked for.
/// Errors do not reach the user: what is compiled is another program.
static Result<std::vector<EntryCosts>> costsWithoutPasses(ModuleOp imported, CompileOptions options,
                                                          Progress &progress) {
  progress.phase("costs without the passes");
  options.disabledPasses = optionalPasses();
  options.sharing.clear();
  OwningOpRef<ModuleOp> program = imported.clone();
  for (Phase phase : {Phase::Fused, Phase::Dataflow}) {
    if (Status status = runPhase(*program, phase, options); !status.ok()) {
      const llvm::StringRef reason = llvm::StringRef(status.message()).split('\n').first;
      return HEDDLE_ERROR(InvalidArgument, "without the passes the program cannot be taken to the "
                                           "phase '" +
                                               phaseName(phase).str() + "': " + reason.str());
    }
  }
  return programCosts(*program);
}

/// Whether the report is to say what the passes gain: from the imported program to its dispatches.
static bool wantsGain(const CommandLine &line, const Task &task) {
  return !line.reportFile.empty() && task.first == Phase::Fused && task.last >= Phase::Dataflow;
}

static PredictedGain gainOver(const Result<std::vector<EntryCosts>> &before,
                              llvm::ArrayRef<EntryCosts> after) {
  return before.ok() ? predictGain(*before, after)
                     : PredictedGain{{}, std::string(before.status().message())};
}

static Status writeReport(const Report &report, const PredictedGain &gain, ReportPage &page,
                          const CommandLine &line) {
  if (line.reportFile.empty()) {
    return {};
  }
  if (wantsPage(line)) {
    page.setGain(gain);
    return writeText(page.html(lastPart(line.input), report), line.reportFile);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.writeJson(stream, [&](llvm::json::OStream &json) { writeGain(json, gain); });
  return writeText(text, line.reportFile);
}

/// The analysis that the page is to show.
static Result<std::optional<AttentionAnalysis>> analysisOf(const CommandLine &line) {
  if (line.analysisFile.empty()) {
    return std::optional<AttentionAnalysis>();
  }
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(line.analysisFile));
  Result<AttentionAnalysis> analysis = readAnalysis(file.text());
  HEDDLE_TRY_WITH(analysis.status(), line.analysisFile);
  return std::optional(*std::move(analysis));
}

/// What the page says of a compilation before any phase has run.
static Status beginPage(const CommandLine &line, const Task &task, const ImportedModel &model,
                        std::optional<AttentionAnalysis> analysis, ReportPage &page) {
  const std::pair<const char *, std::string> facts[] = {
      {"model type", model.modelType},
      {"precision", task.options.precision},
      {"targets", llvm::join(task.options.targets, ", ")},
      {"attention shared as asked for", task.options.sharing},
      {"passes left out", llvm::join(task.options.disabledPasses, ", ")},
      {"compiler", "heddlec " HEDDLE_VERSION},
      {"hash of the model", model.sourceHash}};
  for (const auto &[name, value] : facts) {
    if (!value.empty()) {
      page.addFact(name, value);
    }
  }
  if (analysis) {
    HEDDLE_TRY(checkAnalysis(*analysis, *model.module, line.analysisFile));
    page.setAnalysis(*std::move(analysis));
  }
  return {};
}

/// Keeps what the page shows of a phase, before the next one changes it.
static void addToPage(ReportPage &page, Phase phase, ModuleOp module) {
  if (phase == Phase::Model || phase == Phase::Fused) {
    page.addProgram(phaseName(phase).str(), module);
  }
}

// What writes a tokenizer; packs it once here, so that what is wrong with it is said before
// anything is compiled.
static Result<TokenizerWriter> tokenizerWriter(const TokenizerFile &file,
                                               const LengthLimits &limits) {
  auto pack = [file, limits](flatbuffers::FlatBufferBuilder &builder) {
    return file.pack(builder, limits);
  };
  flatbuffers::FlatBufferBuilder scratch;
  HEDDLE_TRY(pack(scratch).status());
  return TokenizerWriter(
      [pack](flatbuffers::FlatBufferBuilder &builder) { return *pack(builder); });
}

static Status addTokenizers(const ImportedModel &model, ModelFacts &facts) {
  if (!model.tokenizer) {
    return {};
  }
  // Texts are cut to what the model allows; not sources, whose translation would lack the rest.
  const bool generates = (*model.module)->hasAttr("transformer.generation");
  const LengthLimits limits{model.tokenizer->maxLength, generates ? std::nullopt : model.positions};
  HEDDLE_ASSIGN(facts.tokenizer, tokenizerWriter(model.tokenizer->file, limits));
  if (model.tokenizer->target) {
    HEDDLE_ASSIGN(facts.targetTokenizer, tokenizerWriter(*model.tokenizer->target, limits));
  }
  return {};
}

static ParameterSource parameterSource(ImportedModel &model) {
  return [&model](llvm::StringRef name, std::span<float> values) {
    Status status = model.checkpoint->readF32(name.str(), values);
    model.checkpoint->releasePages(name.str());
    return status;
  };
}

/// The text of a program, which messages show lines of.
static SourceText sourceOf(const ImportedModel &model, const CommandLine &line) {
  return model.file ? SourceText{line.input, model.file->text()} : SourceText();
}

static Status link(ImportedModel &model, const Report &report, const CommandLine &line,
                   ModelFacts facts) {
  if (!model.checkpoint) {
    return HEDDLE_ERROR(NotFound, line.input + ": has no parameters beside it, expected a file "
                                               ".safetensors of the same name");
  }
  facts.sourceHash = model.sourceHash;
  facts.producer = "heddlec " HEDDLE_VERSION;
  facts.precision = line.precision;
  facts.reportSummary = report.summary();
  DiagnosticText diagnostics((*model.module)->getContext(), sourceOf(model, line));
  Status status = linkModel(*model.module, parameterSource(model), facts, line.output);
  return diagnostics.hasErrors() ? diagnostics.status(status.message()) : status;
}

/// Refuses a program of another phase than the first to run expects, where a pass would only say
/// that it does not understand it. Earlier phases leave what is of a later one as it is.
static Status checkPhase(ModuleOp program, const Task &task, const std::string &input) {
  ModuleOp kernels;
  for (auto nested : program.getOps<ModuleOp>()) {
    if (nested.getSymName() && findTarget(*nested.getSymName())) {
      kernels = nested;
      break;
    }
  }
  if (task.first > Phase::Kernels && !kernels) {
    return HEDDLE_ERROR(InvalidArgument,
                        input + ": has no kernel module, expected one named after a target, " +
                            targetNames() + ", or --start-at=kernels or earlier");
  }
  if (!kernels) {
    return {};
  }
  const std::string found = input + ": has the kernel module '" + kernels.getSymName()->str() + "'";
  if (task.first <= Phase::Kernels) {
    return HEDDLE_ERROR(InvalidArgument, found + " already, expected --start-at=llvm or asm");
  }
  const bool isLowered = kernels.getOps<func::FuncOp>().empty();
  if (task.first == Phase::Assembly && !isLowered) {
    return HEDDLE_ERROR(InvalidArgument,
                        found + ", not in the llvm dialect yet, expected --start-at=llvm");
  }
  return {};
}

/// Refuses targets that were asked for and are not those of the program: code of others would be in
/// the binary, or missing.
static Status checkTargets(ModuleOp program, const CommandLine &line, const Task &task) {
  if (!line.hasTargets || task.first <= Phase::Kernels) {
    return {};
  }
  std::vector<std::string> found;
  for (const TargetDescription &target : allTargets()) {
    if (program.lookupSymbol<ModuleOp>(target.name)) {
      found.push_back(target.name.str());
    }
  }
  if (found == task.options.targets) {
    return {};
  }
  return HEDDLE_ERROR(InvalidArgument, line.input + ": has the kernels of " +
                                           llvm::join(found, ", ") +
                                           ", expected those of --target, " +
                                           llvm::join(task.options.targets, ", ") +
                                           ": targets are chosen in the phase 'kernels'");
}

/// The phase to begin with, for a program that says which one it is in: the next one, unless the
/// command line says otherwise.
static Status findFirstPhase(ModuleOp program, const CommandLine &line, Task &task) {
  const Result<Phase> said = phaseOfText(program);
  HEDDLE_TRY_WITH(said.status(), line.input);
  const Phase found = *said;
  if (!line.startAt.empty() || found == Phase::Model) {
    return {};
  }
  const auto next = static_cast<Phase>(static_cast<int>(found) + 1);
  const std::string seen = line.input + ": is in the phase '" + phaseName(found).str() + "'";
  if (task.last < found || (task.print && *task.print < found)) {
    return HEDDLE_ERROR(InvalidArgument,
                        seen + ", expected to be asked for that phase or a later one, not for '" +
                            phaseName(std::min(task.last, task.print.value_or(task.last))).str() +
                            "'");
  }
  if (!line.sharing.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        seen + ", expected one in the phase 'model' for --share-attention");
  }
  for (const std::string &name : line.disabledPasses) {
    if (phaseOfPass(name) <= found) {
      const auto before = static_cast<Phase>(static_cast<int>(phaseOfPass(name)) - 1);
      return HEDDLE_ERROR(InvalidArgument, seen + ", expected one in the phase '" +
                                               phaseName(before).str() +
                                               "' for --disable-pass=" + name);
    }
  }
  task.first = next;
  return {};
}

/// Fits the task to the program that was read, and refuses what does not go with it.
static Status fitTask(ModuleOp program, const CommandLine &line, Task &task) {
  HEDDLE_TRY(findFirstPhase(program, line, task));
  HEDDLE_TRY(checkPhase(program, task, line.input));
  return checkTargets(program, line, task);
}

static void printRemarks(const ImportedModel &model) {
  for (const std::string &warning : model.warnings) {
    llvm::errs() << "heddlec: warning: " << warning << "\n";
  }
  for (const std::string &note : model.notes) {
    llvm::errs() << "heddlec: note: " << note << "\n";
  }
}

/// Writes the program as it is after a phase; an empty path is standard output.
static Status printProgram(const ImportedModel &model, Phase phase, const CommandLine &line,
                           const std::string &path) {
  DiagnosticText diagnostics((*model.module)->getContext(), sourceOf(model, line));
  Result<std::string> text = programText(*model.module, phase);
  HEDDLE_TRY(diagnostics.hasErrors() ? diagnostics.status("") : text.status());
  return writeText(*text, path);
}

static Status compile(const CommandLine &line, Task task) {
  Progress progress;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  registerDialects(context);
  HEDDLE_ASSIGN(std::optional<AttentionAnalysis> analysis, analysisOf(line));
  progress.phase("model");
  HEDDLE_ASSIGN(ImportedModel model, importModel(context, line.input, line.weights));
  HEDDLE_TRY(fitTask(*model.module, line, task));
  printRemarks(model);
  ReportPage page;
  HEDDLE_TRY(beginPage(line, task, model, std::move(analysis), page));
  ModelFacts facts;
  HEDDLE_TRY(addTokenizers(model, facts));
  CompileOptions options = task.options;
  if (model.checkpoint) {
    options.hasher = parameterHasher(parameterSource(model));
    options.reader = parameterReader(parameterSource(model));
  }
  // Before the report listens: what the passes find there is of no interest.
  std::optional<Result<std::vector<EntryCosts>>> before;
  if (wantsGain(line, task)) {
    before = costsWithoutPasses(*model.module, task.options, progress);
  }
  PredictedGain gain;
  Report report(context);
  Phase phase = task.first == Phase::Fused ? Phase::Model
                                           : static_cast<Phase>(static_cast<int>(task.first) - 1);
  for (;; phase = static_cast<Phase>(static_cast<int>(phase) + 1)) {
    progress.phase(phaseName(phase));
    if (phase >= task.first && phase < Phase::Assembly) {
      HEDDLE_TRY(runPhase(*model.module, phase, options, sourceOf(model, line)));
    }
    if (wantsPage(line)) {
      addToPage(page, phase, *model.module);
    }
    if (phase == Phase::Dataflow && (before || wantsPage(line))) {
      std::vector<EntryCosts> costs = programCosts(*model.module);
      gain = before ? gainOver(*before, costs) : PredictedGain();
      page.setCosts(std::move(costs));
    }
    bool isLast = phase == task.last;
    if (phase == task.print || (isLast && phase != Phase::SharedObject)) {
      HEDDLE_TRY(printProgram(model, phase, line, isLast ? line.output : std::string()));
    }
    if (isLast) {
      break;
    }
  }
  // Before the binary: when anything fails, there is none.
  HEDDLE_TRY(writeReport(report, gain, page, line));
  if (task.last == Phase::SharedObject) {
    HEDDLE_TRY(link(model, report, line, std::move(facts)));
  }
  return {};
}

// What no Status can carry any more ends the program as any other error does: by a message and 1.
static void installLastResorts() {
  std::set_new_handler([] {
    std::fputs("heddlec: out of memory\n", stderr);
    std::_Exit(BadInput);
  });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    std::fprintf(stderr, "heddlec: LLVM refused the program: %s\n", reason);
    std::_Exit(BadInput);
  });
}

int main(int argc, char **argv) {
  installLastResorts();
  handleSignals();
  CommandLine line;
  if (std::optional<int> code = parseCommandLine(argc, argv, line)) {
    return *code;
  }
  Task task;
  if (Status status = parseTask(line, task); !status.ok()) {
    return fail(status.message(), BadUsage);
  }
  initializeCodeGenerator();
  if (Status status = compile(line, task); !status.ok()) {
    return fail(status.message(), BadInput);
  }
  return Success;
}
