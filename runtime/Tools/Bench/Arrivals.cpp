// SPDX-License-Identifier: Apache-2.0
///
/// Starts answers, times a few of their steps, then adds the sentences of a case and times every
/// step until these have their first tokens.
#include "runtime/Tools/Bench/Arrivals.h"

#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace heddle::tools {

using Clock = std::chrono::steady_clock;

namespace {
/// The prompt tokens of running answers, and the number of their steps that are timed alone.
constexpr int32_t runningSource = 16;
constexpr int plainSteps = 5;

class Arriving {
public:
  Arriving(CaseWork &work, const BenchOptions &options) : work(work), options(options) {}

  /// Adds the running answers, and waits until each of them has tokens.
  Status start(const GenerationOptions &search);
  /// Returns the median time of a few steps.
  Result<double> timePlainSteps();
  /// Adds the case. Returns the seconds of each step until its sentences are finished.
  Result<std::vector<double>> arrive();
  Status stop();

private:
  Result<double> step(int64_t &finished);

  CaseWork &work;
  const BenchOptions &options;
  std::vector<int64_t> running;
};
} // namespace

/// Runs a step and adds the number of finished requests to `finished`.
Result<double> Arriving::step(int64_t &finished) {
  const Clock::time_point begin = Clock::now();
  HEDDLE_ASSIGN(const std::vector<GenerationResult> results, work.generator.step());
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const GenerationResult &result : results) {
    HEDDLE_TRY(result.status);
    if (std::find(running.begin(), running.end(), result.id) != running.end()) {
      return HEDDLE_ERROR(Internal, "an answer that runs beside the case has ended");
    }
  }
  finished += static_cast<int64_t>(results.size());
  return seconds;
}

Status Arriving::start(const GenerationOptions &search) {
  const std::vector<std::vector<int32_t>> sources =
      randomSources(work.random, options.beside, std::min(runningSource, options.sourceLength), 0,
                    work.vocabulary);
  for (const std::vector<int32_t> &source : sources) {
    HEDDLE_ASSIGN(const int64_t id, work.generator.add(requestFor(work.generator, source, search)));
    running.push_back(id);
  }
  int64_t finished = 0;
  for (const int64_t id : running) {
    HEDDLE_ASSIGN(std::vector<int32_t> tokens, work.generator.agreed(id));
    const size_t prompt = work.generator.hasSources() ? 0 : sources.front().size();
    while (tokens.size() <= prompt) {
      HEDDLE_TRY(step(finished).status());
      HEDDLE_ASSIGN(tokens, work.generator.agreed(id));
    }
  }
  return {};
}

Result<double> Arriving::timePlainSteps() {
  std::vector<double> seconds;
  int64_t finished = 0;
  for (int each = 0; each < plainSteps; ++each) {
    HEDDLE_ASSIGN(const double one, step(finished));
    seconds.push_back(one);
  }
  return median(std::move(seconds));
}

Result<std::vector<double>> Arriving::arrive() {
  for (const std::vector<int32_t> &source : work.sources) {
    GenerationRequest request = requestFor(work.generator, source, work.search);
    HEDDLE_TRY(work.generator.add(std::move(request)).status());
  }
  std::vector<double> seconds;
  for (int64_t finished = 0; std::cmp_less(finished, work.sources.size());) {
    HEDDLE_ASSIGN(const double one, step(finished));
    seconds.push_back(one);
  }
  return seconds;
}

Status Arriving::stop() {
  for (const int64_t id : running) {
    HEDDLE_TRY(work.generator.remove(id));
  }
  running.clear();
  return {};
}

/// Returns the steps that the running answers must last: their first ones, those that are timed,
/// one for each piece of the case's prompts, and one for the first tokens.
static int64_t stepsBeside(const BenchOptions &options, const GenerationCase &each) {
  const int64_t piece = GeneratorOptions().promptTokensBeside;
  const int64_t prompts = int64_t(options.beside) * runningSource +
                          int64_t(each.batch) * each.beam * (options.sourceLength + 1);
  return 2 + plainSteps + each.batch + options.beside + (prompts + piece - 1) / piece;
}

/// Returns the search options of the running answers.
static GenerationOptions searchBeside(const CaseWork &work, const BenchOptions &options,
                                      const GenerationCase &each) {
  GenerationOptions search = work.search;
  search.beam = 1;
  search.maxLength =
      static_cast<int32_t>(std::min<int64_t>(stepsBeside(options, each), mostTokens));
  search.minLength = search.maxLength;
  return search;
}

Status checkArrivals(const CaseWork &work, const BenchOptions &options,
                     const GenerationCase &each) {
  const GenerationOptions search = searchBeside(work, options, each);
  const std::vector<int32_t> prompt(
      static_cast<size_t>(std::min(runningSource, options.sourceLength)), 0);
  const Status status = work.generator.check(requestFor(work.generator, prompt, search));
  if (status.ok()) {
    return {};
  }
  return optionError(fmt::format("--beside {}: {} steps are needed until all first tokens are "
                                 "there: {}",
                                 options.beside, *search.maxLength, status.message()));
}

Result<Arrivals> measureArrivals(const Model &model, const BenchOptions &options,
                                 const GenerationCase &each) {
  HEDDLE_ASSIGN(CaseWork work,
                makeCase(model, each, options.sourceLength, 1,
                         {.session = {.threads = options.threads}, .runAhead = options.runsAhead}));
  HEDDLE_ASSIGN(work.generator, Generator::create(model, {.session = {.threads = options.threads},
                                                          .runAhead = options.runsAhead}));
  const GenerationOptions beside = searchBeside(work, options, each);
  std::vector<double> first;
  std::vector<double> steps;
  std::vector<double> longest;
  const int64_t runs = options.runs > 0 ? options.runs : static_cast<int64_t>(fewestRuns);
  for (int64_t run = 0; run <= runs; ++run) {
    Arriving arriving(work, options);
    HEDDLE_TRY(arriving.start(beside));
    HEDDLE_ASSIGN(const double step, arriving.timePlainSteps());
    // The cache still holds the prompts of earlier runs.
    work.sources = randomSources(work.random, each.batch, options.sourceLength, 0, work.vocabulary);
    HEDDLE_ASSIGN(const std::vector<double> seconds, arriving.arrive());
    HEDDLE_TRY(arriving.stop());
    // The first run is for warming up.
    if (run > 0) {
      double sum = 0;
      for (const double one : seconds) {
        sum += one;
      }
      first.push_back(sum);
      steps.push_back(step);
      longest.push_back(*std::max_element(seconds.begin(), seconds.end()));
    }
  }
  return Arrivals{RunTimes(first), median(std::move(steps)), median(std::move(longest))};
}

} // namespace heddle::tools
