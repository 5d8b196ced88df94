// SPDX-License-Identifier: Apache-2.0
///
/// Tens of thousands of random calls on one Generator over a compiled model, with a cache that is
/// sometimes too small. Every result equals that of the request alone, removed requests give no
/// results, and memory does not grow.
#include "heddle/Generation.h"
#include "tests/runtime/Session/DecoderModel.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) ||                           \
    __has_feature(thread_sanitizer)
#include <sanitizer/allocator_interface.h>
static size_t liveBytes() { return __sanitizer_get_current_allocated_bytes(); }
#else
#include <malloc.h>
static size_t liveBytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}
#endif

namespace heddle {
namespace {

/// The number of different requests; each is generated alone once.
constexpr size_t kinds = 60;

std::vector<int32_t> tokensBelow(std::mt19937_64 &random, size_t most, uint64_t limit) {
  std::vector<int32_t> tokens(1 + random() % most);
  for (int32_t &token : tokens) {
    token = static_cast<int32_t>(random() % limit);
  }
  return tokens;
}

/// Returns a prompt that shares a beginning of some length with others.
std::vector<int32_t> promptOf(size_t number) {
  std::mt19937_64 random(number + 1), same(number % 4);
  std::vector<int32_t> prompt(150);
  for (int32_t &token : prompt) {
    token = static_cast<int32_t>(same() % fixture::vocabulary);
  }
  prompt.resize(random() % 8 == 0 ? 1 : random() % 150);
  const std::vector<int32_t> own = tokensBelow(random, 20, fixture::vocabulary);
  prompt.insert(prompt.end(), own.begin(), own.end());
  return prompt;
}

/// Returns a request that depends only on its number: greedy, beams, samples, alternatives; with
/// and without a prefix and a shortlist.
GenerationRequest requestOf(size_t number, bool answers) {
  std::mt19937_64 random(number + 1);
  GenerationRequest request;
  request.source = tokensBelow(random, number % 5 == 0 ? 60 : 12, fixture::words);
  request.options.maxLength = static_cast<int32_t>(1 + random() % 14);
  switch (number % 4) {
  case 0:
    request.options.beam = 1;
    break;
  case 1:
    request.options.sample = true;
    request.options.seed = number;
    request.options.topK = static_cast<int32_t>(random() % 20);
    request.options.nbest = static_cast<int32_t>(1 + random() % 3);
    break;
  default:
    request.options.beam = static_cast<int32_t>(2 + random() % 4);
    request.options.nbest = static_cast<int32_t>(1 + random() % 2);
  }
  request.options.tokenScores = number % 3 == 0;
  request.options.topScores = static_cast<int32_t>(number % 4);
  request.options.events = number % 2 == 0;
  request.options.attention = answers && number % 7 == 0;
  if (!answers) {
    request.source.clear();
    request.prefix = promptOf(number);
  } else if (number % 6 == 2) {
    request.prefix = tokensBelow(random, 3, fixture::vocabulary);
  }
  if (number % 6 == 3) {
    request.shortlist = tokensBelow(random, 200, fixture::vocabulary);
  }
  return request;
}

/// Returns the number of calls: as configured, or from the environment.
size_t callsOfSoak() {
  const char *const given = std::getenv("HEDDLE_SOAK_CALLS");
  // Memory is checked after each quarter.
  return given == nullptr ? HEDDLE_SOAK_CALLS
                          : std::max<size_t>(std::strtoull(given, nullptr, 10), 4);
}

struct SoakModel {
  const char *name;
  Model (*model)();
  int threads;
  /// The blocks of the cache.
  uint64_t blocks = 70;
};

class GeneratorSoak : public testing::TestWithParam<SoakModel> {
protected:
  /// Returns the result of a request in a separate Generator.
  const std::vector<Hypothesis> &alone(size_t number) {
    auto [entry, isNew] = known.try_emplace(number);
    if (isNew) {
      Result<Generator> generator = Generator::create(GetParam().model());
      EXPECT_TRUE(generator.ok() &&
                  generator->add(requestOf(number, generator->hasSources())).ok());
      while (!generator->idle()) {
        const Result<std::vector<GenerationResult>> results = generator->step();
        EXPECT_TRUE(results.ok()) << results.status().message();
        for (const GenerationResult &result : *results) {
          EXPECT_TRUE(result.status.ok()) << result.status.message();
          entry->second = result.hypotheses;
        }
      }
      EXPECT_FALSE(entry->second.empty());
    }
    return entry->second;
  }

  /// Runs one step and compares finished results.
  void step(Generator &generator) {
    const Result<std::vector<GenerationResult>> results = generator.step();
    ASSERT_TRUE(results.ok()) << results.status().message();
    for (const GenerationResult &result : *results) {
      const auto request = waiting.find(result.id);
      ASSERT_NE(request, waiting.end()) << "request " << result.id << " was removed or is done";
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      ASSERT_EQ(result.hypotheses, alone(request->second)) << "kind " << request->second;
      waiting.erase(request);
      ++finished;
    }
    for (const TokenEvent &event : generator.takeEvents()) {
      ended += event.finish != FinishReason::No ? 1 : 0;
    }
  }

  void removeAny(Generator &generator, std::mt19937_64 &random) {
    if (waiting.empty()) {
      EXPECT_EQ(generator.remove(-1).code(), StatusCode::NotFound);
      return;
    }
    const auto request =
        std::next(waiting.begin(), static_cast<ptrdiff_t>(random() % waiting.size()));
    ASSERT_TRUE(generator.remove(request->first).ok());
    ASSERT_EQ(generator.remove(request->first).code(), StatusCode::NotFound);
    waiting.erase(request);
    ++removed;
  }

  std::map<size_t, std::vector<Hypothesis>> known;
  /// Running requests by their ids.
  std::map<int64_t, size_t> waiting;
  size_t finished = 0;
  size_t removed = 0;
  /// The number of answers whose end was reported.
  size_t ended = 0;
};

} // namespace

TEST_P(GeneratorSoak, ResultsAreThoseAloneAndMemoryDoesNotGrow) {
  const size_t calls = callsOfSoak();
  for (size_t number = 0; number < kinds; ++number) {
    (void)alone(number);
  }
  ASSERT_FALSE(HasFailure());
  std::mt19937_64 random(11);
  Result<Generator> generator = Generator::create(
      GetParam().model(), {.session = {.threads = GetParam().threads,
                                       .schedule = Schedule::Cooperative,
                                       .cacheBytes = GetParam().blocks * blockBytes},
                           .batchTokens = 400,
                           .promptTokens = 50,
                           .promptTokensBeside = 7});
  ASSERT_TRUE(generator.ok()) << generator.status().message();
  std::vector<size_t> bytes;
  for (size_t call = 0; call < calls; ++call) {
    const uint64_t kind = random() % 10;
    if (kind < 3 && waiting.size() < 40) {
      const size_t number = random() % kinds;
      const Result<int64_t> id = generator->add(requestOf(number, generator->hasSources()));
      ASSERT_TRUE(id.ok()) << id.status().message();
      ASSERT_TRUE(waiting.emplace(*id, number).second);
    } else if (kind == 3) {
      removeAny(*generator, random);
    } else {
      step(*generator);
    }
    ASSERT_FALSE(HasFatalFailure()) << "call " << call;
    ASSERT_EQ(generator->waiting() + generator->running(), static_cast<int64_t>(waiting.size()));
    if ((call + 1) % (calls / 4) == 0) {
      while (!generator->idle()) {
        step(*generator);
        ASSERT_FALSE(HasFatalFailure());
      }
      ASSERT_EQ(generator->cacheUse().used, 0U);
      bytes.push_back(liveBytes());
    }
  }
  EXPECT_GT(finished, calls / 20);
  EXPECT_GT(removed, calls / 40);
  EXPECT_GT(ended, finished / 4);
  if (!generator->hasSources()) {
    EXPECT_GT(generator->sharedTokens(), static_cast<int64_t>(16 * finished));
  }
  // Lists keep their largest size, which half of the calls have reached.
  constexpr size_t slack = 64 << 10;
  EXPECT_LT(bytes.back(), bytes[1] + slack)
      << "bytes in use after each quarter: " << testing::PrintToString(bytes);
}

static const SoakModel soakModels[] = {{"Caches", generatingModel, 1},
                                       {"CachesAndStates", averagingModel, 2},
                                       {"Prompts", continuingModel, 1, 120},
                                       {"PromptsOfTwoThreads", continuingModel, 2, 60}};
INSTANTIATE_TEST_SUITE_P(Models, GeneratorSoak, testing::ValuesIn(soakModels),
                         [](const testing::TestParamInfo<SoakModel> &info) {
                           return info.param.name;
                         });

} // namespace heddle
