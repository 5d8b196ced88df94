// SPDX-License-Identifier: Apache-2.0
///
/// Command lines of all commands: what they mean, and every way to get them wrong.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ParsedArguments.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::tools {

TEST(Arguments, Embed) {
  const CommandLine line = parse({"embed", "m.so", "--input", "-"});
  ASSERT_TRUE(std::holds_alternative<EmbedOptions>(line));
  const auto &options = std::get<EmbedOptions>(line);
  EXPECT_EQ(options.model, "m.so");
  EXPECT_EQ(options.input, "-");
  EXPECT_EQ(options.output, "-");
  EXPECT_EQ(options.threads, 1);
  EXPECT_FALSE(options.json);
  const CommandLine all = parse({"embed", "--input=a.jsonl", "--output", "o.npy", "--threads", "2",
                                 "--isa", "x86-64-v3", "--json", "m.so"});
  ASSERT_TRUE(std::holds_alternative<EmbedOptions>(all));
  const auto &given = std::get<EmbedOptions>(all);
  EXPECT_EQ(given.model, "m.so");
  EXPECT_EQ(given.input, "a.jsonl");
  EXPECT_EQ(given.output, "o.npy");
  EXPECT_EQ(given.threads, 2);
  EXPECT_EQ(given.isa, "x86-64-v3");
  EXPECT_TRUE(given.json);
}

TEST(Arguments, OtherCommands) {
  EXPECT_EQ(std::get<TokenizeOptions>(parse({"tokenize", "m.so", "--input", "a.txt"})).input,
            "a.txt");
  const auto run = std::get<RunOptions>(
      parse({"run", "m.so", "--entry", "encode", "--inputs", "i", "--outputs", "o"}));
  EXPECT_EQ(run.entry, "encode");
  EXPECT_EQ(run.inputs, "i");
  EXPECT_EQ(run.outputs, "o");
  const auto bench = std::get<BenchOptions>(parse(
      {"bench", "m.so", "--shapes", "1x16,32x128", "--lengths", "l", "--roofline", "--profile"}));
  ASSERT_EQ(bench.shapes.size(), 2U);
  EXPECT_EQ(bench.shapes[1].name, "32x128");
  EXPECT_EQ(bench.shapes[1].lengths, std::vector<int32_t>(32, 128));
  EXPECT_EQ(bench.lengths, "l");
  EXPECT_TRUE(bench.roofline && bench.profile);
  EXPECT_TRUE(std::get<BenchOptions>(parse({"bench", "m.so", "--lengths", "l"})).shapes.empty());
  EXPECT_TRUE(std::get<InfoOptions>(parse({"info", "m.so", "--json"})).json);
  EXPECT_EQ(std::get<VerifyOptions>(parse({"verify", "m.so"})).model, "m.so");
}

TEST(Arguments, Similarity) {
  const auto two = std::get<SimilarityOptions>(parse({"similarity", "m.so", "a b", "", "c"}));
  EXPECT_EQ(two.model, "m.so");
  EXPECT_EQ(two.texts, (std::vector<std::string>{"a b", "", "c"}));
  EXPECT_EQ(two.top, std::nullopt);
  const auto file =
      std::get<SimilarityOptions>(parse({"similarity", "m.so", "--input", "a.jsonl", "--top", "3",
                                         "--threads", "2", "--on-error=stop", "--", "--json"}));
  EXPECT_EQ(file.texts, (std::vector<std::string>{"--json"}));
  EXPECT_EQ(file.input, "a.jsonl");
  EXPECT_EQ(file.top, 3);
  EXPECT_EQ(file.threads, 2);
  EXPECT_EQ(file.onError, OnError::Stop);
  EXPECT_FALSE(file.json);
  EXPECT_EQ(errorOf({"similarity", "m.so", "a", "b", "--top", "0"}),
            "similarity: --top is \"0\", expected a whole number from 1 to 1000000000");
}

TEST(Arguments, HelpAndVersion) {
  const auto whole = std::get<HelpText>(parse({"--help"})).text;
  for (const char *command : {"embed", "similarity", "rerank", "tokenize", "generate", "score",
                              "run", "bench", "profile", "info", "verify"}) {
    EXPECT_NE(whole.find(command), std::string::npos) << command;
    const auto text = std::get<HelpText>(parse({command, "--help"})).text;
    EXPECT_NE(text.find("OUT.so"), std::string::npos) << text;
    EXPECT_NE(text.find("--json"), std::string::npos) << text;
  }
  // A model that generates has no input_ids.
  std::string run = std::get<HelpText>(parse({"run", "--help"})).text;
  run.erase(std::unique(run.begin(), run.end(),
                        [](char a, char b) { return std::isspace(a) && std::isspace(b); }),
            run.end());
  std::replace(run.begin(), run.end(), '\n', ' ');
  EXPECT_NE(run.find("named as 'heddle info' lists them (input_ids; of a model that generates, "
                     "source and target, or the prompt that it continues)"),
            std::string::npos)
      << run;
  EXPECT_EQ(std::get<HelpText>(parse({"--version"})).text.substr(0, 7), "heddle ");
}

TEST(Arguments, HelpIsACommandToo) {
  const auto helpOf = [](const std::vector<const char *> &arguments) {
    return std::get<HelpText>(parse(arguments)).text;
  };
  EXPECT_EQ(helpOf({"help"}), helpOf({"--help"}));
  EXPECT_EQ(helpOf({"help", "--help"}), helpOf({"--help"}));
  EXPECT_EQ(helpOf({"help", "profile"}), helpOf({"profile", "--help"}));
  EXPECT_NE(helpOf({"help", "profile"}).find("--trace"), std::string::npos);
  EXPECT_EQ(
      errorOf({"help", "profil"}),
      ": unknown command \"profil\", expected one of embed, similarity, rerank, tokenize, "
      "generate, chat, score, analyze, compare, run, bench, profile, info, verify; did you mean "
      "\"profile\"?");
  EXPECT_EQ(errorOf({"help", "profile", "info"}), ": unexpected argument \"info\"");
}

TEST(Arguments, HelpEndsWithWhereToReadMore) {
  EXPECT_TRUE(std::get<HelpText>(parse({"--help"}))
                  .text.ends_with("\n'heddle help COMMAND' explains a command's options, as does "
                                  "'man heddle-COMMAND' where Heddle is installed; "
                                  "docs/glossary.md explains the words.\n"));
}

/// Defaults in the help are the values that commands get.
TEST(Arguments, HelpShowsDefaults) {
  const auto text = std::get<HelpText>(parse({"generate", "--help"})).text;
  const auto options = std::get<GenerateOptions>(parse({"generate", "m.so", "--input", "-"}));
  EXPECT_NE(text.find(fmt::format("counted once for each hypothesis ({})", options.batchTokens)),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Sampling temperature (the model's)"), std::string::npos);
  EXPECT_NE(text.find("1 is greedy (the model's)"), std::string::npos);
  EXPECT_NE(text.find("(continue)"), std::string::npos);
}

/// The fuzz target inserts these words.
TEST(Arguments, AcceptedWords) {
  const std::vector<std::string> words = DeclaredProgram().acceptedWords();
  for (const char *word : {"ctranslate2", "extend", "stop", "jsonl", "dispatch"}) {
    EXPECT_NE(std::find(words.begin(), words.end(), word), words.end()) << word;
  }
}

TEST(Arguments, NoCommand) {
  const std::string expected =
      "expected one of embed, similarity, rerank, tokenize, "
      "generate, chat, score, analyze, compare, run, bench, profile, info, verify";
  EXPECT_EQ(errorOf({}), ": no command, " + expected);
  EXPECT_EQ(errorOf({"frobnicate"}), ": unknown command \"frobnicate\", " + expected);
  EXPECT_EQ(errorOf({"embd", "m.so"}),
            ": unknown command \"embd\", " + expected + "; did you mean \"embed\"?");
  EXPECT_EQ(errorOf({"--input", "a.txt"}), ": unknown command \"--input\", " + expected);
}

TEST(Arguments, OptionsBeforeTheCommand) {
  for (const char *option : {"--json", "--nonsense", "-x", "--"}) {
    EXPECT_EQ(errorOf({option, "info", "m.so"}),
              fmt::format("info: unexpected argument \"{}\" before the command, expected it after "
                          "info",
                          option));
  }
  EXPECT_EQ(errorOf({"--threads", "2", "embed", "m.so", "--input", "a.txt"}),
            "embed: unexpected argument \"--threads\" before the command, expected it after embed");
}

TEST(Arguments, HelpOfAnUnknownCommand) {
  EXPECT_TRUE(
      errorOf({"embd", "--help"}).starts_with(": unknown command \"embd\", expected one of"));
  EXPECT_TRUE(errorOf({"embd", "--help"}).ends_with("; did you mean \"embed\"?"));
  EXPECT_EQ(errorOf({"--help"}), "no error");
}

/// The names of commands are no commands where texts are, and neither are hyphens behind the mark.
TEST(Arguments, TextsOfAnyWords) {
  const auto textsOf = [](const std::vector<const char *> &arguments) {
    const CommandLine line = parse(arguments);
    const auto *options = std::get_if<SimilarityOptions>(&line);
    return options == nullptr ? std::vector<std::string>{errorOf(arguments)} : options->texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(textsOf({"similarity", "m.so", "info", "run"}), (Texts{"info", "run"}));
  EXPECT_EQ(textsOf({"similarity", "m.so", "cat", "--", "-v"}), (Texts{"cat", "-v"}));
  EXPECT_EQ(textsOf({"similarity", "m.so", "--", "cat", "-v", "--top"}),
            (Texts{"cat", "-v", "--top"}));
  EXPECT_EQ(textsOf({"similarity", "--", "m.so", "--json", "--x="}), (Texts{"--json", "--x="}));
  EXPECT_EQ(textsOf({"similarity", "m.so", "a", "--", "--", "--version"}),
            (Texts{"a", "--", "--version"}));
  EXPECT_EQ(std::get<InfoOptions>(parse({"info", "--json", "--", "-m.so"})).model, "-m.so");
  EXPECT_EQ(errorOf({"info", "m.so", "--", "-v"}), "info: unexpected argument \"-v\"");
  // A value is no mark.
  EXPECT_EQ(std::get<RerankOptions>(
                parse({"rerank", "m.so", "--query", "--", "--input", "a.txt", "--top", "2"}))
                .query,
            "--");
}

TEST(Arguments, WhatIsMissing) {
  EXPECT_EQ(errorOf({"embed", "--input", "a.txt"}), "embed: OUT.so is missing");
  EXPECT_EQ(errorOf({"embed", "m.so"}), "embed: --input FILE is missing");
  EXPECT_EQ(errorOf({"tokenize", "m.so"}), "tokenize: --input FILE is missing");
  EXPECT_EQ(errorOf({"run", "m.so", "--outputs", "o"}), "run: --inputs FILE is missing");
  EXPECT_EQ(errorOf({"run", "m.so", "--inputs", "i"}), "run: --outputs FILE is missing");
  EXPECT_EQ(errorOf({"similarity", "m.so"}), "similarity: TEXT is missing");
  EXPECT_EQ(errorOf({"rerank", "m.so", "--query", "q"}), "rerank: --input FILE is missing");
  EXPECT_EQ(errorOf({"rerank", "m.so", "--input", "a.txt"}), "rerank: --query TEXT is missing");
  EXPECT_EQ(errorOf({"rerank", "m.so", "--query", "", "--input", "a.txt"}),
            "rerank: --query is empty, expected a text");
  EXPECT_EQ(
      errorOf({"similarity", "m.so", "a"}),
      "similarity: one TEXT is given, expected another one to compare it with, or --input FILE");
  EXPECT_EQ(errorOf({"bench", "--shapes", "1x1"}), "bench: OUT.so is missing");
  EXPECT_EQ(errorOf({"info"}), "info: OUT.so is missing");
  EXPECT_EQ(errorOf({"verify", "--json"}), "verify: OUT.so is missing");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input"}),
            "embed: --input has no value, expected one after it");
}

TEST(Arguments, EmptyPathsAreNone) {
  EXPECT_EQ(errorOf({"info", ""}), "info: OUT.so is empty, expected a path");
  EXPECT_EQ(errorOf({"embed", "", "--input", "a.txt"}), "embed: OUT.so is empty, expected a path");
  EXPECT_EQ(errorOf({"run", "m.so", "--inputs", "", "--outputs", "o"}),
            "run: --inputs has no value, expected one after it");
  EXPECT_EQ(errorOf({"score", "m.so", "--source", "a.txt", "--target", ""}),
            "score: --target has no value, expected one after it");
}

TEST(Arguments, WhatIsTooMuch) {
  EXPECT_EQ(errorOf({"info", "m.so", "--frobnicate"}),
            "info: unexpected argument \"--frobnicate\"");
  EXPECT_EQ(errorOf({"embed", "m.so", "--inptu", "a.txt"}),
            "embed: unexpected argument \"--inptu\", did you mean --input?");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", "a.txt", "--thraeds=2"}),
            "embed: unexpected argument \"--thraeds=2\", did you mean --threads?");
  EXPECT_EQ(errorOf({"info", "m.so", "n.so"}), "info: unexpected argument \"n.so\"");
  EXPECT_EQ(errorOf({"tokenize", "m.so", "--input", "a.txt", "--output", "b"}),
            "tokenize: unexpected argument \"--output\"");
  EXPECT_EQ(errorOf({"info", "m.so", "info", "m.so"}), "info: unexpected argument \"info\"");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", "a.txt", "--input", "b.txt"}),
            "embed: --input is given more than once, expected it once");
}

/// A common mistake: the file without its option.
TEST(Arguments, FilesWithoutTheirOption) {
  EXPECT_EQ(errorOf({"embed", "m.so", "s.txt"}),
            "embed: unexpected argument \"s.txt\", expected --input s.txt");
  EXPECT_EQ(errorOf({"generate", "m.so", "s.txt", "--beam", "4"}),
            "generate: unexpected argument \"s.txt\", expected --input s.txt");
  EXPECT_EQ(errorOf({"score", "m.so", "a.txt", "b.txt"}),
            "score: unexpected argument \"a.txt\", expected --source a.txt");
  EXPECT_EQ(errorOf({"score", "m.so", "--source", "a.txt", "b.txt"}),
            "score: unexpected argument \"b.txt\", expected --target b.txt");
  EXPECT_EQ(errorOf({"run", "m.so", "i.safetensors"}),
            "run: unexpected argument \"i.safetensors\", expected --inputs i.safetensors");
  EXPECT_EQ(errorOf({"compare", "a.so", "b.so", "s.txt"}),
            "compare: unexpected argument \"s.txt\", expected --input s.txt");
  EXPECT_EQ(errorOf({"bench", "m.so", "1x16"}),
            "bench: unexpected argument \"1x16\", expected --shapes 1x16");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", "a.txt", "b.txt"}),
            "embed: unexpected argument \"b.txt\"");
}

/// An option never takes the next option as its value.
TEST(Arguments, OptionsWithoutTheirValue) {
  EXPECT_EQ(errorOf({"embed", "m.so", "--input="}),
            "embed: --input has no value, expected one after it");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input=", "--json"}),
            "embed: --input has no value, expected one after it");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", "--json"}),
            "embed: --input has no value, expected one after it");
  EXPECT_EQ(errorOf({"generate", "m.so", "--input", "-", "--output", "--scores"}),
            "generate: --output has no value, expected one after it");
}

/// Every command that reads texts accepts files of any name.
TEST(Arguments, TextsHaveAnyName) {
  for (const char *command : {"embed", "tokenize", "generate", "analyze", "profile"}) {
    EXPECT_EQ(errorOf({command, "m.so", "--input", "a.csv"}), "no error") << command;
    EXPECT_EQ(errorOf({command, "m.so", "--input", "texts"}), "no error") << command;
  }
  EXPECT_EQ(errorOf({"similarity", "m.so", "a", "--input", "texts"}), "no error");
  EXPECT_EQ(errorOf({"compare", "a.so", "b.so", "--input", "texts"}), "no error");
}

TEST(Arguments, BadValues) {
  for (const char *threads : {"0", "-1", "1025", "two", "1.5", "", "99999999999999999999"}) {
    EXPECT_EQ(errorOf({"embed", "m.so", "--input", "a.txt", "--threads", threads}),
              std::string("embed: --threads \"") + threads +
                  "\" is not a number of threads, expected 1 to 1024");
  }
  EXPECT_EQ(errorOf({"run", "m.so", "--inputs", "i", "--outputs", "o", "--threads", "x"}),
            "run: --threads \"x\" is not a number of threads, expected 1 to 1024");
  EXPECT_EQ(errorOf({"bench", "m.so", "--shapes", "1x1", "--threads", "x"}),
            "bench: --threads \"x\" is not a number of threads, expected 1 to 1024");
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", "-", "--output", "a.json"}),
            "embed: --output \"a.json\" has no known ending, expected a .jsonl or .npy file, or - "
            "for standard output");
}

/// Outputs replace files when a command ends.
TEST(Arguments, OutputsThatAreOtherFiles) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.jsonl", "x"), link = folder / "b.jsonl";
  std::filesystem::create_symlink(file, link);
  const auto errorAt = [&](const char *command, const char *name, const std::string &output,
                           const char *other) {
    return fmt::format("{}: {} \"{}\" is the file of {}, expected another one", command, name,
                       output, other);
  };
  EXPECT_EQ(errorOf({"run", file.c_str(), "--inputs", "i", "--outputs", link.c_str()}),
            errorAt("run", "--outputs", link, "OUT.so"));
  EXPECT_EQ(errorOf({"run", "m.so", "--inputs", file.c_str(), "--outputs", file.c_str()}),
            errorAt("run", "--outputs", file, "--inputs"));
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", link.c_str(), "--output", file.c_str()}),
            errorAt("embed", "--output", file, "--input"));
  EXPECT_EQ(errorOf({"profile", "m.so", "--trace", "new.json", "--output", "./new.json"}),
            errorAt("profile", "--trace", "new.json", "--output"));
  EXPECT_EQ(errorOf({"embed", "m.so", "--input", "/dev/null", "--output", "-"}), "no error");
}

TEST(Arguments, BadShapes) {
  for (const char *shape : {"", "x", "16", "0x4", "4x0", "-1x4", "1x2x3", "1 x2", "1x", "a"}) {
    EXPECT_EQ(errorOf({"bench", "m.so", "--shapes", shape}),
              std::string("bench: --shapes: shape \"") + shape +
                  "\" is not two positive numbers, expected SENTENCESxTOKENS such as 32x128");
  }
  EXPECT_EQ(errorOf({"bench", "m.so", "--shapes", "1x2,"}),
            "bench: --shapes: shape \"\" is not two positive numbers, expected SENTENCESxTOKENS "
            "such as 32x128");
  EXPECT_EQ(errorOf({"bench", "m.so", "--shapes", "65536x65536"}),
            "bench: --shapes: shape \"65536x65536\" has 4294967296 tokens, expected at most "
            "67108864");
  EXPECT_EQ(errorOf({"bench", "m.so", "--shapes", "1x67108864,2x3"}),
            "bench: --shapes: shapes have 67108870 tokens up to \"2x3\", expected at most 67108864 "
            "in all");
}

} // namespace heddle::tools
