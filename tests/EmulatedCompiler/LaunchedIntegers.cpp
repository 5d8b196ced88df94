// SPDX-License-Identifier: Apache-2.0
///
/// Operands of a product of integers, and its expected sums.
#include "tests/EmulatedCompiler/LaunchedIntegers.h"

#include "compiler/Link/QuantizedValues.h"
#include "compiler/Pipeline.h"

#include "mlir/AsmParser/AsmParser.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace heddle {

// --- operands ----------------------------------------------------------------------------------

/// Returns a scale of either sign that every type of scales has.
static float scaleOf(std::mt19937 &random) {
  constexpr int largest = 255, unit = 8192;
  const auto size = static_cast<float>(1 + random() % largest) / unit;
  return random() % 4 == 0 ? -size : size;
}

IntegerOperands::IntegerOperands(const IntegerShape &shape, uint32_t seed)
    : ExpectedProduct(shape.rows, shape.n), shape(shape) {
  mlir::MLIRContext context;
  registerDialects(context);
  context.loadAllAvailableDialects();
  const auto type =
      mlir::cast<transformer::QuantizedType>(mlir::parseType(shape.element(), &context));
  shared = type.getGroupOf(shape.k);
  groups = type.getScalesOf(shape.k);
  has4Bits = type.hasZeros();
  std::mt19937 random(seed);
  fill(rows, shape.rows * shape.rowElements(), random);
  fill(bias, shape.n, random);
  fill(residual, shape.rows * shape.n, random);
  // Rows of either sign have different codes of zero.
  for (int64_t row = 0; row < shape.rows; row += 3) {
    const auto begin = rows.begin() + row * shape.rowElements();
    std::transform(begin, begin + shape.rowElements(), begin,
                   [&](float x) { return row % 2 == 0 ? x - 0.75F : std::fabs(x); });
  }
  std::uniform_int_distribution<int> code(has4Bits         ? 0
                                          : type.getFull() ? -128
                                                           : -127,
                                          has4Bits ? 15 : 127);
  for (int64_t i = 0; i < shape.n * shape.k; ++i) {
    weights.codes.push_back(static_cast<int8_t>(code(random)));
  }
  for (int64_t i = 0; i < shape.n * groups; ++i) {
    weights.scales.push_back(scaleOf(random));
    if (has4Bits) {
      weights.zeros.push_back(static_cast<int8_t>(code(random)));
    }
  }
  constexpr int64_t together = 4;
  panels = QuantizedValues(weights, type, shape.k)
               .packed(ProductShape::panelColumns, /*groups=*/1, together);
}

namespace {
/// Elements that share a scale, as codes minus the code of zero.
struct QuantizedElements {
  float scale;
  std::vector<int64_t> codes;

  QuantizedElements(std::span<const float> elements, bool isSigned) {
    float below = 0, largest = 0;
    bool areFinite = true;
    for (const float x : elements) {
      areFinite &= std::isfinite(x);
      below = std::max(below, -x);
      largest = std::max(largest, x);
    }
    scale = isSigned ? std::max(below, largest) / 127 : largest / 255 + below / 255;
    const bool hasScale = scale >= std::numeric_limits<float>::min();
    scale = !areFinite ? std::numeric_limits<float>::quiet_NaN() : hasScale ? scale : 0;
    const float inverse = hasScale ? 1 / scale : 0;
    const float zero = isSigned ? 0 : std::nearbyint(below * inverse);
    for (const float x : elements) {
      const float code = areFinite ? std::nearbyint(x * inverse) + zero : 0;
      codes.push_back(static_cast<int64_t>(
          std::clamp(code, isSigned ? -127.0F : 0.0F, isSigned ? 127.0F : 255.0F) - zero));
    }
  }
};
} // namespace

float IntegerOperands::sumOf(int64_t row, int64_t column) const {
  float sum = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t begin = group * shared, count = std::min(shared, shape.k - begin);
    const auto from = static_cast<size_t>(row * shape.rowElements() + begin);
    const QuantizedElements elements(std::span(rows).subspan(from, size_t(count)), has4Bits);
    const auto number = static_cast<size_t>(column * groups + group);
    const int zero = has4Bits ? weights.zeros[number] : 0;
    int64_t exact = 0;
    for (int64_t i = 0; i < count; ++i) {
      exact +=
          elements.codes[size_t(i)] * (weights.codes[size_t(column * shape.k + begin + i)] - zero);
    }
    const float factor = elements.scale * weights.scales[number];
    const auto rounded = static_cast<float>(exact);
    sum = group == 0 ? rounded * factor : std::fma(rounded, factor, sum);
  }
  return sum;
}

// --- the product -------------------------------------------------------------------------------

static std::string programOf(const IntegerShape &shape) {
  const std::string rows = llvm::formatv(
      "[tokens, {0}]{1}", shape.k, shape.stride == 0 ? "" : " in " + std::to_string(shape.stride));
  return llvm::formatv(R"(
!y = !dataflow.buffer<[tokens, {0}], f32>
dataflow.kernel @product : (!dataflow.buffer<{2}, f32>, !dataflow.buffer<[{0}, {1}], {3}>, !dataflow.buffer<[{0}], f32>, !y) -> !y
    computes #dataflow.contract<n = {0}, k = {1}, arithmetic = integers> {{
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}
)",
                       shape.n, shape.k, rows, shape.element());
}

CompiledIntegers::CompiledIntegers(const IntegerShape &shape, const std::string &target)
    : shape(shape), kernel(programOf(shape), "product", target) {}

KernelOutcome CompiledIntegers::run(const IntegerOperands &operands,
                                    const KernelLaunch &launch) const {
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    HeddleRows rows = {};
    rows.count = rows.longest = shape.rows;
    return gpu.sendLaunch({result, gpu.send(operands.rows), gpu.send(operands.panels),
                           gpu.send(operands.bias), gpu.send(operands.residual)},
                          {gpu.send(&rows, sizeof rows)}, launch);
  };
  return kernel.run(launch, size_t(shape.rows * shape.n), shape.n, send);
}

} // namespace heddle
