// SPDX-License-Identifier: Apache-2.0
///
/// A GPU that is lost while lines are processed: those that were written stay, and the message
/// names the driver's call and the first line without an answer.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace heddle::tools {

namespace {
/// A command that writes a line for each line of its input.
struct LineCommand {
  const char *name;
  bool generates;
  /// The arguments between the model and the output.
  std::vector<std::string> (*arguments)(const std::string &lines);
  /// The lines of the input.
  int lines;
  /// The ending of output files.
  const char *ending;
};

const LineCommand commands[] = {
    {"generate", true,
     [](const std::string &lines) {
       // Few join the batch at once, so that lines end one after another.
       return std::vector<std::string>{
           "--tokens", "--input", lines, "--beam", "1", "--max-length", "4", "--batch-tokens", "8"};
     },
     12, ".txt"},
    {"score", true,
     [](const std::string &lines) {
       return std::vector<std::string>{"--tokens", "--source", lines, "--target", lines};
     },
     150, ".txt"},
    // More than a block of lines.
    {"embed", false,
     [](const std::string &lines) { return std::vector<std::string>{"--input", lines}; }, 1500,
     ".jsonl"}};

class DeviceLoss : public testing::TestWithParam<LineCommand> {
protected:
  void SetUp() override {
    const LineCommand &command = GetParam();
    const fixture::ModelSpec spec =
        command.generates ? fixture::selectingModel() : fixture::model();
    ASSERT_EQ(fixture::write(fixture::withDevice(spec), folder / "model.so").message(), "");
    std::ofstream lines(input());
    for (int i = 0; i < command.lines; ++i) {
      lines << (command.generates ? "4 " + std::to_string(5 + i % 30) + " 6" : "a b c") << "\n";
    }
  }

  std::string input() const { return folder / "lines.txt"; }
  std::string output() const { return folder / ("out" + std::string(GetParam().ending)); }

  /// Runs the command; the n-th call of a function fails as if the GPU were lost.
  Outcome run(const std::string &output, const std::string &function = "none",
              int64_t n = 1) const {
    std::vector<std::string> arguments = GetParam().arguments(input());
    arguments.insert(arguments.begin(), {GetParam().name, folder / "model.so"});
    arguments.insert(arguments.end(), {"--output", output, "--device", "cuda"});
    return runHeddle(
        arguments,
        {.environment = {std::string("LD_LIBRARY_PATH=") + HEDDLE_EMULATOR_FOLDER,
                         "HEDDLE_EMULATOR_JOURNAL=" + (folder / "journal.txt"),
                         // CUDA_ERROR_ILLEGAL_ADDRESS
                         "HEDDLE_EMULATOR_FAIL=" + function + ":" + std::to_string(n) + ":700"}});
  }
  /// Returns how often the last process called a function.
  int64_t callsOf(const std::string &function) const {
    std::ifstream lines(folder / "journal.txt");
    int64_t count = 0;
    for (std::string line; std::getline(lines, line);) {
      count += line.starts_with(function + "(") ? 1 : 0;
    }
    return count;
  }

  TemporaryFolder folder;
};
} // namespace

static int64_t linesOf(const std::string &text) {
  return std::count(text.begin(), text.end(), '\n');
}

static std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The message names the first line without an answer, and the call.
static void expectMessage(const Outcome &outcome, const std::string &file, int64_t written,
                          const std::string &function) {
  EXPECT_EQ(outcome.code, 1);
  const std::string place = "heddle: " + file + ":" + std::to_string(written + 1);
  ASSERT_TRUE(outcome.error.starts_with(place)) << outcome.error << "\nexpected " << place;
  const std::string rest = outcome.error.substr(place.size());
  EXPECT_TRUE(rest.starts_with(": ") || rest.starts_with(" and ")) << rest;
  EXPECT_NE(rest.find(": GPU 0 (emulated): " + function), std::string::npos) << rest;
  EXPECT_NE(rest.find("failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)"), std::string::npos) << rest;
}

TEST_P(DeviceLoss, KeepsTheLinesBefore) {
  const Outcome whole = run("-");
  ASSERT_EQ(whole.code, 0) << whole.error;
  ASSERT_EQ(linesOf(whole.output), GetParam().lines);
  // What a kernel has done is reported by the call that waits for it.
  const std::string function = "cuEventSynchronize";
  const int64_t calls = callsOf(function);
  int64_t most = 0;
  for (const int64_t n : {calls / 3, calls * 2 / 3, calls}) {
    SCOPED_TRACE(n);
    const Outcome lost = run("-", function, n);
    const int64_t written = linesOf(lost.output);
    expectMessage(lost, input(), written, function);
    EXPECT_LT(written, GetParam().lines);
    // Whole lines, and those of a run that goes well.
    EXPECT_TRUE(whole.output.starts_with(lost.output)) << lost.output;
    EXPECT_TRUE(lost.output.empty() || lost.output.ends_with('\n')) << lost.output;
    most = std::max(most, written);
    // A file is not there half; its lines are kept beside its name.
    const Outcome toFile = run(output(), function, n);
    expectMessage(toFile, input(), written, function);
    EXPECT_FALSE(std::filesystem::exists(output()));
    const std::string partial = output() + ".partial";
    EXPECT_EQ(std::filesystem::exists(partial), written > 0);
    if (written > 0) {
      EXPECT_EQ(readFile(partial), lost.output);
      EXPECT_NE(toFile.error.find("; answers so far are in " + partial), std::string::npos)
          << toFile.error;
      std::filesystem::remove(partial);
    }
  }
  EXPECT_GT(most, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceLoss, testing::ValuesIn(commands),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace heddle::tools
