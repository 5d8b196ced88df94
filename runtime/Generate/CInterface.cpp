// SPDX-License-Identifier: Apache-2.0
///
/// The generation part of heddle.h, implemented with Generation.h.
#include "runtime/Session/CInterface.h"
#include "heddle/Generation.h"
#include "runtime/Generate/SearchRules.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <fmt/format.h>

struct heddle_generation {
  heddle::GenerationResult result;
};

struct heddle_event {
  heddle::TokenEvent event;
};

struct heddle_generator {
  heddle::Generator generator;
  std::deque<heddle::GenerationResult> finished;
  std::deque<heddle::TokenEvent> events = {};
};

namespace heddle {

/// Returns a number that may be unset.
static std::optional<int32_t> given(int32_t value) {
  return value == HEDDLE_UNSET ? std::nullopt : std::optional(value);
}

static std::optional<float> given(float value) {
  return value == HEDDLE_UNSET_NUMBER ? std::nullopt : std::optional(value);
}

static Result<GenerationOptions> readOptions(const heddle_generation_options &options) {
  GenerationOptions result;
  if (options.rules != nullptr) {
    result.rules = parseRules(options.rules);
    if (!result.rules) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("rules are \"{}\", expected paper, "
                                                       "transformers or ctranslate2",
                                                       options.rules));
    }
  }
  result.beam = given(options.beam);
  result.nbest = options.nbest;
  result.lengthPenalty = given(options.length_penalty);
  result.coveragePenalty = options.coverage_penalty;
  result.noRepeatNgram = given(options.no_repeat_ngram);
  result.repetitionPenalty = given(options.repetition_penalty);
  result.minLength = given(options.min_length);
  result.maxLength = given(options.max_length);
  if (options.early_stopping != HEDDLE_UNSET) {
    result.earlyStopping = options.early_stopping != 0 ? EarlyStopping::Yes : EarlyStopping::No;
  }
  if (options.sample != HEDDLE_UNSET) {
    result.sample = options.sample != 0;
  }
  result.temperature = given(options.temperature);
  result.topK = given(options.top_k);
  result.topP = given(options.top_p);
  result.seed = options.seed;
  result.alternatives = options.alternatives != 0;
  if (options.command != HEDDLE_UNSET) {
    // `most` exceeds every task, and both have one type with the other values.
    constexpr int64_t least = INT32_MIN + 1, most = INT32_MAX;
    result.command = static_cast<int32_t>(std::clamp(options.command, least, most));
  }
  result.minP = given(options.min_p);
  result.tokenScores = options.token_scores != 0;
  result.topScores = options.top_scores;
  result.events = options.events != 0;
  const auto textOrEmpty = [](const char *text) { return text == nullptr ? "" : text; };
  result.sourceLanguage = textOrEmpty(options.source_language);
  result.targetLanguage = textOrEmpty(options.target_language);
  HEDDLE_TRY(checkArray("stop", options.stop, "stop_count", options.stop_count));
  for (int64_t i = 0; i < options.stop_count; ++i) {
    if (options.stop[i] == nullptr) {
      return missingPointer("stop");
    }
    result.stop.emplace_back(options.stop[i]);
  }
  result.jsonSchema = options.json_schema == nullptr ? "" : options.json_schema;
  return result;
}

static_assert(sizeof(heddle_token_score) == sizeof(TokenScore) &&
              offsetof(heddle_token_score, score) == offsetof(TokenScore, score));
static_assert(HEDDLE_FINISH_END == static_cast<int>(FinishReason::End) &&
              HEDDLE_FINISH_LENGTH == static_cast<int>(FinishReason::Length) &&
              HEDDLE_FINISH_STOP == static_cast<int>(FinishReason::Stop) &&
              HEDDLE_FINISH_REMOVED == static_cast<int>(FinishReason::Removed) &&
              HEDDLE_FINISH_FAILED == static_cast<int>(FinishReason::Failed));

/// Returns the elements of a list for a caller; null if it is empty.
template <typename T> static const T *listOf(const std::vector<T> &list, int64_t *count) {
  if (count != nullptr) {
    *count = static_cast<int64_t>(list.size());
  }
  return list.empty() ? nullptr : list.data();
}

/// Returns the list at an index.
static const heddle_token_score *listAt(const std::vector<std::vector<TokenScore>> &lists,
                                        int64_t place, int64_t *count) {
  static const std::vector<TokenScore> none;
  const bool exists = place >= 0 && place < static_cast<int64_t>(lists.size());
  return reinterpret_cast<const heddle_token_score *>(
      listOf(exists ? lists[static_cast<size_t>(place)] : none, count));
}

static const char *textOf(const std::string &text, size_t *length) {
  if (length != nullptr) {
    *length = text.size();
  }
  return text.c_str();
}

/// Returns the event, or an empty one for null.
static const TokenEvent &eventOf(const heddle_event *event) {
  static const TokenEvent none = {.id = -1};
  return event == nullptr ? none : event->event;
}

/// Returns one hypothesis of a generation, or an empty one.
static const Hypothesis &hypothesisOf(const heddle_generation *generation, int64_t index) {
  static const Hypothesis none;
  return index < 0 || index >= heddle_generation_count(generation)
             ? none
             : generation->result.hypotheses[static_cast<size_t>(index)];
}

static void takeEvents(heddle_generator &generator) {
  for (TokenEvent &event : generator.generator.takeEvents()) {
    generator.events.push_back(std::move(event));
  }
}

/// Takes the first element of a queue and returns it as an object of the caller, or null.
template <typename Object, typename T> static Object *takeFirst(std::deque<T> &queue) {
  auto *const taken = queue.empty() ? nullptr : new (std::nothrow) Object{std::move(queue.front())};
  if (taken != nullptr) {
    queue.pop_front();
  }
  return taken;
}

/// The arguments of heddle_generator_add and heddle_generator_add_rows after the source.
struct AddedRequest {
  const int32_t *prefix;
  int64_t prefixCount;
  const heddle_generation_options *options;
  int64_t *id;
};

/// Queues a request whose source, the array `name`, is the given member.
template <typename T>
static heddle_error *addRequest(heddle_generator *generator,
                                std::vector<T> GenerationRequest::*member, const char *name,
                                const T *source, const char *countName, int64_t count,
                                const AddedRequest &rest, int32_t width = 0) {
  return guarded([&]() -> Status {
    if (generator == nullptr || rest.id == nullptr) {
      return missingPointer(generator == nullptr ? "generator" : "id");
    }
    HEDDLE_TRY(checkArray(name, source, countName, count));
    HEDDLE_TRY(checkArray("prefix", rest.prefix, "prefix_count", rest.prefixCount));
    GenerationRequest request;
    (request.*member).assign(source, source + count);
    request.width = width;
    request.prefix.assign(rest.prefix, rest.prefix + rest.prefixCount);
    HEDDLE_ASSIGN(request.options,
                  readOptions(optionsOr(rest.options, HEDDLE_GENERATION_OPTIONS_INIT)));
    HEDDLE_ASSIGN(*rest.id, generator->generator.add(std::move(request)));
    return {};
  });
}

} // namespace heddle

using namespace heddle;

heddle_error *heddle_generator_create(const heddle_model *model,
                                      const heddle_generator_options *options,
                                      heddle_generator **generator) {
  return guarded([&]() -> Status {
    if (model == nullptr || generator == nullptr) {
      return missingPointer(model == nullptr ? "model" : "generator");
    }
    const heddle_generator_options wanted = optionsOr(options, HEDDLE_GENERATOR_OPTIONS_INIT);
    const SessionOptions session = {.threads = wanted.threads,
                                    .cacheBytes = wanted.cache_bytes,
                                    .sharePrefixes = wanted.share_prefixes != 0};
    const GeneratorOptions asked = {.session = session,
                                    .batchTokens = wanted.batch_tokens,
                                    .promptTokens = wanted.prompt_tokens,
                                    .promptTokensBeside = wanted.prompt_tokens_beside};
    HEDDLE_ASSIGN(Generator created, Generator::create(model->model, asked));
    *generator = new heddle_generator{std::move(created), {}};
    return {};
  });
}

void heddle_generator_free(heddle_generator *generator) { delete generator; }

heddle_error *heddle_generator_add(heddle_generator *generator, const int32_t *source,
                                   int64_t source_count, const int32_t *prefix,
                                   int64_t prefix_count, const heddle_generation_options *options,
                                   int64_t *id) {
  return addRequest(generator, &GenerationRequest::source, "source", source, "source_count",
                    source_count, {prefix, prefix_count, options, id});
}

heddle_error *heddle_generator_add_rows(heddle_generator *generator, const float *rows,
                                        int64_t count, const int32_t *prefix, int64_t prefix_count,
                                        const heddle_generation_options *options, int64_t *id) {
  return addRequest(generator, &GenerationRequest::rows, "rows", rows, "count", count,
                    {prefix, prefix_count, options, id});
}

heddle_error *heddle_generator_add_image(heddle_generator *generator, const float *rows,
                                         int64_t count, int32_t width, const int32_t *prefix,
                                         int64_t prefix_count,
                                         const heddle_generation_options *options, int64_t *id) {
  return addRequest(generator, &GenerationRequest::rows, "rows", rows, "count", count,
                    {prefix, prefix_count, options, id}, width);
}

heddle_error *heddle_generator_step(heddle_generator *generator) {
  return guarded([&]() -> Status {
    if (generator == nullptr) {
      return missingPointer("generator");
    }
    Result<std::vector<GenerationResult>> results = generator->generator.step();
    takeEvents(*generator);
    HEDDLE_TRY(results.status());
    for (GenerationResult &result : *results) {
      generator->finished.push_back(std::move(result));
    }
    return {};
  });
}

heddle_error *heddle_generator_remove(heddle_generator *generator, int64_t id) {
  return guarded([&]() -> Status {
    if (generator == nullptr) {
      return missingPointer("generator");
    }
    const Status removed = generator->generator.remove(id);
    takeEvents(*generator);
    return removed;
  });
}

int64_t heddle_generator_shared_tokens(const heddle_generator *generator) {
  return generator == nullptr ? 0 : generator->generator.sharedTokens();
}

heddle_error *heddle_generator_cache_use(const heddle_generator *generator, uint64_t *used,
                                         uint64_t *kept, uint64_t *limit) {
  return guarded([&]() -> Status {
    if (generator == nullptr) {
      return missingPointer("generator");
    }
    const CacheUse use = generator->generator.cacheUse();
    for (const auto &[to, value] :
         {std::pair(used, use.used), std::pair(kept, use.kept), std::pair(limit, use.limit)}) {
      if (to != nullptr) {
        *to = value;
      }
    }
    return {};
  });
}

int32_t heddle_generator_idle(const heddle_generator *generator) {
  return generator == nullptr || generator->generator.idle();
}

heddle_generation *heddle_generator_take(heddle_generator *generator) {
  return generator == nullptr ? nullptr : takeFirst<heddle_generation>(generator->finished);
}

void heddle_generation_free(heddle_generation *generation) { delete generation; }

int64_t heddle_generation_id(const heddle_generation *generation) {
  return generation == nullptr ? -1 : generation->result.id;
}

heddle_error *heddle_generation_error(const heddle_generation *generation) {
  return guarded([&]() -> Status {
    return generation == nullptr ? missingPointer("generation") : generation->result.status;
  });
}

int64_t heddle_generation_count(const heddle_generation *generation) {
  return generation == nullptr ? 0 : static_cast<int64_t>(generation->result.hypotheses.size());
}

const int32_t *heddle_generation_tokens(const heddle_generation *generation, int64_t index,
                                        int64_t *count, double *score) {
  if (index < 0 || index >= heddle_generation_count(generation)) {
    return nullptr;
  }
  const Hypothesis &hypothesis = generation->result.hypotheses[static_cast<size_t>(index)];
  if (count != nullptr) {
    *count = static_cast<int64_t>(hypothesis.tokens.size());
  }
  if (score != nullptr) {
    *score = hypothesis.score;
  }
  return hypothesis.tokens.data();
}

int32_t heddle_generation_finish(const heddle_generation *generation, int64_t index) {
  return static_cast<int32_t>(hypothesisOf(generation, index).finish);
}

int32_t heddle_generation_sample(const heddle_generation *generation, int64_t index) {
  return hypothesisOf(generation, index).sample;
}

const float *heddle_generation_scores(const heddle_generation *generation, int64_t index,
                                      int64_t *count) {
  return listOf(hypothesisOf(generation, index).tokenScores, count);
}

const heddle_token_score *heddle_generation_top_scores(const heddle_generation *generation,
                                                       int64_t index, int64_t place,
                                                       int64_t *count) {
  return listAt(hypothesisOf(generation, index).topScores, place, count);
}

const char *heddle_generation_text(const heddle_generation *generation, int64_t index,
                                   size_t *length) {
  return index < 0 || index >= heddle_generation_count(generation)
             ? nullptr
             : textOf(hypothesisOf(generation, index).text, length);
}

int64_t heddle_generation_shared(const heddle_generation *generation) {
  return generation == nullptr ? 0 : generation->result.shared;
}

heddle_event *heddle_generator_take_event(heddle_generator *generator) {
  return generator == nullptr ? nullptr : takeFirst<heddle_event>(generator->events);
}

void heddle_event_free(heddle_event *event) { delete event; }

int64_t heddle_event_id(const heddle_event *event) { return eventOf(event).id; }

int32_t heddle_event_sample(const heddle_event *event) { return eventOf(event).sample; }

const int32_t *heddle_event_tokens(const heddle_event *event, int64_t *count) {
  return listOf(eventOf(event).tokens, count);
}

const float *heddle_event_scores(const heddle_event *event, int64_t *count) {
  return listOf(eventOf(event).scores, count);
}

const heddle_token_score *heddle_event_top_scores(const heddle_event *event, int64_t place,
                                                  int64_t *count) {
  return listAt(eventOf(event).topScores, place, count);
}

const char *heddle_event_text(const heddle_event *event, size_t *length) {
  return textOf(eventOf(event).text, length);
}

int32_t heddle_event_finish(const heddle_event *event) {
  return static_cast<int32_t>(eventOf(event).finish);
}

heddle_error *heddle_event_error(const heddle_event *event) {
  return guarded(
      [&]() -> Status { return event == nullptr ? missingPointer("event") : event->event.status; });
}

heddle_error *heddle_generator_decode(const heddle_generator *generator, const int32_t *tokens,
                                      int64_t count, char *text, size_t capacity, size_t *length) {
  return guarded([&]() -> Status {
    if (generator == nullptr || length == nullptr) {
      return missingPointer(generator == nullptr ? "generator" : "length");
    }
    if (text == nullptr && capacity > 0) {
      return missingPointer("text");
    }
    HEDDLE_TRY(checkArray("tokens", tokens, "count", count));
    HEDDLE_ASSIGN(const std::string decoded,
                  generator->generator.decode({tokens, static_cast<size_t>(count)}));
    *length = decoded.size();
    if (capacity <= decoded.size()) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("room for {} bytes, the text has {} and a zero",
                                                  capacity, decoded.size()));
    }
    std::memcpy(text, decoded.c_str(), decoded.size() + 1);
    return {};
  });
}

heddle_error *heddle_generator_encode_chat(const heddle_generator *generator,
                                           const char *conversation, const char *template_name,
                                           int32_t *ids, int64_t capacity, int64_t *count) {
  return guarded([&]() -> Status {
    if (generator == nullptr || conversation == nullptr || count == nullptr) {
      return missingPointer(generator == nullptr      ? "generator"
                            : conversation == nullptr ? "conversation"
                                                      : "count");
    }
    HEDDLE_TRY(checkArray("ids", ids, "capacity", capacity));
    HEDDLE_ASSIGN(const std::vector<int32_t> prompt,
                  generator->generator.encodeChat(conversation,
                                                  template_name == nullptr ? "" : template_name));
    *count = static_cast<int64_t>(prompt.size());
    if (*count > capacity) {
      return HEDDLE_ERROR(
          OutOfRange, fmt::format("room for {} ids, the prompt has {}", capacity, prompt.size()));
    }
    std::copy(prompt.begin(), prompt.end(), ids);
    return {};
  });
}
