// SPDX-License-Identifier: Apache-2.0
///
/// Text generation: requests join and leave a running batch at any step, beams included. An
/// encoder-decoder model answers a source; a decoder-only model continues a prompt, the prefix of
/// the request, whose source is empty.
///
///   HEDDLE_ASSIGN(heddle::Generator generator, heddle::Generator::create(model));
///   HEDDLE_ASSIGN(int64_t id, generator.add({.source = ids, .options = {.beam = 4}}));
///   while (!generator.idle()) {
///     HEDDLE_ASSIGN(std::vector<heddle::GenerationResult> finished, generator.step());
///   }
///
/// Tokens. Sources and targets are ids of the model; the start token is prepended to a target and
/// is never part of it. Scores are natural logarithms.
///
/// Determinism. The bits of a result depend on the request alone, not on the batch, the order of
/// calls or the number of threads. This holds for samples too.
///
/// Threads. A Generator may be used by only one thread at a time; it may use several itself.
///
/// Errors. add() rejects a request that is invalid (InvalidArgument) or does not fit the model
/// (OutOfRange) and changes nothing. If the cache is full, sentences wait. A sentence that does not
/// fit into an empty cache ends with its own ResourceExhausted.
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

/// The implementation whose rules decide when a hypothesis is finished, how it is scored, when the
/// search stops and how ties are broken. docs/generation.md has the table.
enum class Rules : uint8_t { Paper, Transformers, CTranslate2 };

/// When a beam search ends early.
enum class EarlyStopping : uint8_t {
  /// Whenever the rules' estimate allows it.
  No,
  /// As soon as the number of finished hypotheses equals the number of beams.
  Yes,
  /// Only when no live hypothesis can score better than the worst finished one.
  Never,
};

/// The reason why an answer ended.
enum class FinishReason : uint8_t {
  /// It has not ended.
  No,
  /// An end token was generated.
  End,
  /// It reached the maximum length, or no token may follow.
  Length,
  /// A stop string was generated.
  Stop,
  /// Its request was removed.
  Removed,
  /// Its request failed.
  Failed,
};

/// A token and its log-probability.
struct TokenScore {
  int32_t token = 0;
  float score = 0;
  bool operator==(const TokenScore &) const = default;
};

/// The maximum of GenerationOptions::topScores.
inline constexpr int32_t mostTopScores = 100;

/// Options of a search. Unset options take the defaults of the model or, if the model was made for
/// other rules, those of the rules.
struct GenerationOptions {
  std::optional<Rules> rules = std::nullopt;
  /// The number of live hypotheses; 1 means greedy search.
  std::optional<int32_t> beam = std::nullopt;
  /// The number of hypotheses in the result: at most `beam`, or any number of samples or
  /// alternatives.
  int32_t nbest = 1;
  /// Exponent of the length by which scores are divided; from -1e4 to 1e4.
  std::optional<float> lengthPenalty = std::nullopt;
  /// The weight of the coverage term: the sum of log(min(attention received, 1)) over source
  /// positions.
  float coveragePenalty = 0;
  /// The size of token n-grams that may not occur twice; 0 disables the rule.
  std::optional<int32_t> noRepeatNgram = std::nullopt;
  /// The penalty for repeated tokens: divides their positive scores and multiplies their negative
  /// ones; from 1e-6 to 1e6.
  std::optional<float> repetitionPenalty = std::nullopt;
  /// The minimum number of tokens before the end, and the maximum number generated, including the
  /// end.
  std::optional<int32_t> minLength = std::nullopt;
  std::optional<int32_t> maxLength = std::nullopt;
  std::optional<EarlyStopping> earlyStopping = std::nullopt;
  /// Whether to sample every token instead of taking the best one. Tokens are drawn from the
  /// distribution at this temperature, restricted to the topK most probable tokens (0: all), to the
  /// smallest set whose probabilities sum to topP, and to those with at least minP times the
  /// probability of the best token. A request that gives `beam` or asks for alternatives samples
  /// only if `sample` is set. A search that does not sample ignores these numbers.
  std::optional<bool> sample = std::nullopt;
  std::optional<float> temperature = std::nullopt;
  std::optional<int32_t> topK = std::nullopt;
  std::optional<float> topP = std::nullopt;
  std::optional<float> minP = std::nullopt;
  /// The seed of the random numbers; 0 if unset.
  std::optional<uint64_t> seed = std::nullopt;
  /// Whether the result has the `nbest` best first tokens after the prefix, each with its best
  /// continuation.
  bool alternatives = false;
  /// Tokens that are never generated, in addition to the model's.
  std::vector<int32_t> suppressed = {};
  /// The forced first token, and the forced last token at the maximum length. They add 0 to the
  /// score.
  std::optional<int32_t> forcedFirst = std::nullopt;
  std::optional<int32_t> forcedLast = std::nullopt;
  /// The task of a model with several; 0 if unset.
  std::optional<int32_t> command = std::nullopt;
  /// Texts that end an answer of a greedy search or a sample: its text ends before the first of
  /// them. They require a tokenizer.
  std::vector<std::string> stop = {};
  /// A JSON schema that constrains the answer (docs/json-schema.md); empty means no constraint. A
  /// token has probability zero if the answer could not become a conforming JSON text after it, and
  /// so has the end token before the text is complete. If the model has sources, the prefix is part
  /// of the answer. Requires a tokenizer whose decoding is the concatenation of its tokens' texts.
  std::string jsonSchema = {};
  /// Whether Hypothesis::tokenScores and Hypothesis::attention are computed.
  bool tokenScores = false;
  bool attention = false;
  /// The number of best tokens that Hypothesis::topScores has for each position.
  int32_t topScores = 0;
  /// Whether takeEvents() reports the request.
  bool events = false;
  /// The languages of the source and of the answer, by their names in Model::languages(); empty for
  /// the model's defaults. The source gets a language token where the tokenizer adds one.
  std::string sourceLanguage = {};
  std::string targetLanguage = {};
};

/// A sentence to generate from, or a prompt to continue.
struct GenerationRequest {
  /// At least one token, unless `rows` is given; empty if the model has no sources.
  std::vector<int32_t> source = {};
  /// The beginning of every hypothesis: the prompt, if the model has no sources. Its tokens do not
  /// count in scores and lengths.
  std::vector<int32_t> prefix = {};
  /// The only tokens that may be generated, besides the model's end token; empty: all.
  std::vector<int32_t> shortlist = {};
  GenerationOptions options = {};
  /// The rows of floats of the entry "encode", one after another, such as the pixels of an image,
  /// for models that read these instead of tokens.
  std::vector<float> rows = {};
  /// The width of the image in pixels, if EntryInfo::hasWidths.
  int32_t width = 0;
};

/// One result of a request.
struct Hypothesis {
  /// The prefix and the generated tokens, including the end token if the rules keep it.
  std::vector<int32_t> tokens;
  /// The score, normalised according to the rules.
  double score = 0;
  /// The log-probabilities of the generated tokens, including the end token; only if requested.
  std::vector<float> tokenScores = {};
  /// [generated tokens, source]: the last layer's attention to the tokens of the source, or to the
  /// rows that the encoder derives from them, averaged over its heads; only if requested.
  std::vector<float> attention = {};
  /// The best tokens at the position of each generated token, best first, which need not include
  /// that token; empty for a forced token. Only if requested.
  std::vector<std::vector<TokenScore>> topScores = {};
  FinishReason finish = FinishReason::No;
  /// The index of the sample, from 0.
  int32_t sample = 0;
  /// If stop strings are given: the text of the generated tokens, before the string that ended it.
  /// `tokens` includes the tokens of that string.
  std::string text = {};
  bool operator==(const Hypothesis &) const = default;
};

/// The tokens that a step has added to an answer, or the end of the answer.
struct TokenEvent {
  /// The id of the request, and the index of the sample.
  int64_t id = 0;
  int32_t sample = 0;
  /// The new tokens and, if requested, their log-probabilities and the best tokens at their
  /// positions.
  std::vector<int32_t> tokens = {};
  std::vector<float> scores = {};
  std::vector<std::vector<TokenScore>> topScores = {};
  /// The continuation of the answer's text; empty without a tokenizer. It has only whole
  /// characters, and no text that may be the beginning of a stop string: that follows in a later
  /// event.
  std::string text = {};
  /// `No` except in the last event of an answer, which alone may have no tokens.
  FinishReason finish = FinishReason::No;
  /// The error of the request if it failed, otherwise of a new token that the text lacks: the
  /// vocabulary of a model may be larger than that of its tokenizer.
  Status status = {};
};

/// The outcome of a request.
struct GenerationResult {
  int64_t id = 0;
  /// The error of this request alone; others continue.
  Status status;
  /// The hypotheses, best first; at most `nbest`.
  std::vector<Hypothesis> hypotheses;
  /// The number of tokens of the prefix, with which each hypothesis begins.
  int64_t prefix = 0;
  /// The number of these, including the start token, that were reused from other requests instead
  /// of being computed.
  int64_t shared = 0;
};

/// A translation, or a continuation of a prompt, to score. The model's end token is appended to a
/// target that lacks it.
struct ScoringRequest {
  std::vector<int32_t> source = {};
  std::vector<int32_t> target = {};
  /// The tokens before the target, which are not scored: the prompt, if the model has no sources.
  std::vector<int32_t> prefix = {};
  /// Whether the end token is appended.
  bool addsEnd = true;
  /// As in GenerationOptions. The language token of the target is not scored, unless the target
  /// begins with one.
  std::string sourceLanguage = {};
  std::string targetLanguage = {};
};

/// Options of a Generator.
struct GeneratorOptions {
  /// The threads, the limit on the memory for keys and values, and whether prompts share these.
  SessionOptions session = {};
  /// The maximum number of source tokens, or of tokens of prompts that are not shared, in the
  /// running batch, counted once for each hypothesis. A longer sentence runs alone.
  int64_t batchTokens = 4096;
  /// The maximum number of tokens of prompts and prefixes that a step computes. A longer prompt is
  /// computed in pieces, with the same bits, and its request can be removed between them.
  int64_t promptTokens = 512;
  /// The same for a step that also extends running answers: it bounds how long these wait for
  /// prompts.
  int64_t promptTokensBeside = 16;
  /// Whether a step may begin on a device before the one before it has ended (StepUse). Results are
  /// the same either way.
  bool runAhead = true;
};

/// The memory used by keys, values and states, in bytes.
struct CacheUse {
  /// The memory that running requests use.
  uint64_t used = 0;
  /// The memory kept for later prompts with the same prefix, until running requests need it.
  uint64_t kept = 0;
  /// SessionOptions::cacheBytes, which `used` + `kept` never exceeds.
  uint64_t limit = 0;
};

/// How searches have received the tokens after each row of their steps from a device with its own
/// memory; all empty on others.
struct SelectionUse {
  /// Rows whose best tokens were selected on the device, and rows whose logits were copied.
  int64_t selected = 0;
  int64_t copied = 0;
  /// The distinct reasons for copies, in the order in which they occurred.
  std::vector<std::string> reasons = {};
};

/// How the steps of searches followed each other on a device that selects tokens; all empty on
/// others.
struct StepUse {
  /// The steps, and those of them that began before the one before them had ended: the device went
  /// on with its own tokens, without waiting for the host.
  int64_t steps = 0;
  int64_t ahead = 0;
  /// The distinct reasons why other steps waited, in the order in which they occurred. (The first
  /// step waits for nothing.)
  std::vector<std::string> reasons = {};
};

/// Generates and scores sequences in a running batch.
class HEDDLE_API Generator {
public:
  /// Creates a generator; InvalidArgument if the model does not generate.
  static Result<Generator> create(const Model &model, const GeneratorOptions &options = {});

  Generator(Generator &&other) noexcept;
  Generator &operator=(Generator &&other) noexcept;
  ~Generator();

  /// Queues a request, which joins the batch as soon as there is room. Returns its id, which is
  /// never reused.
  Result<int64_t> add(GenerationRequest request);
  /// Checks a request as add() does, without adding it. May be called by any thread, even during a
  /// step().
  Status check(const GenerationRequest &request) const;

  /// Generates one token for every sentence of the batch whose prompt is computed, computes pieces
  /// of other prompts, and returns the finished sentences. An error applies to the whole batch,
  /// which is left unchanged.
  Result<std::vector<GenerationResult>> step();

  /// Removes a waiting or running request. May be called at any time. NotFound if the request is
  /// finished or never existed.
  Status remove(int64_t id);

  /// Returns the events since the last call of requests with GenerationOptions::events, in order.
  /// Each token is reported once, even if its sentence is preempted and starts again: in greedy
  /// searches and samples as soon as it is found; in beam searches and alternatives, which report
  /// the best answer, as soon as agreed() includes it.
  std::vector<TokenEvent> takeEvents();

  /// Returns the tokens that all hypotheses which may still become the best have in common, the
  /// prefix included: the best hypothesis will begin with them. With a single hypothesis, these are
  /// all of its tokens so far. They grow from step to step, but start again, with the same tokens,
  /// when a sentence is preempted. Empty for a waiting request; NotFound if it is finished or never
  /// existed.
  Result<std::vector<int32_t>> agreed(int64_t id) const;

  /// Returns whether no request waits or runs.
  bool idle() const;
  /// Return the number of waiting requests, and of requests in the running batch.
  int64_t waiting() const;
  int64_t running() const;
  /// Returns the number of prompt tokens so far that were reused from other requests instead of
  /// being computed.
  int64_t sharedTokens() const;
  /// Returns how the logits of the searches so far were used.
  SelectionUse selectionUse() const;
  /// Returns how the steps of the searches so far followed each other.
  StepUse stepUse() const;
  /// Returns what generation and scoring so far have told a device, with or without a profile.
  GenerationLaunches launches() const;
  /// Returns the current memory use of the cache.
  CacheUse cacheUse() const;

  /// Checks a request as score() does, without running it.
  Status check(const ScoringRequest &request) const;

  /// Returns the log-probability of every token of each target, including the end token.
  Result<std::vector<std::vector<float>>> score(std::span<const ScoringRequest> requests);

  /// Returns the log-probability of every token of each text given the tokens before it, for a
  /// model without sources. The first token has none, unless the model has a start token. A text
  /// with more tokens than the model has positions is scored in windows whose starts are `stride`
  /// tokens apart, and a token is scored in the first window that contains it; 0 means half of the
  /// positions. InvalidArgument for a text without a token to score, and for a stride if
  /// longestTarget() is 0.
  Result<std::vector<std::vector<float>>> scoreTexts(std::span<const std::vector<int32_t>> texts,
                                                     int64_t stride = 0);
  /// Checks a text as scoreTexts() does, without scoring it.
  Status checkText(std::span<const int32_t> text, int64_t stride = 0) const;

  /// Returns `options` with unset options replaced by the defaults of the model or of the rules. A
  /// minimum and maximum length that depend on the source stay unset.
  GenerationOptions filledIn(GenerationOptions options = {}) const;

  /// Returns whether requests have sources. Otherwise their prefixes are prompts, which are
  /// continued.
  bool hasSources() const;
  /// Returns the maximum length of a source in tokens, according to the model's positions; 0:
  /// unlimited.
  int64_t longestSource() const;
  /// Returns the maximum number of tokens that the decoder reads, including the start token and the
  /// prefix, according to the model's positions; 0 means unlimited.
  int64_t longestTarget() const;
  /// Returns the number of tokens of a prompt and its continuation that the model was trained for;
  /// 0: unknown. It is no limit, but what follows more tokens is rarely useful.
  int64_t contextLength() const;
  /// Returns the token that pads shorter sources in files; -1: none.
  int32_t sourcePad() const;
  /// Return the ids of a source, with the special tokens of its template, or of a target, without
  /// them. NotFound if the model has no tokenizer. With `truncate`, the text of a source is
  /// truncated, but not the template, so that the ids fit longestSource().
  Result<std::vector<int32_t>> encodeSource(std::string_view text, bool truncate = false) const;
  Result<std::vector<int32_t>> encodeTarget(std::string_view text) const;
  /// Returns the ids of a prompt, with the special tokens of its template.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text) const;
  /// Returns the ids of the prompt for a conversation, Model::chatPrompt(). The template has
  /// written the special tokens, so none are added.
  Result<std::vector<int32_t>> encodeChat(std::string_view conversation,
                                          std::string_view templateName = {}) const;
  /// Returns the text of a target, without special tokens.
  Result<std::string> decode(std::span<const int32_t> tokens) const;

  /// Return the cost of encoding and decoding, as in Session::profile() and Session::trace().
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
