// SPDX-License-Identifier: Apache-2.0
///
/// Integer products: --precision int8, int8-g128 and int4. Every target gives the bits that the
/// description of #dataflow.contract defines: the codes of a row, the sums of their products, and
/// their conversion to f32. Tables and weights are multiples of 1/64 whose maximum is 127/64, or
/// for 4 bits 15/64 above the minimum, so that quantisation is exact.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"
#include "tests/runtime/Session/TestDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace heddle {
namespace {

constexpr int largest = 127;
constexpr float step = 1.0F / 64;

/// Returns the targets of programs, with the emulated GPU where compileModel() would add it.
std::string targets() { return presentTargets() + (testsCpu() ? "" : "," + gpuTarget()); }

/// Groups of columns and the widths of one, and the number of elements that share a scale; 0: all
/// of a row.
struct IntegerCase {
  const char *precision;
  int64_t shared;
  int64_t groups, n, k;
};

void PrintTo(const IntegerCase &c, std::ostream *stream) {
  *stream << c.precision << ", " << c.groups << " groups of " << c.n << "x" << c.k;
}

/// Returns multiples of `step`, with the maximum among every `shared` elements of a row.
Matrix multiples(const std::string &name, int64_t rows, int64_t columns, int64_t shared,
                 std::mt19937 &random) {
  Matrix matrix{name, rows, columns, std::vector<float>(rows * columns)};
  std::uniform_int_distribution<int> codes(-largest, largest);
  std::ranges::generate(matrix.values, [&] { return static_cast<float>(codes(random)) * step; });
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t begin = 0; begin < columns; begin += shared) {
      const int64_t end = std::min(begin + shared, columns);
      const auto place = static_cast<int64_t>(random() % (end - begin));
      matrix.values[row * columns + begin + place] =
          random() % 2 == 0 ? largest * step : -largest * step;
    }
  }
  return matrix;
}

/// Returns multiples of `step` in 4 bits: the maximum of every `shared` elements of a row is 15
/// above the minimum, or 0.
Matrix multiplesOf4Bits(const std::string &name, int64_t rows, int64_t columns, int64_t shared,
                        std::mt19937 &random) {
  constexpr int largestCode = 15;
  Matrix matrix{name, rows, columns, std::vector<float>(rows * columns)};
  std::uniform_int_distribution<int> draw(0, largestCode);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t begin = 0; begin < columns; begin += shared) {
      const int64_t end = std::min(begin + shared, columns);
      std::vector<int> codes(end - begin);
      std::ranges::generate(codes, [&] { return draw(random); });
      // A single element has the largest code, and the zero point is the minimum.
      const int zero = codes.size() == 1 ? 0 : draw(random);
      const size_t place = random() % codes.size();
      codes[(place + 1) % codes.size()] = 0;
      codes[place] = largestCode;
      std::ranges::transform(codes, matrix.values.begin() + row * columns + begin,
                             [&](int code) { return static_cast<float>(code - zero) * step; });
    }
  }
  return matrix;
}

/// The elements of a row that share a scale, as codes minus the zero point.
struct Codes {
  float scale;
  std::vector<int64_t> codes;
};

Codes quantize(std::span<const float> elements) {
  const float least = std::min(0.0F, *std::ranges::min_element(elements));
  const float most = std::max(0.0F, *std::ranges::max_element(elements));
  Codes result{most / 255 - least / 255, {}};
  const float inverse = 1 / result.scale;
  const auto zero = static_cast<int64_t>(std::nearbyint(-least * inverse));
  for (const float element : elements) {
    const auto code = static_cast<int64_t>(std::nearbyint(element * inverse)) + zero;
    result.codes.push_back(std::clamp<int64_t>(code, 0, 255) - zero);
  }
  return result;
}

/// Quantises with sign, as for products with 4-bit codes.
Codes quantizeSigned(std::span<const float> elements) {
  float most = 0;
  for (const float element : elements) {
    most = std::max(most, std::fabs(element));
  }
  Codes result{most / 127, {}};
  const float inverse = 1 / result.scale;
  for (const float element : elements) {
    const auto code = static_cast<int64_t>(std::nearbyint(element * inverse));
    result.codes.push_back(std::clamp<int64_t>(code, -127, 127));
  }
  return result;
}

class IntegerProducts : public testing::TestWithParam<IntegerCase> {
protected:
  IntegerProducts()
      : c(GetParam()), shared(c.shared == 0 ? c.k : c.shared), random(c.n * 1000 + c.k),
        x(multiples("x", vocabulary, c.groups * c.k, c.groups * c.k, random)),
        w(has4Bits() ? multiplesOf4Bits("w", c.groups * c.n, c.k, shared, random)
                     : multiples("w", c.groups * c.n, c.k, shared, random)) {}

  bool has4Bits() const { return std::string_view(c.precision).starts_with("int4"); }

  /// Returns an element of the product of a row.
  float elementOf(int32_t id, int64_t column) const {
    float sum = 0;
    const float *row = x.values.data() + id * x.columns + column / c.n * c.k;
    const float *weights = w.values.data() + column * c.k;
    for (int64_t begin = 0; begin < c.k; begin += shared) {
      const int64_t count = std::min(shared, c.k - begin);
      const std::span<const float> elements(row + begin, static_cast<size_t>(count));
      const Codes codes = has4Bits() ? quantizeSigned(elements) : quantize(elements);
      int64_t exact = 0;
      for (int64_t i = 0; i < count; ++i) {
        exact += codes.codes[i] * static_cast<int64_t>(weights[begin + i] / step);
      }
      sum = std::fma(static_cast<float>(exact), codes.scale * step, sum);
    }
    return sum;
  }

  std::string compile() const {
    const Matrix zeros = filled("b", c.groups * c.n, 0, 0);
    const std::string rows = rowsType(c.groups * c.k), result = rowsType(c.groups * c.n);
    return compileProgram(
        {x, w, zeros}, c.groups * c.n,
        gatherText("x", "x", c.groups * c.k) +
            "  %out = transformer.grouped_linear %x, @w, @b {groups = " + std::to_string(c.groups) +
            " : i64} : " + rows + " -> " + result + "\n",
        {"--precision=" + std::string(c.precision), targets()});
  }

  IntegerCase c;
  int64_t shared;
  std::mt19937 random;
  Matrix x, w;
};

// Every number of rows up to more than two tiles, then several blocks of rows.
constexpr int rowCounts[] = {1, 2, 3, 5, 6, 7, 8, 9, 13, 16, 17, 19, 700};

TEST_P(IntegerProducts, HaveTheBitsOfTheirDescription) {
  const std::string binary = compile();
  ASSERT_FALSE(binary.empty());
  const int64_t width = c.groups * c.n;
  std::vector<float> expected;
  for (int32_t id = 0; id < vocabulary; ++id) {
    for (int64_t column = 0; column < width; ++column) {
      expected.push_back(elementOf(id, column));
    }
  }
  for (const std::string &isa : runnableTargets(binary)) {
    for (const int threads : {1, 2}) {
      for (const int rows : rowCounts) {
        const Ragged batch = batchOf(rows);
        const std::vector<float> out = runBinary(binary, batch, isa, threads)["out"];
        ASSERT_EQ(out.size(), size_t(rows * width));
        for (int64_t i = 0; i < rows * width; ++i) {
          ASSERT_EQ(out[i], expected[batch.ids[i / width] * width + i % width])
              << isa << " row " << i / width << " of " << rows << " column " << i % width;
        }
      }
    }
  }
}

// Rows of zeros, of numbers so small that they have no scale, of infinities and of NaN.
TEST_P(IntegerProducts, OfRowsAtTheEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto row = [&](int32_t id) { return x.values.begin() + id * x.columns; };
  std::fill_n(row(0), x.columns, 0.0F);
  std::fill_n(row(1), x.columns, std::numeric_limits<float>::denorm_min());
  *row(2) = infinity;
  *row(4) = std::numeric_limits<float>::quiet_NaN();
  std::transform(row(5), row(6), row(5), [](float value) { return std::fabs(value); });
  std::transform(row(6), row(7), row(6), [](float value) { return -std::fabs(value); });
  const std::string binary = compile();
  ASSERT_FALSE(binary.empty());
  Ragged batch;
  batch.append(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6});
  for (const std::string &isa : runnableTargets(binary)) {
    const std::vector<float> out = runBinary(binary, batch, isa)["out"];
    const int64_t width = c.groups * c.n;
    ASSERT_EQ(out.size(), size_t(7 * width));
    for (int64_t column = 0; column < width; ++column) {
      EXPECT_EQ(out[column], 0) << isa;
      EXPECT_EQ(out[width + column], 0) << isa;
      // A table has one scale per row: all of it is NaN.
      EXPECT_TRUE(std::isnan(out[2 * width + column])) << isa;
      EXPECT_TRUE(std::isnan(out[4 * width + column])) << isa;
      for (const int32_t id : {3, 5, 6}) {
        EXPECT_EQ(out[id * width + column], elementOf(id, column)) << isa << " row " << id;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, IntegerProducts,
    testing::Values(IntegerCase{"int8", 0, 1, 48, 64}, IntegerCase{"int8", 0, 1, 50, 7},
                    IntegerCase{"int8", 0, 1, 1, 1}, IntegerCase{"int8", 0, 1, 97, 333},
                    IntegerCase{"int8", 0, 3, 20, 18}, IntegerCase{"int8", 0, 1, 24, 9000},
                    IntegerCase{"int8-g128", 128, 1, 48, 256},
                    IntegerCase{"int8-g128", 128, 1, 50, 300},
                    IntegerCase{"int8-g128", 128, 2, 33, 129}, IntegerCase{"int4", 32, 1, 48, 64},
                    IntegerCase{"int4", 32, 1, 50, 7}, IntegerCase{"int4", 32, 1, 1, 1},
                    IntegerCase{"int4", 32, 1, 97, 333}, IntegerCase{"int4", 32, 3, 20, 45},
                    IntegerCase{"int4-g8", 8, 1, 24, 42}, IntegerCase{"int4-g40", 40, 1, 50, 333},
                    IntegerCase{"int4-g128", 128, 2, 33, 129},
                    IntegerCase{"int4-g65536", 65536, 1, 24, 9000}));

} // namespace
} // namespace heddle
