// SPDX-License-Identifier: Apache-2.0
///
/// Prompts with a common beginning compute it once, in a batch and consecutively, as long as there
/// is memory, with the same answers.
#include "heddle/Generation.h"
#include "tests/runtime/Session/DecoderModel.h"

#include <map>

using namespace heddle;

namespace {
/// Returns a request with `shared` tokens that all prompts have, and `own` tokens.
GenerationRequest requestOf(size_t shared, size_t own, uint32_t number,
                            GenerationOptions options = {.beam = 1, .maxLength = 4}) {
  std::mt19937 same(1), random(number + 2);
  GenerationRequest request{.prefix = randomTokens(same, shared, fixture::vocabulary),
                            .options = std::move(options)};
  const Tokens rest = randomTokens(random, own, fixture::vocabulary);
  request.prefix.insert(request.prefix.end(), rest.begin(), rest.end());
  return request;
}

Generator generatorOf(GeneratorOptions options = {}, const Model &model = continuingModel()) {
  Result<Generator> generator = Generator::create(model, options);
  EXPECT_EQ(generator.status().message(), "");
  return *std::move(generator);
}

/// Runs requests together; returns their results by number.
std::map<int64_t, GenerationResult> run(Generator &generator,
                                        const std::vector<GenerationRequest> &requests) {
  std::map<int64_t, GenerationResult> results;
  for (const GenerationRequest &request : requests) {
    EXPECT_EQ(generator.add(request).status().message(), "");
  }
  while (!generator.idle()) {
    Result<std::vector<GenerationResult>> step = generator.step();
    EXPECT_EQ(step.status().message(), "");
    for (GenerationResult &result : *step) {
      EXPECT_EQ(result.status.message(), "");
      results[result.id] = std::move(result);
    }
    const CacheUse use = generator.cacheUse();
    EXPECT_LE(use.used + use.kept, use.limit);
  }
  EXPECT_EQ(generator.cacheUse().used, 0U);
  return results;
}

std::vector<GenerationRequest> alike(size_t count) {
  std::vector<GenerationRequest> requests;
  for (uint32_t number = 0; number < count; ++number) {
    requests.push_back(requestOf(100, 5, number));
  }
  return requests;
}
} // namespace

TEST(SharedPrefixes, AreComputedOnceByRequestsThatComeTogether) {
  Generator generator = generatorOf({.batchTokens = 200});
  const std::vector<GenerationRequest> requests = alike(12);
  const auto results = run(generator, requests);
  ASSERT_EQ(results.size(), 12U);
  // Whole blocks of all but the first.
  EXPECT_EQ(generator.sharedTokens(), 11 * 96);
  for (const auto &[id, result] : results) {
    EXPECT_EQ(result.shared, id == 0 ? 0 : 96);
    Generator alone = generatorOf();
    EXPECT_EQ(run(alone, {requests[static_cast<size_t>(id)]})[0].hypotheses, result.hypotheses);
  }
}

TEST(SharedPrefixes, AreKeptForRequestsThatComeLater) {
  Generator generator = generatorOf();
  const GenerationRequest first = requestOf(100, 5, 0);
  const Tokens answer = run(generator, {first})[0].hypotheses.front().tokens;
  EXPECT_EQ(generator.cacheUse().kept, 6 * blockBytes);
  EXPECT_EQ(run(generator, {requestOf(100, 5, 1)})[1].shared, 96);
  // All but the last token, in pieces that end within blocks.
  EXPECT_EQ(run(generator, {first})[2].shared, 96);
  // The answer's blocks are kept too: a conversation continues from there.
  GenerationRequest more = {.prefix = answer, .options = {.beam = 1, .maxLength = 4}};
  more.prefix.resize(answer.size() - 1);
  more.prefix.insert(more.prefix.end(), 20, 9);
  EXPECT_EQ(run(generator, {more})[3].shared,
            static_cast<int64_t>((answer.size() - 1) / HEDDLE_BLOCK * HEDDLE_BLOCK));
}

TEST(SharedPrefixes, AreTakenOverInTheMiddleOfABlock) {
  // Pieces of seven: a second prompt has part of a block already when the first completes it.
  Generator generator = generatorOf({.promptTokens = 7, .promptTokensBeside = 7});
  std::vector<GenerationRequest> requests = alike(2);
  requests[0].prefix.resize(103);
  const auto results = run(generator, requests);
  EXPECT_EQ(results.at(1).shared, 96);
  for (const auto &[id, result] : results) {
    Generator alone = generatorOf();
    EXPECT_EQ(run(alone, {requests[static_cast<size_t>(id)]})[0].hypotheses, result.hypotheses);
  }
}

TEST(SharedPrefixes, GiveWayToWhatRuns) {
  // Twelve blocks: a prompt has seven, and an answer may need one more.
  Generator generator = generatorOf({.session = {.cacheBytes = 12 * blockBytes}});
  for (uint32_t number = 0; number < 10; ++number) {
    GenerationRequest request = requestOf(number % 2 == 0 ? 100 : 0, 5, number);
    if (number % 2 == 1) {
      std::mt19937 random(number);
      request.prefix = randomTokens(random, 110, fixture::vocabulary);
    }
    const auto results = run(generator, {request});
    Generator alone = generatorOf();
    EXPECT_EQ(run(alone, {request})[0].hypotheses, results.begin()->second.hypotheses) << number;
  }
  // The first block of one usually remains, never all of both.
  EXPECT_LT(generator.sharedTokens(), 5 * 96);
  EXPECT_GT(generator.sharedTokens(), 0);
}

TEST(SharedPrefixes, MayBeSwitchedOff) {
  Generator on = generatorOf(), off = generatorOf({.session = {.sharePrefixes = false}});
  const std::vector<GenerationRequest> requests = alike(4);
  const auto results = run(off, requests);
  EXPECT_EQ(off.sharedTokens(), 0);
  EXPECT_EQ(off.cacheUse().kept, 0U);
  for (const auto &[id, result] : run(on, requests)) {
    EXPECT_EQ(results.at(id).hypotheses, result.hypotheses);
  }
  EXPECT_GT(on.sharedTokens(), 0);
}

TEST(SharedPrefixes, AreOnlyThoseOfModelsWithoutSourcesAndStates) {
  for (const Model &model : {generatingModel(), averagingModel(), historylessModel()}) {
    Generator generator = generatorOf({}, model);
    std::vector<GenerationRequest> requests = alike(3);
    for (GenerationRequest &request : requests) {
      request.source = {4, 5};
    }
    run(generator, requests);
    EXPECT_EQ(generator.sharedTokens(), 0);
    EXPECT_EQ(generator.cacheUse().kept, 0U);
  }
}

TEST(SharedPrefixes, SamplesHaveOneCopyOfTheirPrompt) {
  Generator generator = generatorOf();
  const GenerationOptions options = {
      .nbest = 5, .minLength = 6, .maxLength = 6, .sample = true, .seed = 1};
  ASSERT_TRUE(generator.add(requestOf(100, 5, 0, options)).ok());
  for (int step = 0; step < 4; ++step) {
    ASSERT_TRUE(generator.step().ok());
  }
  // Six full blocks, and a seventh of each.
  EXPECT_EQ(generator.cacheUse().used, (6 + 5) * blockBytes);
}

TEST(SharedPrefixes, AreForgottenWithARemovedRequestOnlyWhereIncomplete) {
  Generator generator = generatorOf({.promptTokens = 40});
  ASSERT_TRUE(generator.add(requestOf(100, 5, 0)).ok());
  ASSERT_TRUE(generator.step().ok());
  ASSERT_TRUE(generator.remove(0).ok());
  EXPECT_EQ(generator.cacheUse().used, 0U);
  EXPECT_EQ(generator.cacheUse().kept, 2 * blockBytes);
  EXPECT_EQ(run(generator, {requestOf(100, 5, 1)})[1].shared, 32);
}

TEST(SharedPrefixes, StepsHaveRoomForAtLeastOneToken) {
  for (const GeneratorOptions &options :
       {GeneratorOptions{.promptTokens = 0}, GeneratorOptions{.promptTokensBeside = 0}}) {
    const auto generator = Generator::create(continuingModel(), options);
    EXPECT_EQ(generator.status().code(), StatusCode::InvalidArgument);
    EXPECT_EQ(generator.status().message(), "steps of 0 tokens of prompts, expected at least 1");
  }
}
