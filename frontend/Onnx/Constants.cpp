// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates formulas at all coordinates of a tensor. Each part of a formula is computed at most
/// once per element, and only if it is needed: the side of a select that is not taken may read out
/// of bounds.
#include "frontend/Onnx/Constants.h"

#include "base/Utf8.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace heddle::onnx {

bool isClosed(const Expressions &expressions, Expr body) {
  bool isClosed = true;
  Expressions::walk(body, [&](Expr part) {
    isClosed &= part->formula != Formula::Size && part->formula != Formula::Operand &&
                (part->formula != Formula::Read ||
                 expressions.source(static_cast<size_t>(part->integer)).constant != nullptr);
  });
  return isClosed;
}

double restOf(double value, double divisor) {
  const double rest = std::fmod(value, divisor);
  return rest != 0 && std::signbit(rest) != std::signbit(divisor) ? rest + divisor
         : rest == 0                                              ? std::copysign(0.0, divisor)
                                                                  : rest;
}

int64_t restOf(int64_t value, int64_t divisor) {
  // The quotient of the least integer by -1 overflows.
  const int64_t rest = divisor == -1 ? 0 : value % divisor;
  return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
}

namespace {

/// The maximum number of steps per tensor. Constants of real models do not need nested sums over
/// many elements.
constexpr uint64_t mostSteps = uint64_t{1} << 27;

/// A value of any element type.
struct Number {
  double real = 0;
  int64_t integer = 0;
};

/// A part of a formula and the indices of its operands among all parts.
struct Part {
  Expr formula;
  std::vector<size_t> operands;
};

class FormulaEvaluator {
public:
  FormulaEvaluator(const Expressions &expressions, Expr body) : expressions(expressions) {
    root = indexOf(body);
    results.resize(parts.size());
    computedIn.assign(parts.size(), 0);
  }

  Number compute(std::span<const int64_t> at) {
    coordinates = at;
    ++round;
    return valueOf(root);
  }
  const std::string &problem() const { return failure; }

private:
  size_t indexOf(Expr formula);
  Number valueOf(size_t index);
  Number find(const Part &part);
  Number findInteger(const Part &part);
  Number sumOf(const Part &part);
  Number runningSum(const Part &part);
  Number read(const Part &part);
  Number comparison(const Part &part);

  /// Return an operand, converted to the type that the consumer needs.
  double real(const Part &part, size_t operand) {
    const size_t index = part.operands[operand];
    const Number number = valueOf(index);
    return parts[index].formula->element == Element::Real ? number.real
                                                          : static_cast<double>(number.integer);
  }
  int64_t integer(const Part &part, size_t operand) {
    return valueOf(part.operands[operand]).integer;
  }
  Number fail(std::string message) {
    failure = failure.empty() ? std::move(message) : failure;
    return {};
  }

  const Expressions &expressions;
  std::map<Expr, size_t> known;
  std::vector<Part> parts;
  size_t root = 0;
  std::span<const int64_t> coordinates;
  int64_t bound = 0;
  /// The value of each part, and the round in which it was computed.
  std::vector<Number> results;
  std::vector<uint64_t> computedIn;
  uint64_t round = 0;
  uint64_t steps = 0;
  std::string failure;
};

size_t FormulaEvaluator::indexOf(Expr formula) {
  if (const auto found = known.find(formula); found != known.end()) {
    return found->second;
  }
  Part part{formula, {}};
  for (const Expr operand : formula->operands) {
    part.operands.push_back(indexOf(operand));
  }
  for (const Term &term : formula->terms) {
    for (const Expr factor : term.factors) {
      part.operands.push_back(indexOf(factor));
    }
  }
  parts.push_back(std::move(part));
  known.emplace(formula, parts.size() - 1);
  return parts.size() - 1;
}

Number FormulaEvaluator::valueOf(size_t index) {
  if (++steps > mostSteps) {
    return fail("it takes too many steps to compute");
  }
  if (computedIn[index] != round) {
    const Number number = find(parts[index]);
    results[index] = number;
    computedIn[index] = round;
  }
  return results[index];
}

Number FormulaEvaluator::sumOf(const Part &part) {
  int64_t sum = 0;
  size_t operand = 0;
  for (const Term &term : part.formula->terms) {
    int64_t product = term.coefficient;
    bool overflows = false;
    for (size_t i = 0; i < term.factors.size(); ++i) {
      overflows |= __builtin_mul_overflow(product, integer(part, operand++), &product);
    }
    if (overflows || __builtin_add_overflow(sum, product, &sum)) {
      return fail("its integers overflow");
    }
  }
  return {0, sum};
}

/// The body depends on the bound, so values cached for one bound are invalid for the next.
Number FormulaEvaluator::runningSum(const Part &part) {
  const int64_t last = integer(part, 0), before = bound;
  Number sum;
  for (bound = 0; bound <= last && failure.empty(); ++bound) {
    ++round;
    if (__builtin_add_overflow(sum.integer, integer(part, 1), &sum.integer)) {
      return fail("its integers overflow");
    }
  }
  bound = before;
  ++round;
  return sum;
}

Number FormulaEvaluator::read(const Part &part) {
  const Source &source = expressions.source(static_cast<size_t>(part.formula->integer));
  uint64_t index = 0;
  for (size_t axis = 0; axis < part.operands.size(); ++axis) {
    const int64_t at = integer(part, axis), size = source.shape[axis]->integer;
    if (at < 0 || at >= size) {
      return fail(fmt::format("index {} is outside an axis of {} elements", at, size));
    }
    index = index * static_cast<uint64_t>(size) + static_cast<uint64_t>(at);
  }
  if (source.element != Element::Real) {
    return {0, integerAt(*source.constant, index)};
  }
  const std::optional<double> value = realAt(*source.constant, index);
  return value ? Number{*value, 0}
               : fail(fmt::format("{} has numbers of a type that is not supported",
                                  quote(source.name)));
}

Number FormulaEvaluator::comparison(const Part &part) {
  const bool isLess = part.formula->formula == Formula::Less;
  const bool areReal = parts[part.operands[0]].formula->element == Element::Real ||
                       parts[part.operands[1]].formula->element == Element::Real;
  if (areReal) {
    const double left = real(part, 0), right = real(part, 1);
    return {0, isLess ? left < right : left == right};
  }
  const int64_t left = integer(part, 0), right = integer(part, 1);
  return {0, isLess ? left < right : left == right};
}

/// Computes operators on integers whose result may not be representable as a double.
Number FormulaEvaluator::findInteger(const Part &part) {
  const int64_t left = integer(part, 0);
  const int64_t right = part.operands.size() > 1 ? integer(part, 1) : 0;
  switch (part.formula->formula) {
  case Formula::Divide:
    return right == 0 || (right == -1 && left == std::numeric_limits<int64_t>::min())
               ? fail("it divides by zero")
               : Number{0, left / right};
  case Formula::Modulo:
    return right == 0 ? fail("it divides by zero") : Number{0, restOf(left, right)};
  case Formula::Least:
    return {0, std::min(left, right)};
  case Formula::Largest:
    return {0, std::max(left, right)};
  default:
    return {0, left < 0 ? -left : left}; // Abs
  }
}

Number FormulaEvaluator::find(const Part &part) {
  const Expression &formula = *part.formula;
  switch (formula.formula) {
  case Formula::Constant:
    return {formula.real, formula.integer};
  case Formula::Axis:
    return {0, formula.integer == Expressions::boundAxis
                   ? bound
                   : coordinates[static_cast<size_t>(formula.integer)]};
  case Formula::Sum:
    return sumOf(part);
  case Formula::RunningSum:
    return runningSum(part);
  case Formula::Read:
    return read(part);
  case Formula::Not:
    return {0, integer(part, 0) == 0};
  case Formula::And:
    return {0, integer(part, 0) != 0 && integer(part, 1) != 0};
  case Formula::Or:
    return {0, integer(part, 0) != 0 || integer(part, 1) != 0};
  case Formula::Equal:
  case Formula::Less:
    return comparison(part);
  case Formula::Select:
    return valueOf(part.operands[integer(part, 0) != 0 ? 1 : 2]);
  case Formula::Size:
  case Formula::Operand:
    return fail("it depends on data");
  default:
    break;
  }
  const bool isReal = formula.element == Element::Real;
  const bool isWhole = formula.formula == Formula::Divide || formula.formula == Formula::Modulo ||
                       formula.formula == Formula::Least || formula.formula == Formula::Largest ||
                       formula.formula == Formula::Absolute;
  if (!isReal && isWhole) {
    return findInteger(part);
  }
  const double left = real(part, 0);
  const double value = formula.formula == Formula::Cast
                           ? left
                           : Expressions::numberOf(formula.formula, left,
                                                   part.operands.size() > 1 ? real(part, 1) : left);
  if (isReal) {
    return {value, 0};
  }
  return std::abs(value) < 0x1p62 ? Number{0, static_cast<int64_t>(value)}
                                  : fail(fmt::format("the number {} is cast to an integer", value));
}

} // namespace

Result<Elements> elementsOf(const Expressions &expressions, Expr body,
                            std::span<const int64_t> shape) {
  Elements result{body->element, {shape.begin(), shape.end()}, {}, {}};
  size_t count = 1;
  for (const int64_t size : shape) {
    count *= static_cast<size_t>(size);
  }
  FormulaEvaluator evaluator(expressions, body);
  std::vector<int64_t> at(shape.size(), 0);
  for (size_t number = 0; number < count; ++number) {
    const Number element = evaluator.compute(at);
    if (!evaluator.problem().empty()) {
      return HEDDLE_ERROR(InvalidArgument, evaluator.problem());
    }
    result.add(element.real, element.integer);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) {
        break;
      }
      at[axis] = 0;
    }
  }
  return result;
}

} // namespace heddle::onnx
