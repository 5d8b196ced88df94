// SPDX-License-Identifier: Apache-2.0
///
/// Rows computed by warps on the emulated GPU: correct results for any width, the same bits in any
/// division of the rows and order of the threads, and reports of kernels with one defect each.
#include "tests/EmulatedCompiler/LaunchedKernel.h"
#include "tests/EmulatedCompiler/PlantedDefects.h"

#include "mlir/IR/Matchers.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;

namespace heddle {
namespace {

/// Widths of parts of a warp, of a warp, and near four vectors of a warp.
constexpr int64_t kWidths[] = {1, 3, 16, 21, 31, 32, 33, 100, 128, 300};
/// Rows of three sequences, and rows of a table.
constexpr int32_t kOffsets[] = {0, 1, 14, 21};
constexpr int64_t kRows = 21, kSequences = 3, kTableRows = 9;

std::vector<float> randomNumbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<float> values(static_cast<size_t>(count));
  std::ranges::generate(values, [&] { return number(random); });
  return values;
}

/// Operands of kernels, with random numbers.
struct Operands {
  int64_t width, count;
  /// [rows][width], a table [kTableRows][width], and two vectors [width].
  std::vector<float> rows, table, weight, bias;
  std::vector<int32_t> ids;

  Operands(int64_t width, int64_t count)
      : width(width), count(count), rows(randomNumbers(count * width, 1)),
        table(randomNumbers(kTableRows * width, 2)), weight(randomNumbers(width, 3)),
        bias(randomNumbers(width, 4)) {
    for (int64_t row = 0; row < kRows; ++row) {
      ids.push_back(static_cast<int32_t>(row * 5 % kTableRows));
    }
  }
  double at(int64_t row, int64_t column) const {
    return double(rows[size_t(row * width + column)]);
  }
  /// Returns the sum of `term` over the columns of a row.
  double sum(int64_t row, const std::function<double(double)> &term) const {
    double all = 0;
    for (int64_t i = 0; i < width; ++i) {
      all += term(at(row, i));
    }
    return all;
  }
  double mean(int64_t row) const {
    return sum(row, [](double x) { return x; }) / double(width);
  }
};

/// A kernel `@rows`, with {0} for the width, and its expected result.
struct RowsCase {
  const char *name;
  /// The types of its inputs and of its result, and its computation.
  const char *inputs, *result, *computes;
  /// The operands other than the result, in order: r(ows), t(able), w(eight), b(ias), i(ds).
  const char *operands;
  std::function<double(const Operands &, int64_t row, int64_t column)> expected;
  bool isNarrow = false;
  int64_t resultRows = kRows;
};

#define HEDDLE_ROWS "!dataflow.buffer<[tokens, {0}], f32>"
#define HEDDLE_VECTOR "!dataflow.buffer<[{0}], f32>"
#define HEDDLE_NUMBERS "!dataflow.buffer<[tokens, 1], f32>"

constexpr double kEpsilon = 1e-3;
const RowsCase kCases[] = {
    {"LayerNorm", HEDDLE_ROWS ", " HEDDLE_VECTOR ", " HEDDLE_VECTOR, HEDDLE_ROWS,
     "#dataflow.rows<width = {0}> norm <layer_norm, 1.0e-3 : f64>", "rwb",
     [](const Operands &x, int64_t row, int64_t i) {
       const double mean = x.mean(row);
       const double squares = x.sum(row, [&](double e) { return (e - mean) * (e - mean); });
       return (x.at(row, i) - mean) / std::sqrt(squares / double(x.width) + kEpsilon) *
                  double(x.weight[size_t(i)]) +
              double(x.bias[size_t(i)]);
     }},
    {"RmsNorm", HEDDLE_ROWS ", " HEDDLE_VECTOR, HEDDLE_ROWS,
     "#dataflow.rows<width = {0}> norm <rms_norm, 1.0e-3 : f64>", "rw",
     [](const Operands &x, int64_t row, int64_t i) {
       const double squares = x.sum(row, [](double e) { return e * e; });
       return x.at(row, i) / std::sqrt(squares / double(x.width) + kEpsilon) *
              double(x.weight[size_t(i)]);
     }},
    {"Normalize", HEDDLE_ROWS, HEDDLE_ROWS,
     "#dataflow.rows<width = {0}> norm <normalize, 1.0e-3 : f64>", "r",
     [](const Operands &x, int64_t row, int64_t i) {
       return x.at(row, i) /
              std::max(std::sqrt(x.sum(row, [](double e) { return e * e; })), kEpsilon);
     }},
    {"Softmax", HEDDLE_ROWS, HEDDLE_ROWS, "#dataflow.rows<width = {0}> norm <softmax, 0.0 : f64>",
     "r",
     [](const Operands &x, int64_t row, int64_t i) {
       return std::exp(x.at(row, i)) / x.sum(row, [](double e) { return std::exp(e); });
     }},
    {"Elementwise", HEDDLE_ROWS, HEDDLE_ROWS, "#dataflow.rows<width = {0}>", "r",
     [](const Operands &x, int64_t row, int64_t i) { return x.at(row, i); }},
    {"Sum", HEDDLE_ROWS, HEDDLE_NUMBERS, "#dataflow.reduce<sum, width = {0}>", "r",
     [](const Operands &x, int64_t row, int64_t) { return x.sum(row, [](double e) { return e; }); },
     true},
    {"Min", HEDDLE_ROWS, HEDDLE_NUMBERS, "#dataflow.reduce<min, width = {0}>", "r",
     [](const Operands &x, int64_t row, int64_t) {
       double least = x.at(row, 0);
       for (int64_t i = 1; i < x.width; ++i) {
         least = std::min(least, x.at(row, i));
       }
       return least;
     },
     true},
    {"Gather", "!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[9, {0}], f32>", HEDDLE_ROWS,
     "#dataflow.gather<width = {0}, lookups = 1>", "it",
     [](const Operands &x, int64_t row, int64_t i) {
       return double(x.table[size_t(x.ids[size_t(row)] * x.width + i)]);
     }},
    {"Pool", HEDDLE_ROWS, "!dataflow.buffer<[sequences, {0}], f32>",
     "#dataflow.pool<mean, width = {0}>", "r",
     [](const Operands &x, int64_t row, int64_t i) {
       double all = 0;
       for (int64_t each = kOffsets[row]; each < kOffsets[row + 1]; ++each) {
         all += x.at(each, i);
       }
       return all / double(kOffsets[row + 1] - kOffsets[row]);
     },
     false, kSequences},
    {"NestOfElements", HEDDLE_ROWS ", " HEDDLE_VECTOR, HEDDLE_ROWS,
     "#dataflow.nest<\"td,d->td\", none>", "rw",
     [](const Operands &x, int64_t row, int64_t i) {
       return x.at(row, i) * double(x.weight[size_t(i)]);
     }},
    {"NestOfSums", HEDDLE_ROWS ", " HEDDLE_VECTOR, "!dataflow.buffer<[tokens], f32>",
     "#dataflow.nest<\"td,d->t\", sum>", "rw",
     [](const Operands &x, int64_t row, int64_t) {
       double all = 0;
       for (int64_t i = 0; i < x.width; ++i) {
         all += x.at(row, i) * double(x.weight[size_t(i)]);
       }
       return all;
     },
     true},
    {"NestOfSoftmax", HEDDLE_ROWS, HEDDLE_ROWS, "#dataflow.nest<\"td->td\", softmax>", "r",
     [](const Operands &x, int64_t row, int64_t i) {
       return std::exp(x.at(row, i)) / x.sum(row, [](double e) { return std::exp(e); });
     }}};

std::string programOf(const RowsCase &rows, int64_t width) {
  const bool isProduct = llvm::StringRef(rows.computes).contains("td,d");
  return llvm::formatv(
      R"(
dataflow.kernel @rows : ({0}) -> {1} computes {2} {{
^bb0(%x: f32{3}):{4}
  dataflow.yield {5}
}
)",
      llvm::formatv(rows.inputs, width).str(), llvm::formatv(rows.result, width).str(),
      llvm::formatv(rows.computes, width).str(), isProduct ? ", %w: f32" : "",
      isProduct ? "\n  %y = arith.mulf %x, %w : f32" : "", isProduct ? "%y" : "%x");
}

/// A kernel over rows of a width.
class CompiledRows {
public:
  CompiledRows(const RowsCase &rows, int64_t width, int64_t count = kRows)
      : rows(rows), operands(width, count), kernel(programOf(rows, width), "rows", "sm_80") {}

  LLVM::LLVMFuncOp body() const { return kernel.body(); }
  int64_t columns() const { return rows.isNarrow ? 1 : operands.width; }
  int64_t resultRows() const { return rows.resultRows == kRows ? operands.count : kSequences; }
  KernelLaunch launchOfAll() const { return kernel.launchOf(resultRows(), 1); }
  double expected(int64_t row, int64_t column) const {
    return rows.expected(operands, row, column);
  }
  KernelOutcome run(const KernelLaunch &launch) const {
    return kernel.run(launch, size_t(resultRows() * columns()), columns(),
                      [&](EmulatedGpu &gpu, uint64_t result) { return send(gpu, result, launch); });
  }

private:
  uint64_t send(EmulatedGpu &gpu, uint64_t result, const KernelLaunch &launch) const {
    std::vector<uint64_t> addresses = {result};
    for (const char each : llvm::StringRef(rows.operands)) {
      addresses.push_back(each == 'r'   ? gpu.send(operands.rows)
                          : each == 't' ? gpu.send(operands.table)
                          : each == 'w' ? gpu.send(operands.weight)
                          : each == 'b' ? gpu.send(operands.bias)
                                        : gpu.send(operands.ids));
    }
    std::vector<int32_t> sequences, positions;
    for (int32_t sequence = 0; sequence < kSequences; ++sequence) {
      for (int32_t row = kOffsets[sequence]; row < kOffsets[sequence + 1]; ++row) {
        sequences.push_back(sequence);
        positions.push_back(row - kOffsets[sequence]);
      }
    }
    const auto list = [&](const std::vector<int32_t> &numbers) {
      return reinterpret_cast<const int32_t *>(gpu.send(numbers));
    };
    HeddleRows tokens = {};
    tokens.count = operands.count;
    tokens.longest = 13;
    tokens.offsets = reinterpret_cast<const int32_t *>(gpu.send(kOffsets, sizeof kOffsets));
    tokens.sequence_of = list(sequences);
    tokens.positions = list(positions);
    HeddleRows ofSequences = {};
    ofSequences.count = kSequences;
    ofSequences.longest = 1;
    ofSequences.sequence_of = list({0, 1, 2});
    ofSequences.positions = list({0, 0, 0});
    std::vector<uint64_t> spaces = {gpu.send(&tokens, sizeof tokens)};
    if (rows.resultRows == kSequences) {
      spaces.insert(spaces.begin(), gpu.send(&ofSequences, sizeof ofSequences));
    }
    return gpu.sendLaunch(addresses, spaces, launch);
  }

  const RowsCase &rows;
  const Operands operands;
  const CompiledKernel kernel;
};

/// Expects the rows of a launch to be right, and other rows to be unchanged.
void expectRight(const CompiledRows &rows, const KernelLaunch &launch,
                 const KernelOutcome &outcome) {
  ASSERT_EQ(outcome.report, "");
  for (size_t i = 0; i < outcome.values.size(); ++i) {
    const int64_t row = int64_t(i) / rows.columns(), column = int64_t(i) % rows.columns();
    if (row < launch.rowBegin || row >= launch.rowEnd) {
      ASSERT_TRUE(std::isnan(outcome.values[i])) << "row " << row << ", column " << column;
      continue;
    }
    const double expected = rows.expected(row, column);
    ASSERT_NEAR(double(outcome.values[i]), expected, 1e-5 * (1 + std::abs(expected)))
        << "row " << row << ", column " << column;
  }
}

class WarpRows : public testing::TestWithParam<RowsCase> {};

TEST_P(WarpRows, AreRightForAllWidthsAndDivisions) {
  for (const int64_t width : kWidths) {
    SCOPED_TRACE(width);
    const CompiledRows rows(GetParam(), width);
    KernelLaunch launch = rows.launchOfAll();
    EXPECT_EQ(launch.threads, 128U);
    EXPECT_GT(launch.shared, 0U);
    const KernelOutcome all = rows.run(launch);
    expectRight(rows, launch, all);
    // The bits are the same for a row alone and with others.
    const int64_t middle = GetParam().resultRows / 2;
    for (const int64_t begin : {int64_t{0}, middle}) {
      launch.rowBegin = begin;
      launch.rowEnd = begin == 0 ? 1 : GetParam().resultRows;
      launch.blocks = begin == 0 ? 1 : 3;
      const KernelOutcome some = rows.run(launch);
      expectRight(rows, launch, some);
      for (auto i = size_t(launch.rowBegin * rows.columns());
           i < size_t(launch.rowEnd * rows.columns()) && i < some.values.size(); ++i) {
        ASSERT_EQ(some.values[i], all.values[i]) << i;
      }
    }
  }
}

TEST(WarpRows, SeveralRowsAreAPieceOfALongLaunch) {
  const CompiledRows rows(kCases[0], 21, 530);
  const KernelLaunch launch = rows.launchOfAll();
  expectRight(rows, launch, rows.run(launch));
}

const auto kName = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Families, WarpRows, testing::ValuesIn(kCases), kName);

// --- defects -----------------------------------------------------------------------------------

/// Makes each lane compute the columns of its team's first lane.
void sameColumns(LLVM::LLVMFuncOp function) {
  auto remainders = all<LLVM::URemOp>(function);
  ASSERT_FALSE(remainders.empty());
  OpBuilder builder(remainders.front());
  Value zero =
      LLVM::ConstantOp::create(builder, function.getLoc(), remainders.front().getType(), 0);
  remainders.front().replaceAllUsesWith(zero);
}

/// Makes each team compute the rows of its block's first team.
void sameRows(LLVM::LLVMFuncOp function) {
  auto quotients = all<LLVM::UDivOp>(function);
  ASSERT_FALSE(quotients.empty());
  OpBuilder builder(quotients.front());
  Value zero = LLVM::ConstantOp::create(builder, function.getLoc(), quotients.front().getType(), 0);
  quotients.front().replaceAllUsesWith(zero);
}

/// Makes lanes continue past the end of a row.
void noEdges(LLVM::LLVMFuncOp function) {
  for (LLVM::ICmpOp compare : all<LLVM::ICmpOp>(function)) {
    APInt limit;
    if (matchPattern(compare.getRhs(), m_ConstantInt(&limit)) && limit == 33) {
      OpBuilder builder(compare);
      Value yes = LLVM::ConstantOp::create(builder, function.getLoc(), compare.getType(),
                                           builder.getBoolAttr(true));
      compare.replaceAllUsesWith(yes);
    }
  }
}

/// Makes the exchanges of a narrow row wait for the whole warp.
void allLanes(LLVM::LLVMFuncOp function) {
  for (NVVM::ShflOp each : all<NVVM::ShflOp>(function)) {
    OpBuilder builder(each);
    each.getThreadMaskMutable().assign(LLVM::ConstantOp::create(
        builder, function.getLoc(), builder.getI32Type(), builder.getI32IntegerAttr(-1)));
  }
}

/// Makes the last exchange read a lane of another team.
void otherTeam(LLVM::LLVMFuncOp function) {
  NVVM::ShflOp last = all<NVVM::ShflOp>(function).back();
  OpBuilder builder(last);
  last.getOffsetMutable().assign(LLVM::ConstantOp::create(
      builder, function.getLoc(), builder.getI32Type(), builder.getI32IntegerAttr(16)));
}

struct Defect {
  const char *name;
  int64_t width;
  std::function<void(LLVM::LLVMFuncOp)> plant;
  const char *report;
};
constexpr char kRace[] =
    "race: (reads|writes) 4 bytes of the GPU's memory, which (thread [0-9]+ has written since the "
    "last barrier|block [0-9]+ has written)";
const Defect kDefects[] = {
    {"sameColumns", 100, sameColumns, kRace},
    {"sameRows", 100, sameRows, kRace},
    {"noEdges", 33, noEdges,
     "(race: (reads|writes) 4 bytes of the GPU's memory, which|(reads|writes) 4 bytes that are in "
     "no allocation)"},
    {"oneLaneElsewhere", 100, oneLaneElsewhere<NVVM::ShflOp>,
     "deadlock: 31 threads of warp 1 wait at shfl.bfly, which 1 never reach"},
    {"allLanes", 8, allLanes,
     "deadlock: [0-9]+ threads of warp [0-9] wait at shfl.bfly, which [0-9]+ never reach"},
    {"otherTeam", 8, otherTeam,
     "wants the number of lane [0-9]+, which does not take part in the shuffle"}};

class PlantedRowDefects : public testing::TestWithParam<Defect> {};

TEST_P(PlantedRowDefects, IsFound) {
  const CompiledRows rows(kCases[3], GetParam().width);
  GetParam().plant(rows.body());
  const KernelOutcome outcome = rows.run(rows.launchOfAll());
  expectReported(outcome, "rows", GetParam().report);
}

INSTANTIATE_TEST_SUITE_P(Softmax, PlantedRowDefects, testing::ValuesIn(kDefects), kName);

/// If an exchange is omitted, each lane keeps its own number: the result is wrong, but no error is
/// reported.
TEST(PlantedRowDefects, AnExchangeLeftOutGivesWrongNumbers) {
  for (const size_t number : {size_t{0}, size_t{9}}) {
    const CompiledRows rows(kCases[3], 100), right(kCases[3], 100);
    auto exchanges = all<NVVM::ShflOp>(rows.body());
    ASSERT_EQ(exchanges.size(), 10U);
    exchanges[number].replaceAllUsesWith(exchanges[number].getVal());
    const KernelOutcome outcome = rows.run(rows.launchOfAll());
    ASSERT_EQ(outcome.report, "");
    EXPECT_NE(outcome.values, right.run(right.launchOfAll()).values);
  }
}

} // namespace
} // namespace heddle
