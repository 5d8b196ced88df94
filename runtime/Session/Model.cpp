// SPDX-License-Identifier: Apache-2.0
///
/// Loads models and describes them.
#include "heddle/Session.h"

#include "runtime/Device/Device.h"
#include "runtime/Session/ModelState.h"
#include "runtime/Session/Plan.h"
#include "runtime/Tokenizer/Tokenizer.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

namespace heddle {

static int64_t dimensionOf(const manifest::Dimension &dimension, std::span<const RowSpace> spaces) {
  return dimension.constant() != 0
             ? static_cast<int64_t>(dimension.constant())
             : RowDimension{spaces[dimension.space()], dimension.longest()}.number();
}

static std::vector<PortInfo>
describePorts(const flatbuffers::Vector<flatbuffers::Offset<manifest::Port>> &ports,
              std::span<const RowSpace> spaces, bool inputs) {
  std::vector<PortInfo> list;
  for (const manifest::Port *const port : ports) {
    PortInfo info;
    info.name = port->name()->str();
    info.element = elementOf(*port);
    for (const manifest::Dimension *const dimension : *port->shape()) {
      info.shape.push_back(dimensionOf(*dimension, spaces));
    }
    info.limit = inputs ? static_cast<int64_t>(port->limit()) : 0;
    info.optional = inputs && port->optional();
    info.observed = static_cast<Observed>(port->observed());
    if (inputs && port->pad() >= 0) {
      info.pad = port->pad();
    }
    if (port->axes() != nullptr) {
      info.axes.assign(port->axes()->begin(), port->axes()->end());
    }
    if (port->after() != nullptr) {
      info.after = port->after()->str();
    }
    info.rows = static_cast<int64_t>(port->rows());
    list.push_back(std::move(info));
  }
  return list;
}

/// Returns the caches of an entry, then its states.
static std::vector<CacheInfo> describeCaches(const manifest::Entry &entry,
                                             std::span<const RowSpace> spaces) {
  std::vector<CacheInfo> list;
  for (uint32_t i = 0; entry.caches() != nullptr && i < entry.caches()->size(); ++i) {
    const manifest::CachePort &cache = *entry.caches()->Get(i);
    list.push_back({cache.name()->str(), static_cast<int64_t>(cache.width()), elementOf(cache),
                    cache.written(), cache.layout() == manifest::CacheLayout::Keys, false});
    list.back().rows = spaces[entry.appended()];
  }
  for (uint32_t i = 0; entry.states() != nullptr && i < entry.states()->size(); ++i) {
    const manifest::StatePort &state = *entry.states()->Get(i);
    list.push_back({state.name()->str(), static_cast<int64_t>(state.width()), elementOf(state),
                    state.written(), state.keyed(), true, state.keyed()});
  }
  return list;
}

/// Returns the element types of caches, in the order of the model.
static std::string describeCachePrecision(const std::vector<EntryInfo> &entries) {
  std::vector<std::string_view> names;
  for (const EntryInfo &entry : entries) {
    for (const CacheInfo &cache : entry.caches) {
      const bool areCodes = cache.element == ElementType::I8;
      const std::string_view name = areCodes ? "int8" : infoOf(cache.element).name;
      if (!cache.state && std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// Sets the rows of caches that an entry only reads to those of the entry that appends to them.
static void describeReadRows(std::vector<EntryInfo> &entries) {
  std::map<std::string_view, RowSpace> appended;
  for (const EntryInfo &entry : entries) {
    for (const CacheInfo &cache : entry.caches) {
      if (cache.written) {
        appended.emplace(cache.name, cache.rows);
      }
    }
  }
  for (EntryInfo &entry : entries) {
    for (CacheInfo &cache : entry.caches) {
      const auto found = appended.find(cache.name);
      cache.rows = found == appended.end() ? RowSpace::tokens() : found->second;
    }
  }
}

/// Returns which dispatches run for other purposes than observed outputs.
static std::vector<bool> unobserved(const manifest::Entry &entry, size_t outputs) {
  PlanRequest request{std::vector<bool>(entry.outputs()->size(), true), true, -1};
  const std::vector<bool> all = dispatchesFor(entry, request);
  std::fill(request.outputs.begin() + static_cast<std::ptrdiff_t>(outputs), request.outputs.end(),
            false);
  std::vector<bool> others = dispatchesFor(entry, request);
  for (size_t i = 0; i < all.size(); ++i) {
    others[i] = others[i] || !all[i];
  }
  return others;
}

static BatchBound boundOf(const SymbolicSize &arena, std::span<const RowSpace> spaces) {
  BatchBound bound;
  for (const SymbolicSize::Term &term : arena.terms()) {
    term.keys == 0 ? bound.addRows(term.bytes, spaces[term.rows])
                   : bound.addPairs(term.bytes, spaces[term.rows], spaces[term.keys - 1U]);
  }
  return bound;
}

static EntryInfo describeEntry(const manifest::Entry &entry) {
  EntryInfo info;
  info.name = entry.name()->str();
  const std::vector<RowSpace> spaces = spacesOf(entry);
  info.inputs = describePorts(*entry.inputs(), spaces, true);
  info.outputs = describePorts(*entry.outputs(), spaces, false);
  const auto outputs = entry.outputs()->size();
  info.selects =
      outputs > 0 && entry.outputs()->Get(outputs - 1)->observed() == manifest::Observed::Selection;
  info.outputs.resize(outputs - (info.selects ? 1 : 0));
  const auto observed =
      std::find_if(info.outputs.begin(), info.outputs.end(),
                   [](const PortInfo &port) { return port.observed != Observed::No; });
  info.observed.assign(std::make_move_iterator(observed),
                       std::make_move_iterator(info.outputs.end()));
  info.outputs.erase(observed, info.outputs.end());
  info.caches = describeCaches(entry, spaces);
  info.maxLength = static_cast<int64_t>(entry.max_length());
  for (const RowSpace space : spaces) {
    info.hasWidths = info.hasWidths || space.hasWidths();
    const int64_t multiple = (space.isSplit() ? space.base() : space).tokenMultiple();
    // Lengths are i32, so no length is a multiple of more.
    info.lengthMultiple = std::min<int64_t>(std::lcm(info.lengthMultiple, multiple),
                                            std::numeric_limits<int32_t>::max());
  }
  for (uint32_t i = 0; entry.row_limits() != nullptr && i < entry.row_limits()->size(); ++i) {
    const manifest::RowLimit &limit = *entry.row_limits()->Get(i);
    info.rowLimits.push_back({spaces[limit.space()], static_cast<int64_t>(limit.rows())});
  }
  const std::vector<bool> counted = unobserved(entry, info.outputs.size());
  const BatchBound arena = boundOf(arenaOf(entry, counted), spaces);
  info.arenaBytesPerToken = arena.perToken;
  info.arenaBytesPerSequence = arena.perSequence;
  info.arenaBytesPerTokenAndLongest = arena.perTokenAndLongest;
  for (uint32_t i = 0; i < entry.dispatches()->size(); ++i) {
    if (!counted[i]) {
      ++info.observedDispatches;
      continue;
    }
    ++info.dispatches;
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    const TokenFlops flops = flopsOf(dispatch, spaces);
    info.flopsPerToken += flops.perToken;
    if (dispatch.most_keys() == 0) {
      info.flopsPerTokenAndKey += flops.perTokenKey;
      continue;
    }
    const auto same = std::find_if(info.bounded.begin(), info.bounded.end(), [&](const auto &each) {
      return each.keys == dispatch.most_keys();
    });
    EntryInfo::BoundedKeys &keys = same != info.bounded.end() ? *same : info.bounded.emplace_back();
    keys.keys = dispatch.most_keys();
    keys.flopsPerTokenAndKey += flops.perTokenKey;
  }
  return info;
}

static ParameterInfo describeParameter(const manifest::Parameter &parameter) {
  ParameterInfo info;
  info.name = parameter.name()->str();
  info.element = elementOf(parameter);
  for (const uint64_t dimension : *parameter.shape()) {
    info.shape.push_back(static_cast<int64_t>(dimension));
  }
  info.size = parameter.size();
  info.offset = parameter.offset();
  return info;
}

static LanguagesInfo languagesOf(const manifest::Languages &table) {
  LanguagesInfo info;
  for (const flatbuffers::String *const name : *table.names()) {
    info.names.push_back(name->str());
  }
  info.tokens.assign(table.tokens()->begin(), table.tokens()->end());
  info.endsSource = table.ends_source();
  info.startsTarget = table.starts_target();
  const auto nameOf = [&](int32_t number) {
    return number < 0 ? std::string() : info.names[static_cast<size_t>(number)];
  };
  info.source = nameOf(table.source());
  info.target = nameOf(table.target());
  return info;
}

double EntryInfo::flops(std::span<const int32_t> lengths) const {
  double total = 0;
  for (const int32_t length : lengths) {
    const double tokens = length;
    total += tokens * static_cast<double>(flopsPerToken) +
             tokens * tokens * static_cast<double>(flopsPerTokenAndKey);
    for (const BoundedKeys &each : bounded) {
      total += tokens * std::min(tokens, static_cast<double>(each.keys)) *
               static_cast<double>(each.flopsPerTokenAndKey);
    }
  }
  return total;
}

Result<Model> Model::load(const std::string &path, const ModelOptions &options) {
  return withoutExceptions([&]() -> Result<Model> {
    auto state = std::make_shared<State>();
    std::vector<std::shared_ptr<Device>> devices;
    std::string noGpu;
    if (!options.describeOnly) {
      HEDDLE_ASSIGN(devices, openDevices(options.device, &noGpu));
    }
    HEDDLE_ASSIGN(state->artifact,
                  Artifact::load(path,
                                 {options.isa, options.verifyWeights, options.describeOnly, noGpu},
                                 devices));
    const manifest::Manifest &model = state->artifact->manifest();
    if (const manifest::Tokenizer *const table = model.tokenizer()) {
      Result<Tokenizer> tokenizer = Tokenizer::load(table);
      HEDDLE_TRY_WITH(tokenizer.status(), fmt::format("{}: tokenizer", path));
      state->tokenizer = std::make_shared<const Tokenizer>(*std::move(tokenizer));
      state->targetTokenizer = state->tokenizer;
    }
    state->chat = ChatTemplates(model.chat());
    if (const manifest::Tokenizer *const table = model.target_tokenizer()) {
      Result<Tokenizer> tokenizer = Tokenizer::load(table);
      HEDDLE_TRY_WITH(tokenizer.status(), fmt::format("{}: tokenizer of targets", path));
      state->targetTokenizer = std::make_shared<const Tokenizer>(*std::move(tokenizer));
    }
    for (const manifest::Entry *const entry : *model.entries()) {
      state->entries.push_back(describeEntry(*entry));
    }
    describeReadRows(state->entries);
    state->cachePrecision = describeCachePrecision(state->entries);
    for (const manifest::Parameter *const parameter : *model.parameters()) {
      state->parameters.push_back(describeParameter(*parameter));
    }
    for (const flatbuffers::String *const target : *model.targets()) {
      state->targets.push_back(target->str());
    }
    if (model.report_summary() != nullptr) {
      for (const flatbuffers::String *const line : *model.report_summary()) {
        state->reportSummary.push_back(line->str());
      }
    }
    for (uint32_t i = 0; model.kept() != nullptr && i < model.kept()->size(); ++i) {
      const manifest::KeptLayers &kept = *model.kept()->Get(i);
      state->keptLayers.push_back({kept.layers()->str(), kept.precision()->str(),
                                   static_cast<int64_t>(kept.tensors()),
                                   static_cast<int64_t>(kept.bytes())});
    }
    if (const manifest::Languages *const table = model.languages()) {
      state->languages = languagesOf(*table);
    }
    if (const manifest::Classification *const table = model.classification()) {
      ClassifierInfo &classifier = state->classifier.emplace();
      classifier.problem = static_cast<Problem>(table->problem());
      for (const flatbuffers::String *const label : *table->labels()) {
        classifier.labels.push_back(label->str());
      }
    }
    return Model(std::move(state));
  });
}

Model::Model(std::shared_ptr<const State> state) : state(std::move(state)) {}
Model::Model(const Model &other) = default;
Model::Model(Model &&other) noexcept = default;
Model &Model::operator=(const Model &other) = default;
Model &Model::operator=(Model &&other) noexcept = default;
Model::~Model() = default;

const std::string &Model::path() const { return state->artifact->path(); }
uint64_t Model::fileSize() const { return state->artifact->fileSize(); }
const std::vector<EntryInfo> &Model::entries() const { return state->entries; }

const EntryInfo *Model::findEntry(std::string_view name) const {
  const auto found = std::find_if(state->entries.begin(), state->entries.end(),
                                  [&](const EntryInfo &entry) { return entry.name == name; });
  return found == state->entries.end() ? nullptr : &*found;
}

const std::vector<ParameterInfo> &Model::parameters() const { return state->parameters; }
uint64_t Model::weightsSize() const { return state->artifact->weights().size(); }
const std::vector<std::string> &Model::targets() const { return state->targets; }
std::string_view Model::isa() const { return state->artifact->isa(); }

std::string_view Model::device() const {
  return state->artifact->device() == nullptr ? "" : state->artifact->device()->id();
}

std::string_view Model::precision() const {
  return state->artifact->manifest().precision()->string_view();
}

std::string_view Model::cachePrecision() const { return state->cachePrecision; }

const std::vector<KeptLayersInfo> &Model::keptLayers() const { return state->keptLayers; }
const std::optional<LanguagesInfo> &Model::languages() const { return state->languages; }
const std::optional<ClassifierInfo> &Model::classifier() const { return state->classifier; }

std::string_view Model::modelType() const {
  return state->artifact->manifest().model_type()->string_view();
}

std::string_view Model::producer() const {
  return state->artifact->manifest().producer()->string_view();
}

std::string_view Model::sourceHash() const {
  return state->artifact->manifest().source_hash()->string_view();
}

const std::vector<std::string> &Model::reportSummary() const { return state->reportSummary; }

Status Model::verifyWeights() const {
  return withoutExceptions([&] { return state->artifact->verifyContents(); });
}

bool Model::hasTokenizer() const { return state->tokenizer != nullptr; }

const std::vector<std::string> &Model::chatTemplates() const { return state->chat.names(); }

Result<std::string> Model::chatPrompt(std::string_view conversation,
                                      std::string_view templateName) const {
  return withoutExceptions([&] { return state->chat.render(conversation, templateName); });
}

static Status noTokenizer(const std::string &path) {
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format("{}: the model has no tokenizer, expected one where texts are its input", path));
}

Result<std::vector<int32_t>> Model::tokenize(std::string_view text, int64_t most) const {
  return withoutExceptions([&]() -> Result<std::vector<int32_t>> {
    if (!state->tokenizer) {
      return noTokenizer(path());
    }
    return state->tokenizer->encode(text, true, static_cast<size_t>(most));
  });
}

Result<TokenPair> Model::tokenizePair(std::string_view first, std::string_view second,
                                      int64_t most) const {
  return withoutExceptions([&]() -> Result<TokenPair> {
    if (!state->tokenizer) {
      return noTokenizer(path());
    }
    HEDDLE_ASSIGN(Tokenizer::Pair pair,
                  state->tokenizer->encodePair(first, second, static_cast<size_t>(most)));
    return TokenPair{std::move(pair.ids), std::move(pair.typeIds)};
  });
}

Result<std::vector<std::string>> Model::textOfEach(std::span<const int32_t> ids,
                                                   bool isGenerated) const {
  return withoutExceptions([&]() -> Result<std::vector<std::string>> {
    const auto &tokenizer = isGenerated ? state->targetTokenizer : state->tokenizer;
    if (!tokenizer) {
      return noTokenizer(path());
    }
    HEDDLE_ASSIGN(std::vector<std::string> texts, tokenizer->tokens(ids));
    for (size_t i = 0; i < ids.size(); ++i) {
      HEDDLE_ASSIGN(std::string text, tokenizer->decode(ids.subspan(i, 1), false));
      if (!text.empty() && text.find("\uFFFD") == std::string::npos) {
        texts[i] = std::move(text);
      }
    }
    return texts;
  });
}

std::vector<std::string> machineTargets() { return hostDevice()->targets(); }

} // namespace heddle
