// SPDX-License-Identifier: Apache-2.0
///
/// Rows, windows and states computed by warps on the emulated GPU: correct results for any width,
/// the same bits in any division of the rows and order of the threads, and reports of kernels with
/// one defect each.
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
/// Rows of three sequences, the positions before them, and rows of a table.
constexpr int32_t kOffsets[] = {0, 1, 14, 21}, kBefore[] = {0, 4, 0};
constexpr int64_t kRows = 21, kSequences = 3, kTableRows = 9;
/// The columns of a panel.
constexpr int64_t kPanel = 48;

int64_t sequenceOf(int64_t row) { return row < kOffsets[1] ? 0 : row < kOffsets[2] ? 1 : 2; }
int64_t firstOf(int64_t row) { return kOffsets[sequenceOf(row)]; }
int64_t endOf(int64_t row) { return kOffsets[sequenceOf(row) + 1]; }
int64_t positionOf(int64_t row) { return row - firstOf(row) + kBefore[sequenceOf(row)]; }
float frequencyOf(int64_t column) { return 1 / float(column + 1); }

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
  double tableAt(int64_t row, int64_t column) const {
    return double(table[size_t(row * width + column)]);
  }
  /// Returns the sum of products of a column with the table's, of the rows of the same sequence
  /// that are `step` apart and at most so many rows before or after this one.
  double around(int64_t row, int64_t column, int64_t before, int64_t after, int64_t step) const {
    double all = 0;
    for (int64_t distance = -before, number = 0; distance <= after; distance += step, ++number) {
      const int64_t other = row + distance;
      const bool isInside = other >= firstOf(row) && other < endOf(row);
      all += isInside ? at(other, column) * tableAt(number, column) : 0;
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
  /// The operands in order, after the result unless it is a state: r(ows), t(able), w(eight),
  /// b(ias), i(ds), v(alues, one a row), s(tate), and S for the result as a state.
  const char *operands;
  std::function<double(const Operands &, int64_t row, int64_t column)> expected;
  bool isNarrow = false;
  int64_t resultRows = kRows;
  /// How many times as many columns as its input the result has.
  int64_t times = 1;
  /// Whether panels of columns are separate work.
  bool hasPanels = false;

  bool isState() const { return llvm::StringRef(operands).contains('S'); }
  /// Returns whether its types name rows of sequences.
  bool hasSequences() const {
    return llvm::StringRef(inputs).contains("sequences") ||
           llvm::StringRef(result).contains("sequences");
  }
};

#define HEDDLE_ROWS "!dataflow.buffer<[tokens, {0}], f32>"
#define HEDDLE_VECTOR "!dataflow.buffer<[{0}], f32>"
#define HEDDLE_NUMBERS "!dataflow.buffer<[tokens, 1], f32>"
#define HEDDLE_TABLE "!dataflow.buffer<[9, {0}], f32>"
#define HEDDLE_STATE "!dataflow.state<[{0}], f32>"

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
     }},
    {"Angles", "", HEDDLE_ROWS, "#dataflow.angles<[{1}]>", "",
     [](const Operands &, int64_t row, int64_t i) {
       return double(float(positionOf(row)) * frequencyOf(i));
     }},
    {"DepthwiseWindow", HEDDLE_ROWS ", " HEDDLE_TABLE, HEDDLE_ROWS,
     "#dataflow.slide<depthwise, width = {0}, window = <height = 9>>", "rt",
     [](const Operands &x, int64_t row, int64_t i) { return x.around(row, i, 4, 4, 1); }},
    {"MaximumOfWindow", HEDDLE_ROWS ", " HEDDLE_VECTOR, HEDDLE_ROWS,
     "#dataflow.slide<max, width = {0}, window = <height = 3>> norm <rms_norm, 1.0e-3 : f64>", "rw",
     [](const Operands &x, int64_t row, int64_t i) {
       const auto most = [&](int64_t column) {
         double value = x.at(row, column);
         for (int64_t other = std::max(row - 1, firstOf(row));
              other < std::min(row + 2, endOf(row)); ++other) {
           value = std::max(value, x.at(other, column));
         }
         return value;
       };
       double squares = 0;
       for (int64_t column = 0; column < x.width; ++column) {
         squares += most(column) * most(column);
       }
       return most(i) / std::sqrt(squares / double(x.width) + kEpsilon) *
              double(x.weight[size_t(i)]);
     }},
    {"Patches", HEDDLE_ROWS, "!dataflow.buffer<[tokens, {2}], f32>",
     "#dataflow.slide<patches, width = {0}, window = <height = 3>>", "r",
     [](const Operands &x, int64_t row, int64_t i) {
       const int64_t other = row + i / x.width - 1;
       return other >= firstOf(row) && other < endOf(row) ? x.at(other, i % x.width) : 0;
     },
     false, kRows, 3},
    {"Convolution", HEDDLE_ROWS ", " HEDDLE_TABLE, HEDDLE_ROWS,
     "#dataflow.convolve<width = {0}, kernel = 9, dilation = 2, causal = true>", "rt",
     [](const Operands &x, int64_t row, int64_t i) { return x.around(row, i, 16, 0, 2); }},
    {"ConvolutionAndNorm", HEDDLE_ROWS ", " HEDDLE_TABLE, HEDDLE_ROWS,
     "#dataflow.convolve<width = {0}, kernel = 9, dilation = 1, causal = false> "
     "norm <normalize, 1.0e-3 : f64>",
     "rt",
     [](const Operands &x, int64_t row, int64_t i) {
       double squares = 0;
       for (int64_t column = 0; column < x.width; ++column) {
         squares += std::pow(x.around(row, column, 4, 4, 1), 2);
       }
       return x.around(row, i, 4, 4, 1) / std::max(std::sqrt(squares), kEpsilon);
     }},
    {"TopOne", HEDDLE_ROWS, "(" HEDDLE_NUMBERS ", !dataflow.buffer<[choices(tokens, 1)], i32>)",
     "#dataflow.top_k<count = 1, columns = {0}>", "cr",
     [](const Operands &x, int64_t row, int64_t) {
       double most = x.at(row, 0);
       for (int64_t i = 1; i < x.width; ++i) {
         most = std::max(most, x.at(row, i));
       }
       return most;
     },
     true},
    {"PlaceColumns", HEDDLE_NUMBERS ", !dataflow.buffer<[choices(tokens, 1)], i32>", HEDDLE_ROWS,
     "#dataflow.place_columns<count = 1, columns = {0}>", "vi",
     [](const Operands &x, int64_t row, int64_t i) {
       // Of columns out of range, the last one is taken.
       const int64_t column = std::min<int64_t>(x.ids[size_t(row)], x.width - 1);
       return i == column ? double(x.rows[size_t(row)]) : 0;
     }},
    {"LoadState", HEDDLE_STATE, "!dataflow.buffer<[sequences, {0}], f32>", "#dataflow.load", "s",
     [](const Operands &x, int64_t row, int64_t i) {
       return kBefore[row] > 0 ? x.tableAt(row, i) : 0;
     },
     false, kSequences},
    {"StoreState", HEDDLE_STATE ", !dataflow.buffer<[sequences, {0}], f32>", HEDDLE_STATE,
     "#dataflow.store", "Sr",
     [](const Operands &x, int64_t row, int64_t i) { return x.at(row, i); }, false, kSequences},
    {"PrefixMean", HEDDLE_ROWS ", " HEDDLE_STATE, HEDDLE_ROWS, "#dataflow.prefix_mean", "rs",
     [](const Operands &x, int64_t row, int64_t i) {
       const int64_t sequence = sequenceOf(row);
       double all = kBefore[sequence] > 0 ? x.tableAt(sequence, i) : 0;
       for (int64_t each = firstOf(row); each <= row; ++each) {
         all += x.at(each, i);
       }
       return all / double(positionOf(row) + 1);
     },
     false, kRows, 1, true},
    {"Keep", HEDDLE_STATE ", " HEDDLE_ROWS, HEDDLE_STATE, "#dataflow.keep", "Sr",
     [](const Operands &x, int64_t row, int64_t i) { return x.at(kOffsets[row + 1] - 1, i); },
     false, kSequences, 1, true}};

std::string programOf(const RowsCase &rows, int64_t width) {
  const bool isProduct = llvm::StringRef(rows.computes).contains("td,d");
  std::vector<std::string> frequencies;
  for (int64_t column = 0; column < width; ++column) {
    frequencies.push_back(llvm::formatv("{0:E9}", double(frequencyOf(column))).str());
  }
  return llvm::formatv(
      R"(
dataflow.kernel @rows : ({0}) -> {1} computes {2} {{
^bb0(%x: f32{3}):{4}
  dataflow.yield {5}
}
)",
      llvm::formatv(false, rows.inputs, width).str(),
      llvm::formatv(false, rows.result, width, 0, rows.times * width).str(),
      llvm::formatv(false, rows.computes, width, llvm::join(frequencies, ", ")).str(),
      isProduct ? ", %w: f32" : "", isProduct ? "\n  %y = arith.mulf %x, %w : f32" : "",
      isProduct ? "%y" : "%x");
}

/// A kernel over rows of a width.
class CompiledRows {
public:
  CompiledRows(const RowsCase &rows, int64_t width, int64_t count = kRows)
      : rows(rows), operands(width, count), kernel(programOf(rows, width), "rows", "sm_80") {}

  LLVM::LLVMFuncOp body() const { return kernel.body(); }
  int64_t columns() const { return rows.isNarrow ? 1 : rows.times * operands.width; }
  int64_t resultRows() const { return rows.resultRows == kRows ? operands.count : kSequences; }
  KernelLaunch launchOfAll() const {
    const int64_t panels = (operands.width + kPanel - 1) / kPanel;
    return kernel.launchOf(workRows(), rows.hasPanels ? panels : 1);
  }
  /// Returns the rows of work: a sequence, if a panel of it is a piece, and otherwise a row of the
  /// result; and the one that computes a row of the result.
  int64_t workRows() const { return rows.hasPanels ? kSequences : resultRows(); }
  int64_t workOf(int64_t row) const { return workRows() == resultRows() ? row : sequenceOf(row); }
  double expected(int64_t row, int64_t column) const {
    return rows.expected(operands, row, column);
  }
  KernelOutcome run(const KernelLaunch &launch) const {
    return kernel.run(launch, size_t(resultRows() * columns()), columns(),
                      [&](EmulatedGpu &gpu, uint64_t result, uint64_t memory) {
                        return send(gpu, result, memory, launch);
                      });
  }

private:
  static const int32_t *list(EmulatedGpu &gpu, const std::vector<int32_t> &numbers) {
    return reinterpret_cast<const int32_t *>(gpu.send(numbers));
  }
  /// Sends a state whose rows, one a sequence, are adjacent in memory.
  uint64_t sendState(EmulatedGpu &gpu, uint64_t memory) const {
    HeddleCache state = {};
    state.memory = reinterpret_cast<void *>(memory);
    state.block_stride = operands.width * int64_t(sizeof(float));
    state.blocks = list(gpu, {0, 1, 2});
    state.blocks_pitch = 1;
    state.segments = kSequences;
    return gpu.send(&state, sizeof state);
  }
  uint64_t sendOperand(EmulatedGpu &gpu, char operand, uint64_t memory) const {
    switch (operand) {
    case 'r':
      return gpu.send(operands.rows);
    case 't':
      return gpu.send(operands.table);
    case 'w':
      return gpu.send(operands.weight);
    case 'b':
      return gpu.send(operands.bias);
    case 'v':
      return gpu.send(operands.rows.data(), kRows * sizeof(float));
    case 's':
      return sendState(gpu, gpu.send(operands.table));
    case 'S':
      return sendState(gpu, memory);
    case 'c': {
      // A result of integers, one a row.
      const HeddleResult choices = {reinterpret_cast<void *>(gpu.send(operands.ids)), 0, 0, 1};
      return gpu.send(&choices, sizeof choices);
    }
    default:
      return gpu.send(operands.ids);
    }
  }
  uint64_t send(EmulatedGpu &gpu, uint64_t result, uint64_t memory,
                const KernelLaunch &launch) const {
    std::vector<uint64_t> addresses;
    if (!rows.isState()) {
      addresses.push_back(result);
    }
    for (const char each : llvm::StringRef(rows.operands)) {
      addresses.push_back(sendOperand(gpu, each, memory));
    }
    std::vector<int32_t> sequences, positions;
    for (int64_t row = 0; row < kRows; ++row) {
      sequences.push_back(int32_t(sequenceOf(row)));
      positions.push_back(int32_t(positionOf(row)));
    }
    HeddleRows tokens = {};
    tokens.count = operands.count;
    tokens.longest = 13;
    tokens.offsets = reinterpret_cast<const int32_t *>(gpu.send(kOffsets, sizeof kOffsets));
    tokens.sequence_of = list(gpu, sequences);
    tokens.positions = list(gpu, positions);
    HeddleRows ofSequences = {};
    ofSequences.count = kSequences;
    ofSequences.longest = 1;
    ofSequences.sequence_of = list(gpu, {0, 1, 2});
    ofSequences.positions = list(gpu, {std::begin(kBefore), std::end(kBefore)});
    std::vector<uint64_t> spaces = {gpu.send(&tokens, sizeof tokens)};
    if (rows.hasSequences()) {
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
    if (rows.workOf(row) < launch.rowBegin || rows.workOf(row) >= launch.rowEnd) {
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
    ASSERT_NO_FATAL_FAILURE(expectRight(rows, launch, all));
    // The bits are the same for a row alone and with others.
    const int64_t middle = rows.workRows() / 2;
    for (const int64_t begin : {int64_t{0}, middle}) {
      launch.rowBegin = begin;
      launch.rowEnd = begin == 0 ? 1 : rows.workRows();
      launch.blocks = begin == 0 ? 1 : 3;
      const KernelOutcome some = rows.run(launch);
      ASSERT_NO_FATAL_FAILURE(expectRight(rows, launch, some));
      for (size_t i = 0; i < some.values.size(); ++i) {
        ASSERT_TRUE(std::isnan(some.values[i]) || some.values[i] == all.values[i]) << i;
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
