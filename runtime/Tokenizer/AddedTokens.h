// SPDX-License-Identifier: Apache-2.0
///
/// Finds a tokenizer's added tokens in a text. Tokens are sorted; the longest one at a position is
/// found by narrowing a range byte by byte, in time independent of their number.
#ifndef HEDDLE_RUNTIME_TOKENIZER_ADDEDTOKENS_H
#define HEDDLE_RUNTIME_TOKENIZER_ADDEDTOKENS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A token that is searched for before words are formed. The flags are those of
/// manifest::AddedToken.
struct AddedToken {
  std::string pattern;
  int32_t id = 0;
  bool singleWord = false;
  bool leftStrip = false;
  bool rightStrip = false;
};

/// A part of a text: an added token, or (id -1) text between them.
struct TextPiece {
  std::string_view text;
  int32_t id = -1;
};

/// Immutable; may be used by several threads.
class AddedTokenFinder {
public:
  AddedTokenFinder() = default;
  /// If several tokens have the same pattern, the smallest id is used. An empty pattern is never
  /// found.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  bool empty() const { return tokens.empty(); }
  /// Appends the pieces of `text` in order: leftmost-longest tokens, adjusted by their flags, and
  /// the text between them.
  void split(std::string_view text, std::vector<TextPiece> &pieces) const;

private:
  const AddedToken *longestAt(std::string_view text) const;

  std::vector<AddedToken> tokens;
  // Whether any token begins with the byte.
  std::array<bool, 256> begins{};
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_ADDEDTOKENS_H
