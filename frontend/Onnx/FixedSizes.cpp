// SPDX-License-Identifier: Apache-2.0
///
/// Static sizes: those that inputs declare, and those that the exporter replaced with constants of
/// its example although the inputs declare them as dynamic. The latter are found where sizes of the
/// graph contradict each other.
///
/// A fixed batch has no effect on a program, because rows of different sequences do not interact. A
/// fixed length is the maximum number of rows of a sequence: shorter sequences are padded in the
/// graph, and a mask must hide the padding.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace heddle::onnx {

namespace {

/// A product of sizes, by number, and a coefficient.
struct Monomial {
  int64_t coefficient = 1;
  std::vector<int64_t> sizes;
};

} // namespace

static std::optional<Monomial> monomialOf(Expr value) {
  if (value->isConstant() && value->element == Element::Integer) {
    return Monomial{value->integer, {}};
  }
  if (value->formula == Formula::Size) {
    return Monomial{1, {value->integer}};
  }
  if (value->formula != Formula::Sum || value->terms.size() != 1) {
    return std::nullopt;
  }
  Monomial result{value->terms.front().coefficient, {}};
  for (const Expr factor : value->terms.front().factors) {
    if (factor->formula != Formula::Size) {
      return std::nullopt;
    }
    result.sizes.push_back(factor->integer);
  }
  std::sort(result.sizes.begin(), result.sizes.end());
  return result;
}

/// Returns the only size, and its value, for which two element counts become equal.
static std::optional<FixedSize> sizeThatFits(Expr left, Expr right) {
  const std::optional<Monomial> a = monomialOf(left), b = monomialOf(right);
  if (!a || !b) {
    return std::nullopt;
  }
  const Monomial &more = a->sizes.size() > b->sizes.size() ? *a : *b;
  const Monomial &fewer = a->sizes.size() > b->sizes.size() ? *b : *a;
  std::vector<int64_t> rest;
  std::set_difference(more.sizes.begin(), more.sizes.end(), fewer.sizes.begin(), fewer.sizes.end(),
                      std::back_inserter(rest));
  if (rest.size() != 1 || more.sizes.size() != fewer.sizes.size() + 1 || more.coefficient < 1 ||
      fewer.coefficient < 1 || fewer.coefficient % more.coefficient != 0) {
    return std::nullopt;
  }
  return FixedSize{rest.front(), fewer.coefficient / more.coefficient};
}

Expr Evaluation::sizeOf(int64_t number) {
  const auto fixed = fixedSizes.find(number);
  return fixed == fixedSizes.end() ? expressions.size(number) : integer(fixed->second);
}

std::string Evaluation::sizeName(int64_t number) const {
  if (number == 0) {
    return "batch";
  }
  const auto named = std::find_if(sizes.begin(), sizes.end(),
                                  [&](const auto &each) { return each.second == number; });
  return named == sizes.end() ? std::string() : named->first;
}

Status Evaluation::unequal(Expr left, Expr right, const std::string &message) {
  const std::optional<FixedSize> size = sizeThatFits(left, right);
  // A size of 1 would make a sequence indistinguishable from any other axis of size 1.
  if (!size || totalSize || (size->number != 0 && size->value < 2)) {
    return failure(StatusCode::InvalidArgument, message);
  }
  contradiction = size;
  return failure(
      StatusCode::InvalidArgument,
      fmt::format("{}; they agree where {} is {}, of which the exporter made a constant: "
                  "--static takes the graph for that size",
                  message, quote(sizeName(size->number)), size->value));
}

Status Evaluation::fixDeclared(const OnnxPort &port, std::optional<int64_t> size, int64_t number) {
  if (!size) {
    return {};
  }
  const auto wrong = [&](const std::string &what) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("input {} has a {} of {}, expected {}", quote(port.name),
                                    number == 0 ? "batch" : "length", *size, what));
  };
  // A run beside a past may be a single step.
  const int64_t least = number == 0 || number == runSize ? 1 : 2;
  if (*size < least) {
    return wrong(fmt::format("{} or more", least));
  }
  const auto [known, isNew] = fixedSizes.try_emplace(number, *size);
  return isNew || known->second == *size ? Status()
                                         : wrong(fmt::format("{}, as elsewhere", known->second));
}

bool Evaluation::areOwn(const std::vector<Expr> &coordinates, size_t batchAxis, Expr row) {
  return coordinates.size() == 2 && coordinates[1] == row &&
         (coordinates[0] == expressions.axis(batchAxis) ||
          (batch()->isConstant(1) && coordinates[0]->isConstant(0)));
}

std::optional<int64_t> Evaluation::mostRows() {
  // Each sequence is one image.
  if (hasImages) {
    return 1;
  }
  for (const std::optional<int64_t> &number :
       {sequenceSize, other ? other->sequenceSize : std::optional<int64_t>()}) {
    const Expr length = number ? sizeOf(*number) : nullptr;
    if (length != nullptr && length->isConstant()) {
      return length->integer;
    }
  }
  return std::nullopt;
}

} // namespace heddle::onnx
