// SPDX-License-Identifier: Apache-2.0
///
/// Einstein summations, and casts to the type of another value.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

Read read(const std::string &graph) { return readModel(model(graph, 18)); }

/// Rows of a table as "x"; the nodes compute "y".
std::string ofRows(const std::string &nodes) {
  return input(port("ids", {"batch", "rows"}, 7)) +
         initializer(tensor("table", {11, 4}) + raw(176)) +
         graphNode(node("Gather", {"table", "ids"}, {"x"}, "embed")) + nodes +
         output(port("y", {}));
}

std::string einsum(const char *equation, const std::vector<std::string> &inputs,
                   const char *result) {
  return graphNode(node("Einsum", inputs, {result}) +
                   bytes(5, bytes(1, "equation") + number(20, 3) + bytes(4, equation)));
}

std::string ofWeights(const std::string &nodes) {
  return ofRows(initializer(tensor("q", {2, 4, 3}) + raw(96)) +
                initializer(tensor("k", {4, 2, 3}) + raw(96)) +
                initializer(tensor("o", {2, 3, 4}) + raw(96)) +
                initializer(tensor("v", {4}) + raw(16)) + nodes);
}

TEST(OnnxEinsum, SummationsAreProducts) {
  const Read attention = read(ofWeights(
      einsum("btm,hmd->bhtd", {"x", "q"}, "a") + einsum("bsm, mhd -> bhsd", {"x", "k"}, "c") +
      einsum("bhtd,bhsd->bhts", {"a", "c"}, "s") +
      graphNode(node("Softmax", {"s"}, {"p"}) + integer("axis", -1)) +
      // The values come first, and the output projection is part of the same summation.
      einsum("bhsd,bhts,hdm->btm", {"c", "p", "o"}, "y")));
  EXPECT_EQ(attention.message, "");
  expectInOrder(attention.text,
                {"linear", "linear", "split_heads", "split_heads", "contract \"thd,khd->thk\"",
                 "softmax", "contract \"thk,khd->thd\"", "merge_heads", "linear"});
  // Without a summed subscript it is an elementwise product; with an ellipsis and an implied
  // result.
  expectInOrder(read(ofWeights(einsum("...m,m->...m", {"x", "v"}, "y"))).text, {"multiply"});
  expectInOrder(read(ofWeights(einsum("...m,hmd->...hd", {"x", "q"}, "a") +
                               einsum("...hd,hdm", {"a", "o"}, "y")))
                    .text,
                {"linear", "linear"});
}

TEST(OnnxEinsum, OtherSummationsAreNamed) {
  const std::string where = "node \"the_node\" (Einsum): ";
  const std::pair<std::string, std::string> cases[] = {
      {einsum("btm->bt", {"x"}, "y"), "equation \"btm->bt\" sums \"m\" of one operand alone"},
      {einsum("btm,hmd->btd", {"x", "q"}, "y"),
       "equation \"btm,hmd->btd\" sums \"h\" of one operand alone"},
      {einsum("bbm->bm", {"x"}, "y"),
       "its equation \"bbm->bm\" does not name each axis of each of 1 operands once"},
      {einsum("bm->bm", {"x"}, "y"),
       "its equation \"bm->bm\" does not name each axis of each of 1 operands once"},
      {einsum("btm,hmd->bthd", {"x"}, "y"),
       "its equation \"btm,hmd->bthd\" does not name each axis of each of 1 operands once"},
      {einsum("btm->btx", {"x"}, "y"),
       "its equation \"btm->btx\" does not name each axis of each of 1 operands once"},
      {einsum("btm,hdm->bthd", {"x", "q"}, "y"), "the sizes of 'm' are 4 and 3, expected the same"},
      {einsum("btm,hmd->bth", {"x", "q"}, "y"),
       "equation \"btm,hmd->bth\" sums \"d\" of one operand alone"},
      {einsum("btm,bsn->bts", {"x", "x"}, "y"),
       "equation \"btm,bsn->bts\" sums \"mn\" of one operand alone"},
      {einsum("btm,btm->b", {"x", "x"}, "y"),
       "equation \"btm,btm->b\" sums over \"tm\" and keeps \"\" and \"\" of activations, expected "
       "one axis each, as of queries and keys, or weights and values"}};
  for (const auto &[nodes, message] : cases) {
    EXPECT_EQ(read(ofWeights(nodes)).message, where + message);
  }
}

TEST(OnnxEinsum, CastsFollowOtherValues) {
  const std::string relu = graphNode(node("Relu", {"f"}, {"y"}));
  expectInOrder(read(ofRows(graphNode(node("CastLike", {"x", "table"}, {"f"})) + relu)).text,
                {"gather", "relu"});
  EXPECT_EQ(read(ofRows(graphNode(node("CastLike", {"x", "ids"}, {"f"})) + relu)).message,
            "node \"the_node\" (CastLike): casts activations to other than floats, expected f32");
}

} // namespace
} // namespace heddle
