// SPDX-License-Identifier: Apache-2.0
///
/// The public class Generator: a compiled model's decoder and the searches over it.
#include "heddle/Generation.h"
#include "heddle/Limits.h"
#include "runtime/Generate/BatchSearch.h"
#include "runtime/Generate/Scoring.h"
#include "runtime/Session/ModelState.h"
#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tokenizer/TextStream.h"
#include "runtime/Tokenizer/Tokenizer.h"

#include <fmt/format.h>

namespace heddle {

namespace {
/// Decodes the text of an answer with a model's tokenizer.
class TokenizerPieces final : public TextPieces {
public:
  explicit TokenizerPieces(std::shared_ptr<const Tokenizer> kept)
      : tokenizer(std::move(kept)), stream(*tokenizer) {}
  Result<std::string> add(int32_t token) override { return stream.add(token); }
  Result<std::string> finish() override { return stream.finish(); }

private:
  std::shared_ptr<const Tokenizer> tokenizer;
  TextStream stream;
};
} // namespace

struct Generator::State {
  State(std::unique_ptr<PagedDecoder> paged, const GenerationDefaults &defaults,
        const GenerationLimits &limits, const BatchBounds &bounds)
      : decoder(std::move(paged)), defaults(defaults), limits(limits), bounds(bounds),
        constraints([this] { return targetTokenizer->tokenBytes(size_t(this->limits.vocabulary)); },
                    defaults.end),
        search(*decoder, defaults, withConstraints(limits), bounds,
               limits.hasText
                   ? NewText([this] { return std::make_unique<TokenizerPieces>(targetTokenizer); })
                   : NewText()) {}

  /// Adds the constraints of this generator, which need the texts of tokens.
  GenerationLimits withConstraints(GenerationLimits some) {
    some.constraints = some.hasText ? &constraints : nullptr;
    return some;
  }

  /// Returns the text of ids without special tokens; NotFound without a tokenizer.
  Result<std::string> decodeText(std::span<const int32_t> tokens) const;

  std::unique_ptr<PagedDecoder> decoder;
  GenerationDefaults defaults;
  GenerationLimits limits;
  int64_t contextLength = 0;
  BatchBounds bounds;
  Constraints constraints;
  BatchSearch search;
  std::shared_ptr<const Tokenizer> sourceTokenizer;
  std::shared_ptr<const Tokenizer> targetTokenizer;
  bool profiles = false;
};

static Status noTokenizer() {
  return HEDDLE_ERROR(NotFound, "the model has no tokenizer, expected one for text: token ids work "
                                "without");
}

/// Returns the ids of a text, truncated to `most` unless that is 0; NotFound without a tokenizer.
/// With `addTemplate` they are enclosed in the ids of the template.
static Result<std::vector<int32_t>> encodeText(const Tokenizer *tokenizer, std::string_view text,
                                               bool addTemplate, int64_t most = 0) {
  if (tokenizer == nullptr) {
    return noTokenizer();
  }
  return tokenizer->encode(text, addTemplate, static_cast<size_t>(most));
}

Result<std::string> Generator::State::decodeText(std::span<const int32_t> tokens) const {
  return targetTokenizer == nullptr ? noTokenizer() : targetTokenizer->decode(tokens);
}

static std::vector<int32_t> listOf(const flatbuffers::Vector<int32_t> *values) {
  return values == nullptr ? std::vector<int32_t>()
                           : std::vector<int32_t>(values->begin(), values->end());
}

static Result<GenerationDefaults> defaultsOf(const manifest::Generation &table) {
  GenerationDefaults defaults;
  const std::optional<Rules> rules = parseRules(table.rules()->string_view());
  if (!rules) {
    return HEDDLE_ERROR(Unsupported, fmt::format("the rules of the model are \"{}\", expected {}",
                                                 table.rules()->string_view(), ruleNamesListed));
  }
  defaults.start = listOf(table.start());
  defaults.end = listOf(table.end());
  defaults.forcedFirst = table.forced_first();
  defaults.forcedLast = table.forced_last();
  defaults.suppressed = listOf(table.suppressed());
  defaults.rules = *rules;
  defaults.maxLength = table.max_length();
  defaults.beam = table.beams();
  defaults.lengthPenalty = table.length_penalty();
  defaults.earlyStopping = table.early_stopping()     ? EarlyStopping::Yes
                           : table.never_stop_early() ? EarlyStopping::Never
                                                      : EarlyStopping::No;
  defaults.noRepeatNgram = table.no_repeat_ngram();
  defaults.repetitionPenalty = table.repetition_penalty();
  defaults.minLength = table.min_length();
  defaults.sample = table.sample();
  defaults.temperature = table.temperature();
  defaults.topK = table.top_k();
  defaults.topP = table.top_p();
  defaults.minP = table.min_p();
  return defaults;
}

/// Returns the limits set by the positions and vocabularies of a model.
static GenerationLimits limitsOf(const PagedDecoder &decoder, const GenerationDefaults &defaults) {
  GenerationLimits limits{.vocabulary = decoder.vocabulary(),
                          .longestSource = decoder.longestSource(),
                          .longestTarget = decoder.longestTarget(),
                          .hasSources = decoder.hasSources()};
  const EntryInfo *const encode = decoder.model().findEntry("encode");
  for (size_t i = 0; encode != nullptr && i < encode->inputs.size(); ++i) {
    // The decoder has checked that there is an input that is not optional.
    if (const PortInfo &input = encode->inputs[i]; !input.optional) {
      limits.sourceVocabulary = input.limit;
      limits.sourceWidth = input.element == ElementType::F32 ? input.shape.back() : 0;
      limits.sourceMultiple = encode->lengthMultiple;
      limits.sourceHasWidths = encode->hasWidths;
      limits.sourceLimits = encode->rowLimits;
    }
  }
  // A start token that is never generated is the first of the tasks.
  const EntryInfo *const decode = decoder.model().findEntry("decode");
  if (!defaults.start.empty() && defaults.start.front() == limits.vocabulary) {
    limits.commands = decode->inputs.front().limit - limits.vocabulary;
  }
  return limits;
}

Result<Generator> Generator::create(const Model &model, const GeneratorOptions &options) {
  return withoutExceptions([&]() -> Result<Generator> {
    if (options.batchTokens < 1) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("batches of {} tokens, expected at least 1",
                                                       options.batchTokens));
    }
    for (const int64_t most : {options.promptTokens, options.promptTokensBeside}) {
      if (most < 1) {
        return HEDDLE_ERROR(
            InvalidArgument,
            fmt::format("steps of {} tokens of prompts, expected at least 1", most));
      }
    }
    const manifest::Generation *const table = model.state->artifact->manifest().generation();
    if (table == nullptr || !PagedDecoder::supports(model)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: the model does not generate, expected one with a "
                                      "decoder",
                                      model.path()));
    }
    HEDDLE_ASSIGN(GenerationDefaults defaults, defaultsOf(*table));
    defaults.languages = model.languages();
    HEDDLE_ASSIGN(std::unique_ptr<PagedDecoder> decoder,
                  PagedDecoder::create(model, options.session));
    GenerationLimits limits = limitsOf(*decoder, defaults);
    limits.hasText = model.state->targetTokenizer != nullptr;
    BatchBounds bounds(options.batchTokens, options.promptTokens, options.promptTokensBeside);
    bounds.neverAhead = !options.runAhead         ? "the options say so"
                        : options.session.profile ? "launches are timed"
                                                  : "";
    auto state = std::make_unique<State>(std::move(decoder), defaults, limits, bounds);
    state->contextLength = table->context_length();
    state->sourceTokenizer = model.state->tokenizer;
    state->targetTokenizer = model.state->targetTokenizer;
    state->profiles = options.session.profile;
    return Generator(std::move(state));
  });
}

Generator::Generator(std::unique_ptr<State> state) : state(std::move(state)) {}
Generator::Generator(Generator &&other) noexcept = default;
Generator &Generator::operator=(Generator &&other) noexcept = default;
Generator::~Generator() = default;

Result<int64_t> Generator::add(GenerationRequest request) {
  return withoutExceptions([&]() -> Result<int64_t> {
    HEDDLE_TRY(setSourceLanguage(state->defaults.languages, request.options.sourceLanguage,
                                 request.source));
    return state->search.add(std::move(request));
  });
}

Status Generator::check(const GenerationRequest &request) const {
  return withoutExceptions([&]() -> Status {
    std::vector<int32_t> source = request.source;
    HEDDLE_TRY(
        setSourceLanguage(state->defaults.languages, request.options.sourceLanguage, source));
    return makeSettings(request, state->defaults, state->withConstraints(state->limits)).status();
  });
}

Status Generator::check(const ScoringRequest &request) const {
  return withoutExceptions([&]() -> Status {
    std::vector<int32_t> source = request.source;
    HEDDLE_TRY(setSourceLanguage(state->defaults.languages, request.sourceLanguage, source));
    return checkScoring(request, state->defaults, state->limits);
  });
}

Result<std::vector<GenerationResult>> Generator::step() {
  return withoutExceptions([&] { return state->search.step(); });
}

Status Generator::remove(int64_t id) {
  return withoutExceptions([&] { return state->search.remove(id); });
}

std::vector<TokenEvent> Generator::takeEvents() { return state->search.takeEvents(); }

Result<std::vector<int32_t>> Generator::agreed(int64_t id) const {
  return withoutExceptions([&] { return state->search.agreed(id); });
}

bool Generator::idle() const { return state->search.idle(); }
int64_t Generator::waiting() const { return state->search.waiting(); }
int64_t Generator::running() const { return state->search.running(); }
int64_t Generator::sharedTokens() const { return state->search.sharedTokens(); }
SelectionUse Generator::selectionUse() const { return state->search.selectionUse(); }
StepUse Generator::stepUse() const { return state->search.stepUse(); }
GenerationLaunches Generator::launches() const { return state->decoder->launches(); }
CacheUse Generator::cacheUse() const { return state->decoder->cacheUse(); }

Result<std::vector<std::vector<float>>> Generator::score(std::span<const ScoringRequest> requests) {
  return withoutExceptions([&]() -> Result<std::vector<std::vector<float>>> {
    std::vector<ScoringRequest> placed(requests.begin(), requests.end());
    for (ScoringRequest &request : placed) {
      HEDDLE_TRY(
          setSourceLanguage(state->defaults.languages, request.sourceLanguage, request.source));
    }
    return scoreTargets(*state->decoder, state->defaults, state->limits, state->bounds, placed);
  });
}

Result<std::vector<std::vector<float>>>
Generator::scoreTexts(std::span<const std::vector<int32_t>> texts, int64_t stride) {
  return withoutExceptions([&] {
    return heddle::scoreTexts(*state->decoder, state->defaults, state->limits, state->bounds, texts,
                              stride);
  });
}

Status Generator::checkText(std::span<const int32_t> text, int64_t stride) const {
  return withoutExceptions(
      [&] { return heddle::checkText(text, stride, state->defaults, state->limits); });
}

GenerationOptions Generator::filledIn(GenerationOptions options) const {
  return heddle::filledIn(std::move(options), state->defaults);
}

bool Generator::hasSources() const { return state->limits.hasSources; }

int64_t Generator::longestSource() const { return state->limits.longestSource; }

int64_t Generator::longestTarget() const { return state->limits.longestTarget; }
int64_t Generator::contextLength() const { return state->contextLength; }

int32_t Generator::sourcePad() const { return state->decoder->pad(); }

Result<std::vector<int32_t>> Generator::encodeSource(std::string_view text, bool truncate) const {
  return withoutExceptions([&] {
    return encodeText(state->sourceTokenizer.get(), text, true, truncate ? longestSource() : 0);
  });
}

Result<std::vector<int32_t>> Generator::encodeTarget(std::string_view text) const {
  return withoutExceptions([&] { return encodeText(state->targetTokenizer.get(), text, false); });
}

Result<std::vector<int32_t>> Generator::encodePrompt(std::string_view text) const {
  return withoutExceptions([&] { return encodeText(state->targetTokenizer.get(), text, true); });
}

Result<std::vector<int32_t>> Generator::encodeChat(std::string_view conversation,
                                                   std::string_view templateName) const {
  HEDDLE_ASSIGN(const std::string prompt,
                state->decoder->model().chatPrompt(conversation, templateName));
  return encodeTarget(prompt);
}

Result<std::string> Generator::decode(std::span<const int32_t> tokens) const {
  return withoutExceptions([&] { return state->decodeText(tokens); });
}

std::vector<DispatchProfile> Generator::profile() const {
  return state->profiles
             ? profileOf(*state->decoder->model().state->artifact, state->decoder->costs().costs())
             : std::vector<DispatchProfile>();
}

std::vector<DispatchRun> Generator::trace() const {
  const Executor &executor = state->decoder->costs();
  return traceOf(executor.costs(), executor.spans());
}

void Generator::resetProfile() { state->decoder->costs().resetCosts(); }

} // namespace heddle
