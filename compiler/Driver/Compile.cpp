// SPDX-License-Identifier: Apache-2.0
///
/// One compilation: import, phase by phase to the last one, the report, and then the binary, so
/// that there is none if anything fails.
#include "compiler/Compile.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "compiler/Cost/PredictedGain.h"
#include "compiler/Driver/ProgramText.h"
#include "compiler/Driver/Request.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Link/RoundingErrors.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "compiler/ReportPage/ReportPage.h"
#include "frontend/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {

// --- one phase -------------------------------------------------------------------------------

namespace {
/// Knows, while passes run, whether the one that runs is there because the request asked for it.
class AskedPassWatch final : public PassInstrumentation {
public:
  explicit AskedPassWatch(bool &isAsked) : isAsked(isAsked) {}

  void runBeforePass(Pass *pass, Operation *) override {
    isAsked = pass->getArgument().ends_with(passNames::applySharing);
  }
  void runAfterPass(Pass *, Operation *) override { isAsked = false; }
  void runAfterPassFailed(Pass *, Operation *) override { isAsked = false; }

private:
  bool &isAsked;
};
} // namespace

/// Runs the passes of a phase. InvalidArgument if one fails: what the passes said and where in the
/// model, or what is wrong with the part of the request that a pass carries out.
static Status runPhase(ModuleOp module, Phase phase, const PipelineOptions &options,
                       const RequestNames &names, SourceText source = {}) {
  PassManager manager(module.getContext());
  buildPhase(manager, phase, options);
  bool isAsked = false;
  manager.addInstrumentation(std::make_unique<AskedPassWatch>(isAsked));
  DiagnosticText diagnostics(module.getContext(), std::move(source));
  std::string aboutRequest;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    const bool isKept = isAsked && diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (isKept && aboutRequest.empty()) {
      aboutRequest = std::string(names.sharing) + ": " + diagnostic.str();
    }
    // Others are kept with their places.
    return success(isKept);
  });
  if (succeeded(manager.run(module))) {
    return {};
  }
  return aboutRequest.empty() ? diagnostics.status("the program could not be taken to the phase " +
                                                   quote(phaseName(phase)))
                              : HEDDLE_ERROR(InvalidArgument, aboutRequest);
}

/// What the program costs where every pass that can be left out is, and no sharing is asked for.
/// Errors do not reach the user: what is compiled is another program.
static Result<std::vector<EntryCosts>> costsWithoutPasses(ModuleOp imported, const Task &task) {
  PipelineOptions options = task.options;
  options.disabledPasses = optionalPasses();
  options.sharing.clear();
  OwningOpRef<ModuleOp> program = imported.clone();
  for (Phase phase : {Phase::Fused, Phase::Dataflow}) {
    const Status status = runPhase(*program, phase, options, task.request.names);
    if (!status.ok()) {
      const llvm::StringRef reason = llvm::StringRef(status.message()).split('\n').first;
      return HEDDLE_ERROR(InvalidArgument, "without the passes the program cannot be taken to the "
                                           "phase " +
                                               quote(phaseName(phase)) + ": " + reason.str());
    }
  }
  return programCosts(*program);
}

// --- what a binary has beside its program ----------------------------------------------------

static ParameterSource parameterSource(const ImportedModel &model) {
  return [&model](llvm::StringRef name, ElementType element, std::span<std::byte> values) {
    Status status = model.checkpoint->read(name.str(), element, values);
    model.checkpoint->releasePages(name.str());
    return status;
  };
}

/// Packs the tokenizers, so that what is wrong with them is said before anything is compiled.
static Status addTokenizers(const ImportedModel &model, ModelFacts &facts) {
  if (!model.tokenizer) {
    return {};
  }
  // Texts are cut to what the model allows; not sources, whose translation would lack the rest.
  const bool generates = (*model.module)->hasAttr("transformer.generation");
  const LengthLimits limits{model.tokenizer->maxLength, generates ? std::nullopt : model.positions};
  HEDDLE_ASSIGN(facts.tokenizer, model.tokenizer->file.pack(facts.builder, limits));
  if (model.tokenizer->target) {
    HEDDLE_ASSIGN(facts.targetTokenizer, model.tokenizer->target->pack(facts.builder, limits));
  }
  return {};
}

/// Links into a file of a folder of its own, and reads it: the linker's output is a file anyway.
static Result<std::string> linkToMemory(const std::function<Status(const std::string &)> &link) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("heddle", folder)) {
    return HEDDLE_ERROR(InputOutput, "no temporary folder for the binary: " + error.message());
  }
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  const std::string path = (folder + "/model.so").str();
  HEDDLE_TRY(link(path));
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  return std::string(file.text());
}

// --- a compilation ---------------------------------------------------------------------------

namespace {
/// A request on its way to a result.
class Compilation {
public:
  Compilation(Task task, CompileResult &result)
      : task(std::move(task)), request(this->task.request), result(result),
        context(MLIRContext::Threading::DISABLED) {
    registerDialects(context);
  }

  Status run();

private:
  Status import();
  void tellRemarks();
  Status readAnalysisFile();
  Status beginPage();
  Status runPhases();
  Status finishPhase(Phase phase);
  Status giveText(Phase phase);
  Status addRounding();
  Status giveReport(const Report &report);
  Status link(const Report &report);

  void tell(std::string_view step) const {
    if (request.onStep) {
      request.onStep(step);
    }
  }
  bool wantsReport() const { return !task.wants(ReportForm::None); }
  /// Whether the report says what the passes gain, from the imported program to its dispatches.
  bool wantsGain() const {
    return wantsReport() && task.first == Phase::Fused && task.last >= Phase::Dataflow;
  }
  std::string producer() const {
    return request.producer.empty() ? "libheddle-compiler " HEDDLE_VERSION : request.producer;
  }

  Task task;
  const CompileRequest &request;
  CompileResult &result;
  /// Outlives the program.
  MLIRContext context;
  ImportedModel model;
  ModelFacts facts;
  std::optional<AttentionAnalysis> analysis;
  ReportPage page;
  /// The costs without the passes, where they are asked for.
  std::optional<Result<std::vector<EntryCosts>>> before;
  PredictedGain gain;
};
} // namespace

Status Compilation::import() {
  tell(phaseName(Phase::Model));
  if (request.program.empty()) {
    HEDDLE_ASSIGN(model, importModel(context, request.path, request.weights));
  } else {
    std::vector<SafetensorsTensor> tensors;
    for (const TensorValues &tensor : request.tensors) {
      tensors.push_back({tensor.name, tensor.type, tensor.shape, tensor.bytes});
    }
    HEDDLE_ASSIGN(model,
                  importText(context, {request.name, request.program}, tensors, request.weights));
  }
  HEDDLE_TRY(fitTask(*model.module, task));
  tellRemarks();
  if (model.checkpoint) {
    task.options.hasher = parameterHasher(parameterSource(model));
    task.options.reader = parameterReader(parameterSource(model));
  }
  return {};
}

void Compilation::tellRemarks() {
  result.warnings = model.warnings;
  result.notes = model.notes;
  if (!request.onRemark) {
    return;
  }
  for (const std::string &warning : model.warnings) {
    request.onRemark(RemarkKind::Warning, warning);
  }
  for (const std::string &note : model.notes) {
    request.onRemark(RemarkKind::Note, note);
  }
}

Status Compilation::readAnalysisFile() {
  if (request.analysis.empty()) {
    return {};
  }
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(request.analysis));
  Result<AttentionAnalysis> read = readAnalysis(file.text());
  HEDDLE_TRY_WITH(read.status(), request.analysis);
  analysis = *std::move(read);
  return {};
}

/// What the page says before any phase has run.
Status Compilation::beginPage() {
  const std::pair<const char *, std::string> facts[] = {
      {"model type", model.modelType},
      {"precision", task.options.precision},
      {"targets", llvm::join(task.options.targets, ", ")},
      {"attention shared as asked for", task.options.sharing},
      {"passes left out", llvm::join(task.options.disabledPasses, ", ")},
      {"compiler", producer()},
      {"hash of the model", model.sourceHash}};
  for (const auto &[name, value] : facts) {
    if (!value.empty()) {
      page.addFact(name, value);
    }
  }
  if (analysis) {
    HEDDLE_TRY(page.setAnalysis(*std::move(analysis), *model.module, request.analysis));
  }
  return {};
}

/// Gives the program's text to whoever wants it.
Status Compilation::giveText(Phase phase) {
  DiagnosticText diagnostics(&context, model.source);
  Result<std::string> text = programText(*model.module, phase);
  HEDDLE_TRY(diagnostics.hasErrors() ? diagnostics.status("") : text.status());
  if (request.onText) {
    return request.onText(phase, *text);
  }
  result.texts.emplace_back(phase, *std::move(text));
  return {};
}

/// Keeps what report and texts have of a phase, before the next one changes the program.
Status Compilation::finishPhase(Phase phase) {
  const bool wantsPage = task.wants(ReportForm::Page);
  if (wantsPage && (phase == Phase::Model || phase == Phase::Fused)) {
    page.addProgram(std::string(phaseName(phase)), *model.module);
  }
  if (phase == Phase::Dataflow && (before || wantsPage)) {
    std::vector<EntryCosts> costs = programCosts(*model.module);
    if (before) {
      gain = before->ok() ? predictGain(**before, costs)
                          : PredictedGain{{}, std::string(before->status().message())};
    }
    page.setCosts(std::move(costs));
  }
  return task.wantsText(phase) ? giveText(phase) : Status();
}

Status Compilation::runPhases() {
  Phase phase = task.first == Phase::Fused ? Phase::Model : phaseBefore(task.first);
  for (;; phase = phaseAfter(phase)) {
    tell(phaseName(phase));
    if (phase >= task.first && phase < Phase::Assembly) {
      HEDDLE_TRY(runPhase(*model.module, phase, task.options, request.names, model.source));
    }
    HEDDLE_TRY(finishPhase(phase));
    if (phase == task.last) {
      return {};
    }
  }
}

/// Measures for the page what fewer bits change of the weights.
Status Compilation::addRounding() {
  if (!model.checkpoint) {
    return {};
  }
  HEDDLE_ASSIGN(const std::vector<RoundingError> errors,
                roundingErrors(*model.module, parameterSource(model)));
  std::vector<RoundedWeights> rounded;
  for (const RoundingError &error : errors) {
    rounded.push_back({error.where, error.stored, error.relative, error.bytes, error.bytesInBf16});
  }
  page.setRounding(std::move(rounded));
  return {};
}

Status Compilation::giveReport(const Report &report) {
  if (!wantsReport()) {
    return {};
  }
  for (const Report::Entry &entry : report.entries()) {
    result.decisions.push_back({entry.pass, entry.where, entry.taken, entry.text,
                                entry.savings.flopsPerToken, entry.savings.weightBytes,
                                entry.savings.cacheBytesPerToken});
  }
  std::string text;
  if (task.wants(ReportForm::Page)) {
    page.setGain(gain);
    HEDDLE_TRY(addRounding());
    // The last part of a path, which may end in a slash.
    text = page.html(llvm::sys::path::filename(StringRef(task.input).rtrim('/')).str(), report);
  } else {
    llvm::raw_string_ostream stream(text);
    report.writeJson(stream, [&](llvm::json::OStream &json) { writeGain(json, gain); });
  }
  if (request.onReport) {
    return request.onReport(text);
  }
  result.report = std::move(text);
  return {};
}

Status Compilation::link(const Report &report) {
  const auto isStored = [](transformer::ParameterOp parameter) {
    return parameter.getSource().has_value();
  };
  if (!model.checkpoint &&
      llvm::any_of((*model.module).getOps<transformer::ParameterOp>(), isStored)) {
    return HEDDLE_ERROR(NotFound, task.input + ": has no parameters beside it, expected a file "
                                               ".safetensors of the same name");
  }
  facts.sourceHash = model.sourceHash;
  facts.producer = producer();
  facts.precision = task.options.precision;
  facts.reportSummary = report.summary();
  std::optional<CodeCache> cache;
  if (!request.codeCache.empty()) {
    Result<CodeCache> opened = CodeCache::open(request.codeCache);
    if (!opened.ok()) {
      return HEDDLE_ERROR(InputOutput, std::string(request.names.codeCache) + ": " +
                                           std::string(opened.status().message()));
    }
    cache = *std::move(opened);
  }
  DiagnosticText diagnostics(&context, model.source);
  const auto linkTo = [&](const std::string &path) {
    Status status =
        linkModel(*model.module, parameterSource(model), facts, path, cache ? &*cache : nullptr);
    return diagnostics.hasErrors() ? diagnostics.status(status.message()) : status;
  };
  if (!request.output.empty()) {
    return linkTo(request.output);
  }
  HEDDLE_ASSIGN(result.binary, linkToMemory(linkTo));
  return {};
}

Status Compilation::run() {
  HEDDLE_TRY(readAnalysisFile());
  HEDDLE_TRY(import());
  HEDDLE_TRY(beginPage());
  HEDDLE_TRY(addTokenizers(model, facts));
  // Before the report listens: what the passes find there is of no interest.
  if (wantsGain()) {
    tell("costs without the passes");
    before = costsWithoutPasses(*model.module, task);
  }
  const Report report(context);
  HEDDLE_TRY(runPhases());
  HEDDLE_TRY(giveReport(report));
  return task.last == Phase::SharedObject ? link(report) : Status();
}

Status checkRequest(const CompileRequest &request) { return resolveRequest(request).status(); }

CompileResult compile(const CompileRequest &request) {
  CompileResult result;
  Result<Task> task = resolveRequest(request);
  result.status = task.ok() ? Compilation(*std::move(task), result).run() : task.status();
  return result;
}

} // namespace heddle
