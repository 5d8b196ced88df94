// SPDX-License-Identifier: Apache-2.0
///
/// The description of the test model that generates.
#include "tests/runtime/Artifact/FixtureModel.h"

#include "heddle/Selection.h"

namespace heddle::fixture {
using manifest::CacheLayout;
using manifest::Dimension;
using manifest::Location;
using manifest::Operand;

static constexpr uint64_t rowBytes = width * sizeof(float);
static const Dimension tokens(0, tokensSpace, false);
static const Dimension keys(0, tokensSpace, true);
static const Dimension columns(width, tokensSpace, false);
static const Dimension pieces(vocabulary, tokensSpace, false);

enum KernelNumber : uint32_t {
  Embed,
  AppendKeys,
  AppendRows,
  AttendHistory,
  AttendMemory,
  Weights,
  Project,
  ProjectGroups,
  PrefixMean,
  Accumulate,
  RunningMean
};

static DispatchSpec dispatch(const std::string &name, uint32_t kernel,
                             std::vector<Operand> operands, uint32_t gridColumns) {
  return {name, kernel, -1, std::move(operands), tokensSpace, 4, gridColumns, 2 * width, 0};
}

static BufferSpec arena(uint64_t place) {
  return {
      Location::Arena, ElementType::F32, {tokens, columns}, sizeTerms(place * rowBytes, 0, 0), 0};
}

static BufferSpec buffer(Location location, Shape shape, uint32_t index) {
  const bool isInput = location == Location::Input;
  return {location, isInput ? ElementType::I32 : ElementType::F32, std::move(shape), std::nullopt,
          index};
}

static EntrySpec encodeEntry() {
  EntrySpec entry;
  entry.name = "encode";
  entry.maxLength = longestSource;
  entry.inputs = {{"source", ElementType::I32, {tokens}, words, false, 0}};
  entry.outputs = {{"encoder", ElementType::F32, {tokens, columns}, 0, false, 2}};
  entry.buffers = {buffer(Location::Input, {tokens}, 0),
                   buffer(Location::Parameter, {Dimension(words, tokensSpace, false), columns}, 0),
                   buffer(Location::Output, {tokens, columns}, 0),
                   buffer(Location::Cache, {columns}, 0), buffer(Location::Cache, {columns}, 1)};
  entry.caches = {{"cross.key", width, CacheLayout::Keys, true, 3},
                  {"cross.value", width, CacheLayout::Rows, true, 4}};
  entry.dispatches = {dispatch("embeddings", Embed, {{2, 0}, {0, 0}, {1, 0}}, 1),
                      dispatch("cross.key", AppendKeys, {{3, 0}, {2, 0}}, 1),
                      dispatch("cross.value", AppendRows, {{4, 0}, {2, 0}}, 1)};
  return entry;
}

/// Buffers 3 to 6 are the caches, 7 to 9 rows in the arena, 10 the attention, 11 the logits.
static EntrySpec decodeEntry() {
  EntrySpec entry;
  entry.name = "decode";
  entry.maxLength = longestTarget;
  entry.inputs = {{"target", ElementType::I32, {tokens}, vocabulary, false, 0}};
  entry.outputs = {{"attention",
                    ElementType::F32,
                    {tokens, Dimension(heads, tokensSpace, false), keys},
                    0,
                    false,
                    10},
                   {"logits", ElementType::F32, {tokens, pieces}, 0, false, 11}};
  entry.buffers = {buffer(Location::Input, {tokens}, 0),
                   buffer(Location::Parameter, {pieces, columns}, 1),
                   buffer(Location::Parameter, {columns, pieces}, 2),
                   buffer(Location::Cache, {columns}, 0),
                   buffer(Location::Cache, {columns}, 1),
                   buffer(Location::Cache, {columns}, 2),
                   buffer(Location::Cache, {columns}, 3),
                   arena(0),
                   arena(1),
                   arena(0),
                   buffer(Location::Output, entry.outputs[0].shape, 0),
                   buffer(Location::Output, {tokens, pieces}, 1)};
  entry.arena = sizeTerms(2 * rowBytes, 0, 0);
  entry.caches = {{"self.key", width, CacheLayout::Keys, true, 3},
                  {"self.value", width, CacheLayout::Rows, true, 4},
                  {"cross.value", width, CacheLayout::Rows, false, 5},
                  {"cross.key", width, CacheLayout::Keys, false, 6}};
  const uint32_t parts = (vocabulary + piece - 1) / piece;
  entry.dispatches = {dispatch("embeddings", Embed, {{7, 0}, {0, 0}, {1, 0}}, 1),
                      dispatch("self.key", AppendKeys, {{3, 0}, {7, 0}}, 1),
                      dispatch("self.value", AppendRows, {{4, 0}, {7, 0}}, 1),
                      dispatch("self", AttendHistory, {{8, 0}, {7, 0}, {3, 0}, {4, 0}}, heads),
                      dispatch("cross.weights", Weights, {{10, 0}, {8, 0}, {6, 0}}, heads),
                      dispatch("cross", AttendMemory, {{9, 0}, {8, 0}, {6, 0}, {5, 0}}, heads),
                      dispatch("projection", Project, {{11, 0}, {9, 0}, {2, 0}}, parts)};
  entry.dispatches.back().columnElements = piece;
  entry.dispatches.back().groupElements = vocabulary;
  return entry;
}

ModelSpec generatingModel() {
  ModelSpec spec;
  spec.targets = {"x86-64-v3", "x86-64-v4"};
  for (const char *const name : {"embed", "append_keys", "append_rows", "attend_history",
                                 "attend_memory", "weights", "project", "project_groups"}) {
    addKernel(spec, name, 0);
  }
  addParameter(spec, "sources", {words, width});
  addParameter(spec, "targets", {vocabulary, width});
  addParameter(spec, "projection", {width, vocabulary});
  spec.actualWeightsSize = spec.weightsSize;
  spec.entries = {encodeEntry(), decodeEntry()};
  spec.generation = GenerationSpec{{1}, {2}, {3}, 0, -1, -1, "paper", 0, 4, 0.6f, 0, 1};
  return spec;
}

ModelSpec groupedModel() {
  ModelSpec spec = generatingModel();
  DispatchSpec &projection = spec.entries[1].dispatches.back();
  projection.kernel = ProjectGroups;
  projection.groupElements = vocabulary / 2;
  projection.columns = 2 * ((vocabulary / 2 + piece - 1) / piece);
  return spec;
}

ModelSpec selecting(ModelSpec spec) {
  const auto kernel = static_cast<uint32_t>(spec.kernels.size());
  addKernel(spec, "peaks", 0);
  addKernel(spec, "select", 0);
  EntrySpec &entry = spec.entries.back();
  const uint32_t logits = entry.outputs.back().buffer;
  const auto output = static_cast<uint32_t>(entry.outputs.size());
  const auto result = static_cast<uint32_t>(entry.buffers.size());
  const auto peaks = result + 1;
  const auto chunks = static_cast<uint32_t>(piecesOf(vocabulary, logitsChunk));
  const uint32_t pairs = chunks + selected;
  const Dimension width(selectedPair * pairs, tokensSpace, false);
  entry.outputs.push_back({std::string(selectionOutput),
                           ElementType::F32,
                           {tokens, width},
                           0,
                           false,
                           result,
                           manifest::Observed::Selection});
  entry.buffers.push_back(buffer(Location::Output, {tokens, width}, output));
  // After the rest of the arena, which has rows of tokens only.
  const Dimension words(peakWords * chunks, tokensSpace, false);
  entry.buffers.push_back({Location::Arena, ElementType::F32, {tokens, words}, entry.arena, 0});
  entry.arena = sizeTerms(entry.arena.front().bytes() + rowBytes, 0, 0);
  static_assert(peakWords * piecesOf(vocabulary, logitsChunk) * sizeof(float) <= rowBytes);
  const auto add = [&](DispatchSpec added, int64_t elements) {
    added.columnElements = added.groupElements = static_cast<uint64_t>(elements);
    added.rowByRow = true;
    entry.dispatches.push_back(std::move(added));
  };
  add(dispatch("peaks", kernel, {{peaks, 0}, {logits, 0}}, chunks), peakWords);
  add(dispatch("selection", kernel + 1, {{result, 0}, {logits, 0}, {peaks, 0}}, pairs),
      selectedPair);
  return spec;
}

ModelSpec selectingAtOnceModel() {
  ModelSpec spec = selectingModel();
  std::vector<DispatchSpec> &dispatches = spec.entries.back().dispatches;
  dispatches.erase(dispatches.end() - 2);
  dispatches.back().operands.pop_back();
  return spec;
}

ModelSpec selectingModel() { return selecting(generatingModel()); }

/// Returns a dispatch over whole sequences.
static DispatchSpec along(const std::string &name, uint32_t kernel, std::vector<Operand> operands) {
  DispatchSpec spec = dispatch(name, kernel, std::move(operands), 1);
  spec.rows = sequencesSpace;
  spec.rowTile = 1;
  return spec;
}

ModelSpec averagingModel() {
  ModelSpec spec = generatingModel();
  addKernel(spec, "prefix_mean", 0);
  addKernel(spec, "accumulate", 0);
  addKernel(spec, "running_mean", 0);
  EntrySpec &entry = spec.entries[1];
  entry.states = {{"sum", width, true, 12}};
  entry.buffers.push_back(buffer(Location::State, {columns}, 0));
  entry.buffers.push_back(arena(2));
  entry.arena = sizeTerms(3 * rowBytes, 0, 0);
  const DispatchSpec added[] = {along("mean", PrefixMean, {{13, 0}, {7, 0}, {12, 0}}),
                                along("sum", Accumulate, {{12, 0}, {7, 0}})};
  entry.dispatches.insert(entry.dispatches.begin() + 1, std::begin(added), std::end(added));
  entry.dispatches[5].operands[1] = Operand(13, 0);
  return spec;
}

ModelSpec historylessModel() {
  ModelSpec spec = averagingModel();
  EntrySpec &entry = spec.entries[1];
  entry.caches.erase(entry.caches.begin(), entry.caches.begin() + 2);
  entry.buffers[3] = entry.buffers[4] = arena(0);
  entry.buffers[5].index = 0;
  entry.buffers[6].index = 1;
  entry.dispatches.erase(entry.dispatches.begin() + 3, entry.dispatches.begin() + 6);
  entry.dispatches[1] = along("mean", RunningMean, {{8, 0}, {12, 0}, {7, 0}});
  entry.dispatches[1].written = 2;
  entry.dispatches.erase(entry.dispatches.begin() + 2);
  return spec;
}

ModelSpec continuingModel() {
  ModelSpec spec = generatingModel();
  spec.entries.erase(spec.entries.begin());
  EntrySpec &entry = spec.entries.front();
  entry.caches.resize(2);
  entry.outputs.erase(entry.outputs.begin());
  entry.buffers[5] = entry.buffers[6] = entry.buffers[10] = arena(0);
  entry.buffers[11].index = 0;
  entry.dispatches.erase(entry.dispatches.begin() + 4, entry.dispatches.begin() + 6);
  entry.dispatches.back().operands[1] = Operand(8, 0);
  spec.generation->start.clear();
  return spec;
}

} // namespace heddle::fixture
