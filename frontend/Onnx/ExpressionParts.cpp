// SPDX-License-Identifier: Apache-2.0
///
/// Substitution and replacement of the parts of formulas.
#include "frontend/Onnx/Expression.h"

#include "base/Utf8.h"
#include "frontend/Onnx/Constants.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle::onnx {

/// All integers up to this magnitude are representable as doubles.
static constexpr double mostExact = 0x1p53;

double Expressions::numberOf(Formula formula, double x, double y) {
  switch (formula) {
  case Formula::Add:
    return x + y;
  case Formula::Multiply:
    return x * y;
  case Formula::Divide:
    return x / y;
  case Formula::Modulo:
    return restOf(x, y);
  case Formula::Rest:
    return std::fmod(x, y);
  case Formula::Power:
    return std::pow(x, y);
  case Formula::Least:
    return std::min(x, y);
  case Formula::Largest:
    return std::max(x, y);
  case Formula::Negate:
    return -x;
  case Formula::Absolute:
    return std::abs(x);
  case Formula::Root:
    return std::sqrt(x);
  case Formula::Exponential:
    return std::exp(x);
  case Formula::Logarithm:
    return std::log(x);
  case Formula::Erf:
    return std::erf(x);
  case Formula::Tanh:
    return std::tanh(x);
  case Formula::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Formula::Relu:
    return std::max(x, 0.0);
  case Formula::Sine:
    return std::sin(x);
  case Formula::Cosine:
    return std::cos(x);
  case Formula::Floor:
    return std::floor(x);
  case Formula::Round:
    return std::nearbyint(x);
  default:
    return std::nan("");
  }
}

Expr Expressions::apply(Formula formula, std::vector<Expr> operands) {
  const bool isOfIntegers = operands.front()->element != Element::Real;
  if (isOfIntegers && formula == Formula::Negate) {
    return multiply(operands.front(), integer(-1));
  }
  if (isOfIntegers && formula == Formula::Absolute) {
    const Expr value = operands.front();
    if (value->isConstant() || isNonNegative(value)) {
      return value->isConstant() && value->integer < 0 ? multiply(value, integer(-1)) : value;
    }
  }
  const bool isConstant =
      std::all_of(operands.begin(), operands.end(), [](Expr each) { return each->isConstant(); });
  if (isConstant) {
    const double value = numberOf(formula, operands.front()->value(), operands.back()->value());
    if (isOfIntegers && !(std::abs(value) <= mostExact)) {
      fail("its integers overflow");
      return integer(0);
    }
    return isOfIntegers ? integer(static_cast<int64_t>(value)) : real(value);
  }
  const Element element = operands.front()->element;
  return make(formula, element, std::move(operands));
}

Expr Expressions::rebuild(Expr value, std::vector<Expr> operands) {
  switch (value->formula) {
  case Formula::Read:
    return read(static_cast<size_t>(value->integer), std::move(operands));
  case Formula::RunningSum:
    return runningSum(operands[0], operands[1]);
  case Formula::Cast:
    return cast(operands[0], value->element);
  case Formula::Not:
    return negation(operands[0]);
  case Formula::And:
    return conjunction(operands[0], operands[1]);
  case Formula::Or:
    return disjunction(operands[0], operands[1]);
  case Formula::Equal:
    return equal(operands[0], operands[1]);
  case Formula::Less:
    return less(operands[0], operands[1]);
  case Formula::Add:
    return add(operands[0], operands[1]);
  case Formula::Multiply:
    return multiply(operands[0], operands[1]);
  case Formula::Divide:
    return divide(operands[0], operands[1]);
  case Formula::Modulo:
    return modulo(operands[0], operands[1]);
  case Formula::Least:
    return least(operands[0], operands[1]);
  case Formula::Largest:
    return largest(operands[0], operands[1]);
  default:
    return apply(value->formula, std::move(operands));
  }
}

Expr Expressions::replace(Expr value, const std::function<Expr(Expr)> &replacement) {
  std::map<Expr, Expr> done;
  const std::function<Expr(Expr)> visit = [&](Expr each) -> Expr {
    const auto known = done.find(each);
    if (known != done.end()) {
      return known->second;
    }
    Expr result = replacement(each);
    if (result != nullptr) {
      // The whole part is replaced.
    } else if (each->formula == Formula::Sum) {
      result = integer(0);
      for (const Term &term : each->terms) {
        Expr product = integer(term.coefficient);
        for (const Expr factor : term.factors) {
          product = multiply(product, visit(factor));
        }
        result = add(result, product);
      }
    } else if (each->formula == Formula::Select) {
      // Only the selected side is rewritten: the other one may read out of bounds.
      const Expr condition = visit(each->operands[0]);
      result = condition->isConstant()
                   ? visit(each->operands[condition->integer != 0 ? 1 : 2])
                   : select(condition, visit(each->operands[1]), visit(each->operands[2]));
    } else if (each->operands.empty()) {
      result = each;
    } else {
      std::vector<Expr> operands;
      for (const Expr operand : each->operands) {
        operands.push_back(visit(operand));
      }
      result = rebuild(each, std::move(operands));
    }
    done.emplace(each, result);
    return result;
  };
  return visit(value);
}

Expr Expressions::substitute(Expr value, std::span<const Expr> coordinates) {
  return replace(value, [&](Expr each) -> Expr {
    const auto number = static_cast<size_t>(each->integer);
    return each->formula != Formula::Axis ? nullptr
           : number == boundAxis          ? each
                                          : coordinates[number];
  });
}

void Expressions::walk(Expr value, const std::function<void(Expr)> &visit) {
  std::map<Expr, bool> seen;
  std::vector<Expr> next{value};
  while (!next.empty()) {
    const Expr each = next.back();
    next.pop_back();
    if (!seen.emplace(each, true).second) {
      continue;
    }
    visit(each);
    next.insert(next.end(), each->operands.begin(), each->operands.end());
    for (const Term &term : each->terms) {
      next.insert(next.end(), term.factors.begin(), term.factors.end());
    }
  }
}

bool Expressions::readsTable(Expr value) const {
  bool reads = false;
  walk(value, [&](Expr part) {
    reads |= part->formula == Formula::Read && part->element == Element::Real &&
             sources[static_cast<size_t>(part->integer)].constant != nullptr;
  });
  return reads;
}

std::string Expressions::print(Expr value) const {
  switch (value->formula) {
  case Formula::Constant:
    return value->element == Element::Real ? fmt::format("{}", value->real)
                                           : fmt::format("{}", value->integer);
  case Formula::Size:
    return value->integer == 0 ? "batch" : fmt::format("size {}", value->integer);
  case Formula::Axis:
    return fmt::format("coordinate {}", value->integer);
  case Formula::Read:
    return quote(sources[static_cast<size_t>(value->integer)].name);
  case Formula::Sum: {
    std::string text;
    for (const Term &term : value->terms) {
      text += text.empty() ? "" : " + ";
      text +=
          term.coefficient == 1 && !term.factors.empty() ? "" : fmt::format("{}", term.coefficient);
      for (const Expr factor : term.factors) {
        text += (text.empty() || text.back() == ' ' ? "" : " * ") + print(factor);
      }
    }
    return text;
  }
  default:
    return "a value";
  }
}

} // namespace heddle::onnx
