// SPDX-License-Identifier: Apache-2.0
///
/// Graphs of static shapes whose axes are not those of sequences: each input is one row.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

Read read(const std::string &graph) { return readModel(model(graph + output(port("y", {})), 18)); }

const std::string x = input(port("x", {"2", "3", "4"}));

TEST(OnnxWholeTensors, AxesChangePlaces) {
  const Read found =
      read(x + graphNode(node("Transpose", {"x"}, {"y"}) + integers("perm", {2, 1, 0})));
  EXPECT_EQ(found.message, "");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(
      found.notes[0],
      "no rows of sequences: output \"y\" has other axes than rows, expected [batch, sequence, "
      "width] or [batch, width]; each input is one row with all its elements, and attention "
      "is not over ragged rows");
  // Moves the last axis to the front, then the middle axis within each of its parts.
  expectInOrder(found.text, {"tensor<?x24xf32>", "transformer.most_rows = 1", "split_heads",
                             "tensor<?x6x4xf32>", "transpose", "choices %", ", 4", "split_rows",
                             "tensor<?x2x3xf32>", "transpose", "join_rows"});
}

TEST(OnnxWholeTensors, SequencesOfOneLengthNeedNoMask) {
  const Read found = read(x + graphNode(node("Relu", {"x"}, {"y"})));
  EXPECT_EQ(found.message, "");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_TRUE(found.notes[0].starts_with("no rows of sequences: all sequences have 3 rows"))
      << found.notes[0];
  expectInOrder(found.text, {"tensor<?x24xf32>", "transformer.most_rows = 1", "relu"});
}

TEST(OnnxWholeTensors, AnyMatricesAreMultiplied) {
  const Read found =
      read(x + input(port("z", {"4", "5"})) + graphNode(node("MatMul", {"x", "z"}, {"y"})));
  EXPECT_EQ(found.message, "");
  expectInOrder(found.text, {"repeat ", "contract \"tmd,tdn->tmn\"", "tensor<?x3x4xf32>",
                             "tensor<?x4x5xf32> -> tensor<?x3x5xf32>"});
  EXPECT_NE(read(x + input(port("z", {"5", "4"})) + graphNode(node("MatMul", {"x", "z"}, {"y"})))
                .message.find("multiplies an axis of 4 with one of 5, expected equal sizes"),
            std::string::npos);
}

TEST(OnnxWholeTensors, AnyAxisIsReducedNormedOrJoined) {
  const std::string first = numbers("axes", {1}, {0});
  expectInOrder(read(x + first + graphNode(node("ReduceSum", {"x", "axes"}, {"y"}))).text,
                {"transpose", "choices %", ", 12", "reduce sum"});
  expectInOrder(read(x + graphNode(node("Softmax", {"x"}, {"y"}) + integer("axis", 0))).text,
                {"transpose", "choices %", ", 12", "row_softmax"});
  expectInOrder(read(x + graphNode(node("Concat", {"x", "x"}, {"y"}) + integer("axis", 1))).text,
                {"transpose", "concat", "tensor<?x48xf32>"});
}

TEST(OnnxWholeTensors, PartsHaveALimit) {
  const Read found = read(input(port("x", {"300", "2"})) + numbers("axes", {1}, {1}) +
                          graphNode(node("ReduceSum", {"x", "axes"}, {"s"})) +
                          graphNode(node("Transpose", {"s"}, {"y"})));
  EXPECT_NE(found.message.find("makes 300 parts of a row rows of their own, expected at most 255"),
            std::string::npos)
      << found.message;
}

TEST(OnnxWholeTensors, ComparisonsChooseBetweenFunctionsThatMeet) {
  const auto chosen = [](const std::string &then) {
    return read(x + floats("zero", {}, {0}) + floats("one", {}, {1}) +
                graphNode(node("Less", {"x", "zero"}, {"below"})) +
                graphNode(node("Exp", {"x"}, {"e"})) + graphNode(node("Sub", {"e", "one"}, {"f"})) +
                graphNode(node("Where", {"below", then, "x"}, {"c"})) +
                graphNode(node("Transpose", {"c"}, {"y"})));
  };
  const Read elu = chosen("f");
  EXPECT_EQ(elu.message, "");
  expectInOrder(elu.text, {"clamp", "activate exp", "clamp"});
  EXPECT_NE(chosen("e").message.find("chooses between functions by a comparison, expected two that "
                                     "are the same at the number compared with"),
            std::string::npos);
}

TEST(OnnxWholeTensors, ConstantConditionsChoose) {
  const auto chosen = [](const std::string &truths) {
    return read(x + initializer(tensor("here", {4}, 9) + bytes(9, truths)) +
                floats("seven", {}, {7}) + graphNode(node("Where", {"here", "x", "seven"}, {"c"})) +
                graphNode(node("Transpose", {"c"}, {"y"})));
  };
  expectInOrder(chosen(std::string("\1\0\1\1", 4)).text, {"combine minimum", "combine maximum"});
  EXPECT_FALSE(chosen(std::string("\1\1\1\1", 4)).has("combine"));
}

TEST(OnnxWholeTensors, EveryNthElementIsTaken) {
  const auto sliced = [](const std::vector<std::string> &shape) {
    return read(input(port("x", shape)) + numbers("begin", {1}, {1}) + numbers("end", {1}, {1000}) +
                numbers("axis", {1}, {0}) + numbers("step", {1}, {2}) +
                graphNode(node("Slice", {"x", "begin", "end", "axis", "step"}, {"y"})));
  };
  expectInOrder(sliced({"5", "3"}).text, {"columns", "columns", "concat"});
  EXPECT_NE(sliced({"600", "3"})
                .message.find("takes every 2th element of an axis, expected 1 to 256 of them"),
            std::string::npos);
}

TEST(OnnxWholeTensors, OddOperandsOfAttentionAreRefused) {
  const auto attended = [](const std::string &more, const std::vector<std::string> &operands) {
    return readModel(model(input(port("q", {"2", "1", "3", "4"})) + more +
                               graphNode(node("Attention", operands, {"y"})) +
                               output(port("y", {})),
                           23))
        .message;
  };
  EXPECT_EQ(attended(floats("none", {}, {0}), {"q", "q", "q", "none"}), "");
  EXPECT_NE(attended(input(port("p", {"3", "4"})), {"q", "q", "q", "", "p", "p"})
                .find("has a past that is not keys and values [batch, heads, rows, size]"),
            std::string::npos);
}

TEST(OnnxWholeTensors, PowersAreOneNumber) {
  const Read found =
      read(x + floats("p", {4}, {1, 2, 3, 4}) + graphNode(node("Pow", {"x", "p"}, {"y"})));
  EXPECT_NE(found.message.find("raises rows to powers that differ, expected one number"),
            std::string::npos)
      << found.message;
}

TEST(OnnxWholeTensors, PaddingIsWrittenBeside) {
  const Read found = read(x + numbers("pads", {6}, {0, 1, 0, 0, 0, 2}) +
                          graphNode(node("Pad", {"x", "pads"}, {"y"})));
  EXPECT_EQ(found.message, "");
  expectInOrder(found.text,
                {"gather", "concat", "tensor<?x32xf32>", "gather", "concat", "tensor<?x48xf32>"});
  EXPECT_NE(read(x + numbers("pads", {6}, {0, 1, 0, 0, 0, 2}) +
                 graphNode(node("Pad", {"x", "pads"}, {"y"}) + text("mode", "edge")))
                .message.find("pads activations, expected constants"),
            std::string::npos);
}

TEST(OnnxWholeTensors, OutputsAreFloats) {
  const Read found = read(x + graphNode(node("Shape", {"x"}, {"y"})));
  EXPECT_NE(found.message.find("output \"y\" has integers or truth values, expected floats"),
            std::string::npos)
      << found.message;
}

} // namespace
} // namespace heddle
