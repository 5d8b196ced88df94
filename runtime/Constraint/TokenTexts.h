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
  /// The bytes of each id, which may be parts of characters; nothing for ids that add nothing to a
  /// text.
  explicit TokenTexts(std::vector<std::optional<std::string>> texts);

  size_t size() const { return texts.size(); }
  /// The text of a token; empty for one without.
  std::string_view of(int32_t id) const;
  /// Those that have a text, sorted by it.
  std::span<const SortedToken> sorted() const { return order; }

private:
  std::vector<std::optional<std::string>> texts;
  std::vector<SortedToken> order;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CONSTRAINT_TOKENTEXTS_H
