// SPDX-License-Identifier: Apache-2.0
///
/// A predicate on positions for the keys of its sequence that a query sees: an interval of keys
/// whose bounds are computed from the position of the query. Full and causal attention, windows,
/// bands and blocks all have this form, so one fast path covers all of them. Does not include LLVM
/// headers, because programs that write models include this file.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_VISIBILITY_H
#define HEDDLE_DIALECTS_TRANSFORMER_VISIBILITY_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace heddle::transformer {

/// floor((i + shift) / size) * step + offset for a query at position i.
struct PositionBound {
  int64_t shift = 0;
  int64_t size = 1;
  int64_t step = 1;
  int64_t offset = 0;

  /// The largest size, and the largest magnitude of the other members.
  static constexpr int64_t most = int64_t{1} << 30;

  /// Evaluates the bound at a position >= 0.
  int64_t at(int64_t position) const {
    const int64_t moved = position + shift;
    const int64_t quotient = moved / size - (moved % size < 0 ? 1 : 0);
    return quotient * step + offset;
  }
  friend bool operator==(const PositionBound &, const PositionBound &) = default;
};

/// A query at position i sees the keys in [from, to). Without `from` it sees keys from the first
/// on, without `to` those up to the last.
struct Visibility {
  std::optional<PositionBound> from = std::nullopt;
  std::optional<PositionBound> to = std::nullopt;

  static Visibility all() { return {}; }
  /// Keys up to the query's own position.
  static Visibility causal() { return {.to = PositionBound{.offset = 1}}; }
  /// `before` keys before the query, itself, and `after` keys after it.
  static Visibility band(int64_t before, int64_t after) {
    return {PositionBound{.offset = -before}, PositionBound{.offset = after + 1}};
  }
  /// `size` keys around the query. For an even size, one more key is before it than after it.
  static Visibility window(int64_t size) { return band(size / 2, (size + 1) / 2 - 1); }
  /// The sequence is split into blocks of `size` from position 0 on. A query sees its own block,
  /// and `before` and `after` keys on either side of it.
  static Visibility blocks(int64_t size, int64_t before, int64_t after) {
    return {PositionBound{0, size, size, -before}, PositionBound{0, size, size, size + after}};
  }

  bool isAll() const { return !from && !to; }
  bool isCausal() const { return *this == causal(); }
  /// Returns whether a query sees a key. Both positions count from 0.
  bool sees(int64_t query, int64_t key) const {
    return (!from || key >= from->at(query)) && (!to || key < to->at(query));
  }
  friend bool operator==(const Visibility &, const Visibility &) = default;

  // --- for the compiler -----------------------------------------------------------------------

  /// Returns the canonical form of the same predicate.
  Visibility normalized() const;
  /// Describes what is invalid: a number out of range, or a query that does not see itself. Empty
  /// if valid.
  std::string problem() const;
  /// Returns the keys that both see; nothing if no single interval describes them for every query.
  std::optional<Visibility> intersect(const Visibility &other) const;
  /// Returns the most keys that `rows` adjacent queries see together, from the first key of any to
  /// the last; nothing if it grows with the sequence.
  std::optional<int64_t> span(int64_t rows) const;
  /// "all", "causal", "from i - 2 to i + 3", "from i / 4 * 4 to i + 1"
  std::string text() const;
};

/// For storage in attributes.
size_t hash_value(const Visibility &visibility);

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_VISIBILITY_H
