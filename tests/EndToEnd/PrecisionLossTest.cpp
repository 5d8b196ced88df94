// SPDX-License-Identifier: Apache-2.0
///
/// The effect of precisions and caches in fewer bits on generated texts: the divergence of
/// distributions over the vocabulary from those of f32, on texts generated in f32, and whether a
/// greedy search would generate others.
///
/// Trained models must lose almost nothing, except a small one in 8 and 4 bits. Randomly
/// initialised weights do not depend on their digits: logits are nearly equal, and rounding one
/// changes the order of many; there the bounds only detect defects.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/DecodedPairs.h"

#include <cmath>
#include <cstdio>
#include <fstream>

namespace heddle {
namespace {

struct LossCase {
  const char *precision;
  const char *cache;
  /// The maximum of the mean divergence, in nats.
  double most;
  /// The minimum fraction of the tokens that f32 clearly prefers and that stay the same.
  double leastEqual = 1;
};
constexpr LossCase ofTrained[] = {
    {"f32", "bf16", 2e-4},  {"f32", "int8", 1e-3},  {"bf16", "f32", 2e-4},
    {"bf16", "bf16", 2e-4}, {"int8", "f32", 1e-3},  {"int8-g128", "f32", 1e-3},
    {"int8", "bf16", 1e-3}, {"int8", "int8", 1e-3}, {"int4", "f32", 1e-3},
};
/// Answers contain names of files, letter by letter, of which a small model is less certain.
constexpr LossCase ofAnswers[] = {
    {"f32", "bf16", 2e-4},  {"f32", "int8", 1e-3},  {"bf16", "f32", 2e-4},
    {"bf16", "bf16", 2e-4}, {"int8", "f32", 3e-3},  {"int8-g128", "f32", 3e-3},
    {"int8", "bf16", 3e-3}, {"int8", "int8", 3e-3}, {"int4", "f32", 0.1, 0.9},
};
/// Products and caches lose little together, so neither loses much alone.
constexpr LossCase ofRandom[] = {
    {"bf16", "bf16", 0.02}, {"int8", "int8", 0.05}, {"int4", "f32", 1}};
/// If f32 prefers a token by more than this, all precisions must.
constexpr float clearMargin = 0.5;

std::string nameOf(const LossCase &each) {
  return std::string(each.precision) + ", caches " + each.cache;
}

/// A text generated after a source or a prompt, with which it begins, and the logits after each of
/// its tokens.
struct Written {
  Tokens source, target;
  std::vector<float> logits;
};

size_t firstLargest(std::span<const float> row) {
  return static_cast<size_t>(std::ranges::max_element(row) - row.begin());
}

/// Generates greedily until there are `most` tokens, including the given beginning.
Written writeGreedily(PagedDecoder &decoder, const Pair &begin, size_t most) {
  const Tokens &source = begin.source;
  Written written{source, begin.target, {}};
  const SourceId id = encodeOne(decoder, source);
  const HypothesisId hypothesis = *decoder.start(id);
  Tokens next = written.target;
  while (true) {
    const Extension extension{hypothesis, next};
    Recorder recorder;
    EXPECT_EQ(decoder.decode({&extension, 1}, recorder).message(), "");
    written.logits.insert(written.logits.end(), recorder.logits.begin(), recorder.logits.end());
    const auto width = static_cast<size_t>(recorder.width);
    const auto token = static_cast<int32_t>(firstLargest(std::span(recorder.logits).last(width)));
    if (decoder.isEnd(token) || written.target.size() == most) {
      break;
    }
    next = {token};
    written.target.push_back(token);
  }
  decoder.release(hypothesis);
  decoder.release(id);
  return written;
}

/// Returns the log-probabilities of a row of logits.
std::vector<double> logSoftmax(std::span<const float> row) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (const float logit : row) {
    sum += std::exp(logit - most);
  }
  std::vector<double> logs;
  for (const float logit : row) {
    logs.push_back(logit - most - std::log(sum));
  }
  return logs;
}

/// The comparison of a model with texts generated in f32.
struct Loss {
  double divergence = 0;
  int64_t rows = 0;
  /// The number of rows for which f32 clearly prefers a token, and of those for which the other
  /// prefers it too.
  int64_t clear = 0, equal = 0;

  void add(std::span<const float> expected, std::span<const float> got) {
    const std::vector<double> left = logSoftmax(expected), right = logSoftmax(got);
    for (size_t i = 0; i < left.size(); ++i) {
      divergence += std::exp(left[i]) * (left[i] - right[i]);
    }
    ++rows;
    const size_t best = firstLargest(expected);
    float second = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < expected.size(); ++i) {
      second = i == best ? second : std::max(second, expected[i]);
    }
    if (expected[best] - second > clearMargin) {
      ++clear;
      equal += firstLargest(got) == best ? 1 : 0;
    }
  }
  double mean() const { return divergence / static_cast<double>(rows); }
};

Loss lossOf(PagedDecoder &decoder, const std::vector<Written> &texts) {
  Loss loss;
  const auto width = static_cast<size_t>(decoder.vocabulary());
  for (const Written &text : texts) {
    const std::vector<float> got =
        logitsOf(decoder, text.source, text.target, {text.target.size()});
    for (size_t first = 0; first < got.size(); first += width) {
      loss.add(std::span(text.logits).subspan(first, width), std::span(got).subspan(first, width));
    }
  }
  return loss;
}

/// Compiles a folder for this machine only: the results of other targets are as close to f32,
/// because tests of kernels compare all of them with the same numbers.
std::string compileHere(const std::string &folder, const std::string &precision,
                        const std::string &cache) {
  return compileModel(folder, {"--target=native", "--precision=" + precision, "--cache=" + cache});
}

/// Returns the losses of a folder in some precisions, on texts generated in f32: up to 24 tokens
/// after some sources or, if the model has none, after prompts.
std::vector<Loss> lossesOf(const std::string &folder, std::span<const LossCase> cases,
                           const std::vector<Tokens> &beginnings) {
  constexpr size_t most = 24;
  const std::unique_ptr<PagedDecoder> exact = decoderOf(compileHere(folder, "f32", "f32"), "", 1);
  std::vector<Written> texts;
  texts.reserve(beginnings.size());
  const auto longest = static_cast<size_t>(exact->longestTarget());
  for (const Tokens &beginning : beginnings) {
    const size_t after = beginning.size() + most;
    texts.push_back(exact->hasSources()
                        ? writeGreedily(*exact, {beginning, exact->start()}, most)
                        : writeGreedily(*exact, {{}, beginning},
                                        longest == 0 ? after : std::min(after, longest)));
  }
  std::vector<Loss> losses;
  for (const LossCase &each : cases) {
    const std::string binary = compileHere(folder, each.precision, each.cache);
    losses.push_back(lossOf(*decoderOf(binary, "", 1), texts));
    const Loss &loss = losses.back();
    std::printf("%-46s %-24s KL %.2e, %ld of %ld clear tokens equal\n",
                folder.substr(folder.find_last_of('/') + 1).c_str(), nameOf(each).c_str(),
                loss.mean(), static_cast<long>(loss.equal), static_cast<long>(loss.clear));
  }
  return losses;
}

void expectBounds(const std::vector<Loss> &losses, std::span<const LossCase> cases) {
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto clear = static_cast<double>(losses[i].clear);
    EXPECT_LE(losses[i].mean(), cases[i].most) << nameOf(cases[i]);
    EXPECT_GT(clear, 0) << nameOf(cases[i]);
    EXPECT_GE(static_cast<double>(losses[i].equal), cases[i].leastEqual * clear)
        << nameOf(cases[i]);
  }
}

TEST(PrecisionLoss, ATrainedModelWritesTheSame) {
  const std::string folder = HEDDLE_TEST_DATA "/../examples/dates/model";
  const Result<Model> model = Model::load(compileHere(folder, "f32", "f32"));
  ASSERT_EQ(model.status().message(), "");
  std::ifstream page(HEDDLE_TEST_DATA "/../examples/dates/page.txt");
  std::vector<Tokens> sources;
  for (std::string line; std::getline(page, line) && sources.size() < 40;) {
    if (Result<Tokens> tokens = model->tokenize(line); tokens.ok() && !tokens->empty()) {
      sources.push_back(*std::move(tokens));
    }
  }
  ASSERT_GE(sources.size(), 10U);
  expectBounds(lossesOf(folder, ofTrained, sources), ofTrained);
}

// The model that answers questions about Heddle, whose weights are stored in bf16.
TEST(PrecisionLoss, ATrainedDecoderAnswersTheSame) {
  const std::string folder = HEDDLE_TEST_DATA "/../examples/chat/model";
  const Result<Model> model = Model::load(compileHere(folder, "f32", "f32"));
  ASSERT_EQ(model.status().message(), "");
  const Result<Generator> generator = Generator::create(*model);
  ASSERT_EQ(generator.status().message(), "");
  std::vector<Tokens> prompts;
  for (const std::string question :
       {"How do I compile models/bert in int8?", "How do I compile models/tiny with an int8 cache?",
        "Translate lines.txt with beam 4 using model.so", "What does --precision int4 do?",
        "How do I embed texts.txt with minilm.so on 4 threads?", "Who are you?",
        "Continue prompts.txt with llama.so, up to 64 tokens", "What is a dispatch?"}) {
    const Result<Tokens> prompt = generator->encodeChat(
        R"({"messages": [{"role": "user", "content": ")" + question + R"("}]})");
    ASSERT_EQ(prompt.status().message(), "");
    prompts.push_back(*prompt);
  }
  expectBounds(lossesOf(folder, ofAnswers, prompts), ofAnswers);
}

class RandomWeights : public testing::TestWithParam<const char *> {};

TEST_P(RandomWeights, LoseAFewOfTheirDigits) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam());
  const std::unique_ptr<PagedDecoder> decoder = decoderOf(compileHere(folder, "f32", "f32"), "", 1);
  std::mt19937 random(31);
  std::vector<Tokens> beginnings;
  for (const Pair &pair : randomPairs(*decoder, 6, random)) {
    beginnings.push_back(decoder->hasSources() ? pair.source : pair.target);
  }
  const std::vector<Loss> losses = lossesOf(folder, ofRandom, beginnings);
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_LE(losses[i].mean(), ofRandom[i].most) << nameOf(ofRandom[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Oracles, RandomWeights,
    testing::Values("transformer-post", "transformer-pre", "san-average", "local/mixed",
                    "recurrent/gru-additive", "recurrent/lstm-general", "recurrent/location",
                    "marian-tiny", "bart-tiny", "t5-tiny", "multimodel/multimodel-text-dense",
                    "llama-tiny", "llama3-tiny", "mistral-tiny", "mixtral-tiny", "qwen2-tiny",
                    "qwen3-tiny", "qwen3-moe-tiny", "phi3-tiny", "gemma2-tiny", "gemma3-tiny",
                    "gpt-neox-tiny", "gpt2-tiny"),
    [](const auto &info) {
      std::string name = info.param;
      std::ranges::replace_if(name, [](char c) { return c == '-' || c == '/'; }, '_');
      return name;
    });

} // namespace
} // namespace heddle
