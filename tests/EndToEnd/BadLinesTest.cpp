// SPDX-License-Identifier: Apache-2.0
///
/// Unusable lines among usable ones, through the real programs: each is answered with its error in
/// its place, and the others as if it did not exist.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle {
namespace {

using Arguments = std::vector<std::string>;
using Json = nlohmann::json;

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string repeated(const std::string &text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

struct BadLinesTest : testing::Test {
  tools::Outcome generate(const std::string &lines, Arguments more = {}) const {
    more.insert(more.begin(), {"generate", ids, "--tokens", "--input", "-"});
    return tools::runHeddle(more, {.input = lines});
  }

  const std::string ids = compileModel(HEDDLE_TEST_DATA "/oracles/transformer-post");
  const std::string words = compileModel(HEDDLE_TEST_DATA "/formats/CTranslate2/models/separate");
  TemporaryFolder folder;
};

const std::string tooLong =
    "source has 65 tokens, expected at most 64, the positions of the model: "
    "--truncate cuts it";

} // namespace

TEST_F(BadLinesTest, GenerateAnswersEveryLineInItsPlace) {
  const std::string good = generate("5 6 7\n8 9\n").output;
  ASSERT_EQ(linesOf(good).size(), 2U);
  const std::string lines =
      "5 6 7\nx\n5 61\n" + repeated("5 ", 65) + "\n" + std::string(17 << 20, '5') + "\n8 9\n";
  const tools::Outcome outcome = generate(lines);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.output, linesOf(good)[0] + "\n\n\n\n\n" + linesOf(good)[1] + "\n");
  EXPECT_EQ(outcome.error,
            "heddle: standard input:2: word 1 is \"x\", expected a token id\n"
            "heddle: standard input:3: source: token 2 is 61, expected 0 to 60\n"
            "heddle: standard input:4: " +
                tooLong +
                "\n"
                "heddle: standard input:5: the line is longer than 16777216 bytes, expected a "
                "shorter text\n"
                "heddle: standard input: 4 of 6 lines could not be used\n");
  // The same number of lines for each source, whatever its result.
  EXPECT_EQ(linesOf(generate(lines, {"--beam", "3", "--nbest", "3"}).output).size(), 18U);
}

TEST_F(BadLinesTest, GenerateAnswersWithRecords) {
  const tools::Outcome outcome = generate("5 6 7\nx\n8 9\n", {"--format", "jsonl"});
  EXPECT_EQ(outcome.code, 1);
  const std::vector<std::string> lines = linesOf(outcome.output);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(Json::parse(lines[0])["hypotheses"].size(), 1U);
  EXPECT_EQ(
      Json::parse(lines[1]),
      Json({{"source", "x"}, {"error", "standard input:2: word 1 is \"x\", expected a token id"}}));
  EXPECT_EQ(Json::parse(lines[2])["hypotheses"].size(), 1U);
}

/// As a service: an unusable line is answered before the next line arrives, and later lines are
/// answered too.
TEST_F(BadLinesTest, GenerateGoesOnAsAService) {
  const std::string script = fmt::format(
      "cd {} && mkfifo in || exit; ({}/bin/heddle generate {} --tokens --format jsonl --input in > "
      "out "
      "2> err; echo $? > code) & exec 3> in; count=0; "
      "for line in '5 6' 'x' '7 8'; do echo \"$line\" >&3; count=$((count+1)); i=0; "
      "while [ $(wc -l < out) -lt $count ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i+1)); done; "
      "wc -l < out; done; exec 3>&-; wait; cat code; grep -c error out",
      folder.path(), HEDDLE_BINARY_DIR, ids);
  std::string text;
  EXPECT_EQ(runCommand(script, text), 0) << text;
  EXPECT_EQ(text, "1\n2\n3\n1\n1\n");
}

TEST_F(BadLinesTest, GenerateStopsWhenAsked) {
  const std::string lines = "5 6 7\nx\n8 9\n";
  const tools::Outcome stopped = generate(lines, {"--on-error", "stop"});
  EXPECT_EQ(stopped.code, 1);
  EXPECT_EQ(stopped.output, generate("5 6 7\n").output);
  EXPECT_EQ(stopped.error, "heddle: standard input:2: word 1 is \"x\", expected a token id\n");
  // Sentences that fail only when they run; the first of them in the file ends the run.
  const Arguments small = {"--cache", "1", "--beam", "1024"};
  const tools::Outcome full = generate("5 6\n5 6 7\n", small);
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.output, "\n\n");
  for (const char *line : {"1", "2"}) {
    EXPECT_NE(full.error.find(fmt::format("standard input:{}: the sentence does not fit: ", line)),
              std::string::npos)
        << full.error;
  }
  EXPECT_NE(full.error.find(": --cache gives it more\n"), std::string::npos) << full.error;
  Arguments stopping = small;
  stopping.insert(stopping.end(), {"--on-error", "stop"});
  const tools::Outcome ended = generate("5 6\n5 6 7\n", stopping);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output, "");
  EXPECT_NE(ended.error.find("the sentence does not fit: "), std::string::npos) << ended.error;
}

TEST_F(BadLinesTest, PrefixesAndShortlistsFailTheirLine) {
  const std::string prefixes = folder.write("prefixes", "7\nx\n8\n");
  const tools::Outcome outcome = generate("5 6\n5 6\n5 6\n", {"--prefix", prefixes});
  EXPECT_EQ(outcome.code, 1);
  const std::vector<std::string> lines = linesOf(outcome.output);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("7 ") && lines[1].empty() && lines[2].starts_with("8 "))
      << outcome.output;
  EXPECT_NE(outcome.error.find("prefixes:2: word 1 is \"x\""), std::string::npos);
  const std::string shortlists = folder.write("shortlists", "7\n7\n61\n");
  EXPECT_EQ(linesOf(generate("5 6\nx\n5 6\n", {"--shortlist", shortlists}).output)[0],
            linesOf(generate("5 6\n", {"--shortlist", folder.write("one", "7\n")}).output)[0]);
}

TEST_F(BadLinesTest, TextsThatAreNone) {
  const std::string good = "{\"text\": \"a b\"}\n";
  const std::string path =
      folder.write("in.jsonl", good + "{\"text\": 7}\nnonsense\n{\"text\": \"\xff\"}\n" + good);
  const tools::Outcome outcome = tools::runHeddle({"generate", words, "--input", path});
  EXPECT_EQ(outcome.code, 1);
  const std::vector<std::string> lines = linesOf(outcome.output);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], lines[4]);
  EXPECT_EQ(lines[1] + lines[2] + lines[3], "");
  EXPECT_EQ(outcome.error, fmt::format("heddle: {0}:2: \"text\" is 7, expected a string\n"
                                       "heddle: {0}:3: not JSON at byte 2, near \"nonsense\"\n"
                                       "heddle: {0}:4: byte 11 is 0xff, expected UTF-8\n"
                                       "heddle: {0}: 3 of 5 lines could not be used\n",
                                       path));
}

/// Positions of bytes are the same in every reader: from 1, in the line as it is in the file.
TEST_F(BadLinesTest, PositionsOfBadBytes) {
  for (const char *name : {"a.txt", "a.jsonl"}) {
    const std::string path = folder.write(name, "{\"text\": \"\xfe\"}\n");
    const std::string message = path + ":1: byte 11 is 0xfe, expected UTF-8";
    for (const Arguments &arguments : {Arguments{"generate", words, "--input", path},
                                       {"tokenize", words, "--input", path},
                                       {"analyze", words, "--input", path},
                                       {"score", words, "--source", path, "--target", path},
                                       {"compare", words, words, "--input", path},
                                       {"profile", words, "--input", path}}) {
      const tools::Outcome outcome = tools::runHeddle(arguments);
      EXPECT_EQ(outcome.code, 1) << arguments[0];
      EXPECT_TRUE(outcome.error.starts_with("heddle: " + message + "\n")) << outcome.error;
    }
  }
}

/// A line without an object is an error in every command, so that lines keep their numbers.
TEST_F(BadLinesTest, BlankLinesAmongObjects) {
  const std::string path = folder.write("in.jsonl", "{\"text\": \"a\"}\n\n{\"text\": \"b\"}\n");
  for (const Arguments &arguments : {Arguments{"generate", words, "--input", path},
                                     {"tokenize", words, "--input", path},
                                     {"analyze", words, "--input", path},
                                     {"score", words, "--source", path, "--target", path},
                                     {"compare", words, words, "--input", path},
                                     {"profile", words, "--input", path}}) {
    const tools::Outcome outcome = tools::runHeddle(arguments);
    EXPECT_EQ(outcome.code, 1) << arguments[0];
    EXPECT_TRUE(outcome.error.starts_with("heddle: " + path +
                                          ":2: the line is empty, expected an "
                                          "object such as {\"text\": \"...\"}\n"))
        << outcome.error;
  }
}

TEST_F(BadLinesTest, ScoreAnswersEveryPair) {
  const std::string sources = folder.write("s", "5 6\nx\n5 6\n5 6\n");
  const std::string targets = folder.write("t", "7\n7\n61\n8\n");
  const tools::Outcome outcome =
      tools::runHeddle({"score", ids, "--tokens", "--source", sources, "--target", targets});
  EXPECT_EQ(outcome.code, 1);
  const std::vector<std::string> lines = linesOf(outcome.output);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(!lines[0].empty() && lines[1].empty() && lines[2].empty() && !lines[3].empty());
  EXPECT_NE(outcome.error.find("s:2: word 1 is \"x\", expected a token id\n"), std::string::npos);
  EXPECT_NE(outcome.error.find("s:3: target: token 1 is 61, expected 0 to 60\n"),
            std::string::npos);
  const tools::Outcome records =
      tools::runHeddle({"score", ids, "--tokens", "--source", sources, "--target", targets,
                        "--format", "jsonl", "--output", folder / "out"});
  EXPECT_EQ(records.code, 1);
  const std::vector<std::string> list = linesOf(readBytes(folder / "out"));
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(Json::parse(list[1])["error"], sources + ":2: word 1 is \"x\", expected a token id");
  EXPECT_TRUE(Json::parse(list[3]).contains("score"));
}

TEST_F(BadLinesTest, TruncateCutsWhatIsTooLong) {
  const std::string limit = repeated("5 ", 64);
  const tools::Outcome cut = generate(limit + "5 6\n", {"--truncate"});
  EXPECT_EQ(cut.code, 0) << cut.error;
  EXPECT_EQ(cut.output, generate(limit + "\n").output);
  const std::string source = folder.write("s", limit + "9 9\n");
  const std::string same = folder.write("same", limit + "\n");
  const std::string target = folder.write("t", "7\n");
  EXPECT_EQ(
      tools::runHeddle(
          {"score", ids, "--tokens", "--source", source, "--target", target, "--truncate"})
          .output,
      tools::runHeddle({"score", ids, "--tokens", "--source", same, "--target", target}).output);
  // The tokens that the template adds around a text are kept.
  const std::string text = folder.write("long.txt", repeated("a ", 3000) + "\n");
  const tools::Outcome texts = tools::runHeddle({"analyze", words, "--input", text, "--truncate"});
  EXPECT_EQ(texts.code, 0) << texts.error;
}

/// The output of a run that ends early is next to the old one, and the message names it.
TEST_F(BadLinesTest, WhatWasAnsweredIsKept) {
  folder.write("out", "old");
  const Arguments arguments = {"--output", folder / "out", "--on-error", "stop"};
  const tools::Outcome outcome = generate("5 6 7\nx\n8 9\n", arguments);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(readBytes(folder / "out"), "old");
  EXPECT_EQ(readBytes(folder / "out.partial"), generate("5 6 7\n").output);
  EXPECT_NE(outcome.error.find("; answers so far are in "), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("out.partial\n"), std::string::npos) << outcome.error;
  // The outputs of an earlier run are kept.
  EXPECT_NE(generate("8 9\nx\n", arguments).error.find("out.partial-2\n"), std::string::npos);
  EXPECT_EQ(readBytes(folder / "out.partial"), generate("5 6 7\n").output);
  EXPECT_EQ(readBytes(folder / "out.partial-2"), generate("8 9\n").output);
  std::filesystem::remove(folder / "out.partial-2");
  // If errors are answered, the file is complete, and there is no other.
  std::filesystem::remove(folder / "out.partial");
  EXPECT_EQ(generate("5 6 7\nx\n8 9\n", {"--output", folder / "out"}).code, 1);
  EXPECT_EQ(linesOf(readBytes(folder / "out")).size(), 3U);
  EXPECT_EQ(folder.names().size(), 1U);
}

} // namespace heddle
