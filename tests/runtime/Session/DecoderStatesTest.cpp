// SPDX-License-Identifier: Apache-2.0
///
/// Decoding with states: no history is needed, and memory does not grow with the tokens.
#include "tests/runtime/Session/DecoderModel.h"

using namespace heddle;
using fixture::vocabulary;

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
  // Positions are not looked up, so there is no maximum target length.
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
  // Another entry updates a state that "decode" then only reads.
  fixture::EntrySpec other = spec.entries[1];
  other.name = "other";
  for (size_t i = 0; i < 2; ++i) {
    other.caches[i].name = "other." + other.caches[i].name;
  }
  spec.entries.push_back(other);
  fixture::EntrySpec &decode = spec.entries[1];
  decode.states[0].written = false;
  decode.dispatches.erase(decode.dispatches.begin() + 2);
  EXPECT_NE(messageFor(spec).find("the state \"sum\" is in entry \"decode\", expected states "
                                  "that \"decode\" reads and changes"),
            std::string::npos);
}
