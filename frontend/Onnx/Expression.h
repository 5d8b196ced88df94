// SPDX-License-Identifier: Apache-2.0
///
/// What a tensor of a graph is, as a formula of the coordinates of an element: sizes, index
/// arithmetic and masks. A formula is simplified while it is made, so that "column s of row
/// (b * S + s) / S" becomes what it is. Integers are polynomials of sizes and coordinates; what
/// has no rule stays as it was written.
///
/// Equal formulas are one object: pointers compare.
#ifndef HEDDLE_FRONTEND_ONNX_EXPRESSION_H
#define HEDDLE_FRONTEND_ONNX_EXPRESSION_H

#include "formats/Onnx/OnnxFile.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::onnx {

enum class Element { Integer, Boolean, Real };

enum class Formula {
  Constant,
  Size,       // a size that depends on the batch, by number
  Axis,       // the coordinate along an axis
  Operand,    // the value that a scalar function is of
  Sum,        // integers: the sum of terms
  Read,       // an element of a source, by its number
  RunningSum, // of the second operand, over bound() from 0 to the first
  Cast,
  Not,
  And,
  Or,
  Equal,
  Less,
  Select,
  Add,
  Subtract, // what operators do; a formula has sums
  Multiply,
  Divide, // integers: towards zero
  Modulo, // with the sign of the divisor
  Rest,   // with the sign of the dividend
  Power,
  Least,
  Largest,
  Negate,
  Absolute,
  Root,
  Exponential,
  Logarithm,
  Erf,
  Tanh,
  Sigmoid,
  Relu,
  Sine,
  Cosine,
  Floor,
  Round, // halves to even numbers
};

struct Expression;
using Expr = const Expression *;

/// A product of sizes, coordinates and other formulas, times a number.
struct Term {
  int64_t coefficient = 0;
  std::vector<Expr> factors;
};

struct Expression {
  Formula formula;
  Element element;
  /// A constant, or the number of a size, an axis or a source.
  int64_t integer = 0;
  double real = 0;
  std::vector<Expr> operands;
  std::vector<Term> terms;
  /// Its place among all formulas, and how many it is made of.
  size_t id = 0;
  size_t weight = 1;

  bool isConstant() const { return formula == Formula::Constant; }
  bool isConstant(int64_t number) const {
    return isConstant() && element != Element::Real && integer == number;
  }
  /// The value of a constant as a number.
  double value() const { return element == Element::Real ? real : static_cast<double>(integer); }
};

/// Something whose elements formulas read: an input of the graph or a constant.
struct Source {
  std::string name;
  Element element;
  /// Null for inputs.
  const OnnxTensor *constant = nullptr;
  std::vector<Expr> shape;
};

/// An element of a constant of integers or truth values.
int64_t integerAt(const OnnxTensor &tensor, uint64_t index);
/// An element of a constant of floats; nothing if they cannot be read.
std::optional<double> realAt(const OnnxTensor &tensor, uint64_t index);

/// Makes formulas and owns them.
class Expressions {
public:
  /// The largest formula; more is no model's.
  static constexpr size_t mostWeight = 4096;
  static constexpr size_t mostTerms = 64;
  static constexpr size_t boundAxis = 1000;

  Expr integer(int64_t value);
  Expr boolean(bool value);
  Expr real(double value);
  Expr size(int64_t number);
  Expr axis(size_t number);
  Expr operand();
  /// The coordinate that a running sum is over.
  Expr bound() { return axis(boundAxis); }
  /// The sum of `body` where bound() is 0 to `last`.
  Expr runningSum(Expr last, Expr body);
  /// Folds to a number where the source and all coordinates are constants.
  Expr read(size_t source, std::vector<Expr> coordinates);

  Expr add(Expr left, Expr right);
  Expr subtract(Expr left, Expr right);
  Expr multiply(Expr left, Expr right);
  Expr divide(Expr left, Expr right);
  Expr modulo(Expr left, Expr right);
  Expr least(Expr left, Expr right);
  Expr largest(Expr left, Expr right);
  Expr equal(Expr left, Expr right);
  Expr less(Expr left, Expr right);
  Expr conjunction(Expr left, Expr right);
  Expr disjunction(Expr left, Expr right);
  Expr negation(Expr value);
  Expr select(Expr condition, Expr then, Expr otherwise);
  Expr cast(Expr value, Element element);
  /// A function of one number, or a power.
  Expr apply(Formula formula, std::vector<Expr> operands);

  /// Whether an integer is known not to be negative: sizes are at least 1, and coordinates lie
  /// within the extents. These are questions: what they cannot compute they answer with no.
  bool isNonNegative(Expr value);
  bool isLess(Expr left, Expr right);
  bool isAtMost(Expr left, Expr right);

  /// The formula with other coordinates, simplified again.
  Expr substitute(Expr value, std::span<const Expr> coordinates);
  /// The formula where each of its parts that `replacement` knows is replaced; null: kept.
  Expr replace(Expr value, const std::function<Expr(Expr)> &replacement);
  /// The value of a function of two numbers, or of the first alone.
  static double numberOf(Formula formula, double x, double y);
  /// Calls `visit` for every part once.
  static void walk(Expr value, const std::function<void(Expr)> &visit);

  /// The sizes of the tensor whose coordinates axis() is, for what is made from now on.
  void within(std::vector<Expr> sizes) { extents = std::move(sizes); }

  size_t addSource(Source source);
  const Source &source(size_t number) const { return sources[number]; }
  size_t countSources() const { return sources.size(); }

  /// Why a formula cannot be made: too large, or an index outside its tensor; empty if all could.
  const std::string &problem() const { return failure; }
  void clearProblem() { failure.clear(); }

  /// Whether a formula reads floats of a constant: then it is data, and no mask or index.
  bool readsTable(Expr value) const;

  /// As messages show it.
  std::string print(Expr value) const;

private:
  Expr intern(Expression expression);
  Expr make(Formula formula, Element element, std::vector<Expr> operands);
  std::vector<Term> termsOf(Expr value) const;
  Expr sum(std::vector<Term> terms);
  Expr rebuild(Expr value, std::vector<Expr> operands);
  void fail(std::string message);
  /// An answer that is no where finding it failed; then no formula failed.
  bool ask(const std::function<bool()> &question);
  bool findNonNegative(Expr value);
  std::optional<std::pair<Expr, Expr>> split(Expr value, Expr divisor);

  std::vector<std::unique_ptr<Expression>> all;
  std::map<std::vector<int64_t>, Expr> known;
  std::vector<Source> sources;
  std::vector<Expr> extents;
  std::string failure;
};

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_EXPRESSION_H
