// SPDX-License-Identifier: Apache-2.0
///
/// Programs larger than any model: a hundred thousand operations in sequence and in parallel
/// compile in linear time, and programs that exceed the limits of a binary are rejected with a
/// message.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"

#include <cmath>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr int operations = 100'000;
/// The limit in seconds of one processor; each case takes a small part of it. Earlier, cases with
/// quadratic time took minutes or ended the process.
constexpr unsigned mostSeconds = 60;

constexpr const char *rows = "tensor<?x8xf32>";

class HeddlecSizeTest : public HeddlecTest {
protected:
  HeddlecSizeTest() {
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = 0.01F * static_cast<float>(i % 17) - 0.07F;
    }
    const auto bytes = std::as_bytes(std::span(numbers));
    const std::vector<SafetensorsTensor> tensors = {
        {"table", ElementType::F32, {4, 8}, bytes.first(128)},
        {"map", ElementType::F32, {8, 8}, bytes}};
    const Status status = writeSafetensors(source / "p.safetensors", tensors);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// Returns a program that computes a value named `result` from the rows %x.
  std::string program(const std::string &body, const std::string &result) {
    return source.write(
        "p.mlir",
        fmt::format("transformer.parameter @table : tensor<4x8xf32> from \"table\"\n"
                    "transformer.parameter @map : tensor<8x8xf32> from \"map\"\n"
                    "func.func @encode(%ids: tensor<?xi32> {{transformer.name = \"input_ids\"}}, "
                    "%rows: !transformer.segments) -> ({0} {{transformer.name = \"y\"}}) {{\n"
                    "  %x = transformer.gather @table[%ids] : {0}\n"
                    "  %m = transformer.linear %x, @map : {0} -> {0}\n"
                    "{1}  return {2} : {0}\n}}\n",
                    rows, body, result));
  }

  /// Compiles within the time limit; returns the program's output for two ids.
  std::vector<float> compileAndRun(const std::string &path) {
    const std::string binary = work / "p.so";
    const tools::Outcome outcome =
        heddlec({path, "-o", binary, "--target=native"}, {.processorSeconds = mostSeconds});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    if (outcome.code != 0) {
      return {};
    }
    Ragged batch;
    batch.append(std::vector<int32_t>{1, 3});
    return runBinary(binary, batch)["y"];
  }

  TemporaryFolder source;
  std::vector<float> numbers = std::vector<float>(64);
};

TEST_F(HeddlecSizeTest, AChainOfMaps) {
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < operations; ++i) {
    body += fmt::format("  %v{0} = transformer.linear {1}, @map : {2} -> {2}\n", i, last, rows);
    last = fmt::format("%v{}", i);
  }
  // The map shortens vectors: they vanish.
  const std::vector<float> output = compileAndRun(program(body, last));
  EXPECT_EQ(output, std::vector<float>(16, 0.0F));
}

TEST_F(HeddlecSizeTest, AChainOfFunctions) {
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < operations; ++i) {
    body += fmt::format("  %v{} = transformer.activate {} {} : {}\n", i,
                        i % 2 == 0 ? "tanh" : "relu", last, rows);
    last = fmt::format("%v{}", i);
  }
  // 1 / tanh(x)^2 is nearly 1 / x^2 + 2 / 3.
  const std::vector<float> output = compileAndRun(program(body, last));
  ASSERT_EQ(output.size(), 16u);
  for (size_t i = 0; i < output.size(); ++i) {
    const double x = std::max(numbers[8 * (i < 8 ? 1 : 3) + i % 8], 0.0F);
    EXPECT_NEAR(output[i], x / std::sqrt(1 + x * x * operations / 3.0), 1e-4) << i;
  }
}

TEST_F(HeddlecSizeTest, AChainOfSums) {
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < operations; ++i) {
    body += fmt::format("  %v{0} = transformer.add {1}, {3} : {2}, {2}\n", i, last, rows,
                        i % 2 == 0 ? "%m" : "%x");
    last = fmt::format("%v{}", i);
  }
  const std::vector<float> output = compileAndRun(program(body, last));
  ASSERT_EQ(output.size(), 16u);
  for (size_t i = 0; i < output.size(); ++i) {
    const size_t row = 8 * (i < 8 ? 1 : 3);
    double map = 0;
    for (size_t k = 0; k < 8; ++k) {
      map += double(numbers[row + k]) * numbers[8 * (i % 8) + k];
    }
    const double half = operations / 2.0;
    EXPECT_NEAR(output[i], (half + 1) * numbers[row + i % 8] + half * map, 5) << i;
  }
}

TEST_F(HeddlecSizeTest, ASumOfLookUps) {
  std::string body;
  std::string last = "%m";
  for (int i = 0; i < operations / 2; ++i) {
    body += fmt::format("  %g{0} = transformer.gather @table[%ids] : {2}\n"
                        "  %v{0} = transformer.add {1}, %g{0} : {2}, {2}\n",
                        i, last, rows);
    last = fmt::format("%v{}", i);
  }
  EXPECT_EQ(compileAndRun(program(body, last)).size(), 16u);
}

/// All are computed before the first is needed.
TEST_F(HeddlecSizeTest, SideBySide) {
  std::string body;
  std::string sums;
  std::string last = "%x";
  for (int i = 0; i < operations / 3; ++i) {
    const std::string factor = fmt::format("{:.6e}", 1.0 / (1 + i % 5));
    body += fmt::format("  %a{0} = transformer.scale %x, {1} : {2}\n"
                        "  %b{0} = transformer.linear %a{0}, @map : {2} -> {2}\n",
                        i, factor, rows);
    sums += fmt::format("  %s{0} = transformer.add {1}, %b{0} : {2}, {2}\n", i, last, rows);
    last = fmt::format("%s{}", i);
  }
  EXPECT_EQ(compileAndRun(program(body + sums, last)).size(), 16u);
}

TEST_F(HeddlecSizeTest, ManyAttentions) {
  const std::string heads = "tensor<?x2x4xf32>", scores = "tensor<?x2x?xf32>";
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < operations / 7; ++i) {
    body += fmt::format(
        "  %q{0} = transformer.split_heads {1} : {2} -> {3}\n"
        "  %s{0} = transformer.contract \"thd,khd->thk\" %q{0}, %q{0} in(%rows, %rows) : {3}, {3} "
        "-> {4}\n"
        "  %z{0} = transformer.scale %s{0}, 5.000000e-01 : {4}\n"
        "  %p{0} = transformer.softmax %z{0} in(%rows) : {4}\n"
        "  %c{0} = transformer.contract \"thk,khd->thd\" %p{0}, %q{0} in(%rows, %rows) : {4}, {3} "
        "-> {3}\n"
        "  %m{0} = transformer.merge_heads %c{0} : {3} -> {2}\n"
        "  %v{0} = transformer.activate tanh %m{0} : {2}\n",
        i, last, rows, heads, scores);
    last = fmt::format("%v{}", i);
  }
  EXPECT_EQ(compileAndRun(program(body, last)).size(), 16u);
}

/// No attention shares its weights with another, so each is compared with all earlier ones.
TEST_F(HeddlecSizeTest, ManyAttentionsOverOneValue) {
  constexpr int count = operations / 10;
  std::string parameters;
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < count; ++i) {
    for (const char *name : {"q", "k", "v"}) {
      parameters +=
          fmt::format("transformer.parameter @{}{} : tensor<8x8xf32> = scale(@map, {:e})\n", name,
                      i, 1.0 + i / 1024.0);
      body +=
          fmt::format("  %{0}{1} = transformer.linear %x, @{0}{1} : {2} -> {2}\n", name, i, rows);
    }
    body +=
        fmt::format("  %a{0} = transformer.attention %q{0}, %k{0}, %v{0} in(%rows, %rows) {{heads "
                    "= 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>}} : "
                    "{2}, {2}, {2} -> {2}\n"
                    "  %s{0} = transformer.add {1}, %a{0} : {2}, {2}\n",
                    i, last, rows);
    last = fmt::format("%s{}", i);
  }
  const std::string path = program(body, last);
  source.write("p.mlir", readBytes(path).insert(readBytes(path).find("func.func"), parameters));
  const tools::Outcome outcome = tools::runProgram(
      "heddle-opt", {path, "--transformer-share-attention", "-o", work / "shared.mlir"},
      {.processorSeconds = mostSeconds});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
}

/// Between the probabilities of one attention and their use.
TEST_F(HeddlecSizeTest, AChainBehindASoftmax) {
  const std::string heads = "tensor<?x2x4xf32>", scores = "tensor<?x2x?xf32>";
  std::string body =
      fmt::format("  %h = transformer.split_heads %x : {0} -> {1}\n"
                  "  %s = transformer.contract \"thd,khd->thk\" %h, %h in(%rows, %rows) : {1}, {1} "
                  "-> {2}\n"
                  "  %p = transformer.softmax %s in(%rows) : {2}\n",
                  rows, heads, scores);
  std::string last = "%p";
  for (int i = 0; i < operations; ++i) {
    body += fmt::format("  %v{} = transformer.scale {}, 1.0 : {}\n", i, last, scores);
    last = fmt::format("%v{}", i);
  }
  body +=
      fmt::format("  %c = transformer.contract \"thk,khd->thd\" {3}, %h in(%rows, %rows) : {2}, "
                  "{1} -> {1}\n"
                  "  %y = transformer.merge_heads %c : {1} -> {0}\n",
                  rows, heads, scores, last);
  EXPECT_EQ(compileAndRun(program(body, "%y")).size(), 16u);
}

TEST_F(HeddlecSizeTest, TooManyResults) {
  std::string types;
  std::string values;
  std::string resultTypes;
  for (int i = 0; i < operations; ++i) {
    types += fmt::format("{}{} {{transformer.name = \"y{}\"}}", i == 0 ? "" : ", ", rows, i);
    values += i == 0 ? "%x" : ", %x";
    resultTypes += fmt::format("{}{}", i == 0 ? "" : ", ", rows);
  }
  const std::string path = source.write(
      "p.mlir",
      fmt::format("transformer.parameter @table : tensor<4x8xf32> from \"table\"\n"
                  "func.func @encode(%ids: tensor<?xi32> {{transformer.name = \"input_ids\"}}, "
                  "%rows: !transformer.segments) -> ({}) {{\n"
                  "  %x = transformer.gather @table[%ids] : {}\n  return {} : {}\n}}\n",
                  types, rows, values, resultTypes));
  expectError({path, "-o", work / "p.so"},
              path + ":2:1: error: 'func.func' op has 100000 outputs, expected at most 1024");
}

TEST_F(HeddlecSizeTest, ExpressionsOfExpressions) {
  const auto withExpressions = [&](int count, const std::string &kind) {
    std::string text = "transformer.parameter @p0 : tensor<8x8xf32> from \"map\"\n";
    for (int i = 1; i <= count; ++i) {
      text += fmt::format("transformer.parameter @p{0} : tensor<8x8xf32> = {1}\n", i,
                          fmt::format(fmt::runtime(kind), i - 1));
    }
    return source.write("p.mlir", text + "func.func @encode() { return }\n");
  };
  std::string path = withExpressions(20000, "transpose(@p{0})");
  expectError(
      {path, "-o", work / "p.so"},
      path + ":10002:1: error: 'transformer.parameter' op is an expression of expressions 10001 "
             "deep, expected at most 10000");
  path = withExpressions(60, "sum(@p{0}, @p{0})");
  expectError({path, "-o", work / "p.so"},
              path + ":20:1: error: 'transformer.parameter' op takes the evaluation of 1048575 "
                     "expressions, expected at most 1000000");
}

} // namespace
} // namespace heddle
