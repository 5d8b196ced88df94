// SPDX-License-Identifier: Apache-2.0
///
/// Random programs hold: each compiled with every set of passes, on every target of the machine,
/// against the interpreter and against itself. Programs that once failed come first. What fails is
/// reduced and written down, with the command that repeats it.
///
///   HEDDLE_RANDOM_SECONDS   how long random programs are tried, after the first ones
///   HEDDLE_RANDOM_PROGRAMS  how many are tried, however long it takes
///   HEDDLE_RANDOM_FIRST     the seed to begin with
///   HEDDLE_RANDOM_PROGRAM   a program without its ending .mlir: that alone is tried
#include "compiler/Target/Cpu/CodeGenerator.h"
#include "tests/EndToEnd/RandomPrograms/ProgramCheck.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"
#include "tests/EndToEnd/RandomPrograms/Reducer.h"
#include "tests/frontend/Config/TemporaryFolder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

/// Programs that every run tries, however slow the machine is.
constexpr int64_t leastPrograms = 4;
/// How long a failing program is reduced.
constexpr std::chrono::seconds reductionTime{120};

std::optional<int64_t> numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text && *text ? std::optional(std::strtoll(text, nullptr, 10)) : std::nullopt;
}

/// The message of a failure without what differs from program to program.
std::string kindOf(const Failure &failure) {
  std::string text = failure.text.substr(0, failure.text.find('\n'));
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  const bool isMessage =
      failure.kind == Failure::Kind::Compile || failure.kind == Failure::Kind::Run;
  return fmt::format("{} {}", static_cast<int>(failure.kind), isMessage ? text : "");
}

class RandomPrograms : public testing::Test {
protected:
  static void SetUpTestSuite() { initializeCodeGenerator(); }

  /// Tries one; when it fails, reduces it and says where the small one is.
  void expectHolds(const TestProgram &program, const std::string &name) {
    const std::optional<Failure> failure = check.run(program, passChoices());
    if (!failure) {
      return;
    }
    const std::vector<std::string> targets =
        failure->target.empty() ? std::vector<std::string>() : std::vector{failure->target};
    const std::vector<PassChoice> choices = {failure->passes};
    TestProgram small = reduceProgram(
        program,
        [&](const TestProgram &candidate) {
          const std::optional<Failure> again = check.run(candidate, choices, targets);
          return again && kindOf(*again) == kindOf(*failure);
        },
        reductionTime);
    small.notes.push_back(failure->message());
    const std::string folder = HEDDLE_BINARY_DIR "/random-programs";
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/" + name;
    EXPECT_EQ(small.write(path).message(), "");
    ADD_FAILURE() << name << " fails " << failure->message() << "\n  reduced to "
                  << small.operations() << " operations, " << path << ".mlir\n  to repeat it: "
                  << "HEDDLE_RANDOM_PROGRAM=" << path << " " HEDDLE_BINARY_DIR
                  << "/tests/RandomProgramsTest --gtest_filter=RandomPrograms.Given\n  to keep it: "
                     "copy it and its .safetensors to tests/EndToEnd/RandomPrograms/kept/";
  }

  void expectFileHolds(const std::string &path) {
    auto context = createContext();
    Result<TestProgram> program = readProgram(*context, path);
    ASSERT_EQ(program.status().message(), "");
    expectHolds(*program, std::filesystem::path(path).filename());
  }

  TemporaryFolder folder;
  ProgramCheck check{folder.path()};
};

TEST_F(RandomPrograms, Given) {
  if (const char *path = std::getenv("HEDDLE_RANDOM_PROGRAM")) {
    expectFileHolds(path);
  }
}

TEST_F(RandomPrograms, ThatFailedOnceHold) {
  const std::filesystem::path kept = HEDDLE_TEST_DATA "/EndToEnd/RandomPrograms/kept";
  std::set<std::filesystem::path> programs;
  std::error_code error;
  for (const auto &file : std::filesystem::directory_iterator(kept, error)) {
    if (file.path().extension() == ".mlir") {
      programs.insert(kept / file.path().stem());
    }
  }
  EXPECT_FALSE(error) << kept << ": " << error.message();
  EXPECT_FALSE(programs.empty()) << kept << " has no programs";
  for (const std::filesystem::path &program : programs) {
    expectFileHolds(program);
  }
}

TEST_F(RandomPrograms, Hold) {
  const Clock::time_point start = Clock::now();
  const std::chrono::seconds time{numberOf("HEDDLE_RANDOM_SECONDS").value_or(10)};
  const std::optional<int64_t> most = numberOf("HEDDLE_RANDOM_PROGRAMS");
  const int64_t first = numberOf("HEDDLE_RANDOM_FIRST").value_or(0);
  int64_t tried = 0;
  const auto goesOn = [&] {
    return most ? tried < *most : tried < leastPrograms || Clock::now() - start < time;
  };
  for (; goesOn(); ++tried) {
    auto context = createContext();
    Result<TestProgram> program = generateProgram(*context, static_cast<uint64_t>(first + tried));
    ASSERT_EQ(program.status().message(), "");
    expectHolds(*program, fmt::format("seed-{}", first + tried));
  }
  const ProgramCheck::Counts &counts = check.counts();
  fmt::print("{} programs from seed {} on, {} binaries; {} numbers judged, {} of them within 1 %, "
             "{} that may be anything; {:.0f} s\n",
             tried, first, counts.binaries, counts.judged, counts.sharp, counts.unknown,
             std::chrono::duration<double>(Clock::now() - start).count());
  // Bounds that allow everything would pass everything.
  EXPECT_GT(counts.judged, 20 * counts.unknown);
  EXPECT_GT(counts.sharp, counts.judged / 2);
}

TEST(ProgramGenerator, GivesTheSameProgramForTheSameSeed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto context = createContext();
    Result<TestProgram> one = generateProgram(*context, seed);
    Result<TestProgram> two = generateProgram(*context, seed);
    ASSERT_EQ(one.status().message(), "");
    EXPECT_EQ(one->text(), two->text());
    EXPECT_EQ(one->tensors, two->tensors);
  }
}

/// What only passes make. Everything else must have a generator and a rule.
const std::set<std::string> madeByPasses = {"transformer.attend", "transformer.attention",
                                            "transformer.attention_weights", "transformer.embed",
                                            "transformer.grouped_linear"};

TEST(ProgramGenerator, WritesEveryOperationThatTheInterpreterKnows) {
  auto context = createContext();
  std::set<std::string> registered;
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations()) {
    if (name.getDialectNamespace() == "transformer" &&
        madeByPasses.count(name.getStringRef().str()) == 0) {
      registered.insert(name.getStringRef().str());
    }
  }
  const std::vector<std::string> known = Interpreter::operations();
  EXPECT_EQ(std::set<std::string>(known.begin(), known.end()), registered)
      << "an operation has no rule in the interpreter, or a rule has no operation";
  std::set<std::string> written;
  for (uint64_t seed = 0; seed < 300 && written != registered; ++seed) {
    Result<TestProgram> program = generateProgram(*context, seed);
    ASSERT_EQ(program.status().message(), "");
    (*program->module).walk([&](mlir::Operation *op) {
      if (op->getName().getDialectNamespace() == "transformer") {
        written.insert(op->getName().getStringRef().str());
      }
    });
  }
  EXPECT_EQ(written, registered) << "an operation is in no random program";
}

} // namespace
} // namespace heddle
