// SPDX-License-Identifier: Apache-2.0
///
/// Products of rows that choose their weights, by blocks on the emulated GPU: every element has the
/// bits of its sum in the order of k, however many rows choose a group, in any division of the
/// work.
#include "tests/EmulatedCompiler/LaunchedCodes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <random>
#include <string>

namespace heddle {
namespace {

/// `tokens` rows, each of which chooses `choices` of `groups` matrices of [n, k].
struct ChosenShape {
  int64_t n, k, groups, tokens;
  int64_t choices = 1;
  bool isBiased = false;
  bool isBf16 = false;
  /// Whether the rows of the input are already those of the choices.
  bool isRouted = false;
  /// The group of all rows; -1: random.
  int64_t only = -1;
  /// The type of quantised weights; empty for others.
  std::string codes = {};

  int64_t rows() const { return tokens * choices; }
  int64_t panels() const {
    return (n + ProductShape::panelColumns - 1) / ProductShape::panelColumns;
  }
};

/// A product, its random operands, and its code.
class ChosenProduct {
public:
  ChosenProduct(const ChosenShape &shape, uint32_t seed);

  KernelLaunch launchOfAll() const { return kernel.launchOf(shape.rows(), shape.panels()); }
  KernelOutcome run(const KernelLaunch &launch) const;
  /// Returns the row of the result at a place of the order.
  int64_t rowAt(int64_t place) const { return order[size_t(place)]; }
  float expected(int64_t row, int64_t column) const;

  const ChosenShape shape;

private:
  static std::string programOf(const ChosenShape &shape);
  std::vector<std::byte> panels() const;

  std::vector<float> rows, weights, bias;
  std::optional<RandomCodes> codes;
  std::vector<int32_t> chosen, order;
  const CompiledKernel kernel;
};

ChosenProduct::ChosenProduct(const ChosenShape &shape, uint32_t seed)
    : shape(shape), kernel(programOf(shape), "product", "sm_80") {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  const auto fill = [&](std::vector<float> &values, int64_t count) {
    values.resize(size_t(count));
    std::ranges::generate(values, [&] { return number(random); });
  };
  fill(rows, (shape.isRouted ? shape.rows() : shape.tokens) * shape.k);
  fill(weights, shape.groups * shape.n * shape.k);
  fill(bias, shape.groups * shape.n);
  if (shape.isBf16) {
    for (float &weight : weights) {
      weight = std::bit_cast<float>(std::bit_cast<uint32_t>(weight) & 0xFFFF0000U);
    }
  }
  if (!shape.codes.empty()) {
    codes.emplace(shape.codes, shape.groups * shape.n, shape.k, random);
    for (int64_t i = 0; i < shape.groups * shape.n * shape.k; ++i) {
      weights[size_t(i)] = codes->number(i / shape.k, i % shape.k);
    }
  }
  std::uniform_int_distribution<int32_t> group(0, int32_t(shape.groups) - 1);
  for (int64_t row = 0; row < shape.rows(); ++row) {
    chosen.push_back(shape.only < 0 ? group(random) : int32_t(shape.only));
  }
  order.resize(chosen.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int32_t row) { return std::pair(chosen[size_t(row)], row); });
}

std::string ChosenProduct::programOf(const ChosenShape &shape) {
  const std::string space =
      shape.choices == 1 ? "tokens" : "choices(tokens, " + std::to_string(shape.choices) + ")";
  return llvm::formatv(
      R"(
!numbers = !dataflow.buffer<[{0}], i32>
dataflow.kernel @product : (!dataflow.buffer<[{1}, {3}], f32>, !dataflow.buffer<[{4}, {3}], {5}>, !numbers, !numbers{6}) -> !dataflow.buffer<[{0}, {2}], f32>
    computes #dataflow.contract_chosen<n = {2}, k = {3}, groups = {7}{8}> {{
^bb0(%sum: f32):
  %two = arith.constant 2.0 : f32
  %0 = arith.mulf %sum, %two : f32
  dataflow.yield %0
}
)",
      space, shape.isRouted ? space : "tokens", shape.n, shape.k, shape.groups * shape.n,
      !shape.codes.empty() ? RandomCodes::nameOf(shape.codes)
      : shape.isBf16       ? "bf16"
                           : "f32",
      shape.isBiased ? ", !dataflow.buffer<[" + std::to_string(shape.groups * shape.n) + "], f32>"
                     : "",
      shape.groups, shape.isBiased ? ", biased = true" : "");
}

/// Returns the weights in panels of [k][columns], group after group.
std::vector<std::byte> ChosenProduct::panels() const {
  if (codes) {
    return codes->panels(shape.groups, /*together=*/1);
  }
  std::vector<std::byte> all;
  for (int64_t group = 0; group < shape.groups; ++group) {
    ProductOperands one({shape.n, shape.k, 1, 0, shape.isBf16}, /*seed=*/1);
    const auto begin = weights.begin() + group * shape.n * shape.k;
    one.weights.assign(begin, begin + shape.n * shape.k);
    const std::vector<std::byte> packed = one.panels(/*together=*/1);
    all.insert(all.end(), packed.begin(), packed.end());
  }
  return all;
}

float ChosenProduct::expected(int64_t row, int64_t column) const {
  const int64_t group = chosen[size_t(row)];
  const float *const from = rows.data() + (shape.isRouted ? row : row / shape.choices) * shape.k;
  const float *const own = weights.data() + (group * shape.n + column) * shape.k;
  float sum = 0;
  for (int64_t k = 0; k < shape.k; ++k) {
    sum = std::fma(from[k], own[k], sum);
  }
  // Volatile, so that the compiler of this file does not contract it to an FMA.
  volatile float biased = sum + (shape.isBiased ? bias[size_t(group * shape.n + column)] : 0);
  return biased * 2;
}

KernelOutcome ChosenProduct::run(const KernelLaunch &launch) const {
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    HeddleRows ofTokens = {}, ofChoices = {};
    ofTokens.count = ofTokens.longest = shape.tokens;
    ofChoices.count = ofChoices.longest = shape.rows();
    std::vector<uint64_t> operands = {result, gpu.send(rows), gpu.send(panels()), gpu.send(chosen),
                                      gpu.send(order)};
    if (shape.isBiased) {
      operands.push_back(gpu.send(bias));
    }
    return gpu.sendLaunch(
        operands, {gpu.send(&ofChoices, sizeof ofChoices), gpu.send(&ofTokens, sizeof ofTokens)},
        launch);
  };
  return kernel.run(launch, size_t(shape.rows() * shape.n), shape.n, send);
}

/// Expects the rows at the places of a launch to be right, and all other memory to be unchanged.
void expectRight(const ChosenProduct &product, const KernelLaunch &launch) {
  const KernelOutcome outcome = product.run(launch);
  ASSERT_EQ(outcome.report, "");
  const ChosenShape &shape = product.shape;
  const int64_t begin = launch.columnBegin * ProductShape::panelColumns;
  const int64_t end = launch.columnEnd * ProductShape::panelColumns;
  for (int64_t place = 0; place < shape.rows(); ++place) {
    const int64_t row = product.rowAt(place);
    for (int64_t column = 0; column < shape.n; ++column) {
      const float found = outcome.values[size_t(row * shape.n + column)];
      const bool isOfLaunch =
          place >= launch.rowBegin && place < launch.rowEnd && column >= begin && column < end;
      if (isOfLaunch) {
        ASSERT_EQ(found, product.expected(row, column)) << "row " << row << " column " << column;
      } else {
        ASSERT_TRUE(std::isnan(found)) << "row " << row << " column " << column;
      }
    }
  }
}

/// Few and many rows of a group, groups without rows, and sizes near those of tiles and panels.
const ChosenShape kChosenShapes[] = {{1, 1, 1, 1},
                                     {48, 16, 4, 5},
                                     {49, 31, 3, 70, 2, true},
                                     {97, 33, 5, 40, 3, true, true},
                                     {30, 20, 2, 300},
                                     {60, 17, 4, 150, 2, false, false, true},
                                     {50, 24, 7, 130, 1, true, false, false, 6},
                                     {96, 40, 64, 20, 2, true},
                                     {49, 100, 3, 90, 2, true, false, false, -1, "i8, 64"},
                                     {97, 64, 4, 70, 1, false, false, true, -1, "i4, 32, bf16"}};

TEST(ChosenProduct, IsRightForAllSizes) {
  uint32_t seed = 1;
  for (const ChosenShape &shape : kChosenShapes) {
    SCOPED_TRACE(llvm::formatv("{0} x {1}, {2} groups, {3} tokens", shape.n, shape.k, shape.groups,
                               shape.tokens)
                     .str());
    const ChosenProduct product(shape, ++seed);
    const KernelLaunch launch = product.launchOfAll();
    EXPECT_GT(launch.shared, 16U) << "not computed by blocks";
    expectRight(product, launch);
  }
}

TEST(ChosenProduct, HasTheSameBitsInAnyDivision) {
  const ChosenProduct product({100, 30, 5, 90, 2, true}, 3);
  for (const auto &[begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {1, 60}, {60, 180}}) {
    for (const unsigned blocks : {1U, 3U}) {
      KernelLaunch launch = product.launchOfAll();
      launch.rowBegin = begin;
      launch.rowEnd = end;
      launch.columnBegin = begin == 0 ? 0 : 1;
      launch.blocks = blocks;
      expectRight(product, launch);
    }
  }
}

} // namespace
} // namespace heddle
