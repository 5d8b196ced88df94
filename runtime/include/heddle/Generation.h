// SPDX-License-Identifier: Apache-2.0
///
/// Text generation with an encoder-decoder model: sentences join and leave a running batch at any
/// step, beams included.
///
///   HEDDLE_ASSIGN(heddle::Generator generator, heddle::Generator::create(model));
///   HEDDLE_ASSIGN(int64_t id, generator.add({.source = ids, .options = {.beam = 4}}));
///   while (!generator.idle()) {
///     HEDDLE_ASSIGN(std::vector<heddle::GenerationResult> finished, generator.step());
///   }
///
/// Tokens. Sources and targets are ids of the model; the start token is put before a target and
/// never part of one. Scores are natural logarithms.
///
/// Same request, same bits: a result depends on the request alone, not on the batch, the order of
/// calls or the number of threads; samples too.
///
/// Threads. A Generator belongs to one thread at a time; it may itself work with several.
///
/// Errors. add() refuses what makes no sense (InvalidArgument) or does not fit the model
/// (OutOfRange) and changes nothing. Where the cache is full, sentences wait: nothing is lost. A
/// sentence that does not fit into an empty cache ends with a ResourceExhausted of its own.
#ifndef HEDDLE_GENERATION_H
#define HEDDLE_GENERATION_H

#include "heddle/Export.h"
#include "heddle/Session.h"
#include "heddle/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// When a hypothesis is finished, what its score is, when to stop and how ties break: those of a
/// paper or program. docs/generation.md has the table.
enum class Rules : uint8_t { Paper, Transformers, CTranslate2 };

/// When a beam search ends early.
enum class EarlyStopping : uint8_t {
  /// By the estimate of the rules.
  No,
  /// As soon as there are as many finished hypotheses as beams.
  Yes,
  /// Only when no hypothesis can become better than the worst finished one.
  Never,
};

/// How to search. What is not set is as the binary says, or where that was made for other rules,
/// as the rules say.
struct GenerationOptions {
  std::optional<Rules> rules = std::nullopt;
  /// Hypotheses alive; 1 is greedy.
  std::optional<int32_t> beam = std::nullopt;
  /// Hypotheses in the result, at most `beam`; of samples and alternatives any number.
  int32_t nbest = 1;
  /// Exponent of the length that scores are divided by; from -1e4 to 1e4.
  std::optional<float> lengthPenalty = std::nullopt;
  /// Factor of the sum over source positions of log(min(attention received, 1)).
  float coveragePenalty = 0;
  /// Groups of so many tokens do not come twice; 0: they may.
  std::optional<int32_t> noRepeatNgram = std::nullopt;
  /// Divides positive and multiplies negative scores of tokens that are there already; from 1e-6
  /// to 1e6.
  std::optional<float> repetitionPenalty = std::nullopt;
  /// Tokens generated before the end may come, and tokens generated at most, the end included.
  std::optional<int32_t> minLength = std::nullopt;
  std::optional<int32_t> maxLength = std::nullopt;
  std::optional<EarlyStopping> earlyStopping = std::nullopt;
  /// Draws every token instead of taking the best: of the distribution at this temperature, the
  /// topK most probable ones (0: all), and the fewest whose probabilities add up to topP.
  bool sample = false;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  uint64_t seed = 0;
  /// The result has the `nbest` best first tokens after the prefix, each with its best rest.
  bool alternatives = false;
  /// Tokens that never come, besides those of the model.
  std::vector<int32_t> suppressed = {};
  /// The first token, and the last one when the maximum is reached; they add 0 to the score.
  std::optional<int32_t> forcedFirst = std::nullopt;
  std::optional<int32_t> forcedLast = std::nullopt;
  /// Whether Hypothesis::tokenScores and attention are filled.
  bool tokenScores = false;
  bool attention = false;
};

/// A sentence to generate from.
struct GenerationRequest {
  /// At least one token.
  std::vector<int32_t> source;
  /// What every hypothesis begins with; its tokens have no part in scores and lengths.
  std::vector<int32_t> prefix = {};
  /// The only tokens that may come, besides the model's end; empty: all.
  std::vector<int32_t> shortlist = {};
  GenerationOptions options = {};
};

/// One text for a sentence.
struct Hypothesis {
  /// Prefix and tokens generated; the end is among them where the rules keep it.
  std::vector<int32_t> tokens;
  /// As the rules normalise it.
  double score = 0;
  /// Log-probabilities of the tokens generated, the end included; when asked for.
  std::vector<float> tokenScores = {};
  /// [tokens generated, source]: where the last layer's heads looked on average, when asked for.
  std::vector<float> attention = {};
  bool operator==(const Hypothesis &) const = default;
};

/// What became of a request.
struct GenerationResult {
  int64_t id = 0;
  /// A failure of this sentence alone; the others go on.
  Status status;
  /// Best first; at most `nbest`.
  std::vector<Hypothesis> hypotheses;
};

/// A translation to score: the model's end is added to a target that lacks it.
struct ScoringRequest {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

/// How a Generator works.
struct GeneratorOptions {
  /// Its threads, and the bytes of keys and values at most.
  SessionOptions session = {};
  /// Source tokens, once for each hypothesis, in the running batch at most; a longer sentence runs
  /// alone.
  int64_t batchTokens = 4096;
};

/// Runs requests.
class HEDDLE_API Generator {
public:
  /// InvalidArgument for a model that does not generate.
  static Result<Generator> create(const Model &model, const GeneratorOptions &options = {});

  Generator(Generator &&other) noexcept;
  Generator &operator=(Generator &&other) noexcept;
  ~Generator();

  /// Queues a request; it joins the batch as soon as there is room. Answers its number, which is
  /// never used again.
  Result<int64_t> add(GenerationRequest request);
  /// What add() would answer, without adding.
  Status check(const GenerationRequest &request) const;

  /// Generates one token of every sentence of the batch, and answers those that are finished. A
  /// failure is of the whole batch, which then stays as it was.
  Result<std::vector<GenerationResult>> step();

  /// Forgets a request, whether it waits or runs. NotFound for one that is finished or never was.
  Status remove(int64_t id);

  /// Whether nothing waits and nothing runs.
  bool idle() const;
  /// Requests that wait, and requests in the running batch.
  int64_t waiting() const;
  int64_t running() const;

  /// What score() would say of a request, without running it.
  Status check(const ScoringRequest &request) const;

  /// The log-probability of every token of each target, its end included.
  Result<std::vector<std::vector<float>>> score(std::span<const ScoringRequest> requests);

  /// Tokens that a source may have, by the positions of the model; 0: any number.
  int64_t longestSource() const;
  /// The ids of a source, with the special tokens of its template, and of a target, without.
  /// NotFound when the model has no tokenizer. `truncate` cuts a source to longestSource(): its
  /// text, not the template.
  Result<std::vector<int32_t>> encodeSource(std::string_view text, bool truncate = false) const;
  Result<std::vector<int32_t>> encodeTarget(std::string_view text) const;
  /// The text of a target, without special tokens.
  Result<std::string> decode(std::span<const int32_t> tokens) const;

  /// What encoding and decoding have cost, as of a Session: see there.
  std::vector<DispatchProfile> profile() const;
  std::vector<DispatchRun> trace() const;
  void resetProfile();

private:
  struct HEDDLE_LOCAL State;
  explicit Generator(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace heddle

#endif // HEDDLE_GENERATION_H
