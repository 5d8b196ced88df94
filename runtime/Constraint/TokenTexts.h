// SPDX-License-Identifier: Apache-2.0
///
/// The texts of a vocabulary, sorted so that an automaton reads a prefix once for all tokens that
/// share it.
#ifndef HEDDLE_RUNTIME_CONSTRAINT_TOKENTEXTS_H
#define HEDDLE_RUNTIME_CONSTRAINT_TOKENTEXTS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A token, sorted by its text.
struct SortedToken {
  int32_t id = 0;
  /// The number of bytes that it has in common with the token before it.
  uint32_t common = 0;
};

/// Immutable.
class TokenTexts {
public:
  /// The maximum size of a short token in bytes; most tokens are short.
  static constexpr size_t mostShortBytes = 16;

  /// Takes the bytes of each id, which may be incomplete characters; nullopt for ids that add no
  /// text.
  explicit TokenTexts(std::vector<std::optional<std::string>> texts);

  size_t size() const { return texts.size(); }
  /// Returns the text of a token; empty if it has none.
  std::string_view of(int32_t id) const;
  /// Return the short tokens that have a text, sorted by it, and the long ones.
  std::span<const SortedToken> shortOnes() const { return shorts; }
  std::span<const SortedToken> longOnes() const { return longs; }
  /// Returns the size of the longest text in bytes.
  size_t mostBytes() const { return longest; }

private:
  void sort(std::vector<SortedToken> &tokens) const;

  std::vector<std::optional<std::string>> texts;
  std::vector<SortedToken> shorts;
  std::vector<SortedToken> longs;
  size_t longest = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CONSTRAINT_TOKENTEXTS_H
