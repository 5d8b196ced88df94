// SPDX-License-Identifier: Apache-2.0
///
/// fuse-attention at the limits of f32: a factor that the kernel applies at another place than the
/// program is moved only if both products stay within the range.
#include "tests/EndToEnd/KernelProgram.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr int64_t width = 8;

/// One head over rows whose queries, keys and values are looked up.
class AttentionRange : public testing::Test {
protected:
  AttentionRange()
      : parameters({sized("queries", vocabulary, width, 1), sized("keys", vocabulary, width, 1),
                    sized("values", vocabulary, width, 1)}) {}

  Matrix &parameter(size_t index, float size) {
    parameters[index] = sized(parameters[index].name, vocabulary, width, size);
    return parameters[index];
  }
  void write(const std::string &line) { body += "  " + line + "\n"; }
  void lookUp() {
    body += gatherText("q", "queries", width) + gatherText("k", "keys", width) +
            gatherText("v", "values", width);
  }
  void scale(const std::string &result, const std::string &rows, const std::string &factor) {
    write("%" + result + " = transformer.scale %" + rows + ", " + factor + " : " + rowsType(width));
  }
  void split(const std::string &rows) {
    write("%" + rows + "h = transformer.split_heads %" + rows + " : " + rowsType(width) + " -> " +
          heads);
  }
  /// Defines %s, the product of the queries and keys of these names.
  void contract(const std::string &queries = "q", const std::string &keys = "k") {
    split(queries);
    split(keys);
    write("%s = transformer.contract \"thd,khd->thk\" %" + queries + "h, %" + keys +
          "h in(%rows, %rows) : " + heads + ", " + heads + " -> " + scores);
  }
  /// Defines %n, and the scores %z times it.
  void multiply(const std::string &type) {
    write("%z = transformer.multiply %s, %n : " + scores + ", " + type);
  }
  void finish(const std::string &ofScores, const std::string &values = "v") {
    split(values);
    write("%p = transformer.softmax %" + ofScores + " in(%rows) : " + scores);
    write("%c = transformer.contract \"thk,khd->thd\" %p, %" + values +
          "h in(%rows, %rows) : " + scores + ", " + heads + " -> " + heads);
    write("%out = transformer.merge_heads %c : " + heads + " -> " + rowsType(width));
  }

  void expectTaken() {
    const ReportedProgram compiled = compileBothWays(parameters, width, body, "fuse-attention");
    EXPECT_EQ(compiled.taken.size(), 1u) << compiled.report;
    EXPECT_TRUE(compiled.declined.empty()) << compiled.report;
  }
  void expectDeclined(const std::string &reason) {
    const ReportedProgram compiled = compileBothWays(parameters, width, body, "fuse-attention");
    EXPECT_TRUE(compiled.taken.empty()) << compiled.report;
    ASSERT_EQ(compiled.declined.size(), 1u) << compiled.report;
    EXPECT_EQ(compiled.declined[0].substr(0, reason.size()), reason);
  }

  const std::string heads = tensorType("?x1x8");
  const std::string scores = tensorType("?x1x?");
  std::vector<Matrix> parameters;
  std::string body;
};

/// Scores times a single learned number, which the kernel applies to the queries.
class LearnedNumber : public AttentionRange {
protected:
  void writeNumber(float number) {
    parameters.push_back(filled("number", 1, 0, number));
    lookUp();
    contract();
    write("%n = transformer.weight @number : tensor<1xf32>");
    multiply("tensor<1xf32>");
    finish("z");
  }
};

TEST_F(LearnedNumber, ThatQueriesCannotTake) {
  parameter(0, 1e10f);
  parameter(1, 1e-37f);
  writeNumber(1e30f);
  expectDeclined("not fused: factors that change sizes by 1e+30 would be multiplied on the other "
                 "side of the product of queries and keys, expected at most ");
}

TEST_F(LearnedNumber, OfOrdinarySize) {
  writeNumber(0.37f);
  expectTaken();
}

/// Scores times a number for each row; keys are a map of the rows that are looked up.
class NumberOfEachRow : public AttentionRange {
protected:
  void writeNumbers(float number, float ofKeys) {
    parameters.push_back(filled("numbers", vocabulary, 1, number));
    parameters.push_back(sized("map", width, width, ofKeys));
    lookUp();
    write("%m = transformer.linear %k, @map : " + rowsType(width) + " -> " + rowsType(width));
    contract("q", "m");
    body += gatherText("n", "numbers", 1);
    multiply(rowsType(1));
    finish("z");
  }
};

TEST_F(NumberOfEachRow, ThatQueriesCannotTake) {
  parameter(0, 1e10f);
  writeNumbers(1e30f, 1e-37f);
  expectDeclined("not fused: numbers of each row would be multiplied before keys of weights whose "
                 "rows add up to ");
}

TEST_F(NumberOfEachRow, OfOrdinarySize) {
  writeNumbers(0.37f, 1);
  expectTaken();
}

/// Scores times a number for each key, which the kernel applies to the keys.
class NumberOfEachKey : public AttentionRange {
protected:
  void writeNumbers(float number) {
    parameters.push_back(filled("numbers", vocabulary, 1, number));
    lookUp();
    split("q");
    split("k");
    write("%s = transformer.contract \"thd,khd->kht\" %qh, %kh in(%rows, %rows) : " + heads + ", " +
          heads + " -> " + scores);
    body += gatherText("n", "numbers", 1);
    multiply(rowsType(1));
    write("%t = transformer.transpose %z [2, 1, 0] : " + scores + " -> " + scores);
    finish("t");
  }
};

TEST_F(NumberOfEachKey, ThatKeysCannotTake) {
  parameter(0, 1e-37f);
  parameter(1, 1e10f);
  writeNumbers(1e30f);
  expectDeclined(
      "not fused: numbers of each key would be multiplied before queries of weights whose "
      "rows add up to ");
}

TEST_F(NumberOfEachKey, OfOrdinarySize) {
  writeNumbers(0.37f);
  expectTaken();
}

// The product before scaling is infinite.
TEST_F(AttentionRange, ConstantsOfQueriesAndKeys) {
  parameter(0, 1e20f);
  parameter(1, 1e20f);
  lookUp();
  scale("r", "q", "1.0e-20");
  scale("l", "k", "1.0e-20");
  contract("r", "l");
  finish("s");
  expectDeclined("not fused: factors that change sizes by 1e+40 would be multiplied on the other "
                 "side of the product of queries and keys, expected at most ");
}

TEST_F(AttentionRange, OrdinaryConstantsOfQueriesAndKeys) {
  lookUp();
  scale("r", "q", "5.946036e-01");
  scale("l", "k", "5.946036e-01");
  contract("r", "l");
  finish("s");
  expectTaken();
}

// A sum of such small values has few significant digits.
TEST_F(AttentionRange, AConstantOfSmallValues) {
  parameter(2, 1e-41f);
  lookUp();
  contract();
  scale("w", "v", "1.0e30");
  finish("s", "w");
  expectDeclined(
      "not fused: factors of values that change sizes by 1e+30 would be multiplied after "
      "their sum, expected at most ");
}

/// Two tables of biases by distance, which the kernel adds in advance.
class TwoTables : public AttentionRange {
protected:
  void writeTables(float size) {
    parameters[0] = filled("queries", vocabulary, width, 1e19f);
    parameters[1] = filled("keys", vocabulary, width, -size / 8e19f);
    parameters.push_back(filled("near", 1, 3, size));
    parameters.push_back(filled("far", 1, 5, size));
    lookUp();
    contract();
    for (const std::string bias : {"near", "far"}) {
      write("%" + bias + " = transformer.relative_bias @" + bias + " in(%rows, %rows) : " + scores);
    }
    write("%n = transformer.add %s, %near : " + scores + ", " + scores);
    write("%f = transformer.add %n, %far : " + scores + ", " + scores);
    finish("f");
  }
};

// Scores of -2e38 and the first table almost cancel, and the second is still finite.
TEST_F(TwoTables, WithoutAFiniteSum) {
  writeTables(2e38f);
  expectDeclined("not fused: the table of biases by distance would have 4e+38 for head 0 in column "
                 "0, expected a number that is finite in f32");
}

TEST_F(TwoTables, OfOrdinarySize) {
  writeTables(1);
  expectTaken();
}

/// (P x) W, for which the kernel sums x W. One row of x is large, and no row attends to it.
class MapOfASum : public AttentionRange {
protected:
  void writeMap(float size) {
    parameters[0] = filled("queries", vocabulary, width, 1);
    std::fill_n(parameters[1].values.begin(), width, -1000.0f);
    std::fill_n(parameters[2].values.begin(), width, 1e28f);
    parameters.push_back(sized("map", width, width, size));
    parameters.back().isOfHead = true;
    lookUp();
    contract();
    write("%p = transformer.softmax %s in(%rows) : " + scores);
    write("%c = transformer.contract \"thk,km->thm\" %p, %v in(%rows, %rows) : " + scores + ", " +
          rowsType(width) + " -> " + heads);
    write("%w = transformer.weight @map : tensor<1x8x8xf32>");
    // The order of its axes is not that of a linear map, which it would otherwise be.
    write("%o = transformer.contract \"thm,hmd->thd\" %c, %w : " + heads +
          ", tensor<1x8x8xf32> -> " + heads);
    write("%out = transformer.merge_heads %o : " + heads + " -> " + rowsType(width));
  }
};

TEST_F(MapOfASum, ThatEachRowCannotTake) {
  writeMap(1e13f);
  expectDeclined("not fused: values would be mapped before they are summed, by weights whose rows "
                 "add up to ");
}

TEST_F(MapOfASum, OfOrdinarySize) {
  writeMap(1);
  expectTaken();
}

} // namespace
} // namespace heddle
