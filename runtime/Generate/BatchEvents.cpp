// SPDX-License-Identifier: Apache-2.0
///
/// Events and stop strings of unfinished answers. A sentence that starts again generates the same
/// answers, and events already reported are not repeated.
#include "runtime/Generate/BatchSearch.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace heddle {

// --- what hypotheses agree on ------------------------------------------------------------------

/// Truncates `common` to the prefix that it has in common with `tokens`.
static void cutToCommon(std::span<const int32_t> tokens,
                        std::optional<std::vector<int32_t>> &common) {
  if (!common) {
    common.emplace(tokens.begin(), tokens.end());
    return;
  }
  const auto differ = std::mismatch(common->begin(), common->end(), tokens.begin(), tokens.end());
  common->erase(differ.first, common->end());
}

std::vector<int32_t> BatchSearch::agreedOf(const Sentence &sentence) const {
  std::optional<std::vector<int32_t>> common;
  for (const Hypothesis &hypothesis : sentence.found) {
    cutToCommon(hypothesis.tokens, common);
  }
  for (const Running &running : sentence.searches) {
    for (const Hypothesis &hypothesis : running.search.finishedSoFar()) {
      cutToCommon(hypothesis.tokens, common);
    }
    for (const Beam &beam : running.search.beams()) {
      cutToCommon(beam.tokens, common);
    }
  }
  return std::move(common).value_or(std::vector<int32_t>());
}

Result<std::vector<int32_t>> BatchSearch::agreed(int64_t id) const {
  const auto is = [id](const SentencePointer &sentence) { return sentence->id == id; };
  if (std::any_of(queue.begin(), queue.end(), is)) {
    return std::vector<int32_t>();
  }
  const auto found = std::find_if(batch.begin(), batch.end(), is);
  if (found == batch.end()) {
    return HEDDLE_ERROR(NotFound, fmt::format("request {} is unknown, expected one that waits or "
                                              "runs",
                                              id));
  }
  return agreedOf(**found);
}

// --- events ------------------------------------------------------------------------------------

BatchSearch::Told
BatchSearch::afterPrefix(const Sentence &sentence, const std::vector<int32_t> &tokens,
                         const std::vector<float> &scores,
                         const std::vector<std::vector<TokenScore>> &topScores) const {
  return {std::span(tokens).subspan(sentence.settings.prefix.size()), scores, topScores};
}

/// Updates the text of an answer to its tokens. Only stop strings depend on the text: without them,
/// a token that has no text is reported with the answer, which continues.
Status BatchSearch::readOn(const Sentence &sentence, Answer &answer,
                           std::span<const int32_t> tokens, bool last) {
  if (!newText) {
    return {};
  }
  const std::vector<std::string> &stops = sentence.settings.stop;
  const size_t known = std::min(answer.text.tokens(), tokens.size());
  Status status = answer.text.add(tokens.subspan(known), last, newText, stops);
  if (!stops.empty()) {
    return status;
  }
  answer.textStatus = std::move(status);
  return {};
}

/// Reports what is new in an answer, if anything.
void BatchSearch::tell(const Sentence &sentence, int32_t sample, Answer &answer, const Told &told,
                       FinishReason finish) {
  const size_t from = std::min(answer.toldTokens, told.tokens.size());
  const std::string_view text = answer.text.certain();
  const size_t byte = std::min(answer.toldBytes, text.size());
  const bool isNews = from < told.tokens.size() || byte < text.size() || finish != FinishReason::No;
  if (answer.toldEnd || !isNews) {
    return;
  }
  const auto rest = [from](const auto &list) {
    const auto part = list.subspan(std::min(from, list.size()));
    return std::vector(part.begin(), part.end());
  };
  events.push_back({.id = sentence.id,
                    .sample = sample,
                    .tokens = rest(told.tokens),
                    .scores = rest(told.scores),
                    .topScores = rest(told.topScores),
                    .text = std::string(text.substr(byte)),
                    .finish = finish,
                    .status = answer.textStatus});
  answer.toldTokens = std::max(answer.toldTokens, told.tokens.size());
  answer.toldBytes = std::max(answer.toldBytes, text.size());
  answer.toldEnd = finish != FinishReason::No;
}

/// Ends the unfinished answers of a request that will not be finished. If memory is exhausted there
/// is no event: the caller of remove(), or the result, has the information.
void BatchSearch::tellEnds(Sentence &sentence, FinishReason finish, const Status &status) noexcept {
  if (!sentence.settings.events) {
    return;
  }
  try {
    // A sentence that has never left the queue has no answers yet.
    sentence.answers.resize(static_cast<size_t>(sentence.settings.answers()));
    for (size_t sample = 0; sample < sentence.answers.size(); ++sample) {
      if (std::exchange(sentence.answers[sample].toldEnd, true)) {
        continue;
      }
      events.push_back({.id = sentence.id,
                        .sample = static_cast<int32_t>(sample),
                        .finish = finish,
                        .status = status});
    }
  } catch (const std::bad_alloc &) {
    return;
  }
}

/// Runs after a step of a search with one hypothesis, before its hypothesis in the decoder is
/// updated.
Status BatchSearch::followSingle(Sentence &sentence, Running &running) {
  Answer &answer = sentence.answers[static_cast<size_t>(running.sample)];
  BeamSearch &search = running.search;
  const auto now = [&] {
    if (search.finished()) {
      const Hypothesis &found = search.finishedSoFar().front();
      return afterPrefix(sentence, found.tokens, found.tokenScores, found.topScores);
    }
    const Beam &beam = search.beams().front();
    return afterPrefix(sentence, beam.tokens, beam.tokenScores, beam.topScores);
  };
  HEDDLE_TRY(readOn(sentence, answer, now().tokens, search.finished()));
  if (answer.text.stopped() && !search.finished()) {
    search.stop();
  }
  if (!sentence.settings.events) {
    return {};
  }
  const FinishReason finish = answer.text.stopped() ? FinishReason::Stop
                              : search.finished()   ? search.finishedSoFar().front().finish
                                                    : FinishReason::No;
  tell(sentence, running.sample, answer, now(), finish);
  return {};
}

/// Runs after a step of searches with several hypotheses: reports their common prefix, and at the
/// end the best hypothesis.
Status BatchSearch::followAgreed(Sentence &sentence) {
  Answer &answer = sentence.answers.front();
  const bool last = sentence.searches.empty();
  if (last) {
    const Hypothesis &best = sentence.found.front();
    const Told told = afterPrefix(sentence, best.tokens, best.tokenScores, best.topScores);
    HEDDLE_TRY(readOn(sentence, answer, told.tokens, true));
    tell(sentence, 0, answer, told, best.finish);
    return {};
  }
  const std::vector<int32_t> common = agreedOf(sentence);
  const Beam &any = sentence.searches.front().search.beams().front();
  Told told = afterPrefix(sentence, common, any.tokenScores, any.topScores);
  told.scores = told.scores.first(std::min(told.scores.size(), told.tokens.size()));
  told.topScores = told.topScores.first(std::min(told.topScores.size(), told.tokens.size()));
  HEDDLE_TRY(readOn(sentence, answer, told.tokens, false));
  tell(sentence, 0, answer, told, FinishReason::No);
  return {};
}

/// Takes the results of a search. A search with one hypothesis knows where a stop string has ended
/// it.
void BatchSearch::takeFinished(Sentence &sentence, Running &running) {
  for (Hypothesis &hypothesis : running.search.takeFinished()) {
    hypothesis.sample = running.sample;
    if (!sentence.settings.stop.empty()) {
      const AnswerText &text = sentence.answers[static_cast<size_t>(running.sample)].text;
      hypothesis.finish = text.stopped() ? FinishReason::Stop : hypothesis.finish;
      hypothesis.text = text.certain();
    }
    insertByScore(sentence.found, std::move(hypothesis));
  }
}

} // namespace heddle
