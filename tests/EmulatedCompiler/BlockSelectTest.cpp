// SPDX-License-Identifier: Apache-2.0
///
/// The selection of tokens by blocks on the emulated GPU: vocabularies of odd sizes, equal logits,
/// NaN and infinities, any number of best tokens, and reports of kernels with one defect each.
#include "tests/EmulatedCompiler/LaunchedKernel.h"
#include "tests/EmulatedCompiler/PlantedDefects.h"

#include "heddle/Selection.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// The columns of a piece in these tests: small, so that rows have several.
constexpr int64_t kPiece = 48;
constexpr int64_t kRows = 3;

/// Rows of logits, and their selection on the emulated GPU.
class Selection {
public:
  Selection(int64_t columns, int64_t count, std::vector<float> logits)
      : columns(columns), count(count), logits(std::move(logits)),
        kernel(program(columns, count), "select", "sm_80") {}

  int64_t pieces() const { return piecesOf(columns, kPiece); }
  int64_t pairs() const { return pieces() + count; }
  LLVM::LLVMFuncOp body() const { return kernel.body(); }
  KernelLaunch launchOfAll() const { return kernel.launchOf(kRows, pairs()); }
  KernelOutcome run(const KernelLaunch &launch) const {
    const auto width = static_cast<size_t>(selectedPair * pairs());
    return kernel.run(launch, kRows * width, static_cast<int64_t>(width),
                      [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
                        HeddleRows tokens = {};
                        tokens.count = kRows;
                        return gpu.sendLaunch({result, gpu.send(logits)},
                                              {gpu.send(&tokens, sizeof tokens)}, launch);
                      });
  }
  float logit(int64_t row, int64_t column) const {
    return logits[static_cast<size_t>(row * columns + column)];
  }
  float &logit(int64_t row, int64_t column) {
    return logits[static_cast<size_t>(row * columns + column)];
  }
  void expectPiece(int64_t row, int64_t piece, const float *pair) const;
  void expectBest(int64_t row, int64_t most, const float *best) const;

  const int64_t columns, count;

private:
  static std::string program(int64_t columns, int64_t count) {
    return llvm::formatv(R"(
dataflow.kernel @select : (!dataflow.buffer<[tokens, {0}], f32>) -> !dataflow.buffer<[tokens, {1}], f32>
    computes #dataflow.select<columns = {0}, piece = {2}, count = {3}> {{
^bb0(%x: f32):
  dataflow.yield %x
}
)",
                         columns, selectedPair * (piecesOf(columns, kPiece) + count), kPiece,
                         count);
  }

  std::vector<float> logits;
  CompiledKernel kernel;
};

void Selection::expectPiece(int64_t row, int64_t piece, const float *pair) const {
  float largest = -kInfinity;
  const int64_t end = std::min((piece + 1) * kPiece, columns);
  for (int64_t column = piece * kPiece; column < end; ++column) {
    largest = logit(row, column) > largest ? logit(row, column) : largest;
  }
  double sum = 0;
  for (int64_t column = piece * kPiece; column < end; ++column) {
    const float each = logit(row, column);
    sum += each == -kInfinity ? 0 : std::exp(double(each) - double(largest));
  }
  EXPECT_EQ(pair[0], largest);
  if (std::isnan(sum)) {
    EXPECT_TRUE(std::isnan(pair[1])) << pair[1];
  } else {
    EXPECT_NEAR(double(pair[1]), sum, 1e-6 * sum);
  }
}

void Selection::expectBest(int64_t row, int64_t most, const float *best) const {
  std::vector<int64_t> order;
  for (int64_t column = 0; column < columns; ++column) {
    if (logit(row, column) > -kInfinity) {
      order.push_back(column);
    }
  }
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(-logit(row, a), a) < std::pair(-logit(row, b), b);
  });
  for (int64_t rank = 0; rank < most; ++rank) {
    const bool exists = rank < static_cast<int64_t>(order.size());
    const int64_t column = exists ? order[static_cast<size_t>(rank)] : 0;
    ASSERT_EQ(best[selectedPair * rank], exists ? logit(row, column) : -kInfinity) << rank;
    ASSERT_EQ(std::bit_cast<int32_t>(best[selectedPair * rank + 1]), column) << rank;
  }
}

std::vector<float> randomLogits(int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> number(0, 4);
  std::vector<float> logits(static_cast<size_t>(kRows * columns));
  std::ranges::generate(logits, [&] { return number(random); });
  return logits;
}

/// Expects the rows and pairs of a launch to be right, and all others to be unchanged.
void expectRight(const Selection &selection, const KernelLaunch &launch,
                 const KernelOutcome &outcome) {
  ASSERT_EQ(outcome.report, "");
  const auto width = static_cast<size_t>(selectedPair * selection.pairs());
  for (int64_t row = 0; row < kRows; ++row) {
    SCOPED_TRACE(row);
    const float *const pairs = outcome.values.data() + static_cast<size_t>(row) * width;
    const bool isComputed = row >= launch.rowBegin && row < launch.rowEnd;
    const auto used = static_cast<size_t>(selectedPair * (isComputed ? launch.columnEnd : 0));
    for (size_t i = used; i < width; ++i) {
      ASSERT_TRUE(std::isnan(pairs[i])) << i;
    }
    if (isComputed) {
      for (int64_t piece = 0; piece < selection.pieces(); ++piece) {
        selection.expectPiece(row, piece, pairs + selectedPair * piece);
      }
      selection.expectBest(row, launch.columnEnd - selection.pieces(),
                           pairs + selectedPair * selection.pieces());
    }
  }
}

TEST(BlockSelect, IsRightForVocabulariesOfAnySize) {
  for (const int64_t columns : {1, 2, 15, 16, 17, 47, 48, 49, 511, 512, 513, 1601}) {
    SCOPED_TRACE(columns);
    const Selection selection(columns, std::min<int64_t>(columns, 9),
                              randomLogits(columns, static_cast<uint32_t>(columns)));
    const KernelLaunch launch = selection.launchOfAll();
    EXPECT_EQ(launch.threads, 512U);
    EXPECT_GT(launch.shared, 0U);
    const KernelOutcome all = selection.run(launch);
    expectRight(selection, launch, all);
    // A row alone, with fewer tokens, has the same bits.
    KernelLaunch one = launch;
    one.rowBegin = 1;
    one.rowEnd = 2;
    one.columnEnd = selection.pieces() + std::min<int64_t>(columns, 2);
    one.blocks = 1;
    const KernelOutcome alone = selection.run(one);
    expectRight(selection, one, alone);
    const auto width = static_cast<size_t>(selectedPair * selection.pairs());
    const auto used = static_cast<size_t>(selectedPair * one.columnEnd);
    for (size_t i = width; i < width + used && i < alone.values.size(); ++i) {
      ASSERT_EQ(alone.values[i], all.values[i]) << i;
    }
  }
}

TEST(BlockSelect, EqualLogitsAreInTheOrderOfTheirTokens) {
  Selection selection(1100, 64, std::vector<float>(kRows * 1100, 1.5F));
  for (int64_t column = 0; column < 1100; ++column) {
    // Row 1 has a few values, row 2 zeros of both signs.
    selection.logit(1, column) = static_cast<float>(column * 7 % 5);
    selection.logit(2, column) = column % 3 == 0 ? 0.0F : -0.0F;
  }
  const KernelLaunch launch = selection.launchOfAll();
  expectRight(selection, launch, selection.run(launch));
}

TEST(BlockSelect, NanAndInfinitiesAreNotAmongTheBest) {
  Selection selection(600, 16, randomLogits(600, 5));
  for (int64_t column = 0; column < 600; ++column) {
    // Row 0 has a few numbers in a piece, and NaN in another. Row 1 has only minus infinity.
    selection.logit(0, column) = column == 7     ? 2.0F
                                 : column == 31  ? -3.0F
                                 : column == 300 ? kNan
                                                 : -kInfinity;
    selection.logit(1, column) = -kInfinity;
  }
  // Plus infinity is a best token, and the sum of its piece is NaN.
  selection.logit(2, 599) = kInfinity;
  selection.logit(2, 3) = kNan;
  const KernelLaunch launch = selection.launchOfAll();
  expectRight(selection, launch, selection.run(launch));
}

// --- defects -----------------------------------------------------------------------------------

/// Removes a barrier, by its number.
void withoutBarrier(LLVM::LLVMFuncOp function, size_t number) {
  auto barriers = all<NVVM::Barrier0Op>(function);
  ASSERT_EQ(barriers.size(), 3U);
  barriers[number].erase();
}

constexpr char kNotInStep[] = "(reads byte [0-9]+ of shared memory, which nobody has written|"
                              "race: (reads|writes) byte [0-9]+ of shared memory|"
                              "comes to shfl.bfly with other lanes than those that wait there)";

struct SelectDefect {
  const char *name;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
};
const SelectDefect kDefects[] = {
    {"noBarrierAfterPieces", [](LLVM::LLVMFuncOp function) { withoutBarrier(function, 0); },
     kNotInStep},
    {"noBarrierInAPass", [](LLVM::LLVMFuncOp function) { withoutBarrier(function, 1); },
     kNotInStep},
    {"noBarrierAfterAPass", [](LLVM::LLVMFuncOp function) { withoutBarrier(function, 2); },
     kNotInStep},
    {"oneLaneElsewhere", oneLaneElsewhere<NVVM::ShflOp>,
     "deadlock: 31 threads of warp 1 wait at shfl.bfly, which 1 never reach"}};

class PlantedSelectDefects : public testing::TestWithParam<SelectDefect> {};

TEST_P(PlantedSelectDefects, IsFound) {
  // Several passes, and more rows than blocks.
  const Selection selection(100, 5, randomLogits(100, 3));
  GetParam().plant(selection.body());
  const KernelOutcome outcome = selection.run(selection.launchOfAll());
  EXPECT_TRUE(outcome.values.empty());
  EXPECT_TRUE(llvm::Regex(GetParam().report).match(outcome.report)) << outcome.report;
}

INSTANTIATE_TEST_SUITE_P(Select, PlantedSelectDefects, testing::ValuesIn(kDefects),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace heddle
