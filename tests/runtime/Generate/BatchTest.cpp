// SPDX-License-Identifier: Apache-2.0
///
/// Sentences join, leave and make room. Results have the same bits as each sentence alone, and
/// everything in the decoder is released.
#include "tests/runtime/Generate/Requests.h"

#include <algorithm>
#include <new>

using namespace heddle;

/// Returns requests of all kinds.
static GenerationRequest requestOf(int number) {
  GenerationRequest request{.source = sourceOf(number), .options = {.maxLength = 15}};
  GenerationOptions &options = request.options;
  options.rules = static_cast<Rules>(number % 3);
  options.beam = 1 + number % 4;
  options.nbest = *options.beam;
  options.coveragePenalty = number % 5 == 0 ? 0.25F : 0;
  options.attention = number % 7 == 0;
  options.tokenScores = true;
  if (number % 4 == 1) {
    request.prefix = {5, static_cast<int32_t>(3 + number % 30)};
  }
  if (number % 6 == 2) {
    options.alternatives = true;
    options.nbest = 3;
  }
  if (number % 6 == 4) {
    options.sample = true;
    options.beam = 1;
    options.nbest = 2;
    options.topK = number % 12 == 4 ? 0 : 5;
    options.topP = number % 24 == 4 ? 0.75F : 1;
    options.seed = 7;
  }
  return request;
}

static std::map<int, std::vector<Hypothesis>> allAlone(int count) {
  std::map<int, std::vector<Hypothesis>> results;
  for (int number = 0; number < count; ++number) {
    FakeDecoder decoder(HashModel{1000, 0});
    results[number] = generateAlone(decoder, requestOf(number));
    EXPECT_FALSE(results[number].empty()) << number;
  }
  return results;
}

TEST(Batch, ResultsDoNotDependOnTheBatch) {
  constexpr int count = 60;
  const std::map<int, std::vector<Hypothesis>> alone = allAlone(count);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    FakeDecoder decoder(HashModel{1000, 0}, 1 + static_cast<int>(seed % 3));
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder),
                       static_cast<int64_t>(1 + random() % 300));
    std::vector<int> order(count);
    for (int i = 0; i < count; ++i) {
      order[static_cast<size_t>(i)] = i;
    }
    std::shuffle(order.begin(), order.end(), random);
    std::map<int64_t, int> numbers;
    size_t finished = 0;
    size_t next = 0;
    while (next < order.size() || !search.idle()) {
      for (uint64_t join = random() % 4; join > 0 && next < order.size(); --join) {
        Result<int64_t> id = search.add(requestOf(order[next]));
        ASSERT_TRUE(id.ok()) << id.status().message();
        numbers[*id] = order[next++];
      }
      Result<std::vector<GenerationResult>> step = search.step();
      ASSERT_TRUE(step.ok()) << step.status().message();
      for (const GenerationResult &result : *step) {
        ASSERT_TRUE(result.status.ok()) << result.status.message();
        EXPECT_EQ(result.hypotheses, alone.at(numbers.at(result.id)))
            << "request " << numbers.at(result.id) << " seed " << seed;
        ++finished;
      }
    }
    EXPECT_EQ(finished, static_cast<size_t>(count));
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }
}

TEST(Batch, IsBoundedByTokens) {
  FakeDecoder decoder(HashModel{});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 20);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(search
                    .add({.source = {5, 6, 7, 8, static_cast<int32_t>(3 + i)},
                          .options = {.beam = 2, .minLength = 6}})
                    .ok());
  }
  EXPECT_EQ(search.waiting(), 10);
  ASSERT_TRUE(search.step().ok());
  EXPECT_EQ(search.running(), 2);
  EXPECT_EQ(search.waiting(), 8);
  EXPECT_EQ(finishAll(search).size(), 10U);
  EXPECT_EQ(decoder.mostRows, 4);
}

TEST(Batch, ALongSentenceRunsAlone) {
  FakeDecoder decoder(HashModel{});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 3);
  ASSERT_TRUE(search.add({.source = {5, 6, 7, 8}}).ok());
  ASSERT_TRUE(search.add({.source = {5, 6, 7, 8}}).ok());
  EXPECT_EQ(finishAll(search).size(), 2U);
  EXPECT_EQ(decoder.mostRows, 1);
}

TEST(Batch, AFullCacheLosesNothing) {
  constexpr int count = 30;
  const std::map<int, std::vector<Hypothesis>> alone = allAlone(count);
  for (const int64_t capacity : {140, 200, 400}) {
    FakeDecoder decoder(HashModel{1000, 0}, 2, capacity);
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
    for (int number = 0; number < count; ++number) {
      ASSERT_TRUE(search.add(requestOf(number)).ok());
    }
    const std::map<int64_t, GenerationResult> results = finishAll(search);
    ASSERT_EQ(results.size(), static_cast<size_t>(count));
    for (const auto &[id, result] : results) {
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      EXPECT_EQ(result.hypotheses, alone.at(static_cast<int>(id)));
    }
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }
}

TEST(Batch, ASentenceThatNeverFitsFailsAlone) {
  FakeDecoder decoder(HashModel{}, 1, 12);
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  // Its source does not fit, or its hypotheses stop fitting.
  ASSERT_TRUE(search.add({.source = std::vector<int32_t>(13, 5)}).ok());
  ASSERT_TRUE(search.add({.source = {5, 6}}).ok());
  ASSERT_TRUE(search.add({.source = {5, 6}, .options = {.minLength = 30, .maxLength = 30}}).ok());
  ASSERT_TRUE(search.add({.source = {6, 7}}).ok());
  std::map<int64_t, GenerationResult> results = finishAll(search);
  ASSERT_EQ(results.size(), 4U);
  for (const int64_t id : {0, 2}) {
    EXPECT_EQ(results[id].status.code(), StatusCode::ResourceExhausted);
    EXPECT_EQ(results[id].status.message(), "the sentence does not fit: the cache is full");
  }
  EXPECT_TRUE(results[1].status.ok());
  EXPECT_TRUE(results[3].status.ok());
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Batch, ForksThatFailAreTriedAgain) {
  const std::map<int, std::vector<Hypothesis>> alone = allAlone(12);
  FakeDecoder decoder(HashModel{1000, 0});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  for (int number = 0; number < 12; ++number) {
    ASSERT_TRUE(search.add(requestOf(number)).ok());
  }
  decoder.refuseForks(5);
  const std::map<int64_t, GenerationResult> results = finishAll(search);
  ASSERT_EQ(results.size(), 12U);
  for (const auto &[id, result] : results) {
    EXPECT_EQ(result.hypotheses, alone.at(static_cast<int>(id)));
  }
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Batch, NothingIsLostWhenMemoryRunsOut) {
  constexpr int count = 12;
  const std::map<int, std::vector<Hypothesis>> alone = allAlone(count);
  for (int calls = 0; calls < 25; ++calls) {
    FakeDecoder decoder(HashModel{1000, 0});
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 60);
    for (int number = 0; number < count; ++number) {
      ASSERT_TRUE(search.add(requestOf(number)).ok());
    }
    decoder.throwAfter(calls);
    std::map<int64_t, GenerationResult> results;
    int thrown = 0;
    while (!search.idle()) {
      try {
        Result<std::vector<GenerationResult>> step = search.step();
        ASSERT_TRUE(step.ok()) << step.status().message();
        for (GenerationResult &result : *step) {
          results[result.id] = std::move(result);
        }
      } catch (const std::bad_alloc &) {
        ++thrown;
      }
    }
    EXPECT_EQ(thrown, 1) << calls;
    ASSERT_EQ(results.size(), static_cast<size_t>(count)) << calls;
    for (const auto &[id, result] : results) {
      EXPECT_EQ(result.hypotheses, alone.at(static_cast<int>(id))) << calls;
    }
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }
}

TEST(Batch, ASentenceThatTheDecoderRefusesFailsAlone) {
  const std::map<int, std::vector<Hypothesis>> alone = allAlone(12);
  FakeDecoder decoder(HashModel{1000, 0});
  decoder.refuse(sourceOf(5));
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  for (int number = 0; number < 12; ++number) {
    ASSERT_TRUE(search.add(requestOf(number)).ok());
  }
  const std::map<int64_t, GenerationResult> results = finishAll(search);
  ASSERT_EQ(results.size(), 12U);
  for (const auto &[id, result] : results) {
    EXPECT_EQ(result.status.message(), id == 5 ? "a token that the decoder does not read" : "");
    EXPECT_EQ(result.hypotheses,
              id == 5 ? std::vector<Hypothesis>() : alone.at(static_cast<int>(id)));
  }
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Batch, DamagedLogitsFailTheirSentenceAlone) {
  FakeDecoder decoder(HashModel{});
  decoder.damage({9, 9});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  ASSERT_TRUE(search.add({.source = {5, 6}}).ok());
  ASSERT_TRUE(search.add({.source = {9, 9}, .options = {.beam = 3}}).ok());
  std::map<int64_t, GenerationResult> results = finishAll(search);
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[1].status.code(), StatusCode::DataLoss);
  EXPECT_EQ(results[1].status.message(), "logits of row 2 of the batch are not finite, expected "
                                         "numbers: the model may be damaged");
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Batch, RemovesWhatWaitsAndWhatRuns) {
  FakeDecoder decoder(HashModel{});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 4);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(search.add({.source = {5, 6}, .options = {.beam = 2, .minLength = 10}}).ok());
  }
  ASSERT_TRUE(search.step().ok());
  EXPECT_TRUE(search.remove(0).ok());
  EXPECT_TRUE(search.remove(2).ok());
  const Status gone = search.remove(2);
  EXPECT_EQ(gone.code(), StatusCode::NotFound);
  EXPECT_EQ(gone.message(), "request 2 is unknown, expected one that waits or runs");
  const std::map<int64_t, GenerationResult> results = finishAll(search);
  EXPECT_EQ(results.size(), 1U);
  EXPECT_TRUE(results.contains(1));
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

/// Returns whether `tokens` begins with all of `beginning`.
static bool beginsWith(const std::vector<int32_t> &tokens, const std::vector<int32_t> &beginning) {
  return tokens.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), tokens.begin());
}

TEST(Batch, SaysWhatTheBestHypothesisWillBeginWith) {
  constexpr int count = 40;
  FakeDecoder decoder(HashModel{1000, 0});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 60);
  for (int number = 0; number < count; ++number) {
    ASSERT_TRUE(search.add(requestOf(number)).ok());
  }
  std::map<int64_t, std::vector<int32_t>> last;
  size_t grown = 0;
  while (!search.idle()) {
    const Result<std::vector<GenerationResult>> step = search.step();
    ASSERT_TRUE(step.ok()) << step.status().message();
    for (const GenerationResult &result : *step) {
      EXPECT_TRUE(beginsWith(result.hypotheses.front().tokens, last[result.id])) << result.id;
      grown += last[result.id].size();
      EXPECT_EQ(search.agreed(result.id).status().code(), StatusCode::NotFound);
      last.erase(result.id);
    }
    for (int64_t id = 0; id < count; ++id) {
      const Result<std::vector<int32_t>> agreed = search.agreed(id);
      if (agreed.ok()) {
        EXPECT_TRUE(beginsWith(*agreed, last[id])) << id;
        last[id] = *agreed;
      }
    }
  }
  EXPECT_GT(grown, size_t(count));
  EXPECT_EQ(search.agreed(7).status().message(),
            "request 7 is unknown, expected one that waits or runs");
}

TEST(Batch, GreedySearchAgreesOnAllItHas) {
  FakeDecoder decoder(HashModel{});
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 100);
  const Result<int64_t> id =
      search.add({.source = {5, 6}, .prefix = {9}, .options = {.beam = 1, .minLength = 4}});
  ASSERT_TRUE(id.ok());
  EXPECT_TRUE(search.agreed(*id)->empty());
  for (size_t step = 1; step < 4; ++step) {
    ASSERT_TRUE(search.step().ok());
    EXPECT_EQ(search.agreed(*id)->size(), step + 1);
  }
}

/// Returns a decoder that continues prompts, and a prompt of `tokens` tokens.
static FakeDecoder continuingDecoder() {
  FakeDecoder decoder(HashModel{1000, 0});
  decoder.answers = false;
  return decoder;
}
static std::vector<int32_t> promptOf(size_t tokens) {
  std::vector<int32_t> prompt(tokens);
  for (size_t i = 0; i < tokens; ++i) {
    prompt[i] = static_cast<int32_t>(3 + (7 * i + tokens) % 900);
  }
  return prompt;
}

TEST(Batch, RunningAnswersDoNotWaitForPrompts) {
  FakeDecoder decoder = continuingDecoder();
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), {1000, 10, 3});
  const GenerationOptions options = {.beam = 2, .nbest = 2, .minLength = 30, .maxLength = 30};
  ASSERT_TRUE(search.add({.prefix = promptOf(24), .options = options}).ok());
  // Alone: the start and 24 tokens, ten at a time.
  for (int step = 0; step < 3; ++step) {
    const auto stepped = search.step();
    ASSERT_TRUE(stepped.ok() && stepped->empty()) << (*stepped)[0].status.message();
    EXPECT_LE(decoder.mostRows, 10);
  }
  decoder.mostRows = 0;
  ASSERT_TRUE(
      search.add({.prefix = promptOf(40), .options = {.beam = 1, .minLength = 5, .maxLength = 5}})
          .ok());
  ASSERT_TRUE(
      search.add({.prefix = promptOf(2), .options = {.beam = 1, .minLength = 5, .maxLength = 5}})
          .ok());
  const int64_t before = decoder.steps;
  std::map<int64_t, GenerationResult> results;
  std::map<int64_t, int64_t> ended;
  while (!search.idle()) {
    Result<std::vector<GenerationResult>> step = search.step();
    ASSERT_TRUE(step.ok());
    for (GenerationResult &result : *step) {
      ended[result.id] = decoder.steps - before;
      results[result.id] = std::move(result);
    }
  }
  // Two hypotheses, a token of an answer, and three of prompts.
  EXPECT_LE(decoder.mostRows, 6);
  // The first continued at every step; the second began after 14 steps, and the third after it.
  EXPECT_EQ(ended[0], 29);
  EXPECT_EQ(ended[1], 14 + 4);
  EXPECT_EQ(ended[2], 15 + 4);
  for (const auto &[id, tokens] : {std::pair(0, 24U), std::pair(1, 40U), std::pair(2, 2U)}) {
    FakeDecoder alone = continuingDecoder();
    const GenerationOptions asked =
        id == 0 ? options : GenerationOptions{.beam = 1, .minLength = 5, .maxLength = 5};
    EXPECT_EQ(results[id].hypotheses,
              generateAlone(alone, {.prefix = promptOf(tokens), .options = asked}));
  }
}

TEST(Batch, RemovesAPromptThatIsHalfComputed) {
  FakeDecoder decoder = continuingDecoder();
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), {1000, 10, 3});
  ASSERT_TRUE(search.add({.prefix = promptOf(40)}).ok());
  ASSERT_TRUE(search.add({.prefix = promptOf(5), .options = {.maxLength = 3}}).ok());
  ASSERT_TRUE(search.step().ok());
  EXPECT_EQ(decoder.blocksInUse(), 10);
  ASSERT_TRUE(search.remove(0).ok());
  EXPECT_EQ(decoder.blocksInUse(), 0);
  EXPECT_EQ(finishAll(search).size(), 1U);
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Batch, SamplesOfAPromptComputeItOnce) {
  FakeDecoder decoder = continuingDecoder();
  const GenerationRequest request = {
      .prefix = promptOf(30),
      .options = {.nbest = 5, .maxLength = 8, .sample = true, .topP = 0.9F, .seed = 3}};
  const std::vector<Hypothesis> found = generateAlone(decoder, request);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(decoder.mostRows, 31);
  // The samples are those of a request for fewer, and one more.
  GenerationRequest fewer = request;
  fewer.options.nbest = 4;
  const std::vector<Hypothesis> four = generateAlone(decoder, fewer);
  for (const Hypothesis &each : four) {
    EXPECT_NE(std::find(found.begin(), found.end(), each), found.end());
  }
}

TEST(Batch, ReleasesWhatRunsWhenItGoes) {
  FakeDecoder decoder(HashModel{});
  {
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
    ASSERT_TRUE(search.add({.source = {5, 6}, .options = {.beam = 3, .minLength = 9}}).ok());
    ASSERT_TRUE(search.step().ok());
    ASSERT_TRUE(search.step().ok());
    EXPECT_GT(decoder.blocksInUse(), 0);
  }
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Batch, ASoakEndsWithEverythingReturned) {
  std::mt19937_64 random(5);
  FakeDecoder decoder(HashModel{}, 1, 300);
  {
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 150);
    std::vector<int64_t> ids;
    for (int call = 0; call < 4000; ++call) {
      const uint64_t kind = random() % 8;
      if (kind < 2) {
        GenerationRequest request = requestOf(static_cast<int>(random() % 60));
        for (std::vector<int32_t> *tokens : {&request.prefix, &request.source}) {
          for (int32_t &token : *tokens) {
            token %= 40;
          }
        }
        Result<int64_t> id = search.add(std::move(request));
        ASSERT_TRUE(id.ok()) << id.status().message();
        ids.push_back(*id);
      } else if (kind == 2 && !ids.empty()) {
        // It may be finished already.
        const Status status = search.remove(ids[random() % ids.size()]);
        EXPECT_TRUE(status.ok() || status.code() == StatusCode::NotFound);
      } else {
        Result<std::vector<GenerationResult>> step = search.step();
        ASSERT_TRUE(step.ok()) << step.status().message();
      }
    }
    finishAll(search);
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }
}
