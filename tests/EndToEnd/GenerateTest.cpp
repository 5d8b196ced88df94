// SPDX-License-Identifier: Apache-2.0
///
/// `heddle generate` and `heddle score` on compiled models, as a user runs them: the texts and
/// scores that other programs computed, the same bits in any batch, and errors.
#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Generation.h"
#include "runtime/Generate/BatchSearch.h"
#include "runtime/Session/PagedDecoder.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/TestDevice.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

/// A tensor of integers or floats by rows.
template <typename Number> struct Rows {
  std::vector<Number> values;
  size_t width = 1;

  std::vector<Number> row(size_t index) const {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * width);
    return {begin, begin + static_cast<std::ptrdiff_t>(width)};
  }
};

template <typename Number> Rows<Number> readRows(const Checkpoint &file, const std::string &name) {
  Rows<Number> rows;
  const auto *tensor = file.find(name);
  if (tensor == nullptr) {
    ADD_FAILURE() << "no tensor " << name;
    return rows;
  }
  size_t count = 1;
  for (const auto dimension : tensor->shape) {
    count *= static_cast<size_t>(dimension);
  }
  rows.values.resize(count);
  rows.width = static_cast<size_t>(tensor->shape.back());
  if constexpr (std::is_same_v<Number, float>) {
    EXPECT_TRUE(file.readF32(name, rows.values).ok());
  } else {
    EXPECT_TRUE(file.readI32(name, rows.values).ok());
  }
  return rows;
}

/// Removes the padding at the end.
Tokens unpadded(Tokens tokens, int32_t pad) {
  while (!tokens.empty() && tokens.back() == pad) {
    tokens.pop_back();
  }
  return tokens;
}

std::string lineOf(const Tokens &tokens) { return fmt::format("{}\n", fmt::join(tokens, " ")); }

/// Checks the seed models: the maximum of each sentence is its length plus `extra` tokens.
void expectPaper(const std::string &name, size_t extra = 12) {
  const std::string binary = compileModel(oracles + name);
  ASSERT_FALSE(binary.empty());
  auto file = Checkpoint::open(oracles + name + "/expected.safetensors");
  ASSERT_TRUE(file.ok());
  const auto sources = readRows<int32_t>(*file, "source");
  const auto greedy = readRows<int32_t>(*file, "greedy.tokens");
  const auto beams = readRows<int32_t>(*file, "beam4.tokens");
  const auto scores = readRows<float>(*file, "beam4.scores");
  for (size_t i = 0; i < sources.values.size() / sources.width; ++i) {
    SCOPED_TRACE(fmt::format("{} sentence {}", name, i));
    const Tokens source = unpadded(sources.row(i), 0);
    const std::string most = std::to_string(source.size() + extra);
    const auto first = generateTokens(binary, lineOf(source),
                                      {"--rules", "paper", "--max-length", most, "--beam", "1"});
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0][0]["tokens"].get<Tokens>(), unpadded(greedy.row(i), 0));
    const auto found = generateTokens(binary, lineOf(source),
                                      {"--rules", "paper", "--max-length", most, "--beam", "4",
                                       "--nbest", "4", "--length-penalty", "0.6"});
    ASSERT_EQ(found.size(), 1U);
    for (size_t k = 0; k < 4; ++k) {
      const float score = scores.values[i * 4 + k];
      if (std::isinf(score)) {
        EXPECT_LE(found[0].size(), k);
        continue;
      }
      expectHypothesis(found[0], k, unpadded(beams.row(i * 4 + k), 0), static_cast<double>(score),
                       5e-5);
    }
  }
}

/// The special tokens in the sequences of a Hugging Face oracle.
struct Special {
  int32_t end;
  int32_t pad;
};

/// Returns the generated tokens: after the start, up to the end.
Tokens generatedOf(const Tokens &sequence, const Special &special) {
  Tokens tokens(sequence.begin() + 1, sequence.end());
  const auto end = std::find(tokens.begin(), tokens.end(), special.end);
  if (end != tokens.end()) {
    tokens.erase(end + 1, tokens.end());
    return tokens;
  }
  return unpadded(std::move(tokens), special.pad);
}

void expectTransformers(const std::string &name, const Special &special) {
  const std::string binary = compileModel(oracles + name);
  ASSERT_FALSE(binary.empty());
  auto file = Checkpoint::open(oracles + name + "/expected.safetensors");
  ASSERT_TRUE(file.ok());
  const auto ids = readRows<int32_t>(*file, "input_ids");
  const auto mask = readRows<int32_t>(*file, "attention_mask");
  std::string lines;
  const size_t count = ids.values.size() / ids.width;
  for (size_t i = 0; i < count; ++i) {
    Tokens source = ids.row(i);
    const Tokens seen = mask.row(i);
    source.resize(static_cast<size_t>(std::count(seen.begin(), seen.end(), 1)));
    lines += lineOf(source);
  }
  const auto greedy = readRows<int32_t>(*file, "greedy.sequences");
  const auto first = generateTokens(
      binary, lines, {"--rules", "transformers", "--beam", "1", "--max-length", "20"});
  ASSERT_EQ(first.size(), count);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(first[i][0]["tokens"].get<Tokens>(), generatedOf(greedy.row(i), special)) << i;
  }
  const std::map<std::string, std::vector<std::string>> searches = {
      {"beam4", {"--beam", "4", "--nbest", "4", "--length-penalty", "1", "--max-length", "20"}},
      {"beam5lp",
       {"--beam", "5", "--nbest", "2", "--length-penalty", "0.6", "--early-stopping",
        "--max-length", "16"}}};
  for (const auto &[search, options] : searches) {
    const auto sequences = readRows<int32_t>(*file, search + ".sequences");
    const auto scores = readRows<float>(*file, search + ".scores");
    std::vector<std::string> all = {"--rules", "transformers"};
    all.insert(all.end(), options.begin(), options.end());
    const auto found = generateTokens(binary, lines, all);
    ASSERT_EQ(found.size(), count);
    const size_t nbest = scores.values.size() / count;
    for (size_t i = 0; i < scores.values.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} {} {}", name, search, i));
      expectHypothesis(found[i / nbest], i % nbest, generatedOf(sequences.row(i), special),
                       static_cast<double>(scores.values[i]), 1e-4);
    }
  }
}

/// Returns sources for the model of expectPaper().
std::vector<Tokens> someSources(size_t count) {
  std::mt19937 random(4);
  std::vector<Tokens> sources(count);
  for (Tokens &source : sources) {
    source.resize(1 + random() % 17);
    for (int32_t &token : source) {
      token = static_cast<int32_t>(4 + random() % 56);
    }
  }
  return sources;
}

/// Runs requests in a given order and batch size; returns hypotheses by the number of the source.
std::map<size_t, std::vector<Hypothesis>> generateAll(const Model &model,
                                                      const std::vector<Tokens> &sources,
                                                      const std::vector<size_t> &order,
                                                      const GeneratorOptions &options,
                                                      const GenerationOptions &search) {
  std::map<size_t, std::vector<Hypothesis>> results;
  auto generator = Generator::create(model, options);
  EXPECT_TRUE(generator.ok()) << generator.status().message();
  std::map<int64_t, size_t> numbers;
  size_t next = 0;
  std::mt19937 random(static_cast<uint32_t>(options.batchTokens));
  while (generator.ok() && (next < order.size() || !generator->idle())) {
    for (uint32_t join = random() % 9; join > 0 && next < order.size(); --join) {
      auto id = generator->add({.source = sources[order[next]], .options = search});
      EXPECT_TRUE(id.ok()) << id.status().message();
      numbers[*id] = order[next++];
    }
    auto step = generator->step();
    EXPECT_TRUE(step.ok()) << step.status().message();
    for (size_t i = 0; step.ok() && i < step->size(); ++i) {
      EXPECT_TRUE((*step)[i].status.ok()) << (*step)[i].status.message();
      results[numbers[(*step)[i].id]] = std::move((*step)[i].hypotheses);
    }
  }
  return results;
}

} // namespace

TEST(Generate, PostNormIsThatOfThePaper) { expectPaper("transformer-post"); }

TEST(Generate, PreNormIsThatOfThePaper) { expectPaper("transformer-pre"); }

TEST(Generate, SharedAttentionIsThatOfItsOracle) { expectPaper("san"); }

TEST(Generate, AverageAttentionIsThatOfThePaper) { expectPaper("san-average"); }

TEST(Generate, RecurrentModelsAreThoseOfTheirOracles) {
  for (const char *name :
       {"gnmt-like", "gru-additive", "gru-concat-local-p", "gru-last", "location",
        "location-cumulative", "lstm-dot-local-m", "lstm-general", "lstm-none", "tanh-additive"}) {
    expectPaper(std::string("recurrent/") + name, 50);
  }
}

TEST(Generate, BranchesAreThoseOfThePaper) { expectPaper("weighted"); }

TEST(Generate, BranchesWithOneFeedForwardLayer) { expectPaper("weighted-shared-ffn"); }

/// Windows, bands and blocks, in encoders and decoders, with branches and shared weights.
TEST(Generate, RestrictedAttentionIsThatOfItsOracles) {
  for (const char *name : {"window-odd", "window-even", "block-causal", "masked-local",
                           "local-unmasked", "mixed", "weighted-window"}) {
    expectPaper(std::string("local/") + name, 50);
  }
}

/// By hand: rows of 48 floats, 192 bytes. Of five layers in blocks of 1 and 4, two have keys and
/// all have values; for the source, in blocks of 3 and 2, two layers have keys and values.
TEST(Generate, SharedAttentionKeepsWhatItsLayersOwn) {
  const auto cachesOf = [](const std::string &name) {
    const std::string binary = compileModel(oracles + name);
    const tools::Outcome outcome = tools::runHeddle({"info", binary, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    Json caches = Json::parse(outcome.output, nullptr, false)["caches"];
    return std::array{caches["list"].size(), caches["history"].get<size_t>(),
                      caches["memory"].get<size_t>(), caches["bytes_per_token"].get<size_t>()};
  };
  EXPECT_EQ(cachesOf("san"), (std::array<size_t, 4>{11, 7 * 192, 4 * 192, 11 * 192}));
  EXPECT_EQ(cachesOf("transformer-post"), (std::array<size_t, 4>{12, 6 * 192, 6 * 192, 12 * 192}));
}

TEST(Generate, MarianIsThatOfTransformers) { expectTransformers("marian-tiny", {0, 1}); }

TEST(Generate, BartIsThatOfTransformers) { expectTransformers("bart-tiny", {2, 1}); }

TEST(Generate, M2M100IsThatOfTransformers) { expectTransformers("m2m100-tiny", {1, 3}); }

TEST(Generate, PegasusIsThatOfTransformers) { expectTransformers("pegasus-tiny", {1, 0}); }

TEST(Generate, T5IsThatOfTransformers) { expectTransformers("t5-tiny", {1, 0}); }

/// Returns the words of a list, and the placeholder for all others.
std::vector<std::string> wordsWithUnknown(const std::string &path) {
  std::vector<std::string> words;
  std::ifstream stream(path);
  for (std::string word; std::getline(stream, word);) {
    words.push_back(word);
  }
  words.emplace_back("<unk>");
  return words;
}

TEST(Generate, TransliterationIsThatOfCTranslate2) {
  // A trained model, which is not part of this project.
  const char *const given = std::getenv("HEDDLE_SHARED");
  const std::string folder =
      std::string(given != nullptr ? given : HEDDLE_SHARED) + "/oracles/transliteration-6x6/";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is not there";
  }
  const std::string binary = compileModel(folder);
  ASSERT_FALSE(binary.empty());
  const std::vector<std::string> letters = wordsWithUnknown(folder + "source_vocabulary.txt");
  const std::vector<std::string> latin = wordsWithUnknown(folder + "target_vocabulary.txt");
  const auto idOf = [&](const std::string &letter) {
    return std::min(
        static_cast<int32_t>(std::find(letters.begin(), letters.end(), letter) - letters.begin()),
        static_cast<int32_t>(letters.size() - 1));
  };
  // Lines with the same options are one run.
  std::map<std::vector<std::string>, std::pair<std::string, std::vector<Json>>> runs;
  std::ifstream goldens(folder + "beam_goldens.jsonl");
  for (std::string line; std::getline(goldens, line);) {
    const Json golden = Json::parse(line, nullptr, false);
    auto &[lines, hypotheses] = runs[{
        "--beam", golden["beam"].dump(), "--nbest", golden["beam"].dump(), "--length-penalty",
        golden["length_penalty"].dump(), "--coverage-penalty", golden["coverage_penalty"].dump(),
        "--no-repeat-ngram", golden["no_repeat_ngram"].dump(), "--repetition-penalty",
        golden["repetition_penalty"].dump(), "--max-length", golden["max_len"].dump(), "--rules",
        "ctranslate2"}];
    Tokens source;
    for (const Json &letter : golden["src"]) {
      source.push_back(idOf(letter.get<std::string>()));
    }
    lines += lineOf(source);
    hypotheses.push_back(golden["hyps"]);
  }
  size_t compared = 0;
  for (const auto &[options, run] : runs) {
    const auto found = generateTokens(binary, run.first, options);
    ASSERT_EQ(found.size(), run.second.size());
    for (size_t i = 0; i < found.size(); ++i, ++compared) {
      SCOPED_TRACE(fmt::format("{} line {}", fmt::join(options, " "), i));
      ASSERT_EQ(found[i].size(), run.second[i].size());
      for (size_t k = 0; k < found[i].size(); ++k) {
        std::vector<std::string> words;
        for (const int32_t token : found[i][k]["tokens"].get<Tokens>()) {
          words.push_back(latin[static_cast<size_t>(token)]);
        }
        EXPECT_EQ(words, run.second[i][k]["t"].get<std::vector<std::string>>());
        EXPECT_NEAR(found[i][k]["score"].get<double>(), run.second[i][k]["s"].get<double>(), 2e-5);
      }
    }
  }
  EXPECT_EQ(compared, 960U);
}

class GenerateInBatches : public testing::TestWithParam<const char *> {};

TEST_P(GenerateInBatches, HasTheSameBits) {
  const std::string binary = compileModel(oracles + GetParam());
  ASSERT_FALSE(binary.empty());
  auto model = Model::load(binary);
  ASSERT_TRUE(model.ok());
  const std::vector<Tokens> sources = someSources(120);
  std::vector<size_t> order(sources.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  for (const GenerationOptions &search :
       {GenerationOptions{.rules = Rules::CTranslate2, .beam = 4, .nbest = 4, .maxLength = 30},
        GenerationOptions{.maxLength = 30, .sample = true, .topP = 0.9F, .seed = 3}}) {
    std::map<size_t, std::vector<Hypothesis>> alone;
    for (const size_t number : order) {
      alone.merge(generateAll(*model, sources, {number}, {}, search));
    }
    ASSERT_EQ(alone.size(), sources.size());
    EXPECT_EQ(generateAll(*model, sources, order, {}, search), alone);
    std::mt19937 random(1);
    for (int batching = 0; batching < 20; ++batching) {
      std::shuffle(order.begin(), order.end(), random);
      const GeneratorOptions options = {
          .session = {.threads = 1 + batching % 2,
                      .schedule = batching % 8 == 1 ? Schedule::Cooperative : Schedule::Automatic},
          .batchTokens = 1 + static_cast<int64_t>(random() % 2000)};
      EXPECT_EQ(generateAll(*model, sources, order, options, search), alone) << batching;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GenerateInBatches,
                         testing::Values("transformer-pre", "san-average"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param).substr(0, 3) == "san" ? "States"
                                                                                : "Caches";
                         });

TEST(Generate, ASmallCacheGivesTheSame) {
  const std::string binary = compileModel(oracles + "transformer-post");
  ASSERT_FALSE(binary.empty());
  std::string lines;
  for (const Tokens &source : someSources(60)) {
    lines += lineOf(source);
  }
  const std::vector<std::string> options = {"--beam", "4", "--nbest", "4", "--max-length", "40"};
  std::vector<std::string> small = options;
  small.insert(small.end(), {"--cache", "1"});
  const auto found = generateTokens(binary, lines, small);
  EXPECT_EQ(found.size(), 60U);
  EXPECT_EQ(found, generateTokens(binary, lines, options));
}

TEST_P(GenerateInBatches, ASoakEndsWithEveryBlockReturned) {
  const std::string binary = compileModel(oracles + GetParam());
  auto model = Model::load(binary);
  ASSERT_TRUE(model.ok());
  // Room for some of the sentences that want to run together.
  auto decoder = PagedDecoder::create(*model, {.cacheBytes = uint64_t(3) << 19});
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  const GenerationDefaults defaults = {.start = {1}, .end = {2}};
  const GenerationLimits limits = {61, 61, (*decoder)->longestSource(),
                                   (*decoder)->longestTarget()};
  BatchSearch search(**decoder, defaults, limits, 2000);
  std::mt19937 random(8);
  const std::vector<Tokens> sources = someSources(50);
  std::vector<int64_t> ids;
  int64_t finished = 0;
  for (int call = 0; call < 10000; ++call) {
    const uint32_t kind = random() % 16;
    if (kind < 3 && search.waiting() < 20) {
      GenerationRequest request{.source = sources[random() % sources.size()],
                                .options = {.maxLength = 20}};
      request.options.rules = static_cast<Rules>(random() % 3);
      request.options.beam = static_cast<int32_t>(1 + random() % 5);
      request.options.coveragePenalty = random() % 4 == 0 ? 0.2F : 0;
      auto id = search.add(std::move(request));
      ASSERT_TRUE(id.ok()) << id.status().message();
      ids.push_back(*id);
    } else if (kind == 3 && !ids.empty()) {
      // It may be finished already.
      const Status status =
          search.remove(ids[ids.size() - 1 - random() % std::min<size_t>(ids.size(), 30)]);
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::NotFound);
    } else {
      auto step = search.step();
      ASSERT_TRUE(step.ok()) << step.status().message();
      for (const GenerationResult &result : *step) {
        EXPECT_TRUE(result.status.ok()) << result.status.message();
        ++finished;
      }
    }
  }
  while (!search.idle()) {
    ASSERT_TRUE(search.step().ok());
  }
  EXPECT_GT(finished, 500);
  EXPECT_EQ((*decoder)->blocksInUse(), 0);
}

TEST(Generate, AnEmptyLineGivesAnEmptyLine) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const tools::Outcome outcome = tools::runHeddle({"generate", binary, "--input", "-", "--tokens"},
                                                  {.input = "\n5 6 7\n  \n8 9"});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  std::istringstream stream(outcome.output);
  std::vector<bool> empty;
  for (std::string line; std::getline(stream, line);) {
    empty.push_back(line.empty());
  }
  EXPECT_EQ(empty, (std::vector<bool>{true, false, true, false}));
}

TEST(Generate, APrefixBeginsEveryText) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const TemporaryFolder folder;
  const std::string prefixes = folder.write("prefixes.txt", "7 9\n\n11\n");
  const auto found = generateTokens(binary, "5 6 7\n8\n9 10\n", {"--prefix", prefixes});
  ASSERT_EQ(found.size(), 3U);
  const auto tokens = [&](size_t i) { return found[i][0]["tokens"].get<Tokens>(); };
  const Tokens first = tokens(0);
  ASSERT_GT(first.size(), 2U);
  EXPECT_EQ(Tokens(first.begin(), first.begin() + 2), (Tokens{7, 9}));
  EXPECT_EQ(tokens(2).front(), 11);
}

TEST(Generate, ScoresOfItsOwnTextsAreThoseOfTheSearch) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const TemporaryFolder folder;
  std::string sources;
  std::string targets;
  std::vector<double> wanted;
  for (const Tokens &source : someSources(12)) {
    sources += lineOf(source);
  }
  for (const Json &list : generateTokens(
           binary, sources, {"--rules", "paper", "--beam", "3", "--length-penalty", "0"})) {
    targets += lineOf(list[0]["tokens"].get<Tokens>());
    wanted.push_back(list[0]["score"].get<double>());
  }
  const tools::Outcome outcome =
      tools::runHeddle(withTestDevice({"score", binary, "--source", folder.write("s.txt", sources),
                                       "--target", folder.write("t.txt", targets), "--tokens"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  std::istringstream stream(outcome.output);
  for (const double score : wanted) {
    std::string line;
    ASSERT_TRUE(std::getline(stream, line));
    EXPECT_NEAR(std::stod(line), score, 2e-5);
  }
}

TEST(Generate, RefusesWhatMakesNoSense) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const auto refusal = [&](const std::string &input, std::vector<std::string> options) {
    options.insert(options.begin(), {"generate", binary, "--input", "-", "--tokens"});
    const tools::Outcome outcome = tools::runHeddle(options, {.input = input});
    EXPECT_NE(outcome.code, 0);
    return outcome.error;
  };
  EXPECT_EQ(refusal("5 6\n7 x\n", {}),
            "heddle: standard input:2: word 2 is \"x\", expected a token id\n"
            "heddle: standard input: 1 of 2 lines could not be used\n");
  EXPECT_EQ(refusal("5 61\n", {}),
            "heddle: standard input:1: source: token 2 is 61, expected 0 to 60\n"
            "heddle: standard input: 1 of 1 line could not be used\n");
  EXPECT_EQ(refusal("5\n", {"--max-length", "1000"}),
            "heddle: --max-length 1000: maximum length is 1000, expected at most 64: the positions "
            "of the model\nheddle: try 'heddle generate --help'\n");
  const TemporaryFolder folder;
  const std::string prefixes = folder.write("prefixes.txt", "7\n");
  EXPECT_EQ(refusal("5\n6\n", {"--prefix", prefixes}),
            fmt::format("heddle: {}: no line for standard input:2, expected one for each source\n",
                        prefixes));
  std::string text;
  EXPECT_EQ(runCommand(fmt::format("{}/bin/heddle generate {} --input /dev/null", HEDDLE_BINARY_DIR,
                                   binary),
                       text),
            1);
  EXPECT_NE(text.find("the model has no tokenizer, expected one or --tokens"), std::string::npos);
}

TEST(Generate, RefusesAModelThatDoesNotGenerate) {
  const std::string binary = compileModel(oracles + "bert-tiny");
  const tools::Outcome outcome =
      tools::runHeddle({"generate", binary, "--input", "-", "--tokens"}, {.input = "5\n"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("the model does not generate, expected one with a decoder"),
            std::string::npos);
}

TEST(Generate, AnswersALineBeforeTheNextOneComes) {
  const std::string binary = compileModel(oracles + "transformer-post");
  // The second line is written only after the first was answered.
  const std::string script = fmt::format(
      "cd $(mktemp -d) && mkfifo in && ({}/bin/heddle generate {} --tokens --input in > out &) && "
      "exec 3> in && echo 5 6 >&3 && "
      "i=0; while [ ! -s out ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; "
      "wc -l < out; echo 7 8 >&3; exec 3>&-; "
      "i=0; while [ $(wc -l < out) -lt 2 ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; "
      "wc -l < out",
      HEDDLE_BINARY_DIR, binary);
  std::string text;
  EXPECT_EQ(runCommand(fmt::format("sh -c '{}'", script), text), 0) << text;
  EXPECT_EQ(text, "1\n2\n");
}

TEST(Generate, AnInterruptionLeavesWholeLines) {
  const std::string binary = compileModel(oracles + "transformer-post");
  // Infinite input.
  const std::string script =
      fmt::format("yes 5 6 7 8 9 10 | (timeout -s INT --preserve-status 2 {}/bin/heddle generate "
                  "{} --tokens --beam 4 --input - > out; echo $? > code); cat code; "
                  "tail -c 1 out | od -An -c; awk \"{{print NF}}\" out | sort -u | wc -l",
                  HEDDLE_BINARY_DIR, binary);
  const TemporaryFolder folder;
  std::string text;
  EXPECT_EQ(runCommand(fmt::format("cd {} && sh -c '{}'", folder.path(), script), text), 0);
  EXPECT_EQ(text, "130\n  \\n\n1\n");
}

TEST(Generate, AClosedPipeIsNoError) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const std::string script = fmt::format(
      "(yes 5 6 7 | {}/bin/heddle generate {} --tokens --input - 2> err; echo $? > code) | "
      "head -n 1 > first; cat code err",
      HEDDLE_BINARY_DIR, binary);
  const TemporaryFolder folder;
  std::string text;
  EXPECT_EQ(runCommand(fmt::format("cd {} && sh -c '{}'", folder.path(), script), text), 0);
  EXPECT_EQ(text, "0\n");
}

TEST(Generate, BenchHasTheKeysOfThePeers) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const tools::Outcome outcome =
      tools::runHeddle({"bench", binary, "--cases", "1x1,3x2", "--source-length", "6",
                        "--target-length", "9", "--shortlist", "20", "--runs", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  std::istringstream stream(outcome.output);
  for (const int batch : {1, 3}) {
    std::string line;
    ASSERT_TRUE(std::getline(stream, line));
    const Json record = Json::parse(line, nullptr, false);
    EXPECT_EQ(record["engine"], "heddle");
    EXPECT_EQ(record["precision"], "f32");
    EXPECT_EQ(record["threads"], 1);
    EXPECT_EQ(record["batch"], batch);
    EXPECT_EQ(record["beam"], batch == 1 ? 1 : 2);
    EXPECT_GT(record["ms"], 0);
    EXPECT_NEAR(record["tokens_per_s"].get<double>() * record["ms"].get<double>() / 1e3,
                9.0 * batch, 0.2 * batch);
  }
}

} // namespace heddle
