// SPDX-License-Identifier: Apache-2.0
///
/// Models without an encoder in use: texts as prompts, requests in C, the other commands, and
/// errors.
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/EndToEnd/RunLogits.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <random>
#include <regex>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";
const std::string gpt = oracles + "gpt2-tiny";

// --- texts -------------------------------------------------------------------------------------

/// Returns the model with a tokenizer of bytes: "a" is 10, and every text begins with 1.
std::string withTokenizer(const TemporaryFolder &folder) {
  Json vocabulary = {{"<s>", 1}, {"\u0120", 2}, {"\u010A", 3}};
  for (int32_t letter = 0; letter < 26; ++letter) {
    vocabulary[std::string(1, static_cast<char>('a' + letter))] = 10 + letter;
  }
  const Json tokenizer = {
      {"added_tokens",
       {{{"id", 1},
         {"content", "<s>"},
         {"single_word", false},
         {"lstrip", false},
         {"rstrip", false},
         {"normalized", false},
         {"special", true}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"pair", Json::array()},
        {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  for (const char *const name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(gpt + "/" + name, folder / name);
  }
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json",
               Json({{"chat_template", "{{ messages[-1].content }}"}}).dump());
  return compileModel(folder.path());
}

TEST(ContinuationTools, TextsAreContinued) {
  const TemporaryFolder folder;
  const std::string binary = withTokenizer(folder);
  ASSERT_FALSE(binary.empty());
  const std::vector<std::string> letters = [] {
    std::vector<std::string> ids;
    for (int id = 10; id < 36; ++id) {
      ids.push_back(std::to_string(id));
    }
    return ids;
  }();
  // Only letters are allowed, so that the text shows every token.
  std::string shortlist = fmt::format("{}\n", fmt::join(letters, " "));
  const std::string allowed = folder.write("letters.txt", shortlist + shortlist);
  const std::string one = folder.write("letter.txt", shortlist);
  const tools::Outcome texts = tools::runHeddle({"generate", binary, "--input", "-", "--shortlist",
                                                 allowed, "--format", "jsonl", "--max-length", "9"},
                                                {.input = "abc de\nzzz\n"});
  const tools::Outcome ids =
      tools::runHeddle({"generate", binary, "--input", "-", "--shortlist", allowed, "--format",
                        "jsonl", "--max-length", "9", "--tokens"},
                       {.input = "1 10 11 12 2 13 14\n1 35 35 35\n"});
  const auto found = hypothesesOf(texts);
  const auto expected = hypothesesOf(ids);
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(expected.size(), 2U);
  EXPECT_NE(texts.output.find("{\"prompt\":\"abc de\",\"hypotheses\""), std::string::npos);
  for (size_t i = 0; i < 2; ++i) {
    const Tokens tokens = found[i][0]["tokens"].get<Tokens>();
    EXPECT_EQ(tokens, expected[i][0]["tokens"].get<Tokens>());
    std::string text;
    for (const int32_t token : tokens) {
      text += token == 106 ? "" : std::string(1, static_cast<char>('a' + token - 10));
    }
    EXPECT_EQ(found[i][0]["text"], text);
  }
  const tools::Outcome prompt = tools::runHeddle(
      {"generate", binary, "--prompt", "zzz", "--shortlist", one, "--max-length", "9"});
  EXPECT_EQ(prompt.output, found[1][0]["text"].get<std::string>() + "\n") << prompt.error;
  // The model has 106 tokens, most of which the tokenizer lacks.
  const std::string unknown = folder.write("unknown.txt", "40\n");
  for (const char *const format : {"text", "jsonl"}) {
    const tools::Outcome lacking =
        tools::runHeddle({"generate", binary, "--prompt", "zzz", "--shortlist", unknown,
                          "--min-length", "3", "--max-length", "3", "--format", format});
    EXPECT_EQ(lacking.code, 1) << format;
    EXPECT_NE(lacking.error.find("id 40 belongs to no token in a vocabulary of 29"),
              std::string::npos)
        << lacking.error;
  }
  const tools::Outcome chat =
      tools::runHeddle({"chat", binary, "--sample", "--temperature", "100"}, {.input = "zzz\n"});
  EXPECT_EQ(chat.code, 1);
  EXPECT_NE(chat.error.find("belongs to no token in a vocabulary of 29"), std::string::npos)
      << chat.error;
}

/// Rotary positions have no end: a model may continue a text beyond the length of its training, but
/// says so.
TEST(ContinuationTools, TextsBeyondTheContextAreMentioned) {
  const std::string binary = compileModel(oracles + "llama-tiny");
  ASSERT_FALSE(binary.empty());
  EXPECT_NE(tools::runHeddle({"info", binary}).output.find(", context_length 96\n"),
            std::string::npos);
  const auto run = [&](int tokens, const std::string &prompts) {
    const std::string most = std::to_string(tokens);
    return tools::runHeddle({"generate", binary, "--input", "-", "--tokens", "--min-length", most,
                             "--max-length", most},
                            {.input = prompts});
  };
  // The prompts have two tokens, and one.
  tools::Outcome outcome = run(94, "5 6\n7\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error, "");
  const std::string rest =
      " more than 96 tokens, the length that the model was trained for: answers beyond it are "
      "rarely useful\n";
  outcome = run(95, "5 6\n7\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error, "heddle: note: 1 text has" + rest);
  EXPECT_EQ(run(96, "5 6\n7\n").error, "heddle: note: 2 texts have" + rest);
}

/// The answer to a prompt, while it is written and in its final form.
TEST(ContinuationTools, AnswersEndBeforeStopStrings) {
  const TemporaryFolder folder;
  const std::string binary = withTokenizer(folder);
  ASSERT_FALSE(binary.empty());
  std::string ids;
  for (int id = 10; id < 36; ++id) {
    ids += fmt::format("{} ", id);
  }
  const std::string letters = folder.write("letters.txt", ids + "\n");
  const auto generate = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments = {"generate",     binary,  "--prompt",     "abcab",
                                          "--shortlist",  letters, "--min-length", "12",
                                          "--max-length", "12"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const tools::Outcome outcome = tools::runHeddle(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    // Not a terminal: there is no message about it.
    EXPECT_EQ(outcome.error, "");
    return outcome.output;
  };
  const std::string whole = generate({});
  ASSERT_EQ(whole.size(), 13U);
  const Json record = Json::parse(generate({"--format", "jsonl", "--top-scores", "2"}));
  const Json answer = record["hypotheses"][0];
  EXPECT_EQ(answer["text"].get<std::string>() + "\n", whole);
  EXPECT_EQ(answer["finish"], "length");
  EXPECT_FALSE(answer.contains("token_scores"));
  ASSERT_EQ(answer["top_scores"].size(), 12U);
  EXPECT_EQ(answer["top_scores"][3][0]["token"], answer["tokens"][3]);
  EXPECT_GE(answer["top_scores"][3][0]["score"], answer["top_scores"][3][1]["score"]);
  // On a terminal, the speed is reported.
  const tools::Outcome watched =
      tools::runHeddle({"generate", binary, "--prompt", "abcab", "--shortlist", letters,
                        "--min-length", "12", "--max-length", "12"},
                       {.errorOnTerminal = true});
  EXPECT_EQ(watched.output, whole);
  EXPECT_NE(watched.error.find("heddle: 6 tokens of the prompt, 12 generated in "),
            std::string::npos)
      << watched.error;
  EXPECT_NE(watched.error.find(" a second"), std::string::npos);
  // Two letters in a row, and their first position.
  const std::string stop = whole.substr(6, 2);
  const size_t first = whole.find(stop);
  EXPECT_EQ(generate({"--stop", stop}), whole.substr(0, first) + "\n");
  EXPECT_EQ(generate({"--stop", "no such text", "--stop", stop}), whole.substr(0, first) + "\n");
  EXPECT_EQ(generate({"--stop", "no such text"}), whole);
  const Json stopped =
      Json::parse(generate({"--stop", stop, "--format", "jsonl", "--token-scores"}));
  EXPECT_EQ(stopped["hypotheses"][0]["text"], whole.substr(0, first));
  EXPECT_EQ(stopped["hypotheses"][0]["finish"], "stop");
  EXPECT_EQ(stopped["hypotheses"][0]["tokens"].size(), first + 2);
  EXPECT_EQ(stopped["hypotheses"][0]["token_scores"].size(), first + 2);
}

/// Scores of texts in windows, against those of their parts as prompts and targets.
TEST(ContinuationTools, TextsHaveAPerplexity) {
  const TemporaryFolder folder;
  const std::string binary = compileModel(gpt);
  std::mt19937 random(8);
  Tokens tokens(150);
  for (int32_t &token : tokens) {
    token = static_cast<int32_t>(random() % 106);
  }
  const auto line = [&](size_t begin, size_t end) {
    return fmt::format("{}\n", fmt::join(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                                         tokens.begin() + static_cast<std::ptrdiff_t>(end), " "));
  };
  const std::string texts = folder.write("texts.txt", line(0, 150) + "\n" + line(0, 10) + "7\n");
  const tools::Outcome outcome =
      tools::runHeddle({"score", binary, "--tokens", "--input", texts, "--stride", "20"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("texts.txt:4: text has 1 token, expected at least 2: nothing is "
                               "before the first"),
            std::string::npos)
      << outcome.error;
  EXPECT_NE(outcome.error.find("heddle: 2 texts, 158 tokens, perplexity "), std::string::npos);
  const Json json = Json::parse(tools::runHeddle({"score", binary, "--tokens", "--input",
                                                  folder.write("one.txt", line(0, 150)), "--stride",
                                                  "20", "--format", "jsonl"})
                                    .output);
  ASSERT_EQ(json["scores"].size(), 149U);
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(-json["score"].get<double>() / 149), 1e-3);
  EXPECT_TRUE(outcome.output.starts_with(
      fmt::format("{:.7f}\t", json["score"].get<double>()).substr(0, 8)));
  // The second window begins at 20 and scores from the 65th token on.
  const std::string prompts = folder.write("prompts.txt", line(20, 65));
  const std::string targets = folder.write("targets.txt", line(65, 84));
  const Json part = Json::parse(tools::runHeddle({"score", binary, "--tokens", "--source", prompts,
                                                  "--target", targets, "--format", "jsonl"})
                                    .output);
  // The end is added there: there is room for one token fewer.
  const Json list = part.contains("scores") ? part["scores"] : Json::array();
  ASSERT_EQ(list.size(), 20U) << part;
  for (size_t i = 0; i < 19; ++i) {
    EXPECT_EQ(json["scores"][64 + i], list[i]);
  }
  const tools::Outcome refused = tools::runHeddle(
      {"score", compileModel(oracles + "transformer-post"), "--tokens", "--input", texts});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.error.find("answers sources: expected --source and --target"),
            std::string::npos);
}

// --- C -----------------------------------------------------------------------------------------

TEST(ContinuationTools, RequestsInCHaveNoSource) {
  const std::string binary = compileModel(gpt);
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  heddle_model_free(model);
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.max_length = 8;
  const Tokens prompt = {5, 6, 7};
  int64_t id = -1;
  ASSERT_EQ(heddle_generator_add(generator, nullptr, 0, prompt.data(), 3, &options, &id), nullptr);
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
  }
  heddle_generation *const generation = heddle_generator_take(generator);
  ASSERT_NE(generation, nullptr);
  int64_t count = 0;
  const int32_t *const tokens = heddle_generation_tokens(generation, 0, &count, nullptr);
  ASSERT_NE(tokens, nullptr);
  const auto found = generateTokens(binary, "5 6 7\n", {"--max-length", "8"});
  EXPECT_EQ(Tokens(tokens + 3, tokens + count), found[0][0]["tokens"].get<Tokens>());
  heddle_generation_free(generation);
  heddle_error *const error =
      heddle_generator_add(generator, prompt.data(), 3, prompt.data(), 3, &options, &id);
  ASSERT_NE(error, nullptr);
  EXPECT_STREQ(heddle_error_message(error), "source has 3 tokens, expected none: the model has no "
                                            "sources, it continues a prefix");
  heddle_error_free(error);
  heddle_generator_free(generator);
}

// --- errors ------------------------------------------------------------------------------------

/// One command line.
struct BadCase {
  std::vector<std::string> arguments;
  int code;
  std::string message;
};

/// The files that the failing cases read, and the models.
struct BadInputs {
  explicit BadInputs(const TemporaryFolder &folder)
      : ids(folder.write("ids.txt", "5 6 7\n")), bad(folder.write("bad.txt", "5 107\n")) {
    for (int i = 0; i < 64; ++i) {
      many += " 1";
    }
    tooLong = folder.write("long.txt", many + "\n");
  }

  std::string ids;
  /// An invalid token.
  std::string bad;
  /// More tokens than the model has positions: in a line, and in a file.
  std::string many = "1", tooLong;
  std::string gptBinary = compileModel(gpt);
  std::string seed = compileModel(oracles + "transformer-post");
};

/// Errors of `heddle generate` for a model that continues prompts, and for one with an encoder.
std::vector<BadCase> badGenerateCases(const BadInputs &inputs) {
  const auto &[ids, bad, many, tooLong, gptBinary, seed] = inputs;
  return {
      {{"generate", gptBinary, "--tokens"},
       2,
       "--input FILE, --inputs FILE or --prompt TEXT is missing"},
      {{"generate", gptBinary, "--tokens", "--prompt", ""},
       2,
       "--prompt is empty, expected a text to continue"},
      {{"generate", gptBinary, "--tokens", "--prompt", "5", "--input", ids},
       2,
       "--prompt and --input are both given, expected one of them"},
      {{"generate", gptBinary, "--tokens", "--prompt", "5", "--inputs", ids},
       2,
       "--prompt and --inputs are both given, expected one of them"},
      {{"generate", gptBinary, "--prompt", "hello"},
       1,
       "the model has no tokenizer, expected one or --tokens"},
      {{"generate", gptBinary, "--tokens", "--prompt", "5 x"},
       1,
       "--prompt: word 2 is \"x\", expected a token id"},
      {{"generate", gptBinary, "--tokens", "--prompt", "\xff"}, 2, "--prompt: "},
      {{"generate", gptBinary, "--tokens", "--input", bad},
       1,
       "bad.txt:1: prefix: token 2 is 107, expected 0 to 106"},
      {{"generate", gptBinary, "--tokens", "--prompt", many},
       1,
       "--prompt: prefix has 65 tokens, expected at most 64, the positions of the model"},
      {{"generate", gptBinary, "--tokens", "--prompt", "5", "--max-length", "65"},
       2,
       "--max-length 65: maximum length is 65, expected at most 64: the positions of the model"},
      {{"generate", gptBinary, "--tokens", "--input", ids, "--prefix", ids},
       2,
       "continues prompts: expected all of them in --input"},
      {{"generate", gptBinary, "--tokens", "--input", ids, "--truncate"},
       2,
       "--truncate is given, and the model continues prompts, which are not cut: leave it out"},
      {{"generate", gptBinary, "--tokens", "--input", ids, "--coverage-penalty", "0.5"},
       2,
       "coverage penalty is set, expected none: the model has no sources"},
      {{"generate", gptBinary, "--tokens", "--input", ids, "--command", "1"},
       2,
       "command is 1, expected none: the model has one task"},
      {{"generate", seed, "--tokens", "--prompt", "5"}, 2, "answers sources: expected --input"},
  };
}

/// Errors of `heddle compare` and `heddle analyze` for them.
std::vector<BadCase> badAnalysisCases(const BadInputs &inputs) {
  const auto &[ids, bad, many, tooLong, gptBinary, seed] = inputs;
  return {
      {{"compare", gptBinary, seed, "--tokens", "--input", ids},
       1,
       "the second answers sources and the other continues prompts, expected two of a kind"},
      {{"compare", gptBinary, gptBinary, "--tokens", "--input", bad},
       1,
       "bad.txt:1: " + gptBinary + ": prefix: token 2 is 107, expected 0 to 106"},
      {{"analyze", gptBinary, "--tokens", "--input", ids, "--beam", "2"},
       2,
       "--beam is given, and texts are analyzed as they are given: leave it out"},
      {{"analyze", gptBinary, "--tokens", "--prompt", "5"}, 2, "unexpected argument"},
      {{"analyze", gptBinary, "--tokens", "--input", tooLong},
       1,
       "text has 65 tokens, expected at most 64"},
  };
}

TEST(ContinuationTools, WhatMakesNoSenseIsRefused) {
  const TemporaryFolder folder;
  const BadInputs inputs(folder);
  for (const auto &cases : {badGenerateCases(inputs), badAnalysisCases(inputs)}) {
    for (const BadCase &item : cases) {
      const tools::Outcome outcome = tools::runHeddle(item.arguments);
      EXPECT_EQ(outcome.code, item.code) << fmt::format("{}", fmt::join(item.arguments, " "));
      EXPECT_NE(outcome.error.find(item.message), std::string::npos) << outcome.error;
    }
  }
}

/// Two models that continue prompts are compared on the same texts: by the definition of the
/// divergence, over all tokens of prompts and answers.
TEST(ContinuationTools, ModelsThatContinueAreCompared) {
  const std::string a = compileModel(gpt);
  const std::string b = compileModel(gpt, {"--precision=bf16-weights"});
  const std::vector<Tokens> prompts = {{5, 6, 7}, {8}, {10, 11, 12, 13, 14}};
  std::string lines;
  for (const Tokens &prompt : prompts) {
    lines += fmt::format("{}\n\n", fmt::join(prompt, " "));
  }
  const tools::Outcome outcome =
      tools::runHeddle({"compare", a, b, "--tokens", "--input", "-", "--json"}, {.input = lines});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json record = Json::parse(outcome.output, nullptr, false);
  const auto own = generateTokens(a, lines, {"--no-sample"});
  const auto its = generateTokens(b, lines, {"--no-sample"});
  constexpr size_t vocabulary = 107;
  constexpr int32_t end = 106;
  double divergence = 0, identical = 0;
  size_t rows = 0, generated = 0, line = 0;
  for (const Tokens &prompt : prompts) {
    // Blank lines have empty answers of their own.
    const auto tokens = own[line][0]["tokens"].get<Tokens>();
    identical += tokens == its[line][0]["tokens"].get<Tokens>() ? 1 : 0;
    line += own.size() / prompts.size();
    Tokens text = prompt;
    text.insert(text.end(), tokens.begin(), tokens.end());
    generated += tokens.size();
    text.resize(text.size() - (text.back() == end ? 1 : 0));
    const std::map<std::string, Tokens> inputs = {{"input_ids", text},
                                                  {"attention_mask", Tokens(text.size(), 1)}};
    const std::vector<float> p = runLogits(a, inputs, text.size(), vocabulary);
    const std::vector<float> q = runLogits(b, inputs, text.size(), vocabulary);
    for (size_t row = 0; row < text.size(); ++row, ++rows) {
      double sums[2] = {};
      for (size_t i = row * vocabulary; i < (row + 1) * vocabulary; ++i) {
        sums[0] += std::exp(double(p[i]));
        sums[1] += std::exp(double(q[i]));
      }
      for (size_t i = row * vocabulary; i < (row + 1) * vocabulary; ++i) {
        const double mine = std::exp(double(p[i])) / sums[0];
        divergence += mine * std::log2(mine / (std::exp(double(q[i])) / sums[1]));
      }
    }
  }
  EXPECT_EQ(record["b_against_a"]["positions"], rows);
  EXPECT_NEAR(record["b_against_a"]["identical_lines"], identical / double(prompts.size()), 1e-6);
  EXPECT_EQ(record["a"]["tokens"], generated);
  EXPECT_EQ(record["a"]["cache_bytes_per_token"]["source"], 0);
  const double mean = divergence / double(rows);
  EXPECT_GT(mean, 1e-9);
  EXPECT_NEAR(record["b_against_a"]["kl_bits"], mean, mean * 0.05 + 1e-8);
  const tools::Outcome table =
      tools::runHeddle({"compare", a, a, "--tokens", "--input", "-"}, {.input = lines});
  ASSERT_EQ(table.code, 0) << table.error;
  EXPECT_NE(table.output.find("100.00 % of tokens equal"), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("cache bytes a target token"), std::string::npos);
  EXPECT_EQ(table.output.find("a source token"), std::string::npos) << table.output;
}

/// A map for each layer, whose rows and columns are the tokens of the text.
TEST(ContinuationTools, TheAttentionOfATextIsDrawn) {
  const TemporaryFolder folder;
  const std::string drawing = folder / "alignments.svg";
  const tools::Outcome outcome = tools::runHeddle(
      {"analyze", compileModel(gpt), "--tokens", "--input", "-", "--alignments", drawing},
      {.input = "9 31 17\n"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json found = Json::parse(outcome.output, nullptr, false);
  EXPECT_EQ(found["positions"], 3);
  const auto layers = found["kinds"][0]["layers"].get<std::vector<std::string>>();
  EXPECT_GT(layers.size(), 1U);
  const std::string svg = readBytes(drawing);
  for (const std::string &layer : layers) {
    EXPECT_NE(svg.find(layer), std::string::npos) << layer << svg;
  }
  const std::regex word("<text[^>]*>(9|31|17)</text>");
  // Three rows and three columns in each map.
  EXPECT_EQ(std::distance(std::sregex_iterator(svg.begin(), svg.end(), word), {}),
            6 * static_cast<std::ptrdiff_t>(layers.size()))
      << svg;
}

TEST(ContinuationTools, OtherCommandsTakePrompts) {
  const std::string binary = compileModel(gpt);
  const TemporaryFolder folder;
  const std::string prompts = folder.write("prompts.txt", "5 6 7\n8\n");
  const std::string texts = folder.write("texts.txt", "9 10\n11\n");
  const tools::Outcome scores = tools::runHeddle(
      {"score", binary, "--tokens", "--source", prompts, "--target", texts, "--format", "jsonl"});
  EXPECT_EQ(scores.code, 0) << scores.error;
  const Json first = Json::parse(scores.output.substr(0, scores.output.find('\n')), nullptr, false);
  // Two tokens and the end.
  EXPECT_EQ(first["scores"].size(), 3U);
  const tools::Outcome bench =
      tools::runHeddle({"bench", binary, "--cases", "2x1", "--source-length", "4",
                        "--target-length", "4", "--runs", "1"});
  EXPECT_EQ(bench.code, 0) << bench.error;
  const tools::Outcome shared =
      tools::runHeddle({"bench", binary, "--cases", "3x1", "--source-length", "20",
                        "--shared-length", "17", "--target-length", "2", "--runs", "2"});
  EXPECT_EQ(shared.code, 0) << shared.error;
  const tools::Outcome arrival =
      tools::runHeddle({"bench", binary, "--cases", "2x1", "--source-length", "20",
                        "--target-length", "2", "--beside", "3", "--runs", "2", "--json"});
  EXPECT_EQ(arrival.code, 0) << arrival.error;
  const std::string last = arrival.output.substr(arrival.output.find('\n') + 1);
  const Json times = Json::parse(last, nullptr, false);
  EXPECT_EQ(times["beside"], 3) << arrival.output;
  EXPECT_GE(times["first_token_ms"], times["longest_step_ms"]);
  EXPECT_GT(times["step_ms"], 0);
  const tools::Outcome usual = tools::runHeddle({"profile", binary, "--runs", "1"});
  EXPECT_EQ(usual.code, 0) << usual.error;
}

} // namespace
} // namespace heddle
