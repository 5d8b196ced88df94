// SPDX-License-Identifier: Apache-2.0
///
/// Graphs with static sizes: declared ones, those of an exporter's example, and images.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

Read read(const std::string &graph, bool isStatic = false) {
  return readModel(model(graph, 18), {.isStatic = isStatic});
}

std::string longs(const char *name, const std::vector<int64_t> &values) {
  std::string data;
  for (const int64_t value : values) {
    data.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  return initializer(tensor(name, {static_cast<int64_t>(values.size())}, 7) + bytes(9, data));
}

// --- sizes of an exporter's example --------------------------------------------------------------

/// Rows of a table as "x", from which the nodes compute "y", and a padding mask "mask".
std::string ofRows(const std::string &nodes,
                   const std::vector<std::string> &shape = {"batch", "rows"}) {
  return input(port("ids", shape, 7)) + input(port("mask", shape, 7)) +
         initializer(tensor("table", {11, 4}) + raw(176)) +
         initializer(tensor("qkv", {4, 12}) + raw(192)) +
         graphNode(node("Gather", {"table", "ids"}, {"x"}, "embed")) + nodes +
         output(port("y", {}));
}

/// Attention that masks padding.
std::string attention(const char *from) {
  return graphNode(node("Attention", {from, "qkv", "", "mask"}, {"y"}, "a", "com.microsoft") +
                   integer("num_heads", 2));
}

/// Reshapes "x" to [batch, 7, 4] as "r".
const std::string sevenRows =
    graphNode(node("Shape", {"ids"}, {"sizes"})) + longs("zero", {0}) + longs("rest", {7, 4}) +
    graphNode(node("Gather", {"sizes", "zero"}, {"first"})) +
    graphNode(node("Concat", {"first", "rest"}, {"shape"}) + integer("axis", 0)) +
    graphNode(node("Reshape", {"x", "shape"}, {"r"}, "view"));

TEST(OnnxFixedSizes, ConstantsThatContradictOpenSizesNeedAWord) {
  const std::string graph = ofRows(sevenRows + attention("r"));
  EXPECT_EQ(read(graph).message,
            "node \"view\" (Reshape): reshapes 4 * batch * size 1 elements to 28 * batch, expected "
            "as many; they agree where \"rows\" is 7, of which the exporter made a constant: "
            "--static takes the graph for that size");
  const Read fixed = read(graph, true);
  EXPECT_EQ(fixed.message, "");
  ASSERT_EQ(fixed.notes.size(), 1U);
  EXPECT_EQ(fixed.notes[0], "\"rows\" is 7 in the graph, as in the exporter's example");
  expectInOrder(fixed.text, {"@run(", "transformer.most_rows = 7", "gather", "softmax",
                             "@run_columns(", "transformer.most_rows = 7", "softmax"});
  // Without a padding mask, shorter sequences would not have the meaning that they have in the
  // graph.
  EXPECT_EQ(read(ofRows(sevenRows + graphNode(node("Relu", {"r"}, {"y"}))), true).message,
            "all sequences have 7 rows, and no mask hides padding, expected one: shorter sequences "
            "would be other ones than those of the graph");
}

TEST(OnnxFixedSizes, OnlyOneSizeMayBeAConstant) {
  const auto reshaped = [](const std::vector<int64_t> &shape) {
    return ofRows(longs("shape", shape) + graphNode(node("Reshape", {"x", "shape"}, {"r"})) +
                  attention("r"));
  };
  const std::string where = "node \"the_node\" (Reshape): reshapes 4 * batch * size 1 elements to ";
  // Two sizes, a count that is not a multiple, and a single row.
  EXPECT_EQ(read(reshaped({3, 7, 4}), true).message, where + "84, expected as many");
  EXPECT_EQ(read(reshaped({-1, 1, 1}), true).message.find(where), std::string::npos);
  const std::string odd =
      ofRows(graphNode(node("Shape", {"ids"}, {"sizes"})) + longs("zero", {0}) +
             longs("rest", {7}) + graphNode(node("Gather", {"sizes", "zero"}, {"first"})) +
             graphNode(node("Concat", {"first", "rest"}, {"shape"}) + integer("axis", 0)) +
             graphNode(node("Reshape", {"x", "shape"}, {"r"})) + attention("r"));
  EXPECT_EQ(read(odd, true).message, where + "7 * batch, expected as many");
}

TEST(OnnxFixedSizes, ABatchOfTheExampleMakesNoDifference) {
  const std::string graph = ofRows(
      graphNode(node("Shape", {"ids"}, {"sizes"})) + longs("one", {1}) + longs("first", {3}) +
      longs("last", {4}) + graphNode(node("Gather", {"sizes", "one"}, {"rows"})) +
      graphNode(node("Concat", {"first", "rows", "last"}, {"shape"}) + integer("axis", 0)) +
      graphNode(node("Reshape", {"x", "shape"}, {"r"})) + attention("r"));
  EXPECT_NE(read(graph).message.find("they agree where \"batch\" is 3"), std::string::npos);
  const Read fixed = read(graph, true);
  EXPECT_EQ(fixed.message, "");
  EXPECT_EQ(fixed.text.find("transformer.most_rows"), std::string::npos);
  ASSERT_EQ(fixed.notes.size(), 1U);
  EXPECT_EQ(fixed.notes[0],
            "\"batch\" is 3 in the graph, as in the exporter's example; a batch may have any other "
            "size, since its sequences never meet");
}

TEST(OnnxFixedSizes, DeclaredSizesAreChecked) {
  for (const char *const batch : {"1", "7", "batch"}) {
    const Read fixed = read(ofRows(attention("x"), {batch, "7"}));
    EXPECT_EQ(fixed.message, "") << batch;
    expectInOrder(fixed.text, {"transformer.most_rows = 7", "softmax"});
  }
  EXPECT_EQ(read(ofRows(attention("x"), {"batch", "1"})).message,
            "input \"ids\" has a length of 1, expected 2 or more");
  EXPECT_EQ(read(ofRows(attention("x"), {"0", "rows"})).message,
            "input \"ids\" has a batch of 0, expected 1 or more");
  EXPECT_EQ(read(input(port("more", {"3", "7"}, 7)) + ofRows(attention("x"), {"2", "7"})).message,
            "input \"ids\" has a batch of 2, expected 3, as elsewhere");
}

// --- images and sounds ---------------------------------------------------------------------------

/// An image [batch, channels, 6, 4] or audio, convolved by a weight to "c"; further nodes follow.
std::string ofImages(const std::vector<std::string> &shape, const std::vector<int64_t> &weight,
                     const std::string &attributes, const std::string &more) {
  int64_t count = 4;
  for (const int64_t size : weight) {
    count *= size;
  }
  return input(port("image", shape)) +
         initializer(tensor("w", weight) + raw(static_cast<size_t>(count))) +
         initializer(tensor("b", {weight[0]}) + raw(static_cast<size_t>(4 * weight[0]))) +
         graphNode(node("Conv", {"image", "w", "b"}, {"c"}, "conv") + attributes) + more +
         output(port("y", {}));
}

/// The positions of [batch, 5, positions] as rows.
const std::string asRows = longs("shape", {0, 5, -1}) +
                           graphNode(node("Reshape", {"c", "shape"}, {"f"})) +
                           graphNode(node("Transpose", {"f"}, {"t"}) + integers("perm", {0, 2, 1}));

TEST(OnnxFixedSizes, PatchesOfImagesAreRows) {
  const std::string strides = integers("strides", {2, 2});
  const std::string classes =
      initializer(tensor("class", {1, 1, 5}) + raw(20)) +
      initializer(tensor("places", {1, 7, 5}) + raw(140)) + longs("tail", {1, 5}) +
      graphNode(node("Shape", {"image"}, {"n"}) + integer("end", 1)) +
      graphNode(node("Concat", {"n", "tail"}, {"sizes"}) + integer("axis", 0)) +
      graphNode(node("Expand", {"class", "sizes"}, {"e"})) +
      graphNode(node("Concat", {"e", "t"}, {"j"}) + integer("axis", 1)) +
      graphNode(node("Add", {"j", "places"}, {"y"}));
  const Read found =
      read(ofImages({"batch", "3", "6", "4"}, {5, 3, 2, 2}, strides, asRows + classes));
  EXPECT_EQ(found.message, "");
  expectInOrder(found.text, {"@run(",
                             "tensor<?x72xf32>",
                             "transformer.most_rows = 1",
                             "split_heads",
                             "transpose",
                             "split_rows",
                             "transpose",
                             "join_rows",
                             "choices %",
                             ", 6",
                             "split_rows",
                             "tensor<?x12xf32>",
                             "linear",
                             "positions",
                             "gather @\"class.row 0",
                             "join_rows",
                             "concat",
                             "split_rows",
                             "positions",
                             "gather @places.table",
                             "add"});
}

TEST(OnnxFixedSizes, FramesOfSoundsAreRows) {
  const std::string centred = integers("pads", {1, 1});
  const std::string relu = graphNode(node("Relu", {"t"}, {"y"}));
  const Read found = read(ofImages({"batch", "3", "7"}, {5, 3, 3}, centred, asRows + relu));
  EXPECT_EQ(found.message, "");
  expectInOrder(found.text, {"@run(", "tensor<?x21xf32>", "choices %", ", 7", "slide patches",
                             "height = 3", "linear", "relu"});
  // With a stride of two, seven frames make four outputs; padding completes the last group of two.
  const Read strided = read(
      ofImages({"batch", "3", "7"}, {5, 3, 3}, centred + integers("strides", {2}), asRows + relu));
  EXPECT_EQ(strided.message, "");
  expectInOrder(strided.text, {"slide patches", "join_rows", "tensor<?x63xf32>", "columns",
                               "concat", "split_rows", "columns", "linear"});
}

TEST(OnnxFixedSizes, OtherConvolutionsAreNamed) {
  const std::string where = "node \"conv\" (Conv): ";
  const std::string relu = asRows + graphNode(node("Relu", {"t"}, {"y"}));
  const auto message = [&](const std::vector<std::string> &shape,
                           const std::vector<int64_t> &weight, const std::string &attributes) {
    return read(ofImages(shape, weight, attributes, relu)).message;
  };
  const std::vector<std::string> image = {"batch", "3", "6", "4"};
  EXPECT_EQ(message(image, {5, 3, 2, 2}, ""),
            where + "has a kernel of 2 with stride 1, dilation 1 and pads 0 and 0 over 6, expected "
                    "patches side by side or, along one axis, as many pads as keep the kernel's "
                    "middle inside");
  EXPECT_EQ(message(image, {5, 2, 2, 2}, integers("strides", {2, 2})),
            where + "its weight has shape [5, 2, 2, 2], expected 3 channels and the kernel [2, 2]");
  EXPECT_EQ(message(image, {5, 3, 2, 2}, integers("kernel_shape", {3, 3})),
            where + "its weight has shape [5, 3, 2, 2], expected 3 channels and the kernel [3, 3]");
  EXPECT_EQ(message(image, {3, 1, 2, 2}, integers("strides", {2, 2}) + integer("group", 3)),
            where + "has groups or auto_pad, expected one group and pads");
  EXPECT_EQ(message(image, {5, 3, 2, 2}, integers("strides", {2})),
            where + "attribute \"strides\" is [2], expected 2 numbers from 0 to 65535");
  EXPECT_EQ(message({"batch", "3", "height", "4"}, {5, 3, 2, 2}, ""),
            "input \"image\" is convolved and has no constant size in axis 2, expected images or "
            "sounds that all have one size");
  EXPECT_EQ(message({"batch", "3", "6"}, {5, 3, 2, 2}, ""),
            where + "expects images [batch, channels, height, width] or sounds [batch, channels, "
                    "frames] of one size, and a weight of the file");
  EXPECT_EQ(
      read(input(port("ids", {"batch", "rows"}, 7)) +
           ofImages(image, {5, 3, 2, 2}, integers("strides", {2, 2}), relu))
          .message,
      "input \"image\" is beside others, one of which a convolution reads, expected ids [batch, "
      "sequence] or rows of floats [batch, sequence, width]");
}

} // namespace
} // namespace heddle
