// SPDX-License-Identifier: Apache-2.0
///
/// Decoding of compiled models from their caches: the same bits as recomputing the whole prefix,
/// for every chunking, batch and number of threads.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/DecodedPairs.h"
#include "tests/base/TemporaryFolder.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

namespace heddle {
namespace {

class Decoding : public testing::TestWithParam<const char *> {};

TEST_P(Decoding, GivesTheSameBitsForAnyChunkingBatchAndThreads) {
  const std::string binary = compileModel(HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam()));
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    std::mt19937 random(11);
    const std::unique_ptr<PagedDecoder> one = decoderOf(binary, isa, 1);
    const std::unique_ptr<PagedDecoder> two = decoderOf(binary, isa, 2);
    const std::vector<Pair> pairs = randomPairs(*one, 12, random);
    std::vector<std::vector<float>> whole;
    for (const auto &[source, target] : pairs) {
      whole.push_back(logitsOf(*one, source, target, {target.size()}));
      const std::vector<size_t> steps(target.size(), 1);
      EXPECT_EQ(logitsOf(*one, source, target, steps), whole.back()) << isa;
      EXPECT_EQ(logitsOf(*two, source, target, steps), whole.back()) << isa;
      EXPECT_EQ(logitsOf(*one, source, target, randomPieces(target.size(), random)), whole.back())
          << isa;
    }
    for (int trial = 0; trial < 3; ++trial) {
      EXPECT_EQ(decodeTogether(*one, pairs, random), whole) << isa;
      EXPECT_EQ(decodeTogether(*two, pairs, random), whole) << isa;
    }
    EXPECT_EQ(one->blocksInUse(), 0);
    EXPECT_EQ(two->blocksInUse(), 0);
  }
}

TEST_P(Decoding, HypothesesOfOneSourceReadItTogether) {
  const std::string binary = compileModel(HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam()));
  ASSERT_FALSE(binary.empty());
  std::mt19937 random(12);
  for (const int threads : {1, 2}) {
    const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, "", threads);
    const std::vector<Pair> pairs = randomPairs(*decoder, 3, random);
    const int limit = static_cast<int>(decoder->vocabulary()) / 2;
    for (const Pair &pair : pairs) {
      const SourceId source = encodeOne(*decoder, pair.source);
      std::vector<HypothesisId> beam{*decoder->start(source)};
      const Tokens prefix(pair.target.begin(), pair.target.end());
      Recorder recorder;
      const Extension begin{beam[0], prefix};
      ASSERT_EQ(decoder->decode({&begin, 1}, recorder).message(), "");
      const Tokens next = randomTokens(random, 5, limit);
      std::vector<Extension> extensions;
      if (decoder->longestTarget() != 0 &&
          static_cast<int64_t>(prefix.size()) == decoder->longestTarget()) {
        continue;
      }
      for (size_t i = 1; i < next.size(); ++i) {
        beam.push_back(*decoder->fork(beam[0]));
      }
      for (size_t i = 0; i < next.size(); ++i) {
        extensions.push_back({beam[i], {&next[i], 1}});
      }
      ASSERT_EQ(decoder->decode(extensions, recorder).message(), "");
      for (size_t i = 0; i < next.size(); ++i) {
        Tokens target = prefix;
        target.push_back(next[i]);
        const std::vector<float> alone = logitsOf(*decoder, pair.source, target, {target.size()});
        EXPECT_EQ(recorder.rows(static_cast<int64_t>(i), 1),
                  std::vector<float>(alone.end() - decoder->vocabulary(), alone.end()));
      }
    }
  }
}

/// Returns the weights of every target token over its source, decoded in pieces of a size:
/// [token][head][position].
std::vector<float> weightsOf(PagedDecoder &decoder, const Pair &pair, size_t piece) {
  const SourceId source = encodeOne(decoder, pair.source);
  const HypothesisId hypothesis = *decoder.start(source);
  std::vector<float> values;
  for (size_t done = 0; done < pair.target.size(); done += piece) {
    const size_t count = std::min(piece, pair.target.size() - done);
    const Extension extension{hypothesis, std::span(pair.target).subspan(done, count)};
    Recorder recorder;
    AttentionWeights weights;
    EXPECT_EQ(decoder.decode({&extension, 1}, recorder, &weights).message(), "");
    EXPECT_EQ(weights.values.size(), count * weights.heads * pair.source.size());
    values.insert(values.end(), weights.values.begin(), weights.values.end());
  }
  decoder.release(hypothesis);
  decoder.release(source);
  return values;
}

TEST_P(Decoding, AttentionWeightsAreThoseOfItsMathematics) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam());
  const std::string binary = compileModel(folder);
  const std::string plain = compileModel(folder, {"--disable-pass=fuse-attention"});
  ASSERT_FALSE(binary.empty() || plain.empty());
  const bool isPredictive =
      readBytes(folder + "/config.json").find("\"predictive\"") != std::string::npos;
  for (const std::string &isa : runnableTargets(binary)) {
    std::mt19937 random(13);
    const std::unique_ptr<PagedDecoder> fused = decoderOf(binary, isa, 1);
    const std::unique_ptr<PagedDecoder> nests = decoderOf(plain, isa, 1);
    const std::vector<PortInfo> &outputs = fused->model().findEntry("decode")->outputs;
    if (std::none_of(outputs.begin(), outputs.end(),
                     [](const PortInfo &each) { return each.name == "attention"; })) {
      GTEST_SKIP() << "a decoder without attention";
    }
    for (const Pair &pair : randomPairs(*fused, 4, random)) {
      const std::vector<float> weights = weightsOf(*fused, pair, pair.target.size());
      EXPECT_EQ(weightsOf(*fused, pair, 1), weights) << isa;
      EXPECT_EQ(weightsOf(*fused, pair, 3), weights) << isa;
      // A rounding error moves a predicted position in proportion to the length of the source.
      EXPECT_LE(largestDifference(weightsOf(*nests, pair, pair.target.size()), weights),
                isPredictive ? 2e-5F : 1e-5F);
      for (size_t row = 0; row < weights.size(); row += pair.source.size()) {
        const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(row);
        const auto end = begin + static_cast<std::ptrdiff_t>(pair.source.size());
        const double sum = std::accumulate(begin, end, 0.0);
        // The Gaussian of a predictive window is not normalised again.
        EXPECT_LE(sum, 1.0 + 1e-5);
        EXPECT_GE(sum, isPredictive ? 0.0 : 1.0 - 1e-5);
      }
    }
  }
}

/// A layer that shares attention gives the attention of the first layer of its block.
TEST(SharedDecoding, TheAttentionOfALayerIsThatOfItsBlock) {
  const std::string oracle = HEDDLE_TEST_DATA "/oracles/san";
  std::ifstream stream(oracle + "/config.json");
  nlohmann::json config = nlohmann::json::parse(stream, nullptr, false);
  ASSERT_EQ(config["cross_attention_sharing"], (nlohmann::json{3, 2}));
  std::mt19937 random(14);
  std::vector<Pair> pairs;
  std::vector<std::vector<float>> weights;
  for (int layer = 0; layer < 5; ++layer) {
    const TemporaryFolder folder;
    config["alignment_layer"] = layer;
    folder.write("config.json", config.dump());
    std::filesystem::copy_file(oracle + "/model.safetensors", folder / "model.safetensors");
    const std::string binary = compileModel(folder.path());
    ASSERT_FALSE(binary.empty());
    const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, "", 1);
    pairs = pairs.empty() ? randomPairs(*decoder, 1, random) : pairs;
    weights.push_back(weightsOf(*decoder, pairs.front(), 4));
  }
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
  EXPECT_NE(weights[3], weights[0]);
  EXPECT_EQ(weights[4], weights[3]);
}

/// A hypothesis has elements for each position of its source: shared by forks, counted, and
/// released.
TEST(KeyedStates, CountInTheBudgetAndAreGivenBack) {
  const std::string binary =
      compileModel(HEDDLE_TEST_DATA "/oracles/recurrent/location-cumulative");
  ASSERT_FALSE(binary.empty());
  const Result<Model> model = Model::load(binary);
  ASSERT_EQ(model.status().message(), "");
  const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, "", 1);
  const Tokens source(20, 7), target = {1, 4, 5};
  const SourceId id = encodeOne(*decoder, source);
  const HypothesisId first = *decoder->start(id);
  const int64_t before = decoder->blocksInUse();
  Recorder recorder;
  Extension extension{first, target};
  ASSERT_EQ(decoder->decode({&extension, 1}, recorder).message(), "");
  // A row of states, and two blocks for 20 positions.
  EXPECT_EQ(decoder->blocksInUse(), before + 3);
  const HypothesisId second = *decoder->fork(first);
  EXPECT_EQ(decoder->blocksInUse(), before + 3);
  extension = {second, target};
  ASSERT_EQ(decoder->decode({&extension, 1}, recorder).message(), "");
  EXPECT_EQ(decoder->blocksInUse(), before + 6);
  decoder->release(first);
  decoder->release(second);
  EXPECT_EQ(decoder->blocksInUse(), before);
  // The memory of a short source, and states of it and of a hypothesis.
  SessionOptions options;
  options.cacheBytes = HEDDLE_BLOCK * decoder->memoryBytesPerPosition() + 2 * decoder->stateBytes();
  const auto tight = PagedDecoder::create(*model, options);
  ASSERT_EQ(tight.status().message(), "");
  const SourceId shorter = encodeOne(**tight, {7, 8});
  const Extension refused{*(*tight)->start(shorter), target};
  const Status status = (*tight)->decode({&refused, 1}, recorder);
  EXPECT_NE(status.message().find("the cache is full: the states with keys of hypotheses needs 1 "
                                  "more blocks of 128 bytes"),
            std::string_view::npos)
      << status.message();
}

/// Outputs requested by name must be rows of tokens, and fit.
TEST(StepOutputs, AreRowsThatFit) {
  const std::string binary = compileModel(HEDDLE_TEST_DATA "/oracles/recurrent/location");
  ASSERT_FALSE(binary.empty());
  const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, "", 1);
  const HypothesisId hypothesis = *decoder->start(encodeOne(*decoder, {7, 8, 9}));
  const Tokens target = {1, 4};
  const Extension extension{hypothesis, target};
  const auto messageFor = [&](std::string_view name, size_t count) {
    std::vector<float> values(count);
    const Output rows{name, values};
    Recorder recorder;
    return std::string(decoder->decode({&extension, 1}, recorder, {.rows = {&rows, 1}}).message());
  };
  for (const char *name : {"logits", "attention", "encoder"}) {
    EXPECT_EQ(messageFor(name, 8),
              fmt::format("output \"{}\" is asked for, expected rows of tokens that entry "
                          "\"decode\" gives beside its logits",
                          name));
  }
  EXPECT_EQ(messageFor("context", 8), "room for 8 values of output \"context\", expected 64");
  EXPECT_EQ(messageFor("context", 64), "");
}

/// p = S sigmoid(0) is half of the source: a whole number if it is even, which is its own floor.
TEST(PredictiveWindow, AWholePlaceIsItsOwnFloor) {
  const std::string oracle = HEDDLE_TEST_DATA "/oracles/recurrent/gru-concat-local-p";
  const TemporaryFolder folder;
  std::filesystem::copy_file(oracle + "/config.json", folder / "config.json");
  const Result<SafetensorsFile> file = SafetensorsFile::open(oracle + "/model.safetensors");
  ASSERT_EQ(file.status().message(), "");
  std::vector<SafetensorsTensor> tensors = file->tensors();
  const std::vector<float> zeros(30);
  for (SafetensorsTensor &tensor : tensors) {
    if (tensor.name == "attention.position_v") {
      ASSERT_EQ(tensor.shape, std::vector<int64_t>{30});
      tensor.bytes = std::as_bytes(std::span(zeros));
    }
  }
  ASSERT_EQ(writeSafetensors(folder / "model.safetensors", tensors).message(), "");
  const std::string binary = compileModel(folder.path());
  ASSERT_FALSE(binary.empty());
  const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, "", 1);
  // The window has 3 keys on each side of key 4.
  const std::vector<float> weights = weightsOf(*decoder, {{5, 6, 7, 8, 9, 10, 11, 12}, {1, 4}}, 1);
  ASSERT_EQ(weights.size(), 16U);
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i] > 0, i % 8 != 0) << "token " << i / 8 << ", key " << i % 8;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Decoding,
    testing::Values("transformer-post", "transformer-pre", "san", "san-average", "local/mixed",
                    "local/masked-local", "local/weighted-window", "recurrent/lstm-none",
                    "recurrent/gru-last", "recurrent/gru-additive", "recurrent/lstm-general",
                    "recurrent/gnmt-like", "recurrent/tanh-additive", "recurrent/lstm-dot-local-m",
                    "recurrent/gru-concat-local-p", "recurrent/location",
                    "recurrent/location-cumulative", "marian-tiny", "bart-tiny", "t5-tiny",
                    "multimodel/multimodel-text-dense"),
    [](const testing::TestParamInfo<const char *> &info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '-', '_');
      std::replace(name.begin(), name.end(), '/', '_');
      return name;
    });

} // namespace
} // namespace heddle
