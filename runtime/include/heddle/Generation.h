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

/// Whose rules decide when a hypothesis is finished, how it is scored, when the search stops and
/// how ties break. docs/generation.md has the table.
enum class Rules : uint8_t { Paper, Transformers, CTranslate2 };

/// When a beam search ends early.
enum class EarlyStopping : uint8_t {
  /// Whenever the rules' estimate allows it.
  No,
  /// As soon as as many hypotheses are finished as there are beams.
  Yes,
  /// Only when no hypothesis can become better than the worst finished one.
  Never,
};

/// Why an answer has ended.
enum class FinishReason : uint8_t {
  /// It goes on.
  No,
  /// A token that ends answers.
  End,
  /// As many tokens as it may have, or none that may follow.
  Length,
  /// A stop string.
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

/// The most that GenerationOptions::topScores may be.
inline constexpr int32_t mostTopScores = 100;

/// How to search. Options left unset take the binary's defaults or, if the binary was made for
/// other rules, those of the rules.
struct GenerationOptions {
  std::optional<Rules> rules = std::nullopt;
  /// Live hypotheses; 1 means greedy search.
  std::optional<int32_t> beam = std::nullopt;
  /// Hypotheses in the result: at most `beam`, or any number of samples or alternatives.
  int32_t nbest = 1;
  /// Exponent of the length by which scores are divided; from -1e4 to 1e4.
  std::optional<float> lengthPenalty = std::nullopt;
  /// Weight of the coverage term: the sum over source positions of log(min(attention received, 1)).
  float coveragePenalty = 0;
  /// No group of this many tokens occurs twice; 0 turns the rule off.
  std::optional<int32_t> noRepeatNgram = std::nullopt;
  /// Penalty for repeated tokens: divides their positive scores and multiplies their negative ones;
  /// from 1e-6 to 1e6.
  std::optional<float> repetitionPenalty = std::nullopt;
  /// The fewest tokens before the end, and the most tokens generated, the end included.
  std::optional<int32_t> minLength = std::nullopt;
  std::optional<int32_t> maxLength = std::nullopt;
  std::optional<EarlyStopping> earlyStopping = std::nullopt;
  /// Draws every token instead of taking the best one. It is drawn from the distribution at this
  /// temperature, restricted to the topK most probable tokens (0: all), to the fewest whose
  /// probabilities add up to topP, and to those with at least minP times the probability of the
  /// best. A request that gives `beam` or asks for alternatives draws only if it says so here.
  /// Numbers are not read by a search that draws nothing.
  std::optional<bool> sample = std::nullopt;
  std::optional<float> temperature = std::nullopt;
  std::optional<int32_t> topK = std::nullopt;
  std::optional<float> topP = std::nullopt;
  std::optional<float> minP = std::nullopt;
  /// The seed of random numbers; 0 if unset.
  std::optional<uint64_t> seed = std::nullopt;
  /// The result has the `nbest` best first tokens after the prefix, each with its best
  /// continuation.
  bool alternatives = false;
  /// Tokens that are never generated, in addition to the model's.
  std::vector<int32_t> suppressed = {};
  /// The forced first token, and the forced last one at the maximum length. They add 0 to the
  /// score.
  std::optional<int32_t> forcedFirst = std::nullopt;
  std::optional<int32_t> forcedLast = std::nullopt;
  /// Which task, of a model of several; without it task 0.
  std::optional<int32_t> command = std::nullopt;
  /// Texts that end an answer of a greedy search or a sample: its text ends before the first of
  /// them. They need a tokenizer.
  std::vector<std::string> stop = {};
  /// The text of a JSON schema, docs/json-schema.md. Tokens after which the answer could not become
  /// a JSON text that follows it have no probability, and the end has one only after a whole text.
  /// The prefix is part of the answer where the model has sources. Empty: any answer. It needs a
  /// tokenizer whose text is that of its tokens, end to end.
  std::string jsonSchema = {};
  /// Whether Hypothesis::tokenScores and attention are filled.
  bool tokenScores = false;
  bool attention = false;
  /// How many of the best tokens Hypothesis::topScores has for each place.
  int32_t topScores = 0;
  /// Whether takeEvents() tells of the request.
  bool events = false;
  /// The languages of the source and of the answer, by their names in Model::languages(); empty:
  /// the model's defaults. The source has the token of a language where the tokenizer puts one.
  std::string sourceLanguage = {};
  std::string targetLanguage = {};
};

/// A sentence to generate from, or a prompt to continue.
struct GenerationRequest {
  /// At least one token, unless there are `rows`; none where the model has no sources.
  std::vector<int32_t> source = {};
  /// The beginning of every hypothesis: the prompt, where the model has no sources. Its tokens do
  /// not count in scores and lengths.
  std::vector<int32_t> prefix = {};
  /// The only tokens that may be generated, besides the model's end; empty: all.
  std::vector<int32_t> shortlist = {};
  GenerationOptions options = {};
  /// Instead of tokens, where the model reads those: the rows of floats of its entry "encode", end
  /// to end, such as the pixels of an image.
  std::vector<float> rows = {};
  /// The pixels in a row of these, where EntryInfo::hasWidths.
  int32_t width = 0;
};

/// One result for a sentence.
struct Hypothesis {
  /// The prefix and the generated tokens, including the end if the rules keep it.
  std::vector<int32_t> tokens;
  /// Normalised according to the rules.
  double score = 0;
  /// Log-probabilities of the generated tokens, the end included; only if requested.
  std::vector<float> tokenScores = {};
  /// [generated tokens, source]: the attention of the last layer to the tokens of the source, or to
  /// the rows that the model makes of them, averaged over its heads; only if requested.
  std::vector<float> attention = {};
  /// The best tokens at the place of each generated one, best first, of which that may be none; of
  /// a forced one there are none. Only if requested.
  std::vector<std::vector<TokenScore>> topScores = {};
  FinishReason finish = FinishReason::No;
  /// Which of the samples it is, from 0 on.
  int32_t sample = 0;
  /// With stop strings: the text of the generated tokens, before the string that ended it. The
  /// tokens include those of the string.
  std::string text = {};
  bool operator==(const Hypothesis &) const = default;
};

/// What a step has added to an answer, or its end.
struct TokenEvent {
  /// The request, and which of its samples.
  int64_t id = 0;
  int32_t sample = 0;
  /// The new tokens, and if requested their log-probabilities and the best tokens at their places.
  std::vector<int32_t> tokens = {};
  std::vector<float> scores = {};
  std::vector<std::vector<TokenScore>> topScores = {};
  /// What the answer's text goes on with; empty without a tokenizer. Whole characters only, and
  /// nothing that a stop string may begin with: these come with a later event.
  std::string text = {};
  /// Not `No` in the last event of an answer, the only one that may have no tokens.
  FinishReason finish = FinishReason::No;
  /// Why the request failed, if it did. Otherwise why one of the new tokens is not in the text: the
  /// vocabularies of models may be larger than those of their tokenizers.
  Status status = {};
};

/// The outcome of a request.
struct GenerationResult {
  int64_t id = 0;
  /// A failure of this sentence alone. The others go on.
  Status status;
  /// Best first; at most `nbest`.
  std::vector<Hypothesis> hypotheses;
  /// How many tokens the prefix has, with which each of them begins.
  int64_t prefix = 0;
  /// How many of these, the start included, were taken over from other requests, not computed.
  int64_t shared = 0;
};

/// A translation, or a continuation of a prompt, to score. The model's end is added to a target
/// that lacks it.
struct ScoringRequest {
  std::vector<int32_t> source = {};
  std::vector<int32_t> target = {};
  /// What comes before the target and is not scored: the prompt, where the model has no sources.
  std::vector<int32_t> prefix = {};
  /// Whether the end is added.
  bool addsEnd = true;
  /// As in GenerationOptions. The token of the target's language is not scored, unless the target
  /// begins with one.
  std::string sourceLanguage = {};
  std::string targetLanguage = {};
};

/// How a Generator works.
struct GeneratorOptions {
  /// Threads, the limit on memory for keys and values, and whether prompts share these.
  SessionOptions session = {};
  /// The most source tokens, or tokens of prompts that are not shared, in the running batch,
  /// counted once for each hypothesis. A longer sentence runs alone.
  int64_t batchTokens = 4096;
  /// The most tokens of prompts and prefixes that a step computes. A longer prompt is computed in
  /// pieces, with the same bits, and a request can be removed between them.
  int64_t promptTokens = 512;
  /// The same of a step that has running answers to extend: how long these wait for prompts.
  int64_t promptTokensBeside = 16;
};

/// Bytes of keys, values and states.
struct CacheUse {
  /// What running requests have.
  uint64_t used = 0;
  /// Kept for prompts that begin alike, until running requests need the memory.
  uint64_t kept = 0;
  /// SessionOptions::cacheBytes, which `used` never exceeds, nor both together.
  uint64_t limit = 0;
};

/// Runs requests.
class HEDDLE_API Generator {
public:
  /// InvalidArgument for a model that does not generate.
  static Result<Generator> create(const Model &model, const GeneratorOptions &options = {});

  Generator(Generator &&other) noexcept;
  Generator &operator=(Generator &&other) noexcept;
  ~Generator();

  /// Queues a request, which joins the batch as soon as there is room. Returns its id, which is
  /// never reused.
  Result<int64_t> add(GenerationRequest request);
  /// Checks a request as add() does, without adding it. Any thread may, also during a step().
  Status check(const GenerationRequest &request) const;

  /// Generates one token for every sentence of the batch whose prompt is computed, computes pieces
  /// of other prompts, and returns the finished ones. A failure concerns the whole batch, which
  /// then stays as it was.
  Result<std::vector<GenerationResult>> step();

  /// Removes a waiting or running request, at any time. NotFound if it is finished or never
  /// existed.
  Status remove(int64_t id);

  /// What has happened to requests with GenerationOptions::events since the last call, in order.
  /// Tokens come once each, also where a sentence gives way to others and begins again. Of greedy
  /// searches and samples they come as they are found; of beams and alternatives, whose best answer
  /// is told, as soon as agreed() has them.
  std::vector<TokenEvent> takeEvents();

  /// The tokens that every hypothesis which may still become the best has in common: what the best
  /// one will begin with, its prefix included. With one hypothesis, all of its tokens so far. They
  /// grow from step to step, but begin again when a sentence gives way to others; they come out the
  /// same. Empty for a request that waits; NotFound if it is finished or never existed.
  Result<std::vector<int32_t>> agreed(int64_t id) const;

  /// Whether no request waits or runs.
  bool idle() const;
  /// The number of waiting requests, and of requests in the running batch.
  int64_t waiting() const;
  int64_t running() const;
  /// The tokens of prompts that were taken over from other requests so far, not computed.
  int64_t sharedTokens() const;
  /// What the cache has now.
  CacheUse cacheUse() const;

  /// Checks a request as score() does, without running it.
  Status check(const ScoringRequest &request) const;

  /// The log-probability of every token of each target, its end included.
  Result<std::vector<std::vector<float>>> score(std::span<const ScoringRequest> requests);

  /// The log-probability of every token of each text after those before it, of a model without
  /// sources. The first token has none, unless the model has a start. A text of more tokens than
  /// the model has positions is scored in windows that begin `stride` tokens apart, and a token in
  /// the first window that has it; 0 stands for half of the positions. InvalidArgument for a text
  /// without a token to score, and for a stride where longestTarget() is 0.
  Result<std::vector<std::vector<float>>> scoreTexts(std::span<const std::vector<int32_t>> texts,
                                                     int64_t stride = 0);
  /// Checks a text as scoreTexts() does, without running it.
  Status checkText(std::span<const int32_t> text, int64_t stride = 0) const;

  /// The options as a request has them: those that are unset filled in with the model's or the
  /// rules' defaults. A minimum and maximum length that follow from the source stay unset.
  GenerationOptions filledIn(GenerationOptions options = {}) const;

  /// Whether requests have sources. Otherwise their prefixes are prompts, which are continued.
  bool hasSources() const;
  /// The most tokens of a source, limited by the model's positions; 0: any number.
  int64_t longestSource() const;
  /// The most tokens that the decoder reads, start and prefix included, limited by the model's
  /// positions; 0: any number.
  int64_t longestTarget() const;
  /// The token that sources in files end in where they are shorter than others; -1: none.
  int32_t sourcePad() const;
  /// The ids of a source, with the special tokens of its template, or of a target, without them.
  /// NotFound if the model has no tokenizer. `truncate` cuts the text of a source, not the
  /// template, so that all fit longestSource().
  Result<std::vector<int32_t>> encodeSource(std::string_view text, bool truncate = false) const;
  Result<std::vector<int32_t>> encodeTarget(std::string_view text) const;
  /// The ids of a prompt, with the special tokens of its template.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text) const;
  /// The ids of the prompt for a conversation, Model::chatPrompt(): its template has written the
  /// special tokens, so that none come around them.
  Result<std::vector<int32_t>> encodeChat(std::string_view conversation,
                                          std::string_view templateName = {}) const;
  /// The text of a target, without special tokens.
  Result<std::string> decode(std::span<const int32_t> tokens) const;

  /// The cost of encoding and decoding, as in Session::profile().
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
