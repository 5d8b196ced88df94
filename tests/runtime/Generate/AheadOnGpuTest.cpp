// SPDX-License-Identifier: Apache-2.0
///
/// Generators whose steps run ahead on the emulated GPU: the results and events of generators that
/// wait for every step, while requests are added, removed and evicted, and while calls of the
/// driver fail.
#include "heddle/Generation.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"

#include <algorithm>
#include <map>
#include <random>

namespace heddle {
namespace {

constexpr uint64_t blockBytes = 2 * fixture::width * HEDDLE_BLOCK * sizeof(float);

struct Kind {
  const char *name;
  fixture::ModelSpec (*spec)();
  bool hasSources = true;
  /// Whether many requests are beam searches.
  bool hasBeams = false;
};
const Kind kinds[] = {{"Caches", fixture::generatingModel},
                      {"CachesAndStates", fixture::averagingModel},
                      {"States", fixture::historylessModel},
                      {"Prompts", fixture::continuingModel, false},
                      {"BeamsOfCaches", fixture::generatingModel, true, true},
                      {"BeamsOfCachesAndStates", fixture::averagingModel, true, true},
                      {"BeamsOfStates", fixture::historylessModel, true, true},
                      {"BeamsOfPrompts", fixture::continuingModel, false, true}};

/// Returns a model that ends a sentence by many tokens, so that sentences end at all steps. Beam
/// searches need as many more tokens of a row.
Model modelOf(const Kind &kind) {
  fixture::ModelSpec spec = fixture::selecting(kind.spec());
  spec.generation->end.clear();
  for (int32_t token = 2; token < fixture::vocabulary; token += kind.hasBeams ? 401 : 23) {
    spec.generation->end.push_back(token);
  }
  Result<Model> model = loadOn("cuda", fixture::withDevice(spec), std::string(kind.name) + ".so");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

Generator generatorOf(const Model &model, GeneratorOptions options) {
  Result<Generator> generator = Generator::create(model, options);
  EXPECT_TRUE(generator.ok()) << generator.status().message();
  return *std::move(generator);
}

/// Returns whether a request waits for the host, because it considers more tokens of a row than the
/// device selects.
bool waits(size_t number) { return number % 12 == 7; }

/// Returns a request that depends only on its number. Most of them can run ahead.
GenerationRequest requestOf(size_t number, const Kind &kind) {
  std::mt19937_64 random(number + 1);
  std::vector<int32_t> tokens(1 + random() % 40);
  for (int32_t &token : tokens) {
    token = static_cast<int32_t>(random() % fixture::words);
  }
  GenerationRequest request;
  (kind.hasSources ? request.source : request.prefix) = tokens;
  GenerationOptions &options = request.options;
  options.beam = waits(number) ? 9 : kind.hasBeams ? static_cast<int32_t>(1 + number % 4) : 1;
  options.maxLength = static_cast<int32_t>(1 + random() % 40);
  options.tokenScores = number % 3 == 0;
  options.topScores = static_cast<int32_t>(number % 3);
  options.events = true;
  return request;
}

/// A generator, its results, and the tokens that its events have told.
struct Listener {
  /// Takes a step, and keeps what it gives.
  Status step() {
    Result<std::vector<GenerationResult>> step = generator.step();
    for (const TokenEvent &event : generator.takeEvents()) {
      std::vector<int32_t> &tokens = told[event.id];
      tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
    }
    if (!step.ok()) {
      return step.status();
    }
    for (GenerationResult &result : *step) {
      results[result.id] = std::move(result);
    }
    return {};
  }

  Generator generator;
  std::map<int64_t, GenerationResult> results = {};
  std::map<int64_t, std::vector<int32_t>> told = {};
};

class AheadOnGpu : public testing::TestWithParam<Kind> {
protected:
  static constexpr size_t numbers = 40;

  void SetUp() override {
    model.emplace(modelOf(GetParam()));
    for (size_t number = 0; number < numbers; ++number) {
      expected.push_back(alone(number));
    }
  }
  GenerationRequest request(size_t number) const { return requestOf(number, GetParam()); }
  /// Returns a target to score.
  ScoringRequest target() const {
    ScoringRequest request{.target = {5, 6, 7, 8}};
    (GetParam().hasSources ? request.source : request.prefix) = {1, 2, 3};
    return request;
  }
  /// Returns the result of a request in a generator that waits for each step.
  GenerationResult alone(size_t number) {
    Listener listener{generatorOf(*model, {.runAhead = false})};
    EXPECT_TRUE(listener.generator.add(request(number)).ok());
    while (!listener.generator.idle()) {
      const Status status = listener.step();
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) {
        break;
      }
    }
    EXPECT_EQ(listener.generator.stepUse().ahead, 0);
    return listener.results[0];
  }

  std::optional<Model> model;
  std::vector<GenerationResult> expected;
};
} // namespace

TEST_P(AheadOnGpu, GivesTheSameResults) {
  Listener listener{generatorOf(*model, {})};
  for (size_t number = 0; number < numbers; ++number) {
    if (!waits(number)) {
      ASSERT_TRUE(listener.generator.add(request(number)).ok());
    }
  }
  while (!listener.generator.idle()) {
    const Status status = listener.step();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  size_t number = 0;
  for (const auto &[id, result] : listener.results) {
    number += waits(number) ? 1 : 0;
    EXPECT_EQ(result.status.message(), "");
    EXPECT_EQ(result.hypotheses, expected[number++].hypotheses);
  }
  const StepUse use = listener.generator.stepUse();
  EXPECT_GT(use.steps, 10);
  // Prompts are computed in pieces first.
  EXPECT_GT(use.ahead, GetParam().hasSources ? use.steps - 2 : use.steps / 4)
      << testing::PrintToString(use.reasons);
  EXPECT_EQ(listener.generator.cacheUse().used, 0U);
}

TEST_P(AheadOnGpu, Soak) {
  std::mt19937_64 random(5);
  int64_t ahead = 0;
  size_t finished = 0;
  const std::vector<ScoringRequest> scored(3, target());
  const auto scores = *generatorOf(*model, {}).score(scored);
  // The cache is large, or is often full.
  for (uint64_t blocks : {400, 26, 16}) {
    blocks *= GetParam().hasBeams ? 2 : 1;
    SCOPED_TRACE(blocks);
    Listener listener{
        generatorOf(*model, {.session = {.cacheBytes = blocks * blockBytes}, .batchTokens = 150})};
    std::map<int64_t, size_t> running;
    for (int call = 0; call < 600; ++call) {
      const uint64_t what = random() % 12;
      if (what < 2 && running.size() < 10) {
        const size_t number = random() % numbers;
        const Result<int64_t> id = listener.generator.add(request(number));
        ASSERT_TRUE(id.ok());
        running[*id] = number;
      } else if (what == 2 && !running.empty()) {
        const auto some = std::next(running.begin(), std::ptrdiff_t(random() % running.size()));
        ASSERT_TRUE(listener.generator.remove(some->first).ok());
        running.erase(some);
      } else if (what == 3 && blocks > 100) {
        // Between two steps, while one is under way.
        ASSERT_EQ(*listener.generator.score(scored), scores);
      } else {
        const Status status = listener.step();
        ASSERT_TRUE(status.ok()) << status.message();
      }
      for (const auto &[id, result] : listener.results) {
        ASSERT_TRUE(running.contains(id));
        const GenerationResult &right = expected[running.at(id)];
        ASSERT_EQ(result.status.message(), "");
        ASSERT_EQ(result.hypotheses, right.hypotheses) << running.at(id);
        const std::vector<int32_t> &tokens = result.hypotheses.front().tokens;
        ASSERT_EQ(listener.told[id],
                  std::vector<int32_t>(tokens.begin() + result.prefix, tokens.end()));
        running.erase(id);
        ++finished;
      }
      listener.results.clear();
    }
    ahead += listener.generator.stepUse().ahead;
  }
  EXPECT_GT(ahead, 300);
  EXPECT_GT(finished, 80U);
}

/// After a failure of any call, what was told is the beginning of the answers, and the session says
/// what has failed.
TEST_P(AheadOnGpu, EveryCallMayFail) {
  // If there are beams, one, two and three hypotheses.
  const size_t some[] = {1, 2, 4};
  size_t failed = 0;
  for (const char *const function :
       {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
        "cuMemcpy2DAsync_v2", "cuEventCreate", "cuEventRecord", "cuEventSynchronize",
        "cuGraphLaunch", "cuStreamEndCapture", "cuLaunchKernel", "cuStreamSynchronize"}) {
    bool hasFailed = true;
    // Every call of the first steps, then some.
    for (long n = 1; hasFailed; n += n < 16 ? 1 : 13) {
      SCOPED_TRACE(testing::Message() << function << ", call " << n);
      {
        Listener listener{generatorOf(*model, {.session = {.cacheBytes = 100 * blockBytes}})};
        for (const size_t number : some) {
          ASSERT_TRUE(listener.generator.add(request(number)).ok());
        }
        EmulatedGpu::get().fail(function, n, 719);
        Status status;
        while (status.ok() && !listener.generator.idle()) {
          status = listener.step();
        }
        hasFailed = EmulatedGpu::get().hasFailed() != 0;
        EmulatedGpu::get().fail(nullptr, 0, 0);
        failed += status.ok() ? 0 : 1;
        if (!status.ok()) {
          EXPECT_NE(status.message().find(function), std::string::npos) << status.message();
          EXPECT_EQ(listener.step().message(), status.message());
        }
        for (const auto &[id, tokens] : listener.told) {
          const GenerationResult &right = expected[some[static_cast<size_t>(id)]];
          const std::vector<int32_t> &all = right.hypotheses.front().tokens;
          ASSERT_LE(tokens.size() + static_cast<size_t>(right.prefix), all.size());
          EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), all.begin() + right.prefix));
        }
        for (const auto &[id, result] : listener.results) {
          EXPECT_EQ(result.hypotheses, expected[some[static_cast<size_t>(id)]].hypotheses);
        }
      }
      // The context is unusable; the next one is new.
      model.reset();
      ASSERT_EQ(EmulatedGpu::get().leaks(), "");
      model.emplace(modelOf(GetParam()));
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(failed, 80U);
}

/// If a step cannot be launched, all steps before it are told, as without running ahead.
TEST_P(AheadOnGpu, NothingIsLostBeforeALaunchThatFails) {
  for (long n = 1; n < 12; n += 2) {
    SCOPED_TRACE(n);
    std::map<int64_t, std::vector<int32_t>> told[2];
    for (const bool isAhead : {true, false}) {
      Listener listener{generatorOf(*model, {.runAhead = isAhead})};
      GenerationRequest asked = request(0);
      asked.options.maxLength = 40;
      ASSERT_TRUE(listener.generator.add(asked).ok());
      asked = request(3);
      // Steps of beams have other graphs if they run ahead.
      asked.options.beam = 1;
      ASSERT_TRUE(listener.generator.add(asked).ok());
      EmulatedGpu::get().fail("cuGraphLaunch", n, 1);
      Status status;
      while (status.ok() && !listener.generator.idle()) {
        status = listener.step();
      }
      EmulatedGpu::get().fail(nullptr, 0, 0);
      told[isAhead ? 1 : 0] = listener.told;
    }
    EXPECT_EQ(told[0], told[1]);
    EXPECT_FALSE(told[0].empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AheadOnGpu, testing::ValuesIn(kinds),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace heddle
