// SPDX-License-Identifier: Apache-2.0
///
/// Returns the log-probabilities of targets and of single texts, in blocks; between blocks the
/// interpreter may run, and Ctrl-C is handled.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Given.h"

#include <algorithm>

namespace nb = nanobind;

namespace heddle::python {

/// Small enough that Ctrl-C does not wait long.
static constexpr size_t together = 64;

static nb::list arraysOf(std::vector<std::vector<float>> scores) {
  nb::list result;
  for (std::vector<float> &each : scores) {
    const size_t count = each.size();
    result.append(arrayOf(std::move(each), {count}));
  }
  return result;
}

static void append(std::vector<std::vector<float>> &all, std::vector<std::vector<float>> block) {
  std::move(block.begin(), block.end(), std::back_inserter(all));
}

nb::list Core::score(const nb::list &sources, const nb::list &targets, const Languages &languages,
                     bool truncate, bool addsEnd) const {
  const std::shared_ptr<Loaded> model = loaded();
  const std::shared_ptr<RunningBatch> batch = model->batch();
  const Generator &generator = batch->generator();
  const std::string_view what = nameOfSources(generator);
  const std::vector<Given> from = allGiven(sources, what);
  const std::vector<Given> to = allGiven(targets, "target");
  std::vector<std::vector<float>> scores;
  for (size_t first = 0; first < from.size(); first += together, checkSignals()) {
    const nb::gil_scoped_release unlocked;
    std::vector<ScoringRequest> requests;
    for (size_t i = first; i < std::min(first + together, from.size()); ++i) {
      Result<std::vector<int32_t>> source = sourceIds(generator, from[i], truncate);
      check(source.status().annotate(numbered(what, i)));
      Result<std::vector<int32_t>> target = targetIds(generator, to[i]);
      check(target.status().annotate(numbered("target", i)));
      ScoringRequest &request = requests.emplace_back();
      request.target = *std::move(target);
      request.addsEnd = addsEnd;
      languages.of(i, request.sourceLanguage, request.targetLanguage);
      check(checkTarget(model->model(), request.targetLanguage, to[i].isText)
                .annotate(numbered(what, i)));
      (generator.hasSources() ? request.source : request.prefix) = *std::move(source);
      check(generator.check(request).annotate(numbered(what, i)));
    }
    append(scores, python::take(model->score(requests)));
  }
  return arraysOf(std::move(scores));
}

nb::list Core::scoreTexts(const nb::list &texts, int64_t stride) const {
  const std::shared_ptr<Loaded> model = loaded();
  const std::shared_ptr<RunningBatch> batch = model->batch();
  const Generator &generator = batch->generator();
  const std::vector<Given> given = allGiven(texts, "text");
  std::vector<std::vector<float>> scores;
  for (size_t first = 0; first < given.size(); first += together, checkSignals()) {
    const nb::gil_scoped_release unlocked;
    std::vector<std::vector<int32_t>> block;
    for (size_t i = first; i < std::min(first + together, given.size()); ++i) {
      Result<std::vector<int32_t>> ids = sourceIds(generator, given[i], false);
      check(ids.status().annotate(numbered("text", i)));
      check(generator.checkText(*ids, stride).annotate(numbered("text", i)));
      block.push_back(*std::move(ids));
    }
    append(scores, python::take(model->scoreTexts(block, stride)));
  }
  return arraysOf(std::move(scores));
}

} // namespace heddle::python
