// SPDX-License-Identifier: Apache-2.0
///
/// User errors in generation, through the real programs on compiled models: the exit code, the
/// message, and that no file is left partly written.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using Arguments = std::vector<std::string>;

/// One command line. An argument that begins with @ is a file of the test's folder; `${post}`,
/// `${bert}` and `${words}` are models: ids alone, an encoder, and one with vocabularies.
struct BadCase {
  const char *name;
  Arguments arguments;
  const char *message;

  friend void PrintTo(const BadCase &badCase, std::ostream *stream) { *stream << badCase.name; }
};

/// Runs `heddle generate` on ids.
Arguments ids(const std::string &input, Arguments more = {}) {
  more.insert(more.begin(), {"generate", "${post}", "--tokens", "--input", input});
  return more;
}

Arguments score(const std::string &source, const std::string &target) {
  return {"score", "${post}", "--tokens", "--source", source, "--target", target};
}

const std::vector<BadCase> badCases = {
    // Lines of ids
    {"NulByte", ids("@nul.txt"), "nul.txt:1: word 2 is \"6\\x00\", expected a token id"},
    {"NoUtf8AmongIds", ids("@latin.txt"), "latin.txt:1: word 2 is \"\\xe9\", expected a token id"},
    {"NegativeId", ids("@negative.txt"), "negative.txt:2: word 1 is \"-5\", expected a token id"},
    {"FractionalId", ids("@fraction.txt"),
     "fraction.txt:1: word 1 is \"5.5\", expected a token "
     "id"},
    {"IdsWithCommas", ids("@commas.txt"), "commas.txt:1: word 1 is \"5,6\", expected a token id"},
    {"IdAboveAllNumbers", ids("@huge.txt"),
     "huge.txt:1: word 2 is \"99999999999\", expected a token id"},
    {"IdOutsideTheVocabulary", ids("@61.txt"), "61.txt:1: source: token 2 is 61, expected 0 to 60"},
    {"SourceLongerThanThePositions", ids("@65.txt"),
     "65.txt:1: source has 65 tokens, expected at most 64, the positions of the model"},
    {"LineLongerThanAll", ids("@endless.txt"),
     "endless.txt:1: the line is longer than 16777216 bytes, expected a shorter text"},
    {"AfterGoodLines", ids("@third.txt"), "third.txt:3: word 1 is \"x\", expected a token id"},
    // Files
    {"AbsentInput", ids("@absent"), "absent: cannot open: No such file or directory"},
    {"FolderAsInput", ids("@folder"), "folder: cannot read: Is a directory"},
    {"AbsentPrefix", ids("@ok.txt", {"--prefix", "@absent"}),
     "absent: cannot open: No such file or directory"},
    {"AbsentShortlist", ids("@ok.txt", {"--shortlist", "@absent"}),
     "absent: cannot open: No such file or directory"},
    {"OutputInAnAbsentFolder", ids("@ok.txt", {"--output", "@absent/out"}),
     "absent/out: cannot create: No such file or directory"},
    {"FolderAsOutput", ids("@ok.txt", {"--output", "@folder"}),
     "folder: is a directory, expected a file to write"},
    {"FullOutput", ids("@ok.txt", {"--output", "/dev/full"}),
     "/dev/full: cannot write: No space left on device"},
    // A second file
    {"FewerPrefixes", ids("@two.txt", {"--prefix", "@ok.txt"}),
     "ok.txt: no line for two.txt:2, expected one for each source"},
    {"MorePrefixes", ids("@ok.txt", {"--prefix", "@two.txt"}),
     "two.txt:2: a line without a source, expected as many lines as ok.txt has"},
    {"FewerShortlists", ids("@ok.txt", {"--shortlist", "@empty.txt"}),
     "empty.txt: no line for ok.txt:1, expected one for each source"},
    {"MoreShortlists", ids("@ok.txt", {"--shortlist", "@two.txt"}),
     "two.txt:2: a line without a source, expected as many lines as ok.txt has"},
    {"PrefixThatIsNoId", ids("@ok.txt", {"--prefix", "@third.txt"}),
     "third.txt:2: a line without a source, expected as many lines as ok.txt has"},
    {"PrefixOfWords", ids("@ok.txt", {"--prefix", "@word.txt"}),
     "word.txt:1: word 1 is \"x\", expected a token id"},
    {"PrefixOutsideTheVocabulary", ids("@ok.txt", {"--prefix", "@61.txt"}),
     "61.txt:1: prefix: token 2 is 61, expected 0 to 60"},
    {"PrefixLongerThanThePositions", ids("@ok.txt", {"--prefix", "@65.txt"}),
     "65.txt:1: prefix has 65 tokens, expected at most 63, the positions of the model"},
    {"ShortlistOfWords", ids("@ok.txt", {"--shortlist", "@word.txt"}),
     "word.txt:1: word 1 is \"x\", expected a token id"},
    {"ShortlistOutsideTheVocabulary", ids("@ok.txt", {"--shortlist", "@61.txt"}),
     "61.txt:1: shortlist: token 2 is 61, expected 0 to 60"},
    {"SourceOutsideTheVocabularyBesideGoodFiles",
     ids("@61.txt", {"--prefix", "@ok.txt", "--shortlist", "@ok.txt"}),
     "61.txt:1: source: token 2 is 61, expected 0 to 60"},
    // Settings that this model does not support
    {"MinimumAboveTheUsualMaximum", ids("@ok.txt", {"--min-length", "80"}),
     "minimum length is 80, expected at most the maximum, 53"},
    {"CacheTooSmall", ids("@57.txt", {"--cache", "1", "--beam", "1024"}),
     "57.txt:1: the sentence does not fit: the cache is full: the history of hypotheses needs "},
    // Wrong models
    {"GenerateWithAnEncoder",
     {"generate", "${bert}", "--tokens", "--input", "@ok.txt"},
     "the model does not generate, expected one with a decoder"},
    {"ScoreWithAnEncoder",
     {"score", "${bert}", "--tokens", "--source", "@ok.txt", "--target", "@ok.txt"},
     "the model does not generate, expected one with a decoder"},
    {"EmbedWithADecoder",
     {"embed", "${post}", "--input", "@ok.txt"},
     "the model does not embed texts: it has no entry \"embed\", expected a model of sentence "
     "embeddings; heddle generate runs this one"},
    {"TextsWithoutATokenizer",
     {"generate", "${post}", "--input", "@ok.txt"},
     "the model has no tokenizer, expected one or --tokens"},
    {"ScoresOfTextsWithoutATokenizer",
     {"score", "${post}", "--source", "@ok.txt", "--target", "@ok.txt"},
     "the model has no tokenizer, expected one or --tokens"},
    {"TokenizeWithoutATokenizer",
     {"tokenize", "${post}", "--input", "@ok.txt"},
     "the model has no tokenizer, expected one to tokenize texts"},
    {"AbsentModel",
     {"generate", "@absent.so", "--tokens", "--input", "@ok.txt"},
     "absent.so: cannot open: No such file or directory"},
    {"TextAsModel", {"generate", "@ok.txt", "--tokens", "--input", "@ok.txt"}, "ok.txt: "},
    {"EmptyModel",
     {"score", "@empty.txt", "--source", "@ok.txt", "--target", "@ok.txt"},
     "empty.txt: the file is empty"},
    // Texts
    {"TextNotUtf8",
     {"generate", "${words}", "--input", "@latin.txt"},
     "latin.txt:1: byte 3 is 0xe9, expected UTF-8"},
    {"PrefixNotUtf8",
     {"generate", "${words}", "--input", "@ok.txt", "--prefix", "@latin.txt"},
     "latin.txt:1: byte 3 is 0xe9, expected UTF-8"},
    {"TargetNotUtf8",
     {"score", "${words}", "--source", "@ok.txt", "--target", "@latin.txt"},
     "latin.txt:1: byte 3 is 0xe9, expected UTF-8"},
    // heddle score
    {"FewerTargets", score("@two.txt", "@ok.txt"),
     "ok.txt: no line for two.txt:2, expected as many lines as the other file has"},
    {"FewerSources", score("@ok.txt", "@two.txt"),
     "ok.txt: no line for two.txt:2, expected as many lines as the other file has"},
    {"TargetOfWords", score("@ok.txt", "@word.txt"),
     "word.txt:1: word 1 is \"x\", expected a token id"},
    {"TargetOutsideTheVocabulary", score("@ok.txt", "@61.txt"),
     "ok.txt:1: target: token 2 is 61, expected 0 to 60"},
    {"ScoredSourceOutsideTheVocabulary", score("@second61.txt", "@two.txt"),
     "second61.txt:2: source: token 1 is 61, expected 0 to 60"},
    {"TargetLongerThanThePositions", score("@ok.txt", "@65.txt"),
     "ok.txt:1: target has 66 tokens with its start, expected at most 64, the positions of the "
     "model"},
    {"ScoredSourceLongerThanThePositions", score("@65.txt", "@ok.txt"),
     "65.txt:1: source has 65 tokens, expected at most 64, the positions of the model"},
};

/// Options that do not fit the model, which are detected after it is loaded: the command line is at
/// fault.
const std::vector<BadCase> modelCases = {
    {"TemperatureWithoutSample", ids("@ok.txt", {"--temperature", "2"}),
     "--temperature is given without --sample, expected both"},
    {"MinPWithoutSample", ids("@ok.txt", {"--min-p", "0.5"}),
     "--min-p is given without --sample, expected both"},
    {"SeedWithoutSample", ids("@ok.txt", {"--seed", "2", "--no-sample"}),
     "--seed and --no-sample are both given, expected one of them"},
    {"MaximumAboveThePositions", ids("@ok.txt", {"--max-length", "65"}),
     "--max-length 65: maximum length is 65, expected at most 64: the positions of the model"},
    {"MoreTextsThanTheModelsBeam", ids("@ok.txt", {"--nbest", "9"}),
     "--nbest 9 needs --beam 9: nbest is 9, expected at most the beam, 1"},
    {"UnknownTarget", ids("@ok.txt", {"--isa", "abacus"}), "--isa \"abacus\": "},
    {"CasesWithAnEncoder",
     {"bench", "${bert}", "--cases", "1x1"},
     "the model does not generate, expected one with a decoder, or --shapes"},
    {"CasesWithSourcesAboveThePositions",
     {"bench", "${post}", "--cases", "1x1", "--source-length", "65"},
     "--source-length is 65, expected at most 64, the positions of the model"},
    {"CasesThatShareMoreThanTheirSources",
     {"bench", "${post}", "--cases", "1x1", "--source-length", "6", "--shared-length", "7"},
     "--shared-length is 7, expected at most 6, the --source-length"},
    {"CasesBesideLongerAnswersThanThePositions",
     {"bench", "${post}", "--cases", "1x1", "--source-length", "6", "--beside", "900"},
     "--beside 900: 1809 steps are needed until all first tokens are there: maximum length is "
     "1809, expected at most 64: the positions of the model"},
    {"CasesWithTargetsAboveThePositions",
     {"bench", "${post}", "--cases", "1x1", "--target-length", "65"},
     "--target-length 65: maximum length is 65, expected at most 64: the positions of the model"},
    {"ShapesAboveThePositions",
     {"bench", "${post}", "--shapes", "1x65"},
     "--shapes: 1x65 has sequences of 65 tokens, expected at most 64, the positions of the model"},
    {"EntryThatReadsCaches",
     {"bench", "${post}", "--shapes", "1x6", "--entry", "decode"},
     "the entry reads caches, which generation fills, expected one that reads none"},
};

/// Command lines that are invalid, whatever the model.
const std::vector<BadCase> usageCases = {
    {"InputAndPrefixAreOne", ids("-", {"--prefix", "-"}),
     "--input and --prefix are both standard input, expected one of them"},
    {"PrefixAndShortlistAreOne", ids("@ok.txt", {"--prefix", "-", "--shortlist", "-"}),
     "--prefix and --shortlist are both standard input, expected one of them"},
    {"SourceAndTargetAreOne", score("-", "-"),
     "--source and --target are both standard input, expected one of them"},
    {"BeamOfNothing", ids("@ok.txt", {"--beam", "0"}),
     "--beam is \"0\", expected a whole number from 1 to 1024"},
    {"BeamAboveAll", ids("@ok.txt", {"--beam", "1025"}),
     "--beam is \"1025\", expected a whole number from 1 to 1024"},
    {"MoreTextsThanBeam", ids("@ok.txt", {"--beam", "2", "--nbest", "3"}),
     "--nbest 3 needs --beam 3, got --beam 2"},
    {"SampleWithBeam", ids("@ok.txt", {"--sample", "--beam", "4"}),
     "--beam is 4 with --sample, expected 1: --nbest gives several samples"},
    {"SampleWithAlternatives", ids("@ok.txt", {"--sample", "--alternatives"}),
     "--sample and --alternatives are both given, expected one of them"},
    {"MinimumAboveMaximum", ids("@ok.txt", {"--min-length", "3", "--max-length", "2"}),
     "--min-length is 3, expected at most --max-length, 2"},
    {"UnknownRules", ids("@ok.txt", {"--rules", "fairseq"}),
     "--rules is \"fairseq\", expected paper, transformers or ctranslate2"},
    {"NoCache", ids("@ok.txt", {"--cache", "0"}),
     "--cache is \"0\", expected a whole number from 1 to 16777216"},
    {"TooManyThreads", ids("@ok.txt", {"--threads", "2000"}),
     "--threads \"2000\" is not a number of threads, expected 1 to 1024"},
    {"InputTwice", ids("@ok.txt", {"--input", "@ok.txt"}),
     "--input is given more than once, expected it once"},
    {"NoInput", {"generate", "${post}"}, "--input FILE, --inputs FILE or --prompt TEXT is missing"},
    {"NoTarget", {"score", "${post}", "--source", "@ok.txt"}, "--target FILE is missing"},
    {"SurplusArgument", ids("@ok.txt", {"more"}), "unexpected argument \"more\""},
    {"OptionOfAnotherCommand",
     {"score", "${post}", "--source", "@ok.txt", "--target", "@ok.txt", "--beam", "2"},
     "unexpected argument \"--beam\""},
    {"NoCase",
     {"bench", "${post}", "--cases", "4"},
     "--cases: \"4\" is no case, expected SENTENCESxBEAM, for example 32x4"},
};

class GenerateBadInputTest : public testing::TestWithParam<BadCase> {
protected:
  GenerateBadInputTest() {
    const std::pair<const char *, std::string> files[] = {{"ok.txt", "5 6 7\n"},
                                                          {"two.txt", "5 6 7\n8\n"},
                                                          {"third.txt", "5\n6\nx\n"},
                                                          {"empty.txt", ""},
                                                          {"word.txt", "x\n"},
                                                          {"nul.txt", std::string("5 6\0 7\n", 7)},
                                                          {"latin.txt", "5 \xe9 7\n"},
                                                          {"negative.txt", "4\n-5\n"},
                                                          {"fraction.txt", "5.5\n"},
                                                          {"commas.txt", "5,6\n"},
                                                          {"huge.txt", "5 99999999999\n"},
                                                          {"61.txt", "5 61\n"},
                                                          {"second61.txt", "5\n61\n"},
                                                          {"57.txt", repeated("5 ", 57) + "\n"},
                                                          {"65.txt", repeated("5 ", 65) + "\n"}};
    for (const auto &[name, text] : files) {
      folder.write(name, text);
    }
    std::filesystem::create_directory(folder / "folder");
  }

  static std::string repeated(const std::string &text, size_t count) {
    std::string all;
    for (size_t i = 0; i < count; ++i) {
      all += text;
    }
    return all;
  }

  /// Returns an argument as the program gets it.
  std::string spell(const std::string &argument) const {
    if (argument.starts_with('@')) {
      return folder / argument.substr(1);
    }
    if (argument == "${words}") {
      return compileModel(HEDDLE_TEST_DATA "/formats/CTranslate2/models/separate");
    }
    if (argument.starts_with("${")) {
      const bool post = argument == "${post}";
      return compileModel(std::string(HEDDLE_TEST_DATA "/oracles/") +
                          (post ? "transformer-post" : "bert-tiny"));
    }
    return argument;
  }

  tools::Outcome run(const Arguments &given, const tools::ProcessOptions &options = {}) const {
    Arguments arguments;
    for (const std::string &argument : given) {
      arguments.push_back(spell(argument));
    }
    return tools::runHeddle(arguments, options);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found = folder.names();
    std::sort(found.begin(), found.end());
    return found;
  }

  /// Returns standard error without the name of the folder.
  std::string shown(std::string error) const {
    const std::string prefix = folder / "";
    for (size_t at = 0; (at = error.find(prefix)) != std::string::npos;) {
      error.erase(at, prefix.size());
    }
    return error;
  }

  TemporaryFolder folder;
};

/// Exit code 1, one line, and no new output, on standard output or in a file, except the answers of
/// the lines before.
TEST_P(GenerateBadInputTest, GivesItsMessage) {
  if (std::string_view(GetParam().name) == "LineLongerThanAll") {
    folder.write("endless.txt", std::string((size_t(16) << 20) + (size_t(1) << 18), '5'));
  }
  const std::string &command = GetParam().arguments.front();
  const bool readsLines = command == "generate" || command == "score";
  const bool writes = readsLines && std::ranges::count(GetParam().arguments, "--output") == 0;
  for (const bool toFile : {false, true}) {
    if (toFile && !writes) {
      continue;
    }
    Arguments arguments = GetParam().arguments;
    if (readsLines) {
      arguments.insert(arguments.end(), {"--on-error", "stop"});
    }
    if (toFile) {
      arguments.insert(arguments.end(), {"--output", "@out"});
    }
    std::vector<std::string> expected = names();
    const tools::Outcome outcome = run(arguments);
    const std::string error = shown(outcome.error);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(error.substr(0, 8), "heddle: ");
    EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
    EXPECT_EQ(std::ranges::count(error, '\n'), 1) << error;
    if (error.ends_with("; answers so far are in out.partial\n")) {
      EXPECT_TRUE(toFile);
      EXPECT_NE(readBytes(folder / "out.partial"), "");
      expected.push_back("out.partial");
      std::ranges::sort(expected);
    }
    EXPECT_EQ(names(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Generate, GenerateBadInputTest, testing::ValuesIn(badCases),
                         [](const auto &info) { return info.param.name; });

class GenerateUsageTest : public GenerateBadInputTest {};

TEST_P(GenerateUsageTest, GivesItsMessage) {
  const tools::Outcome outcome = run(GetParam().arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.error, fmt::format("heddle: {}\nheddle: try 'heddle {} --help'\n",
                                       GetParam().message, GetParam().arguments.front()));
}

INSTANTIATE_TEST_SUITE_P(Generate, GenerateUsageTest, testing::ValuesIn(usageCases),
                         [](const auto &info) { return info.param.name; });

class GenerateModelUsageTest : public GenerateBadInputTest {};

TEST_P(GenerateModelUsageTest, IsTheCommandLinesFault) {
  const std::vector<std::string> before = names();
  const tools::Outcome outcome = run(GetParam().arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_NE(outcome.error.find(GetParam().message), std::string::npos) << outcome.error;
  EXPECT_TRUE(outcome.error.ends_with(
      fmt::format("\nheddle: try 'heddle {} --help'\n", GetParam().arguments.front())));
  EXPECT_EQ(names(), before);
}

INSTANTIATE_TEST_SUITE_P(Generate, GenerateModelUsageTest, testing::ValuesIn(modelCases),
                         [](const auto &info) { return info.param.name; });

using GenerateFailureTest = GenerateBadInputTest;

TEST_F(GenerateFailureTest, WhatWasFinishedIsWritten) {
  std::string lines = repeated("5 6\n", 3000) + "x\n" + repeated("5 6\n", 10);
  const tools::Outcome outcome = run(ids("-", {"--on-error", "stop"}), {.input = lines});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.error, "heddle: standard input:3001: word 1 is \"x\", expected a token id\n");
  EXPECT_EQ(std::ranges::count(outcome.output, '\n'), 3000);
  EXPECT_TRUE(outcome.output.ends_with('\n'));
}

TEST_F(GenerateFailureTest, KeepsTheOldFile) {
  folder.write("out", "old");
  for (const Arguments &arguments : {ids("@third.txt"), score("@two.txt", "@ok.txt")}) {
    Arguments all = arguments;
    all.insert(all.end(), {"--output", "@out", "--on-error", "stop"});
    EXPECT_EQ(run(all).code, 1);
    EXPECT_EQ(readBytes(folder / "out"), "old");
    EXPECT_NE(readBytes(folder / "out.partial"), "");
  }
}

TEST_F(GenerateFailureTest, FilesAboveTheirLimit) {
  const std::vector<std::string> before = names();
  folder.write("many.txt", repeated("5 6 7\n", 50));
  for (const Arguments &arguments : {ids("@many.txt"), score("@many.txt", "@many.txt")}) {
    Arguments all = arguments;
    all.insert(all.end(), {"--output", "@out"});
    const tools::Outcome outcome = run(all, {.fileLimit = 20});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(names().size(), before.size() + 1);
  }
  const tools::Outcome outcome = run(ids("@many.txt", {"--output", "@out"}), {.fileLimit = 100});
  EXPECT_EQ(shown(outcome.error), "heddle: out: cannot write: File too large\n");
}

TEST_F(GenerateFailureTest, NoSpaceOnStandardOutput) {
  for (const Arguments &arguments : {ids("@ok.txt"), score("@ok.txt", "@ok.txt"),
                                     Arguments{"bench", "${post}", "--cases", "1x1"}}) {
    const tools::Outcome outcome = run(arguments, {.outputPath = "/dev/full"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.error, "heddle: standard output: cannot write: No space left on device\n");
  }
}

/// Runs a shell line in the folder, with $H the program and $M the model, and returns its output.
std::string shell(const std::string &folder, const std::string &line) {
  const std::string model = compileModel(HEDDLE_TEST_DATA "/oracles/transformer-post");
  std::string text;
  EXPECT_EQ(runCommand(fmt::format("cd {} && H={}/bin/heddle && M={} && {{ {}; }}", folder,
                                   HEDDLE_BINARY_DIR, model, line),
                       text),
            0);
  return text;
}

TEST_F(GenerateFailureTest, ClosedPipes) {
  // A reader that closes the pipe is no error: there is no message, and the exit code is 0, as with
  // `cat`.
  EXPECT_EQ(shell(folder.path(), "yes 5 6 7 | (eval '$H generate $M --tokens --input - 2>&1'; "
                                 "echo $? > code) | head -n 1 > first; cat code; wc -l < first"),
            "0\n1\n");
  EXPECT_EQ(shell(folder.path(), "yes 5 6 7 | head -n 200000 > s; ($H score $M --tokens --source s "
                                 "--target s 2> err; echo $? > code) | head -n 1 > first; "
                                 "cat code err"),
            "0\n");
  // The same by name, and for a command that writes once.
  EXPECT_EQ(shell(folder.path(), "yes 5 6 7 | ($H generate $M --tokens --input - --output "
                                 "/dev/stdout 2> err; echo $? > code) | head -n 1 > first; "
                                 "cat code err"),
            "0\n");
  EXPECT_EQ(shell(folder.path(), "mkfifo p; (exec 3< p; sleep 0.2) & (sleep 0.1; exec 3> p; "
                                 "sleep 0.5; $H info $M >&3 2> err; echo $? > code); cat code err"),
            "0\n");
}

TEST_F(GenerateFailureTest, EmptyFilesGiveEmptyOutputs) {
  const tools::Outcome outcome = run(ids("@empty.txt"));
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(run(score("@empty.txt", "@empty.txt")).code, 0);
}

} // namespace
} // namespace heddle
