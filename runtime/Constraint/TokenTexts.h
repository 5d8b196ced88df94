// SPDX-License-Identifier: Apache-2.0
///
/// A vocabulary as texts, in the order in which an automaton reads it fastest: what tokens begin
/// with is read once for all that begin so.
#ifndef HEDDLE_RUNTIME_CONSTRAINT_TOKENTEXTS_H
#define HEDDLE_RUNTIME_CONSTRAINT_TOKENTEXTS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A token by its text.
struct SortedToken {
  int32_t id = 0;
  /// The bytes that it has in common with the one before it.
  uint32_t common = 0;
};

/// Immutable.
class TokenTexts {
public:
  /// The most bytes of a short token, as most tokens are.
  static constexpr size_t mostShortBytes = 16;

  /// The bytes of each id, which may be parts of characters; nothing for ids that add nothing to a
  /// text.
  explicit TokenTexts(std::vector<std::optional<std::string>> texts);

  size_t size() const { return texts.size(); }
  /// The text of a token; empty for one without.
  std::string_view of(int32_t id) const;
  /// The short ones of those that have a text, sorted by it, and the others.
  std::span<const SortedToken> shortOnes() const { return shorts; }
  std::span<const SortedToken> longOnes() const { return longs; }
  /// The bytes of the longest one.
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
