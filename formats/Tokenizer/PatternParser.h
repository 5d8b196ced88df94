// SPDX-License-Identifier: Apache-2.0
///
/// Reads the regular expressions of tokenizer.json, which are Oniguruma's with the syntax of Ruby,
/// into a tree of character sets. What the tree cannot say is refused with its place.
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
    /// All parts one after the other; none: the empty text.
    Sequence,
    /// The first part that leads to a match.
    Choice,
    /// The only part `least` to `most` times.
    Repeat,
    /// Before a line feed, or at the end of the text.
    LineEnd,
    TextEnd,
    /// The text does not go on with a character of `set`.
    NotBefore,
  };
  static constexpr uint32_t any = std::numeric_limits<uint32_t>::max();

  Kind kind = Kind::Sequence;
  /// Where it begins in the pattern, in bytes from 0.
  size_t at = 0;
  CharacterSet set = {};
  std::vector<PatternNode> parts = {};
  uint32_t least = 0;
  uint32_t most = 0;
  /// As few times as possible.
  bool lazy = false;
  /// As often as possible, and never less often in order to match what follows.
  bool possessive = false;
};

/// A message about a place in the pattern; the place is shown from 1.
Status patternError(std::string_view pattern, size_t at, std::string_view problem);

/// Reads a pattern. Messages have no place before them.
Result<PatternNode> parsePattern(std::string_view pattern);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PATTERNPARSER_H
