// SPDX-License-Identifier: Apache-2.0
///
/// From a file to a program: first the graph is evaluated to see what it does with rows, then once
/// for each entry.
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

// What a program that continues texts has.
static constexpr std::string_view decodeEntry = "decode";

/// An input that only hides rows is checked to be 0 or 1 where a batch is read; ids are not.
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

/// Rows of padding may be left out only where none of them reaches another row.
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

/// What a run that continues earlier ones needs: ids, and logits of each row.
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

/// How texts end and are drawn, which no graph says: the configuration beside the file does, if
/// there is one.
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

/// Those of a model that translates. A search needs to know the tokens that begin and end targets:
/// without a configuration there is none.
static Status addSettings(ModelBuilder &builder, const std::string &path, int64_t vocabulary) {
  HEDDLE_ASSIGN(const auto settings, readSettings(path, vocabulary, readGeneration));
  if (settings) {
    builder.generation(*settings);
  }
  return {};
}

namespace {

/// The tensors of a program, and what owns the bytes of those that the file does not have.
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

/// A graph with pasts: one entry that continues what earlier runs of it began.
static Result<WrittenTensors> writeDecoder(const Graph &graph, mlir::MLIRContext &context,
                                           ModelBuilder &builder, const Uses &uses,
                                           const Generation &settings) {
  builder.generation(settings);
  return writeEntry(graph, context, builder, {std::string(decodeEntry), {}, false, &uses, {}});
}

namespace {

/// What a first evaluation found, and the sizes that it took for constants.
struct Survey {
  Uses uses;
  std::vector<FixedSize> fixed;
  /// The most rows of a sequence; nothing: any number.
  std::optional<int64_t> mostRows;
  std::vector<std::string> notes;
  /// Why each input is one row with all its elements; empty: inputs are rows of sequences.
  std::string whole;
};

} // namespace

static EntryPlan wholePlan() {
  EntryPlan plan;
  plan.name = rectangleEntry;
  plan.isWhole = true;
  return plan;
}

/// Where a graph without open sizes has no rows of sequences, each input may be one row.
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

/// Evaluates a graph to see what it does with rows; with `isStatic` anew for each size of which the
/// exporter made a constant.
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

/// Says in each entry how many rows a sequence may have.
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

/// Writes the entries of a graph without pasts: one of rows that are first columns and one of any
/// columns, or those of a source and of targets.
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
  // Where there is a past a run continues earlier ones, and of two lengths the limit is that of
  // one.
  const bool canLimit = kind == GraphKind::Sequences;
  std::optional<int64_t> mostRows = surveyed->mostRows;
  if (canLimit && uses.longest) {
    mostRows = std::min(mostRows.value_or(*uses.longest), *uses.longest);
  }
  if (mostRows) {
    limitRows(**module, *mostRows);
  }
  // The program's tensors are those of the file, and those that were computed.
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
