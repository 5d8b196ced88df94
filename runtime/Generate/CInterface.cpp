// SPDX-License-Identifier: Apache-2.0
///
/// The generation part of heddle.h, implemented with Generation.h.
#include "runtime/Session/CInterface.h"
#include "heddle/Generation.h"
#include "runtime/Generate/SearchRules.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

struct heddle_generation {
  heddle::GenerationResult result;
};

struct heddle_generator {
  heddle::Generator generator;
  std::deque<heddle::GenerationResult> finished;
};

namespace heddle {

/// A number that may be unset.
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
  result.sample = options.sample != 0;
  result.temperature = options.temperature;
  result.topK = options.top_k;
  result.topP = options.top_p;
  result.seed = options.seed;
  result.alternatives = options.alternatives != 0;
  if (options.command != HEDDLE_UNSET) {
    // Beyond every task, and of one type with the others.
    constexpr int64_t least = INT32_MIN + 1, most = INT32_MAX;
    result.command = static_cast<int32_t>(std::clamp(options.command, least, most));
  }
  return result;
}

/// The arguments of heddle_generator_add and heddle_generator_add_rows after the source.
struct AddedRequest {
  const int32_t *prefix;
  int64_t prefixCount;
  const heddle_generation_options *options;
  int64_t *id;
};

/// Queues a request whose source, the array `name`, is that member of it.
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
    const SessionOptions session = {.threads = wanted.threads, .cacheBytes = wanted.cache_bytes};
    HEDDLE_ASSIGN(
        Generator created,
        Generator::create(model->model, {.session = session, .batchTokens = wanted.batch_tokens}));
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
    HEDDLE_ASSIGN(std::vector<GenerationResult> results, generator->generator.step());
    for (GenerationResult &result : results) {
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
    return generator->generator.remove(id);
  });
}

int32_t heddle_generator_idle(const heddle_generator *generator) {
  return generator == nullptr || generator->generator.idle();
}

heddle_generation *heddle_generator_take(heddle_generator *generator) {
  if (generator == nullptr || generator->finished.empty()) {
    return nullptr;
  }
  auto *const generation =
      new (std::nothrow) heddle_generation{std::move(generator->finished.front())};
  if (generation != nullptr) {
    generator->finished.pop_front();
  }
  return generation;
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
