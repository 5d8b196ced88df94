// SPDX-License-Identifier: Apache-2.0
///
/// The search of one sentence, without the model: it says what it wants to know of the logits that
/// follow each hypothesis alive, is told, and decides which go on. Greedy search and sampling are
/// searches with one hypothesis.
#ifndef HEDDLE_RUNTIME_GENERATE_BEAMSEARCH_H
#define HEDDLE_RUNTIME_GENERATE_BEAMSEARCH_H

#include "runtime/Generate/Candidates.h"
#include "runtime/Generate/Settings.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A hypothesis alive.
struct Beam {
  /// Which hypothesis of the step before it continues.
  size_t parent = 0;
  /// Of the log-probabilities of its tokens.
  double sum = 0;
  /// Prefix and tokens generated.
  std::vector<int32_t> tokens;
  /// As far as the settings ask for them: as in Hypothesis, and the attention that every source
  /// position has received.
  std::vector<float> tokenScores = {};
  std::vector<float> attention = {};
  std::vector<float> coverage = {};
};

/// Where the last token of each hypothesis looked: [heads][pitch] for each row of the step.
struct StepAttention {
  const AttentionWeights *weights = nullptr;
  int64_t sourceLength = 0;
};

/// One search. Refers to the settings, which do not move while it exists.
class BeamSearch {
public:
  /// `stream` tells the random numbers of this search from those of others.
  BeamSearch(const Settings &settings, uint64_t stream);
  /// The search that goes on from one hypothesis of another, alone.
  BeamSearch(const BeamSearch &other, size_t beam);

  const std::vector<Beam> &beams() const { return alive; }
  bool finished() const { return done; }
  /// Whether the hypotheses alive are alternatives, each to be searched from on its own. So it is
  /// after the first step where alternatives are asked for.
  bool branches() const { return expanding && generated > 0 && !done; }

  /// What it wants to know of the logits after a hypothesis. Lists live until the next advance().
  void fillQuery(size_t beam, RowQuery &query);

  /// One step on: rows[b] is the row of hypothesis b among the candidates.
  Status advance(Candidates &candidates, std::span<const int64_t> rows,
                 const StepAttention &attention);

  /// The finished hypotheses, best first; of a branch, the best. To be called once.
  std::vector<Hypothesis> takeFinished();

private:
  /// A token that may come after a hypothesis.
  struct Continuation {
    size_t parent;
    int32_t token;
    double sum;
    double score;
  };
  /// What the queries of a hypothesis refer to.
  struct Lists {
    std::vector<int32_t> penalized;
    std::vector<int32_t> banned;
  };

  bool greedy() const { return width == 1; }
  int32_t forcedToken() const;
  int64_t candidatesWanted() const;
  void banRepeatedNgrams(const Beam &beam, std::vector<int32_t> &banned) const;
  Status gather(Candidates &candidates, std::span<const int64_t> rows);
  Status draw(Candidates &candidates, int64_t row);
  void lookAt(std::span<const int64_t> rows, const StepAttention &attention);
  void decide(bool last);
  void goOn(const Continuation &candidate);
  void finish(const Continuation &candidate);
  void record(const Beam &beam, double sum, int64_t length);
  bool mayStop(bool last) const;
  Beam extended(const Continuation &candidate) const;

  const Settings &settings;
  const SearchRules &rules;
  uint64_t stream = 0;
  size_t width = 1;
  bool expanding = false;
  /// Whether it goes on from an alternative.
  bool branch = false;
  bool done = false;
  /// Whether the best candidate of some step ended.
  bool bestEnded = false;
  int64_t generated = 0;
  int64_t recorded = 0;
  std::vector<Beam> alive;
  std::vector<Beam> next;
  std::vector<Hypothesis> found;
  // Of the current step.
  std::vector<Lists> lists;
  std::vector<Continuation> continuations;
  std::vector<ScoredToken> best;
  // [beams][source]: what was looked at, and what counts as covered.
  std::vector<float> looked;
  std::vector<float> covered;
  size_t sourceLength = 0;
};

/// Keeps a list best first; of equal scores the earlier one is first.
void insertByScore(std::vector<Hypothesis> &list, Hypothesis hypothesis);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_BEAMSEARCH_H
