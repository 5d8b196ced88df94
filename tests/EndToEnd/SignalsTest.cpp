// SPDX-License-Identifier: Apache-2.0
///
/// Real processes that are ended by signals at many moments: the exit code, and what is on the disk
/// afterwards. No half file, no file left over, an existing one untouched, and of lines those that
/// were finished.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/frontend/Config/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using Arguments = std::vector<std::string>;

/// Lines that take a process well over a second.
constexpr size_t manyLines = 20000;

struct SignalsTest : testing::Test {
  SignalsTest() {
    std::string lines;
    for (size_t i = 0; i < manyLines; ++i) {
      lines += fmt::format("{} 6 7 8\n", 5 + i % 50);
    }
    folder.write("in.txt", lines);
  }

  /// Runs `heddle` until the signal comes. The moments are spread from the start of the program,
  /// when it loads the model, to the middle of its work.
  tools::Outcome run(const Arguments &arguments, int signal, int moment) const {
    return tools::runHeddle(arguments,
                            {.signal = signal, .signalAfter = 300 + 8000 * moment * moment});
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

constexpr int moments = 8;
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1};

/// Whether `part` is some of the first lines of `all`.
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
      // Before main() has run, a signal does what it always does.
      EXPECT_TRUE(outcome.code == 128 + signal || outcome.code == -signal || outcome.code == 0)
          << outcome.code << outcome.error;
      if (outcome.code != 0) {
        EXPECT_EQ(readBytes(folder / "out"), "old\n");
      }
      const std::vector<std::string> found = names();
      const bool isKept = std::ranges::count(found, "out.partial") == 1;
      EXPECT_EQ(found.size(), isKept ? 3U : 2U) << fmt::format("{}", outcome.error);
      if (isKept) {
        ++kept;
        EXPECT_EQ(outcome.code, 128 + signal);
        EXPECT_NE(outcome.error.find("; the answers before are in "), std::string::npos)
            << outcome.error;
        EXPECT_TRUE(isBeginning(readBytes(folder / "out.partial"), moment % 2 == 0 ? all : scores));
        std::filesystem::remove(folder / "out.partial");
      }
    }
  }
  EXPECT_GT(kept, 0U);
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
          run(commands[static_cast<size_t>(moment) % commands.size()], signal, moment);
      EXPECT_TRUE(outcome.code == 128 + signal || outcome.code == -signal) << outcome.code;
      EXPECT_EQ(names(), before);
    }
  }
}

TEST_F(SignalsTest, StandardOutputHasWholeLines) {
  for (int moment = 2; moment < moments; ++moment) {
    const tools::Outcome outcome =
        run({"generate", model, "--tokens", "--input", folder / "in.txt"}, SIGINT, moment);
    EXPECT_TRUE(outcome.code == 130 || outcome.code == -SIGINT) << outcome.code;
    EXPECT_EQ(outcome.error, "");
    EXPECT_TRUE(outcome.output.empty() || outcome.output.ends_with('\n'));
  }
}

/// A command that waits for a line ends as well, and an unfinished line is none.
TEST_F(SignalsTest, WaitingForALineIsEnded) {
  const auto wait = [&](const std::string &command, const std::string &out) {
    std::string text;
    // The shell's own end of the pipe stays open: nothing but the signal ends the wait.
    EXPECT_EQ(runCommand(fmt::format("cd {} && rm -f p && mkfifo p && exec 9<> p && printf "
                                     "'5 6\\n7' >&9 && timeout -s TERM --preserve-status -k 20 1 "
                                     "{}/bin/heddle {} < p > {}; echo $?",
                                     folder.path(), HEDDLE_BINARY_DIR, command, out),
                         text),
              0);
    return text;
  };
  EXPECT_EQ(wait(fmt::format("generate {} --tokens --input -", model), "o"), "143\n");
  EXPECT_EQ(std::ranges::count(readBytes(folder / "o"), '\n'), 1);
  EXPECT_EQ(wait(fmt::format("score {} --tokens --source - --target in.txt", model), "s"), "143\n");
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
