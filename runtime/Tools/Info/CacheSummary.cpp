// SPDX-License-Identifier: Apache-2.0
///
/// Adds up caches by name: entries that name the same cache share it.
#include "runtime/Tools/Info/CacheSummary.h"

#include "heddle/Session.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

uint64_t cacheBytes(const CacheInfo &cache) {
  return static_cast<uint64_t>(cache.width) * infoOf(cache.element).bytes();
}

std::string_view cacheLayout(const CacheInfo &cache) {
  return cache.state ? "state" : cache.transposed ? "keys" : "rows";
}

/// Whether an entry reads what only others append.
static bool isMemory(const std::vector<EntryInfo> &entries, const std::string &name) {
  return std::any_of(entries.begin(), entries.end(), [&](const EntryInfo &entry) {
    return std::any_of(entry.caches.begin(), entry.caches.end(), [&](const CacheInfo &cache) {
      return cache.name == name && !cache.written;
    });
  });
}

Json summariseCaches(const std::vector<EntryInfo> &entries) {
  Json list = Json::array();
  uint64_t history = 0;
  uint64_t memory = 0;
  uint64_t states = 0;
  for (const EntryInfo &entry : entries) {
    for (const CacheInfo &cache : entry.caches) {
      const bool isKnown = std::any_of(
          list.begin(), list.end(), [&](const Json &known) { return known["name"] == cache.name; });
      if (isKnown) {
        continue;
      }
      const uint64_t bytes = cacheBytes(cache);
      if (cache.state) {
        states += bytes;
        list.push_back({{"name", cache.name},
                        {"of", "sequence"},
                        {"layout", cacheLayout(cache)},
                        {"bytes_per_sequence", bytes}});
        continue;
      }
      const bool ofMemory = isMemory(entries, cache.name);
      (ofMemory ? memory : history) += bytes;
      list.push_back({{"name", cache.name},
                      {"of", ofMemory ? "memory" : "history"},
                      {"layout", cacheLayout(cache)},
                      {"bytes_per_token", bytes}});
    }
  }
  if (list.empty()) {
    return {};
  }
  return {{"list", std::move(list)},
          {"history", history},
          {"memory", memory},
          {"bytes_per_token", history + memory},
          {"state_bytes_per_sequence", states}};
}

std::string cachesText(const Json &caches) {
  std::string text = fmt::format("caches      {}, {} bytes a token: {} of the history, {} of the "
                                 "memory\n",
                                 caches["list"].size(), caches["bytes_per_token"].dump(),
                                 caches["history"].dump(), caches["memory"].dump());
  if (caches["state_bytes_per_sequence"] != 0) {
    text += fmt::format("states      {} bytes a sequence, however long\n",
                        caches["state_bytes_per_sequence"].dump());
  }
  for (const Json &cache : caches["list"]) {
    if (cache["layout"] == "state") {
      text += fmt::format("  state  {}: {} bytes a sequence\n", cache["name"].get<std::string>(),
                          cache["bytes_per_sequence"].dump());
      continue;
    }
    text += fmt::format("  {}  {}: {} bytes a token, as {}\n", cache["of"].get<std::string>(),
                        cache["name"].get<std::string>(), cache["bytes_per_token"].dump(),
                        cache["layout"].get<std::string>());
  }
  return text;
}

} // namespace heddle::tools
