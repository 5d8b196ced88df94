// SPDX-License-Identifier: Apache-2.0
///
/// Linear maps of groups of columns on every target, against their naive twin in double precision:
/// groups whose columns end inside a panel or a vector, sums of one term and of many, a single
/// group.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heddle {
namespace {

/// The groups, and the widths of one of them.
struct GroupCase {
  int64_t groups, n, k;
};

void PrintTo(const GroupCase &c, std::ostream *stream) {
  *stream << c.groups << " groups of " << c.n << "x" << c.k;
}

/// Returns the line that maps %x to `result`.
std::string groupedText(const GroupCase &c, const std::string &result) {
  return "  %" + result +
         " = transformer.grouped_linear %x, @w, @b {groups = " + std::to_string(c.groups) +
         " : i64} : " + rowsType(c.groups * c.k) + " -> " + rowsType(c.groups * c.n) + "\n";
}

/// Returns x W^T + b of one row, group by group.
std::vector<double> twinOfRow(const GroupCase &c, const Matrix &x, int32_t id, const Matrix &w,
                              const Matrix &b) {
  std::vector<double> row(c.groups * c.n);
  for (int64_t column = 0; column < c.groups * c.n; ++column) {
    row[column] = b.at(column);
    for (int64_t i = 0; i < c.k; ++i) {
      row[column] += x.at(id, column / c.n * c.k + i) * w.at(column, i);
    }
  }
  return row;
}

// Every number of rows up to more than two tiles, then several blocks of rows.
constexpr int rowCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 400};

class Grouped : public testing::TestWithParam<GroupCase> {
protected:
  Grouped()
      : c(GetParam()), random(c.groups * 10000 + c.n * 100 + c.k),
        x(randomMatrix("x", vocabulary, c.groups * c.k, random)),
        w(randomMatrix("w", c.groups * c.n, c.k, random)),
        b(randomMatrix("b", c.groups * c.n, 0, random)) {
    // A table's rows are divided by the square root of their width, which is that of all groups.
    for (float &value : x.values) {
      value *= std::sqrt(static_cast<float>(c.groups * c.k));
    }
  }

  GroupCase c;
  std::mt19937 random;
  Matrix x, w, b;
};

TEST_P(Grouped, AgreesWithItsTwin) {
  int64_t width = c.groups * c.n;
  std::string binary = compileProgram({x, w, b}, width,
                                      gatherText("x", "x", c.groups * c.k) + groupedText(c, "out"));
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    for (int rows : rowCounts) {
      Ragged batch = batchOf(rows);
      std::vector<float> out = runBinary(binary, batch, isa)["out"];
      ASSERT_EQ(out.size(), size_t(rows * width));
      for (int row = 0; row < rows; ++row) {
        std::vector<double> twin = twinOfRow(c, x, batch.ids[row], w, b);
        for (int64_t column = 0; column < width; ++column) {
          ASSERT_NEAR(out[row * width + column], twin[column], 2e-5)
              << isa << " row " << row << " of " << rows << " column " << column;
        }
      }
    }
  }
}

// layer_norm(relu(x W^T + b) * 0.5 + residual), all of it in the kernel.
TEST_P(Grouped, EpilogueAgreesWithItsTwin) {
  int64_t width = c.groups * c.n;
  Matrix residual = randomMatrix("residual", vocabulary, width, random);
  Matrix gain = randomMatrix("gain", width, 0, random),
         shift = randomMatrix("shift", width, 0, random);
  std::string type = rowsType(width);
  std::string binary = compileProgram(
      {x, w, b, residual, gain, shift}, width,
      gatherText("x", "x", c.groups * c.k) + gatherText("r", "residual", width) +
          groupedText(c, "y") + "  %a = transformer.activate relu %y : " + type +
          "\n  %s = transformer.scale %a, 5.0e-1 : " + type +
          "\n  %t = transformer.add %s, %r : " + type + ", " + type +
          "\n  %out = transformer.layer_norm %t, @gain, @shift {epsilon = 1.0e-3 : f32} : " + type +
          "\n");
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    for (int rows : {1, 7, 8, 19, 100}) {
      Ragged batch = batchOf(rows);
      std::vector<float> out = runBinary(binary, batch, isa)["out"];
      ASSERT_EQ(out.size(), size_t(rows * width));
      for (int row = 0; row < rows; ++row) {
        std::vector<double> twin = twinOfRow(c, x, batch.ids[row], w, b);
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < width; ++i) {
          twin[i] = std::max(twin[i], 0.0) * 0.5 + residual.at(batch.ids[row], i);
          mean += twin[i] / double(width);
        }
        for (double value : twin) {
          variance += (value - mean) * (value - mean) / double(width);
        }
        for (int64_t i = 0; i < width; ++i) {
          double expected =
              (twin[i] - mean) / std::sqrt(variance + 1e-3) * gain.at(i) + shift.at(i);
          ASSERT_NEAR(out[row * width + i], expected, 5e-5)
              << isa << " row " << row << " of " << rows << " column " << i;
        }
      }
    }
  }
}

// A row has the same bits alone, in any batch, and for any division of rows and columns among
// threads.
TEST_P(Grouped, RowsHaveTheSameBits) {
  int64_t width = c.groups * c.n;
  std::string binary =
      compileProgram({x, w, b}, width,
                     gatherText("x", "x", c.groups * c.k) + groupedText(c, "y") +
                         "  %out = transformer.activate relu %y : " + rowsType(width) + "\n");
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<float> expected = runBinary(binary, batchOf(400), isa)["out"];
    ASSERT_EQ(expected.size(), size_t(400 * width));
    for (int threads : {1, 2, 3}) {
      for (int rows : rowCounts) {
        std::vector<float> out = runBinary(binary, batchOf(rows), isa, threads)["out"];
        EXPECT_EQ(out, std::vector<float>(expected.begin(), expected.begin() + rows * width))
            << isa << ", " << rows << " rows on " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Grouped,
                         testing::Values(GroupCase{1, 47, 7}, GroupCase{2, 1, 1},
                                         GroupCase{2, 49, 7}, GroupCase{2, 96, 33},
                                         GroupCase{3, 15, 64}, GroupCase{3, 100, 1},
                                         GroupCase{8, 16, 64}, GroupCase{8, 30, 7},
                                         GroupCase{8, 256, 64}));

} // namespace
} // namespace heddle
