// SPDX-License-Identifier: Apache-2.0
///
/// The search for one sentence, independent of the model. For each live hypothesis it states what
/// it needs to know about the logits, receives that, and decides which hypotheses continue. Greedy
/// search and sampling are searches with one hypothesis.
#ifndef HEDDLE_RUNTIME_GENERATE_BEAMSEARCH_H
#define HEDDLE_RUNTIME_GENERATE_BEAMSEARCH_H

#include "runtime/Generate/Candidates.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Generate/TokenHistory.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

/// A live hypothesis.
struct Beam {
  /// The hypothesis of the previous step that this one continues.
  size_t parent = 0;
  /// The sum of the log-probabilities of its tokens.
  double sum = 0;
  /// The prefix and the generated tokens.
  std::vector<int32_t> tokens;
  /// Filled only if the settings need them: as in Hypothesis, and the attention received by every
  /// source position.
  std::vector<float> tokenScores = {};
  std::vector<float> attention = {};
  std::vector<float> coverage = {};
  std::vector<std::vector<TokenScore>> topScores = {};
  TokenHistory history = {};
  /// Set only if the answer is constrained.
  ConstraintState constraint = {};
};

/// The attention of the last token of each hypothesis: [heads][pitch] for each row of the step.
struct StepAttention {
  const AttentionWeights *weights = nullptr;
  int64_t sourceLength = 0;
};

/// One search. Refers to the settings, which must not move during its lifetime.
class BeamSearch {
public:
  /// `stream` separates the random numbers of this search from those of others.
  BeamSearch(const Settings &settings, uint64_t stream);
  /// A search that continues a single hypothesis of another search.
  BeamSearch(const BeamSearch &other, size_t beam);

  const std::vector<Beam> &beams() const { return alive; }
  bool finished() const { return done; }
  /// Returns the hypotheses that have ended while others continue.
  const std::vector<Hypothesis> &finishedSoFar() const { return found; }
  /// Whether the live hypotheses are alternatives that each need a search of their own. This holds
  /// after the first step if alternatives were requested.
  bool branches() const { return expanding && generated > 0 && !done; }

  /// Fills in what the search needs from the logits after a hypothesis, or, if `ahead`, from those
  /// after its next token. Lists stay valid for as many calls of advance() as it takes to use them.
  void fillQuery(size_t beam, RowQuery &query, bool ahead = false);

  /// Returns whether the search ends with this step, whatever the next tokens are.
  bool endsNow() const { return generated + 1 == settings.maxLength; }
  /// Returns why fillQuery() for the token after the next one must wait for the next one, or why
  /// the next ones are not simply the best ones; an empty text if the only hypothesis goes on with
  /// the best token, unless it ends, or the hypotheses with those that orderOf() says.
  std::string_view reasonAgainstAhead() const;
  /// Return whether the search goes on with the best token of its only hypothesis; otherwise, how
  /// it goes on with several, of which `firstRow` is the first one's row and `query` its query.
  bool followsBest() const { return greedy(); }
  BeamOrder orderOf(std::span<const HypothesisId> hypotheses, int64_t firstRow,
                    const RowQuery &query) const;

  /// Advances by one step; rows[b] is the row of hypothesis b among the candidates.
  Status advance(Candidates &candidates, std::span<const int64_t> rows,
                 const StepAttention &attention);

  /// Ends a search with one hypothesis that is still live, with that hypothesis as its result.
  void stop();

  /// The finished hypotheses, best first; for a branch, only the best. Call it once.
  std::vector<Hypothesis> takeFinished();

private:
  /// A token that may follow a hypothesis.
  struct Continuation {
    size_t parent;
    int32_t token;
    double sum;
    double score;
  };
  /// The decision that a continuation, by its index, becomes a hypothesis or a result.
  struct Decision {
    size_t continuation;
    bool finishes;
  };
  /// The lists that the queries of a hypothesis refer to.
  struct Lists {
    std::vector<int32_t> banned;
    std::shared_ptr<const TokenMask> mask;
  };

  bool greedy() const { return width == 1; }
  int32_t forcedToken(int64_t position) const;
  int64_t candidatesWanted() const;
  Status gather(Candidates &candidates, std::span<const int64_t> rows);
  Status draw(Candidates &candidates, int64_t row);
  void lookAt(std::span<const int64_t> rows, const StepAttention &attention);
  void decide(bool last);
  void follow();
  void finish(const Continuation &candidate);
  void recordAsItIs(const Beam &beam);
  void record(const Beam &beam, double sum, int64_t length, FinishReason reason);
  Status collect(Candidates &candidates, int64_t row, size_t beam);
  bool mayStop(bool last) const;
  Beam extended(const Continuation &candidate);

  const Settings &settings;
  const SearchRules &rules;
  uint64_t stream = 0;
  size_t width = 1;
  bool expanding = false;
  /// Whether this search continues an alternative.
  bool branch = false;
  bool done = false;
  /// Whether the best candidate of any step has ended.
  bool bestEnded = false;
  int64_t generated = 0;
  int64_t recorded = 0;
  std::vector<Beam> alive;
  std::vector<Beam> next;
  std::vector<Hypothesis> found;
  // The lists of the current step and of the next one, in turn.
  std::array<std::vector<Lists>, 2> lists;
  std::vector<Continuation> continuations;
  std::vector<Decision> decisions;
  /// The number of remaining decisions that continue each hypothesis.
  std::vector<size_t> uses;
  std::vector<ScoredToken> best;
  /// The best tokens after each hypothesis, if requested.
  std::vector<std::vector<TokenScore>> tops;
  // [beams][source]: the attention of this step, and the part of it that counts as coverage.
  std::vector<float> looked;
  std::vector<float> covered;
  size_t sourceLength = 0;
};

/// Inserts into a list sorted best first, after hypotheses with an equal score.
void insertByScore(std::vector<Hypothesis> &list, Hypothesis hypothesis);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_BEAMSEARCH_H
