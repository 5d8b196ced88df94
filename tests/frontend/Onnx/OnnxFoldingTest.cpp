// SPDX-License-Identifier: Apache-2.0
///
/// Graphs without inputs are evaluated while they are read.
#include "frontend/Onnx/Folding.h"
#include "frontend/Onnx/OnnxProgram.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Onnx/OnnxBytes.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

std::string truths(const char *name, const std::string &values) {
  return initializer(tensor(name, {static_cast<int64_t>(values.size())}, 9) + bytes(9, values));
}

struct Folded {
  std::vector<FoldedTensor> tensors;
  std::string message;
};

Folded fold(const std::string &graph) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.onnx", model(graph + output(port("y", {})), 18));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto found = foldOnnxGraph(context, file);
  if (!found.ok()) {
    std::string message(found.status().message());
    return {{}, message.erase(0, file.size() + 2)};
  }
  return {*std::move(found), ""};
}

TEST(OnnxFolding, ConstantsBecomeNumbers) {
  const std::string grid = numbers("grid", {2, 3}, {1, -2, 0, 4, 5, -6});
  const Folded tiled = fold(grid + numbers("times", {2}, {1, 2}) +
                            graphNode(node("Tile", {"grid", "times"}, {"y"})));
  ASSERT_EQ(tiled.message, "");
  EXPECT_EQ(tiled.tensors[0].shape, (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(tiled.tensors[0].integers,
            (std::vector<int64_t>{1, -2, 0, 1, -2, 0, 4, 5, -6, 4, 5, -6}));
  EXPECT_EQ(fold(grid + graphNode(node("Sign", {"grid"}, {"y"}))).tensors[0].integers,
            (std::vector<int64_t>{1, -1, 0, 1, 1, -1}));
  const Folded size = fold(grid + graphNode(node("Size", {"grid"}, {"y"})));
  EXPECT_TRUE(size.tensors[0].shape.empty());
  EXPECT_EQ(size.tensors[0].integers, std::vector<int64_t>{6});
  const std::string real = floats("real", {4}, {-1.5F, 0, 2, 2.25F});
  const Folded up = fold(real + graphNode(node("Ceil", {"real"}, {"y"})));
  EXPECT_TRUE(up.tensors[0].isReal);
  EXPECT_EQ(up.tensors[0].reals, (std::vector<double>{-1, 0, 2, 3}));
  EXPECT_EQ(fold(real + graphNode(node("Sign", {"real"}, {"y"}))).tensors[0].reals,
            (std::vector<double>{-1, 0, 1, 1}));
  const std::string pair =
      truths("a", std::string("\0\0\1\1", 4)) + truths("b", std::string("\0\1\0\1", 4));
  EXPECT_EQ(fold(pair + graphNode(node("Xor", {"a", "b"}, {"y"}))).tensors[0].integers,
            (std::vector<int64_t>{0, 1, 1, 0}));
}

TEST(OnnxFolding, WhatIsNoConstantIsNamed) {
  const std::string grid = numbers("grid", {2, 3}, {1, -2, 0, 4, 5, -6});
  EXPECT_EQ(
      fold(input(port("x", {"batch", "rows"}, 7)) + graphNode(node("Size", {"x"}, {"y"}))).message,
      "has 1 inputs, expected none");
  EXPECT_EQ(
      fold(grid + numbers("times", {1}, {2}) + graphNode(node("Tile", {"grid", "times"}, {"y"})))
          .message,
      "node \"the_node\" (Tile): repeats 1 axes of 2");
  EXPECT_EQ(fold(grid + graphNode(node("Frobnicate", {"grid"}, {"y"}))).message,
            "unsupported operator: \"Frobnicate\" (1 node, first \"the_node\", opset 18)");
  EXPECT_EQ(fold(numbers("far", {1}, {int64_t{1} << 23}) +
                 graphNode(node("ConstantOfShape", {"far"}, {"y"})))
                .message,
            "output \"y\": computes with numbers that do not follow from constants, or with too "
            "many of them");
}

TEST(OnnxFolding, NumbersAreThoseOfTheOperators) {
  const auto folded = [](const std::string &graph) { return fold(graph).tensors.at(0); };
  const std::string grid = numbers("grid", {2, 3}, {1, -2, 0, 4, 5, -6});
  const std::string pair = numbers("a", {4}, {7, -7, 7, -7}) + numbers("b", {4}, {3, 3, -3, -3});
  EXPECT_EQ(folded(pair + graphNode(node("Mod", {"a", "b"}, {"y"}))).integers,
            (std::vector<int64_t>{1, 2, -2, -1}));
  EXPECT_EQ(folded(pair + graphNode(node("Mod", {"a", "b"}, {"y"}) + integer("fmod", 1))).integers,
            (std::vector<int64_t>{1, -1, 1, -1}));
  EXPECT_EQ(
      folded(floats("x", {3}, {0.5F, 1.5F, -2.5F}) + graphNode(node("Round", {"x"}, {"y"}))).reals,
      (std::vector<double>{0, 2, -2}));
  EXPECT_EQ(folded(grid + numbers("last", {1}, {1}) +
                   graphNode(node("ReduceProd", {"grid", "last"}, {"y"}) + integer("keepdims", 0)))
                .integers,
            (std::vector<int64_t>{0, -120}));
  EXPECT_EQ(folded(grid + numbers("axis", {}, {1}) +
                   graphNode(node("CumSum", {"grid", "axis"}, {"y"}) + integer("exclusive", 1)))
                .integers,
            (std::vector<int64_t>{0, 1, -1, 0, 4, 9}));
  EXPECT_EQ(folded(grid + numbers("axis", {}, {1}) +
                   graphNode(node("CumSum", {"grid", "axis"}, {"y"}) + integer("reverse", 1)))
                .integers,
            (std::vector<int64_t>{-1, -2, 0, 3, -1, -6}));
  EXPECT_EQ(folded(grid + numbers("pads", {4}, {0, 1, 1, 0}) +
                   graphNode(node("Pad", {"grid", "pads"}, {"y"}) + text("mode", "edge")))
                .integers,
            (std::vector<int64_t>{1, 1, -2, 0, 4, 4, 5, -6, 4, 4, 5, -6}));
}

TEST(OnnxFolding, IndicesOutsideAreNamed) {
  const std::string grid = numbers("grid", {2, 3}, {1, -2, 0, 4, 5, -6});
  EXPECT_EQ(
      fold(grid + numbers("far", {2}, {0, 7}) + graphNode(node("Gather", {"grid", "far"}, {"y"})))
          .message,
      "output \"y\": index 7 is outside an axis of 2 elements");
  EXPECT_EQ(
      fold(grid + numbers("zero", {3}, {0, 1, 0}) + graphNode(node("Mod", {"grid", "zero"}, {"y"})))
          .message,
      "output \"y\": it divides by zero");
  EXPECT_EQ(fold(grid + numbers("at", {1, 1}, {5}) + numbers("new", {1, 3}, {1, 2, 3}) +
                 graphNode(node("ScatterND", {"grid", "at", "new"}, {"y"})))
                .message,
            "node \"the_node\" (ScatterND): index 5 is outside an axis of 2 elements");
}

TEST(OnnxFolding, SumsOfManyForEachOfManyAreNoConstants) {
  EXPECT_EQ(fold(numbers("shape", {1}, {1 << 20}) + numbers("axis", {}, {0}) +
                 graphNode(node("ConstantOfShape", {"shape"}, {"zeros"})) +
                 graphNode(node("Cast", {"zeros"}, {"whole"}) + integer("to", 7)) +
                 graphNode(node("CumSum", {"whole", "axis"}, {"y"})))
                .message,
            "output \"y\": it takes too many steps to compute");
}

TEST(OnnxFolding, ActivationsAreNoFormulas) {
  const TemporaryFolder folder;
  for (const char *const type : {"Sign", "Ceil"}) {
    const std::string graph = input(port("x", {"batch", "rows", "4"})) +
                              graphNode(node(type, {"x"}, {"y"})) + output(port("y", {}));
    const std::string file = folder.write("m.onnx", model(graph, 18));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    EXPECT_EQ(readOnnxProgram(context, file).status().message(),
              file + ": node \"the_node\" (" + type +
                  "): reads activations, expected sizes, indices, masks or constants");
  }
}

} // namespace
} // namespace heddle
