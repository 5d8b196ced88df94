// SPDX-License-Identifier: Apache-2.0
///
/// Converts between rows and tensors of files whose axes are in another order (PortInfo::axes),
/// such as keys [batch, heads, rows, size].
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_PORTAXES_H
#define HEDDLE_RUNTIME_TOOLS_RUN_PORTAXES_H

#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The sizes of the axes that are not parts of a row.
struct AxisSizes {
  int64_t sequences = 1;
  int64_t rows = 0;
  /// Only of weights.
  int64_t keys = 0;
};

/// A tensor as rows: its sizes, and its values [sequences, rows, columns].
struct TensorRows {
  AxisSizes sizes;
  std::vector<float> values;
};

/// Reads the tensor of an input with axes. InvalidArgument if it has other sizes than these.
Result<TensorRows> readAxes(const PortInfo &input, const SafetensorsTensor &tensor,
                            std::string_view where);

/// Returns the shape of the tensor of an output with axes.
std::vector<int64_t> axesShape(const PortInfo &output, const AxisSizes &sizes);

/// Returns the values of that tensor; `rows` are [sequences, rows, columns], and those of weights
/// [sequences, rows, heads, keys].
std::vector<float> writeAxes(const PortInfo &output, const AxisSizes &sizes,
                             std::span<const float> rows);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_PORTAXES_H
