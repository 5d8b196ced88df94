// SPDX-License-Identifier: Apache-2.0
///
/// Reduces chunks of logits. A row without penalties is read in place; others are first copied to a
/// buffer of one chunk.
#include "runtime/Generate/Candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>

namespace heddle {

static constexpr float never = -std::numeric_limits<float>::infinity();
/// positionsAtLeast() may write one vector beyond the number of values.
static constexpr size_t longestVector = 64;

void Candidates::prepare(std::span<const RowQuery> queries) {
  this->queries = queries;
  selectable = 0;
}

/// The largest number of tokens that a device excludes from a row: their list has 8 KiB.
static constexpr int64_t mostExcluded = 1024;

/// Returns the number of best tokens of which so many are not banned. Bans before the softmax are
/// the device's: it excludes these tokens.
int64_t Candidates::bestNeeded(const RowQuery &query) const {
  const size_t bans = query.banned.size() + query.alsoBanned.size();
  const int64_t more = query.adjustsAfterSoftmax ? static_cast<int64_t>(bans) : 0;
  return std::min(query.candidates + more, vocabularySize);
}

/// Returns why a row needs its logits; an empty text if the device can select its tokens.
std::string_view Candidates::reasonAgainst(const RowQuery &query) const {
  if (query.whole) {
    return "samples are drawn from all tokens";
  }
  if (query.watched >= 0) {
    return "a given token is scored";
  }
  if (!query.mask.empty()) {
    return "a schema allows some tokens only";
  }
  if (!query.shortlist.empty()) {
    return "a shortlist allows some tokens only";
  }
  if (!query.penalized.empty()) {
    return "repeated tokens are penalised";
  }
  if (!query.adjustsAfterSoftmax &&
      query.banned.size() + query.alsoBanned.size() > static_cast<size_t>(mostExcluded)) {
    return "too many tokens are banned";
  }
  return bestNeeded(query) > selectable ? "too many best tokens are needed" : "";
}

int64_t Candidates::bestNeeded(int64_t row) const {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  return reasonAgainst(query).empty() ? bestNeeded(query) : -1;
}

/// Counts the rows of a step on a device that can select.
void Candidates::countUse() {
  for (const RowQuery &query : queries) {
    const std::string_view reason = query.empty() ? "" : reasonAgainst(query);
    uses.selected += query.empty() || !reason.empty() ? 0 : 1;
    uses.copied += reason.empty() ? 0 : 1;
    if (!reason.empty() && std::ranges::find(uses.reasons, reason) == uses.reasons.end()) {
      uses.reasons.emplace_back(reason);
    }
  }
}

static_assert(logitsChunk % 64 == 0);

/// Calls function(token) for the tokens of a mask in [first, first + count); `first` is a multiple
/// of 64.
template <typename Function>
static void forTokensOf(std::span<const uint64_t> mask, int32_t first, int64_t count,
                        const Function &function) {
  const size_t end = std::min(mask.size(), static_cast<size_t>(first + count + 63) / 64);
  for (auto word = static_cast<size_t>(first) / 64; word < end; ++word) {
    for (uint64_t left = mask[word]; left != 0; left &= left - 1) {
      function(static_cast<int32_t>(word * 64) + std::countr_zero(left));
    }
  }
}

/// Marks the chunks that contain an allowed token of a query as needed.
static void wantChunksOf(const RowQuery &query, int64_t vocabulary, std::vector<bool> &wanted) {
  const auto want = [&](int32_t token) { wanted[static_cast<size_t>(token / logitsChunk)] = true; };
  if (query.shortlist.empty()) {
    return forTokensOf(query.mask, 0, vocabulary, want);
  }
  for (const int32_t token : query.shortlist) {
    if (query.passes(token)) {
      want(token);
    }
  }
}

void Candidates::begin(int64_t rows, int64_t vocabulary, int workers) {
  vocabularySize = vocabulary;
  chunks = (vocabulary + logitsChunk - 1) / logitsChunk;
  sums.assign(static_cast<size_t>(rows * chunks), ExponentialSum());
  watchedLogits.assign(static_cast<size_t>(rows), never);
  firstPenalized.assign(1, 0);
  firstWhole.assign(1, 0);
  wanted.assign(static_cast<size_t>(chunks), false);
  if (selectable > 0) {
    countUse();
  }
  for (const RowQuery &query : queries) {
    firstPenalized.push_back(firstPenalized.back() + query.penalized.size());
    firstWhole.push_back(firstWhole.back() + (query.whole ? static_cast<size_t>(vocabulary) : 0));
    if (query.empty() || isSelected(static_cast<size_t>(&query - queries.data()))) {
      continue;
    }
    if (!query.isRestricted()) {
      std::fill(wanted.begin(), wanted.end(), true);
    } else {
      wantChunksOf(query, vocabulary, wanted);
    }
  }
  penalizedLogits.assign(firstPenalized.back(), never);
  wholeLogits.assign(firstWhole.back(), never);
  this->workers.resize(static_cast<size_t>(workers));
  for (Worker &worker : this->workers) {
    worker.best.resize(std::max(worker.best.size(), static_cast<size_t>(rows)));
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      worker.best[row].reset(std::min(queries[row].candidates, vocabulary));
    }
    worker.adjusted.resize(logitsChunk);
    worker.gathered.resize(logitsChunk);
    worker.gatheredSummed.resize(logitsChunk);
    worker.numbers.resize(logitsChunk);
    worker.positions.resize(logitsChunk + longestVector);
  }
}

bool Candidates::wants(int64_t chunk) const { return wanted[static_cast<size_t>(chunk)]; }

void Candidates::deliver(int worker, int64_t chunk, int64_t count, const float *values,
                         int64_t stride) {
  for (size_t row = 0; row < queries.size(); ++row) {
    if (!queries[row].empty() && !isSelected(row)) {
      reduce(workers[static_cast<size_t>(worker)], static_cast<int64_t>(row), chunk, count,
             values + static_cast<int64_t>(row) * stride);
    }
  }
}

void Candidates::offerSelection(int64_t most, int64_t vocabulary) {
  selectable = most;
  vocabularySize = vocabulary;
}

void Candidates::exclude(int64_t row, std::vector<int32_t> &tokens) const {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  if (!query.adjustsAfterSoftmax) {
    std::set_union(query.banned.begin(), query.banned.end(), query.alsoBanned.begin(),
                   query.alsoBanned.end(), std::back_inserter(tokens));
  }
}

void Candidates::deliverSelected(int64_t row, const SelectedTokens &tokens) {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const float *const pair = tokens.pieces.data() + chunk * selectedPair;
    sums[static_cast<size_t>(row * chunks + chunk)] = {pair[0], pair[1]};
  }
  TopK &best = workers.front().best[static_cast<size_t>(row)];
  for (const SelectedToken &each : tokens.best) {
    const auto isIn = [&](std::span<const int32_t> list) {
      return std::binary_search(list.begin(), list.end(), each.token);
    };
    if (!isIn(query.banned) && !isIn(query.alsoBanned)) {
      best.offer({each.logit, each.token});
    }
  }
}

/// Calls function(token) for the tokens of a sorted list in [first, first + count).
template <typename Function>
static void forTokensWithin(std::span<const int32_t> tokens, int32_t first, int64_t count,
                            const Function &function) {
  auto next = std::lower_bound(tokens.begin(), tokens.end(), first);
  for (; next != tokens.end() && *next < first + count; ++next) {
    function(*next);
  }
}

/// Applies penalties and bans to a copy of a chunk. A token whose penalty needs the normaliser is
/// excluded here; addPenalized() adds it later.
void Candidates::adjust(const RowQuery &query, int32_t first, int64_t count, float *values) {
  forTokensWithin(query.penalized, first, count, [&](int32_t token) {
    float &value = values[token - first];
    value = query.adjustsAfterSoftmax ? never : penalize(value, query.penalty);
  });
  for (const std::span<const int32_t> banned : {query.banned, query.alsoBanned}) {
    forTokensWithin(banned, first, count, [&](int32_t token) { values[token - first] = never; });
  }
}

void Candidates::keepPenalized(int64_t row, int32_t first, int64_t count, const float *values) {
  const std::span<const int32_t> penalized = queries[static_cast<size_t>(row)].penalized;
  float *const kept = penalizedLogits.data() + firstPenalized[static_cast<size_t>(row)];
  const auto begin = std::lower_bound(penalized.begin(), penalized.end(), first);
  for (auto next = begin; next != penalized.end() && *next < first + count; ++next) {
    kept[next - penalized.begin()] = values[*next - first];
  }
}

static bool touches(std::span<const int32_t> tokens, int32_t first, int64_t count) {
  const auto next = std::lower_bound(tokens.begin(), tokens.end(), first);
  return next != tokens.end() && *next < first + count;
}

/// Returns the logits of a row in a chunk after penalties and bans: a copy, or the logits
/// themselves if there are none.
const float *Candidates::adjusted(Worker &worker, int64_t row, int32_t first, int64_t count,
                                  const float *values) {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  if (!touches(query.penalized, first, count) && !touches(query.banned, first, count) &&
      !touches(query.alsoBanned, first, count)) {
    return values;
  }
  if (query.adjustsAfterSoftmax) {
    keepPenalized(row, first, count, values);
  }
  std::copy(values, values + count, worker.adjusted.begin());
  adjust(query, first, count, worker.adjusted.data());
  return worker.adjusted.data();
}

/// Keeps the allowed tokens of a chunk.
void Candidates::gather(Worker &worker, const RowQuery &query, int32_t first, Piece &piece) {
  int64_t count = 0;
  const auto take = [&](int32_t token) {
    const auto to = static_cast<size_t>(count++);
    worker.gathered[to] = piece.values[token - first];
    worker.gatheredSummed[to] = piece.summed[token - first];
    worker.numbers[to] = token;
  };
  if (query.shortlist.empty()) {
    forTokensOf(query.mask, first, piece.count, take);
  } else {
    forTokensWithin(query.shortlist, first, piece.count, [&](int32_t token) {
      if (query.passes(token)) {
        take(token);
      }
    });
  }
  piece = {worker.gathered.data(), worker.gatheredSummed.data(), count, worker.numbers.data()};
}

void Candidates::keepWhole(int64_t row, int32_t first, const Piece &piece) {
  float *const kept = wholeLogits.data() + firstWhole[static_cast<size_t>(row)];
  for (int64_t i = 0; i < piece.count; ++i) {
    kept[piece.numbers != nullptr ? piece.numbers[i] : first + i] = piece.values[i];
  }
}

void Candidates::reduce(Worker &worker, int64_t row, int64_t chunk, int64_t count,
                        const float *values) {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  const auto first = static_cast<int32_t>(chunk * logitsChunk);
  if (query.watched >= first && query.watched < first + count) {
    watchedLogits[static_cast<size_t>(row)] = values[query.watched - first];
  }
  Piece piece{adjusted(worker, row, first, count, values), values, count, nullptr};
  if (!query.adjustsAfterSoftmax) {
    piece.summed = piece.values;
  }
  if (query.isRestricted()) {
    gather(worker, query, first, piece);
  }
  if (query.whole) {
    keepWhole(row, first, piece);
  }
  ExponentialSum &sum = sums[static_cast<size_t>(row * chunks + chunk)];
  sum = exponentialSum(piece.summed, piece.count);
  // This maximum is over the logits before penalties, so it is at least the largest candidate.
  worker.best[static_cast<size_t>(row)].offer(piece.values, piece.count, sum.largest, first,
                                              piece.numbers, worker.positions.data());
}

Result<double> Candidates::normalizer(int64_t row) const {
  const auto begin = static_cast<size_t>(row * chunks);
  const double normalizer = logSumExp(std::span(sums).subspan(begin, static_cast<size_t>(chunks)));
  if (std::isnan(normalizer) || normalizer == std::numeric_limits<double>::infinity()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("logits of row {} of the batch are not finite, "
                                              "expected numbers: the model may be damaged",
                                              row + 1));
  }
  return normalizer;
}

Result<double> Candidates::watched(int64_t row) const {
  HEDDLE_ASSIGN(const double whole, normalizer(row));
  return static_cast<double>(watchedLogits[static_cast<size_t>(row)]) - whole;
}

std::span<const float> Candidates::whole(int64_t row) const {
  const size_t begin = firstWhole[static_cast<size_t>(row)];
  return std::span(wholeLogits).subspan(begin, firstWhole[static_cast<size_t>(row) + 1] - begin);
}

/// Adds the candidates whose penalty needs the normaliser.
void Candidates::addPenalized(int64_t row, double normalizer,
                              std::vector<ScoredToken> &best) const {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  const float *const logits = penalizedLogits.data() + firstPenalized[static_cast<size_t>(row)];
  for (size_t i = 0; i < query.penalized.size(); ++i) {
    const int32_t token = query.penalized[i];
    const auto within = [token](std::span<const int32_t> list) {
      return std::binary_search(list.begin(), list.end(), token);
    };
    const bool listed = (query.shortlist.empty() || within(query.shortlist)) && query.passes(token);
    if (logits[i] > never && listed && !within(query.banned) && !within(query.alsoBanned)) {
      const double score = static_cast<double>(logits[i]) - normalizer;
      best.push_back({penalize(score, query.penalty), token});
    }
  }
}

Status Candidates::collect(int64_t row, std::vector<ScoredToken> &best) {
  const RowQuery &query = queries[static_cast<size_t>(row)];
  HEDDLE_ASSIGN(const double whole, normalizer(row));
  best.clear();
  ranked.clear();
  for (const Worker &worker : workers) {
    const std::span<const RankedValue> kept = worker.best[static_cast<size_t>(row)].kept();
    ranked.insert(ranked.end(), kept.begin(), kept.end());
  }
  // In the order of logits, some of which may have equal scores: a device selects in this order.
  std::sort(ranked.begin(), ranked.end(),
            [](const RankedValue &a, const RankedValue &b) { return ranksBefore(a, b); });
  for (const RankedValue &value : ranked) {
    best.push_back({static_cast<double>(value.value) - whole, value.number});
  }
  if (query.adjustsAfterSoftmax && !query.penalized.empty()) {
    addPenalized(row, whole, best);
    std::sort(best.begin(), best.end(),
              [](const ScoredToken &a, const ScoredToken &b) { return ranksBefore(a, b); });
  }
  best.resize(std::min(best.size(), static_cast<size_t>(query.candidates)));
  return {};
}

} // namespace heddle
