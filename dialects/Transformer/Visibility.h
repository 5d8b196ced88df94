// SPDX-License-Identifier: Apache-2.0
///
/// Which keys of its sequence a query sees, as a predicate of positions: an interval of keys whose
/// ends are computed from the position of the query. All keys, those up to the query, windows,
/// bands and blocks are of this form, so that what is fast for one is for all of them. Without
/// headers of LLVM, because programs that write models include this.
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

  /// The largest size, and the largest magnitude of the others.
  static constexpr int64_t most = int64_t{1} << 30;

  /// For a position from 0 on.
  int64_t at(int64_t position) const {
    const int64_t moved = position + shift;
    const int64_t quotient = moved / size - (moved % size < 0 ? 1 : 0);
    return quotient * step + offset;
  }
  friend bool operator==(const PositionBound &, const PositionBound &) = default;
};

/// A query at position i sees the keys from `from` on and before `to`. Without the one it sees
/// those from the first on, without the other those up to the last.
struct Visibility {
  std::optional<PositionBound> from = std::nullopt;
  std::optional<PositionBound> to = std::nullopt;

  static Visibility all() { return {}; }
  /// Keys up to the query's own.
  static Visibility causal() { return {.to = PositionBound{.offset = 1}}; }
  /// `before` keys before the query, itself, and `after` keys after it.
  static Visibility band(int64_t before, int64_t after) {
    return {PositionBound{.offset = -before}, PositionBound{.offset = after + 1}};
  }
  /// `size` keys around the query; of an even number one more lies before it than after it.
  static Visibility window(int64_t size) { return band(size / 2, (size + 1) / 2 - 1); }
  /// The sequence is cut into blocks of `size` from position 0 on: a query sees its own, and
  /// `before` and `after` keys on either side of it.
  static Visibility blocks(int64_t size, int64_t before, int64_t after) {
    return {PositionBound{0, size, size, -before}, PositionBound{0, size, size, size + after}};
  }

  bool isAll() const { return !from && !to; }
  bool isCausal() const { return *this == causal(); }
  /// Whether a query sees a key; both positions count from 0.
  bool sees(int64_t query, int64_t key) const {
    return (!from || key >= from->at(query)) && (!to || key < to->at(query));
  }
  friend bool operator==(const Visibility &, const Visibility &) = default;

  // --- for the compiler -----------------------------------------------------------------------

  /// The same predicate with the numbers that all of its spellings share.
  Visibility normalized() const;
  /// What is wrong with it: a number out of range, or a query that does not see itself; else empty.
  std::string problem() const;
  /// The keys that both see; none where no one interval says it for every query.
  std::optional<Visibility> intersect(const Visibility &other) const;
  /// The most keys that any of `rows` neighbouring queries see, from the first that one of them
  /// sees to the last; none where it grows with the sequence.
  std::optional<int64_t> span(int64_t rows) const;
  /// "all", "causal", "from i - 2 to i + 3", "from i / 4 * 4 to i + 1"
  std::string text() const;
};

/// For storage in attributes.
size_t hash_value(const Visibility &visibility);

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_VISIBILITY_H
