// SPDX-License-Identifier: Apache-2.0
///
/// The selection of tokens by blocks on the emulated GPU: vocabularies of odd sizes, equal logits,
/// NaN and infinities, any number of best tokens, and reports of kernels with one defect each.
#include "tests/EmulatedCompiler/LaunchedKernel.h"
#include "tests/EmulatedCompiler/PlantedDefects.h"

#include "heddle/Selection.h"
#include "runtime/Kernels/LogSumExp.h"

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
/// The columns of a piece in most of these tests: few, so that rows have several pieces.
constexpr int64_t kPiece = 48;
constexpr int64_t kRows = 3;

/// Rows of logits, and what a selection should find in them.
struct Logits {
  int64_t columns, piece;
  std::vector<float> values;

  int64_t pieces() const { return piecesOf(columns, piece); }
  float at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
  float &at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
  /// Returns the words of all pieces of a row, as the host computes them.
  std::vector<float> peaksOf(int64_t row) const;
  std::vector<float> peaks() const;
  std::vector<SelectedToken> bestOf(int64_t row, int64_t most) const;
};

std::vector<float> Logits::peaksOf(int64_t row) const {
  std::vector<float> words;
  for (int64_t begin = 0; begin < columns; begin += piece) {
    const int64_t count = std::min(piece, columns - begin);
    const ExponentialSum sum =
        exponentialSum(&values[static_cast<size_t>(row * columns + begin)], count);
    int64_t first = -1;
    for (int64_t column = begin; column < begin + count; ++column) {
      const float least = first < 0 ? -kInfinity : at(row, first);
      first = at(row, column) > least ? column : first;
    }
    words.insert(words.end(),
                 {first < 0 ? -kInfinity : at(row, first), sum.sum,
                  std::bit_cast<float>(static_cast<int32_t>(std::max<int64_t>(first, 0)))});
  }
  return words;
}

std::vector<float> Logits::peaks() const {
  std::vector<float> all;
  for (int64_t row = 0; row < kRows; ++row) {
    const std::vector<float> own = peaksOf(row);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<SelectedToken> Logits::bestOf(int64_t row, int64_t most) const {
  std::vector<SelectedToken> tokens;
  for (int64_t column = 0; column < columns; ++column) {
    if (at(row, column) > -kInfinity) {
      tokens.push_back({at(row, column), static_cast<int32_t>(column)});
    }
  }
  std::ranges::sort(tokens, [&](const SelectedToken &a, const SelectedToken &b) {
    return std::pair(-a.logit, a.token) < std::pair(-b.logit, b.token);
  });
  tokens.resize(static_cast<size_t>(most), {-kInfinity, 0});
  return tokens;
}

Logits randomLogits(int64_t columns, int64_t piece = kPiece) {
  std::mt19937 random(static_cast<uint32_t>(columns));
  std::normal_distribution<float> number(0, 4);
  Logits logits = {columns, piece, std::vector<float>(static_cast<size_t>(kRows * columns))};
  std::ranges::generate(logits.values, [&] { return number(random); });
  return logits;
}

/// Rows whose logits are all equal, have few values, and are zeros of both signs.
Logits equalLogits() {
  Logits logits = {1100, kPiece, std::vector<float>(kRows * 1100, 1.5F)};
  for (int64_t column = 0; column < 1100; ++column) {
    logits.at(1, column) = static_cast<float>(column * 7 % 5);
    logits.at(2, column) = column % 3 == 0 ? 0.0F : -0.0F;
  }
  return logits;
}

Logits oddLogits() {
  Logits logits = randomLogits(600);
  for (int64_t column = 0; column < 600; ++column) {
    // Row 0 has a few numbers in a piece, and NaN in another. Row 1 has only minus infinity.
    logits.at(0, column) = column == 7     ? 2.0F
                           : column == 31  ? -3.0F
                           : column == 300 ? kNan
                                           : -kInfinity;
    logits.at(1, column) = -kInfinity;
  }
  // Plus infinity is a best token, and the sum of its piece is NaN.
  logits.at(2, 599) = kInfinity;
  logits.at(2, 3) = kNan;
  return logits;
}

/// One of the two kernels of a selection, whose result has `columns` columns of `words` words.
struct SelectionKernel {
  int64_t columns, words;
  CompiledKernel kernel;

  KernelLaunch launchOfAll() const { return kernel.launchOf(kRows, columns); }
  KernelOutcome run(const KernelLaunch &launch,
                    const std::vector<std::vector<float>> &inputs) const {
    return kernel.run(launch, static_cast<size_t>(kRows * columns * words), columns * words,
                      [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
                        HeddleRows tokens = {};
                        tokens.count = kRows;
                        std::vector<uint64_t> operands = {result};
                        for (const std::vector<float> &input : inputs) {
                          operands.push_back(gpu.send(input));
                        }
                        return gpu.sendLaunch(operands, {gpu.send(&tokens, sizeof tokens)}, launch);
                      });
  }
};

SelectionKernel peaksKernel(int64_t columns, int64_t piece) {
  const int64_t pieces = piecesOf(columns, piece);
  const std::string program = llvm::formatv(R"(
dataflow.kernel @peaks : (!dataflow.buffer<[tokens, {0}], f32>) -> !dataflow.buffer<[tokens, {1}], f32>
    computes #dataflow.peaks<columns = {0}, piece = {2}> {{
^bb0(%x: f32):
  dataflow.yield %x
}
)",
                                            columns, peakWords * pieces, piece);
  return {pieces, peakWords, CompiledKernel(program, "peaks", "sm_80")};
}

SelectionKernel selectKernel(int64_t columns, int64_t piece, int64_t count) {
  const int64_t pieces = piecesOf(columns, piece);
  const std::string program =
      llvm::formatv(R"(
dataflow.kernel @select : (!dataflow.buffer<[tokens, {0}], f32>, !dataflow.buffer<[tokens, {1}], f32>) -> !dataflow.buffer<[tokens, {2}], f32>
    computes #dataflow.select<columns = {0}, piece = {3}, count = {4}> {{
^bb0(%x: f32):
  dataflow.yield %x
}
)",
                    columns, peakWords * pieces, selectedPair * (pieces + count), piece, count);
  return {pieces + count, selectedPair, CompiledKernel(program, "select", "sm_80")};
}

/// Expects the words of a launch's columns in its rows, bit by bit, and all others to be unchanged.
/// `expected` returns the words of a row from its first column on. Any NaN is as good as another.
void expectWords(const SelectionKernel &kernel, const KernelLaunch &launch,
                 const KernelOutcome &outcome,
                 const std::function<std::vector<float>(int64_t row)> &expected) {
  ASSERT_EQ(outcome.report, "");
  const auto words = static_cast<size_t>(kernel.words);
  const size_t width = words * static_cast<size_t>(kernel.columns);
  for (int64_t row = 0; row < kRows; ++row) {
    SCOPED_TRACE(row);
    const std::vector<float> right = expected(row);
    for (size_t i = 0; i < width; ++i) {
      const float found = outcome.values[static_cast<size_t>(row) * width + i];
      const auto column = static_cast<int64_t>(i / words);
      if (row < launch.rowBegin || row >= launch.rowEnd || column < launch.columnBegin ||
          column >= launch.columnEnd) {
        ASSERT_TRUE(std::isnan(found)) << i;
      } else if (std::isnan(right[i])) {
        ASSERT_TRUE(std::isnan(found)) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(right[i]))
            << i << ": " << found << ", expected " << right[i];
      }
    }
  }
}

void expectPeaks(const SelectionKernel &kernel, const KernelLaunch &launch, const Logits &logits) {
  expectWords(kernel, launch, kernel.run(launch, {logits.values}),
              [&](int64_t row) { return logits.peaksOf(row); });
}

void expectSelection(const SelectionKernel &kernel, const KernelLaunch &launch,
                     const Logits &logits) {
  expectWords(
      kernel, launch, kernel.run(launch, {logits.values, logits.peaks()}), [&](int64_t row) {
        std::vector<float> pairs;
        const std::vector<float> peaks = logits.peaksOf(row);
        for (size_t word = 0; word < peaks.size(); word += peakWords) {
          pairs.insert(pairs.end(), {peaks[word], peaks[word + 1]});
        }
        for (const SelectedToken each : logits.bestOf(row, kernel.columns - logits.pieces())) {
          pairs.insert(pairs.end(), {each.logit, std::bit_cast<float>(each.token)});
        }
        return pairs;
      });
}

// --- peaks -------------------------------------------------------------------------------------

/// Checks all pieces, and a range of them in one row.
void expectPeaks(const Logits &logits) {
  const SelectionKernel kernel = peaksKernel(logits.columns, logits.piece);
  KernelLaunch launch = kernel.launchOfAll();
  EXPECT_EQ(launch.threads, 64U);
  expectPeaks(kernel, launch, logits);
  launch.rowBegin = 1;
  launch.rowEnd = 2;
  launch.columnBegin = kernel.columns / 3;
  launch.columnEnd = std::max<int64_t>(kernel.columns - 1, 1);
  launch.blocks = 1;
  expectPeaks(kernel, launch, logits);
}

TEST(BlockPeaks, AreRightForVocabulariesOfAnySize) {
  // Among them last pieces of one element, and vocabularies of one piece.
  for (const int64_t columns : {1, 2, 15, 16, 17, 47, 48, 49, 97, 511, 512, 513, 1601}) {
    SCOPED_TRACE(columns);
    expectPeaks(randomLogits(columns));
  }
}

TEST(BlockPeaks, AreRightForPiecesOfAnySize) {
  // Up to what a lane holds.
  for (const int64_t piece : {16, 32, 80, 768, 1024}) {
    SCOPED_TRACE(piece);
    expectPeaks(randomLogits(2 * piece, piece));
    expectPeaks(randomLogits(2 * piece + 1, piece));
    expectPeaks(randomLogits(piece - 1, piece));
  }
}

TEST(BlockPeaks, AreTheFirstOfEqualLogits) { expectPeaks(equalLogits()); }

TEST(BlockPeaks, AreNeitherNanNorMinusInfinity) { expectPeaks(oddLogits()); }

/// Each thread computes pieces that lanes have no registers for.
TEST(ThreadPeaks, HaveTheSameBits) {
  for (const int64_t columns : {1, 1040, 1041, 4000}) {
    SCOPED_TRACE(columns);
    const Logits logits = randomLogits(columns, 1040);
    const SelectionKernel kernel = peaksKernel(columns, logits.piece);
    const KernelLaunch launch = kernel.launchOfAll();
    EXPECT_EQ(launch.shared, 0U);
    expectPeaks(kernel, launch, logits);
  }
  Logits odd = oddLogits();
  odd.piece = 1040;
  const SelectionKernel kernel = peaksKernel(odd.columns, odd.piece);
  expectPeaks(kernel, kernel.launchOfAll(), odd);
}

// --- the selection -----------------------------------------------------------------------------

/// Checks all tokens, and two of one row.
void expectSelection(const Logits &logits, int64_t count) {
  const SelectionKernel kernel = selectKernel(logits.columns, logits.piece, count);
  KernelLaunch launch = kernel.launchOfAll();
  EXPECT_EQ(launch.threads, 256U);
  EXPECT_GT(launch.shared, 0U);
  expectSelection(kernel, launch, logits);
  launch.rowBegin = 1;
  launch.rowEnd = 2;
  launch.columnEnd = logits.pieces() + std::min<int64_t>(count, 2);
  launch.blocks = 1;
  expectSelection(kernel, launch, logits);
  // Without the pieces, and without the first token.
  launch.columnBegin = launch.columnEnd - 1;
  expectSelection(kernel, launch, logits);
}

TEST(BlockSelect, IsRightForVocabulariesOfAnySize) {
  for (const int64_t columns : {1, 2, 15, 16, 17, 47, 48, 49, 511, 512, 513, 1601}) {
    SCOPED_TRACE(columns);
    expectSelection(randomLogits(columns), std::min<int64_t>(columns, 9));
  }
}

TEST(BlockSelect, EqualLogitsAreInTheOrderOfTheirTokens) { expectSelection(equalLogits(), 64); }

TEST(BlockSelect, NanAndInfinitiesAreNotAmongTheBest) { expectSelection(oddLogits(), 16); }

/// Steps of greedy searches need only what the pieces have: an access to logits would be reported.
TEST(BlockSelect, OneTokenNeedsNoLogits) {
  const Logits logits = randomLogits(500);
  const SelectionKernel kernel = selectKernel(logits.columns, kPiece, 5);
  KernelLaunch launch = kernel.launchOfAll();
  launch.columnEnd = logits.pieces() + 1;
  const KernelOutcome outcome = kernel.run(launch, {{0.0F}, logits.peaks()});
  ASSERT_EQ(outcome.report, "");
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t pair = row * kernel.columns + logits.pieces();
    const SelectedToken best = logits.bestOf(row, 1).front();
    EXPECT_EQ(outcome.values[static_cast<size_t>(pair * selectedPair)], best.logit);
    EXPECT_EQ(std::bit_cast<int32_t>(outcome.values[static_cast<size_t>(pair * selectedPair + 1)]),
              best.token);
  }
}

/// Each thread selects from rows for whose pieces shared memory has no room.
TEST(ThreadSelect, IsRight) {
  const Logits logits = randomLogits(327'700, 16);
  const SelectionKernel kernel = selectKernel(logits.columns, logits.piece, 3);
  const KernelLaunch launch = kernel.launchOfAll();
  EXPECT_EQ(launch.shared, 0U);
  expectSelection(kernel, launch, logits);
}

// --- defects -----------------------------------------------------------------------------------

/// Removes a barrier, by its number.
void withoutBarrier(LLVM::LLVMFuncOp function, size_t number) {
  auto barriers = all<NVVM::Barrier0Op>(function);
  ASSERT_EQ(barriers.size(), 4U);
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
    {"noBarrierAfterARow", [](LLVM::LLVMFuncOp function) { withoutBarrier(function, 3); },
     kNotInStep},
    {"oneLaneElsewhere", oneLaneElsewhere<NVVM::ShflOp>,
     "deadlock: 31 threads of warp 1 wait at shfl.bfly, which 1 never reach"}};

class PlantedSelectDefects : public testing::TestWithParam<SelectDefect> {};

TEST_P(PlantedSelectDefects, IsFound) {
  // Several passes, and more rows than blocks.
  const Logits logits = randomLogits(100);
  const SelectionKernel selection = selectKernel(logits.columns, logits.piece, 5);
  GetParam().plant(selection.kernel.body());
  const KernelOutcome outcome =
      selection.run(selection.launchOfAll(), {logits.values, logits.peaks()});
  EXPECT_TRUE(outcome.values.empty());
  EXPECT_TRUE(llvm::Regex(GetParam().report).match(outcome.report)) << outcome.report;
}

INSTANTIATE_TEST_SUITE_P(Select, PlantedSelectDefects, testing::ValuesIn(kDefects),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(PlantedPeaksDefects, OneLaneElsewhereIsFound) {
  const Logits logits = randomLogits(400);
  const SelectionKernel peaks = peaksKernel(logits.columns, logits.piece);
  oneLaneElsewhere<NVVM::ShflOp>(peaks.kernel.body());
  const KernelOutcome outcome = peaks.run(peaks.launchOfAll(), {logits.values});
  expectReported(outcome, "peaks", "deadlock: [0-9]+ threads of warp 1 wait at shfl.idx");
}

/// Kernels that share no memory are checked too.
TEST(PlantedPeaksDefects, LogitsAfterTheEndAreFound) {
  const Logits logits = randomLogits(400);
  const SelectionKernel peaks = peaksKernel(logits.columns, logits.piece);
  const KernelOutcome outcome = peaks.run(peaks.launchOfAll(), {std::vector<float>(1199)});
  EXPECT_TRUE(outcome.values.empty());
  EXPECT_NE(outcome.report, "");
}

} // namespace
} // namespace heddle
