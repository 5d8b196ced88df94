// SPDX-License-Identifier: Apache-2.0
///
/// Parses the regular expressions of tokenizer.json, which are Oniguruma's with the syntax of Ruby,
/// into a tree of character sets. Constructs that the tree cannot express are rejected with their
/// place.
#ifndef HEDDLE_FORMATS_TOKENIZER_PATTERNPARSER_H
#define HEDDLE_FORMATS_TOKENIZER_PATTERNPARSER_H

#include "formats/Tokenizer/CharacterSet.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace heddle {

/// A part of a regular expression.
struct PatternNode {
  enum class Kind : uint8_t {
    /// One character of `set`.
    Set,
    /// All parts one after another; if there are none, the empty text.
    Sequence,
    /// The first part that leads to a match.
    Choice,
    /// The only part, repeated `least` to `most` times.
    Repeat,
    /// Matches before a line feed, or at the end of the text.
    LineEnd,
    TextEnd,
    /// Matches if no character of `set` follows.
    NotBefore,
  };
  static constexpr uint32_t any = std::numeric_limits<uint32_t>::max();

  Kind kind = Kind::Sequence;
  /// The byte offset in the pattern, from 0.
  size_t at = 0;
  CharacterSet set = {};
  std::vector<PatternNode> parts = {};
  uint32_t least = 0;
  uint32_t most = 0;
  /// As few times as possible.
  bool lazy = false;
  /// As often as possible, without backtracking.
  bool possessive = false;
};

/// Returns a message about a place in the pattern, which is printed from 1.
Status patternError(std::string_view pattern, size_t at, std::string_view problem);

/// Parses a pattern. Messages do not begin with a place.
Result<PatternNode> parsePattern(std::string_view pattern);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PATTERNPARSER_H
