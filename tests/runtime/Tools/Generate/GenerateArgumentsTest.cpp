// SPDX-License-Identifier: Apache-2.0
///
/// Command lines of `heddle generate` and `heddle score`: their meaning, and every error in them.
#include "tests/runtime/Tools/ParsedArguments.h"

#include <gtest/gtest.h>

namespace heddle::tools {

/// Returns the message for invalid arguments of `heddle generate`.
static std::string refusal(std::vector<const char *> options) {
  std::vector<const char *> arguments = {"generate", "m.so", "--input", "-"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const std::string error = errorOf(std::move(arguments));
  const std::string command = "generate: ";
  return error.starts_with(command) ? error.substr(command.size()) : error;
}

TEST(GenerateArguments, NothingGivenIsLeftOpen) {
  const auto options =
      std::get<GenerateOptions>(parse({"generate", "m.so", "--input", "names.txt"}));
  EXPECT_EQ(options.model, "m.so");
  EXPECT_EQ(options.input, "names.txt");
  EXPECT_EQ(options.output, "-");
  EXPECT_EQ(options.batchTokens, 4096);
  EXPECT_EQ(options.cacheMegabytes, 1024);
  EXPECT_FALSE(options.generation.rules || options.generation.beam ||
               options.generation.maxLength || options.generation.lengthPenalty);
  EXPECT_EQ(options.generation.nbest, 1);
  EXPECT_FALSE(options.jsonLines || options.tokens || options.scores);
}

TEST(GenerateArguments, All) {
  const auto options = std::get<GenerateOptions>(parse({"generate",
                                                        "m.so",
                                                        "--input",
                                                        "-",
                                                        "--output",
                                                        "o.txt",
                                                        "--beam",
                                                        "5",
                                                        "--nbest",
                                                        "3",
                                                        "--rules",
                                                        "ctranslate2",
                                                        "--length-penalty",
                                                        "-0.5",
                                                        "--coverage-penalty",
                                                        "0.25",
                                                        "--max-length",
                                                        "30",
                                                        "--min-length",
                                                        "2",
                                                        "--no-repeat-ngram",
                                                        "3",
                                                        "--repetition-penalty",
                                                        "1.5",
                                                        "--early-stopping",
                                                        "--no-run-ahead",
                                                        "--prefix",
                                                        "p.txt",
                                                        "--shortlist",
                                                        "s.txt",
                                                        "--batch-tokens",
                                                        "100",
                                                        "--cache",
                                                        "7",
                                                        "--threads",
                                                        "2",
                                                        "--scores",
                                                        "--format",
                                                        "jsonl",
                                                        "--tokens"}));
  EXPECT_EQ(options.output, "o.txt");
  EXPECT_FALSE(options.runsAhead);
  EXPECT_EQ(options.generation.beam, 5);
  EXPECT_EQ(options.generation.nbest, 3);
  EXPECT_EQ(options.generation.rules, Rules::CTranslate2);
  EXPECT_EQ(options.generation.lengthPenalty, -0.5F);
  EXPECT_EQ(options.generation.coveragePenalty, 0.25F);
  EXPECT_EQ(options.generation.maxLength, 30);
  EXPECT_EQ(options.generation.minLength, 2);
  EXPECT_EQ(options.generation.noRepeatNgram, 3);
  EXPECT_EQ(options.generation.repetitionPenalty, 1.5F);
  EXPECT_EQ(options.generation.earlyStopping, EarlyStopping::Yes);
  EXPECT_EQ(options.prefix, "p.txt");
  EXPECT_EQ(options.shortlist, "s.txt");
  EXPECT_EQ(options.batchTokens, 100);
  EXPECT_EQ(options.cacheMegabytes, 7);
  EXPECT_EQ(options.threads, 2);
  EXPECT_TRUE(options.jsonLines && options.tokens && options.scores);
}

TEST(GenerateArguments, OfSamples) {
  const auto sample = std::get<GenerateOptions>(
      parse({"generate", "m.so", "--input", "-", "--sample", "--temperature", "0.5", "--top-k", "9",
             "--top-p", "0.75", "--seed", "18446744073709551615", "--nbest", "4"}));
  EXPECT_EQ(sample.generation.sample, true);
  EXPECT_EQ(sample.generation.temperature, 0.5F);
  EXPECT_EQ(sample.generation.topK, 9);
  EXPECT_EQ(sample.generation.topP, 0.75F);
  EXPECT_EQ(sample.generation.seed, UINT64_MAX);
}

TEST(GenerateArguments, NumbersThatAreNone) {
  EXPECT_EQ(refusal({"--beam", "0"}), "--beam is \"0\", expected a whole number from 1 to 1024");
  EXPECT_EQ(refusal({"--beam", "4x"}), "--beam is \"4x\", expected a whole number from 1 to 1024");
  EXPECT_EQ(refusal({"--nbest", "0"}), "--nbest is \"0\", expected a whole number from 1 to 1024");
  EXPECT_EQ(refusal({"--max-length", "0"}),
            "--max-length is \"0\", expected a whole number from 1 to 16777216");
  EXPECT_EQ(refusal({"--min-length", "-1"}),
            "--min-length is \"-1\", expected a whole number from 0 to 16777216");
  EXPECT_EQ(refusal({"--no-repeat-ngram", "two"}),
            "--no-repeat-ngram is \"two\", expected a whole number from 0 to 16777216");
  EXPECT_EQ(refusal({"--length-penalty", "nan"}),
            "--length-penalty is \"nan\", expected a number from -10000 to 10000");
  EXPECT_EQ(refusal({"--length-penalty", "20000"}),
            "--length-penalty is \"20000\", expected a number from -10000 to 10000");
  EXPECT_EQ(refusal({"--coverage-penalty", "-1"}),
            "--coverage-penalty is \"-1\", expected a number, at least 0");
  EXPECT_EQ(refusal({"--repetition-penalty", "0"}),
            "--repetition-penalty is \"0\", expected a number from 1e-06 to 1000000");
  EXPECT_EQ(refusal({"--repetition-penalty", "1e30"}),
            "--repetition-penalty is \"1e30\", expected a number from 1e-06 to 1000000");
  EXPECT_EQ(refusal({"--sample", "--temperature", "0"}),
            "--temperature is \"0\", expected a number above 0");
  EXPECT_EQ(refusal({"--sample", "--top-k", "-1"}),
            "--top-k is \"-1\", expected a whole number from 0 to 16777216");
  EXPECT_EQ(refusal({"--sample", "--top-p", "1.5"}),
            "--top-p is \"1.5\", expected more than 0 and at most 1");
  EXPECT_EQ(refusal({"--sample", "--seed", "-1"}),
            "--seed is \"-1\", expected a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal({"--batch-tokens", "0"}),
            "--batch-tokens is \"0\", expected a whole number from 1 to 16777216");
  EXPECT_EQ(refusal({"--cache", "0"}),
            "--cache is \"0\", expected a whole number from 1 to 16777216");
  EXPECT_EQ(refusal({"--threads", "0"}),
            "--threads \"0\" is not a number of threads, expected 1 to 1024");
}

TEST(GenerateArguments, WordsThatAreNone) {
  EXPECT_EQ(refusal({"--rules", "fairseq"}),
            "--rules is \"fairseq\", expected paper, transformers or ctranslate2");
  EXPECT_EQ(refusal({"--format", "xml"}), "--format is \"xml\", expected text or jsonl");
  EXPECT_EQ(refusal({"--format", "text", "--json"}),
            "--format text and --json are both given, expected one of them");
  EXPECT_EQ(refusal({"--on-error", "ignore"}),
            "--on-error is \"ignore\", expected continue or stop");
  EXPECT_EQ(errorOf({"generate", "m.so"}),
            "generate: --input FILE, --inputs FILE or --prompt TEXT is missing");
  EXPECT_EQ(errorOf({"generate", "--input", "-"}), "generate: OUT.so is missing");
  EXPECT_EQ(errorOf({"generate", "m.so", "--inputs", "x.safetensors", "--truncate"}),
            "generate: --truncate is given with --inputs, expected --input: only texts are cut");
}

/// Every command that reads texts documents what their lines are.
TEST(GenerateArguments, FormatsOfLines) {
  const std::vector<std::vector<const char *>> commands = {
      {"generate", "m.so", "--input", "-"},
      {"score", "m.so", "--source", "a", "--target", "-"},
      {"analyze", "m.so", "--input", "-"},
      {"compare", "a.so", "b.so", "--input", "-"},
      {"profile", "m.so", "--input", "-"},
      {"embed", "m.so", "--input", "-"},
      {"tokenize", "m.so", "--input", "-"},
      {"similarity", "m.so", "x", "--input", "-"},
      {"rerank", "m.so", "--query", "x", "--input", "-"}};
  for (std::vector<const char *> command : commands) {
    const auto parsed = [&]() {
      return std::visit(
          [&](const auto &options) {
            if constexpr (requires { options.inputFormat; }) {
              return options.inputFormat;
            } else {
              ADD_FAILURE() << command.front() << " has no format of lines";
              return LineFormat::ByName;
            }
          },
          parse(command));
    };
    EXPECT_EQ(parsed(), LineFormat::ByName) << command.front();
    command.insert(command.end(), {"--input-format", "jsonl"});
    EXPECT_EQ(parsed(), LineFormat::JsonLines) << command.front();
    command.back() = "text";
    EXPECT_EQ(parsed(), LineFormat::Text) << command.front();
    command.back() = "xml";
    EXPECT_EQ(errorOf(command),
              std::string(command.front()) + ": --input-format is \"xml\", expected text or jsonl");
  }
  const std::string tokens = "--input-format and --tokens are both given, expected one of them";
  EXPECT_EQ(refusal({"--input-format", "jsonl", "--tokens"}), tokens);
  EXPECT_EQ(errorOf({"profile", "m.so", "--input", "-", "--tokens", "--input-format", "text"}),
            "profile: " + tokens);
  EXPECT_EQ(refusal({"--input-format", "jsonl", "--chat"}),
            "--input-format and --chat are both given, expected one of them");
  EXPECT_EQ(errorOf({"generate", "m.so", "--prompt", "x", "--input-format", "text"}),
            "generate: --input-format is given without --input, expected both");
  EXPECT_EQ(errorOf({"similarity", "m.so", "x", "y", "--input-format", "text"}),
            "similarity: --input-format is given without --input, expected both");
}

TEST(GenerateArguments, OptionsThatDoNotGoTogether) {
  EXPECT_EQ(refusal({"--beam", "2", "--nbest", "3"}), "--nbest 3 needs --beam 3, got --beam 2");
  EXPECT_EQ(refusal({"--beam", "2", "--sample"}),
            "--beam is 2 with --sample, expected 1: --nbest gives several samples");
  EXPECT_EQ(refusal({"--min-length", "9", "--max-length", "8"}),
            "--min-length is 9, expected at most --max-length, 8");
  EXPECT_EQ(refusal({"--sample", "--alternatives"}),
            "--sample and --alternatives are both given, expected one of them");
  EXPECT_EQ(refusal({"--sample", "--no-sample"}),
            "--sample and --no-sample are both given, expected one of them");
  EXPECT_EQ(refusal({"--beam", "1", "--nbest", "3", "--alternatives"}), "no error");
  EXPECT_EQ(refusal({"--shortlist", "-"}),
            "--input and --shortlist are both standard input, expected one of them");
}

TEST(GenerateArguments, WhatEndsTextsAndIsToldOfThem) {
  const auto options = std::get<GenerateOptions>(
      parse({"generate", "m.so", "--prompt", "Once", "--stop", "\n\n", "--stop", "x", "--format",
             "jsonl", "--token-scores", "--top-scores", "5", "--sample", "--min-p", "0.25",
             "--prompt-tokens", "64", "--no-shared-prefixes"}));
  EXPECT_EQ(options.generation.stop, (std::vector<std::string>{"\n\n", "x"}));
  EXPECT_TRUE(options.generation.tokenScores);
  EXPECT_EQ(options.generation.topScores, 5);
  EXPECT_EQ(options.generation.minP, 0.25F);
  EXPECT_EQ(options.promptTokens, 64);
  EXPECT_FALSE(options.sharesPrefixes || options.streams());
  const auto plain = std::get<GenerateOptions>(parse({"generate", "m.so", "--prompt", "Once"}));
  EXPECT_TRUE(plain.sharesPrefixes && plain.streams());
  EXPECT_EQ(plain.promptTokens, 512);
  EXPECT_EQ(refusal({"--sample", "--min-p", "2"}),
            "--min-p is \"2\", expected a number from 0 to 1");
  EXPECT_EQ(refusal({"--stop", "x", "--beam", "3"}),
            "--beam is 3 with --stop, expected 1: --stop ends a text as it is made");
  EXPECT_EQ(refusal({"--stop", "x", "--alternatives"}),
            "--stop and --alternatives are both given, expected one of them");
  EXPECT_EQ(refusal({"--top-scores", "2"}),
            "--top-scores is given with --format text, expected --format jsonl");
  EXPECT_EQ(refusal({"--top-scores", "2", "--json"}), "no error");
  EXPECT_EQ(refusal({"--token-scores", "--json"}), "no error");
  EXPECT_EQ(refusal({"--token-scores"}),
            "--token-scores is given with --format text, expected --format jsonl");
  EXPECT_EQ(refusal({"--format", "jsonl", "--top-scores", "101"}),
            "--top-scores is \"101\", expected a whole number from 1 to 100");
  EXPECT_EQ(refusal({"--prompt-tokens", "0"}),
            "--prompt-tokens is \"0\", expected a whole number from 1 to 2147483648");
}

/// Every command that reads lines documents the handling of unusable ones.
TEST(GenerateArguments, LinesThatCannotBeUsed) {
  const auto plain = std::get<GenerateOptions>(parse({"generate", "m.so", "--input", "-"}));
  EXPECT_TRUE(plain.onError == OnError::Continue && !plain.truncate);
  const auto given = std::get<GenerateOptions>(
      parse({"generate", "m.so", "--input", "-", "--on-error", "stop", "--truncate"}));
  EXPECT_TRUE(given.onError == OnError::Stop && given.truncate);
  const auto score = std::get<ScoreOptions>(parse(
      {"score", "m.so", "--source", "a", "--target", "b", "--on-error", "stop", "--truncate"}));
  EXPECT_TRUE(score.onError == OnError::Stop && score.truncate);
  const auto analyze = std::get<AnalyzeOptions>(
      parse({"analyze", "m.so", "--input", "-", "--on-error", "stop", "--truncate"}));
  EXPECT_TRUE(analyze.onError == OnError::Stop && analyze.truncate);
  const auto compare = std::get<CompareOptions>(
      parse({"compare", "a.so", "b.so", "--input", "-", "--on-error", "stop", "--truncate"}));
  EXPECT_TRUE(compare.onError == OnError::Stop && compare.truncate);
  EXPECT_EQ(std::get<EmbedOptions>(parse({"embed", "m.so", "--input", "-", "--on-error", "stop"}))
                .onError,
            OnError::Stop);
  EXPECT_EQ(std::get<TokenizeOptions>(
                parse({"tokenize", "m.so", "--input", "-", "--on-error", "continue"}))
                .onError,
            OnError::Continue);
  for (const char *command : {"embed", "tokenize", "analyze"}) {
    EXPECT_EQ(errorOf({command, "m.so", "--input", "-", "--on-error", "x"}),
              std::string(command) + ": --on-error is \"x\", expected continue or stop");
  }
}

TEST(GenerateArguments, Score) {
  const auto options = std::get<ScoreOptions>(
      parse({"score", "m.so", "--source", "a", "--target", "-", "--tokens", "--format", "jsonl"}));
  EXPECT_EQ(options.source, "a");
  EXPECT_EQ(options.target, "-");
  EXPECT_TRUE(options.tokens && options.jsonLines);
  EXPECT_EQ(errorOf({"score", "m.so", "--source", "a"}), "score: --target FILE is missing");
  const auto texts =
      std::get<ScoreOptions>(parse({"score", "m.so", "--input", "a.txt", "--stride", "256"}));
  EXPECT_EQ(texts.input, "a.txt");
  EXPECT_EQ(texts.stride, 256);
  EXPECT_EQ(errorOf({"score", "m.so"}), "score: --source FILE or --input FILE is missing");
  EXPECT_EQ(errorOf({"score", "m.so", "--input", "a", "--target", "b"}),
            "score: --input and --target are both given, expected one of them");
  EXPECT_EQ(errorOf({"score", "m.so", "--input", "a", "--truncate"}),
            "score: --input and --truncate are both given, expected one of them");
  EXPECT_EQ(errorOf({"score", "m.so", "--source", "a", "--target", "b", "--stride", "4"}),
            "score: --stride is given without --input, expected both");
  EXPECT_EQ(errorOf({"score", "m.so", "--input", "a", "--stride", "0"}),
            "score: --stride is \"0\", expected a whole number from 1 to 16777216");
  EXPECT_EQ(errorOf({"score", "m.so", "--source", "-", "--target", "-"}),
            "score: --source and --target are both standard input, expected one of them");
}

TEST(GenerateArguments, Cases) {
  const auto options =
      std::get<BenchOptions>(parse({"bench", "m.so", "--cases", "1x1,32x4", "--target-length", "20",
                                    "--runs", "2", "--shortlist", "900"}));
  EXPECT_EQ(options.runs, 2);
  EXPECT_EQ(options.shortlist, 900);
  ASSERT_EQ(options.cases.size(), 2U);
  EXPECT_EQ(options.cases[1].batch, 32);
  EXPECT_EQ(options.cases[1].beam, 4);
  EXPECT_EQ(options.sourceLength, 24);
  EXPECT_EQ(options.targetLength, 20);
  for (const char *list : {"1", "x4", "0x1", "1x", "1x1,", "2x2000"}) {
    EXPECT_NE(errorOf({"bench", "m.so", "--cases", list})
                  .find("is no case, expected SENTENCESxBEAM, for example 32x4"),
              std::string::npos)
        << list;
  }
  EXPECT_EQ(errorOf({"bench", "m.so", "--cases", "1x1", "--source-length", "0"}),
            "bench: --source-length is \"0\", expected a whole number from 1 to 16777216");
  for (const char *option :
       {"--source-length", "--target-length", "--shared-length", "--beside", "--shortlist"}) {
    EXPECT_EQ(errorOf({"bench", "m.so", "--shapes", "1x8", option, "9"}),
              std::string("bench: ") + option + " is given without --cases, expected both");
  }
}

TEST(GenerateArguments, Conversations) {
  const auto options = std::get<GenerateOptions>(
      parse({"generate", "m.so", "--chat", "--chat-template", "rag", "--prompt", "Hi"}));
  EXPECT_TRUE(options.chat);
  EXPECT_EQ(options.chatTemplate, "rag");
  EXPECT_EQ(errorOf({"generate", "m.so", "--chat", "--inputs", "x.safetensors"}),
            "generate: --chat is given with --inputs, expected --input");
  EXPECT_EQ(refusal({"--chat", "--tokens"}),
            "--chat and --tokens are both given, expected one of them");
  const auto chat = std::get<ChatOptions>(
      parse({"chat", "m.so", "--system", "Be brief.", "--sample", "--top-k", "3"}));
  EXPECT_EQ(chat.system, "Be brief.");
  EXPECT_EQ(chat.generation.sample, true);
  EXPECT_EQ(std::get<ChatOptions>(parse({"chat", "m.so"})).generation.sample, std::nullopt);
  EXPECT_EQ(std::get<ChatOptions>(parse({"chat", "m.so", "--no-sample"})).generation.sample, false);
  EXPECT_EQ(chat.generation.topK, 3);
}

} // namespace heddle::tools
