// SPDX-License-Identifier: Apache-2.0
///
/// Products of the contents of windows, by blocks on the emulated GPU: every element has the bits
/// of its sum in the order of k, whose factors are computed while they are multiplied.
#include "tests/EmulatedCompiler/LaunchedCodes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace heddle {
namespace {

enum class Contents : uint8_t { Patches, Sums, Maxima };

/// Windows of `height` rows, `dilation` apart, over rows of `width` columns, and `groups` times n
/// columns of weights.
struct WindowShape {
  Contents contents;
  int64_t n, width, height;
  int64_t dilation = 1;
  bool isCausal = false;
  bool rectifies = false;
  int64_t groups = 1;
  /// The type of quantised weights; empty for f32.
  std::string codes = {};

  /// The columns of the result, and the steps of a group.
  int64_t columns() const { return groups * n; }
  int64_t k() const { return (contents == Contents::Patches ? width * height : width) / groups; }
  int64_t panels() const {
    return groups * ((n + ProductShape::panelColumns - 1) / ProductShape::panelColumns);
  }
};

/// Sequences of 1, 140 and 20 rows.
constexpr int32_t kOffsets[] = {0, 1, 141, 161};
constexpr int64_t kRows = 161;

/// A product, its random operands, and its code.
class WindowProduct {
public:
  WindowProduct(const WindowShape &shape, uint32_t seed)
      : shape(shape), kernel(programOf(shape), "product", "sm_80") {
    for (int64_t group = 0; group < shape.groups; ++group) {
      operands.emplace_back(ProductShape{shape.n, shape.k(), 1}, seed + uint32_t(group));
    }
    std::mt19937 random(seed);
    if (!shape.codes.empty()) {
      codes.emplace(shape.codes, shape.columns(), shape.k(), random);
      for (int64_t i = 0; i < shape.columns() * shape.k(); ++i) {
        const int64_t column = i / shape.k(), place = i % (shape.n * shape.k());
        operands[size_t(column / shape.n)].weights[size_t(place)] =
            codes->number(column, i % shape.k());
      }
    }
    std::uniform_real_distribution<float> number(-1, 1);
    rows.resize(size_t(kRows * shape.width));
    filters.resize(size_t(shape.height * shape.width));
    std::ranges::generate(rows, [&] { return number(random); });
    std::ranges::generate(filters, [&] { return number(random); });
  }

  KernelLaunch launchOfAll() const { return kernel.launchOf(kRows, shape.panels()); }
  KernelOutcome run(const KernelLaunch &launch) const;
  float expected(int64_t row, int64_t column) const;

  const WindowShape shape;

private:
  static std::string programOf(const WindowShape &shape);
  float contentAt(int64_t row, int64_t column) const;
  std::vector<std::byte> panels() const;

  /// The weights of each group.
  std::vector<ProductOperands> operands;
  std::optional<RandomCodes> codes;
  std::vector<float> rows, filters;
  const CompiledKernel kernel;
};

std::string WindowProduct::programOf(const WindowShape &shape) {
  const bool areSums = shape.contents == Contents::Sums;
  const std::string groups = shape.groups == 1 ? "" : ", groups = " + std::to_string(shape.groups);
  return llvm::formatv(
      R"(
dataflow.kernel @product : (!dataflow.buffer<[tokens, {0}], f32>, !dataflow.buffer<[{1}, {2}], {12}>{3}) -> !dataflow.buffer<[tokens, {1}], f32>
    computes #dataflow.contract_slide<n = {9}, slide = <{4}, width = {0}, window = <height = {5}, dilationDown = {6}{7}>{10}{8}>{11}> {{
^bb0(%sum: f32):
  dataflow.yield %sum
}
)",
      shape.width, shape.columns(), shape.k(),
      areSums
          ? llvm::formatv(", !dataflow.buffer<[{0}, {1}], f32>", shape.height, shape.width).str()
          : "",
      areSums                              ? "depthwise"
      : shape.contents == Contents::Maxima ? "max"
                                           : "patches",
      shape.height, shape.dilation, shape.isCausal ? ", causal = true" : "",
      shape.rectifies ? ", rectifies = true" : "", shape.n,
      shape.contents == Contents::Patches ? groups : "", groups,
      shape.codes.empty() ? "f32" : RandomCodes::nameOf(shape.codes));
}

/// Returns the weights in panels, group after group.
std::vector<std::byte> WindowProduct::panels() const {
  if (codes) {
    return codes->panels(shape.groups, /*together=*/1);
  }
  std::vector<std::byte> all;
  for (const ProductOperands &each : operands) {
    const std::vector<std::byte> packed = each.panels(/*together=*/1);
    all.insert(all.end(), packed.begin(), packed.end());
  }
  return all;
}

/// Returns a column of what the window of a row sees. Patches have the elements of each group of
/// columns together.
float WindowProduct::contentAt(int64_t row, int64_t contentColumn) const {
  const int64_t sequence = row < kOffsets[1] ? 0 : row < kOffsets[2] ? 1 : 2;
  const int64_t reach = (shape.height - 1) * shape.dilation;
  const int64_t before = shape.isCausal ? reach : reach / 2;
  const bool arePatches = shape.contents == Contents::Patches;
  const int64_t own = shape.width / shape.groups, inGroup = contentColumn % (own * shape.height);
  const int64_t column =
      arePatches ? contentColumn / (own * shape.height) * own + inGroup % own : contentColumn;
  float result = shape.contents == Contents::Maxima ? -INFINITY : 0;
  for (int64_t element = 0; element < shape.height; ++element) {
    const int64_t other = row - before + element * shape.dilation;
    const bool isInside = other >= kOffsets[sequence] && other < kOffsets[sequence + 1];
    float x = isInside ? rows[size_t(other * shape.width + column)] : 0;
    x = shape.rectifies ? std::max(x, 0.0F) : x;
    switch (shape.contents) {
    case Contents::Patches:
      result = element == inGroup / own ? x : result;
      break;
    case Contents::Sums:
      result =
          isInside ? std::fma(filters[size_t(element * shape.width + column)], x, result) : result;
      break;
    case Contents::Maxima:
      // A causal window reads zeros outside the sequence.
      result = isInside || shape.isCausal ? std::max(x, result) : result;
      break;
    }
  }
  return result;
}

float WindowProduct::expected(int64_t row, int64_t column) const {
  const int64_t group = column / shape.n, inGroup = column % shape.n;
  const float *const weights = operands[size_t(group)].weights.data() + inGroup * shape.k();
  float sum = 0;
  for (int64_t step = 0; step < shape.k(); ++step) {
    sum = std::fma(contentAt(row, group * shape.k() + step), weights[step], sum);
  }
  return sum;
}

KernelOutcome WindowProduct::run(const KernelLaunch &launch) const {
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    std::vector<int32_t> sequences;
    for (int64_t row = 0; row < kRows; ++row) {
      sequences.push_back(row < kOffsets[1] ? 0 : row < kOffsets[2] ? 1 : 2);
    }
    HeddleRows tokens = {};
    tokens.count = kRows;
    tokens.longest = kOffsets[2] - kOffsets[1];
    tokens.offsets = reinterpret_cast<const int32_t *>(gpu.send(kOffsets, sizeof kOffsets));
    tokens.sequence_of = reinterpret_cast<const int32_t *>(gpu.send(sequences));
    std::vector<uint64_t> sent = {result, gpu.send(rows), gpu.send(panels())};
    if (shape.contents == Contents::Sums) {
      sent.push_back(gpu.send(filters));
    }
    return gpu.sendLaunch(sent, {gpu.send(&tokens, sizeof tokens)}, launch);
  };
  return kernel.run(launch, size_t(kRows * shape.columns()), shape.columns(), send);
}

void expectRight(const WindowProduct &product, const KernelLaunch &launch) {
  const KernelOutcome outcome = product.run(launch);
  ASSERT_EQ(outcome.report, "");
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < product.shape.columns(); ++column) {
      const float found = outcome.values[size_t(row * product.shape.columns() + column)];
      if (row >= launch.rowBegin && row < launch.rowEnd) {
        ASSERT_EQ(found, product.expected(row, column)) << "row " << row << " column " << column;
      } else {
        ASSERT_TRUE(std::isnan(found)) << "row " << row << " column " << column;
      }
    }
  }
}

const WindowShape kWindowShapes[] = {{Contents::Patches, 1, 1, 1},
                                     {Contents::Patches, 50, 7, 3},
                                     {Contents::Patches, 97, 16, 2, 3, true},
                                     {Contents::Patches, 48, 11, 5, 2, false, true},
                                     {Contents::Sums, 49, 33, 3},
                                     {Contents::Sums, 20, 48, 4, 2, true, true},
                                     {Contents::Maxima, 30, 17, 3},
                                     {Contents::Maxima, 96, 32, 3, 1, true},
                                     {Contents::Patches, 50, 12, 3, 1, false, false, 2},
                                     {Contents::Patches, 5, 12, 2, 1, true, false, 4},
                                     {Contents::Sums, 20, 48, 3, 1, false, false, 3},
                                     {Contents::Maxima, 100, 34, 2, 1, false, false, 2},
                                     {Contents::Patches, 50, 11, 3, 1, true, false, 1, "i8, 16"},
                                     {Contents::Patches, 5, 16, 3, 1, false, false, 2, "i8, row"}};

TEST(WindowProduct, IsRightForAllWindows) {
  uint32_t seed = 1;
  for (const WindowShape &shape : kWindowShapes) {
    SCOPED_TRACE(++seed);
    const WindowProduct product(shape, seed);
    const KernelLaunch launch = product.launchOfAll();
    EXPECT_GT(launch.shared, 16U) << "not computed by blocks";
    expectRight(product, launch);
  }
}

TEST(WindowProduct, HasTheSameBitsInAnyDivision) {
  const WindowProduct product({Contents::Patches, 60, 9, 3}, 5);
  for (const auto &[begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {1, 60}, {60, kRows}}) {
    KernelLaunch launch = product.launchOfAll();
    launch.rowBegin = begin;
    launch.rowEnd = end;
    launch.blocks = begin == 0 ? 1 : 3;
    expectRight(product, launch);
  }
}

} // namespace
} // namespace heddle
