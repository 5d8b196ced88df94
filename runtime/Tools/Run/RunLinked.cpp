// SPDX-License-Identifier: Apache-2.0
///
/// Each entry takes its own tensors, whose rows have their own lengths. Rows of an output may
/// follow those of a past that the caller gave.
#include "runtime/Tools/Run/RunLinked.h"

#include "base/Utf8.h"
#include "heddle/RectangleEntries.h"
#include "runtime/Session/LinkedEntries.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Run/PortAxes.h"
#include "runtime/Tools/Run/RunRectangle.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace heddle::tools {

namespace {

/// One entry and its tensors.
struct Stage {
  const EntryInfo *entry = nullptr;
  /// The tensors of the file, those with axes as rows.
  std::vector<SafetensorsTensor> tensors = {};
  std::deque<std::vector<float>> owned = {};
  RunInputs inputs = {};
  /// Whether its sequences have no rows, as those of a past before the first run.
  bool isEmpty = false;

  /// Returns the rows of each sequence in the tensors.
  int64_t rows() const {
    return inputs.batch.rectangular ? inputs.batch.shape[1] : inputs.batch.tokens();
  }
  const RunInput *find(std::string_view name) const {
    const auto found = std::find_if(inputs.inputs.begin(), inputs.inputs.end(),
                                    [&](const RunInput &each) { return each.name == name; });
    return found == inputs.inputs.end() ? nullptr : &*found;
  }
};

} // namespace

bool isLinked(const Model &model) {
  return model.findEntry(rectangleEntry) != nullptr &&
         (model.findEntry(sourceEntry) != nullptr || model.findEntry(pastEntry) != nullptr);
}

/// Converts the tensors of the inputs with axes to rows, and keeps of the others those of the
/// entry: marks of padding belong to one entry.
static Status convertTensors(Stage &stage, std::span<const SafetensorsTensor> tensors,
                             std::string_view where) {
  for (const SafetensorsTensor &tensor : tensors) {
    const std::vector<PortInfo> &inputs = stage.entry->inputs;
    const auto port = std::find_if(inputs.begin(), inputs.end(),
                                   [&](const PortInfo &each) { return each.name == tensor.name; });
    const bool isMark = tensor.name == "attention_mask" || tensor.name == "lengths";
    if (port == inputs.end()) {
      if (!isMark) {
        stage.tensors.push_back(tensor);
      }
      continue;
    }
    stage.tensors.push_back(tensor);
    if (!port->axes.empty()) {
      HEDDLE_ASSIGN(TensorRows rows, readAxes(*port, tensor, where));
      stage.owned.push_back(std::move(rows.values));
      SafetensorsTensor &converted = stage.tensors.back();
      converted.shape = {rows.sizes.sequences, rows.sizes.rows, port->shape.back()};
      converted.dtype = ElementType::F32;
      converted.bytes = std::as_bytes(std::span(stage.owned.back()));
    }
    const std::vector<int64_t> &shape = stage.tensors.back().shape;
    if (port->rows != 0 && shape.size() > 1 && shape[1] != port->rows) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: tensor {} has {} rows of each sequence, expected {}, as "
                                      "the graph has",
                                      where, quote(tensor.name), shape[1], port->rows));
    }
  }
  return {};
}

static Result<Stage> readStage(const Model &model, const EntryInfo &entry,
                               std::span<const SafetensorsTensor> tensors, std::string_view where) {
  Stage stage{&entry};
  HEDDLE_TRY(convertTensors(stage, tensors, where));
  HEDDLE_ASSIGN(const PortInfo *const shaping, chooseInput(model, entry));
  const SafetensorsTensor *const first = findTensor(stage.tensors, shaping->name);
  if (entry.name == pastEntry && first != nullptr && first->shape.size() > 1 &&
      first->shape[1] == 0) {
    stage.isEmpty = true;
    return stage;
  }
  if (isOverRectangles(entry)) {
    HEDDLE_ASSIGN(RectangleInputs read,
                  readRectangle(model, entry, *shaping, stage.tensors, where));
    stage.inputs = std::move(read.inputs);
  } else {
    HEDDLE_ASSIGN(stage.inputs, readRunInputs(entry, *shaping, stage.tensors, where));
  }
  if (!stage.inputs.batch.rectangular && stage.inputs.batch.sequences() > 1) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {} has shape {}, expected [sequences, rows{}]: the "
                                    "graph has rows of several lengths",
                                    where, quote(shaping->name), formatShape(first->shape),
                                    shaping->shape.size() > 1 ? ", width" : ""));
  }
  noteConversions(stage.inputs);
  return stage;
}

/// Reads the tensors of all entries, which must have as many sequences.
static Result<std::vector<Stage>>
readStages(const Model &model, std::span<const SafetensorsTensor> tensors, std::string_view where) {
  std::vector<Stage> stages;
  for (const std::string_view name : {sourceEntry, pastEntry, rectangleEntry}) {
    if (const EntryInfo *const entry = model.findEntry(name)) {
      HEDDLE_ASSIGN(Stage stage, readStage(model, *entry, tensors, where));
      stages.push_back(std::move(stage));
    }
  }
  const int64_t sequences = stages.back().inputs.batch.sequences();
  for (const Stage &stage : stages) {
    if (!stage.isEmpty && stage.inputs.batch.sequences() != sequences) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: tensor {} has {} sequences and tensor {} has {}, "
                                      "expected as many",
                                      where, quote(stage.inputs.inputs.front().name),
                                      stage.inputs.batch.sequences(),
                                      quote(stages.back().inputs.inputs.front().name), sequences));
    }
  }
  return stages;
}

static const Stage *findStage(std::span<const Stage> stages, std::string_view entry) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const Stage &each) { return each.entry->name == entry; });
  return found == stages.end() || found->isEmpty ? nullptr : &*found;
}

/// Returns the weights of the keys [sequences, rows, heads, keys]; rows of padding and keys beyond
/// those of a sequence are zero.
static std::vector<float> spreadKeys(const PaddedBatch &batch, const AttentionWeights &weights,
                                     int64_t keys) {
  const auto rowKeys = static_cast<size_t>(weights.heads * keys);
  std::vector<float> rows(static_cast<size_t>(batch.tokens()) * rowKeys);
  const auto count = std::min(static_cast<size_t>(weights.pitch), static_cast<size_t>(keys));
  for (size_t piece = 0; piece < static_cast<size_t>(batch.tokens() * weights.heads); ++piece) {
    std::copy_n(weights.values.begin() +
                    static_cast<int64_t>(piece * static_cast<size_t>(weights.pitch)),
                count, rows.begin() + static_cast<int64_t>(piece * static_cast<size_t>(keys)));
  }
  return batch.scatter(rows, weights.heads * keys);
}

/// Returns the rows of a past and those of this run behind them, [sequences, rows, width].
static std::vector<float> joined(const Stage &past, const RunInput &before, const Stage &stage,
                                 std::span<const float> rows, int64_t width) {
  std::vector<float> all;
  const auto first = static_cast<size_t>(past.rows() * width);
  const auto second = static_cast<size_t>(stage.rows() * width);
  for (size_t i = 0; i < stage.inputs.batch.lengths.size(); ++i) {
    const auto own = std::span(before.rows).subspan(i * first, first);
    all.insert(all.end(), own.begin(), own.end());
    all.insert(all.end(), rows.begin() + static_cast<int64_t>(i * second),
               rows.begin() + static_cast<int64_t>((i + 1) * second));
  }
  return all;
}

/// Returns an output of rows as its tensor in the graph.
static RunOutput outputOf(const PortInfo &port, const Stage &stage, std::span<const Stage> stages,
                          std::vector<float> rows) {
  const PaddedBatch &batch = stage.inputs.batch;
  rows = spreadRows(port, batch, std::move(rows));
  if (port.axes.empty()) {
    return {port.name, outputShape(port, batch), std::move(rows)};
  }
  AxisSizes sizes{batch.sequences(), stage.rows(), 0};
  const Stage *const past = port.after.empty() ? nullptr : findStage(stages, pastEntry);
  if (const RunInput *const before = past == nullptr ? nullptr : past->find(port.after)) {
    rows = joined(*past, *before, stage, rows, rowWidth(port));
    sizes.rows += past->rows();
  }
  return {port.name, axesShape(port, sizes), writeAxes(port, sizes, rows)};
}

static RunOutput keysOf(const PortInfo &port, const Stage &stage, std::span<const Stage> stages,
                        const AttentionWeights &weights) {
  const bool isOfSource =
      std::find(port.axes.begin(), port.axes.end(), sourceKeysAxis) != port.axes.end();
  const Stage *const others = findStage(stages, isOfSource ? sourceEntry : pastEntry);
  const int64_t keys = (others == nullptr ? 0 : others->rows()) + (isOfSource ? 0 : stage.rows());
  const AxisSizes sizes{stage.inputs.batch.sequences(), stage.rows(), keys};
  const std::vector<float> rows = spreadKeys(stage.inputs.batch, weights, keys);
  return {port.name, axesShape(port, sizes), writeAxes(port, sizes, rows)};
}

/// Returns the names that no entry uses.
static std::vector<std::string> ignoredByAll(std::span<const Stage> stages,
                                             std::span<const SafetensorsTensor> tensors) {
  std::vector<std::string> ignored;
  for (const SafetensorsTensor &tensor : tensors) {
    const bool isTaken = std::any_of(stages.begin(), stages.end(), [&](const Stage &stage) {
      const std::vector<std::string> &names = stage.inputs.ignored;
      const bool isPort =
          std::any_of(stage.entry->inputs.begin(), stage.entry->inputs.end(),
                      [&](const PortInfo &each) { return each.name == tensor.name; });
      return isPort || (!stage.isEmpty && findTensor(stage.tensors, tensor.name) != nullptr &&
                        std::find(names.begin(), names.end(), tensor.name) == names.end());
    });
    if (!isTaken) {
      ignored.push_back(tensor.name);
    }
  }
  return ignored;
}

namespace {

/// The arguments of one call, and their memory.
struct StageCall {
  std::vector<Input> inputs;
  std::vector<std::vector<float>> values;
  std::vector<Output> outputs;
  std::vector<KeysOutput> keys;
};

} // namespace

static bool isOfKeys(const PortInfo &port) { return port.shape.back() == longestDimension; }

static StageCall callOf(const Stage &stage) {
  StageCall call;
  for (const RunInput &input : stage.inputs.inputs) {
    call.inputs.push_back(input.values());
  }
  for (const PortInfo &port : stage.entry->outputs) {
    if (isOfKeys(port)) {
      call.keys.push_back({port.name});
      continue;
    }
    const int64_t count = port.rowsOf(stage.inputs.batch.lengths) * rowWidth(port);
    call.values.emplace_back(static_cast<size_t>(count));
    call.outputs.push_back({port.name, call.values.back()});
  }
  return call;
}

Result<RunOutputs> runLinked(const Model &model, const SessionOptions &options,
                             std::span<const SafetensorsTensor> tensors, std::string_view where) {
  HEDDLE_ASSIGN(const std::vector<Stage> stages, readStages(model, tensors, where));
  HEDDLE_ASSIGN(const std::unique_ptr<LinkedEntries> entries,
                LinkedEntries::create(model, options));
  std::vector<StageCall> calls;
  std::vector<LinkedCall> linked;
  calls.reserve(stages.size());
  for (const Stage &stage : stages) {
    StageCall &call = calls.emplace_back(stage.isEmpty ? StageCall() : callOf(stage));
    if (!stage.isEmpty) {
      linked.push_back(
          {stage.entry->name, stage.inputs.batch.lengths, call.inputs, call.outputs, call.keys});
    }
  }
  HEDDLE_TRY_WITH(entries->run(linked), where);
  RunOutputs result;
  result.ignored = ignoredByAll(stages, tensors);
  for (size_t i = 0; i < stages.size(); ++i) {
    size_t rows = 0, keys = 0;
    for (const PortInfo &port : stages[i].entry->outputs) {
      result.outputs.push_back(
          isOfKeys(port) ? keysOf(port, stages[i], stages, calls[i].keys[keys++].weights)
                         : outputOf(port, stages[i], stages, std::move(calls[i].values[rows++])));
    }
  }
  return result;
}

} // namespace heddle::tools
