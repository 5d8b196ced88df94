// SPDX-License-Identifier: Apache-2.0
///
/// How much memory the caches of a model take for each token (of the output, of the input,
/// together), and its states for each sequence. A cache that several layers share counts once.
#ifndef HEDDLE_RUNTIME_TOOLS_INFO_CACHESUMMARY_H
#define HEDDLE_RUNTIME_TOOLS_INFO_CACHESUMMARY_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {
struct CacheInfo;
struct EntryInfo;
} // namespace heddle

namespace heddle::tools {

/// Bytes of one position of a cache, or of a state, which has no positions.
uint64_t cacheBytes(const CacheInfo &cache);

/// "state", "keys" (transposed in their blocks) or "rows".
std::string_view cacheLayout(const CacheInfo &cache);

/// {"list": [{"name", "of": "history", "memory" or "sequence", "layout", "bytes_per_token" or
/// "bytes_per_sequence"}], "history", "memory", "bytes_per_token", "state_bytes_per_sequence"}: a
/// history grows with the rows of an entry that reads it, a memory is what another entry has left,
/// the state of a sequence does not grow. Null without any.
nlohmann::ordered_json summariseCaches(const std::vector<EntryInfo> &entries);

/// The same in lines, for people; of a summary that is not null.
std::string cachesText(const nlohmann::ordered_json &caches);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_INFO_CACHESUMMARY_H
