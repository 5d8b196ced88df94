// SPDX-License-Identifier: Apache-2.0
///
/// Rules of windows that slide over rows, by the formula of their margins.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace mlir;

namespace heddle {

using namespace transformer;

template <> void Interpreter::evaluate(StridedOp op) {
  const int64_t across = acrossOf(op.getRows(), static_cast<int64_t>(op.getAcross()));
  const auto left = [](int64_t places, uint64_t stride) {
    return (places + static_cast<int64_t>(stride) - 1) / static_cast<int64_t>(stride);
  };
  const int64_t lines = left(segments.at(op.getRows()) / across, op.getDown());
  segments[op] = lines * left(across, op.getRight());
  widths[op] = left(across, op.getRight());
}

namespace {
/// One axis of a window.
struct Axis {
  int64_t places, elements, stride, dilation;
  bool causal;

  int64_t after() const { return (places + stride - 1) / stride; }
  /// Returns the position of an element for the result's position `place`; nullopt outside.
  std::optional<int64_t> at(int64_t place, int64_t element) const {
    const int64_t reach = (elements - 1) * dilation;
    const int64_t margins = std::max<int64_t>((after() - 1) * stride + reach + 1 - places, 0);
    const int64_t found = place * stride - (causal ? reach : margins / 2) + element * dilation;
    return found >= 0 && found < places ? std::optional(found) : std::nullopt;
  }
};

/// Returns the larger of two numbers, either of which may be larger in f32, or NaN.
Bounded largerOf(const Bounded &a, const Bounded &b) {
  Bounded larger = a;
  larger.value = b.value > a.value || std::isnan(b.value) ? b.value : a.value;
  larger.error = std::max(a.error, b.error);
  larger.magnitude = std::max(a.magnitude, b.magnitude);
  return larger;
}
} // namespace

template <> void Interpreter::evaluate(SlideOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  const BoundedTensor &input = of(op.getInput());
  const BoundedTensor *weight = op.getWeight() ? &parameter(*op.getWeight()) : nullptr;
  const WindowAttr window = op.getWindow();
  const int64_t across = acrossOf(op.getRows(), window.getAcross());
  const Axis down{input.rows() / across, window.getHeight(), window.getStrideDown(),
                  window.getDilationDown(), window.getCausal()};
  const Axis right{across, window.getWidth(), window.getStrideRight(), window.getDilationRight(),
                   false};
  BoundedTensor result({down.after() * right.after(), op.getType().getDimSize(1)});
  const auto groups = static_cast<int64_t>(op.getGroups());
  const int64_t own = input.width() / groups, elements = window.getElements();
  for (int64_t row = 0; row < result.rows(); ++row) {
    const auto elementAt = [&](int64_t j, int64_t column) -> std::optional<Bounded> {
      const auto line = down.at(row / right.after(), j / window.getWidth());
      const auto place = right.at(row % right.after(), j % window.getWidth());
      return line && place ? std::optional(input.at(*line * right.places + *place, column))
                           : std::nullopt;
    };
    for (int64_t column = 0; column < result.width(); ++column) {
      if (op.getKind() == SlideKind::Patches) {
        const int64_t group = column / (own * elements), place = column % (own * elements);
        result.at(row, column) =
            elementAt(place / own, group * own + place % own).value_or(Bounded::exact(0));
        continue;
      }
      ProductSum total;
      std::optional<Bounded> largest;
      for (int64_t j = 0; j < elements; ++j) {
        std::optional<Bounded> x = elementAt(j, column);
        if (weight && x) {
          total.add(weight->at(column, j), *x);
        }
        x = window.getCausal() ? x.value_or(Bounded::exact(0)) : x;
        largest = x && largest ? largerOf(*x, *largest) : x ? x : largest;
      }
      result.at(row, column) = weight ? total.finish() : *largest;
    }
  }
  define(op, std::move(result));
}

} // namespace heddle
