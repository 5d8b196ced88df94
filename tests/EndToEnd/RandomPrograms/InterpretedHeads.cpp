// SPDX-License-Identifier: Apache-2.0
///
/// Rules of mathematics on heads, scores and their softmax.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace heddle {

using namespace transformer;

template <> void Interpreter::evaluate(SplitHeadsOp op) {
  BoundedTensor result = of(op.getInput());
  result.shape = {result.shape[0], op.getType().getDimSize(1), op.getType().getDimSize(2)};
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(MergeHeadsOp op) {
  BoundedTensor result = of(op.getInput());
  result.shape = {result.shape[0], op.getType().getDimSize(1)};
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(RepeatHeadsOp op) {
  const BoundedTensor &input = of(op.getInput());
  BoundedTensor result({input.shape[0], op.getType().getDimSize(1), input.width()});
  const int64_t heads = result.shape[1], share = heads / input.shape[1];
  for (int64_t row = 0; row < result.rows(); ++row) {
    const int64_t from = row / heads * input.shape[1] + row % heads / share;
    std::copy_n(&input.at(from, 0), input.width(), &result.at(row, 0));
  }
  define(op, std::move(result));
}

/// Calls `visit` with every index of a shape, the last axis fastest.
static void overIndices(llvm::ArrayRef<int64_t> shape,
                        llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0)) {
    return;
  }
  std::vector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) {
      index[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

template <> void Interpreter::evaluate(TransposeOp op) {
  const BoundedTensor &input = of(op.getInput());
  std::vector<int64_t> shape;
  for (int64_t axis : op.getPermutation()) {
    shape.push_back(input.shape[static_cast<size_t>(axis)]);
  }
  BoundedTensor result(shape);
  const std::vector<int64_t> strides = input.strides();
  size_t next = 0;
  overIndices(shape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t from = 0;
    for (auto [place, axis] : llvm::zip_equal(index, op.getPermutation())) {
      from += place * strides[static_cast<size_t>(axis)];
    }
    result.elements[next++] = input.elements[static_cast<size_t>(from)];
  });
  define(op, std::move(result));
}

/// Returns the index of the element at the position of the letters.
static int64_t elementAt(llvm::StringRef axes, const std::vector<int64_t> &strides,
                         llvm::StringRef letters, llvm::ArrayRef<int64_t> places) {
  int64_t element = 0;
  for (auto [axis, stride] : llvm::zip_equal(axes, strides)) {
    element += stride * places[letters.find(axis)];
  }
  return element;
}

template <> void Interpreter::evaluate(ContractOp op) {
  const BoundedTensor &left = of(op.getLhs());
  const BoundedTensor &right = of(op.getRhs());
  // Letters of the result first, then those that are summed over.
  std::string letters = op.getResultAxes().str();
  constexpr int64_t unknown = -1;
  std::vector<int64_t> sizes(letters.size(), unknown);
  for (auto [axes, operand] : {std::pair(op.getLhsAxes(), &left), {op.getRhsAxes(), &right}}) {
    for (auto [axis, size] : llvm::zip_equal(axes, operand->shape)) {
      const size_t place = letters.find(axis);
      if (place == std::string::npos) {
        letters.push_back(axis);
        sizes.push_back(size);
      } else if (sizes[place] == unknown) {
        sizes[place] = size;
      } else if (!fits(op, size, sizes[place])) {
        return;
      }
    }
  }
  const size_t rank = op.getResultAxes().size();
  BoundedTensor result({sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank)});
  const std::vector<int64_t> leftStrides = left.strides(), rightStrides = right.strides();
  size_t next = 0;
  std::vector<int64_t> places(sizes.size(), 0);
  overIndices(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    llvm::copy(index, places.begin());
    ProductSum total;
    overIndices(llvm::ArrayRef(sizes).drop_front(rank), [&](llvm::ArrayRef<int64_t> summed) {
      llvm::copy(summed, places.begin() + static_cast<std::ptrdiff_t>(rank));
      total.add(left.elements[static_cast<size_t>(
                    elementAt(op.getLhsAxes(), leftStrides, letters, places))],
                right.elements[static_cast<size_t>(
                    elementAt(op.getRhsAxes(), rightStrides, letters, places))]);
    });
    result.elements[next++] = total.finish();
  });
  define(op, std::move(result));
}

// --- Scores ----------------------------------------------------------------------------------

template <> void Interpreter::evaluate(PairSumOp op) {
  if (!fitsIn(op, op.getQuery(), op.getQueries()) || !fitsIn(op, op.getKey(), op.getKeys())) {
    return;
  }
  const BoundedTensor &query = of(op.getQuery()), &key = of(op.getKey());
  BoundedTensor result({query.rows(), key.rows(), query.width()});
  size_t next = 0;
  for (int64_t row = 0; row < query.rows(); ++row) {
    for (int64_t other = 0; other < key.rows(); ++other) {
      for (int64_t column = 0; column < query.width(); ++column) {
        result.elements[next++] = sum(query.at(row, column), key.at(other, column));
      }
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(MaskOp op) {
  masks.try_emplace(op, Mask{op.getVisibility().getValue(), segments.at(op.getQueries()),
                             segments.at(op.getKeys())});
}

Bounded hiddenScore(double hidden) {
  return hidden <= hidesAll ? Bounded::hiding(hidden) : Bounded::exact(hidden);
}

template <> void Interpreter::evaluate(MaskBiasOp op) {
  const Mask mask = masks.at(op.getMask());
  BoundedTensor result({mask.rows, mask.keys});
  const Bounded hidden = hiddenScore(op.getHidden().convertToDouble());
  for (int64_t row = 0; row < mask.rows; ++row) {
    for (int64_t key = 0; key < mask.keys; ++key) {
      result.at(row, key) = mask.sees(row, key) ? Bounded::exact(0) : hidden;
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(RelativeBiasOp op) {
  const BoundedTensor &table = parameter(op.getTable());
  const int64_t most = table.width() / 2;
  BoundedTensor result({segments.at(op.getQueries()), table.rows(), segments.at(op.getKeys())});
  size_t next = 0;
  overIndices(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    const int64_t distance = std::clamp(index[2] - index[0], -most, most);
    result.elements[next++] = table.at(index[1], distance + most);
  });
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(SelectOp op) {
  const Mask mask = masks.at(op.getMask());
  BoundedTensor result = of(op.getScores());
  if (!fitsScores(op, result, mask.rows, mask.keys)) {
    return;
  }
  const Bounded hidden = hiddenScore(op.getHidden().convertToDouble());
  size_t next = 0;
  overIndices(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    if (!mask.sees(index[0], index[2])) {
      result.elements[next] = hidden;
    }
    ++next;
  });
  define(op, std::move(result));
}

/// Returns for each number the sum of the others. Each is summed separately: subtracting one number
/// from the sum of all loses digits of the smaller ones.
static std::vector<double> sumsOfOthers(const std::vector<double> &numbers) {
  std::vector<double> sums(numbers.size(), 0);
  double before = 0, after = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t fromEnd = numbers.size() - 1 - i;
    sums[i] += before;
    sums[fromEnd] += after;
    before += numbers[i];
    after += numbers[fromEnd];
  }
  return sums;
}

/// Computes one row of scores. Every score may be off by its error and by roundings of its
/// magnitude; a probability is largest if its own score is high and all others are low.
void softmaxRow(Bounded *scores, size_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  bool known = count > 0;
  for (size_t i = 0; i < count; ++i) {
    known = known && scores[i].isKnown();
    if (!scores[i].hidden) {
      largest = std::max(largest, scores[i].low());
    }
  }
  // The number subtracted from all scores is one of those that may be the maximum.
  double magnitude = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!scores[i].hidden && scores[i].high() >= largest) {
      magnitude = std::max(magnitude, scores[i].magnitude);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    // Beyond this, no f32 has an exponential.
    known = known && !(scores[i].hidden && largest - scores[i].value < 1000);
  }
  if (!known || largest == -std::numeric_limits<double>::infinity()) {
    std::fill_n(scores, count, Bounded::anything());
    return;
  }
  std::vector<double> exact(count, 0), low(count, 0), high(count, 0);
  double exactSum = 0;
  for (size_t i = 0; i < count; ++i) {
    if (scores[i].hidden) {
      continue;
    }
    const double error = scores[i].error + 8 * unitRoundoff * (scores[i].magnitude + magnitude + 1);
    exact[i] = std::exp(std::min(scores[i].value - largest, 600.0));
    low[i] = std::exp(std::min(scores[i].value - error - largest, 600.0));
    high[i] = std::exp(std::min(scores[i].value + error - largest, 600.0));
    exactSum += exact[i];
  }
  const std::vector<double> othersLow = sumsOfOthers(low), othersHigh = sumsOfOthers(high);
  const double rounding = (4 * static_cast<double>(count) + 32) * unitRoundoff;
  for (size_t i = 0; i < count; ++i) {
    const double p = exact[i] / exactSum;
    const double least = low[i] > 0 ? low[i] / (low[i] + othersHigh[i]) : 0;
    const double most = high[i] > 0 ? high[i] / (high[i] + othersLow[i]) : 0;
    scores[i] = scores[i].hidden
                    ? Bounded::exact(0)
                    : roundResult(p, std::max(most - p, p - least) + rounding * most + 1e-40);
  }
}

void divideRowBySum(Bounded *numbers, size_t count) {
  double total = 0, error = 0, magnitude = 0;
  bool known = true;
  for (size_t i = 0; i < count; ++i) {
    known = known && numbers[i].isKnown() && !numbers[i].hidden;
    total += numbers[i].value;
    error += numbers[i].error;
    magnitude += numbers[i].most();
  }
  error += (static_cast<double>(count) + 4) * (unitRoundoff * magnitude + underflow);
  const double least = std::abs(total) - error;
  // Nor may the dividend or the quotient overflow.
  if (!known || !(magnitude < overflow) || !(least > 1e-30) || !(magnitude / least < overflow)) {
    std::fill_n(numbers, count, Bounded::anything());
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const double quotient = numbers[i].value / total;
    const double off = (numbers[i].error + std::abs(quotient) * error) / least;
    numbers[i] =
        roundResult(quotient, off + 4 * unitRoundoff * (std::abs(quotient) + off) + underflow);
  }
}

template <> void Interpreter::evaluate(DivideBySumOp op) {
  BoundedTensor result = of(op.getInput());
  if (!fits(op, result.width(), segments.at(op.getKeys()))) {
    return;
  }
  for (int64_t row = 0; row < result.rows(); ++row) {
    divideRowBySum(&result.at(row, 0), static_cast<size_t>(result.width()));
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(ConvolveKeysOp op) {
  const BoundedTensor &input = of(op.getInput()), &weight = parameter(op.getWeight());
  if (!fitsScores(op, input, segments.at(op.getQueries()), segments.at(op.getKeys()))) {
    return;
  }
  const int64_t heads = input.shape[1], keys = input.shape[2], elements = weight.shape[2];
  BoundedTensor result({input.shape[0], keys, weight.shape[0]});
  size_t next = 0;
  overIndices(result.shape, [&](llvm::ArrayRef<int64_t> index) {
    ProductSum total;
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t j = 0; j < elements; ++j) {
        const int64_t key = index[1] + j - elements / 2;
        if (key >= 0 && key < keys) {
          total.add(input.at(index[0] * heads + head, key), weight.at(index[2] * heads + head, j));
        }
      }
    }
    result.elements[next++] = total.finish();
  });
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(SoftmaxOp op) {
  BoundedTensor result = of(op.getInput());
  if (!fits(op, result.width(), segments.at(op.getKeys()))) {
    return;
  }
  for (int64_t row = 0; row < result.rows(); ++row) {
    softmaxRow(&result.at(row, 0), static_cast<size_t>(result.width()));
  }
  define(op, std::move(result));
}

} // namespace heddle
