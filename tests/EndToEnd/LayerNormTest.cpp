// SPDX-License-Identifier: Apache-2.0
///
/// The error of a layer norm: the bound of docs/numerics.md, for programs as written and with every
/// pass, at widths where rows are often nearly constant.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace heddle {
namespace {

constexpr double unit = 0x1p-24;

/// A row, and for each element the sum of the magnitudes that it was computed from.
struct Row {
  std::vector<double> values, magnitudes;
};

Row mapLinear(const Row &row, const Matrix &weight, const Matrix &bias) {
  Row result;
  for (int64_t i = 0; i < weight.rows; ++i) {
    double value = bias.at(i), magnitude = std::abs(bias.at(i));
    for (int64_t j = 0; j < weight.columns; ++j) {
      value += weight.at(i, j) * row.values[j];
      magnitude += std::abs(weight.at(i, j)) * row.magnitudes[j];
    }
    result.values.push_back(value);
    result.magnitudes.push_back(magnitude);
  }
  return result;
}

struct NormParameters {
  Matrix table, inner, innerBias, outer, outerBias, gain, shift;

  NormParameters(int64_t width, std::mt19937 &random)
      : table(randomMatrix("table", vocabulary, width, random)),
        inner(randomMatrix("inner", width, width, random)),
        innerBias(randomMatrix("inner_bias", width, 0, random)),
        outer(randomMatrix("outer", width, width, random)),
        outerBias(randomMatrix("outer_bias", width, 0, random)),
        gain(randomMatrix("gain", width, 0, random)),
        shift(randomMatrix("shift", width, 0, random)) {}

  std::string compile(const std::vector<std::string> &options) const {
    const int64_t width = table.columns;
    const std::string rows = rowsType(width), type = " : " + rows + " -> " + rows + "\n";
    return compileProgram({table, inner, innerBias, outer, outerBias, gain, shift}, width,
                          gatherText("x", "table", width) +
                              "  %y = transformer.linear %x, @inner, @inner_bias" + type +
                              "  %z = transformer.linear %y, @outer, @outer_bias" + type +
                              "  %out = transformer.layer_norm %z, @gain, @shift "
                              "{epsilon = 1.0e-5 : f32} : " +
                              rows + "\n",
                          options);
  }
};

class LayerNorm : public testing::TestWithParam<int> {};

TEST_P(LayerNorm, KeepsItsBound) {
  const int64_t width = GetParam();
  for (uint32_t seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    const NormParameters of(width, random);
    Ragged batch;
    std::vector<int32_t> ids(vocabulary);
    std::iota(ids.begin(), ids.end(), 0);
    batch.append(ids);
    for (const std::vector<std::string> &options : {std::vector<std::string>(), withoutPasses()}) {
      const std::string binary = of.compile(options);
      ASSERT_FALSE(binary.empty());
      const std::vector<float> out = runBinary(binary, batch)["out"];
      ASSERT_EQ(out.size(), ids.size() * width);
      for (int32_t id : ids) {
        Row row;
        for (int64_t j = 0; j < width; ++j) {
          row.values.push_back(of.table.at(id, j));
          row.magnitudes.push_back(std::abs(of.table.at(id, j)));
        }
        row = mapLinear(mapLinear(row, of.inner, of.innerBias), of.outer, of.outerBias);
        double mean = 0, variance = 0, error = 0;
        for (int64_t j = 0; j < width; ++j) {
          mean += row.values[j] / double(width);
          error = std::max(error, unit * (2 * double(width) + 8) * row.magnitudes[j]);
        }
        for (double value : row.values) {
          variance += (value - mean) * (value - mean) / double(width);
        }
        const double deviation = std::sqrt(variance + 1e-5);
        const double lost = (2 + std::sqrt(double(width) - 1)) * error / deviation;
        for (int64_t j = 0; j < width; ++j) {
          const double norm = (row.values[j] - mean) / deviation;
          const double exact = norm * of.gain.at(j) + of.shift.at(j);
          const double own = 4 * unit * (std::abs(norm * of.gain.at(j)) + std::abs(of.shift.at(j)));
          EXPECT_NEAR(out[id * width + j], exact, std::abs(of.gain.at(j)) * lost + own)
              << "seed " << seed << " row " << id << " deviation " << deviation;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Narrow, LayerNorm, testing::Values(2, 3, 24));

} // namespace
} // namespace heddle
