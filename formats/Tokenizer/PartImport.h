// SPDX-License-Identifier: Apache-2.0
///
/// What the importers of a tokenizer's parts share: parts may be absent, be sequences of others,
/// and become members of a FlatBuffers union.
#ifndef HEDDLE_FORMATS_TOKENIZER_PARTIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_PARTIMPORT_H

#include "formats/Config/Config.h"
#include "heddle/Status.h"

#include <flatbuffers/flatbuffers.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A member of a FlatBuffers union, with its kind.
template <typename Kind> struct Member {
  Kind kind = Kind::NONE;
  flatbuffers::Offset<void> offset;
};

/// A part of the file that may be absent or null.
Result<std::optional<Config>> optionalPart(const nlohmann::json &tokenizer, std::string_view key,
                                           std::string_view where);

/// One part of a sequence that has no parts itself.
struct PartOfSequence {
  const nlohmann::json *value;
  // What its messages begin with.
  std::string where;
};

/// The parts of "normalizer", "pre_tokenizer" or "decoder" in their order, sequences inside
/// sequences taken apart; none if it is absent. `list` is the key under which a sequence has them.
Result<std::vector<PartOfSequence>> flattenParts(const nlohmann::json &tokenizer,
                                                 std::string_view key, const char *list,
                                                 std::string_view where);

/// A text to look for: "pattern" of a Replace.
struct Pattern {
  std::string text;
  /// Runs of at least so many; 0: single occurrences.
  uint32_t least = 0;
};

/// Reads {"String": text} or a {"Regex": text} that is as simple: plain characters, or one of them
/// and `+` or `{n,}`. Others are refused by name.
Result<Pattern> readPattern(const Config &part);

/// A string that is not empty.
Result<std::string> nonEmptyString(const Config &part, std::string_view key);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PARTIMPORT_H
