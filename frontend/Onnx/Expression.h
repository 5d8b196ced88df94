// SPDX-License-Identifier: Apache-2.0
///
/// Represents a tensor of a graph as a formula of an element's coordinates: sizes, index arithmetic
/// and masks. Formulas are simplified on construction, so that for example "column s of row (b * S
/// + s) / S" reduces to column s of row b. Integers are polynomials of sizes and coordinates; an
/// operation without a rewrite rule is kept as it is.
///
/// Formulas are uniqued: equal formulas are the same pointer.
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
  Size,       // a symbolic size, by number
  Axis,       // the coordinate along an axis
  Operand,    // the argument of a scalar function
  Sum,        // integers: a sum of terms
  Read,       // an element of a source, by number
  RunningSum, // of the second operand, for bound() from 0 to the first
  Cast,
  Not,
  And,
  Or,
  Equal,
  Less,
  Select,
  Add,
  Subtract, // of floats; integers use Sum
  Multiply,
  Divide, // integers: truncates towards zero
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
  Round, // halfway cases to even
};

struct Expression;
using Expr = const Expression *;

/// A product of sizes, coordinates and other formulas with an integer coefficient.
struct Term {
  int64_t coefficient = 0;
  std::vector<Expr> factors;
};

struct Expression {
  Formula formula;
  Element element;
  /// The value of an integer constant, or the number of a size, an axis or a source.
  int64_t integer = 0;
  double real = 0;
  std::vector<Expr> operands;
  std::vector<Term> terms;
  /// The index among all formulas, and the number of nodes of this formula.
  size_t id = 0;
  size_t weight = 1;

  bool isConstant() const { return formula == Formula::Constant; }
  bool isConstant(int64_t number) const {
    return isConstant() && element != Element::Real && integer == number;
  }
  /// Returns the value of a constant as a double.
  double value() const { return element == Element::Real ? real : static_cast<double>(integer); }
};

/// A tensor whose elements formulas read: an input of the graph or a constant.
struct Source {
  std::string name;
  Element element;
  /// Null for inputs.
  const OnnxTensor *constant = nullptr;
  std::vector<Expr> shape;
};

/// Returns an element of a constant of integers or Booleans.
int64_t integerAt(const OnnxTensor &tensor, uint64_t index);
/// Returns an element of a constant of floats, or nullopt if the type is not supported.
std::optional<double> realAt(const OnnxTensor &tensor, uint64_t index);

/// Creates and owns formulas.
class Expressions {
public:
  /// The maximum number of nodes of a formula; no real model needs more.
  static constexpr size_t mostWeight = 4096;
  static constexpr size_t mostTerms = 64;
  static constexpr size_t boundAxis = 1000;

  Expr integer(int64_t value);
  Expr boolean(bool value);
  Expr real(double value);
  Expr size(int64_t number);
  Expr axis(size_t number);
  Expr operand();
  /// Returns the coordinate that a running sum iterates over.
  Expr bound() { return axis(boundAxis); }
  /// Returns the sum of `body` for bound() from 0 to `last`.
  Expr runningSum(Expr last, Expr body);
  /// Reads an element of a source. Folds to a constant if the source and all coordinates are
  /// constants.
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
  /// Applies a unary function or a power.
  Expr apply(Formula formula, std::vector<Expr> operands);

  /// Returns whether an integer is known to be non-negative: sizes are at least 1, and coordinates
  /// lie within the extents. These queries are conservative: they return false if the answer cannot
  /// be computed.
  bool isNonNegative(Expr value);
  bool isLess(Expr left, Expr right);
  bool isAtMost(Expr left, Expr right);

  /// Substitutes coordinates and simplifies the result.
  Expr substitute(Expr value, std::span<const Expr> coordinates);
  /// Replaces each part for which `replacement` returns a formula; null keeps the part.
  Expr replace(Expr value, const std::function<Expr(Expr)> &replacement);
  /// Returns the value of a binary function, or of a unary function of `x`.
  static double numberOf(Formula formula, double x, double y);
  /// Calls `visit` once for every part.
  static void walk(Expr value, const std::function<void(Expr)> &visit);

  /// Sets the sizes of the tensor that axis() indexes, for the formulas that are made from now on.
  void within(std::vector<Expr> sizes) { extents = std::move(sizes); }

  size_t addSource(Source source);
  const Source &source(size_t number) const { return sources[number]; }
  size_t countSources() const { return sources.size(); }

  /// Returns why a formula could not be made (it is too large, or an index is out of bounds); empty
  /// if there was no error.
  const std::string &problem() const { return failure; }
  void clearProblem() { failure.clear(); }

  /// Returns whether a formula reads floats of a constant. Such a formula is data, not a mask or an
  /// index.
  bool readsTable(Expr value) const;

  /// Prints a formula for messages.
  std::string print(Expr value) const;

private:
  Expr intern(Expression expression);
  Expr make(Formula formula, Element element, std::vector<Expr> operands);
  std::vector<Term> termsOf(Expr value) const;
  Expr sum(std::vector<Term> terms);
  Expr rebuild(Expr value, std::vector<Expr> operands);
  void fail(std::string message);
  /// Evaluates a query. If it fails, returns false and discards the error.
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
