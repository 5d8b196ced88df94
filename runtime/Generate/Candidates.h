// SPDX-License-Identifier: Apache-2.0
///
/// What a search takes from the logits of a step: the best few tokens of each row with their
/// log-probabilities. Chunks are reduced as they come; logits are kept of rows alone that need
/// their whole distribution. The bits depend on neither threads nor the order of chunks.
#ifndef HEDDLE_RUNTIME_GENERATE_CANDIDATES_H
#define HEDDLE_RUNTIME_GENERATE_CANDIDATES_H

#include "runtime/Kernels/LogSumExp.h"
#include "runtime/Kernels/TopK.h"
#include "runtime/Session/Decoder.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// What is wanted of one row. Lists are sorted, have each token once and live until the step ends.
struct RowQuery {
  /// The best so many tokens.
  int64_t candidates = 0;
  /// Whether the logits of all tokens are kept.
  bool whole = false;
  /// A token whose log-probability is wanted; -1: none.
  int32_t watched = -1;
  /// Whether penalties and bans apply to log-probabilities, or to logits.
  bool adjustsAfterSoftmax = false;
  /// Divides positive and multiplies negative scores of the tokens `penalized`.
  float penalty = 1;
  std::span<const int32_t> penalized = {};
  std::span<const int32_t> banned = {};
  std::span<const int32_t> alsoBanned = {};
  /// The only tokens there are; empty: all.
  std::span<const int32_t> shortlist = {};

  bool empty() const { return candidates == 0 && watched < 0 && !whole; }
};

/// A token, and its log-probability after penalties.
struct ScoredToken {
  double score;
  int32_t token;
};

/// Whether `a` comes before `b`: the larger score, and of equal ones the lower token.
inline bool ranksBefore(const ScoredToken &a, const ScoredToken &b) {
  return a.score > b.score || (a.score == b.score && a.token < b.token);
}

/// The sink of one step; its memory is kept for the next.
class Candidates final : public LogitsSink {
public:
  /// Starts a step of queries.size() rows.
  void prepare(std::span<const RowQuery> queries);

  void begin(int64_t rows, int64_t vocabulary, int workers) override;
  bool wants(int64_t chunk) const override;
  void deliver(int worker, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override;

  /// After the step: the candidates of a row, best first. DataLoss when its logits are no numbers.
  Status collect(int64_t row, std::vector<ScoredToken> &best);
  /// The log-probability of the row's watched token.
  Result<double> watched(int64_t row) const;
  /// The logits of a row that was to be kept whole, after penalties and bans that apply to logits;
  /// minus infinity for tokens that are not on its shortlist.
  std::span<const float> whole(int64_t row) const;
  /// log(sum of exp(logit)) of a row.
  Result<double> normalizer(int64_t row) const;

private:
  /// What one thread works with.
  struct alignas(64) Worker {
    std::vector<TopK> best;
    // Of one chunk.
    std::vector<float> adjusted;
    std::vector<float> gathered;
    std::vector<float> gatheredSummed;
    std::vector<int32_t> numbers;
    std::vector<int32_t> positions;
  };
  /// A row's part of a chunk: penalties applied, and as the normaliser sees it.
  struct Piece {
    const float *values;
    const float *summed;
    int64_t count;
    /// Null: consecutive from the first of the chunk.
    const int32_t *numbers;
  };

  void reduce(Worker &worker, int64_t row, int64_t chunk, int64_t count, const float *values);
  const float *adjusted(Worker &worker, int64_t row, int32_t first, int64_t count,
                        const float *values);
  static void gather(Worker &worker, std::span<const int32_t> shortlist, int32_t first,
                     Piece &piece);
  void keepWhole(int64_t row, int32_t first, const Piece &piece);
  static void adjust(const RowQuery &query, int32_t first, int64_t count, float *values);
  void keepPenalized(int64_t row, int32_t first, int64_t count, const float *values);
  void addPenalized(int64_t row, double normalizer, std::vector<ScoredToken> &best) const;

  std::span<const RowQuery> queries;
  int64_t vocabularySize = 0;
  int64_t chunks = 0;
  std::vector<Worker> workers;
  // [rows][chunks].
  std::vector<ExponentialSum> sums;
  // [rows].
  std::vector<float> watchedLogits;
  // Of all rows end to end, and where each row's begin.
  std::vector<float> penalizedLogits;
  std::vector<size_t> firstPenalized;
  std::vector<float> wholeLogits;
  std::vector<size_t> firstWhole;
  // Chunks that some row wants; empty: all.
  std::vector<bool> wanted;
};

/// A score after the penalty on repetition.
template <typename Number> Number penalize(Number score, float penalty) {
  return score < 0 ? score * static_cast<Number>(penalty) : score / static_cast<Number>(penalty);
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_CANDIDATES_H
