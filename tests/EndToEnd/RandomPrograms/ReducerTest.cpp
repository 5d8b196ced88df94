// SPDX-License-Identifier: Apache-2.0
///
/// An incorrect pass is detected, and the reduced program shows its error.
#include "tests/EndToEnd/RandomPrograms/Reducer.h"
#include "tests/EndToEnd/RandomPrograms/ProgramCheck.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

/// A program with irrelevant parts: a map, its GELU and a lot around it.
constexpr const char *program = R"(// sequence: 1 2 3 | |
// sequence: 4 0 2 1 3 | |
transformer.parameter @table : tensor<5x12xf32> from "table"
transformer.parameter @weight : tensor<12x12xf32> from "weight"
transformer.parameter @bias : tensor<12xf32> from "bias"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x12xf32> {transformer.name = "a"}, tensor<?x12xf32> {transformer.name = "b"}) {
  %x = transformer.gather @table[%ids] : tensor<?x12xf32>
  %y = transformer.linear %x, @weight, @bias : tensor<?x12xf32> -> tensor<?x12xf32>
  %z = transformer.add %y, %x : tensor<?x12xf32>, tensor<?x12xf32>
  %h = transformer.split_heads %z : tensor<?x12xf32> -> tensor<?x3x4xf32>
  %m = transformer.merge_heads %h : tensor<?x3x4xf32> -> tensor<?x12xf32>
  %g = transformer.activate gelu %m : tensor<?x12xf32>
  %n = transformer.layer_norm %g, @bias, @bias {epsilon = 1.0e-5 : f32} : tensor<?x12xf32>
  %w = transformer.scale %n, 5.0e-1 : tensor<?x12xf32>
  %v = transformer.activate relu %w : tensor<?x12xf32>
  return %v, %y : tensor<?x12xf32>, tensor<?x12xf32>
}
)";

/// Returns values that are neither equal nor small.
std::vector<float> spread(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 29 + 7) % 31) / 16.0F - 1.0F;
  }
  return values;
}

/// Replaces GELU by a similar function.
void takeQuickGelu(mlir::ModuleOp module) {
  module.walk([](transformer::ActivateOp op) {
    if (op.getFunction() == transformer::Activation::Gelu) {
      op.setFunction(transformer::Activation::QuickGelu);
    }
  });
}

TEST(Reducer, LeavesWhatAWrongPassDoesWrong) {
  auto context = createContext();
  Result<TestProgram> whole = parseProgram(
      *context, program, {{"table", spread(60)}, {"weight", spread(144)}, {"bias", spread(12)}});
  ASSERT_EQ(whole.status().message(), "");
  TemporaryFolder folder;
  ProgramCheck check(folder.path());
  const std::vector<PassChoice> choices = {{"all passes", {}}};
  EXPECT_FALSE(check.run(*whole, choices).has_value());
  const std::optional<Failure> failure = check.run(*whole, choices, {}, takeQuickGelu);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->kind, Failure::Kind::Value);
  const Fails fails = [&](const TestProgram &candidate) {
    const auto again = check.run(candidate, choices, {failure->target}, takeQuickGelu);
    return again && again->kind == Failure::Kind::Value;
  };
  const TestProgram small = reduceProgram(*whole, fails, std::chrono::seconds(60));
  // The look-up, and the incorrect function.
  EXPECT_EQ(small.operations(), 2) << small.text();
  EXPECT_TRUE(fails(small));
  ASSERT_EQ(small.sequences.size(), 1U);
  EXPECT_EQ(small.sequences.front().ids.size(), 1U);
  EXPECT_NE(small.text().find("activate gelu"), std::string::npos) << small.text();
  EXPECT_EQ(small.text().find("tensor<?x12xf32>"), std::string::npos) << small.text();

  // Written and read again, it is the same program and fails in the same way.
  ASSERT_EQ(small.write(folder / "small").message(), "");
  Result<TestProgram> again = readProgram(*context, folder / "small");
  ASSERT_EQ(again.status().message(), "");
  EXPECT_EQ(again->text(), small.text());
  EXPECT_TRUE(fails(*again));
}

// Repeated heads change together with their results.
TEST(Reducer, ShrinksHeadsThatAreRepeated) {
  auto context = createContext();
  Result<TestProgram> whole = parseProgram(*context, R"(// sequence: 1 2 3 | |
transformer.parameter @table : tensor<5x20xf32> from "table"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x60xf32> {transformer.name = "a"}) {
  %x = transformer.gather @table[%ids] : tensor<?x20xf32>
  %h = transformer.split_heads %x : tensor<?x20xf32> -> tensor<?x5x4xf32>
  %r = transformer.repeat_heads %h : tensor<?x5x4xf32> -> tensor<?x15x4xf32>
  %m = transformer.merge_heads %r : tensor<?x15x4xf32> -> tensor<?x60xf32>
  return %m : tensor<?x60xf32>
}
)",
                                           {{"table", spread(100)}});
  ASSERT_EQ(whole.status().message(), "");
  const auto hasGroups = [](const TestProgram &candidate) {
    bool found = false;
    (*candidate.module).walk([&](transformer::RepeatHeadsOp op) {
      const int64_t groups = op.getInput().getType().getDimSize(1);
      found |= groups > 1 && groups < op.getType().getDimSize(1);
    });
    return found;
  };
  const TestProgram small = reduceProgram(*whole, hasGroups, std::chrono::seconds(60));
  EXPECT_NE(small.text().find("transformer.repeat_heads %1 : tensor<?x2x"), std::string::npos)
      << small.text();
}

// Rows of one kind temporarily replace rows of another: such a candidate is invalid.
TEST(Reducer, RemovesRecurrencesAndWhatTheyKeep) {
  auto context = createContext();
  const auto hasRecurrence = [](const TestProgram &candidate) {
    return candidate.decodes() && candidate.text().find(" {given}") != std::string::npos;
  };
  uint64_t seed = 5;
  Result<TestProgram> whole = generateProgram(*context, seed);
  // Every eighth program has recurrences.
  while (whole.ok() && !hasRecurrence(*whole)) {
    whole = generateProgram(*context, seed += 8);
  }
  ASSERT_EQ(whole.status().message(), "");
  int64_t refused = 0;
  const TestProgram small = reduceProgram(
      *whole,
      [&](const TestProgram &candidate) {
        const bool isProgram = expectedValues(candidate).ok();
        refused += isProgram ? 0 : 1;
        return isProgram && candidate.decodes();
      },
      std::chrono::seconds(60));
  EXPECT_GT(refused, 0);
  EXPECT_EQ(small.text().find("transformer.recurrence"), std::string::npos) << small.text();
  EXPECT_LE(small.operations(), 4) << small.text();
  EXPECT_EQ(expectedValues(small).status().message(), "");
}

// The operations of a step are removed one by one too.
TEST(Reducer, ReducesTheStepsOfARecurrence) {
  auto context = createContext();
  Result<TestProgram> whole = parseProgram(*context, R"(// sequence: 1 2 3 | |
transformer.parameter @table : tensor<5x6xf32> from "table"
transformer.parameter @map : tensor<6x6xf32> from "map"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x6xf32> {transformer.name = "a"}) {
  %x = transformer.gather @table[%ids] : tensor<?x6xf32>
  %last, %y = transformer.recurrence(%x : tensor<?x6xf32>) in(%rows) -> tensor<?x6xf32>, tensor<?x6xf32> {
  ^bb0(%now: tensor<?x6xf32>, %before: tensor<?x6xf32>):
    %m = transformer.linear %before, @map : tensor<?x6xf32> -> tensor<?x6xf32>
    %s = transformer.add %m, %now : tensor<?x6xf32>, tensor<?x6xf32>
    %g = transformer.activate gelu %s : tensor<?x6xf32>
    %t = transformer.activate tanh %g : tensor<?x6xf32>
    transformer.next %t, %t : tensor<?x6xf32>, tensor<?x6xf32>
  }
  return %y : tensor<?x6xf32>
}
)",
                                           {{"table", spread(30)}, {"map", spread(36)}});
  ASSERT_EQ(whole.status().message(), "");
  const auto hasGelu = [](const TestProgram &candidate) {
    return candidate.text().find("transformer.recurrence") != std::string::npos &&
           candidate.text().find("activate gelu") != std::string::npos &&
           expectedValues(candidate).ok();
  };
  const TestProgram small = reduceProgram(*whole, hasGelu, std::chrono::seconds(60));
  EXPECT_EQ(small.text().find("tanh"), std::string::npos) << small.text();
  EXPECT_EQ(small.text().find("transformer.linear"), std::string::npos) << small.text();
  EXPECT_EQ(small.text().find("transformer.add"), std::string::npos) << small.text();
}

TEST(Reducer, KeepsAProgramOfWhichNothingCanGo) {
  auto context = createContext();
  Result<TestProgram> whole = parseProgram(
      *context, program, {{"table", spread(60)}, {"weight", spread(144)}, {"bias", spread(12)}});
  ASSERT_EQ(whole.status().message(), "");
  const TestProgram same =
      reduceProgram(*whole, [](const TestProgram &) { return false; }, std::chrono::seconds(60));
  EXPECT_EQ(same.text(), whole->text());
  EXPECT_EQ(same.tensors, whole->tensors);
}

} // namespace
} // namespace heddle
