// SPDX-License-Identifier: Apache-2.0
///
/// The part of heddle.h for classifiers and rerankers.
#include "runtime/Session/CInterface.h"
#include "runtime/Session/Classifier.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

static_assert(HEDDLE_REGRESSION == static_cast<int>(Problem::Regression) &&
                  HEDDLE_SINGLE_LABEL == static_cast<int>(Problem::SingleLabel) &&
                  HEDDLE_MULTI_LABEL == static_cast<int>(Problem::MultiLabel),
              "heddle_problem has the numbers of Problem");

namespace {
/// The texts of a caller.
struct Texts {
  const char *const *texts;
  const size_t *lengths;
  const char *name;

  Result<std::string_view> at(size_t index) const {
    if (texts[index] == nullptr) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} {} is NULL", name, index + 1));
    }
    return std::string_view(texts[index],
                            lengths == nullptr ? std::strlen(texts[index]) : lengths[index]);
  }
};
} // namespace

static Status classify(Session &session, const Classifier &classifier,
                       std::span<const TokenPair> read, float *scores, int64_t capacity) {
  HEDDLE_TRY(checkArray("scores", scores, "capacity", capacity));
  const size_t needed = classifier.scoresOf(read);
  // A larger capacity than needed is allowed here.
  if (static_cast<uint64_t>(capacity) < needed) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("room for {} scores, the texts have {}", capacity, needed));
  }
  return classifier.run(session, read, {scores, needed});
}

static Status checkOfTexts(const Classifier &classifier) {
  return classifier.isOfTokens()
             ? HEDDLE_ERROR(Unsupported, "the classifier scores tokens, expected one of texts: "
                                         "heddle_session_run takes their ids")
             : Status();
}

} // namespace heddle

using namespace heddle;

int64_t heddle_model_label_count(const heddle_model *model) {
  return model == nullptr || !model->model.classifier()
             ? 0
             : static_cast<int64_t>(model->model.classifier()->labels.size());
}

const char *heddle_model_label(const heddle_model *model, int64_t index) {
  return index < 0 || index >= heddle_model_label_count(model)
             ? nullptr
             : model->model.classifier()->labels[static_cast<size_t>(index)].c_str();
}

int32_t heddle_model_problem(const heddle_model *model) {
  return model == nullptr || !model->model.classifier()
             ? HEDDLE_REGRESSION
             : static_cast<int32_t>(model->model.classifier()->problem);
}

heddle_error *heddle_model_tokenize_pair(const heddle_model *model, const char *first,
                                         size_t first_length, const char *second,
                                         size_t second_length, int32_t *ids, int32_t *type_ids,
                                         int64_t capacity, int64_t *count) {
  return guarded([&]() -> Status {
    if (model == nullptr || count == nullptr) {
      return missingPointer(model == nullptr ? "model" : "count");
    }
    if ((first == nullptr && first_length > 0) || (second == nullptr && second_length > 0)) {
      return missingPointer(first == nullptr && first_length > 0 ? "first" : "second");
    }
    HEDDLE_TRY(checkArray("ids", ids, "capacity", capacity));
    HEDDLE_TRY(checkArray("type_ids", type_ids, "capacity", capacity));
    HEDDLE_ASSIGN(const TokenPair pair,
                  model->model.tokenizePair({first, first_length}, {second, second_length}));
    *count = static_cast<int64_t>(pair.ids.size());
    if (*count > capacity) {
      return HEDDLE_ERROR(OutOfRange,
                          fmt::format("room for {} ids, the pair has {}", capacity, *count));
    }
    std::copy(pair.ids.begin(), pair.ids.end(), ids);
    std::copy(pair.typeIds.begin(), pair.typeIds.end(), type_ids);
    return {};
  });
}

heddle_error *heddle_session_classify(heddle_session *session, const char *const *texts,
                                      const size_t *text_lengths, const char *const *seconds,
                                      const size_t *second_lengths, int64_t count, float *scores,
                                      int64_t capacity) {
  return guarded([&]() -> Status {
    if (session == nullptr) {
      return missingPointer("session");
    }
    HEDDLE_TRY(checkArray("texts", texts, "count", count));
    HEDDLE_ASSIGN(const Classifier classifier, Classifier::of(session->session.model()));
    HEDDLE_TRY(checkOfTexts(classifier));
    const Texts first{texts, text_lengths, "text"}, second{seconds, second_lengths, "second text"};
    std::vector<TokenPair> read;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      HEDDLE_ASSIGN(const std::string_view text, first.at(i));
      std::optional<std::string_view> other;
      if (seconds != nullptr) {
        HEDDLE_ASSIGN(other, second.at(i));
      }
      Result<TokenPair> pair = classifier.read(text, other);
      HEDDLE_TRY_WITH(pair.status(), fmt::format("text {}", i + 1));
      read.push_back(*std::move(pair));
    }
    return classify(session->session, classifier, read, scores, capacity);
  });
}

heddle_error *heddle_session_rerank(heddle_session *session, const char *query, size_t query_length,
                                    const char *const *texts, const size_t *text_lengths,
                                    int64_t count, float *scores, int64_t capacity) {
  return guarded([&]() -> Status {
    if (session == nullptr || (query == nullptr && query_length > 0)) {
      return missingPointer(session == nullptr ? "session" : "query");
    }
    HEDDLE_TRY(checkArray("texts", texts, "count", count));
    HEDDLE_ASSIGN(const Classifier classifier, Classifier::of(session->session.model()));
    HEDDLE_TRY(classifier.checkCrossEncoder());
    const Texts given{texts, text_lengths, "text"};
    std::vector<TokenPair> read;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      HEDDLE_ASSIGN(const std::string_view text, given.at(i));
      Result<TokenPair> pair = classifier.read({query, query_length}, text);
      HEDDLE_TRY_WITH(pair.status(), fmt::format("text {}", i + 1));
      read.push_back(*std::move(pair));
    }
    return classify(session->session, classifier, read, scores, capacity);
  });
}
