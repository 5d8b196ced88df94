// SPDX-License-Identifier: Apache-2.0
///
/// Models without an encoder, which continue prompts: the logits and texts that Transformers
/// computed, and the same bits in any batch.
#include "formats/Checkpoint/Convert.h"
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Generation.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/ContinuedPrompts.h"
#include "tests/EndToEnd/DecodedPairs.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/runtime/Session/TestDevice.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";
const std::string gpt = oracles + "gpt2-tiny";

TEST(Continuation, LogitsAreThoseOfTransformers) {
  const std::string binary = compileModel(gpt);
  ASSERT_FALSE(binary.empty());
  const auto expected = readTensor<float>(gpt + "/expected.safetensors", "logits");
  for (const std::string &isa : runnableTargets(binary)) {
    EXPECT_LE(largestDifference(logitsFor(binary, gpt, isa), expected), 1e-4f) << isa;
  }
}

TEST(Continuation, EveryPassMayBeLeftOut) {
  const auto expected = readTensor<float>(gpt + "/expected.safetensors", "logits");
  std::vector<std::vector<std::string>> variants = {withoutPasses()};
  for (const std::string &flag : withoutPassesOf(gpt)) {
    variants.push_back({flag, "--target=x86-64-v3"});
  }
  for (const auto &variant : variants) {
    const std::string binary = compileModel(gpt, variant);
    ASSERT_FALSE(binary.empty());
    EXPECT_LE(largestDifference(logitsFor(binary, gpt, "x86-64-v3"), expected), 1e-4f)
        << variant.front();
  }
}

/// Prompts of one length; the sequences contain the generated continuation.
TEST(Continuation, GreedySearchIsThatOfTransformers) {
  const std::string binary = compileModel(gpt);
  ASSERT_FALSE(binary.empty());
  const std::vector<Tokens> prompts = rowsOf(gpt, "input_ids", 2);
  const std::vector<Tokens> sequences = rowsOf(gpt, "greedy.sequences", 2);
  const auto found = generateTokens(binary, linesOf(prompts), {"--max-length", "24"});
  ASSERT_EQ(found.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const Tokens expected(sequences[i].begin() + static_cast<std::ptrdiff_t>(prompts[i].size()),
                          sequences[i].end());
    EXPECT_EQ(found[i][0]["tokens"].get<Tokens>(), expected);
  }
  // The same prompts as tensors, and one of them on the command line.
  EXPECT_EQ(generateFromFile(binary, gpt + "/expected.safetensors", {"--max-length", "24"}), found);
  const std::string prompt = fmt::format("{}", fmt::join(prompts[1], " "));
  const tools::Outcome outcome = tools::runHeddle(
      withTestDevice({"generate", binary, "--prompt", prompt, "--tokens", "--max-length", "24"}));
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, found[1][0]["text"].get<std::string>() + "\n");
}

/// A model with only unusual options, in bf16; prompts of several lengths, each computed alone.
TEST(Continuation, OptionsAreThoseOfTransformers) {
  const std::string oracle = oracles + "gpt2-options";
  const std::string binary = compileModel(oracle);
  ASSERT_FALSE(binary.empty());
  const auto expected = readTensor<float>(oracle + "/expected.safetensors", "logits");
  for (const std::string &isa : runnableTargets(binary)) {
    EXPECT_LE(largestDifference(logitsFor(binary, oracle, isa), expected), 1e-4f) << isa;
  }
  const std::vector<Tokens> prompts = promptsOf(oracle, 3);
  const Tokens ends = {2, 7};
  const auto first = generateTokens(binary, linesOf(prompts), {"--max-length", "14"});
  const std::vector<Tokens> greedy = generatedBy(oracle, "greedy.sequences", prompts, 1, ends);
  ASSERT_EQ(first.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(first[i][0]["tokens"].get<Tokens>(), greedy[i]) << i;
  }
  const std::map<std::string, std::vector<std::string>> searches = {
      {"beam4", {"--beam", "4", "--nbest", "4", "--length-penalty", "1", "--max-length", "10"}},
      {"beam5lp",
       {"--beam", "5", "--nbest", "2", "--length-penalty", "0.6", "--early-stopping",
        "--max-length", "8"}}};
  for (const auto &[search, options] : searches) {
    const auto scores = readTensor<float>(oracle + "/expected.safetensors", search + ".scores");
    const size_t copies = scores.size() / prompts.size();
    const auto rows = generatedBy(oracle, search + ".sequences", prompts, copies, ends);
    const auto found = generateTokens(binary, linesOf(prompts), options);
    ASSERT_EQ(found.size(), prompts.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} {}", search, i));
      expectHypothesis(found[i / copies], i % copies, rows[i], static_cast<double>(scores[i]),
                       1e-4);
    }
  }
}

/// The score that a search finds equals the model's score of its tokens.
TEST(Continuation, BeamsHaveTheScoresOfTheirTokens) {
  const std::string binary = compileModel(gpt);
  const auto model = Model::load(binary, onTestDevice());
  ASSERT_TRUE(model.ok());
  auto generator = Generator::create(*model);
  ASSERT_TRUE(generator.ok()) << generator.status().message();
  EXPECT_FALSE(generator->hasSources());
  const Tokens prompt = rowsOf(gpt, "input_ids", 2)[0];
  ASSERT_TRUE(generator
                  ->add({.prefix = prompt,
                         .options = {.beam = 4, .nbest = 4, .maxLength = 12, .tokenScores = true}})
                  .ok());
  std::vector<GenerationResult> results;
  while (!generator->idle()) {
    auto step = generator->step();
    ASSERT_TRUE(step.ok()) << step.status().message();
    results.insert(results.end(), step->begin(), step->end());
  }
  ASSERT_EQ(results.size(), 1U);
  ASSERT_EQ(results[0].hypotheses.size(), 4U);
  EXPECT_EQ(results[0].prefix, static_cast<int64_t>(prompt.size()));
  for (const Hypothesis &hypothesis : results[0].hypotheses) {
    const auto begin = hypothesis.tokens.begin() + results[0].prefix;
    EXPECT_TRUE(std::equal(hypothesis.tokens.begin(), begin, prompt.begin()));
    const ScoringRequest asked{.target = {begin, hypothesis.tokens.end()}, .prefix = prompt};
    const auto scores = generator->score({&asked, 1});
    ASSERT_TRUE(scores.ok()) << scores.status().message();
    double sum = 0;
    for (size_t i = 0; i < hypothesis.tokenScores.size(); ++i) {
      EXPECT_NEAR((*scores)[0][i], hypothesis.tokenScores[i], 1e-5);
      sum += static_cast<double>(hypothesis.tokenScores[i]);
    }
    EXPECT_NEAR(hypothesis.score, sum / static_cast<double>(hypothesis.tokenScores.size()), 1e-6);
  }
  EXPECT_GE(results[0].hypotheses[0].score, results[0].hypotheses[1].score);
}

/// Returns the model with its weights in another type, and the same values in f32.
std::string converted(const TemporaryFolder &folder, ElementType element) {
  const auto stored = SafetensorsFile::open(gpt + "/model.safetensors");
  EXPECT_TRUE(stored.ok());
  std::vector<std::vector<uint16_t>> halves;
  std::vector<std::vector<float>> floats;
  std::vector<SafetensorsTensor> narrow, wide;
  const auto tensors = stored->tensors();
  halves.reserve(tensors.size());
  floats.reserve(tensors.size());
  for (const SafetensorsTensor &tensor : tensors) {
    std::vector<uint16_t> &bits = halves.emplace_back();
    std::vector<float> &values = floats.emplace_back();
    for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
      uint32_t word = 0;
      std::memcpy(&word, tensor.bytes.data() + at, sizeof(word));
      // Both types represent these values: seven bits after the leading one, and exponents of f16.
      word &= 0xFFFF0000U;
      float value = 0;
      std::memcpy(&value, &word, sizeof(value));
      value = std::abs(value) < 6.2e-5F ? 0 : value;
      values.push_back(value);
      std::memcpy(&word, &value, sizeof(word));
      const uint32_t exponent = (word >> 23U) & 0xFFU;
      const uint32_t sign = (word >> 16U) & 0x8000U;
      bits.push_back(static_cast<uint16_t>(element == ElementType::BF16 ? word >> 16U
                                           : exponent == 0 ? sign
                                                           : sign | (exponent - 112) << 10U |
                                                                 ((word >> 13U) & 0x3FFU)));
    }
    narrow.push_back({tensor.name, element, tensor.shape, std::as_bytes(std::span(bits))});
    wide.push_back({tensor.name, ElementType::F32, tensor.shape, std::as_bytes(std::span(values))});
  }
  for (const char *const name : {"narrow", "wide"}) {
    std::filesystem::create_directories(folder / name);
    std::filesystem::copy_file(gpt + "/config.json", folder / name + "/config.json");
  }
  EXPECT_TRUE(writeSafetensors(folder / "narrow/model.safetensors", narrow).ok());
  EXPECT_TRUE(writeSafetensors(folder / "wide/model.safetensors", wide).ok());
  return folder.path();
}

TEST(Continuation, FilesOfHalfTheSizeHaveTheSameLogits) {
  for (const ElementType element : {ElementType::F16, ElementType::BF16}) {
    const TemporaryFolder folder;
    const std::string path = converted(folder, element);
    const std::string narrow = compileModel(path + "/narrow");
    const std::string wide = compileModel(path + "/wide");
    ASSERT_FALSE(narrow.empty() || wide.empty());
    EXPECT_LE(
        largestDifference(logitsFor(narrow, gpt, "x86-64-v3"), logitsFor(wide, gpt, "x86-64-v3")),
        1e-5f);
  }
}

/// As the first folders were published: names without a prefix, and the mask as tensors.
TEST(Continuation, NamesMayLackThePrefix) {
  const TemporaryFolder folder;
  const auto stored = SafetensorsFile::open(gpt + "/model.safetensors");
  ASSERT_TRUE(stored.ok());
  const std::vector<float> mask(64 * 64, 1);
  std::vector<SafetensorsTensor> tensors;
  for (SafetensorsTensor tensor : stored->tensors()) {
    tensor.name = tensor.name.substr(std::string("transformer.").size());
    tensors.push_back(std::move(tensor));
  }
  for (int layer = 0; layer < 3; ++layer) {
    tensors.push_back({fmt::format("h.{}.attn.bias", layer),
                       ElementType::F32,
                       {1, 1, 64, 64},
                       std::as_bytes(std::span(mask))});
  }
  ASSERT_TRUE(writeSafetensors(folder / "model.safetensors", tensors).ok());
  std::filesystem::copy_file(gpt + "/config.json", folder / "config.json");
  const std::string binary = compileModel(folder.path());
  ASSERT_FALSE(binary.empty());
  EXPECT_EQ(logitsFor(binary, gpt, "x86-64-v3"), logitsFor(compileModel(gpt), gpt, "x86-64-v3"));
}

// --- any batch ---------------------------------------------------------------------------------

/// Prompts in any pieces, batch and number of threads, on every target.
TEST(Continuation, LogitsHaveTheSameBitsInAnyPieces) {
  const std::string binary = compileModel(gpt);
  for (const std::string &isa : runnableTargets(binary)) {
    std::mt19937 random(11);
    const std::unique_ptr<PagedDecoder> one = decoderOf(binary, isa, 1);
    const std::unique_ptr<PagedDecoder> two = decoderOf(binary, isa, 2);
    EXPECT_FALSE(one->hasSources());
    const std::vector<Pair> pairs = randomPairs(*one, 12, random);
    std::vector<std::vector<float>> whole;
    for (const auto &[source, target] : pairs) {
      EXPECT_TRUE(source.empty());
      whole.push_back(logitsOf(*one, source, target, {target.size()}));
      const std::vector<size_t> steps(target.size(), 1);
      EXPECT_EQ(logitsOf(*one, source, target, steps), whole.back()) << isa;
      EXPECT_EQ(logitsOf(*two, source, target, randomPieces(target.size(), random)), whole.back())
          << isa;
    }
    EXPECT_EQ(decodeTogether(*one, pairs, random), whole) << isa;
    EXPECT_EQ(decodeTogether(*two, pairs, random), whole) << isa;
    EXPECT_EQ(one->blocksInUse() + two->blocksInUse(), 0);
  }
}

/// A search for a prompt.
struct Asked {
  Tokens prompt;
  GenerationOptions options;
};

/// Returns requests of which half begin with the same tokens.
std::vector<Asked> someRequests(size_t count) {
  std::mt19937 random(5);
  const Tokens same = randomTokens(random, 36, 106);
  std::vector<Asked> asked(count);
  for (Asked &each : asked) {
    each.prompt = randomTokens(random, 1 + random() % 40, 106);
    if (random() % 2 == 0) {
      each.prompt.resize(1 + random() % 4);
      const auto end = same.begin() + static_cast<std::ptrdiff_t>(random() % same.size());
      each.prompt.insert(each.prompt.begin(), same.begin(), end);
    }
    each.options.maxLength = static_cast<int32_t>(1 + random() % 20);
    if (random() % 3 == 0) {
      each.options.beam = 4;
      each.options.nbest = 3;
    } else if (random() % 2 == 0) {
      each.options.sample = true;
      each.options.nbest = 2;
      each.options.topP = 0.9F;
      each.options.seed = random();
    }
  }
  return asked;
}

/// Runs requests, some of which join at every step, and returns the results of each. Others join
/// and are removed while they wait, in the middle of their prompt or of their answer.
std::map<size_t, std::vector<Hypothesis>> answers(const Model &model,
                                                  const std::vector<Asked> &asked,
                                                  const std::vector<size_t> &order,
                                                  const GeneratorOptions &options) {
  std::map<size_t, std::vector<Hypothesis>> results;
  auto generator = Generator::create(model, options);
  EXPECT_TRUE(generator.ok()) << generator.status().message();
  std::map<int64_t, size_t> numbers;
  std::vector<int64_t> unwanted;
  std::mt19937 random(static_cast<uint32_t>(options.batchTokens));
  size_t next = 0;
  while (next < order.size() || !generator->idle()) {
    for (uint32_t join = random() % 9; join > 0 && next < order.size(); --join) {
      const Asked &each = asked[order[next]];
      const auto id = generator->add({.prefix = each.prompt, .options = each.options});
      EXPECT_TRUE(id.ok()) << id.status().message();
      numbers[*id] = order[next++];
    }
    if (next < order.size() && random() % 4 == 0) {
      const auto id = generator->add({.prefix = asked[random() % asked.size()].prompt});
      EXPECT_TRUE(id.ok());
      unwanted.push_back(*id);
    } else if (!unwanted.empty() && random() % 3 == 0) {
      // It may be finished already.
      const Status removed = generator->remove(unwanted.back());
      EXPECT_TRUE(removed.ok() || removed.code() == StatusCode::NotFound);
      unwanted.pop_back();
    }
    auto step = generator->step();
    EXPECT_TRUE(step.ok()) << step.status().message();
    for (size_t i = 0; step.ok() && i < step->size(); ++i) {
      EXPECT_TRUE((*step)[i].status.ok()) << (*step)[i].status.message();
      if (const auto found = numbers.find((*step)[i].id); found != numbers.end()) {
        results[found->second] = std::move((*step)[i].hypotheses);
      }
    }
  }
  EXPECT_EQ(generator->cacheUse().used, 0U);
  EXPECT_EQ(generator->sharedTokens() > 0, options.session.sharePrefixes && order.size() > 1);
  return results;
}

/// In every precision: only the last row of a prompt has logits, whatever other rows are in the
/// batch. With a window of 11, reused blocks are given back before others.
struct Mixes {
  const char *name;
  const char *oracle;
  const char *precision;
  int count;
};
class ContinuationMixes : public testing::TestWithParam<Mixes> {};
const Mixes mixes[] = {{"f32", "gpt2-tiny", "f32", 50},
                       {"bf16", "gpt2-tiny", "bf16", 50},
                       {"int8", "gpt2-tiny", "int8", 50},
                       {"int4", "gpt2-tiny", "int4", 50},
                       {"Windows", "mistral-tiny", "f32", 20}};
INSTANTIATE_TEST_SUITE_P(Models, ContinuationMixes, testing::ValuesIn(mixes),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(ContinuationMixes, RequestsHaveTheBitsTheyHaveAlone) {
  const auto model = Model::load(compileModel(
      oracles + GetParam().oracle, {std::string("--precision=") + GetParam().precision}));
  ASSERT_TRUE(model.ok());
  const std::vector<Asked> asked = someRequests(80);
  std::vector<size_t> order(asked.size());
  std::map<size_t, std::vector<Hypothesis>> alone;
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    alone.merge(answers(*model, asked, {i}, {}));
  }
  ASSERT_EQ(alone.size(), asked.size());
  std::mt19937 random(1);
  for (int mix = 0; mix < GetParam().count; ++mix) {
    std::shuffle(order.begin(), order.end(), random);
    // Threads that share kernels synchronise after each, which is slow if other programs run too.
    const bool hasTwo = mix % 5 == 1;
    GeneratorOptions options = {.session = {.threads = hasTwo ? 2 : 1,
                                            .schedule = hasTwo && mix % 2 == 0
                                                            ? Schedule::Cooperative
                                                            : Schedule::Automatic},
                                .batchTokens = 1 + static_cast<int64_t>(random() % 2000),
                                .promptTokens = 1 + static_cast<int64_t>(random() % 100),
                                .promptTokensBeside = 1 + static_cast<int64_t>(random() % 40)};
    options.session.sharePrefixes = mix % 4 != 3;
    if (mix % 3 == 0) {
      // Some have to wait for blocks.
      options.session.cacheBytes = uint64_t(1) << 20;
    }
    EXPECT_EQ(answers(*model, asked, order, options), alone) << mix;
  }
}

} // namespace
} // namespace heddle
