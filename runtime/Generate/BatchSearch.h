// SPDX-License-Identifier: Apache-2.0
///
/// Many searches over one decoder. Sentences wait for room, join, take steps together and leave one
/// by one. The result of a sentence does not depend on the others.
#ifndef HEDDLE_RUNTIME_GENERATE_BATCHSEARCH_H
#define HEDDLE_RUNTIME_GENERATE_BATCHSEARCH_H

#include "heddle/Generation.h"
#include "runtime/Generate/AnswerText.h"
#include "runtime/Generate/BeamSearch.h"
#include "runtime/Generate/Candidates.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Session/Decoder.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Continuous batching. On a device that selects tokens, a step begins before the one before it has
/// ended, if all that goes on are hypotheses with tokens that the device selects and orders. Refers
/// to the decoder and releases everything it holds there, at the latest in the destructor.
class BatchSearch {
public:
  /// Without `newText`, events have no texts and stop strings are not supported.
  BatchSearch(Decoder &decoder, GenerationDefaults defaults, GenerationLimits limits,
              const BatchBounds &bounds, NewText newText = {});
  BatchSearch(const BatchSearch &) = delete;
  BatchSearch &operator=(const BatchSearch &) = delete;
  ~BatchSearch();

  /// See the functions of the same name in Generator.
  Result<int64_t> add(GenerationRequest request);
  Result<std::vector<GenerationResult>> step();
  Status remove(int64_t id);
  Result<std::vector<int32_t>> agreed(int64_t id) const;
  std::vector<TokenEvent> takeEvents() { return std::exchange(events, {}); }
  bool idle() const { return queue.empty() && batch.empty() && results.empty(); }
  int64_t waiting() const { return static_cast<int64_t>(queue.size()); }
  int64_t running() const { return static_cast<int64_t>(batch.size()); }
  /// Returns the number of prompt tokens that were reused instead of being computed.
  int64_t sharedTokens() const { return sharedCount; }
  SelectionUse selectionUse() const;
  const StepUse &stepUse() const { return stepsUsed; }

private:
  /// A search and its hypotheses in the decoder.
  struct Running {
    BeamSearch search;
    int32_t sample = 0;
    /// Empty for samples after the first, until the first has computed their common beginning.
    std::vector<HypothesisId> hypotheses;
    /// The row of each hypothesis in the current step; empty until the prompt is computed.
    std::vector<int64_t> rows = {};
    /// The same for the step after it, if that has begun.
    std::vector<int64_t> nextRows = {};
    /// Its hypotheses, if the device chooses what they continue; otherwise empty.
    std::vector<HypothesisId> nextHypotheses = {};
  };
  /// An answer whose tokens are reported or searched for stop strings. Its reported part is kept if
  /// the sentence starts again.
  struct Answer {
    AnswerText text = {};
    /// The reason why a token of the last step has no text.
    Status textStatus = {};
    size_t toldTokens = 0;
    size_t toldBytes = 0;
    bool toldEnd = false;
  };
  /// The reportable part of an answer: its tokens after the prefix, and their scores.
  struct Told {
    std::span<const int32_t> tokens;
    std::span<const float> scores = {};
    std::span<const std::vector<TokenScore>> topScores = {};
  };
  struct Sentence {
    int64_t id = 0;
    std::vector<int32_t> source;
    /// The rows of floats, for models that read these instead of ids.
    std::vector<float> rows;
    Settings settings;
    /// The width in pixels of an image, if images may have any width.
    int32_t width = 0;
    /// The start token and the prefix.
    std::vector<int32_t> beginning = {};
    /// The number of tokens in `beginning` that were reused.
    int64_t shared = 0;
    std::optional<SourceId> encoded = std::nullopt;
    std::vector<Running> searches = {};
    std::vector<Hypothesis> found = {};
    /// One element for each sample; otherwise one.
    std::vector<Answer> answers = {};

    SourceView view() const {
      SourceView given = rows.empty() ? SourceView(source) : SourceView(rows);
      given.width = width;
      return given;
    }
  };
  using SentencePointer = std::unique_ptr<Sentence>;

  /// Returns whether a failure may concern a single sentence because its request was invalid.
  static bool concernsOne(const Status &status) {
    return status.code() == StatusCode::InvalidArgument || status.code() == StatusCode::OutOfRange;
  }
  int64_t cost(const Sentence &sentence) const;
  Status admit();
  Status join(size_t count);
  Status startSearches(Sentence &sentence);
  void leave(Sentence &sentence);
  void fail(Sentence &sentence, const Status &status);
  void makeRoom(size_t index, bool alone, const Status &status);
  Status begin();
  void buildStep(size_t count);
  bool mayJoin() const;
  std::string_view reasonAgainstAhead() const;
  std::string_view reasonAgainstAhead(const Sentence &sentence, const Running &running) const;
  Status buildNextStep();
  Status addOrdered(Running &running);
  BeamOrder orderOf(const Running &running) const;
  std::string_view beginNextStep();
  void forgetNextStep();
  void ignoreRows(const Running &running);
  void runAhead();
  void dropUnwanted();
  void startAgain(const Status &status);
  bool isBeginning(const Sentence &sentence) const;
  bool waitsForOther(const Sentence &sentence, int64_t length) const;
  int64_t addPiece(Sentence &sentence, int64_t most);
  void addTokens(Sentence &sentence);
  Status shareBeginning(Sentence &sentence);
  Told afterPrefix(const Sentence &sentence, const std::vector<int32_t> &tokens,
                   const std::vector<float> &scores,
                   const std::vector<std::vector<TokenScore>> &topScores) const;
  std::vector<int32_t> agreedOf(const Sentence &sentence) const;
  Status readOn(const Sentence &sentence, Answer &answer, std::span<const int32_t> tokens,
                bool last);
  void tell(const Sentence &sentence, int32_t sample, Answer &answer, const Told &told,
            FinishReason finish);
  void tellEnds(Sentence &sentence, FinishReason finish, const Status &status) noexcept;
  Status followSingle(Sentence &sentence, Running &running);
  Status followAgreed(Sentence &sentence);
  void takeFinished(Sentence &sentence, Running &running);
  Status advance(Sentence &sentence);
  Status advanceAll(Sentence &sentence);
  Status advanceSearch(Sentence &sentence, Running &running);
  Status followBeams(Running &running);
  void settleBeams(Running &running);
  void releaseNext(Running &running);
  void complete(Sentence &sentence);

  Decoder &decoder;
  const GenerationDefaults defaults;
  const GenerationLimits limits;
  const BatchBounds bounds;
  const NewText newText;
  int64_t nextId = 0;
  int64_t sharedCount = 0;
  std::deque<SentencePointer> queue;
  std::vector<SentencePointer> batch;
  /// The failure of a step that had begun: hypotheses have tokens that the searches do not know.
  Status failure;
  // Results that the next successful step returns.
  std::vector<GenerationResult> results;
  std::vector<TokenEvent> events;
  // Whether the cache was full: no sentence joins until another has left.
  bool full = false;
  /// A step of the decoder, whose memory is reused.
  struct Step {
    /// The step, while it is under way.
    std::optional<StepId> begun = {};
    Candidates candidates = {};
    std::vector<Extension> extensions = {};
    std::vector<RowQuery> queries = {};
    /// Extensions refer to these, which must not move.
    std::deque<BeamOrder> orders = {};
  };
  std::array<Step, 2> steps;
  Step *now = &steps[0];
  /// The step after it, which may have begun too.
  Step *next = &steps[1];
  StepUse stepsUsed;
  /// A piece of a prompt in the current step, and where it ends.
  struct Piece {
    const Sentence *sentence;
    int64_t end;
  };
  // Scratch of one step, reused between steps. Steps that need attention have none beside them.
  std::vector<Piece> pieces;
  std::vector<SettledExtension> settled;
  AttentionWeights attention;
  bool wantsAttention = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_BATCHSEARCH_H
