// SPDX-License-Identifier: Apache-2.0
///
/// Small graphs that no exporter writes, compiled and run on every target of the machine: the
/// results follow from ONNX's definitions.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Onnx/OnnxBytes.h"
#include "tests/runtime/Session/TestDevice.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

const std::string programs = HEDDLE_BINARY_DIR "/bin/";
constexpr size_t batch = 2, rows = 5, width = 4;
using Row = std::vector<float>;

/// Returns numbers of both signs; the second row is zero.
std::vector<float> valuesOfX() {
  std::vector<float> values;
  for (size_t i = 0; i < batch * rows * width; ++i) {
    values.push_back(i / width == 1 ? 0 : 1.5F * std::sin(0.7F * static_cast<float>(i) + 1));
  }
  return values;
}

/// Compiles a graph that computes "y" from "x" [batch, rows, 4], and compares all rows of a
/// sequence with the results of a function.
void expectRows(const std::string &nodes,
                const std::function<std::vector<Row>(const std::vector<Row> &)> &wanted,
                const std::string &functions = "") {
  const TemporaryFolder folder;
  const std::string graph =
      input(port("x", {"batch", "rows", "4"})) + nodes + output(port("y", {}));
  const std::string file =
      folder.write("m.onnx", model(graph) + opset(1, "com.microsoft") + functions);
  const std::string binary = compileModel(file);
  ASSERT_FALSE(binary.empty());
  const std::vector<float> x = valuesOfX();
  const std::vector<SafetensorsTensor> tensors = {
      {"x", ElementType::F32, {batch, rows, width}, std::as_bytes(std::span(x))}};
  ASSERT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
  std::vector<float> expected;
  for (size_t sequence = 0; sequence < batch; ++sequence) {
    std::vector<Row> own;
    for (size_t row = sequence * rows; row < (sequence + 1) * rows; ++row) {
      own.emplace_back(&x[row * width], &x[row * width] + width);
    }
    for (const Row &row : wanted(own)) {
      expected.insert(expected.end(), row.begin(), row.end());
    }
  }
  float largest = 1;
  for (const float each : expected) {
    largest = std::max(largest, std::abs(each));
  }
  for (const std::string &isa : runnableTargets(binary)) {
    const tools::Outcome outcome = tools::runHeddle(
        withTestDevice({"run", binary, "--isa", isa, "--inputs", folder / "in.safetensors",
                        "--outputs", folder / "out.safetensors"}));
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    const auto found = Checkpoint::open(folder / "out.safetensors");
    ASSERT_TRUE(found.ok());
    std::vector<float> values(expected.size());
    ASSERT_TRUE(found->readF32("y", values).ok()) << isa;
    EXPECT_LE(largestDifference(values, expected), 1e-5F * largest) << isa;
  }
}

/// The same for functions of single rows.
void expectEach(const std::string &nodes, const std::function<Row(const Row &)> &wanted,
                const std::string &functions = "") {
  expectRows(
      nodes,
      [&](const std::vector<Row> &all) {
        std::vector<Row> results;
        for (const Row &row : all) {
          results.push_back(wanted(row));
        }
        return results;
      },
      functions);
}

std::function<Row(const Row &)> each(const std::function<double(double)> &function) {
  return [function](const Row &row) {
    Row result;
    for (const float value : row) {
      result.push_back(static_cast<float>(function(value)));
    }
    return result;
  };
}

TEST(OnnxOddGraphs, UnusedResultsOfFunctions) {
  const std::string two = bytes(
      25, bytes(1, "Two") + bytes(10, "local") + bytes(4, "a") + bytes(5, "b") + bytes(5, "c") +
              bytes(7, node("Neg", {"a"}, {"b"})) + bytes(7, node("Abs", {"a"}, {"c"})));
  expectEach(floats("one", {}, {1}) + stepWithOutputs("Two", {"x"}, {"t", ""}, "", "local") +
                 step("Clip", {"x", "", "one"}, "c") + step("Add", {"c", "t"}, "y"),
             each([](double x) { return std::min(x, 1.0) - x; }), two);
}

TEST(OnnxOddGraphs, PowersOfNegativeNumbers) {
  for (const int power : {3, 17, 20}) {
    expectEach(floats("power", {}, {static_cast<float>(power)}) + step("Pow", {"x", "power"}, "y"),
               each([&](double x) { return std::pow(x, power); }));
  }
  // Bases near -1 that f32 represents, so that these powers are finite too.
  for (const int power : {1030, 1031, -1031}) {
    expectEach(floats("power", {}, {static_cast<float>(power)}) + floats("four", {}, {4}) +
                   floats("part", {}, {-0x1p-10F}) + floats("one", {}, {1}) +
                   step("Abs", {"x"}, "a") + step("Mul", {"a", "four"}, "b") +
                   step("Floor", {"b"}, "f") + step("Mul", {"f", "part"}, "t") +
                   step("Sub", {"t", "one"}, "s") + step("Pow", {"s", "power"}, "y"),
               each([&](double x) {
                 return std::pow(-1 - std::floor(std::abs(x) * 4) * 0x1p-10, power);
               }));
  }
}

TEST(OnnxOddGraphs, GuardsOfNaN) {
  expectEach(numbers("axes", {1}, {-1}) + floats("none", {}, {0}) + step("Relu", {"x"}, "p") +
                 step("ReduceSum", {"p", "axes"}, "s", integer("keepdims", 1)) +
                 step("Div", {"p", "s"}, "d") + step("IsNaN", {"d"}, "n") +
                 step("Where", {"n", "none", "d"}, "y"),
             [](const Row &row) {
               double sum = 0;
               for (const float x : row) {
                 sum += std::max(x, 0.0F);
               }
               return each([&](double x) { return sum == 0 ? 0 : std::max(x, 0.0) / sum; })(row);
             });
}

TEST(OnnxOddGraphs, SlicesWithoutColumns) {
  expectEach(numbers("from", {1}, {4}) + numbers("to", {1}, {9}) + numbers("axis", {1}, {2}) +
                 step("Slice", {"x", "from", "to", "axis"}, "e") +
                 step("Concat", {"x", "e", "x"}, "y", integer("axis", 2)),
             [](const Row &row) {
               Row result = row;
               result.insert(result.end(), row.begin(), row.end());
               return result;
             });
  // INT64_MAX as i32 is -1: all columns but the last one.
  expectEach(numbers("from", {1}, {0}) + numbers("far", {1}, {INT64_MAX}) +
                 numbers("axis", {1}, {2}) + step("Cast", {"far"}, "to", integer("to", 6)) +
                 step("Slice", {"x", "from", "to", "axis"}, "y"),
             [](const Row &row) { return Row(row.begin(), row.begin() + 3); });
}

/// Returns attention of one head whose bias is table[key - query], counted from the end if
/// negative.
std::string attentionBy(const std::vector<float> &table) {
  const auto count = static_cast<int64_t>(table.size());
  return numbers("i0", {}, {0}) + numbers("i1", {}, {1}) + numbers("v0", {1}, {0}) +
         numbers("v1", {1}, {1}) + floats("table", {count, 1}, table) +
         step("Shape", {"x"}, "s1", integer("start", 1) + integer("end", 2)) +
         step("Squeeze", {"s1"}, "s") + step("Range", {"i0", "s", "i1"}, "r") +
         step("Unsqueeze", {"r", "v1"}, "q") + step("Sub", {"r", "q"}, "d") +
         step("Gather", {"table", "d"}, "b3") +
         step("Transpose", {"b3"}, "b1", integers("perm", {2, 0, 1})) +
         step("Squeeze", {"b1", "v0"}, "bias") +
         step("Transpose", {"x"}, "k", integers("perm", {0, 2, 1})) +
         step("MatMul", {"x", "k"}, "scores") + step("Add", {"scores", "bias"}, "m") +
         step("Softmax", {"m"}, "w", integer("axis", -1)) + step("MatMul", {"w", "x"}, "y");
}

TEST(OnnxOddGraphs, NegativeIndicesOfDistances) {
  std::vector<float> table;
  for (int i = 0; i < 16; ++i) {
    table.push_back(3 * std::sin(static_cast<float>(i * i)));
  }
  expectRows(attentionBy(table), [&](const std::vector<Row> &all) {
    std::vector<Row> results;
    for (size_t query = 0; query < rows; ++query) {
      Row sum(width, 0);
      double total = 0;
      for (size_t key = 0; key < rows; ++key) {
        double score = table[(16 + key - query) % 16];
        for (size_t i = 0; i < width; ++i) {
          score += double(all[query][i]) * all[key][i];
        }
        total += std::exp(score);
        for (size_t i = 0; i < width; ++i) {
          sum[i] += static_cast<float>(std::exp(score) * all[key][i]);
        }
      }
      for (float &value : sum) {
        value = static_cast<float>(value / total);
      }
      results.push_back(sum);
    }
    return results;
  });
}

TEST(OnnxOddGraphs, SequencesThatATableIsTooShortFor) {
  const TemporaryFolder folder;
  const std::string binary = compileModel(
      folder.write("m.onnx", model(input(port("x", {"batch", "rows", "4"})) +
                                   attentionBy({0, 1, 2, 3}) + output(port("y", {})))));
  ASSERT_FALSE(binary.empty());
  const auto run = [&](size_t count, std::string &text) {
    const std::vector<float> x(count * width);
    const std::vector<SafetensorsTensor> tensors = {
        {"x", ElementType::F32, {1, int64_t(count), width}, std::as_bytes(std::span(x))}};
    EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
    return runCommand("(" + programs + "heddle run " + binary + " --inputs " +
                          (folder / "in.safetensors") + " --outputs " +
                          (folder / "out.safetensors") + " 2>&1)",
                      text);
  };
  std::string text;
  EXPECT_EQ(run(4, text), 0) << text;
  EXPECT_EQ(run(5, text), 1);
  EXPECT_NE(text.find("has 5 tokens, the model allows at most 4"), std::string::npos) << text;
}

} // namespace
} // namespace heddle
