// SPDX-License-Identifier: Apache-2.0
///
/// Rules of rows that choose. The choice of f32 is known if bounds allow only one order of the
/// elements; otherwise, everything that depends on the choice may be anything.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace heddle {

using namespace transformer;

/// An unknown choice.
static constexpr int64_t anyChoice = -1;

/// Returns the number of choices of each row in these segments.
static int64_t countOf(Value choices) {
  return static_cast<int64_t>(choices.getDefiningOp<ChoicesOp>().getCount());
}

template <> void Interpreter::evaluate(ChoicesOp op) {
  const int64_t rows = segments.at(op.getRows());
  segments[op] = rows * static_cast<int64_t>(op.getCount());
}

/// Returns whether f32 always orders one column of a row before another.
static bool isBefore(const BoundedTensor &x, int64_t row, int64_t left, int64_t right) {
  const Bounded &a = x.at(row, left), &b = x.at(row, right);
  if (!a.isKnown() || !b.isKnown() || a.hidden || b.hidden) {
    return false;
  }
  return a.low() > b.high() || (a.error == 0 && b.error == 0 && a.value == b.value && left < right);
}

template <> void Interpreter::evaluate(TopKOp op) {
  const BoundedTensor &input = of(op.getInput());
  const int64_t count = countOf(op.getChoices());
  if (!fits(op, input.rows() * count, segments.at(op.getChoices()))) {
    return;
  }
  BoundedTensor values({input.rows(), count});
  std::vector<int64_t> &chosen = ids[op.getChoice()];
  chosen.assign(static_cast<size_t>(input.rows() * count), anyChoice);
  for (int64_t row = 0; row < input.rows(); ++row) {
    std::vector<int64_t> columns(static_cast<size_t>(input.width()));
    std::iota(columns.begin(), columns.end(), 0);
    std::ranges::sort(columns, [&](int64_t left, int64_t right) {
      return std::pair(-input.at(row, left).value, left) <
             std::pair(-input.at(row, right).value, right);
    });
    for (int64_t choice = 0; choice < count; ++choice) {
      const int64_t column = columns[static_cast<size_t>(choice)];
      bool isKnown = true;
      for (int64_t place = 0; place < input.width(); ++place) {
        const int64_t other = columns[static_cast<size_t>(place)];
        isKnown =
            isKnown && (place == choice || (place < choice ? isBefore(input, row, other, column)
                                                           : isBefore(input, row, column, other)));
      }
      values.at(row, choice) = isKnown ? input.at(row, column) : Bounded::anything();
      chosen[static_cast<size_t>(row * count + choice)] = isKnown ? column : anyChoice;
    }
  }
  define(op.getValue(), std::move(values));
}

template <> void Interpreter::evaluate(RepeatOp op) {
  const BoundedTensor &input = of(op.getInput());
  const int64_t count = countOf(op.getChoices());
  if (!fits(op, input.rows() * count, segments.at(op.getChoices()))) {
    return;
  }
  BoundedTensor result({input.rows() * count, input.width()});
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      result.at(row, column) = input.at(row / count, column);
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(SplitRowsOp op) {
  BoundedTensor result = of(op.getInput());
  if (!fits(op, result.rows() * countOf(op.getChoices()), segments.at(op.getChoices()))) {
    return;
  }
  result.shape = {segments.at(op.getChoices()), op.getType().getDimSize(1)};
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(JoinRowsOp op) {
  if (!fitsIn(op, op.getInput(), op.getChoices())) {
    return;
  }
  BoundedTensor result = of(op.getInput());
  result.shape = {result.rows() / countOf(op.getChoices()), op.getType().getDimSize(1)};
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(PlaceColumnsOp op) {
  const BoundedTensor &input = of(op.getValue());
  const std::vector<int64_t> &chosen = ids.at(op.getChoice());
  if (!fits(op, input.rows() * input.width(), static_cast<int64_t>(chosen.size()))) {
    return;
  }
  BoundedTensor result({input.rows(), op.getType().getDimSize(1)});
  std::fill(result.elements.begin(), result.elements.end(), Bounded::exact(0));
  for (int64_t row = 0; row < input.rows(); ++row) {
    for (int64_t choice = 0; choice < input.width(); ++choice) {
      const int64_t column = chosen[static_cast<size_t>(row * input.width() + choice)];
      if (column == anyChoice) {
        std::fill_n(&result.at(row, 0), result.width(), Bounded::anything());
        break;
      }
      result.at(row, column) = input.at(row, choice);
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(ChosenLinearOp op) {
  const BoundedTensor &input = of(op.getInput());
  const BoundedTensor &weight = parameter(op.getWeight());
  const BoundedTensor bias = op.getBias() ? parameter(*op.getBias()) : BoundedTensor();
  const std::vector<int64_t> &chosen = ids.at(op.getChoice());
  if (!fits(op, input.rows(), static_cast<int64_t>(chosen.size()))) {
    return;
  }
  BoundedTensor result({input.rows(), op.getType().getDimSize(1)});
  for (int64_t row = 0; row < result.rows(); ++row) {
    const int64_t map = chosen[static_cast<size_t>(row)];
    // The runtime rejects numbers without a map.
    if (map < 0 || map >= static_cast<int64_t>(op.getMaps())) {
      std::fill_n(&result.at(row, 0), result.width(), Bounded::anything());
      continue;
    }
    for (int64_t column = 0; column < result.width(); ++column) {
      const int64_t place = map * result.width() + column;
      ProductSum total;
      for (int64_t i = 0; i < input.width(); ++i) {
        total.add(input.at(row, i), weight.at(place, i));
      }
      if (op.getBias()) {
        total.add(bias.elements[static_cast<size_t>(place)], Bounded::exact(1));
      }
      result.at(row, column) = total.finish();
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(RowSoftmaxOp op) {
  BoundedTensor result = of(op.getInput());
  for (int64_t row = 0; row < result.rows(); ++row) {
    softmaxRow(&result.at(row, 0), static_cast<size_t>(result.width()));
  }
  define(op, std::move(result));
}

} // namespace heddle
