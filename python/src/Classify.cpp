// SPDX-License-Identifier: Apache-2.0
///
/// Scores texts and pairs of texts in blocks; between blocks the interpreter may run, and Ctrl-C is
/// handled.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Texts.h"
#include "runtime/Session/Classifier.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace heddle::python {

namespace {
/// Texts, kept alive while they are read without the GIL.
struct GivenTexts {
  std::vector<nb::object> kept;
  std::vector<std::string_view> first;
  std::vector<std::optional<std::string_view>> second;
};
} // namespace

static GivenTexts givenTexts(const nb::list &texts, const nb::list &seconds) {
  GivenTexts given;
  const size_t count = std::min(nb::len(texts), nb::len(seconds));
  for (size_t i = 0; i < count; ++i) {
    const nb::object text = texts[i], second = seconds[i];
    given.kept.push_back(text);
    given.first.push_back(textOf(text, numbered("text", i)));
    given.second.emplace_back();
    if (!second.is_none()) {
      given.kept.push_back(second);
      given.second.back() = textOf(second, "the second of text " + std::to_string(i + 1));
    }
  }
  return given;
}

/// Encodes and scores the texts of a block.
static std::vector<float> classifyBlock(Session &session, const Classifier &classifier,
                                        const GivenTexts &given, size_t first,
                                        std::vector<TokenPair> &block) {
  for (TokenPair &text : block) {
    Result<TokenPair> read = classifier.read(given.first[first], given.second[first]);
    check(read.status().annotate(numbered("text", first)));
    text = *std::move(read);
    ++first;
  }
  std::vector<float> scores(classifier.scoresOf(block));
  check(classifier.run(session, block, scores));
  return scores;
}

/// Appends (ids, the text of each, scores [tokens, labels]) for each text of a block.
static void appendTokens(const Model &model, const Classifier &classifier,
                         std::span<const TokenPair> block, std::span<const float> scores,
                         nb::list &result) {
  for (size_t begin = 0; const TokenPair &text : block) {
    const auto rows = scores.subspan(begin, text.ids.size() * classifier.labels());
    begin += rows.size();
    result.append(nb::make_tuple(text.ids, take(model.textOfEach(text.ids)),
                                 arrayOf(std::vector<float>(rows.begin(), rows.end()),
                                         {text.ids.size(), classifier.labels()})));
  }
}

nb::object Core::classify(const nb::list &texts, const nb::list &seconds, size_t batch,
                          bool crossEncoder) const {
  const std::shared_ptr<Loaded> model = loaded();
  const Classifier classifier = python::take(Classifier::of(model->model()));
  if (crossEncoder) {
    check(classifier.checkCrossEncoder());
  }
  const Loaded::Lease session(*model, model->takeSession());
  const GivenTexts given = givenTexts(texts, seconds);
  const size_t count = given.first.size();
  std::vector<float> all;
  nb::list ofTokens;
  for (size_t first = 0; first < count; first += batch) {
    std::vector<TokenPair> block(std::min(batch, count - first));
    const std::vector<float> scores = [&] {
      const nb::gil_scoped_release unlocked;
      return classifyBlock(*session, classifier, given, first, block);
    }();
    if (classifier.isOfTokens()) {
      appendTokens(model->model(), classifier, block, scores, ofTokens);
    } else {
      all.insert(all.end(), scores.begin(), scores.end());
    }
    checkSignals();
  }
  if (classifier.isOfTokens()) {
    return ofTokens;
  }
  return arrayOf(std::move(all), {count, classifier.labels()});
}

} // namespace heddle::python
