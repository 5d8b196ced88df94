// SPDX-License-Identifier: Apache-2.0
///
/// One step of a search: orders the candidates of all hypotheses, separates those that finish from
/// those that continue, and decides whether it was the last step.
#include "runtime/Generate/BeamSearch.h"

#include "runtime/Generate/Sampler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace heddle {

void insertByScore(std::vector<Hypothesis> &list, Hypothesis hypothesis) {
  const auto place =
      std::upper_bound(list.begin(), list.end(), hypothesis,
                       [](const Hypothesis &a, const Hypothesis &b) { return a.score > b.score; });
  list.insert(place, std::move(hypothesis));
}

BeamSearch::BeamSearch(const Settings &settings, uint64_t stream)
    : settings(settings), rules(*settings.rules), stream(stream),
      width(static_cast<size_t>(settings.alternatives ? settings.nbest : settings.beam)),
      expanding(settings.alternatives) {
  alive.push_back({.tokens = settings.prefix, .constraint = settings.constraintStart()});
  if (settings.needsHistory()) {
    std::vector<int32_t> tokens = rules.historyHasStart ? settings.start : std::vector<int32_t>();
    tokens.insert(tokens.end(), settings.prefix.begin(), settings.prefix.end());
    alive.front().history = TokenHistory(std::move(tokens));
  }
}

BeamSearch::BeamSearch(const BeamSearch &other, size_t beam)
    : settings(other.settings), rules(other.rules), stream(other.stream),
      width(static_cast<size_t>(other.settings.beam)), branch(true), generated(other.generated),
      sourceLength(other.sourceLength) {
  alive.push_back(other.alive[beam]);
  alive.front().parent = 0;
}

std::vector<Hypothesis> BeamSearch::takeFinished() {
  if (branch && found.size() > 1) {
    found.resize(1);
  }
  return std::move(found);
}

/// Returns the generated token that is forced at a position; -1 if none is.
int32_t BeamSearch::forcedToken(int64_t position) const {
  if (position == 0 && settings.forcedFirst >= 0) {
    return settings.forcedFirst;
  }
  return position + 1 == settings.maxLength ? settings.forcedLast : -1;
}

std::string_view BeamSearch::reasonAgainstAhead() const {
  if (expanding) {
    return "alternatives part";
  }
  if (settings.sample) {
    return "tokens are drawn";
  }
  if (forcedToken(generated) >= 0) {
    return "a token is forced";
  }
  if (settings.constraint != nullptr) {
    return "a schema allows some tokens only";
  }
  return settings.needsHistory() ? "bans or penalties depend on the last token" : "";
}

BeamOrder BeamSearch::orderOf(std::span<const HypothesisId> hypotheses, int64_t firstRow,
                              const RowQuery &query) const {
  BeamOrder order{.hypotheses = hypotheses,
                  .firstRow = firstRow,
                  .sums = {},
                  .wanted = candidatesWanted(),
                  .width = static_cast<int64_t>(width),
                  .refillsPlaces = rules.refillsPlaces,
                  .ends = settings.end,
                  .banned = {}};
  for (const Beam &beam : alive) {
    order.sums.push_back(beam.sum);
  }
  if (query.adjustsAfterSoftmax) {
    // Others have no logits: the device excludes them.
    std::set_union(query.banned.begin(), query.banned.end(), query.alsoBanned.begin(),
                   query.alsoBanned.end(), std::back_inserter(order.banned));
  }
  return order;
}

/// Returns a number of candidates such that at least `width` of them do not end the hypothesis.
int64_t BeamSearch::candidatesWanted() const {
  if (greedy() || expanding) {
    return static_cast<int64_t>(width);
  }
  return static_cast<int64_t>(width * (1 + settings.end.size()));
}

static void sortOnce(std::vector<int32_t> &tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

void BeamSearch::fillQuery(size_t beam, RowQuery &query, bool ahead) {
  query = RowQuery();
  const int64_t position = generated + (ahead ? 1 : 0);
  if (forcedToken(position) >= 0) {
    return;
  }
  std::vector<Lists> &ofStep = lists[static_cast<size_t>(position) % lists.size()];
  ofStep.resize(std::max(ofStep.size(), alive.size()));
  Lists &own = ofStep[beam];
  own.banned.clear();
  const TokenHistory &history = alive[beam].history;
  if (settings.noRepeatNgram > 0) {
    history.findRepeated(static_cast<size_t>(settings.noRepeatNgram), own.banned);
  }
  if (position < settings.minLength) {
    own.banned.insert(own.banned.end(), settings.end.begin(), settings.end.end());
  }
  sortOnce(own.banned);
  query.whole = settings.sample && settings.topK == 0;
  query.candidates =
      std::max<int64_t>(settings.sample ? settings.topK : candidatesWanted(), settings.topScores);
  query.adjustsAfterSoftmax = rules.penaltiesAfterSoftmax && !greedy();
  query.penalty = settings.repetitionPenalty;
  if (settings.repetitionPenalty != 1) {
    query.penalized = history.distinct();
  }
  query.banned = own.banned;
  query.alsoBanned = settings.suppressed;
  query.shortlist = settings.shortlist;
  if (settings.constraint != nullptr) {
    own.mask = settings.constraint->mask(alive[beam].constraint);
    query.mask = *own.mask;
  }
}

/// Collects the best tokens after a hypothesis, and those of them to report.
Status BeamSearch::collect(Candidates &candidates, int64_t row, size_t beam) {
  HEDDLE_TRY(candidates.collect(row, best));
  const size_t told = std::min(best.size(), static_cast<size_t>(settings.topScores));
  for (size_t i = 0; i < told; ++i) {
    tops[beam].push_back({best[i].token, static_cast<float>(best[i].score)});
  }
  return {};
}

/// Draws the continuation of the only hypothesis.
Status BeamSearch::draw(Candidates &candidates, int64_t row) {
  if (settings.topK > 0 || settings.topScores > 0) {
    HEDDLE_TRY(collect(candidates, row, 0));
    best.resize(std::min(best.size(), static_cast<size_t>(settings.topK)));
  }
  if (settings.topK == 0) {
    HEDDLE_ASSIGN(const double normalizer, candidates.normalizer(row));
    const std::span<const float> logits = candidates.whole(row);
    best.clear();
    for (size_t token = 0; token < logits.size(); ++token) {
      if (logits[token] >= std::numeric_limits<float>::lowest()) {
        best.push_back(
            {static_cast<double>(logits[token]) - normalizer, static_cast<int32_t>(token)});
      }
    }
  }
  if (!best.empty()) {
    const double uniform = uniformNumber(settings.seed, stream, static_cast<uint64_t>(generated));
    const ScoredToken drawn = drawToken(best,
                                        {.temperature = static_cast<double>(settings.temperature),
                                         .topP = static_cast<double>(settings.topP),
                                         .minP = static_cast<double>(settings.minP)},
                                        uniform);
    continuations.push_back({0, drawn.token, alive.front().sum + drawn.score, drawn.score});
  }
  return {};
}

/// Collects the best continuations of all hypotheses, in order. Ties are broken by hypothesis, then
/// by token.
Status BeamSearch::gather(Candidates &candidates, std::span<const int64_t> rows) {
  continuations.clear();
  tops.assign(settings.topScores > 0 ? alive.size() : 0, {});
  const int32_t forced = forcedToken(generated);
  if (forced < 0 && settings.sample) {
    return draw(candidates, rows.front());
  }
  for (size_t beam = 0; beam < alive.size(); ++beam) {
    if (forced >= 0) {
      continuations.push_back({beam, forced, alive[beam].sum, 0});
      continue;
    }
    HEDDLE_TRY(collect(candidates, rows[beam], beam));
    // Best tokens beyond these are only reported.
    best.resize(std::min(best.size(), static_cast<size_t>(candidatesWanted())));
    for (const ScoredToken &token : best) {
      continuations.push_back({beam, token.token, alive[beam].sum + token.score, token.score});
    }
  }
  std::sort(continuations.begin(), continuations.end(),
            [](const Continuation &a, const Continuation &b) {
              return a.sum != b.sum ? a.sum > b.sum
                                    : std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
            });
  continuations.resize(std::min(continuations.size(), static_cast<size_t>(candidatesWanted())));
  return {};
}

/// Reduces the attention of this step to the parts that are kept.
void BeamSearch::lookAt(std::span<const int64_t> rows, const StepAttention &attention) {
  sourceLength = static_cast<size_t>(attention.sourceLength);
  looked.assign(alive.size() * sourceLength, 0);
  covered.assign(alive.size() * sourceLength, 0);
  const AttentionWeights &weights = *attention.weights;
  for (size_t beam = 0; beam < alive.size(); ++beam) {
    const float *const heads = weights.values.data() + rows[beam] * weights.heads * weights.pitch;
    for (size_t position = 0; position < sourceLength; ++position) {
      float sum = 0;
      for (int64_t head = 0; head < weights.heads; ++head) {
        sum += heads[head * weights.pitch + static_cast<int64_t>(position)];
      }
      const float mean = sum / static_cast<float>(weights.heads);
      looked[beam * sourceLength + position] = mean;
      covered[beam * sourceLength + position] = rules.firstHeadCovers ? heads[position] : mean;
    }
  }
}

Beam BeamSearch::extended(const Continuation &candidate) {
  Beam &parent = alive[candidate.parent];
  Beam beam = --uses[candidate.parent] == 0 ? std::move(parent) : parent;
  beam.parent = candidate.parent;
  beam.sum = candidate.sum;
  beam.tokens.push_back(candidate.token);
  if (settings.needsHistory()) {
    beam.history.add(candidate.token);
  }
  // A forced first token is part of the beginning of the text.
  const bool isForced = generated == 0 && settings.forcedFirst >= 0;
  if (settings.constraint != nullptr && !isForced && !settings.isEnd(candidate.token)) {
    beam.constraint =
        settings.constraint->follow(beam.constraint, candidate.token).value_or(ConstraintState());
  }
  if (settings.tokenScores) {
    beam.tokenScores.push_back(static_cast<float>(candidate.score));
  }
  if (settings.topScores > 0) {
    beam.topScores.push_back(tops[candidate.parent]);
  }
  if (settings.attention) {
    const auto begin =
        looked.begin() + static_cast<std::ptrdiff_t>(candidate.parent * sourceLength);
    beam.attention.insert(beam.attention.end(), begin,
                          begin + static_cast<std::ptrdiff_t>(sourceLength));
  }
  if (settings.coveragePenalty != 0) {
    beam.coverage.resize(sourceLength);
    for (size_t position = 0; position < sourceLength; ++position) {
      beam.coverage[position] += covered[candidate.parent * sourceLength + position];
    }
  }
  return beam;
}

/// Records a finished hypothesis. At most as many are kept as the search has beams.
void BeamSearch::record(const Beam &beam, double sum, int64_t length, FinishReason reason) {
  double score = settings.normalized(sum, length);
  if (settings.coveragePenalty != 0) {
    double coverage = 0;
    for (const float received : beam.coverage) {
      const float bounded = std::clamp(received, std::numeric_limits<float>::min(), 1.0F);
      coverage += std::log(static_cast<double>(bounded));
    }
    score += settings.coveragePenalty * coverage;
  }
  ++recorded;
  insertByScore(found,
                {beam.tokens, score, beam.tokenScores, beam.attention, beam.topScores, reason});
  if (found.size() > width) {
    found.pop_back();
  }
}

/// Records a hypothesis that no token may follow.
void BeamSearch::recordAsItIs(const Beam &beam) {
  const bool isWhole =
      settings.constraint != nullptr && settings.constraint->isWhole(beam.constraint);
  // The minimum length may have excluded the end token.
  const bool isLong = generated >= settings.minLength;
  record(beam, beam.sum, generated, isWhole && isLong ? FinishReason::End : FinishReason::Length);
}

void BeamSearch::finish(const Continuation &candidate) {
  Beam beam = extended(candidate);
  const bool ends = settings.isEnd(candidate.token);
  if (!rules.keepsEnd && ends) {
    beam.tokens.pop_back();
  }
  record(beam, candidate.sum, generated + 1, ends ? FinishReason::End : FinishReason::Length);
}

void BeamSearch::stop() {
  record(alive.front(), alive.front().sum, generated, FinishReason::Stop);
  alive.clear();
  done = true;
}

/// Decides for every candidate whether it finishes, continues or is dropped.
void BeamSearch::decide(bool last) {
  decisions.clear();
  size_t kept = 0;
  const auto goOn = [&](size_t i) {
    if (kept < width) {
      decisions.push_back({i, false});
      ++kept;
    }
  };
  // The next candidate outside the beam, which may replace a finished one under some rules.
  size_t spare = width;
  const auto ends = [&](size_t i) { return settings.isEnd(continuations[i].token); };
  const size_t considered =
      rules.refillsPlaces ? std::min(width, continuations.size()) : continuations.size();
  for (size_t i = 0; i < considered; ++i) {
    const bool stops = ends(i) || (last && rules.maximumFinishes);
    if (!stops) {
      goOn(i);
      continue;
    }
    if (i < width || !rules.onlyBeamFinishes) {
      bestEnded = bestEnded || i == 0;
      decisions.push_back({i, true});
    }
    if (rules.refillsPlaces && !last) {
      while (spare < continuations.size() && ends(spare)) {
        ++spare;
      }
      if (spare < continuations.size()) {
        goOn(spare++);
      }
    }
  }
}

/// Applies the decisions. The last continuation of a hypothesis moves its data, so a greedy search
/// copies no history.
void BeamSearch::follow() {
  uses.assign(alive.size(), 0);
  for (const Decision &decision : decisions) {
    ++uses[continuations[decision.continuation].parent];
  }
  for (const Decision &decision : decisions) {
    const Continuation &candidate = continuations[decision.continuation];
    decision.finishes ? finish(candidate) : next.push_back(extended(candidate));
  }
}

/// Returns whether the rules allow the search to end after a step.
bool BeamSearch::mayStop(bool last) const {
  if (last || next.empty()) {
    return true;
  }
  if (greedy()) {
    return recorded > 0;
  }
  if (recorded < static_cast<int64_t>(width)) {
    return false;
  }
  if (settings.earlyStopping == EarlyStopping::Yes) {
    return true;
  }
  if (rules.stop == StopRule::Count && settings.earlyStopping == EarlyStopping::No) {
    const bool plain = settings.lengthPenalty == 0 && settings.coveragePenalty == 0;
    return !plain || bestEnded;
  }
  const bool far = rules.stop == StopRule::BoundAtMaximum ||
                   (settings.earlyStopping == EarlyStopping::Never && settings.lengthPenalty > 0);
  const double bound =
      settings.normalized(next.front().sum, far ? settings.maxLength : generated + 1);
  const double worst = found.back().score;
  return worst > bound || (rules.stopsWhenEqual && worst == bound);
}

Status BeamSearch::advance(Candidates &candidates, std::span<const int64_t> rows,
                           const StepAttention &attention) {
  HEDDLE_TRY(gather(candidates, rows));
  if (settings.needsAttention()) {
    lookAt(rows, attention);
  }
  const bool last = generated + 1 == settings.maxLength;
  next.clear();
  if (continuations.empty()) {
    // Every token is banned, so no hypothesis can grow.
    for (const Beam &beam : alive) {
      recordAsItIs(beam);
    }
  }
  decide(last);
  follow();
  done = mayStop(last);
  ++generated;
  if (done && found.empty()) {
    for (const Beam &beam : next) {
      record(beam, beam.sum, generated, FinishReason::Length);
    }
  }
  std::swap(alive, next);
  if (done) {
    alive.clear();
  }
  return {};
}

} // namespace heddle
