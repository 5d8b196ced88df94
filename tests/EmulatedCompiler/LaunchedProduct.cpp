// SPDX-License-Identifier: Apache-2.0
///
/// Operands of a product, and its expected sums.
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include "compiler/Parameters/FloatProducts.h"

#include "llvm/Support/FormatVariadic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace heddle {

// --- results -----------------------------------------------------------------------------------

float ExpectedProduct::expected(int64_t row, int64_t column) const {
  // Volatile, so that the compiler of this file does not contract it to an FMA.
  volatile float biased = sumOf(row, column) + bias[size_t(column)];
  return biased + residual[size_t(row * n + column)];
}

int64_t ExpectedProduct::countDifferent(std::span<const float> values) const {
  int64_t different = 0;
  for (int64_t row = 0; row < rowCount; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      different += values[size_t(row * n + column)] != expected(row, column) ? 1 : 0;
    }
  }
  return different;
}

int64_t ExpectedProduct::panelOf(int64_t column) const {
  const int64_t panels = (ofGroup + ProductShape::panelColumns - 1) / ProductShape::panelColumns;
  return column / ofGroup * panels + column % ofGroup / ProductShape::panelColumns;
}

void ExpectedProduct::expectRight(const KernelLaunch &launch, const KernelOutcome &result) const {
  ASSERT_EQ(result.report, "");
  for (int64_t row = 0; row < rowCount; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const float found = result.values[size_t(row * n + column)];
      const int64_t panel = panelOf(column);
      const bool isOfLaunch = row >= launch.rowBegin && row < launch.rowEnd &&
                              panel >= launch.columnBegin && panel < launch.columnEnd;
      // NaN is what memory contains before.
      const float right =
          isOfLaunch ? expected(row, column) : std::numeric_limits<float>::quiet_NaN();
      ASSERT_TRUE(found == right || (std::isnan(found) && std::isnan(right)))
          << "row " << row << " column " << column << ": " << found << ", expected " << right;
    }
  }
}

void ExpectedProduct::fill(std::vector<float> &values, int64_t count, std::mt19937 &random) {
  std::uniform_real_distribution<float> number(-1, 1);
  values.resize(static_cast<size_t>(count));
  for (float &value : values) {
    value = number(random);
  }
}

// --- operands ----------------------------------------------------------------------------------

/// Clears the lower half of a number, which leaves a bf16 number.
static float truncated(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xFFFF0000U);
}

ProductOperands::ProductOperands(const ProductShape &shape, uint32_t seed)
    : ExpectedProduct(shape.rows, shape.columns(), shape.groups), shape(shape) {
  std::mt19937 random(seed);
  fill(rows, shape.rows * shape.rowElements(), random);
  fill(weights, shape.columns() * shape.k, random);
  fill(bias, shape.columns(), random);
  fill(residual, shape.rows * shape.columns(), random);
  if (shape.isBf16) {
    for (float &weight : weights) {
      weight = truncated(weight);
    }
  }
}

/// Rounds to bf16, ties to even.
static float rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return truncated(std::bit_cast<float>(bits + 0x7FFFU + (bits >> 16 & 1)));
}

/// Rounds to tf32, ties away from zero.
static float roundedToTf32(float value) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000U) & ~0x1FFFU);
}

namespace {
/// An f32 number as the sum of two tf32 numbers.
struct Halves {
  float high, low;

  explicit Halves(float value)
      : high(roundedToTf32(value)), low(roundedToTf32(value - roundedToTf32(value))) {}
};
} // namespace

/// Adds `product(k)` for several steps exactly and rounds once, like one tensor-core instruction.
template <typename Function>
static float addTogether(float sum, int64_t first, int64_t end, Function product) {
  double all = sum;
  for (int64_t k = first; k < end; ++k) {
    all += product(k);
  }
  return static_cast<float>(all);
}

float ProductOperands::sumOf(int64_t row, int64_t column) const {
  const float *const factors = rows.data() + row * shape.rowElements() + column / shape.n * shape.k;
  const float *const own = weights.data() + column * shape.k;
  float sum = 0;
  const bool isExact = shape.products == FloatProducts::Exact;
  if (!shape.roundsRows && isExact) {
    for (int64_t k = 0; k < shape.k; ++k) {
      sum = std::fma(factors[k], own[k], sum);
    }
    return sum;
  }
  const int64_t together = isExact ? 16 : 8;
  for (int64_t first = 0; first < shape.k; first += together) {
    const int64_t end = std::min(first + together, shape.k);
    const auto add = [&](auto product) { sum = addTogether(sum, first, end, product); };
    switch (shape.products) {
    case FloatProducts::Exact:
    case FloatProducts::Bf16:
      add([&](int64_t k) { return double(rounded(factors[k])) * double(own[k]); });
      break;
    case FloatProducts::Tf32:
      add([&](int64_t k) {
        return double(roundedToTf32(factors[k])) * double(roundedToTf32(own[k]));
      });
      break;
    case FloatProducts::Tf32x3:
      add([&](int64_t k) { return double(Halves(factors[k]).low) * double(Halves(own[k]).high); });
      add([&](int64_t k) { return double(Halves(factors[k]).high) * double(Halves(own[k]).low); });
      add([&](int64_t k) { return double(Halves(factors[k]).high) * double(Halves(own[k]).high); });
      break;
    }
  }
  return sum;
}

double ProductOperands::exactSum(int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t k = 0; k < shape.k; ++k) {
    sum += double(rows[size_t(row * shape.rowElements() + k)]) *
           double(weights[size_t(column * shape.k + k)]);
  }
  return sum;
}

double ProductOperands::sumOfMagnitudes(int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t k = 0; k < shape.k; ++k) {
    sum += std::abs(double(rows[size_t(row * shape.rowElements() + k)]) *
                    double(weights[size_t(column * shape.k + k)]));
  }
  return sum;
}

std::vector<std::byte> ProductOperands::panels(int64_t together) const {
  const size_t bytes = shape.isBf16 ? 2 : 4;
  constexpr int64_t columns = ProductShape::panelColumns;
  const int64_t steps = (shape.k + together - 1) / together;
  std::vector<std::byte> packed(size_t(shape.panels() * steps * columns * together) * bytes);
  for (int64_t column = 0; column < shape.columns(); ++column) {
    for (int64_t k = 0; k < shape.k; ++k) {
      const int64_t inPanel = column % shape.n % columns;
      const int64_t inColumns = (panelOf(column) * steps + k / together) * columns + inPanel;
      const auto place = size_t(inColumns * together + k % together);
      const auto bits = std::bit_cast<uint32_t>(weights[size_t(column * shape.k + k)]);
      const uint32_t stored = shape.isBf16 ? bits >> 16 : bits;
      std::memcpy(packed.data() + place * bytes, &stored, bytes);
    }
  }
  return packed;
}

// --- the product -------------------------------------------------------------------------------

static std::string noteOf(FloatProducts products) {
  const std::string name = floatProductsName(products).str();
  return name.empty() ? name : " attributes {dataflow.float_products = \"" + name + "\"}";
}

static std::string programOf(const ProductShape &shape) {
  const std::string rows =
      llvm::formatv("[tokens, {0}]{1}", shape.k * shape.groups,
                    shape.stride == 0 ? "" : " in " + std::to_string(shape.stride));
  const std::string more = (shape.groups == 1 ? "" : ", groups = " + std::to_string(shape.groups)) +
                           (shape.roundsRows ? ", arithmetic = bf16" : "");
  return llvm::formatv(R"(
!y = !dataflow.buffer<[tokens, {0}], f32>
dataflow.kernel @product : (!dataflow.buffer<{3}, f32>, !dataflow.buffer<[{0}, {2}], {4}>, !dataflow.buffer<[{0}], f32>, !y) -> !y
    computes #dataflow.contract<n = {1}, k = {2}{5}>{6} {{
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}
)",
                       shape.columns(), shape.n, shape.k, rows, shape.isBf16 ? "bf16" : "f32", more,
                       noteOf(shape.products));
}

CompiledProduct::CompiledProduct(const ProductShape &shape, const std::string &target)
    : shape(shape), kernel(programOf(shape), "product", target),
      isByWarpgroups(target == "sm_90a" && shape.roundsRows && shape.k % 16 == 0 &&
                     shape.groups == 1) {}

KernelOutcome CompiledProduct::run(const ProductOperands &operands,
                                   const KernelLaunch &launch) const {
  // Adjacent elements of a column, if rows are rounded.
  const int64_t together = isByWarpgroups ? 8 : shape.roundsRows ? 2 : 1;
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    HeddleRows rows = {};
    rows.count = rows.longest = shape.rows;
    return gpu.sendLaunch({result, gpu.send(operands.rows), gpu.send(operands.panels(together)),
                           gpu.send(operands.bias), gpu.send(operands.residual)},
                          {gpu.send(&rows, sizeof rows)}, launch);
  };
  return kernel.run(launch, size_t(shape.rows * shape.columns()), shape.columns(), send);
}

} // namespace heddle
