// SPDX-License-Identifier: Apache-2.0
///
/// Whether a model can be decoded, and which of its ports and caches are what.
#include "runtime/Session/PagedDecoder.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "runtime/Session/ModelState.h"

#include <fmt/format.h>

namespace heddle {

/// The failure when a model lacks what generation needs.
static Status doesNotGenerate(const Model &model, const std::string &what) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: the model does not generate: {}", model.path(), what));
}

bool PagedDecoder::supports(const Model &model) {
  const EntryInfo *const decode = model.findEntry(decodeEntry);
  return model.findEntry(encodeEntry) != nullptr && decode != nullptr && !decode->caches.empty();
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

Status PagedDecoder::bindEntries() {
  const manifest::Manifest &model = loaded.state->artifact->manifest();
  size_t firstCost = 0;
  for (uint32_t i = 0; i < model.entries()->size(); ++i) {
    const manifest::Entry &table = *model.entries()->Get(i);
    const std::string_view name = table.name()->string_view();
    if (name == encodeEntry || name == decodeEntry) {
      Entry &entry = name == encodeEntry ? encoder : decoder;
      entry = {&table, &loaded.entries()[i], {}, firstCost, {}};
    }
    firstCost += table.dispatches()->size();
  }
  for (Entry *const entry : {&encoder, &decoder}) {
    const std::string_view name = entry == &encoder ? encodeEntry : decodeEntry;
    if (entry->table == nullptr) {
      return doesNotGenerate(loaded, fmt::format("it has no entry {}", quote(name)));
    }
    for (const PortInfo &input : entry->info->inputs) {
      if (input.optional) {
        continue;
      }
      if (input.element != ElementType::I32) {
        return doesNotGenerate(
            loaded, fmt::format("entry {} needs the input {} of {}, expected ids", quote(name),
                                quote(input.name), infoOf(input.element).name));
      }
      if (!entry->input.empty()) {
        return doesNotGenerate(loaded,
                               fmt::format("entry {} needs the inputs {} and {}, expected "
                                           "one",
                                           quote(name), quote(entry->input), quote(input.name)));
      }
      entry->input = input.name;
    }
    if (entry->input.empty()) {
      return doesNotGenerate(loaded, fmt::format("entry {} needs no input", quote(name)));
    }
  }
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
  return {};
}

/// The caches an entry appends to, or the states it changes.
static std::vector<CacheShape> writtenShapes(const EntryInfo &entry, bool states) {
  std::vector<CacheShape> shapes;
  for (const CacheInfo &cache : entry.caches) {
    if (cache.written && cache.state == states) {
      shapes.push_back({cache.width, cache.element, cache.transposed});
    }
  }
  return shapes;
}

Status PagedDecoder::createPools() {
  const auto create = [&](const char *name, const std::vector<CacheShape> &shapes,
                          int64_t positions) {
    return BlockPool::create(name, shapes, budget, executor->device(), executor->deviceStream(),
                             positions);
  };
  HEDDLE_ASSIGN(history,
                create("history of hypotheses", writtenShapes(*decoder.info, false), HEDDLE_BLOCK));
  HEDDLE_ASSIGN(states, create("states of hypotheses", writtenShapes(*decoder.info, true), 1));
  HEDDLE_ASSIGN(memory,
                create("memory of sources", writtenShapes(*encoder.info, false), HEDDLE_BLOCK));
  return {};
}

/// The place of a cache among those an entry appends to, or of a state among those it changes; -1
/// if it does not.
static int64_t writtenIndex(const EntryInfo &entry, const CacheInfo &wanted) {
  int64_t index = 0;
  for (const CacheInfo &cache : entry.caches) {
    if (!cache.written || cache.state != wanted.state) {
      continue;
    }
    if (cache.name == wanted.name) {
      return index;
    }
    ++index;
  }
  return -1;
}

/// Where rows begin to read the caches that an entry appends to; none if one is read from its
/// beginning.
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

Status PagedDecoder::bindCaches() {
  historyReads = readsOf(*decoder.table);
  for (Entry *const entry : {&encoder, &decoder}) {
    const bool decodes = entry == &decoder;
    for (const CacheInfo &cache : entry->info->caches) {
      if (cache.state && !(decodes && cache.written)) {
        return doesNotGenerate(loaded, fmt::format("the state {} is in entry {}, expected states "
                                                   "that \"decode\" reads and changes",
                                                   quote(cache.name), quote(entry->info->name)));
      }
      const int64_t own = writtenIndex(*entry->info, cache);
      const int64_t its = decodes ? writtenIndex(*encoder.info, cache) : -1;
      if (own < 0 && its < 0) {
        return doesNotGenerate(loaded, fmt::format("entry {} reads the cache {}, which nothing "
                                                   "before it fills",
                                                   quote(entry->info->name), quote(cache.name)));
      }
      const bool isHistory = decodes && own >= 0;
      const BlockPool &pool = cache.state ? states : isHistory ? history : memory;
      const Rows &rows = cache.state ? stateRows : isHistory ? historyRows : memoryRows;
      entry->caches.push_back({pool.memory(static_cast<size_t>(own >= 0 ? own : its)),
                               static_cast<int64_t>(pool.blockBytes()), &rows.view});
    }
  }
  return {};
}

} // namespace heddle
