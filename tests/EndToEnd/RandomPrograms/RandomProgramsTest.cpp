// SPDX-License-Identifier: Apache-2.0
///
/// Checks random programs: each compiled with every set of passes, on every target of the machine,
/// against the interpreter and against itself. Programs that once failed come first. Failures are
/// reduced and written to files, with the command that repeats them.
///
///   HEDDLE_RANDOM_SECONDS   how long random programs are tried, after the first ones
///   HEDDLE_RANDOM_PROGRAMS  how many are compiled, however long it takes
///   HEDDLE_RANDOM_FIRST     the first seed
///   HEDDLE_RANDOM_PROGRAM   a program without its extension .mlir, which alone is tried
///   HEDDLE_TEST_DEVICE      "cuda": programs run on the emulated GPU instead of the processor
///   HEDDLE_TEST_TARGET      the target of that GPU, by default sm_80
#include "tests/EndToEnd/RandomPrograms/ProgramCheck.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"
#include "tests/EndToEnd/RandomPrograms/Reducer.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/TestDevice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

/// The number of programs that every run tries, however slow the machine is.
constexpr int64_t leastPrograms = 4;
/// The time limit for reducing a failing program.
constexpr std::chrono::seconds reductionTime{120};

std::optional<int64_t> numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text && *text ? std::optional(std::strtoll(text, nullptr, 10)) : std::nullopt;
}

/// Returns the message of a failure without the parts that differ from program to program.
std::string kindOf(const Failure &failure) {
  std::string text = failure.text.substr(0, failure.text.find('\n'));
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  const bool isMessage =
      failure.kind == Failure::Kind::Compile || failure.kind == Failure::Kind::Run;
  return fmt::format("{} {}", static_cast<int>(failure.kind), isMessage ? text : "");
}

class RandomPrograms : public testing::Test {
protected:
  /// Returns the property of a program that fails with these sets of passes, on these targets.
  using Judge = std::function<std::optional<Failure>(
      const TestProgram &, const std::vector<PassChoice> &, const std::vector<std::string> &)>;

  /// Tries one program; on failure, reduces it and reports where the reduced one is.
  void expectHolds(const TestProgram &program, const std::string &name, const Judge &judge) {
    const std::optional<Failure> failure = judge(program, check.choices(), {});
    if (!failure) {
      return;
    }
    const std::string folder = HEDDLE_BINARY_DIR "/random-programs";
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/" + name;
    // Saved before the reduction, in case that fails.
    EXPECT_EQ(program.write(path + "-whole").message(), "");
    fmt::print("{} fails {}\n", name, failure->message());
    std::fflush(stdout);
    const std::vector<std::string> targets =
        failure->target.empty() ? std::vector<std::string>() : std::vector{failure->target};
    TestProgram small = reduceProgram(
        program,
        [&](const TestProgram &candidate) {
          const std::optional<Failure> again = judge(candidate, {failure->passes}, targets);
          return again && kindOf(*again) == kindOf(*failure);
        },
        reductionTime);
    small.notes.push_back("Fails " + failure->message());
    EXPECT_EQ(small.write(path).message(), "");
    ADD_FAILURE() << name << " fails " << failure->message() << "\n  reduced to "
                  << small.operations() << " operations, " << path << ".mlir\n  to repeat it: "
                  << "HEDDLE_RANDOM_PROGRAM=" << path << " " HEDDLE_BINARY_DIR
                  << "/tests/RandomProgramsTest --gtest_filter=RandomPrograms.Given\n  to keep it: "
                     "copy it and its .safetensors to tests/EndToEnd/RandomPrograms/kept/";
  }

  /// Checks compiled code, and the program after fusion.
  void expectHolds(const TestProgram &program, const std::string &name) {
    expectHolds(program, name, fused);
    if (!HasFailure()) {
      expectHolds(program, name, compiled);
    }
  }

  void expectFileHolds(const std::string &path) {
    auto context = createContext();
    Result<TestProgram> program = readProgram(*context, path);
    ASSERT_EQ(program.status().message(), "");
    expectHolds(*program, std::filesystem::path(path).filename());
  }

  TemporaryFolder folder;
  ProgramCheck check{folder.path(), onTestDevice().device};
  const Judge compiled = [this](const TestProgram &program, const std::vector<PassChoice> &choices,
                                const std::vector<std::string> &targets) {
    return check.run(program, choices, targets);
  };
  const Judge fused = [this](const TestProgram &program, const std::vector<PassChoice> &choices,
                             const std::vector<std::string> &) {
    return check.runFused(program, choices);
  };
};

/// The number of programs that a test tries, or the time limit.
class Budget {
public:
  /// A part of the time; `times` as many programs as are compiled.
  Budget(double part, int64_t times)
      : time(part * static_cast<double>(numberOf("HEDDLE_RANDOM_SECONDS").value_or(10))),
        most(numberOf("HEDDLE_RANDOM_PROGRAMS")), times(times) {}

  /// Returns whether one more is tried. Every run tries a few, however slow the machine is.
  bool allows(int64_t tried) const {
    return most ? tried < *most * times : tried < leastPrograms * times || seconds() < time;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

private:
  const Clock::time_point start = Clock::now();
  const double time;
  const std::optional<int64_t> most;
  const int64_t times;
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

// The effect of passes, judged without code: many programs in little time.
TEST_F(RandomPrograms, MeanTheSameAfterFusion) {
  const Budget budget(0.25, 50);
  const int64_t first = numberOf("HEDDLE_RANDOM_FIRST").value_or(0);
  int64_t tried = 0;
  for (; budget.allows(tried); ++tried) {
    auto context = createContext();
    Result<TestProgram> program = generateProgram(*context, static_cast<uint64_t>(first + tried));
    ASSERT_EQ(program.status().message(), "");
    expectHolds(*program, fmt::format("fused-{}", first + tried), fused);
  }
  fmt::print("{} programs from seed {} on after fusion; {:.0f} s\n", tried, first,
             budget.seconds());
}

TEST_F(RandomPrograms, Hold) {
  const Budget budget(0.75, 1);
  const int64_t first = numberOf("HEDDLE_RANDOM_FIRST").value_or(0);
  int64_t tried = 0;
  for (; budget.allows(tried); ++tried) {
    auto context = createContext();
    Result<TestProgram> program = generateProgram(*context, static_cast<uint64_t>(first + tried));
    ASSERT_EQ(program.status().message(), "");
    expectHolds(*program, fmt::format("seed-{}", first + tried), compiled);
  }
  const ProgramCheck::Counts &counts = check.counts();
  fmt::print("{} programs from seed {} on, {} binaries; {} numbers judged, {} of them within 1 %, "
             "{} that may be anything; {:.0f} s\n",
             tried, first, counts.binaries, counts.judged, counts.sharp, counts.unknown,
             budget.seconds());
  // Bounds that allow anything would accept anything.
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

/// Returns the number of elements with known bounds in programs of some seeds, and the total
/// number.
std::pair<int64_t, int64_t> countKnown(uint64_t first, uint64_t step) {
  int64_t known = 0;
  int64_t all = 0;
  for (uint64_t seed = first; seed < 300; seed += step) {
    auto context = createContext();
    Result<TestProgram> program = generateProgram(*context, seed);
    EXPECT_EQ(program.status().message(), "");
    const Result<std::vector<SequenceBounds>> expected = expectedValues(*program);
    EXPECT_EQ(expected.status().message(), "");
    for (const SequenceBounds &bounds : expected.ok() ? *expected : std::vector<SequenceBounds>()) {
      for (const auto &[name, tensor] : bounds) {
        all += static_cast<int64_t>(tensor.elements.size());
        known += std::count_if(tensor.elements.begin(), tensor.elements.end(),
                               [](const Bounded &each) { return each.isKnown(); });
      }
    }
  }
  return {known, all};
}

TEST(ProgramGenerator, WritesProgramsThatCanBeJudged) {
  const auto [known, all] = countKnown(0, 7);
  EXPECT_GT(known, all / 100 * 95);
  // Extreme magnitudes occasionally exceed the range of f32, but not mostly.
  const auto [extremeKnown, extremeAll] = countKnown(9, 10);
  EXPECT_GT(extremeKnown, extremeAll / 2);
  EXPECT_LT(extremeKnown, extremeAll);
}

/// Operations that only passes create, and no random program has.
const std::set<std::string> madeByPasses = {
    "transformer.attend", "transformer.attention",      "transformer.attention_weights",
    "transformer.embed",  "transformer.grouped_linear", "transformer.rotate"};

TEST(ProgramGenerator, WritesEveryOperationThatTheInterpreterKnows) {
  auto context = createContext();
  std::set<std::string> registered;
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations()) {
    if (name.getDialectNamespace() == "transformer") {
      registered.insert(name.getStringRef().str());
    }
  }
  const std::vector<std::string> known = Interpreter::operations();
  EXPECT_EQ(std::set<std::string>(known.begin(), known.end()), registered)
      << "an operation has no rule in the interpreter, or a rule has no operation";
  for (const std::string &name : madeByPasses) {
    EXPECT_EQ(registered.erase(name), 1U) << name;
  }
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
