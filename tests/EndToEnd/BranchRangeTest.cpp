// SPDX-License-Identifier: Apache-2.0
///
/// fuse-branches at the limits of f32 and of its search: fusions whose values would leave the range
/// are declined for that reason, others are taken, and long programs are compiled in reasonable
/// time.
#include "tests/EndToEnd/KernelProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

constexpr int64_t width = 8;

/// Returns `%result = linear(%input)` with @weight; rows have `width` elements except those of an
/// operand or result that is given another width.
std::string linearText(const std::string &result, const std::string &input,
                       const std::string &weight, int64_t from = width, int64_t to = width) {
  return "  %" + result + " = transformer.linear %" + input + ", @" + weight + " : " +
         rowsType(from) + " -> " + rowsType(to) + "\n";
}

std::string scaleText(const std::string &result, const std::string &input,
                      const std::string &factor) {
  return "  %" + result + " = transformer.scale %" + input + ", " + factor + " : " +
         rowsType(width) + "\n";
}

std::string addText(const std::string &result, const std::string &left, const std::string &right) {
  return "  %" + result + " = transformer.add %" + left + ", %" + right + " : " + rowsType(width) +
         ", " + rowsType(width) + "\n";
}

/// Multiplies by the number @number.
std::string multiplyText(const std::string &result, const std::string &input,
                         const std::string &number) {
  return "  %of_" + result + " = transformer.weight @" + number + " : tensor<1xf32>\n  %" + result +
         " = transformer.multiply %" + input + ", %of_" + result + " : " + rowsType(width) +
         ", tensor<1xf32>\n";
}

/// A program whose rows %x are looked up in @table.
class BranchRange : public testing::Test {
protected:
  /// Compiles with and without the pass, checks that both are finite, and compares the largest
  /// difference with the largest result.
  void compare() {
    parameters.push_back(sized("table", vocabulary, width, rowSize));
    const std::string text = gatherText("x", "table", width) + body;
    compiled = compileBothWays(parameters, width, text, "fuse-branches");
  }
  void expectDeclined(const std::string &reason) {
    compare();
    EXPECT_TRUE(compiled.taken.empty());
    ASSERT_EQ(compiled.declined.size(), 1u) << compiled.report;
    EXPECT_EQ(compiled.declined[0].substr(0, reason.size()), reason);
  }
  void expectTaken(const std::string &what) {
    compare();
    EXPECT_EQ(compiled.taken, std::vector<std::string>{what});
    EXPECT_TRUE(compiled.declined.empty());
  }
  /// Maps from `width` to 24 and back, with weights of these sizes.
  void writeChain(float first, float second) {
    parameters = {sized("a", 24, width, first), sized("b", width, 24, second)};
    body = linearText("h", "x", "a", width, 24) + linearText("out", "h", "b", 24, width);
  }
  /// Applies a factor to one of two maps of the same rows.
  void writeSum(const std::string &factor) {
    body = linearText("p", "x", "a") + scaleText("s", "p", factor) + linearText("q", "x", "b") +
           addText("out", "s", "q");
  }

  std::vector<Matrix> parameters;
  std::string body;
  float rowSize = 1;
  ReportedProgram compiled;
};

TEST_F(BranchRange, AFactorBesideAWeight) {
  Matrix identity = filled("b", width, width, 0);
  for (int64_t i = 0; i < width; ++i) {
    identity.values[i * width + i] = 1;
  }
  parameters = {filled("a", width, width, 50), identity};
  writeSum("1.0e37");
  rowSize = 1e-3f;
  expectDeclined("not fused: composed weights would reach 5e+38, expected at most 5.19e+33");
}

TEST_F(BranchRange, ALessLargeFactor) {
  parameters = {filled("a", width, width, 50), sized("b", width, width, 1)};
  writeSum("1.0e31");
  rowSize = 1e-3f;
  expectTaken("2 maps as 8 to 8");
}

TEST_F(BranchRange, LargeProducts) {
  writeChain(1e20f, 1e20f);
  rowSize = 1e-25f;
  expectDeclined("not fused: composed weights would reach ");
}

TEST_F(BranchRange, LessLargeProducts) {
  writeChain(1e16f, 1e16f);
  rowSize = 1e-20f;
  expectTaken("2 maps as 8 to 8");
}

TEST_F(BranchRange, SmallProducts) {
  writeChain(1e-23f, 1e-23f);
  rowSize = 1e30f;
  expectDeclined("not fused: composed weights would be as small as ");
}

TEST_F(BranchRange, LessSmallProducts) {
  writeChain(1e-18f, 1e-18f);
  rowSize = 1e30f;
  expectTaken("2 maps as 8 to 8");
}

// f32 could not represent the intermediate result.
TEST_F(BranchRange, ProductsThatComeBack) {
  parameters = {sized("a", 24, width, 1e25f), sized("b", 24, 24, 1e25f),
                sized("c", width, 24, 1e-30f)};
  body = linearText("h", "x", "a", width, 24) + linearText("i", "h", "b", 24, 24) +
         linearText("out", "i", "c", 24, width);
  rowSize = 1e-25f;
  expectTaken("3 maps as 8 to 8");
}

TEST_F(BranchRange, AConstantOfASmallWeight) {
  parameters = {sized("a", width, width, 1e-13f), filled("b", width, width, 0)};
  writeSum("1.0e-30");
  rowSize = 1e30f;
  expectDeclined("not fused: composed weights would be as small as ");
}

TEST_F(BranchRange, ANumberOfASmallWeight) {
  parameters = {sized("a", width, width, 1e-13f), filled("k", 1, 0, 1e-30f)};
  body = linearText("p", "x", "a") + multiplyText("out", "p", "k");
  rowSize = 1e30f;
  expectDeclined("not fused: composed weights would be as small as ");
}

// Weights that training has left at the limits of the range occur among relevant ones.
TEST_F(BranchRange, DeadWeights) {
  parameters = {sized("a", width, width, 1), filled("k", 1, 0, 0.1f)};
  std::fill_n(parameters[0].values.begin(), width, 1e-42f);
  body = linearText("p", "x", "a") + multiplyText("out", "p", "k");
  expectTaken("1 map as 8 to 8");
}

// Two maps through two columns are cheaper than one: the constant is moved after both.
TEST_F(BranchRange, AConstantThatPassesAProduct) {
  parameters = {sized("a", 2, width, 1e20f), sized("b", width, 2, 1)};
  body = scaleText("s", "x", "1.0e-30") + linearText("h", "s", "a", width, 2) +
         linearText("out", "h", "b", 2, width);
  rowSize = 1e30f;
  expectDeclined("not fused: numbers that change sizes by 1e+30 would be multiplied after another "
                 "product, expected at most 1.68e+07");
}

TEST_F(BranchRange, ANumberOfEachRowThatPassesAProduct) {
  writeChain(1e20f, 1);
  parameters.push_back(filled("gate", vocabulary, 1, 1e-30f));
  body = gatherText("g", "gate", 1) + "  %s = transformer.multiply %x, %g : " + rowsType(width) +
         ", " + rowsType(1) + "\n" + linearText("h", "s", "a", width, 24) +
         linearText("out", "h", "b", 24, width);
  rowSize = 1e30f;
  expectDeclined("not fused: numbers of each row would be multiplied after weights whose rows add "
                 "up to ");
}

TEST_F(BranchRange, ANumberOfEachRowThatPassesAnOrdinaryProduct) {
  writeChain(1, 1);
  parameters.push_back(filled("gate", vocabulary, 1, 0.5f));
  body = gatherText("g", "gate", 1) + "  %s = transformer.multiply %x, %g : " + rowsType(width) +
         ", " + rowsType(1) + "\n" + linearText("h", "s", "a", width, 24) +
         linearText("out", "h", "b", 24, width);
  expectTaken("2 maps as 8 to 8");
}

TEST_F(BranchRange, NumbersWhoseProductIsNone) {
  parameters = {filled("a", width, width, 0), filled("k", 1, 0, 1e-30f), filled("l", 1, 0, 2e-30f)};
  body = linearText("p", "x", "a") + multiplyText("s", "x", "k") + multiplyText("t", "s", "l") +
         addText("out", "p", "t");
  rowSize = 1e35f;
  expectDeclined("not fused: the product of its numbers is 2e-60, expected 1.18e-38 to 3.4e+38");
}

TEST_F(BranchRange, ConstantsWhoseProductIsNone) {
  parameters = {sized("a", width, width, 1), sized("b", width, width, 1)};
  body = linearText("p", "x", "a") + linearText("q", "x", "b") + scaleText("s", "x", "1.0e30") +
         scaleText("t", "s", "1.0e30") + addText("u", "p", "q") + addText("out", "u", "t");
  rowSize = 1e-35f;
  expectDeclined("not fused: its constants leave the range of f32");
}

// The program rounds before it cancels; the sum of weights is computed without that rounding.
TEST_F(BranchRange, CancellationIsWithinTheBoundOfTheProgram) {
  parameters = {sized("a", width, width, 1), sized("b", width, width, 1)};
  for (size_t i = 0; i < parameters[0].values.size(); ++i) {
    parameters[1].values[i] = -parameters[0].values[i] * (1 + 1e-5f * static_cast<float>(i % 3));
  }
  parameters.push_back(sized("table", vocabulary, width, 1));
  body = gatherText("x", "table", width) + linearText("p", "x", "a") + linearText("q", "x", "b") +
         addText("out", "p", "q");
  compiled = compileWithReport(parameters, width, body, "fuse-branches");
  EXPECT_EQ(compiled.taken, std::vector<std::string>{"2 maps as 8 to 8"});
  const std::vector<float> fused = runAll(compiled.path);
  ASSERT_EQ(fused.size(), size_t(vocabulary * width));
  for (int64_t id = 0; id < vocabulary; ++id) {
    for (int64_t row = 0; row < width; ++row) {
      double exact = 0;
      double size = 0;
      for (int64_t i = 0; i < width; ++i) {
        const double x = parameters[2].at(id, i);
        exact += (parameters[0].at(row, i) + parameters[1].at(row, i)) * x;
        size +=
            (std::abs(parameters[0].at(row, i)) + std::abs(parameters[1].at(row, i))) * std::abs(x);
      }
      // The program's error is about one unit of `size` for each product of a row.
      EXPECT_LE(std::abs(fused[id * width + row] - exact), 0x1p-24 * 2e-5 * width * size);
    }
  }
}

/// y = W_i y + 0.5 x, repeatedly; the time used to be cubic in the length.
class LongBranches : public testing::TestWithParam<int> {};

TEST_P(LongBranches, AreOneProduct) {
  std::vector<Matrix> parameters = {sized("table", vocabulary, width, 1)};
  std::string body = gatherText("x", "table", width) + scaleText("h", "x", "0.5");
  std::string last = "x";
  for (int i = 0; i < GetParam(); ++i) {
    const std::string number = std::to_string(i);
    parameters.push_back(sized("w" + number, width, width, 0.6f));
    const std::string sum = i + 1 == GetParam() ? "out" : "s" + number;
    body += linearText("p" + number, last, "w" + number) + addText(sum, "p" + number, "h");
    last = sum;
  }
  const ReportedProgram compiled = compileWithReport(parameters, width, body, "fuse-branches");
  EXPECT_FALSE(compiled.taken.empty());
  EXPECT_TRUE(compiled.declined.empty());
  const std::vector<float> values = runAll(compiled.path);
  ASSERT_EQ(values.size(), size_t(vocabulary * width));
  for (int64_t id = 0; id < vocabulary; ++id) {
    std::vector<double> y(width);
    for (int64_t i = 0; i < width; ++i) {
      y[i] = parameters[0].at(id, i);
    }
    for (int link = 1; link <= GetParam(); ++link) {
      std::vector<double> next(width);
      for (int64_t row = 0; row < width; ++row) {
        next[row] = 0.5 * parameters[0].at(id, row);
        for (int64_t i = 0; i < width; ++i) {
          next[row] += parameters[link].at(row, i) * y[i];
        }
      }
      y = next;
    }
    for (int64_t i = 0; i < width; ++i) {
      EXPECT_NEAR(values[id * width + i], y[i], 1e-5) << id << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Links, LongBranches, testing::Values(800, 5000));

// Rows without common operands form no product, so the search for parts must be bounded.
TEST_F(BranchRange, LongSumsArePlannedInParts) {
  constexpr int links = 150;
  std::string last = "x";
  for (int i = 0; i < links; ++i) {
    const std::string number = std::to_string(i);
    parameters.push_back(sized("w" + number, width, width, 0.6f));
    parameters.push_back(sized("t" + number, vocabulary, width, 1));
    const std::string sum = i + 1 == links ? "out" : "s" + number;
    body += linearText("p" + number, last, "w" + number) +
            gatherText("x" + number, "t" + number, width) +
            addText(sum, "p" + number, "x" + number);
    last = sum;
  }
  compare();
  EXPECT_TRUE(compiled.taken.empty());
  EXPECT_TRUE(std::ranges::find(compiled.declined,
                                "not one product: more than 2048 operations, terms and maps are "
                                "planned in parts") != compiled.declined.end());
}

} // namespace
} // namespace heddle
