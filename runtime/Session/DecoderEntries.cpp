// SPDX-License-Identifier: Apache-2.0
///
/// Checks whether a model can be decoded, and determines the roles of its ports and caches.
#include "runtime/Session/PagedDecoder.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Binary/SymbolicSize.h"
#include "runtime/Session/ModelState.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace heddle {

/// Returns the failure for a model that lacks a requirement of generation.
static Status doesNotGenerate(const Model &model, const std::string &what) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: the model does not generate: {}", model.path(), what));
}

bool PagedDecoder::supports(const Model &model) {
  const EntryInfo *const decode = model.findEntry(decodeEntry);
  if (decode == nullptr || decode->caches.empty()) {
    return false;
  }
  return hasSources(model) || std::all_of(decode->caches.begin(), decode->caches.end(),
                                          [](const CacheInfo &cache) { return cache.written; });
}

bool PagedDecoder::hasSources(const Model &model) {
  return model.findEntry(encodeEntry) != nullptr;
}

PagedDecoder::PagedDecoder(const Model &model, const SessionOptions &options)
    : loaded(model), options(options) {
  budget.bound = options.cacheBytes;
}

Result<std::unique_ptr<PagedDecoder>> PagedDecoder::create(const Model &model,
                                                           const SessionOptions &options,
                                                           std::shared_ptr<Executor> executor) {
  return withoutExceptions([&]() -> Result<std::unique_ptr<PagedDecoder>> {
    std::unique_ptr<PagedDecoder> decoder(new PagedDecoder(model, options));
    HEDDLE_TRY(decoder->bindEntries());
    if (executor == nullptr) {
      HEDDLE_ASSIGN(executor, Executor::create(model, options));
    }
    decoder->executor = std::move(executor);
    HEDDLE_TRY(decoder->createPools());
    HEDDLE_TRY(decoder->bindCaches());
    return decoder;
  });
}

/// Determines the row spaces: histories have a position for each token, memories for each row that
/// "encode" appends.
Status PagedDecoder::bindSpaces() {
  if (hasSources()) {
    memorySpace = spacesOf(*encoder.table)[encoder.table->appended()];
  }
  const RowSpace history = spacesOf(*decoder.table)[decoder.table->appended()];
  return history == RowSpace::tokens()
             ? Status()
             : doesNotGenerate(loaded, fmt::format("entry {} appends rows of {}, expected rows of "
                                                   "tokens",
                                                   quote(decodeEntry), quote(history.text())));
}

/// Returns the output of an entry with what a device selects of the logits, which is its last one;
/// -1 if it holds no tokens. Of no use where the host reads the logits in the device's memory.
static int32_t selectionPortOf(const manifest::Entry &entry, int64_t vocabulary) {
  const uint32_t last = entry.outputs()->size() - 1;
  const auto &shape = *entry.outputs()->Get(last)->shape();
  const auto width = static_cast<int64_t>(shape.Get(shape.size() - 1)->constant());
  return Projection::bestOfSelection(width, vocabulary) > 0 ? static_cast<int32_t>(last) : -1;
}

/// Returns the only input of an entry that is not optional: ids, or rows of floats unless it
/// `needsIds`.
static Result<const PortInfo *> inputOf(const Model &model, const EntryInfo &entry, bool needsIds) {
  const PortInfo *found = nullptr;
  for (const PortInfo &input : entry.inputs) {
    if (input.optional) {
      continue;
    }
    if (input.element != ElementType::I32 && needsIds) {
      return doesNotGenerate(model, fmt::format("entry {} needs the input {} of {}, expected ids",
                                                quote(entry.name), quote(input.name),
                                                infoOf(input.element).name));
    }
    if (found != nullptr) {
      return doesNotGenerate(model,
                             fmt::format("entry {} needs the inputs {} and {}, expected one",
                                         quote(entry.name), quote(found->name), quote(input.name)));
    }
    found = &input;
  }
  if (found == nullptr) {
    return doesNotGenerate(model, fmt::format("entry {} needs no input", quote(entry.name)));
  }
  return found;
}

Status PagedDecoder::bindEntries() {
  const manifest::Manifest &model = loaded.state->artifact->manifest();
  size_t firstCost = 0;
  for (uint32_t i = 0; i < model.entries()->size(); ++i) {
    const manifest::Entry &table = *model.entries()->Get(i);
    const std::string_view name = table.name()->string_view();
    if (name == encodeEntry || name == decodeEntry) {
      Entry &entry = name == encodeEntry ? encoder : decoder;
      entry = {&table, &loaded.entries()[i], nullptr, firstCost, {}};
    }
    firstCost += table.dispatches()->size();
  }
  for (Entry *const entry : {&encoder, &decoder}) {
    const std::string_view name = entry == &encoder ? encodeEntry : decodeEntry;
    if (entry == &encoder && entry->table == nullptr && supports(loaded)) {
      continue;
    }
    if (entry->table == nullptr) {
      return doesNotGenerate(loaded, fmt::format("it has no entry {}", quote(name)));
    }
    HEDDLE_ASSIGN(entry->input, inputOf(loaded, *entry->info, /*needsIds=*/entry == &decoder));
  }
  HEDDLE_TRY(bindSpaces());
  logitsPort = findOutput(*decoder.table, logitsOutput);
  attentionPort = findOutput(*decoder.table, attentionOutput);
  const auto shapeOf = [&](int32_t port) -> const std::vector<int64_t> & {
    return decoder.info->outputs[static_cast<size_t>(port)].shape;
  };
  if (logitsPort < 0 || shapeOf(logitsPort).size() != 2 ||
      shapeOf(logitsPort)[0] != tokensDimension) {
    return doesNotGenerate(loaded, "entry \"decode\" has no output \"logits\" with a row for each "
                                   "token");
  }
  if (attentionPort >= 0 && shapeOf(attentionPort).back() != longestDimension) {
    return doesNotGenerate(loaded, "output \"attention\" of entry \"decode\" has no dimension "
                                   "\"longest\" at its end");
  }
  vocabularySize = shapeOf(logitsPort)[1];
  if (decoder.info->selects && !loaded.state->artifact->device()->sharesHostMemory()) {
    selectionPort = selectionPortOf(*decoder.table, vocabularySize);
    // Every token that is selected must be one that the entry reads.
    followsTokens =
        selectionPort >= 0 && decoder.input->limit >= vocabularySize &&
        loaded.state->artifact->program()->ownKernel(OwnKernel::ExcludeTokens) != nullptr;
  }
  return {};
}

static CacheShape shapeOf(const CacheInfo &cache) {
  return {cache.width, cache.element, cache.transposed};
}

/// Returns the caches of an entry; empty if the entry does not exist.
static std::span<const CacheInfo> cachesOf(const EntryInfo *entry) {
  return entry == nullptr ? std::span<const CacheInfo>() : entry->caches;
}

/// Returns the caches that an entry appends to.
static std::vector<CacheShape> writtenShapes(const EntryInfo *entry) {
  std::vector<CacheShape> shapes;
  for (const CacheInfo &cache : cachesOf(entry)) {
    if (cache.written && !cache.state) {
      shapes.push_back(shapeOf(cache));
    }
  }
  return shapes;
}

/// Returns the states of a hypothesis, with or without keys: all states of "decode", then those
/// that only "encode" updates. Nothing reads the latter, but the kernels of "encode" write them.
static std::vector<CacheInfo> statesOf(const EntryInfo *encode, const EntryInfo &decode,
                                       bool keyed) {
  std::vector<CacheInfo> found;
  for (const EntryInfo *const entry : {&decode, encode}) {
    for (const CacheInfo &cache : cachesOf(entry)) {
      const bool isNew = std::ranges::none_of(
          found, [&](const CacheInfo &other) { return other.name == cache.name; });
      if (cache.state && cache.keyed == keyed && isNew && (entry == &decode || cache.written)) {
        found.push_back(cache);
      }
    }
  }
  return found;
}

static std::vector<CacheShape> shapesOf(const std::vector<CacheInfo> &caches) {
  std::vector<CacheShape> shapes;
  std::ranges::transform(caches, std::back_inserter(shapes), shapeOf);
  return shapes;
}

Status PagedDecoder::createPools() {
  const auto create = [&](const char *name, const std::vector<CacheShape> &shapes,
                          int64_t positions) {
    return BlockPool::create(name, shapes, budget, executor->device(), executor->deviceStream(),
                             positions);
  };
  HEDDLE_ASSIGN(history,
                create("history of hypotheses", writtenShapes(decoder.info), HEDDLE_BLOCK));
  prefixes.use(history);
  HEDDLE_ASSIGN(states, create("states of hypotheses",
                               shapesOf(statesOf(encoder.info, *decoder.info, false)), 1));
  HEDDLE_ASSIGN(keyed, create("states with keys of hypotheses",
                              shapesOf(statesOf(encoder.info, *decoder.info, true)), HEDDLE_BLOCK));
  HEDDLE_ASSIGN(memory, create("memory of sources", writtenShapes(encoder.info), HEDDLE_BLOCK));
  return {};
}

/// Returns the index of a cache among those that an entry appends to; -1 if there is none.
static int64_t writtenIndex(const EntryInfo *entry, const CacheInfo &wanted) {
  int64_t index = 0;
  for (const CacheInfo &cache : cachesOf(entry)) {
    if (!cache.written || cache.state) {
      continue;
    }
    if (cache.name == wanted.name) {
      return index;
    }
    ++index;
  }
  return -1;
}

/// Returns the index of a state; -1 if there is none of that name and width.
static int64_t stateIndex(const std::vector<CacheInfo> &all, const CacheInfo &wanted) {
  const auto found = std::ranges::find(all, wanted.name, &CacheInfo::name);
  return found == all.end() || found->width != wanted.width ? -1 : found - all.begin();
}

/// Returns the positions from which rows read the caches that an entry appends to; empty if one is
/// read from its beginning.
static std::vector<manifest::PositionBound> readsOf(const manifest::Entry &entry) {
  std::vector<manifest::PositionBound> reads;
  for (uint32_t i = 0; entry.caches() != nullptr && i < entry.caches()->size(); ++i) {
    const manifest::CachePort &cache = *entry.caches()->Get(i);
    if (!cache.written()) {
      continue;
    }
    if (cache.read_from() == nullptr || cache.read_from()->size() == 0) {
      return {};
    }
    for (const manifest::PositionBound *const bound : *cache.read_from()) {
      reads.push_back(*bound);
    }
  }
  return reads;
}

/// Binds a state. A state of "decode" is updated by it, or set by "encode", or both; the states of
/// "encode" are set, whether anything reads them or not.
Status PagedDecoder::bindState(Entry &entry, const CacheInfo &state) {
  const bool decodes = &entry == &decoder;
  const int64_t index = stateIndex(statesOf(encoder.info, *decoder.info, state.keyed), state);
  const auto isIt = [&](const CacheInfo &other) {
    return other.state && other.written && other.name == state.name;
  };
  const bool isGiven = std::ranges::any_of(cachesOf(encoder.info), isIt);
  const bool isTheirs = !state.keyed || (decodes && state.written && !isGiven);
  if (index < 0 || !isTheirs || (decodes ? !state.written && !isGiven : !state.written)) {
    return doesNotGenerate(loaded, fmt::format("the state {} is in entry {}, expected states that "
                                               "\"decode\" reads and changes, or that \"encode\" "
                                               "gives it",
                                               quote(state.name), quote(entry.info->name)));
  }
  givesStates = givesStates || !decodes;
  const BlockPool &pool = state.keyed ? keyed : states;
  entry.caches.push_back({pool.memory(static_cast<size_t>(index)),
                          static_cast<int64_t>(pool.blockBytes()),
                          state.keyed ? &keyedRows.view : &stateRows.view});
  return {};
}

Status PagedDecoder::bindCaches() {
  historyReads = readsOf(*decoder.table);
  for (Entry *const entry : {&encoder, &decoder}) {
    const bool decodes = entry == &decoder;
    for (const CacheInfo &cache : cachesOf(entry->info)) {
      if (cache.state) {
        HEDDLE_TRY(bindState(*entry, cache));
        continue;
      }
      const int64_t own = writtenIndex(entry->info, cache);
      const int64_t its = decodes ? writtenIndex(encoder.info, cache) : -1;
      if (own < 0 && its < 0) {
        return doesNotGenerate(loaded, fmt::format("entry {} reads the cache {}, which nothing "
                                                   "before it fills",
                                                   quote(entry->info->name), quote(cache.name)));
      }
      const bool isHistory = decodes && own >= 0;
      const BlockPool &pool = isHistory ? history : memory;
      const Rows &rows = isHistory ? historyRows : memoryRows;
      entry->caches.push_back({pool.memory(static_cast<size_t>(own >= 0 ? own : its)),
                               static_cast<int64_t>(pool.blockBytes()), &rows.view});
    }
  }
  // Those of a pool that "decode" uses: it may have states of "encode" alone.
  const auto ordered = [&](const BlockPool &pool, const Rows &rows) {
    const bool isUsed = std::ranges::any_of(
        decoder.caches, [&](const CacheOperand &each) { return each.rows == &rows.view; });
    return isUsed ? OrderedCaches{&rows.view, pool.memory(0), pool.blockBytes()} : OrderedCaches();
  };
  orders.bind(*loaded.state->artifact->program(), ordered(history, historyRows),
              ordered(states, stateRows));
  return {};
}

} // namespace heddle
