// SPDX-License-Identifier: Apache-2.0
///
/// Permutes the axes of tensors.
#include "runtime/Tools/Run/PortAxes.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"
#include "heddle/RectangleEntries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::tools {

/// Returns the axes of a port in the order of rows: sequences, rows, the parts of a row, keys.
static std::vector<size_t> orderOfRows(const PortInfo &port) {
  std::vector<size_t> order;
  const auto append = [&](const auto &isNext) {
    for (size_t axis = 0; axis < port.axes.size(); ++axis) {
      if (isNext(port.axes[axis])) {
        order.push_back(axis);
      }
    }
  };
  append([](int64_t axis) { return axis == sequencesAxis; });
  append([](int64_t axis) { return axis == rowsAxis; });
  append([](int64_t axis) { return axis > 0; });
  append([](int64_t axis) { return axis < rowsAxis; });
  return order;
}

/// Copies the elements of a tensor: axis i of the result is axis order[i] of `from`.
static std::vector<float> permuted(std::span<const float> from, std::span<const int64_t> shape,
                                   std::span<const size_t> order) {
  std::vector<size_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * static_cast<size_t>(shape[axis]);
  }
  std::vector<float> to(from.size());
  std::vector<int64_t> index(shape.size(), 0);
  size_t place = 0;
  for (float &value : to) {
    value = from[place];
    for (size_t axis = order.size(); axis-- > 0;) {
      const size_t own = order[axis];
      place += strides[own];
      if (++index[axis] < shape[own]) {
        break;
      }
      place -= strides[own] * static_cast<size_t>(shape[own]);
      index[axis] = 0;
    }
  }
  return to;
}

std::vector<int64_t> axesShape(const PortInfo &port, const AxisSizes &sizes) {
  std::vector<int64_t> shape;
  for (const int64_t axis : port.axes) {
    shape.push_back(axis > 0                ? axis
                    : axis == sequencesAxis ? sizes.sequences
                    : axis == rowsAxis      ? sizes.rows
                                            : sizes.keys);
  }
  return shape;
}

Result<TensorRows> readAxes(const PortInfo &input, const SafetensorsTensor &tensor,
                            std::string_view where) {
  TensorRows result;
  bool fits = tensor.shape.size() == input.axes.size();
  for (size_t axis = 0; fits && axis < input.axes.size(); ++axis) {
    const int64_t own = input.axes[axis], size = tensor.shape[axis];
    result.sizes.sequences = own == sequencesAxis ? size : result.sizes.sequences;
    result.sizes.rows = own == rowsAxis ? size : result.sizes.rows;
    fits = own < 0 || own == size;
  }
  if (!fits) {
    std::vector<std::string> expected;
    for (const int64_t axis : input.axes) {
      expected.push_back(axis == sequencesAxis ? "sequences"
                         : axis == rowsAxis    ? "rows"
                                               : fmt::to_string(axis));
    }
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {} has shape {}, expected [{}]", where,
                                    quote(tensor.name), formatShape(tensor.shape),
                                    fmt::join(expected, ", ")));
  }
  std::vector<float> values(tensor.bytes.size() / infoOf(tensor.dtype).bytes());
  HEDDLE_TRY_WITH(convertToF32(tensor.dtype, tensor.bytes, values),
                  fmt::format("{}: tensor {}", where, quote(tensor.name)));
  result.values = permuted(values, tensor.shape, orderOfRows(input));
  return result;
}

std::vector<float> writeAxes(const PortInfo &output, const AxisSizes &sizes,
                             std::span<const float> rows) {
  const std::vector<size_t> order = orderOfRows(output);
  const std::vector<int64_t> shape = axesShape(output, sizes);
  std::vector<int64_t> shapeOfRows;
  std::vector<size_t> back(order.size());
  for (size_t axis = 0; axis < order.size(); ++axis) {
    shapeOfRows.push_back(shape[order[axis]]);
    back[order[axis]] = axis;
  }
  return permuted(rows, shapeOfRows, back);
}

} // namespace heddle::tools
