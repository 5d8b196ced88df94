// SPDX-License-Identifier: Apache-2.0
///
/// Simplification rules of formulas, and their limits.
#include "frontend/Onnx/Expression.h"

#include <gtest/gtest.h>

namespace heddle::onnx {
namespace {

/// Coordinates of a tensor [batch, rows].
struct ExpressionTest : testing::Test {
  Expressions e;
  Expr batch = e.size(0), rows = e.size(1);
  Expr b = e.axis(0), s = e.axis(1);
  ExpressionTest() { e.within({batch, rows}); }
  Expr n(int64_t value) { return e.integer(value); }
};

TEST_F(ExpressionTest, EqualFormulasAreOneObject) {
  EXPECT_EQ(e.add(e.multiply(b, rows), s), e.add(s, e.multiply(rows, b)));
  EXPECT_EQ(e.subtract(e.add(b, s), b), s);
  EXPECT_EQ(e.multiply(e.add(b, n(1)), e.subtract(b, n(1))), e.subtract(e.multiply(b, b), n(1)));
}

TEST_F(ExpressionTest, ElementNumbersAreTakenApart) {
  const Expr number = e.add(e.multiply(b, rows), s);
  EXPECT_EQ(e.divide(number, rows), b);
  EXPECT_EQ(e.modulo(number, rows), s);
  // [batch, rows, 24] as [batch, rows, 3, 8].
  e.within({batch, rows, n(3), n(8)});
  const Expr column = e.add(e.multiply(e.axis(2), n(8)), e.axis(3));
  EXPECT_EQ(e.divide(column, n(8)), e.axis(2));
  EXPECT_EQ(e.modulo(column, n(8)), e.axis(3));
  // A coordinate of unknown extent stays as it is.
  EXPECT_EQ(e.divide(e.axis(5), n(8))->formula, Formula::Divide);
}

TEST_F(ExpressionTest, ComparisonsFollowFromExtents) {
  EXPECT_TRUE(e.less(s, rows)->isConstant(1));
  EXPECT_TRUE(e.less(s, n(0))->isConstant(0));
  EXPECT_TRUE(e.equal(batch, n(-1))->isConstant(0));
  EXPECT_TRUE(e.equal(e.add(s, n(1)), n(0))->isConstant(0));
  EXPECT_FALSE(e.less(s, batch)->isConstant());
  EXPECT_FALSE(e.equal(s, n(3))->isConstant());
  EXPECT_EQ(e.least(s, rows), s);
  EXPECT_EQ(e.largest(n(1), rows), rows);
}

TEST_F(ExpressionTest, SelectionsReadOnlyWhatIsChosen) {
  OnnxTensor table;
  const int64_t values[] = {5, 7};
  table.dtype = ElementType::I64;
  table.shape = {2};
  table.bytes = std::as_bytes(std::span(values));
  const size_t source = e.addSource({"table", Element::Integer, &table, {n(2)}});
  // table[i - 2] for i >= 2, otherwise i.
  const Expr body =
      e.select(e.less(e.axis(0), n(2)), e.axis(0), e.read(source, {e.subtract(e.axis(0), n(2))}));
  const Expr one = n(1), three = n(3), nine = n(9);
  EXPECT_TRUE(e.substitute(body, {&one, 1})->isConstant(1));
  EXPECT_TRUE(e.substitute(body, {&three, 1})->isConstant(7));
  EXPECT_EQ(e.problem(), "");
  e.substitute(body, {&nine, 1});
  EXPECT_EQ(e.problem(), "index 7 is outside an axis of 2 elements");
}

TEST_F(ExpressionTest, TruthValuesOfMasks) {
  const size_t mask = e.addSource({"mask", Element::Integer, nullptr, {batch, rows}});
  const Expr read = e.read(mask, {b, s});
  const Expr visible = e.cast(read, Element::Boolean);
  EXPECT_EQ(e.negation(e.negation(visible)), visible);
  EXPECT_EQ(e.cast(e.cast(visible, Element::Integer), Element::Boolean), visible);
  EXPECT_EQ(e.conjunction(e.boolean(true), visible), visible);
  const Expr bias = e.select(visible, e.real(0), e.real(-1e9));
  const Expr hidden = e.replace(bias, [&](Expr part) { return part == read ? n(0) : nullptr; });
  EXPECT_EQ(hidden, e.real(-1e9));
}

TEST_F(ExpressionTest, WorkIsBounded) {
  // The size doubles with each step.
  Expr value = e.divide(s, n(3));
  for (int i = 0; i < 40 && e.problem().empty(); ++i) {
    value = e.divide(value, e.add(value, n(1)));
  }
  EXPECT_EQ(e.problem(), "its index arithmetic is too large to follow");
  e.clearProblem();
  value = n(INT64_MAX);
  e.add(value, n(1));
  EXPECT_EQ(e.problem(), "its integers overflow");
  e.clearProblem();
  e.divide(s, n(0));
  EXPECT_EQ(e.problem(), "it divides by zero");
}

TEST_F(ExpressionTest, QuestionsHaveNoEffect) {
  // Differences that are too large to compute are neither less nor equal, but not an error either.
  const Expr large = e.multiply(s, n(INT64_MAX)), small = e.multiply(s, n(-2));
  EXPECT_FALSE(e.isNonNegative(small));
  EXPECT_FALSE(e.isLess(small, large));
  EXPECT_EQ(e.less(small, large)->formula, Formula::Less);
  EXPECT_EQ(e.equal(small, large)->formula, Formula::Equal);
  EXPECT_EQ(e.least(small, large)->formula, Formula::Least);
  EXPECT_EQ(e.largest(small, large)->formula, Formula::Largest);
  EXPECT_EQ(e.problem(), "");
  // A sum that is computed as a value is an error.
  e.subtract(large, small);
  EXPECT_EQ(e.problem(), "its integers overflow");
  // An earlier error is kept.
  EXPECT_TRUE(e.isNonNegative(s));
  EXPECT_EQ(e.problem(), "its integers overflow");
}

TEST_F(ExpressionTest, CastsOfFloatsAreNoTruthValues) {
  const Expr half = e.apply(Formula::Floor, {e.divide(e.cast(s, Element::Real), e.real(2))});
  const Expr whole = e.cast(half, Element::Integer);
  for (const int64_t value : {0, 1, 2}) {
    const Expr equal = e.equal(whole, n(value));
    EXPECT_EQ(equal->formula, Formula::Equal) << value;
    EXPECT_EQ(equal->operands.front(), whole) << value;
  }
  // Casts of Booleans are 0 or 1.
  const size_t mask = e.addSource({"mask", Element::Boolean, nullptr, {batch, rows}});
  const Expr truth = e.read(mask, {b, s}), bit = e.cast(truth, Element::Integer);
  EXPECT_EQ(e.equal(bit, n(1)), truth);
  EXPECT_EQ(e.equal(bit, n(0)), e.negation(truth));
  EXPECT_TRUE(e.equal(bit, n(2))->isConstant(0));
}

TEST_F(ExpressionTest, PowersOfIntegersAreExactOrFail) {
  EXPECT_EQ(e.apply(Formula::Power, {n(10), n(15)}), n(1'000'000'000'000'000));
  EXPECT_EQ(e.apply(Formula::Absolute, {n(-(int64_t{1} << 60) - 1)}), n((int64_t{1} << 60) + 1));
  EXPECT_EQ(e.problem(), "");
  // Larger than any integer, larger than the exactly representable ones, and undefined.
  for (const auto &[base, exponent] : {std::pair(10, 30), std::pair(3, 39), std::pair(0, -1)}) {
    e.clearProblem();
    e.apply(Formula::Power, {n(base), n(exponent)});
    EXPECT_EQ(e.problem(), "its integers overflow") << base << "^" << exponent;
  }
  e.clearProblem();
  e.apply(Formula::Absolute, {n(INT64_MIN)});
  EXPECT_NE(e.problem(), "");
}

TEST_F(ExpressionTest, FloatsThatAreNoIntegersFail) {
  EXPECT_EQ(e.cast(e.real(-2.75), Element::Integer), n(-2));
  EXPECT_EQ(e.problem(), "");
  e.cast(e.real(1e30), Element::Integer);
  EXPECT_EQ(e.problem(), "the number 1e+30 is cast to an integer");
}

} // namespace
} // namespace heddle::onnx
