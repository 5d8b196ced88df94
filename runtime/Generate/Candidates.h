// SPDX-License-Identifier: Apache-2.0
///
/// Reduces the logits of a step to what a search needs: the best few tokens of each row with their
/// log-probabilities. Chunks are reduced as they arrive. Logits are kept only for rows that need
/// their whole distribution. The bits depend neither on threads nor on the order of chunks.
#ifndef HEDDLE_RUNTIME_GENERATE_CANDIDATES_H
#define HEDDLE_RUNTIME_GENERATE_CANDIDATES_H

#include "heddle/Generation.h"
#include "runtime/Kernels/LogSumExp.h"
#include "runtime/Kernels/TopK.h"
#include "runtime/Session/Decoder.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// The data that a search needs about one row. Lists are sorted, without duplicates, and stay valid
/// until the step ends.
struct RowQuery {
  /// The number of best tokens.
  int64_t candidates = 0;
  /// Whether the logits of all tokens are kept.
  bool whole = false;
  /// A token whose log-probability is needed; -1: none.
  int32_t watched = -1;
  /// Whether penalties and bans apply to log-probabilities instead of logits.
  bool adjustsAfterSoftmax = false;
  /// Divides positive and multiplies negative scores of the tokens `penalized`.
  float penalty = 1;
  std::span<const int32_t> penalized = {};
  std::span<const int32_t> banned = {};
  std::span<const int32_t> alsoBanned = {};
  /// The only tokens allowed; empty: all.
  std::span<const int32_t> shortlist = {};
  /// The allowed tokens as one bit for each token of the vocabulary, 64 in a word; empty: all.
  std::span<const uint64_t> mask = {};

  bool empty() const { return candidates == 0 && watched < 0 && !whole; }
  bool isRestricted() const { return !shortlist.empty() || !mask.empty(); }
  /// Returns whether the mask allows a token.
  bool passes(int32_t token) const {
    const auto place = static_cast<size_t>(token);
    return mask.empty() || (mask[place / 64] >> (place % 64) & 1) != 0;
  }
};

/// A token and its log-probability after penalties.
struct ScoredToken {
  double score;
  int32_t token;
};

/// Whether `a` ranks before `b`: by larger score, then by lower token.
inline bool ranksBefore(const ScoredToken &a, const ScoredToken &b) {
  return a.score > b.score || (a.score == b.score && a.token < b.token);
}

/// The sink of one step. Its memory is reused for the next.
class Candidates final : public LogitsSink {
public:
  /// Starts a step of queries.size() rows.
  void prepare(std::span<const RowQuery> queries);

  void offerSelection(int64_t most, int64_t vocabulary) override;
  int64_t bestNeeded(int64_t row) const override;
  void exclude(int64_t row, std::vector<int32_t> &tokens) const override;
  void deliverSelected(int64_t row, const SelectedTokens &tokens) override;
  void begin(int64_t rows, int64_t vocabulary, int workers) override;
  bool wants(int64_t chunk) const override;
  bool wantsRow(int64_t row) const override { return !queries[static_cast<size_t>(row)].empty(); }
  void deliver(int worker, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override;

  /// Returns whether a device selects the best token of a row, and the host does not read its
  /// logits. Call after the step has begun.
  bool selectsBest(int64_t row) const { return selectable > 0 && bestNeeded(row) > 0; }
  /// Returns how many rows of all steps a device has selected from, and why not from others.
  const SelectionUse &use() const { return uses; }
  /// Returns in `best` the candidates of a row, best first; DataLoss if its logits are NaN. Call
  /// after the step.
  Status collect(int64_t row, std::vector<ScoredToken> &best);
  /// Returns the log-probability of the row's watched token.
  Result<double> watched(int64_t row) const;
  /// Returns the logits of a row with RowQuery::whole, after penalties and bans that apply to
  /// logits. Tokens outside its shortlist have minus infinity.
  std::span<const float> whole(int64_t row) const;
  /// Returns log(sum of exp(logit)) of a row.
  Result<double> normalizer(int64_t row) const;

private:
  bool isSelected(size_t row) const {
    return selectable > 0 && bestNeeded(static_cast<int64_t>(row)) >= 0;
  }
  /// The working memory of one thread.
  struct alignas(64) Worker {
    std::vector<TopK> best;
    // The adjusted logits of one chunk.
    std::vector<float> adjusted;
    std::vector<float> gathered;
    std::vector<float> gatheredSummed;
    std::vector<int32_t> numbers;
    std::vector<int32_t> positions;
  };
  /// A row's part of a chunk, with penalties applied, in the form that the normaliser needs.
  struct Piece {
    const float *values;
    const float *summed;
    int64_t count;
    /// Null if the tokens are consecutive from the first token of the chunk.
    const int32_t *numbers;
  };

  std::string_view reasonAgainst(const RowQuery &query) const;
  int64_t bestNeeded(const RowQuery &query) const;
  void countUse();
  void reduce(Worker &worker, int64_t row, int64_t chunk, int64_t count, const float *values);
  const float *adjusted(Worker &worker, int64_t row, int32_t first, int64_t count,
                        const float *values);
  static void gather(Worker &worker, const RowQuery &query, int32_t first, Piece &piece);
  void keepWhole(int64_t row, int32_t first, const Piece &piece);
  static void adjust(const RowQuery &query, int32_t first, int64_t count, float *values);
  void keepPenalized(int64_t row, int32_t first, int64_t count, const float *values);
  void addPenalized(int64_t row, double normalizer, std::vector<ScoredToken> &best) const;

  std::span<const RowQuery> queries;
  // The number of best tokens of a row that a device selects; 0: rows arrive as logits.
  int64_t selectable = 0;
  SelectionUse uses;
  int64_t vocabularySize = 0;
  int64_t chunks = 0;
  std::vector<Worker> workers;
  // The best values of a row, of all workers.
  std::vector<RankedValue> ranked;
  // [rows][chunks].
  std::vector<ExponentialSum> sums;
  // [rows].
  std::vector<float> watchedLogits;
  // The lists of all rows, one after another, and the offset of each row's list.
  std::vector<float> penalizedLogits;
  std::vector<size_t> firstPenalized;
  std::vector<float> wholeLogits;
  std::vector<size_t> firstWhole;
  // The chunks that at least one row needs; empty: all.
  std::vector<bool> wanted;
};

/// Applies the repetition penalty to a score.
template <typename Number> Number penalize(Number score, float penalty) {
  return score < 0 ? score * static_cast<Number>(penalty) : score / static_cast<Number>(penalty);
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_CANDIDATES_H
