// SPDX-License-Identifier: Apache-2.0
///
/// Tensors of files whose axes are in another order than those of rows.
#include "runtime/Tools/Run/PortAxes.h"

#include "heddle/RectangleEntries.h"

#include <gtest/gtest.h>
#include <numeric>

namespace heddle::tools {
namespace {

/// A port with two heads of three columns.
PortInfo headedPort(std::vector<int64_t> axes) {
  PortInfo port{"key", ElementType::F32, {tokensDimension, 6}};
  port.axes = std::move(axes);
  return port;
}

/// Values 0, 1, 2, ... of a tensor of this shape.
struct Counted {
  explicit Counted(std::vector<int64_t> shape) {
    const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    values.resize(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.0F);
    tensor = {"key", ElementType::F32, std::move(shape), std::as_bytes(std::span(values))};
  }
  std::vector<float> values;
  SafetensorsTensor tensor;
};

TEST(PortAxes, BecomeRowsAndBack) {
  // Two sequences of two rows, in each order of the axes.
  const std::vector<std::vector<int64_t>> orders = {{sequencesAxis, 2, rowsAxis, 3},
                                                    {sequencesAxis, 2, 3, rowsAxis},
                                                    {2, rowsAxis, sequencesAxis, 3},
                                                    {rowsAxis, sequencesAxis, 6}};
  for (const std::vector<int64_t> &axes : orders) {
    const PortInfo port = headedPort(axes);
    const AxisSizes sizes{2, 2, 0};
    const Counted counted(axesShape(port, sizes));
    const Result<TensorRows> rows = readAxes(port, counted.tensor, "in");
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    EXPECT_EQ(rows->sizes.sequences, 2);
    EXPECT_EQ(rows->sizes.rows, 2);
    EXPECT_EQ(writeAxes(port, sizes, rows->values), counted.values);
  }
  const PortInfo port = headedPort({sequencesAxis, 2, rowsAxis, 3});
  const Counted counted({1, 2, 2, 3});
  EXPECT_EQ(readAxes(port, counted.tensor, "in")->values,
            (std::vector<float>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
}

TEST(PortAxes, MayHaveNoRows) {
  const PortInfo port = headedPort({sequencesAxis, 2, rowsAxis, 3});
  const Counted counted({3, 2, 0, 3});
  const Result<TensorRows> rows = readAxes(port, counted.tensor, "in");
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->sizes.rows, 0);
  EXPECT_TRUE(rows->values.empty());
}

TEST(PortAxes, OfWeightsHaveKeysLast) {
  PortInfo port{"weights", ElementType::F32, {tokensDimension, 2, longestDimension}};
  port.axes = {sequencesAxis, 2, rowsAxis, sourceKeysAxis};
  const AxisSizes sizes{1, 2, 3};
  EXPECT_EQ(axesShape(port, sizes), (std::vector<int64_t>{1, 2, 2, 3}));
  const Counted rows({1, 2, 2, 3});
  EXPECT_EQ(writeAxes(port, sizes, rows.values),
            (std::vector<float>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
}

TEST(PortAxes, OtherShapesAreRefused) {
  const PortInfo port = headedPort({sequencesAxis, 2, rowsAxis, 3});
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{1, 3, 2, 2}, std::vector<int64_t>{1, 2, 6}}) {
    const Counted counted(shape);
    EXPECT_EQ(readAxes(port, counted.tensor, "in").status().message(),
              "in: tensor \"key\" has shape " + formatShape(shape) +
                  ", expected [sequences, 2, rows, 3]");
  }
}

} // namespace
} // namespace heddle::tools
