// SPDX-License-Identifier: Apache-2.0
///
/// The guarantee of every precision and every type of caches: a sentence has the same bits alone or
/// in a batch, in pieces of any size, on one thread or two. Fifty random batches for each,
/// or two on the emulated GPU.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/DecodedPairs.h"
#include "tests/runtime/Session/TestDevice.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace heddle {
namespace {

/// The emulated GPU is slow.
const int batches = testsCpu() ? 50 : 2;
/// Two threads synchronise after every kernel, which is slow if other programs run too: they get
/// one in this many batches.
constexpr int onTwoThreads = 5;
const size_t sentences = testsCpu() ? 12 : 4;

struct BitsCase {
  const char *model;
  const char *precision;
  const char *cache;
};
[[maybe_unused]] void PrintTo(const BitsCase &each, std::ostream *stream) {
  *stream << each.model << " in " << each.precision << ", caches in " << each.cache;
}

std::string compileCase(const BitsCase &each) {
  return compileModel(
      HEDDLE_TEST_DATA "/oracles/" + std::string(each.model),
      {"--precision=" + std::string(each.precision), "--cache=" + std::string(each.cache)});
}

/// Returns the indices of some of the sentences, in any order, possibly with duplicates.
std::vector<size_t> randomChoice(std::mt19937 &random) {
  std::vector<size_t> chosen(random() % (2 * sentences) + 1);
  std::ranges::generate(chosen, [&] { return random() % sentences; });
  return chosen;
}

class EncoderBits : public testing::TestWithParam<BitsCase> {};

TEST_P(EncoderBits, DependOnNothingButTheSentence) {
  const std::string binary = compileCase(GetParam());
  ASSERT_FALSE(binary.empty());
  std::mt19937 random(21);
  std::vector<Tokens> texts;
  for (size_t i = 0; i < sentences; ++i) {
    texts.push_back(randomTokens(random, random() % 40 + 1, 60));
  }
  for (const std::string &isa : runnableTargets(binary)) {
    const Result<Model> model = Model::load(binary, {.isa = isa});
    ASSERT_EQ(model.status().message(), "");
    std::vector<Session> sessions;
    for (const int threads : {1, 2}) {
      Result<Session> session =
          Session::create(*model, {.threads = threads, .schedule = Schedule::Cooperative});
      ASSERT_EQ(session.status().message(), "");
      sessions.push_back(*std::move(session));
    }
    std::vector<std::map<std::string, std::vector<float>>> alone;
    for (const Tokens &text : texts) {
      Ragged batch;
      batch.append(text);
      alone.push_back(runModel(sessions.front(), "encode", batch));
    }
    for (int trial = 0; trial < batches; ++trial) {
      const std::vector<size_t> chosen = randomChoice(random);
      Ragged batch;
      std::map<std::string, std::vector<float>> expected;
      for (const size_t number : chosen) {
        batch.append(texts[number]);
        for (const auto &[name, values] : alone[number]) {
          expected[name].insert(expected[name].end(), values.begin(), values.end());
        }
      }
      Session &session = sessions[trial % onTwoThreads == 0 ? 1 : 0];
      ASSERT_EQ(runModel(session, "encode", batch), expected) << isa << ", batch " << trial;
    }
  }
}

/// Expects the logits of another target, which adds in another order. Where products round their
/// factors, sums are soon rounded to other numbers.
void expectNear(const std::vector<std::vector<float>> &found,
                const std::vector<std::vector<float>> &expected, bool roundsRows,
                const std::string &isa) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    float most = 0;
    for (const float logit : expected[i]) {
      most = std::max(most, std::abs(logit));
    }
    EXPECT_LE(largestDifference(found[i], expected[i]), (roundsRows ? 0.05F : 0.001F) * most)
        << isa;
  }
}

class DecoderBits : public testing::TestWithParam<BitsCase> {};

TEST_P(DecoderBits, DependOnNothingButThePair) {
  const std::string binary = compileCase(GetParam());
  ASSERT_FALSE(binary.empty());
  std::vector<std::vector<float>> first;
  for (const std::string &isa : runnableTargets(binary)) {
    std::mt19937 random(22);
    const std::unique_ptr<PagedDecoder> one = decoderOf(binary, isa, 1);
    const std::unique_ptr<PagedDecoder> two = decoderOf(binary, isa, 2);
    EXPECT_EQ(one->model().cachePrecision(), GetParam().cache);
    const std::vector<Pair> pairs = randomPairs(*one, sentences, random);
    std::vector<std::vector<float>> alone;
    for (const auto &[source, target] : pairs) {
      alone.push_back(logitsOf(*one, source, target, {target.size()}));
      EXPECT_EQ(logitsOf(*two, source, target, randomPieces(target.size(), random)), alone.back())
          << isa;
    }
    first = first.empty() ? alone : first;
    expectNear(alone, first, std::string_view(GetParam().precision) != "f32", isa);
    for (int trial = 0; trial < batches; ++trial) {
      std::vector<Pair> batch;
      std::vector<std::vector<float>> expected;
      for (const size_t number : randomChoice(random)) {
        batch.push_back(pairs[number]);
        expected.push_back(alone[number]);
      }
      PagedDecoder &decoder = trial % onTwoThreads == 0 ? *two : *one;
      ASSERT_EQ(decodeTogether(decoder, batch, random), expected) << isa << ", batch " << trial;
    }
    EXPECT_EQ(one->blocksInUse() + two->blocksInUse(), 0);
  }
}

std::string nameOf(const testing::TestParamInfo<BitsCase> &info) {
  std::string name =
      std::string(info.param.model) + "_" + info.param.precision + "_cache_" + info.param.cache;
  std::ranges::replace_if(name, [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
}

constexpr const char *names[] = {"f32",  "bf16-weights", "int8-weights", "bf16",
                                 "int8", "int8-g128",    "int4"};

std::vector<BitsCase> encoders() {
  std::vector<BitsCase> cases;
  for (const char *precision : names) {
    cases.push_back({"bert-tiny", precision, "f32"});
  }
  return cases;
}

/// Returns every precision and every type of caches on one model, and families that use caches in
/// other ways. Readers of caches are independent of the precision of products and vice versa: each
/// type is combined with some precisions, not with all.
std::vector<BitsCase> decoders() {
  return {{"marian-tiny", "f32", "f32"},
          {"marian-tiny", "f32", "bf16"},
          {"marian-tiny", "f32", "int8"},
          {"marian-tiny", "bf16-weights", "f32"},
          {"marian-tiny", "int8-weights", "bf16"},
          {"marian-tiny", "bf16", "int8"},
          {"marian-tiny", "int8", "int8"},
          {"marian-tiny", "int8-g128", "f32"},
          {"marian-tiny", "int4", "bf16"},
          {"t5-tiny", "int8", "bf16"},
          {"san-average", "bf16", "int8"},
          {"local/mixed", "int8", "int8"},
          {"recurrent/gru-additive", "bf16", "bf16"}};
}

INSTANTIATE_TEST_SUITE_P(Models, EncoderBits, testing::ValuesIn(encoders()), nameOf);
INSTANTIATE_TEST_SUITE_P(Models, DecoderBits, testing::ValuesIn(decoders()), nameOf);

} // namespace
} // namespace heddle
