// SPDX-License-Identifier: Apache-2.0
///
/// Translates a file to a program. The graph is evaluated once to analyse how it uses rows, then
/// once for each entry.
#include "frontend/Onnx/OnnxProgram.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "frontend/Onnx/EncoderDecoder.h"
#include "frontend/Onnx/Evaluation.h"
#include "frontend/Onnx/Functions.h"
#include "heddle/RectangleEntries.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

using namespace onnx;

// The entry of a program that continues texts.
static constexpr std::string_view decodeEntry = "decode";

/// Checks that masks are not also read as ids: masks are validated to be 0 or 1 when a batch is
/// read.
static Status checkMasks(const Uses &uses) {
  for (const auto &[size, ofLength] : uses.lengths) {
    const std::optional<Padding> &padding = ofLength.padding;
    if (padding && padding->isBit && uses.read.contains(padding->input)) {
      return HEDDLE_ERROR(
          Unsupported,
          fmt::format("{} hides rows where {} is {}, and {} reads it as ids, expected a mask of 0 "
                      "and 1 that nothing else reads",
                      padding->node, quote(padding->input), padding->value,
                      uses.read.at(padding->input)));
    }
  }
  return {};
}

/// Checks that no attention reads rows of padding, which are omitted.
static Status checkPadding(const LengthUses &uses) {
  if (uses.ending && (!uses.padding || uses.padding->input == uses.ending->input)) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{} counts the tokens other than {} of {}, expected a mask beside "
                                 "them that hides padding",
                                 uses.ending->node, uses.ending->value, quote(uses.ending->input)));
  }
  if (!uses.padding || uses.unmasked.empty()) {
    return {};
  }
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format("{} mixes all rows of a sequence, but {} hides those where {} is {}, "
                  "expected all attentions to hide them",
                  uses.unmasked, uses.padding->node, quote(uses.padding->input),
                  uses.padding->value));
}

/// Checks the requirements of a decoder with pasts: causal rows, one input of ids, and logits of
/// each row.
static Status checkDecoder(const Uses &uses) {
  const LengthUses rows = uses.of(0);
  if (!rows.unordered.empty()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{} lets rows see later ones, expected a causal mask where the "
                                    "graph has a past",
                                    rows.unordered));
  }
  if (uses.read.size() != 1 || rows.ending) {
    return HEDDLE_ERROR(
        Unsupported, rows.ending ? fmt::format("{} counts tokens beside a past", rows.ending->node)
                                 : fmt::format("the graph has a past and reads {} inputs of ids, "
                                               "expected one",
                                               uses.read.size()));
  }
  return uses.vocabulary
             ? Status()
             : HEDDLE_ERROR(Unsupported, fmt::format("the graph has a past, but no output "
                                                     "{}, expected one of rows",
                                                     quote(logitsOutput)));
}

/// Reads the generation settings (stop tokens, sampling), which a graph does not contain, from the
/// configuration beside the file, if there is one.
using SettingsReader = decltype(readContinuation);
static Result<std::optional<Generation>> readSettings(const std::string &path, int64_t vocabulary,
                                                      SettingsReader *read) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  const std::string config = (folder / "config.json").string();
  const std::string generation = (folder / "generation_config.json").string();
  std::error_code ignored;
  if (!fs::exists(config, ignored)) {
    return std::optional<Generation>();
  }
  HEDDLE_ASSIGN(const Config settings, Config::open(config));
  std::optional<Config> more;
  if (fs::exists(generation, ignored)) {
    HEDDLE_ASSIGN(more, Config::open(generation));
  }
  HEDDLE_ASSIGN(Generation found, read(settings, more, vocabulary));
  return std::optional(std::move(found));
}

/// Adds the generation settings of an encoder-decoder model. A beam search needs the tokens that
/// begin and end targets, so there is none without a configuration.
static Status addSettings(ModelBuilder &builder, const std::string &path, int64_t vocabulary) {
  HEDDLE_ASSIGN(const auto settings, readSettings(path, vocabulary, readGeneration));
  if (settings) {
    builder.generation(*settings);
  }
  return {};
}

namespace {

/// The tensors of a program, and the buffers of those that are not stored in the file.
struct WrittenTensors {
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> owners;
  std::vector<PortTensor> ports = {};
};

} // namespace

static Result<WrittenTensors> writeEntry(const Graph &graph, mlir::MLIRContext &context,
                                         ModelBuilder &builder, const EntryPlan &plan) {
  Evaluation evaluation(graph, context, builder, plan);
  HEDDLE_TRY(evaluation.run());
  return WrittenTensors{evaluation.tensors(), evaluation.owners(), evaluation.portTensors()};
}

namespace {

/// What a graph becomes: sequences of one length; tensors of constant sizes, each one row; a model
/// that continues texts; one that decodes targets for a source; or a function of rows of several
/// lengths.
enum class ProgramKind { Sequences, WholeTensors, Decoder, EncoderDecoder, Function };

/// The result of the first evaluation, and the sizes that are treated as constants.
struct Survey {
  ProgramKind kind = ProgramKind::Sequences;
  Uses uses;
  std::vector<FixedSize> fixed;
  /// The maximum number of rows of a sequence; nullopt if it is unlimited.
  std::optional<int64_t> mostRows;
  std::vector<std::string> notes;
};

} // namespace

static EntryPlan wholePlan() {
  EntryPlan plan;
  plan.name = rectangleEntry;
  plan.isWhole = true;
  return plan;
}

/// Evaluates a graph of static shapes with each input as one row. `reason` is the error for rows of
/// sequences.
static Result<Survey> surveyWhole(const Graph &graph, mlir::MLIRContext &context,
                                  const Status &reason) {
  ModelBuilder builder(context, "onnx");
  Evaluation evaluation(graph, context, builder, wholePlan());
  const Status status = evaluation.run();
  if (!status.ok()) {
    return Status(
        status.code(),
        fmt::format("{}; with each input as one row: {}", reason.message(), status.message()),
        __FILE_NAME__, __LINE__);
  }
  Survey found;
  found.kind = ProgramKind::WholeTensors;
  found.mostRows = 1;
  found.notes.push_back(fmt::format("no rows of sequences: {}; each input is one row with all its "
                                    "elements, and attention is not over ragged rows",
                                    reason.message()));
  return found;
}

/// Returns the plan of a program's entries; `known` is the result of the first evaluation, or null.
static EntryPlan planOf(ProgramKind kind, const InputForms &forms, const Uses *known) {
  EntryPlan plan;
  plan.name = kind == ProgramKind::Decoder ? decodeEntry : rectangleEntry;
  plan.known = known;
  return kind == ProgramKind::EncoderDecoder ? encoderDecoderPlan(known)
         : kind == ProgramKind::Function     ? functionPlan(forms, known)
         : kind == ProgramKind::WholeTensors ? wholePlan()
                                             : plan;
}

/// Evaluates a graph to analyse how it uses rows. With `isStatic`, repeats the evaluation for each
/// size that the exporter replaced with a constant.
static Result<Survey> survey(const Graph &graph, mlir::MLIRContext &context, ProgramKind kind,
                             const InputForms &forms, bool isStatic) {
  Survey found;
  found.kind = kind;
  EntryPlan plan = planOf(kind, forms, nullptr);
  for (;;) {
    ModelBuilder builder(context, "onnx");
    plan.fixed = found.fixed;
    Evaluation evaluation(graph, context, builder, plan);
    const Status status = evaluation.run();
    if (status.ok()) {
      found.uses = evaluation.uses();
      found.mostRows = kind == ProgramKind::Function ? std::nullopt : evaluation.mostRows();
      if (found.mostRows && kind == ProgramKind::EncoderDecoder) {
        return HEDDLE_ERROR(Unsupported, "rows have two lengths, one of which is a constant, "
                                         "expected any number of both");
      }
      if (found.mostRows && !evaluation.isOfImages() && !found.uses.of(0).padding) {
        return HEDDLE_ERROR(
            Unsupported,
            fmt::format("all sequences have {} rows, and no mask hides padding, expected one: "
                        "shorter sequences would be other ones than those of the graph",
                        *found.mostRows));
      }
      return found;
    }
    const std::optional<FixedSize> size = evaluation.contradicted();
    const bool isKnown =
        size && std::any_of(found.fixed.begin(), found.fixed.end(),
                            [&](const FixedSize &each) { return each.number == size->number; });
    if (!isStatic || !size || isKnown) {
      return status;
    }
    found.fixed.push_back(*size);
    found.notes.push_back(fmt::format(
        "{} is {} in the graph, as in the exporter's example{}",
        quote(evaluation.sizeName(size->number)), size->value,
        size->number == 0 ? "; a batch may have any other size, since its sequences never meet"
                          : ""));
  }
}

/// Checks the padding of all rows, which a program leaves out.
static Status checkAllPadding(const Uses &uses) {
  HEDDLE_TRY(checkMasks(uses));
  for (const auto &[size, ofLength] : uses.lengths) {
    HEDDLE_TRY(checkPadding(ofLength));
  }
  return {};
}

/// Checks what a program of this kind requires of its graph.
static Status check(const Graph &graph, const InputForms &forms, const Survey &found) {
  switch (found.kind) {
  case ProgramKind::Sequences:
    return checkAllPadding(found.uses);
  case ProgramKind::WholeTensors:
    return {};
  case ProgramKind::Decoder:
    return checkDecoder(found.uses);
  case ProgramKind::EncoderDecoder:
    HEDDLE_TRY(checkMasks(found.uses));
    return checkEncoderDecoder(graph, forms, found.uses);
  case ProgramKind::Function:
    HEDDLE_TRY(checkFunction(graph, forms, found.uses));
    return checkAllPadding(found.uses);
  }
  return {};
}

static Result<Survey> checkedSurvey(const Graph &graph, mlir::MLIRContext &context,
                                    ProgramKind kind, const InputForms &forms, bool isStatic) {
  HEDDLE_ASSIGN(Survey found, survey(graph, context, kind, forms, isStatic));
  HEDDLE_TRY(check(graph, forms, found));
  return found;
}

/// Evaluates a graph that no decoder runs, for `reason`, as a function of its tensors.
static Result<Survey> surveyFunction(const Graph &graph, mlir::MLIRContext &context,
                                     const InputForms &forms, bool isStatic, const Status &reason) {
  Result<Survey> found = checkedSurvey(graph, context, ProgramKind::Function, forms, isStatic);
  if (found.ok()) {
    found->notes.push_back(fmt::format("no model that generates: {}; heddle run takes the tensors "
                                       "of the graph, with all rows that it attends to",
                                       reason.message()));
    return found;
  }
  const std::string_view other = found.status().message();
  return other == reason.message()
             ? reason
             : Status(reason.code(),
                      fmt::format("{}; as a function of its tensors: {}", reason.message(), other),
                      __FILE_NAME__, __LINE__);
}

/// Finds what a graph becomes: the first of the kinds that fit its inputs for which nothing is
/// missing.
static Result<Survey> surveyAny(const Graph &graph, mlir::MLIRContext &context,
                                const InputForms &forms, bool isStatic) {
  const ProgramKind kind = forms.hasPasts()        ? ProgramKind::Decoder
                           : forms.hasTwoLengths() ? ProgramKind::EncoderDecoder
                                                   : ProgramKind::Sequences;
  Result<Survey> found = checkedSurvey(graph, context, kind, forms, isStatic);
  if (!found.ok() && hasConstantSizes(graph)) {
    return surveyWhole(graph, context, found.status());
  }
  return found.ok() || kind == ProgramKind::Sequences
             ? std::move(found)
             : surveyFunction(graph, context, forms, isStatic, found.status());
}

/// Sets the maximum number of rows of a sequence on each entry.
static void limitRows(mlir::ModuleOp module, int64_t most) {
  mlir::Builder builder(module.getContext());
  for (auto entry : module.getOps<mlir::func::FuncOp>()) {
    const auto types = entry.getArgumentTypes();
    const auto segments =
        std::find_if(types.begin(), types.end(), llvm::IsaPred<transformer::SegmentsType>);
    entry.setArgAttr(static_cast<unsigned>(segments - types.begin()), "transformer.most_rows",
                     builder.getI64IntegerAttr(most));
  }
}

/// Emits all entries of a program. Sequences have "run" and, if padding may be anywhere,
/// "run_columns".
static Result<WrittenTensors> writeEntries(const Graph &graph, mlir::MLIRContext &context,
                                           ModelBuilder &builder, const InputForms &forms,
                                           const Survey &survey) {
  const Uses &uses = survey.uses;
  std::vector<EntryPlan> plans{planOf(survey.kind, forms, &uses)};
  if (survey.kind == ProgramKind::Sequences && uses.of(0).padding && uses.neighbours.empty()) {
    plans.push_back({std::string(columnsEntry), {}, true, &uses, {}});
  }
  WrittenTensors written;
  for (EntryPlan &plan : plans) {
    plan.fixed = survey.fixed;
    HEDDLE_ASSIGN(written, writeEntry(graph, context, builder, plan));
  }
  return written;
}

/// Adds the generation settings of a program that generates.
static Status addSettings(ModelBuilder &builder, const std::string &path, const Survey &survey) {
  if (survey.kind == ProgramKind::EncoderDecoder) {
    return addSettings(builder, path, *survey.uses.vocabulary);
  }
  if (survey.kind == ProgramKind::Decoder) {
    HEDDLE_ASSIGN(auto settings, readSettings(path, *survey.uses.vocabulary, readContinuation));
    if (!settings) {
      settings.emplace().pad = -1;
    }
    builder.generation(*settings);
  }
  return {};
}

/// Returns what users should know about the inputs and lengths of a program.
static std::vector<std::string> notesOn(const Graph &graph, const Survey &survey) {
  std::vector<std::string> notes = survey.notes;
  const Uses &uses = survey.uses;
  const auto positions =
      std::find_if(graph.inputs.begin(), graph.inputs.end(),
                   [](const OnnxPort &port) { return port.name == positionsInput; });
  if (survey.kind == ProgramKind::Decoder && positions != graph.inputs.end()) {
    notes.push_back(fmt::format("input {} is no input of the model: its rows have the "
                                "positions of a request, from 0 on",
                                quote(positionsInput)));
  }
  const bool canLimit = survey.kind == ProgramKind::Sequences;
  if (!canLimit && uses.longest && uses.longest != uses.positions) {
    notes.push_back(fmt::format("the graph itself takes sequences of at most {} rows, which "
                                "is not checked",
                                *uses.longest));
  }
  return notes;
}

/// Limits the rows of sequences. With pasts, a run continues earlier ones; with two lengths, the
/// limit applies to only one of them.
static void limitRows(mlir::ModuleOp module, const Survey &survey) {
  std::optional<int64_t> mostRows = survey.mostRows;
  if (survey.kind == ProgramKind::Sequences && survey.uses.longest) {
    mostRows = std::min(mostRows.value_or(*survey.uses.longest), *survey.uses.longest);
  }
  if (mostRows) {
    limitRows(module, *mostRows);
  }
}

static Result<OnnxProgram> readGraph(mlir::MLIRContext &context,
                                     const std::shared_ptr<const OnnxFile> &file, bool isStatic) {
  HEDDLE_ASSIGN(const Graph graph, flatten(file->model(), file->path()));
  HEDDLE_TRY_WITH(checkOperators(graph), file->path());
  const InputForms forms = formsOf(graph);
  const Result<Survey> surveyed = surveyAny(graph, context, forms, isStatic);
  HEDDLE_TRY_WITH(surveyed.status(), file->path());
  ModelBuilder builder(context, "onnx");
  HEDDLE_TRY(addSettings(builder, file->path(), *surveyed));
  Result<WrittenTensors> written = writeEntries(graph, context, builder, forms, *surveyed);
  HEDDLE_TRY_WITH(written.status(), file->path());
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = builder.build();
  HEDDLE_TRY_WITH(module.status(), file->path());
  limitRows(**module, *surveyed);
  describePorts(**module, written->ports);
  // The tensors of the program are those of the file and the computed ones.
  const auto owner =
      std::make_shared<std::pair<std::shared_ptr<const OnnxFile>, WrittenTensors>>(file, *written);
  HEDDLE_ASSIGN(Checkpoint checkpoint,
                Checkpoint::ofFiles(owner->second.tensors, file->path(), file->mapped(), owner));
  return OnnxProgram{*std::move(module), std::move(checkpoint), notesOn(graph, *surveyed),
                     !surveyed->fixed.empty()};
}

Result<OnnxProgram> readOnnxProgram(mlir::MLIRContext &context, const std::string &path,
                                    bool isStatic) {
  HEDDLE_ASSIGN(OnnxFile file, OnnxFile::open(path));
  return readGraph(context, std::make_shared<const OnnxFile>(std::move(file)), isStatic);
}

} // namespace heddle
