// SPDX-License-Identifier: Apache-2.0
///
/// The interpreter on programs that can be computed by hand, and its bounds for numbers with large
/// f32 errors.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"
#include "tests/EndToEnd/ActivationTwins.h"
#include "tests/EndToEnd/RandomPrograms/ProgramCheck.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace heddle {
namespace {

/// Returns the expected values of a program that looks rows of two columns up as %x and returns
/// %out; `expressions` are parameters derived from the others.
Result<std::vector<SequenceBounds>> valuesOf(const std::string &body, Tensors tensors,
                                             std::vector<int32_t> ids,
                                             const std::string &expressions = "") {
  std::string parameters;
  for (const auto &[name, values] : tensors) {
    const std::string shape = name == "b" ? "2" : std::to_string(values.size() / 2) + "x2";
    parameters +=
        fmt::format("transformer.parameter @{0} : tensor<{1}xf32> from \"{0}\"\n", name, shape);
  }
  const std::string text =
      parameters + expressions +
      "func.func @encode(%ids: tensor<?xi32> {transformer.name = \"input_ids\"}, "
      "%rows: !transformer.segments) -> (tensor<?x2xf32> {transformer.name = \"out\"}) {\n"
      "  %x = transformer.gather @x[%ids] : tensor<?x2xf32>\n" +
      body + "  return %out : tensor<?x2xf32>\n}\n";
  auto context = createContext();
  HEDDLE_ASSIGN(TestProgram program, parseProgram(*context, text, std::move(tensors)));
  program.sequences.push_back({std::move(ids), {}, {}});
  return expectedValues(program);
}

BoundedTensor outputOf(const std::string &body, Tensors tensors, std::vector<int32_t> ids,
                       const std::string &expressions = "") {
  Result<std::vector<SequenceBounds>> values =
      valuesOf(body, std::move(tensors), std::move(ids), expressions);
  EXPECT_EQ(values.status().message(), "");
  return values.ok() ? values->front().at("encode.out") : BoundedTensor();
}

TEST(Interpreter, LinearMapsAreSumsOfProducts) {
  const BoundedTensor out =
      outputOf("  %out = transformer.linear %x, @w, @b : tensor<?x2xf32> -> tensor<?x2xf32>\n",
               {{"x", {1, 2, 3, 4}}, {"w", {10, 1, -1, 5}}, {"b", {100, 200}}}, {1, 0});
  ASSERT_EQ(out.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(out.at(0, 0).value, 134);
  EXPECT_EQ(out.at(0, 1).value, 217);
  EXPECT_EQ(out.at(1, 0).value, 112);
  EXPECT_EQ(out.at(1, 1).value, 209);
  EXPECT_TRUE(out.at(0, 0).allows(134));
  EXPECT_TRUE(out.at(0, 0).allows(134.00005F));
  EXPECT_FALSE(out.at(0, 0).allows(134.001F));
  EXPECT_FALSE(out.at(0, 0).allows(NAN));
  EXPECT_FALSE(out.at(0, 0).allows(INFINITY));
}

/// Errors of large scores make the bounds of the sums of exponentials far larger than their
/// minimum, which does not matter to a probability that no other comes close to.
TEST(Interpreter, AScoreFarAboveAllOthersHasAllOfTheProbability) {
  for (int quarters = 0; quarters < 80; ++quarters) {
    const double error = quarters / 4.0;
    std::vector<Bounded> scores = {{-3e6, error, 3e6, false}, {6e6, error, 6e6, false}};
    softmaxRow(scores.data(), scores.size());
    EXPECT_EQ(scores[0].value, 0);
    EXPECT_LT(scores[0].error, 1e-30) << error;
    EXPECT_EQ(scores[1].value, 1);
    EXPECT_LT(scores[1].error, 1e-5) << error;
  }
}

/// In f32 the first factor of each pair would make the weight vanish.
TEST(Interpreter, NestedWeightsAreRoundedOnce) {
  const std::string body =
      "  %y = transformer.linear %x, @large : tensor<?x2xf32> -> tensor<?x2xf32>\n"
      "  %z = transformer.linear %x, @small : tensor<?x2xf32> -> tensor<?x2xf32>\n"
      "  %out = transformer.add %y, %z : tensor<?x2xf32>, tensor<?x2xf32>\n";
  const std::string expressions =
      "transformer.parameter @w1 : tensor<2x2xf32> = scale(@w, 1.0e+38)\n"
      "transformer.parameter @w2 : tensor<2x2xf32> = scale(@w, 1.0e-38)\n"
      "transformer.parameter @large : tensor<2x2xf32> = scale(@w1, 1.0e-38)\n"
      "transformer.parameter @small : tensor<2x2xf32> = scale(@w2, 1.0e+38)\n";
  const BoundedTensor out =
      outputOf(body, {{"x", {1, 1}}, {"w", {1e10F, 0, 0, 1e-20F}}}, {0}, expressions);
  EXPECT_NEAR(out.at(0, 0).value, 2e10, 1e4);
  EXPECT_LT(out.at(0, 0).error, 1e5);
  EXPECT_NEAR(out.at(0, 1).value, 2e-20, 1e-26);
  EXPECT_LT(out.at(0, 1).error, 1e-25);
}

TEST(Interpreter, EveryActivationHasATwin) {
  for (uint32_t number = 0; number <= transformer::getMaxEnumValForActivation(); ++number) {
    const auto activation = transformer::symbolizeActivation(number);
    ASSERT_TRUE(activation) << number;
    const llvm::StringRef name = transformer::stringifyActivation(*activation);
    EXPECT_NE(findActivationTwin(name), nullptr) << name.str();
  }
  EXPECT_EQ(activationTwins.size(), transformer::getMaxEnumValForActivation() + 1);
}

TEST(Interpreter, CancellationWidensTheBound) {
  const BoundedTensor out =
      outputOf("  %y = transformer.linear %x, @w : tensor<?x2xf32> -> tensor<?x2xf32>\n"
               "  %n = transformer.scale %y, -1.0 : tensor<?x2xf32>\n"
               "  %out = transformer.add %y, %n : tensor<?x2xf32>, tensor<?x2xf32>\n",
               {{"x", {1e6, 1e6}}, {"w", {1, 1, 1, 1}}}, {0});
  EXPECT_EQ(out.at(0, 0).value, 0);
  EXPECT_TRUE(out.at(0, 0).allows(0.1F));
  EXPECT_FALSE(out.at(0, 0).allows(100));
}

TEST(Interpreter, WhatMayOverflowMayBeAnything) {
  const std::string body = "  %big = transformer.scale %x, 1.0e30 : tensor<?x2xf32>\n"
                           "  %out = transformer.scale %big, 1.0e-30 : tensor<?x2xf32>\n";
  const BoundedTensor out = outputOf(body, {{"x", {1, 1e20}}}, {0});
  EXPECT_TRUE(out.at(0, 0).isKnown());
  EXPECT_FALSE(out.at(0, 0).allows(INFINITY));
  EXPECT_FALSE(out.at(0, 1).isKnown());
  EXPECT_TRUE(out.at(0, 1).allows(INFINITY));
}

TEST(Interpreter, WhatUnderflowsLosesDigits) {
  const std::string body = "  %small = transformer.scale %x, 1.0e-30 : tensor<?x2xf32>\n"
                           "  %out = transformer.scale %small, 1.0e30 : tensor<?x2xf32>\n";
  const BoundedTensor out = outputOf(body, {{"x", {1, 1e-13}}}, {0});
  EXPECT_FALSE(out.at(0, 0).allows(1.001F));
  EXPECT_TRUE(out.at(0, 1).allows(1.01e-13F));
}

TEST(Interpreter, AddingZeroDoesNotUnderflow) {
  const std::string body =
      "  %zeros = transformer.scale %x, 0.0 : tensor<?x2xf32>\n"
      "  %out = transformer.add %zeros, %zeros : tensor<?x2xf32>, tensor<?x2xf32>\n";
  const BoundedTensor out = outputOf(body, {{"x", {1, 2}}}, {0});
  EXPECT_TRUE(out.at(0, 0).allows(0));
  EXPECT_FALSE(out.at(0, 0).allows(1e-45F));
}

TEST(Interpreter, CausalAttentionSeesNothingAfterIt) {
  const std::string body =
      "  %h = transformer.split_heads %x : tensor<?x2xf32> -> tensor<?x1x2xf32>\n"
      "  %s = transformer.contract \"thd,khd->thk\" %h, %h in(%rows, %rows) : tensor<?x1x2xf32>, "
      "tensor<?x1x2xf32> -> tensor<?x1x?xf32>\n"
      "  %m = transformer.mask causal in(%rows, %rows)\n"
      "  %z = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x1x?xf32>\n"
      "  %p = transformer.softmax %z in(%rows) : tensor<?x1x?xf32>\n"
      "  %c = transformer.contract \"thk,khd->thd\" %p, %h in(%rows, %rows) : tensor<?x1x?xf32>, "
      "tensor<?x1x2xf32> -> tensor<?x1x2xf32>\n"
      "  %out = transformer.merge_heads %c : tensor<?x1x2xf32> -> tensor<?x2xf32>\n";
  const BoundedTensor out = outputOf(body, {{"x", {1, 0, 0, 2}}}, {0, 1});
  EXPECT_EQ(out.at(0, 0).value, 1);
  EXPECT_EQ(out.at(0, 1).value, 0);
  // Scores 0 and 4.
  EXPECT_NEAR(out.at(1, 0).value, 1 / (1 + std::exp(4)), 1e-15);
  EXPECT_NEAR(out.at(1, 1).value, 2 / (1 + std::exp(-4)), 1e-15);
  EXPECT_LT(out.at(1, 1).error, 1e-4);
}

/// A finite number hides nothing if it is small: the row has the result as written.
TEST(Interpreter, AFiniteMaskIsANumber) {
  const std::string body =
      "  %h = transformer.split_heads %x : tensor<?x2xf32> -> tensor<?x1x2xf32>\n"
      "  %s = transformer.contract \"thd,khd->thk\" %h, %h in(%rows, %rows) : tensor<?x1x2xf32>, "
      "tensor<?x1x2xf32> -> tensor<?x1x?xf32>\n"
      "  %m = transformer.mask causal in(%rows, %rows)\n"
      "  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>\n"
      "  %a = transformer.add %s, %b : tensor<?x1x?xf32>, tensor<?x?xf32>\n"
      "  %z = transformer.scale %a, 3.0e-2 : tensor<?x1x?xf32>\n"
      "  %p = transformer.softmax %z in(%rows) : tensor<?x1x?xf32>\n"
      "  %c = transformer.contract \"thk,khd->thd\" %p, %h in(%rows, %rows) : tensor<?x1x?xf32>, "
      "tensor<?x1x2xf32> -> tensor<?x1x2xf32>\n"
      "  %out = transformer.merge_heads %c : tensor<?x1x2xf32> -> tensor<?x2xf32>\n";
  const BoundedTensor out = outputOf(body, {{"x", {10, 0, 1100, 0}}}, {0, 1});
  EXPECT_NEAR(out.at(0, 0).value, 1100, 1);
}

TEST(Interpreter, NormsKnowHowMuchTheyAmplify) {
  const std::string body = "  %out = transformer.layer_norm %x, @b, @b {epsilon = 1.0e-12 : f32} : "
                           "tensor<?x2xf32>\n";
  const BoundedTensor wide = outputOf(body, {{"x", {1, 3}}, {"b", {1, 1}}}, {0});
  EXPECT_NEAR(wide.at(0, 0).value, 0, 1e-9);
  EXPECT_NEAR(wide.at(0, 1).value, 2, 1e-9);
  EXPECT_LT(wide.at(0, 1).error, 1e-5);
  // Two columns that differ in the last digit of f32.
  const BoundedTensor narrow = outputOf(body, {{"x", {1e4F, 10000.001F}}, {"b", {1, 1}}}, {0});
  EXPECT_GT(narrow.at(0, 1).error, 1e-2);
  EXPECT_TRUE(narrow.at(0, 1).isKnown());
}

/// A type specifies neither whose rows they are nor how many there are.
TEST(Interpreter, RefusesRowsThatDoNotFitTogether) {
  const std::string pooled = "  %p = transformer.pool mean %x in(%rows) : tensor<?x2xf32>\n";
  const std::string heads =
      pooled + "  %h = transformer.split_heads %x : tensor<?x2xf32> -> tensor<?x1x2xf32>\n"
               "  %g = transformer.split_heads %p : tensor<?x2xf32> -> tensor<?x1x2xf32>\n"
               "  %s = transformer.contract \"thd,khd->thk\" %h, %g in(%rows, %rows) : "
               "tensor<?x1x2xf32>, tensor<?x1x2xf32> -> tensor<?x1x?xf32>\n";
  const std::pair<std::string, std::string> cases[] = {
      {pooled + "  %out = transformer.add %x, %p : tensor<?x2xf32>, tensor<?x2xf32>\n",
       "transformer.add meets 1, expected 3"},
      {pooled + "  %out = transformer.add %p, %x : tensor<?x2xf32>, tensor<?x2xf32>\n",
       "transformer.add meets 3, expected 1"},
      {pooled + "  %out = transformer.pool sum %p in(%rows) : tensor<?x2xf32>\n",
       "transformer.pool meets 1, expected 3"},
      {"  %out = transformer.spread %x to(%rows) : tensor<?x2xf32>\n",
       "transformer.spread meets 3, expected 1"},
      {heads + "  %m = transformer.softmax %s in(%rows) : tensor<?x1x?xf32>\n"
               "  %c = transformer.contract \"thk,khd->thd\" %m, %h in(%rows, %rows) : "
               "tensor<?x1x?xf32>, tensor<?x1x2xf32> -> tensor<?x1x2xf32>\n"
               "  %out = transformer.merge_heads %c : tensor<?x1x2xf32> -> tensor<?x2xf32>\n",
       "transformer.softmax meets 1, expected 3"},
      {heads + "  %c = transformer.contract \"thk,khd->thd\" %s, %h in(%rows, %rows) : "
               "tensor<?x1x?xf32>, tensor<?x1x2xf32> -> tensor<?x1x2xf32>\n"
               "  %out = transformer.merge_heads %c : tensor<?x1x2xf32> -> tensor<?x2xf32>\n",
       "transformer.contract meets 3, expected 1"},
      // A recurrence begins with one row.
      {"  %out, %y = transformer.recurrence(%x : tensor<?x2xf32>) from(%x : tensor<?x2xf32>) "
       "in(%rows) -> tensor<?x2xf32>, tensor<?x2xf32> {\n"
       "  ^bb0(%now: tensor<?x2xf32>, %before: tensor<?x2xf32>):\n"
       "    transformer.next %now, %before : tensor<?x2xf32>, tensor<?x2xf32>\n  }\n",
       "transformer.recurrence meets 3, expected 1"},
      {"  %out = transformer.linear %x, @long : tensor<?x2xf32> -> tensor<?x2xf32>\n",
       "transformer.parameter meets 6, expected 4"},
  };
  for (const auto &[body, message] : cases) {
    const Result<std::vector<SequenceBounds>> values =
        valuesOf(body, {{"x", {1, 2, 3, 4, 5, 6}}}, {0, 1, 2},
                 "transformer.parameter @long : tensor<2x2xf32> from \"x\"\n");
    EXPECT_EQ(values.status().message(), "@encode: " + message) << body;
  }
}

} // namespace
} // namespace heddle
