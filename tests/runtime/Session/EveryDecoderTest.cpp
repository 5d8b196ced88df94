// SPDX-License-Identifier: Apache-2.0
///
/// Properties that hold for hypotheses with a history, states or both: the same bits for every
/// division of the work, forks that share data until they continue, and failures that change
/// nothing.
#include "tests/runtime/Session/DecoderModel.h"

using namespace heddle;
using fixture::vocabulary;

namespace {
struct DecoderCase {
  const char *name;
  Model (*model)();
  /// The kinds of data, each 0 or 1.
  int64_t history;
  int64_t states;
};

class EveryDecoder : public testing::TestWithParam<DecoderCase> {
protected:
  static std::unique_ptr<PagedDecoder> make(const SessionOptions &options = {}) {
    return makeDecoder(options, GetParam().model());
  }
};
} // namespace

TEST_P(EveryDecoder, StepsPrefillAndAnyChunkingGiveTheSameBits) {
  std::mt19937 random(2);
  const Tokens source = randomTokens(random, 50, fixture::words);
  const Tokens target = randomTokens(random, 70, vocabulary);
  const std::unique_ptr<PagedDecoder> one = make();
  EXPECT_EQ(one->stateBytes(), stateRowBytes * static_cast<uint64_t>(GetParam().states));
  const std::vector<float> whole = logitsOf(*one, source, target, {70});
  for (const int threads : {1, 2, 3}) {
    const std::unique_ptr<PagedDecoder> decoder =
        make({.threads = threads, .schedule = Schedule::Cooperative});
    EXPECT_EQ(logitsOf(*decoder, source, target, {70}), whole) << threads;
    EXPECT_EQ(logitsOf(*decoder, source, target, std::vector<size_t>(70, 1)), whole) << threads;
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<size_t> pieces;
      for (size_t left = 70; left > 0; left -= pieces.back()) {
        pieces.push_back(random() % std::min<size_t>(left, 33) + 1);
      }
      EXPECT_EQ(logitsOf(*decoder, source, target, pieces), whole) << threads;
    }
    EXPECT_EQ(decoder->blocksInUse(), 0);
  }
}

TEST_P(EveryDecoder, ForksShareUntilTheyGoOn) {
  const auto [name, model, history, states] = GetParam();
  std::mt19937 random(4);
  const std::unique_ptr<PagedDecoder> decoder = make();
  const Tokens source = randomTokens(random, 20, fixture::words);
  for (const size_t length : {HEDDLE_BLOCK, HEDDLE_BLOCK + 2}) {
    const Tokens prefix = randomTokens(random, length, vocabulary);
    const SourceId id = encodeOne(*decoder, source);
    const HypothesisId first = *decoder->start(id);
    // Nothing before the first token.
    EXPECT_EQ(decoder->blocksInUse(), 2);
    const HypothesisId empty = *decoder->fork(first);
    EXPECT_EQ(decoder->blocksInUse(), 2);
    Recorder recorder;
    const Extension begin{first, prefix};
    ASSERT_EQ(decoder->decode({&begin, 1}, recorder).message(), "");
    const bool isWhole = length == HEDDLE_BLOCK;
    const int64_t shared = 2 + (isWhole ? 1 : 2) * history + states;
    EXPECT_EQ(decoder->blocksInUse(), shared);
    std::vector<HypothesisId> beam{first, *decoder->fork(first), *decoder->fork(first)};
    EXPECT_EQ(decoder->blocksInUse(), shared);
    const Tokens next{5, 6, 7};
    std::vector<Extension> extensions;
    for (size_t i = 0; i < beam.size(); ++i) {
      EXPECT_EQ(decoder->length(beam[i]), static_cast<int64_t>(length));
      extensions.push_back({beam[i], {&next[i], 1}});
    }
    ASSERT_EQ(decoder->decode(extensions, recorder).message(), "");
    // Two have copied the row and the last block; the last of the three kept both. A full block is
    // not copied, and each has a new one.
    EXPECT_EQ(decoder->blocksInUse(), shared + (isWhole ? 3 : 2) * history + 2 * states);
    for (size_t i = 0; i < beam.size(); ++i) {
      Tokens target = prefix;
      target.push_back(next[i]);
      const std::vector<float> alone = logitsOf(*decoder, source, target, {length + 1});
      EXPECT_EQ(recorder.rows(static_cast<int64_t>(i), 1),
                std::vector<float>(alone.end() - vocabulary, alone.end()));
      decoder->release(beam[i]);
    }
    decoder->release(empty);
    decoder->release(id);
    EXPECT_EQ(decoder->blocksInUse(), 0);
  }
}

TEST_P(EveryDecoder, WhatIsUsedAgainBeginsAtZero) {
  std::mt19937 random(5);
  const std::unique_ptr<PagedDecoder> decoder = make();
  const Tokens source = randomTokens(random, 9, fixture::words);
  const Tokens target = randomTokens(random, 12, vocabulary);
  const std::vector<float> fresh = logitsOf(*decoder, source, target, {12});
  logitsOf(*decoder, source, randomTokens(random, 30, vocabulary), {30});
  EXPECT_EQ(logitsOf(*decoder, source, target, {5, 7}), fresh);
}

static const DecoderCase decoderCases[] = {{"Caches", generatingModel, 1, 0},
                                           {"CachesAndStates", averagingModel, 1, 1},
                                           {"States", historylessModel, 0, 1}};
static std::string nameOf(const testing::TestParamInfo<DecoderCase> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Models, EveryDecoder, testing::ValuesIn(decoderCases), nameOf);

namespace {
/// A cache with room for one of the copies that two forks need.
struct FullCache {
  const char *name;
  Model (*model)();
  uint64_t cacheBytes;
  const char *message;
  /// The blocks and rows in use with the prefix alone.
  int64_t inUse;
};

class FullCacheTest : public testing::TestWithParam<FullCache> {};
} // namespace

TEST_P(FullCacheTest, RefusesAStepAndChangesNothing) {
  std::mt19937 random(1);
  const Model model = GetParam().model();
  const std::unique_ptr<PagedDecoder> decoder =
      makeDecoder({.cacheBytes = GetParam().cacheBytes}, model);
  const Tokens source = randomTokens(random, 3, fixture::words);
  const Tokens target = randomTokens(random, 20, vocabulary);
  const SourceId id = encodeOne(*decoder, source);
  const HypothesisId first = *decoder->start(id);
  Recorder recorder;
  const Extension begin{first, std::span(target).first(18)};
  ASSERT_EQ(decoder->decode({&begin, 1}, recorder).message(), "");
  const HypothesisId second = *decoder->fork(first);
  const HypothesisId third = *decoder->fork(first);
  // Two of the three would copy, and there is room for one.
  const Extension all[] = {
      {first, {&target[18], 1}}, {second, {&target[18], 1}}, {third, {&target[18], 1}}};
  const Status status = decoder->decode(all, recorder);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(), GetParam().message);
  EXPECT_EQ(decoder->length(first), 18);
  EXPECT_EQ(decoder->blocksInUse(), GetParam().inUse);
  decoder->release(third);
  // The remaining two take exactly the free blocks.
  ASSERT_EQ(decoder->decode({all, 2}, recorder).message(), "");
  EXPECT_EQ(decoder->blocksInUse(), GetParam().inUse + 1);
  const std::unique_ptr<PagedDecoder> other = makeDecoder({}, model);
  const std::vector<float> alone =
      logitsOf(*other, source, {target.begin(), target.begin() + 19}, {19});
  EXPECT_EQ(recorder.rows(1, 1), std::vector<float>(alone.end() - vocabulary, alone.end()));
}

static const FullCache fullCaches[] = {
    {"OfBlocks", generatingModel, 4 * blockBytes,
     "the cache is full: the history of hypotheses needs 2 more blocks of 4096 bytes, and 12288 of "
     "16384 bytes are in use",
     3},
    {"OfRows", historylessModel, blockBytes + 2 * stateRowBytes,
     "the cache is full: the states of hypotheses needs 2 more blocks of 128 bytes, and 4224 of "
     "4352 bytes are in use",
     2}};
INSTANTIATE_TEST_SUITE_P(Decoder, FullCacheTest, testing::ValuesIn(fullCaches),
                         [](const auto &info) { return std::string(info.param.name); });
