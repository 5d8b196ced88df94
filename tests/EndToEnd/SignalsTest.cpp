// SPDX-License-Identifier: Apache-2.0
///
/// Real processes that signals end at many moments: the exit code, and the files afterwards. There
/// is no partial file and no leftover file, an existing one is untouched, and only complete lines
/// are written.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/frontend/Import/ModelFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using Arguments = std::vector<std::string>;

/// Lines that keep a process busy for a while.
constexpr size_t manyLines = 8000;

constexpr int moments = 8;
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1};

struct SignalsTest : testing::Test {
  SignalsTest() {
    std::string lines;
    for (size_t i = 0; i < manyLines; ++i) {
      lines += fmt::format("{} 6 7 8\n", 5 + i % 50);
    }
    folder.write("in.txt", lines);
  }

  /// Runs `heddle` until the signal arrives. The moments range from the start of the program, when
  /// it loads the model, to the middle of its work; the last ones come after some of its answers
  /// are written.
  tools::Outcome run(const Arguments &arguments, int signal, int moment) const {
    tools::ProcessOptions options = {.signal = signal, .signalAfter = 300 + 2000 * moment * moment};
    if (moment >= moments - 3) {
      options.signalAfter = 1000 * (moments - moment);
      options.signalWhen = [this] { return hasAnswers(); };
    }
    return tools::runHeddle(arguments, options);
  }

  /// Returns whether some unfinished file is not empty.
  bool hasAnswers() const {
    for (const auto &entry : std::filesystem::directory_iterator(folder.path())) {
      std::error_code gone;
      if (entry.path().string().find(".partial-") != std::string::npos &&
          std::filesystem::file_size(entry.path(), gone) > 0 && !gone) {
        return true;
      }
    }
    return false;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found = folder.names();
    std::ranges::sort(found);
    return found;
  }

  const std::string model = compileModel(HEDDLE_TEST_DATA "/oracles/transformer-post");
  const std::string encoder = compileModel(HEDDLE_TEST_DATA "/oracles/bert-tiny");
  TemporaryFolder folder;
};

/// A model folder with a tokenizer of the words w5 to w210.
struct WordModel : ModelFolder {
  WordModel() {
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int word = 5; word < 211; ++word) {
      vocabulary += fmt::format("w{}\n", word);
    }
    files().write("vocab.txt", vocabulary);
    files().write("tokenizer_config.json", "{\"do_lower_case\": true}");
  }
};

/// Returns whether `part` consists of some of the first lines of `all`.
bool isBeginning(const std::string &part, const std::string &all) {
  return all.starts_with(part) && (part.empty() || part.ends_with('\n'));
}

} // namespace

TEST_F(SignalsTest, LinesBeforeTheSignalAreKept) {
  const Arguments generate = {"generate",        model,          "--tokens", "--input",
                              folder / "in.txt", "--max-length", "8"};
  const std::string all = tools::runHeddle(generate).output;
  const Arguments score = {"score",           model,      "--tokens",       "--source",
                           folder / "in.txt", "--target", folder / "in.txt"};
  const std::string scores = tools::runHeddle(score).output;
  ASSERT_EQ(std::ranges::count(all, '\n'), static_cast<ptrdiff_t>(manyLines));
  size_t kept = 0;
  for (const int signal : signals) {
    for (int moment = 0; moment < moments; ++moment) {
      SCOPED_TRACE(fmt::format("signal {} moment {}", signal, moment));
      Arguments arguments = moment % 2 == 0 ? generate : score;
      arguments.insert(arguments.end(), {"--output", folder / "out"});
      folder.write("out", "old\n");
      const tools::Outcome outcome = run(arguments, signal, moment);
      EXPECT_TRUE(outcome.code == -signal || outcome.code == 0) << outcome.code << outcome.error;
      if (outcome.code != 0) {
        EXPECT_EQ(readBytes(folder / "out"), "old\n");
      }
      const std::vector<std::string> found = names();
      const bool isKept = std::ranges::count(found, "out.partial") == 1;
      EXPECT_EQ(found.size(), isKept ? 3U : 2U) << fmt::format("{}", outcome.error);
      if (isKept) {
        ++kept;
        EXPECT_EQ(outcome.code, -signal);
        EXPECT_NE(outcome.error.find("; answers so far are in "), std::string::npos)
            << outcome.error;
        EXPECT_TRUE(isBeginning(readBytes(folder / "out.partial"), moment % 2 == 0 ? all : scores));
        std::filesystem::remove(folder / "out.partial");
      }
    }
  }
  // Each handled signal came three times after some answers were written.
  EXPECT_GE(kept, 4U * 3U);
}

/// Lines of a file are read in blocks of a thousand; a signal does not wait until a block is
/// embedded.
TEST_F(SignalsTest, EmbeddingsEndBetweenTheLinesOfABlock) {
  const WordModel words;
  const std::string embedder = compileModel(words.path());
  std::string lines;
  for (size_t i = 0; i < manyLines; ++i) {
    for (int word = 0; word < 38; ++word) {
      lines += fmt::format("w{} ", 5 + (i + 7 * word) % 200);
    }
    lines += '\n';
  }
  const std::string input = folder.write("words.txt", lines), output = folder / "out.jsonl";
  bool isBetween = false;
  for (int attempt = 0; attempt < 50 && !isBetween; ++attempt) {
    const tools::Outcome outcome =
        tools::runHeddle({"embed", embedder, "--input", input, "--output", output},
                         {.signal = SIGINT, .signalAfter = 20'000 * (attempt + 1)});
    EXPECT_TRUE(outcome.code == -SIGINT || outcome.code == 0) << outcome.code << outcome.error;
    const std::string kept = output + ".partial";
    if (std::filesystem::exists(kept)) {
      const std::string answers = readBytes(kept);
      EXPECT_TRUE(answers.empty() || answers.ends_with('\n'));
      isBetween = std::ranges::count(answers, '\n') % 1024 != 0;
      std::filesystem::remove(kept);
    }
  }
  EXPECT_TRUE(isBetween);
}

TEST_F(SignalsTest, NothingIsLeftOfOtherFiles) {
  const std::string trace = folder / "trace.json";
  const std::vector<Arguments> commands = {
      {"profile", encoder, "--input", folder / "in.txt", "--tokens", "--runs", "1000", "--trace",
       trace, "--output", folder / "profile.json"},
      {"profile", model, "--cases", "4x4", "--runs", "100000", "--trace", trace},
      {"analyze", model, "--input", folder / "in.txt", "--tokens", "--output", folder / "a.json",
       "--svg", folder / "a.svg"}};
  const std::vector<std::string> before = names();
  for (const int signal : signals) {
    for (int moment = 0; moment < moments; ++moment) {
      SCOPED_TRACE(fmt::format("signal {} moment {}", signal, moment));
      const tools::Outcome outcome =
          tools::runHeddle(commands[static_cast<size_t>(moment) % commands.size()],
                           {.signal = signal, .signalAfter = 300 + 8000 * moment * moment});
      EXPECT_TRUE(outcome.code == -signal) << outcome.code;
      EXPECT_EQ(names(), before);
    }
  }
}

TEST_F(SignalsTest, StandardOutputHasWholeLines) {
  for (int moment = 2; moment < moments; ++moment) {
    const tools::Outcome outcome =
        tools::runHeddle({"generate", model, "--tokens", "--input", folder / "in.txt"},
                         {.signal = SIGINT, .signalAfter = 300 + 8000 * moment * moment});
    // A fast machine may be done by then.
    EXPECT_TRUE(outcome.code == -SIGINT || outcome.code == 0) << outcome.code;
    EXPECT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.output.empty() || outcome.output.ends_with('\n'));
  }
}

/// The compiler: a binary is complete, or absent.
TEST_F(SignalsTest, CompilationsLeaveNoPart) {
  const std::vector<std::string> before = names();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    for (int moment = 0; moment < moments; ++moment) {
      SCOPED_TRACE(fmt::format("signal {} moment {}", signal, moment));
      const tools::Outcome outcome = tools::runProgram(
          "heddlec", {HEDDLE_TEST_DATA "/oracles/transformer-post", "-o", folder / "model.so"},
          {.signal = signal, .signalAfter = 300 + 8000 * moment * moment});
      EXPECT_TRUE(outcome.code == -signal || outcome.code == 0) << outcome.code << outcome.error;
      if (outcome.code == 0) {
        EXPECT_EQ(tools::runHeddle({"verify", folder / "model.so"}).code, 0);
        std::filesystem::remove(folder / "model.so");
      }
      EXPECT_EQ(names(), before);
    }
  }
}

/// Nor are temporary files left, such as the binary that a calibration runs.
TEST_F(SignalsTest, CompilationsLeaveNoTemporaryFolder) {
  const WordModel words;
  const TemporaryFolder temporary;
  std::string lines;
  for (int i = 0; i < 4000; ++i) {
    lines += fmt::format("w{} w{} w{} w{}\n", 5 + i % 200, 5 + i % 83, 5 + i % 37, 5 + i % 11);
  }
  const std::string texts = folder.write("texts.txt", lines);
  for (const int signal : {SIGINT, SIGTERM}) {
    const tools::Outcome outcome = tools::runProgram(
        "heddlec",
        {words.path(), "-o", folder / "model.so", "--precision=int8", "--calibration", texts},
        {.environment = {"TMPDIR=" + temporary.path()},
         .signal = signal,
         .signalAfter = 1,
         .signalWhen = [&] { return !temporary.names().empty(); }});
    EXPECT_EQ(outcome.code, -signal) << outcome.error;
    EXPECT_TRUE(temporary.names().empty()) << temporary.names().front();
    EXPECT_FALSE(std::filesystem::exists(folder / "model.so"));
  }
}

/// A command that waits for a line ends as well, and an incomplete line is not processed.
TEST_F(SignalsTest, WaitingForALineIsEnded) {
  const auto wait = [&](const std::string &command, const std::string &out, int tries) {
    std::string text;
    // The shell's own end of the pipe stays open: only the signal ends the wait.
    EXPECT_EQ(runCommand(fmt::format("cd {0}; rm -f p; mkfifo p; exec 9<> p; printf '5 6\\n7' >&9; "
                                     "{1}/bin/heddle {2} < p > {3} & i=0; "
                                     "while [ ! -s {0}/{3} ] && [ $i -lt {4} ]; do sleep 0.05; "
                                     "i=$((i+1)); done; kill -TERM $!; wait $!; echo $?",
                                     folder.path(), HEDDLE_BINARY_DIR, command, out, tries),
                         text),
              0);
    return text;
  };
  EXPECT_EQ(wait(fmt::format("generate {} --tokens --input -", model), "o", 400), "143\n");
  EXPECT_EQ(std::ranges::count(readBytes(folder / "o"), '\n'), 1);
  EXPECT_EQ(wait(fmt::format("score {} --tokens --source - --target in.txt", model), "s", 40),
            "143\n");
  EXPECT_EQ(std::ranges::count(readBytes(folder / "s"), '\n'), 1);
}

/// As under `nohup`.
TEST_F(SignalsTest, IgnoredSignalsStayIgnored) {
  std::string text;
  EXPECT_EQ(runCommand(fmt::format("cd {} && mkfifo p || exit; (trap '' HUP; exec {}/bin/heddle "
                                   "generate {} --tokens --input p --output all) & exec 9> p; "
                                   "sleep 0.3; kill -HUP $!; head -n 100 in.txt >&9; exec 9>&-; "
                                   "wait $!; echo $?; wc -l < all; ls",
                                   folder.path(), HEDDLE_BINARY_DIR, model),
                       text),
            0);
  EXPECT_EQ(text, "0\n100\nall\nin.txt\np\n");
}

} // namespace heddle
