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
};

} // namespace

static Result<WrittenTensors> writeEntry(const Graph &graph, mlir::MLIRContext &context,
                                         ModelBuilder &builder, const EntryPlan &plan) {
  Evaluation evaluation(graph, context, builder, plan);
  HEDDLE_TRY(evaluation.run());
  return WrittenTensors{evaluation.tensors(), evaluation.owners()};
}

/// Emits the entry of a graph with pasts, which continues earlier runs.
static Result<WrittenTensors> writeDecoder(const Graph &graph, mlir::MLIRContext &context,
                                           ModelBuilder &builder, const Uses &uses,
                                           const Generation &settings) {
  builder.generation(settings);
  return writeEntry(graph, context, builder, {std::string(decodeEntry), {}, false, &uses, {}});
}

namespace {

/// The result of the first evaluation, and the sizes that are treated as constants.
struct Survey {
  Uses uses;
  std::vector<FixedSize> fixed;
  /// The maximum number of rows of a sequence; nullopt if it is unlimited.
  std::optional<int64_t> mostRows;
  std::vector<std::string> notes;
  /// The reason why each input is one row with all of its elements; empty if inputs are rows of
  /// sequences.
  std::string whole;
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
  found.whole = reason.message();
  found.mostRows = 1;
  found.notes.push_back(fmt::format("no rows of sequences: {}; each input is one row with all its "
                                    "elements, and attention is not over ragged rows",
                                    reason.message()));
  return found;
}

static EntryPlan firstPlan(GraphKind kind) {
  EntryPlan plan;
  plan.name = kind == GraphKind::WithPasts ? decodeEntry : rectangleEntry;
  return kind == GraphKind::TwoLengths ? encoderDecoderPlan(nullptr) : plan;
}

/// Evaluates a graph to analyse how it uses rows. With `isStatic`, repeats the evaluation for each
/// size that the exporter replaced with a constant.
static Result<Survey> survey(const Graph &graph, mlir::MLIRContext &context, GraphKind kind,
                             bool isStatic) {
  Survey found;
  EntryPlan plan = firstPlan(kind);
  for (;;) {
    ModelBuilder builder(context, "onnx");
    plan.fixed = found.fixed;
    Evaluation evaluation(graph, context, builder, plan);
    const Status status = evaluation.run();
    if (status.ok()) {
      found.uses = evaluation.uses();
      found.mostRows = evaluation.mostRows();
      if (found.mostRows && kind == GraphKind::TwoLengths) {
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

/// Emits the entries of a graph without pasts: "run" and, if padding may be anywhere,
/// "run_columns"; or the entries of source and targets.
static Result<WrittenTensors> writeEntries(const Graph &graph, mlir::MLIRContext &context,
                                           ModelBuilder &builder, GraphKind kind,
                                           const Survey &survey) {
  if (!survey.whole.empty()) {
    return writeEntry(graph, context, builder, wholePlan());
  }
  const Uses &uses = survey.uses;
  HEDDLE_TRY(checkMasks(uses));
  std::vector<EntryPlan> plans;
  if (kind == GraphKind::TwoLengths) {
    HEDDLE_TRY(checkEncoderDecoder(graph, uses));
    plans.push_back(encoderDecoderPlan(&uses));
  } else {
    HEDDLE_TRY(checkPadding(uses.of(0)));
    plans.push_back({std::string(rectangleEntry), {}, false, &uses, {}});
    if (uses.of(0).padding && uses.neighbours.empty()) {
      plans.push_back({std::string(columnsEntry), {}, true, &uses, {}});
    }
  }
  WrittenTensors written;
  for (EntryPlan &plan : plans) {
    plan.fixed = survey.fixed;
    HEDDLE_ASSIGN(written, writeEntry(graph, context, builder, plan));
  }
  return written;
}

static Result<OnnxProgram> readGraph(mlir::MLIRContext &context,
                                     std::shared_ptr<const OnnxFile> file, bool isStatic) {
  HEDDLE_ASSIGN(const Graph graph, flatten(file->model(), file->path()));
  HEDDLE_TRY_WITH(checkOperators(graph), file->path());
  GraphKind kind = kindOf(graph);
  Result<Survey> surveyed = survey(graph, context, kind, isStatic);
  if (!surveyed.ok() && hasConstantSizes(graph)) {
    surveyed = surveyWhole(graph, context, surveyed.status());
    kind = GraphKind::Sequences;
  }
  HEDDLE_TRY_WITH(surveyed.status(), file->path());
  const Uses &uses = surveyed->uses;
  ModelBuilder builder(context, "onnx");
  std::optional<Result<WrittenTensors>> written;
  if (kind == GraphKind::WithPasts) {
    HEDDLE_TRY_WITH(checkDecoder(uses), file->path());
    HEDDLE_ASSIGN(auto settings, readSettings(file->path(), *uses.vocabulary, readContinuation));
    if (!settings) {
      settings.emplace().pad = -1;
    }
    written = writeDecoder(graph, context, builder, uses, *settings);
  } else {
    written = writeEntries(graph, context, builder, kind, *surveyed);
  }
  HEDDLE_TRY_WITH(written->status(), file->path());
  if (kind == GraphKind::TwoLengths) {
    HEDDLE_TRY(addSettings(builder, file->path(), *uses.vocabulary));
  }
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = builder.build();
  HEDDLE_TRY_WITH(module.status(), file->path());
  // With pasts, a run continues earlier ones; with two lengths, the limit applies to only one of
  // them.
  const bool canLimit = kind == GraphKind::Sequences;
  std::optional<int64_t> mostRows = surveyed->mostRows;
  if (canLimit && uses.longest) {
    mostRows = std::min(mostRows.value_or(*uses.longest), *uses.longest);
  }
  if (mostRows) {
    limitRows(**module, *mostRows);
  }
  // The tensors of the program are those of the file and the computed ones.
  const auto owner =
      std::make_shared<std::pair<std::shared_ptr<const OnnxFile>, WrittenTensors>>(file, **written);
  HEDDLE_ASSIGN(Checkpoint checkpoint,
                Checkpoint::ofFiles(owner->second.tensors, file->path(), file->mapped(), owner));
  OnnxProgram program{*std::move(module), std::move(checkpoint), std::move(surveyed->notes),
                      !surveyed->fixed.empty()};
  const auto positions =
      std::find_if(graph.inputs.begin(), graph.inputs.end(),
                   [](const OnnxPort &port) { return port.name == positionsInput; });
  if (kind == GraphKind::WithPasts && positions != graph.inputs.end()) {
    program.notes.push_back(fmt::format("input {} is no input of the model: its rows have the "
                                        "positions of a request, from 0 on",
                                        quote(positionsInput)));
  }
  if (!canLimit && uses.longest && uses.longest != uses.positions) {
    program.notes.push_back(
        fmt::format("the graph itself takes sequences of at most {} rows, which "
                    "is not checked",
                    *uses.longest));
  }
  return program;
}

Result<OnnxProgram> readOnnxProgram(mlir::MLIRContext &context, const std::string &path,
                                    bool isStatic) {
  HEDDLE_ASSIGN(OnnxFile file, OnnxFile::open(path));
  return readGraph(context, std::make_shared<const OnnxFile>(std::move(file)), isStatic);
}

} // namespace heddle
