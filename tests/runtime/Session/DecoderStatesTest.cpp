// SPDX-License-Identifier: Apache-2.0
///
/// Decoding with states: the same bits for every division of the work, a copy of one row at most
/// for a fork, and no more memory for more tokens.
#include "tests/runtime/Session/DecoderModel.h"

using namespace heddle;
using fixture::vocabulary;
using fixture::width;

/// Bytes of the states of one hypothesis.
static constexpr uint64_t stateRowBytes = width * sizeof(float);
/// Bytes of one block of the memory or of the history.
static constexpr uint64_t blockBytes = 2 * width * HEDDLE_BLOCK * sizeof(float);

namespace {
struct StatesCase {
  const char *name;
  Model (*model)();
};

class DecoderStates : public testing::TestWithParam<StatesCase> {};
} // namespace

TEST_P(DecoderStates, StepsPrefillAndAnyChunkingGiveTheSameBits) {
  std::mt19937 random(2);
  const Tokens source = randomTokens(random, 50, fixture::words);
  const Tokens target = randomTokens(random, 70, vocabulary);
  const Model model = GetParam().model();
  const std::unique_ptr<PagedDecoder> one = makeDecoder({}, model);
  EXPECT_EQ(one->stateBytes(), stateRowBytes);
  const std::vector<float> whole = logitsOf(*one, source, target, {70});
  for (const int threads : {1, 2, 3}) {
    const std::unique_ptr<PagedDecoder> decoder =
        makeDecoder({.threads = threads, .schedule = Schedule::Cooperative}, model);
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

TEST_P(DecoderStates, ForksShareARowUntilTheyGoOn) {
  std::mt19937 random(4);
  const Model model = GetParam().model();
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder({}, model);
  const Tokens source = randomTokens(random, 20, fixture::words);
  const Tokens prefix = randomTokens(random, 16, vocabulary);
  const SourceId id = encodeOne(*decoder, source);
  const HypothesisId first = *decoder->start(id);
  // Nothing before the first token.
  EXPECT_EQ(decoder->blocksInUse(), 2);
  const HypothesisId empty = *decoder->fork(first);
  EXPECT_EQ(decoder->blocksInUse(), 2);
  Recorder recorder;
  const Extension begin{first, prefix};
  ASSERT_EQ(decoder->decode({&begin, 1}, recorder).message(), "");
  // A whole block, if there is a history, so that forks copy nothing of it.
  const int64_t block = decoder->historyBytesPerPosition() == 0 ? 0 : 1;
  EXPECT_EQ(decoder->blocksInUse(), 2 + block + 1);
  std::vector<HypothesisId> beam{first, *decoder->fork(first), *decoder->fork(first)};
  EXPECT_EQ(decoder->blocksInUse(), 2 + block + 1);
  const Tokens next{5, 6, 7};
  std::vector<Extension> extensions;
  for (size_t i = 0; i < beam.size(); ++i) {
    EXPECT_EQ(decoder->length(beam[i]), 16);
    extensions.push_back({beam[i], {&next[i], 1}});
  }
  ASSERT_EQ(decoder->decode(extensions, recorder).message(), "");
  // Two have copied the row; the last of the three kept it. Each has a block of its own.
  EXPECT_EQ(decoder->blocksInUse(), 2 + block + 3 * block + 3);
  for (size_t i = 0; i < beam.size(); ++i) {
    Tokens target = prefix;
    target.push_back(next[i]);
    const std::vector<float> alone = logitsOf(*decoder, source, target, {17});
    EXPECT_EQ(recorder.rows(static_cast<int64_t>(i), 1),
              std::vector<float>(alone.end() - vocabulary, alone.end()));
    decoder->release(beam[i]);
  }
  decoder->release(empty);
  decoder->release(id);
  EXPECT_EQ(decoder->blocksInUse(), 0);
}

TEST_P(DecoderStates, ARowUsedAgainBeginsAtZero) {
  std::mt19937 random(5);
  const Model model = GetParam().model();
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder({}, model);
  const Tokens source = randomTokens(random, 9, fixture::words);
  const Tokens target = randomTokens(random, 12, vocabulary);
  const std::vector<float> fresh = logitsOf(*decoder, source, target, {12});
  logitsOf(*decoder, source, randomTokens(random, 30, vocabulary), {30});
  EXPECT_EQ(logitsOf(*decoder, source, target, {5, 7}), fresh);
}

static const StatesCase statesCases[] = {{"BesideCaches", averagingModel},
                                         {"Alone", historylessModel}};
INSTANTIATE_TEST_SUITE_P(Models, DecoderStates, testing::ValuesIn(statesCases),
                         [](const testing::TestParamInfo<StatesCase> &info) {
                           return info.param.name;
                         });

TEST(DecoderStates, AttentionWeightsNeedNoHistory) {
  std::mt19937 random(6);
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder({}, historylessModel());
  const Tokens source = randomTokens(random, 4, fixture::words);
  // More rows in one run than the source has positions.
  const Tokens target = randomTokens(random, 30, vocabulary);
  const SourceId id = encodeOne(*decoder, source);
  const Extension whole{*decoder->start(id), target};
  Recorder recorder;
  AttentionWeights together;
  ASSERT_EQ(decoder->decode({&whole, 1}, recorder, &together).message(), "");
  EXPECT_EQ(together.pitch, 4);
  ASSERT_EQ(together.values.size(), 30u * fixture::heads * 4);
  const HypothesisId hypothesis = *decoder->start(id);
  for (size_t i = 0; i < target.size(); ++i) {
    const Extension extension{hypothesis, {&target[i], 1}};
    AttentionWeights weights;
    ASSERT_EQ(decoder->decode({&extension, 1}, recorder, &weights).message(), "");
    const auto row = together.values.begin() + static_cast<int64_t>(i * fixture::heads * 4);
    EXPECT_EQ(weights.values, std::vector<float>(row, row + fixture::heads * 4)) << i;
  }
}

TEST(DecoderStates, AFullCacheCountsRowsExactly) {
  std::mt19937 random(1);
  const Tokens source = randomTokens(random, 3, fixture::words);
  const Tokens target = randomTokens(random, 20, vocabulary);
  const std::unique_ptr<PagedDecoder> decoder =
      makeDecoder({.cacheBytes = blockBytes + 2 * stateRowBytes}, historylessModel());
  const SourceId id = encodeOne(*decoder, source);
  const HypothesisId first = *decoder->start(id);
  Recorder recorder;
  const Extension begin{first, std::span(target).first(18)};
  ASSERT_EQ(decoder->decode({&begin, 1}, recorder).message(), "");
  const HypothesisId second = *decoder->fork(first);
  const HypothesisId third = *decoder->fork(first);
  // Two of the three would copy the row, and one is free.
  const Extension all[] = {
      {first, {&target[18], 1}}, {second, {&target[18], 1}}, {third, {&target[18], 1}}};
  const Status status = decoder->decode(all, recorder);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(), "the cache is full: the states of hypotheses needs 2 more blocks of "
                              "128 bytes, and 4224 of 4352 bytes are in use");
  EXPECT_EQ(decoder->length(first), 18);
  EXPECT_EQ(decoder->blocksInUse(), 2);
  decoder->release(third);
  ASSERT_EQ(decoder->decode({all, 2}, recorder).message(), "");
  EXPECT_EQ(decoder->blocksInUse(), 3);
}

TEST(DecoderStates, RowsAndBlocksOfOneStepShareTheBound) {
  const Tokens source{1, 2, 3};
  const Tokens one{4};
  // A block for the memory and one for the history, and almost a row.
  const std::unique_ptr<PagedDecoder> decoder =
      makeDecoder({.cacheBytes = 2 * blockBytes + stateRowBytes - 1}, averagingModel());
  const SourceId id = encodeOne(*decoder, source);
  const Extension extension{*decoder->start(id), one};
  Recorder recorder;
  const Status status = decoder->decode({&extension, 1}, recorder);
  EXPECT_EQ(status.message(), "the cache is full: the history of hypotheses needs 1 more blocks of "
                              "4096 bytes, and 4224 of 8319 bytes are in use");
  EXPECT_EQ(decoder->blocksInUse(), 1);
}

TEST(DecoderStates, MoreTokensTakeNoMoreMemory) {
  std::mt19937 random(3);
  fixture::ModelSpec spec = fixture::historylessModel();
  // Positions are not looked up: there is no longest target.
  spec.entries[1].maxLength = 0;
  const Model model = loadModel(spec, "endless.so");
  const std::unique_ptr<PagedDecoder> decoder =
      makeDecoder({.cacheBytes = blockBytes + stateRowBytes}, model);
  EXPECT_EQ(decoder->longestTarget(), 0);
  EXPECT_EQ(decoder->historyBytesPerPosition(), 0u);
  const SourceId id = encodeOne(*decoder, {1, 2, 3});
  const HypothesisId hypothesis = *decoder->start(id);
  for (int step = 0; step < 1000; ++step) {
    const Tokens tokens = randomTokens(random, 1, vocabulary);
    const Extension extension{hypothesis, tokens};
    Recorder recorder;
    ASSERT_EQ(decoder->decode({&extension, 1}, recorder).message(), "");
  }
  EXPECT_EQ(decoder->length(hypothesis), 1000);
  EXPECT_EQ(decoder->blocksInUse(), 2);
}

TEST(DecoderStates, OnlyDecodeHasStates) {
  const auto messageFor = [](const fixture::ModelSpec &spec) {
    const Model model = loadModel(spec, "refused-state.so");
    const Status status = PagedDecoder::create(model, {}).status();
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    return std::string(status.message());
  };
  fixture::ModelSpec spec = fixture::averagingModel();
  // Another entry changes what "decode" then only reads.
  fixture::EntrySpec other = spec.entries[1];
  other.name = "other";
  for (size_t i = 0; i < 2; ++i) {
    other.caches[i].name = "other." + other.caches[i].name;
  }
  spec.entries.push_back(other);
  fixture::EntrySpec &decode = spec.entries[1];
  decode.caches[4].written = false;
  decode.dispatches.erase(decode.dispatches.begin() + 2);
  EXPECT_NE(messageFor(spec).find("the state \"sum\" is in entry \"decode\", expected states "
                                  "that \"decode\" reads and changes"),
            std::string::npos);
}
