// SPDX-License-Identifier: Apache-2.0
///
/// Operands of a product with quantised weights, and its expected sums.
#include "tests/EmulatedCompiler/LaunchedCodes.h"

#include "compiler/Link/QuantizedValues.h"
#include "compiler/Pipeline.h"

#include "mlir/AsmParser/AsmParser.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
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

/// Calls `use` with a type, whose context does not outlive the call.
static void withType(const std::string &text,
                     llvm::function_ref<void(transformer::QuantizedType type)> use) {
  mlir::MLIRContext context;
  registerDialects(context);
  context.loadAllAvailableDialects();
  const std::string name = RandomCodes::nameOf(text);
  use(mlir::cast<transformer::QuantizedType>(mlir::parseType(name, &context)));
}

RandomCodes::RandomCodes(const std::string &type, int64_t rows, int64_t k, std::mt19937 &random)
    : type(type), k(k) {
  withType(type, [&](transformer::QuantizedType parsed) {
    shared = parsed.getGroupOf(k);
    groups = parsed.getScalesOf(k);
    hasZeros = parsed.hasZeros();
    const bool has4Bits = parsed.hasHalves();
    std::uniform_int_distribution<int> code(has4Bits           ? 0
                                            : parsed.getFull() ? -128
                                                               : -127,
                                            has4Bits ? 15 : 127);
    for (int64_t i = 0; i < rows * k; ++i) {
      own.codes.push_back(static_cast<int8_t>(code(random)));
    }
    for (int64_t i = 0; i < rows * groups; ++i) {
      own.scales.push_back(scaleOf(random));
      if (hasZeros) {
        own.zeros.push_back(static_cast<int8_t>(code(random)));
      }
      if (parsed.getMinimums()) {
        own.minimums.push_back(scaleOf(random));
      }
    }
  });
}

float RandomCodes::number(int64_t row, int64_t step) const {
  const auto group = static_cast<size_t>(row * groups + step / shared);
  const int code = own.codes[size_t(row * k + step)] - (hasZeros ? own.zeros[group] : 0);
  return own.minimums.empty()
             ? static_cast<float>(code) * own.scales[group]
             : std::fma(static_cast<float>(code), own.scales[group], own.minimums[group]);
}

std::vector<std::byte> RandomCodes::panels(int64_t groupsOfColumns, int64_t together) const {
  std::vector<std::byte> packed;
  withType(type, [&](transformer::QuantizedType parsed) {
    packed = QuantizedValues(own, parsed, k)
                 .packed(ProductShape::panelColumns, groupsOfColumns, together);
  });
  return packed;
}

CodesOperands::CodesOperands(const CodesShape &shape, uint32_t seed)
    : CodesOperands(shape, std::mt19937(seed)) {}

CodesOperands::CodesOperands(const CodesShape &shape, std::mt19937 random)
    : ExpectedProduct(shape.rows, shape.columns(), shape.groups), shape(shape),
      weights(shape.type, shape.columns(), shape.k, random),
      panels(weights.panels(shape.groups, shape.together())) {
  fill(rows, shape.rows * shape.rowElements(), random);
  fill(bias, shape.columns(), random);
  fill(residual, shape.rows * shape.columns(), random);
  // Rows of either sign have different codes of zero.
  for (int64_t row = 0; row < shape.rows; row += 3) {
    const auto begin = rows.begin() + row * shape.rowElements();
    std::transform(begin, begin + shape.rowElements(), begin,
                   [&](float x) { return row % 2 == 0 ? x - 0.75F : std::fabs(x); });
  }
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

float CodesOperands::sumOf(int64_t row, int64_t column) const {
  if (!shape.dequantises) {
    return sumOfIntegers(row, column);
  }
  float sum = 0;
  for (int64_t k = 0; k < shape.k; ++k) {
    const int64_t place = row * shape.rowElements() + column / shape.n * shape.k + k;
    sum = std::fma(rows[size_t(place)], weights.number(column, k), sum);
  }
  return sum;
}

float CodesOperands::sumOfIntegers(int64_t row, int64_t column) const {
  float sum = 0;
  for (int64_t group = 0; group < weights.groups; ++group) {
    const int64_t begin = group * weights.shared;
    const int64_t count = std::min(weights.shared, shape.k - begin);
    const int64_t before = row * shape.rowElements() + column / shape.n * shape.k;
    const auto from = static_cast<size_t>(before + begin);
    const QuantizedElements elements(std::span(rows).subspan(from, size_t(count)),
                                     weights.hasZeros);
    const auto number = static_cast<size_t>(column * weights.groups + group);
    const int zero = weights.hasZeros ? weights.own.zeros[number] : 0;
    int64_t exact = 0;
    for (int64_t i = 0; i < count; ++i) {
      exact += elements.codes[size_t(i)] *
               (weights.own.codes[size_t(column * shape.k + begin + i)] - zero);
    }
    const float factor = elements.scale * weights.own.scales[number];
    const auto rounded = static_cast<float>(exact);
    sum = group == 0 ? rounded * factor : std::fma(rounded, factor, sum);
  }
  return sum;
}

// --- the product -------------------------------------------------------------------------------

static std::string programOf(const CodesShape &shape) {
  const std::string rows =
      llvm::formatv("[tokens, {0}]{1}", shape.k * shape.groups,
                    shape.stride == 0 ? "" : " in " + std::to_string(shape.stride));
  const std::string more = (shape.groups == 1 ? "" : ", groups = " + std::to_string(shape.groups)) +
                           (shape.dequantises ? "" : ", arithmetic = integers");
  return llvm::formatv(R"(
!y = !dataflow.buffer<[tokens, {0}], f32>
dataflow.kernel @product : (!dataflow.buffer<{3}, f32>, !dataflow.buffer<[{0}, {2}], {4}>, !dataflow.buffer<[{0}], f32>, !y) -> !y
    computes #dataflow.contract<n = {1}, k = {2}{5}> {{
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}
)",
                       shape.columns(), shape.n, shape.k, rows, RandomCodes::nameOf(shape.type),
                       more);
}

CompiledCodes::CompiledCodes(const CodesShape &shape, const std::string &target)
    : shape(shape), kernel(programOf(shape), "product", target) {}

KernelOutcome CompiledCodes::run(const CodesOperands &operands, const KernelLaunch &launch) const {
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    HeddleRows rows = {};
    rows.count = rows.longest = shape.rows;
    return gpu.sendLaunch({result, gpu.send(operands.rows), gpu.send(operands.panels),
                           gpu.send(operands.bias), gpu.send(operands.residual)},
                          {gpu.send(&rows, sizeof rows)}, launch);
  };
  return kernel.run(launch, size_t(shape.rows * shape.columns()), shape.columns(), send);
}

// --- expectations ------------------------------------------------------------------------------

void expectRight(const CodesShape &shape, uint32_t seed, const std::string &target) {
  SCOPED_TRACE(testing::Message() << shape.type << ": " << shape.n << " x " << shape.k << ", "
                                  << shape.rows << " rows in " << shape.rowElements()
                                  << ", groups: " << shape.groups);
  CompiledCodes product(shape, target);
  const CodesOperands operands(shape, seed);
  const KernelLaunch launch = product.launchOfAll();
  EXPECT_GT(launch.shared, 16U) << "not computed by blocks";
  operands.expectRight(launch, product.run(operands, launch));
}

void expectRightInAnyOrder(const CodesShape &shape) {
  CompiledCodes product(shape);
  const CodesOperands operands(shape, 8);
  for (const char *const seed : {"1000", "2000", "3000"}) {
    ::setenv("HEDDLE_EMULATOR_SEED", seed, 1);
    operands.expectRight(product.launchOfAll(), product.run(operands, product.launchOfAll()));
  }
  ::unsetenv("HEDDLE_EMULATOR_SEED");
}

} // namespace heddle
