// SPDX-License-Identifier: Apache-2.0
///
/// One compilation: import, all phases, the report, and the binary last, so that a failure leaves
/// none.
#include "compiler/Compile.h"

#include "base/MappedFile.h"
#include "base/ParallelFor.h"
#include "base/ScratchFolder.h"
#include "base/Utf8.h"
#include "compiler/Calibration/Calibrate.h"
#include "compiler/Cost/PredictedGain.h"
#include "compiler/Driver/ModelParameters.h"
#include "compiler/Driver/OutputCheck.h"
#include "compiler/Driver/ProgramText.h"
#include "compiler/Driver/Request.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Link/RoundingErrors.h"
#include "compiler/Link/WorthKeeping.h"
#include "compiler/Parameters/LayerPrecisions.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "compiler/ReportPage/ReportPage.h"
#include "frontend/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {

// --- one phase -------------------------------------------------------------------------------

namespace {
/// A part of the request that a pass implements: the user's name for it, and the prefix of the
/// pass's errors about it.
struct AskedPart {
  std::string_view name, prefix;
};

/// Tracks which part of the request the running pass implements; none for passes that always run.
class AskedPassWatch final : public PassInstrumentation {
public:
  AskedPassWatch(const RequestNames &names, AskedPart &asked) : names(names), asked(asked) {}

  void runBeforePass(Pass *pass, Operation *) override {
    const StringRef argument = pass->getArgument();
    asked = argument.ends_with(passNames::applySharing)    ? AskedPart{names.sharing, ""}
            : argument.ends_with(passNames::narrowWeights) ? AskedPart{names.keep, keepErrorPrefix}
                                                           : AskedPart();
  }
  void runAfterPass(Pass *, Operation *) override { asked = {}; }
  void runAfterPassFailed(Pass *, Operation *) override { asked = {}; }

private:
  const RequestNames &names;
  AskedPart &asked;
};
} // namespace

/// Runs the passes of a phase. Returns InvalidArgument if one fails: its diagnostics with locations
/// in the model, or the error in the part of the request that it implements.
static Status runPhase(ModuleOp module, Phase phase, const PipelineOptions &options,
                       const RequestNames &names, SourceText source = {}) {
  PassManager manager(module.getContext());
  buildPhase(manager, phase, options);
  manager.enableVerifier(verifiesEveryPass(phase));
  AskedPart asked;
  manager.addInstrumentation(std::make_unique<AskedPassWatch>(names, asked));
  DiagnosticText diagnostics(module.getContext(), std::move(source));
  std::string aboutRequest;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    const std::string text = diagnostic.str();
    const bool isAboutRequest = !asked.name.empty() && text.starts_with(asked.prefix) &&
                                diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (isAboutRequest && aboutRequest.empty()) {
      aboutRequest = std::string(asked.name) + ": " + text.substr(asked.prefix.size());
    }
    // Passes other diagnostics on.
    return success(isAboutRequest);
  });
  if (succeeded(manager.run(module)) && (verifiesEveryPass(phase) || succeeded(verify(module)))) {
    return {};
  }
  return aboutRequest.empty() ? diagnostics.status("the program could not be taken to the phase " +
                                                   quote(phaseName(phase)))
                              : HEDDLE_ERROR(InvalidArgument, aboutRequest);
}

/// Returns the costs of the program with all optional passes disabled and without sharing. Errors
/// do not reach the user, because this is not the compiled program.
static Result<std::vector<EntryCosts>> costsWithoutPasses(ModuleOp imported, const Task &task) {
  PipelineOptions options = task.options;
  options.disabledPasses = optionalPasses();
  options.sharing.clear();
  options.compensates = false;
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

// --- contents of a binary beside its program -------------------------------------------------

/// Packs the tokenizers, so that their errors are reported before anything is compiled.
static Status addTokenizers(const ImportedModel &model, ModelFacts &facts) {
  if (!model.tokenizer) {
    return {};
  }
  // Texts are truncated to the model's limit; sources are not, because their translation would be
  // incomplete.
  const bool generates = (*model.module)->hasAttr("transformer.generation");
  const LengthLimits limits{model.tokenizer->maxLength, generates ? std::nullopt : model.positions};
  HEDDLE_ASSIGN(facts.tokenizer, model.tokenizer->file.pack(facts.builder, limits));
  if (model.tokenizer->target) {
    HEDDLE_ASSIGN(facts.targetTokenizer, model.tokenizer->target->pack(facts.builder, limits));
  }
  return {};
}

/// Links into a file of a temporary folder, which exists while `use` runs.
static Status linkToFolder(const std::function<Status(const std::string &)> &link,
                           const std::function<Status(const std::string &)> &use) {
  HEDDLE_ASSIGN(const ScratchFolder folder, ScratchFolder::create("heddle", "the binary"));
  const std::string path = folder / "model.so";
  HEDDLE_TRY(link(path));
  return use(path);
}

// --- a compilation ---------------------------------------------------------------------------

namespace {
/// Runs one request.
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
  void addRemark(RemarkKind kind, std::string text);
  Status readAnalysisFile();
  Status beginPage();
  Status runPhases();
  Status finishPhase(Phase phase);
  void sayCaches();
  Status giveText(Phase phase);
  Status addRounding();
  Status checkTexts() const;
  Result<std::optional<CodeCache>> openCache() const;
  Status checkWeights() const;
  Status linkObserved(const std::string &path, Report &report);
  Status chooseCodes(const std::string &observed);
  Status calibrate(Report &report);
  Status giveReport(const Report &report);
  Status link(const Report &report);

  void tell(std::string_view step) const {
    if (request.onStep) {
      request.onStep(step);
    }
  }
  bool wantsReport() const { return !task.wants(ReportForm::None); }
  /// Returns whether the report includes the predicted gain of the passes.
  bool wantsGain() const {
    return wantsReport() && task.first == Phase::Fused && task.last >= Phase::Dataflow;
  }
  ParameterSource weights(NonFiniteWeights *noted = nullptr) const {
    return parameterSource(model, compensated ? &*compensated : nullptr, noted);
  }
  std::string producer() const {
    return request.producer.empty() ? "libheddle-compiler " HEDDLE_VERSION : request.producer;
  }

  Task task;
  const CompileRequest &request;
  CompileResult &result;
  /// Must outlive the program.
  MLIRContext context;
  ImportedModel model;
  ModelFacts facts;
  std::optional<AttentionAnalysis> analysis;
  /// The calibration texts, and a copy of the program to lower for the calibration run.
  std::optional<CalibrationTexts> texts;
  OwningOpRef<ModuleOp> beforeDataflow;
  std::optional<CompensatedValues> compensated;
  NonFiniteWeights nonFinite;
  ReportPage page;
  /// The costs without the passes, if requested.
  std::optional<Result<std::vector<EntryCosts>>> before;
  PredictedGain gain;
};
} // namespace

/// Returns the element types of a program's caches, without duplicates; empty without caches.
static llvm::SmallSetVector<llvm::StringRef, 2> cachesOf(ModuleOp program) {
  llvm::SmallSetVector<llvm::StringRef, 2> kept;
  for (auto entry : program.getOps<func::FuncOp>()) {
    for (Type type : entry.getArgumentTypes()) {
      if (auto cache = dyn_cast<transformer::CacheType>(type)) {
        const bool areCodes = isa<transformer::QuantizedType>(cache.getElementType());
        kept.insert(areCodes ? "int8" : infoOf(elementTypeOf(cache.getElementType())).name);
      }
    }
  }
  return kept;
}

Status Compilation::import() {
  tell(phaseName(Phase::Model));
  if (request.program.empty()) {
    HEDDLE_ASSIGN(model, importModel(context, request.path, request.weights, request.textLength,
                                     request.staticSizes));
  } else {
    std::vector<SafetensorsTensor> tensors;
    for (const TensorValues &tensor : request.tensors) {
      tensors.push_back({tensor.name, tensor.type, tensor.shape, tensor.bytes});
    }
    HEDDLE_ASSIGN(model,
                  importText(context, {request.name, request.program}, tensors, request.weights));
  }
  if (request.textLength != 0 && !model.dependsOnLength) {
    return HEDDLE_ERROR(InvalidArgument,
                        (llvm::Twine(request.names.textLength) + " is " +
                         llvm::Twine(request.textLength) + ", expected none: " + task.input +
                         " is no model folder whose rotary positions depend on the length of "
                         "texts, as those of the types \"dynamic\" and \"longrope\" do")
                            .str());
  }
  if (request.staticSizes && !model.hasFixedSizes) {
    return HEDDLE_ERROR(InvalidArgument,
                        (llvm::Twine(request.names.staticSizes) + " is given, but " + task.input +
                         " is no ONNX graph in which the exporter made constants of open sizes")
                            .str());
  }
  HEDDLE_TRY(
      fitTask(*model.module, model.checkpoint ? model.checkpoint->quantization() : nullptr, task));
  if (task.options.quantisesRows) {
    llvm::append_range(model.warnings, model.checkpoint->quantization()->rowWarnings);
  }
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

/// Adds a remark that depends on the imported program.
void Compilation::addRemark(RemarkKind kind, std::string text) {
  std::vector<std::string> &list = kind == RemarkKind::Note ? result.notes : result.warnings;
  list.push_back(std::move(text));
  if (request.onRemark) {
    request.onRemark(kind, list.back());
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

/// Adds the page's facts that are known before any phase.
Status Compilation::beginPage() {
  const std::pair<const char *, std::string> facts[] = {
      {"model type", model.modelType},
      {"precision", task.precision},
      {"layers of another precision", llvm::join(task.options.keep, ", ")},
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

/// Passes the program's text to the user, if requested.
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

/// Adds the caches' precision to the page, and notes if the requested one has no effect.
void Compilation::sayCaches() {
  const auto kept = cachesOf(*model.module);
  if (!kept.empty()) {
    page.addFact("caches", llvm::join(kept, ", "));
  }
  if (request.cache != f32Precision && !kept.contains(request.cache)) {
    addRemark(RemarkKind::Note,
              std::string(request.names.cache) + "=" + request.cache + " changes nothing: " +
                  (kept.empty() ? "the model keeps no keys or values of earlier tokens"
                                : "caches have one number for each position"));
  }
}

/// Records the data of a phase for the report and texts, before the next phase changes the program.
Status Compilation::finishPhase(Phase phase) {
  const bool wantsPage = task.wants(ReportForm::Page);
  if (phase == Phase::Fused) {
    sayCaches();
  }
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
    if (phase == Phase::Dataflow && texts) {
      beforeDataflow = (*model.module).clone();
    }
    if (phase >= task.first && phase < Phase::Assembly) {
      HEDDLE_TRY(runPhase(*model.module, phase, task.options, request.names, model.source));
    }
    HEDDLE_TRY(finishPhase(phase));
    if (phase == task.last) {
      return {};
    }
  }
}

/// Measures the rounding errors of weights for the page.
Status Compilation::addRounding() {
  if (!model.checkpoint) {
    return {};
  }
  HEDDLE_ASSIGN(const std::vector<RoundingError> errors, roundingErrors(*model.module, weights()));
  std::vector<RoundedWeights> rounded;
  for (const RoundingError &error : errors) {
    rounded.push_back({error.where, error.stored, error.relative, error.bytes, error.bytesInBf16});
  }
  std::vector<std::string> patterns;
  for (const std::string &kept : task.options.keep) {
    patterns.push_back(StringRef(kept).rsplit('=').first.str());
  }
  std::vector<KeepOption> options;
  for (WorthKeeping &each : worthKeeping(errors, task.options.precision, patterns)) {
    options.push_back({std::move(each.option), each.share, each.bytes});
  }
  page.setRounding(std::move(rounded), std::move(options));
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
    // The last component of a path, which may end in a slash.
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

/// What link() needs beside the program.
Status Compilation::checkWeights() const {
  const auto isStored = [](transformer::ParameterOp parameter) {
    return parameter.getSource().has_value();
  };
  if (!model.checkpoint &&
      llvm::any_of((*model.module).getOps<transformer::ParameterOp>(), isStored)) {
    return HEDDLE_ERROR(NotFound, task.input + ": has no parameters beside it, expected a file "
                                               ".safetensors of the same name");
  }
  return {};
}

Result<std::optional<CodeCache>> Compilation::openCache() const {
  if (request.codeCache.empty()) {
    return std::optional<CodeCache>();
  }
  Result<CodeCache> opened = CodeCache::open(request.codeCache);
  if (!opened.ok()) {
    return HEDDLE_ERROR(InputOutput, std::string(request.names.codeCache) + ": " +
                                         std::string(opened.status().message()));
  }
  return std::optional(*std::move(opened));
}

Status Compilation::link(const Report &report) {
  HEDDLE_TRY(checkWeights());
  facts.sourceHash = model.sourceHash;
  facts.producer = producer();
  facts.precision = task.precision;
  if (model.checkpoint && model.checkpoint->quantization() && task.options.precision.empty()) {
    facts.codes = *model.checkpoint->quantization();
  }
  facts.reportSummary = report.summary();
  HEDDLE_ASSIGN(const std::optional<CodeCache> cache, openCache());
  DiagnosticText diagnostics(&context, model.source);
  const auto linkTo = [&](const std::string &path) {
    Status status = linkModel(*model.module, weights(&nonFinite), facts, path,
                              cache ? &*cache : nullptr, {.ptxas = request.ptxas});
    return diagnostics.hasErrors() ? diagnostics.status(status.message()) : status;
  };
  if (!request.output.empty()) {
    return linkTo(request.output);
  }
  // The linker writes a file in any case.
  return linkToFolder(linkTo, [&](const std::string &path) -> Status {
    HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
    result.binary = std::string(file.text());
    return {};
  });
}

// --- calibration -----------------------------------------------------------------------------

/// Checks, before compiling, that the model can run on texts.
Status Compilation::checkTexts() const {
  if (!texts || model.tokenizer) {
    return {};
  }
  return HEDDLE_ERROR(InvalidArgument, task.input + ": has no tokenizer, expected one for " +
                                           std::string(request.names.calibration) +
                                           ", which runs the model on texts");
}

/// Links an f32 program whose outputs are the rows of its products, for the baseline target, so
/// that all machines choose the same codes.
Status Compilation::linkObserved(const std::string &path, Report &report) {
  PipelineOptions options = task.options;
  options.compensates = false;
  options.precision = f32Precision;
  options.keep.clear();
  options.quantisesRows = false;
  options.targets = {std::string(leastTarget)};
  options.observedRows = neededRows(*model.module);
  report.listen(false);
  for (Phase phase = Phase::Dataflow; phase < Phase::Assembly; phase = phaseAfter(phase)) {
    HEDDLE_TRY(runPhase(*beforeDataflow, phase, options, request.names, model.source));
  }
  report.listen(true);
  ModelFacts observed;
  observed.precision = options.precision;
  HEDDLE_TRY(addTokenizers(model, observed));
  HEDDLE_ASSIGN(const std::optional<CodeCache> cache, openCache());
  HEDDLE_TRY(linkModel(*beforeDataflow, parameterSource(model), observed, path,
                       cache ? &*cache : nullptr, {}));
  beforeDataflow = {};
  return {};
}

Status Compilation::chooseCodes(const std::string &observed) {
  CalibrationOptions options;
  options.momentsBytes = request.calibrationBytes;
  options.threads = static_cast<int>(processorCount());
  options.onStep = [this](std::string_view step) { tell(step); };
  HEDDLE_ASSIGN(Calibration chosen, heddle::calibrate(*model.module, parameterSource(model),
                                                      observed, *texts, options));
  facts.calibration = {texts->hash, texts->texts.size(), chosen.values.size()};
  compensated = std::move(chosen.values);
  llvm::for_each(chosen.notes,
                 [this](const std::string &note) { addRemark(RemarkKind::Note, note); });
  return {};
}

/// Chooses codes by the rows of products on the texts, after all checks.
Status Compilation::calibrate(Report &report) {
  if (!texts) {
    return {};
  }
  HEDDLE_TRY(checkWeights());
  tell("calibration");
  return linkToFolder([&](const std::string &path) { return linkObserved(path, report); },
                      [&](const std::string &path) { return chooseCodes(path); });
}

Status Compilation::run() {
  HEDDLE_TRY(readAnalysisFile());
  if (task.options.compensates) {
    HEDDLE_ASSIGN(texts, readCalibrationTexts(request.calibration));
  }
  HEDDLE_TRY(import());
  HEDDLE_TRY(checkOutputs(request, model.sourceFiles));
  HEDDLE_TRY(openCache().status());
  HEDDLE_TRY(checkTexts());
  HEDDLE_TRY(beginPage());
  HEDDLE_TRY(addTokenizers(model, facts));
  // Before the report listens, so that these passes' decisions are not recorded.
  if (wantsGain()) {
    tell("costs without the passes");
    before = costsWithoutPasses(*model.module, task);
  }
  Report report(context);
  HEDDLE_TRY(runPhases());
  HEDDLE_TRY(calibrate(report));
  HEDDLE_TRY(giveReport(report));
  if (task.last == Phase::SharedObject) {
    HEDDLE_TRY(link(report));
    if (!facts.kept.ok()) {
      addRemark(RemarkKind::Warning, std::string(request.names.codeCache) + ": " +
                                         std::string(facts.kept.message()) +
                                         ": what is not kept is compiled again next time");
    }
    if (std::string text = nonFinite.text(); !text.empty()) {
      addRemark(RemarkKind::Warning, task.input + ": " + text);
    }
  }
  return {};
}

Status checkRequest(const CompileRequest &request) { return resolveRequest(request).status(); }

CompileResult compile(const CompileRequest &request) {
  CompileResult result;
  Result<Task> task = resolveRequest(request);
  result.status = task.ok() ? Compilation(*std::move(task), result).run() : task.status();
  return result;
}

} // namespace heddle
