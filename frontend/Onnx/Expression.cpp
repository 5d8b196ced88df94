// SPDX-License-Identifier: Apache-2.0
///
/// Construction of formulas and their simplification rules.
#include "frontend/Onnx/Expression.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"
#include "frontend/Onnx/Constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace heddle::onnx {

void Expressions::fail(std::string message) {
  if (failure.empty()) {
    failure = std::move(message);
  }
}

Expr Expressions::intern(Expression expression) {
  std::vector<int64_t> key{static_cast<int64_t>(expression.formula),
                           static_cast<int64_t>(expression.element), expression.integer,
                           std::bit_cast<int64_t>(expression.real)};
  for (const Expr operand : expression.operands) {
    key.push_back(static_cast<int64_t>(operand->id));
    expression.weight += operand->weight;
  }
  for (const Term &term : expression.terms) {
    key.push_back(term.coefficient);
    key.push_back(static_cast<int64_t>(term.factors.size()));
    for (const Expr factor : term.factors) {
      key.push_back(static_cast<int64_t>(factor->id));
      expression.weight += factor->weight;
    }
  }
  if (expression.weight > mostWeight || expression.terms.size() > mostTerms) {
    fail("its index arithmetic is too large to follow");
    return integer(0);
  }
  const auto [found, isNew] = known.try_emplace(std::move(key), nullptr);
  if (isNew) {
    expression.id = all.size();
    all.push_back(std::make_unique<Expression>(std::move(expression)));
    found->second = all.back().get();
  }
  return found->second;
}

Expr Expressions::make(Formula formula, Element element, std::vector<Expr> operands) {
  return intern({formula, element, 0, 0, std::move(operands), {}});
}

Expr Expressions::integer(int64_t value) {
  return intern({Formula::Constant, Element::Integer, value, 0, {}, {}});
}

Expr Expressions::boolean(bool value) {
  return intern({Formula::Constant, Element::Boolean, value ? 1 : 0, 0, {}, {}});
}

Expr Expressions::real(double value) {
  return intern({Formula::Constant, Element::Real, 0, value, {}, {}});
}

Expr Expressions::size(int64_t number) {
  return intern({Formula::Size, Element::Integer, number, 0, {}, {}});
}

Expr Expressions::axis(size_t number) {
  return intern({Formula::Axis, Element::Integer, static_cast<int64_t>(number), 0, {}, {}});
}

Expr Expressions::operand() { return intern({Formula::Operand, Element::Real, 0, 0, {}, {}}); }

Expr Expressions::runningSum(Expr last, Expr body) {
  return make(Formula::RunningSum, Element::Integer, {last, body});
}

size_t Expressions::addSource(Source source) {
  sources.push_back(std::move(source));
  return sources.size() - 1;
}

std::optional<double> realAt(const OnnxTensor &tensor, uint64_t index) {
  const size_t bytes = infoOf(tensor.dtype).bytes();
  float value = 0;
  if (tensor.dtype == ElementType::F64) {
    double wide = 0;
    std::memcpy(&wide, tensor.bytes.data() + index * bytes, bytes);
    return wide;
  }
  return convertToF32(tensor.dtype, tensor.bytes.subspan(index * bytes, bytes), {&value, 1}).ok()
             ? std::optional<double>(value)
             : std::nullopt;
}

int64_t integerAt(const OnnxTensor &tensor, uint64_t index) {
  const ElementTypeInfo &info = infoOf(tensor.dtype);
  int64_t value = 0;
  std::memcpy(&value, tensor.bytes.data() + index * info.bytes(), info.bytes());
  const unsigned unused = 64 - 8 * info.bytes();
  // Sign-extends by shifting left and back.
  return info.kind == ElementKind::Signed
             ? static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused
             : value;
}

Expr Expressions::read(size_t source, std::vector<Expr> coordinates) {
  const Source &from = sources[source];
  const auto isConstant = [](Expr coordinate) { return coordinate->isConstant(); };
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const Expr size = from.shape[i];
    if (coordinates[i]->isConstant() && size->isConstant() &&
        (coordinates[i]->integer < 0 || coordinates[i]->integer >= size->integer)) {
      fail(fmt::format("index {} is outside an axis of {} elements", coordinates[i]->integer,
                       size->integer));
      return from.element == Element::Real ? real(0) : integer(0);
    }
  }
  if (from.constant != nullptr && std::all_of(coordinates.begin(), coordinates.end(), isConstant)) {
    uint64_t index = 0;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      index = index * static_cast<uint64_t>(from.shape[i]->integer) +
              static_cast<uint64_t>(coordinates[i]->integer);
    }
    if (from.element != Element::Real) {
      const int64_t value = integerAt(*from.constant, index);
      return from.element == Element::Boolean ? boolean(value != 0) : integer(value);
    }
    if (const auto value = realAt(*from.constant, index)) {
      return real(*value);
    }
  }
  return intern(
      {Formula::Read, from.element, static_cast<int64_t>(source), 0, std::move(coordinates), {}});
}

std::vector<Term> Expressions::termsOf(Expr value) const {
  if (value->formula == Formula::Sum) {
    return value->terms;
  }
  if (value->isConstant()) {
    return value->integer == 0 ? std::vector<Term>() : std::vector<Term>{{value->integer, {}}};
  }
  return {{1, {value}}};
}

Expr Expressions::sum(std::vector<Term> terms) {
  std::map<std::vector<size_t>, Term> merged;
  for (Term &term : terms) {
    std::sort(term.factors.begin(), term.factors.end(),
              [](Expr a, Expr b) { return a->id < b->id; });
    std::vector<size_t> key;
    for (const Expr factor : term.factors) {
      key.push_back(factor->id);
    }
    const auto [found, isNew] = merged.try_emplace(std::move(key), Term{0, term.factors});
    if (__builtin_add_overflow(found->second.coefficient, term.coefficient,
                               &found->second.coefficient)) {
      fail("its integers overflow");
      return integer(0);
    }
  }
  Expression result{Formula::Sum, Element::Integer, 0, 0, {}, {}};
  for (auto &[key, term] : merged) {
    if (term.coefficient != 0) {
      result.terms.push_back(std::move(term));
    }
  }
  if (result.terms.empty()) {
    return integer(0);
  }
  const Term &first = result.terms.front();
  if (result.terms.size() == 1 && first.factors.empty()) {
    return integer(first.coefficient);
  }
  if (result.terms.size() == 1 && first.coefficient == 1 && first.factors.size() == 1) {
    return first.factors.front();
  }
  return intern(std::move(result));
}

Expr Expressions::add(Expr left, Expr right) {
  if (left->element == Element::Real || right->element == Element::Real) {
    if (left->isConstant() && right->isConstant()) {
      return real(left->value() + right->value());
    }
    // Adding zero changes nothing but the sign of zero.
    return left->isConstant() && left->value() == 0 ? right
           : right->isConstant() && right->value() == 0
               ? left
               : make(Formula::Add, Element::Real, {left, right});
  }
  std::vector<Term> terms = termsOf(left);
  const std::vector<Term> more = termsOf(right);
  terms.insert(terms.end(), more.begin(), more.end());
  return sum(std::move(terms));
}

Expr Expressions::subtract(Expr left, Expr right) {
  const Expr minus = right->element == Element::Real ? real(-1) : integer(-1);
  return add(left, multiply(right, minus));
}

Expr Expressions::multiply(Expr left, Expr right) {
  if (left->element == Element::Real || right->element == Element::Real) {
    if (left->isConstant() && right->isConstant()) {
      return real(left->value() * right->value());
    }
    return left->isConstant() && left->value() == 1 ? right
           : right->isConstant() && right->value() == 1
               ? left
               : make(Formula::Multiply, Element::Real, {left, right});
  }
  std::vector<Term> terms;
  for (const Term &a : termsOf(left)) {
    for (const Term &b : termsOf(right)) {
      Term &term = terms.emplace_back(a);
      term.factors.insert(term.factors.end(), b.factors.begin(), b.factors.end());
      if (__builtin_mul_overflow(a.coefficient, b.coefficient, &term.coefficient) ||
          terms.size() > mostTerms || term.factors.size() > onnxRankLimit) {
        fail("its index arithmetic is too large to follow");
        return integer(0);
      }
    }
  }
  return sum(std::move(terms));
}

/// Returns the quotient and remainder of a division by a product, if the remainder is known to be
/// in [0, divisor).
std::optional<std::pair<Expr, Expr>> Expressions::split(Expr value, Expr divisor) {
  const std::vector<Term> by = termsOf(divisor);
  if (by.size() != 1 || by.front().coefficient <= 0) {
    return std::nullopt;
  }
  std::vector<Term> quotient, rest;
  for (const Term &term : termsOf(value)) {
    Term divided = term;
    bool divides = term.coefficient % by.front().coefficient == 0;
    for (const Expr factor : by.front().factors) {
      const auto found = std::find(divided.factors.begin(), divided.factors.end(), factor);
      if (found == divided.factors.end()) {
        divides = false;
        break;
      }
      divided.factors.erase(found);
    }
    divided.coefficient /= by.front().coefficient;
    (divides ? quotient : rest).push_back(divides ? divided : term);
  }
  const Expr whole = sum(std::move(quotient));
  const Expr left = sum(std::move(rest));
  const bool isExact = left->isConstant(0);
  if (isExact || (isNonNegative(left) && isLess(left, divisor) && isNonNegative(whole))) {
    return std::pair(whole, left);
  }
  return std::nullopt;
}

Expr Expressions::divide(Expr left, Expr right) {
  if (left->element == Element::Real || right->element == Element::Real) {
    if (left->isConstant() && right->isConstant()) {
      return real(left->value() / right->value());
    }
    return right->isConstant() && right->value() == 1
               ? left
               : make(Formula::Divide, Element::Real, {left, right});
  }
  if (right->isConstant(0)) {
    fail("it divides by zero");
    return integer(0);
  }
  if (left->isConstant() && right->isConstant() && right->integer != -1) {
    return integer(left->integer / right->integer);
  }
  const auto parts = split(left, right);
  return parts ? parts->first : make(Formula::Divide, Element::Integer, {left, right});
}

Expr Expressions::modulo(Expr left, Expr right) {
  const bool isReal = left->element == Element::Real || right->element == Element::Real;
  if (left->isConstant() && right->isConstant() && (isReal || right->integer != 0)) {
    return isReal ? real(restOf(left->value(), right->value()))
                  : integer(restOf(left->integer, right->integer));
  }
  if (isReal) {
    return make(Formula::Modulo, Element::Real, {left, right});
  }
  const auto parts = split(left, right);
  return parts ? parts->second : make(Formula::Modulo, Element::Integer, {left, right});
}

bool Expressions::ask(const std::function<bool()> &question) {
  std::string before = std::exchange(failure, {});
  const bool answer = question() && failure.empty();
  failure = std::move(before);
  return answer;
}

bool Expressions::isNonNegative(Expr value) {
  return ask([&] { return findNonNegative(value); });
}

bool Expressions::isLess(Expr left, Expr right) {
  return ask([&] { return isNonNegative(subtract(subtract(right, left), integer(1))); });
}

bool Expressions::isAtMost(Expr left, Expr right) {
  return ask([&] { return isNonNegative(subtract(right, left)); });
}

bool Expressions::findNonNegative(Expr value) {
  std::vector<Term> least;
  for (const Term &term : termsOf(value)) {
    Expr product = integer(term.coefficient);
    for (const Expr factor : term.factors) {
      if (factor->formula == Formula::Axis) {
        const auto number = static_cast<size_t>(factor->integer);
        if (number >= extents.size()) {
          return false;
        }
        // A lower bound: coordinate 0 or, for a negative coefficient, the last coordinate.
        product = multiply(product, term.coefficient > 0 ? integer(0)
                                                         : subtract(extents[number], integer(1)));
      } else if (factor->formula == Formula::Size) {
        product = multiply(product, factor);
      } else {
        return false;
      }
    }
    const std::vector<Term> more = termsOf(product);
    least.insert(least.end(), more.begin(), more.end());
  }
  // Substitutes 1 + a non-negative number for each size.
  Expr expanded = integer(0);
  for (const Term &term : least) {
    Expr product = integer(term.coefficient);
    for (const Expr factor : term.factors) {
      product = multiply(product, add(factor, integer(1)));
    }
    expanded = add(expanded, product);
  }
  const std::vector<Term> terms = termsOf(expanded);
  return std::all_of(terms.begin(), terms.end(),
                     [](const Term &term) { return term.coefficient >= 0; });
}

Expr Expressions::least(Expr left, Expr right) {
  if (left->element == Element::Real || right->element == Element::Real) {
    return left->isConstant() && right->isConstant()
               ? real(std::min(left->value(), right->value()))
               : make(Formula::Least, Element::Real, {left, right});
  }
  return isAtMost(left, right)   ? left
         : isAtMost(right, left) ? right
                                 : make(Formula::Least, Element::Integer, {left, right});
}

Expr Expressions::largest(Expr left, Expr right) {
  if (left->element == Element::Real || right->element == Element::Real) {
    return left->isConstant() && right->isConstant()
               ? real(std::max(left->value(), right->value()))
               : make(Formula::Largest, Element::Real, {left, right});
  }
  return isAtMost(right, left)   ? left
         : isAtMost(left, right) ? right
                                 : make(Formula::Largest, Element::Integer, {left, right});
}

Expr Expressions::equal(Expr left, Expr right) {
  if (left->isConstant() && right->isConstant()) {
    return boolean(left->value() == right->value());
  }
  if (left->element == Element::Boolean && right->element == Element::Boolean) {
    const auto [constant, other] =
        left->isConstant() ? std::pair(left, right) : std::pair(right, left);
    return !constant->isConstant()  ? make(Formula::Equal, Element::Boolean, {left, right})
           : constant->integer != 0 ? other
                                    : negation(other);
  }
  if (left->element == Element::Real || right->element == Element::Real) {
    return make(Formula::Equal, Element::Boolean, {left, right});
  }
  // A cast Boolean is 0 or 1.
  if (left->formula == Formula::Cast && left->operands.front()->element == Element::Boolean &&
      right->isConstant()) {
    const Expr truth = left->operands.front();
    return right->integer == 1 ? truth : right->integer == 0 ? negation(truth) : boolean(false);
  }
  Expr difference = nullptr;
  if (ask([&] { return (difference = subtract(left, right))->isConstant(); })) {
    return boolean(difference->integer == 0);
  }
  return isLess(left, right) || isLess(right, left)
             ? boolean(false)
             : make(Formula::Equal, Element::Boolean, {left, right});
}

Expr Expressions::less(Expr left, Expr right) {
  if (left->isConstant() && right->isConstant()) {
    return boolean(left->value() < right->value());
  }
  if (left->element != Element::Integer || right->element != Element::Integer) {
    return make(Formula::Less, Element::Boolean, {left, right});
  }
  return isLess(left, right)     ? boolean(true)
         : isAtMost(right, left) ? boolean(false)
                                 : make(Formula::Less, Element::Boolean, {left, right});
}

Expr Expressions::conjunction(Expr left, Expr right) {
  if (left->isConstant()) {
    return left->integer != 0 ? right : left;
  }
  return right->isConstant() ? (right->integer != 0 ? left : right)
         : left == right     ? left
                             : make(Formula::And, Element::Boolean, {left, right});
}

Expr Expressions::disjunction(Expr left, Expr right) {
  return negation(conjunction(negation(left), negation(right)));
}

Expr Expressions::negation(Expr value) {
  return value->isConstant()              ? boolean(value->integer == 0)
         : value->formula == Formula::Not ? value->operands.front()
                                          : make(Formula::Not, Element::Boolean, {value});
}

Expr Expressions::select(Expr condition, Expr then, Expr otherwise) {
  if (condition->isConstant()) {
    return condition->integer != 0 ? then : otherwise;
  }
  if (then == otherwise) {
    return then;
  }
  if (then->element == Element::Boolean && then->isConstant() && otherwise->isConstant()) {
    return then->integer != 0 ? condition : negation(condition);
  }
  return make(Formula::Select, then->element, {condition, then, otherwise});
}

Expr Expressions::cast(Expr value, Element element) {
  if (value->element == element) {
    return value;
  }
  if (element == Element::Boolean) {
    return negation(value->element == Element::Real ? equal(value, real(0))
                                                    : equal(value, integer(0)));
  }
  if (value->isConstant()) {
    if (element == Element::Integer && !(std::abs(value->value()) < 0x1p62)) {
      fail(fmt::format("the number {} is cast to an integer", value->value()));
      return integer(0);
    }
    return element == Element::Real ? real(value->value())
                                    : integer(static_cast<int64_t>(value->value()));
  }
  return make(Formula::Cast, element, {value});
}

} // namespace heddle::onnx
