// SPDX-License-Identifier: Apache-2.0
///
/// Graphs with sizes that are constants: declared ones, and those of an exporter's example.
#include "frontend/Onnx/OnnxProgram.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Onnx/OnnxBytes.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

struct Read {
  std::string text;
  std::string message;
  std::vector<std::string> notes;
};

Read read(const std::string &graph, bool isStatic = false) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.onnx", model(graph, 18));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto program = readOnnxProgram(context, file, isStatic);
  Read result;
  if (!program.ok()) {
    result.message = program.status().message();
    result.message.erase(0, file.size() + 2);
    return result;
  }
  result.notes = program->notes;
  EXPECT_EQ(program->hasFixedSizes, isStatic);
  llvm::raw_string_ostream stream(result.text);
  program->module->print(stream);
  return result;
}

/// Whether a program has all of these parts, in this order.
void expectInOrder(const std::string &text, std::initializer_list<const char *> parts) {
  size_t at = 0;
  for (const char *const part : parts) {
    at = text.find(part, at);
    ASSERT_NE(at, std::string::npos) << "expected " << part << " in order\n" << text;
  }
}

std::string longs(const char *name, const std::vector<int64_t> &values) {
  std::string data;
  for (const int64_t value : values) {
    data.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  return initializer(tensor(name, {static_cast<int64_t>(values.size())}, 7) + bytes(9, data));
}

// --- sizes of an exporter's example --------------------------------------------------------------

/// Rows of a table "x", which the nodes make "y" of; "mask" says which are padding.
std::string ofRows(const std::string &nodes,
                   const std::vector<std::string> &shape = {"batch", "rows"}) {
  return input(port("ids", shape, 7)) + input(port("mask", shape, 7)) +
         initializer(tensor("table", {11, 4}) + raw(176)) +
         initializer(tensor("qkv", {4, 12}) + raw(192)) +
         graphNode(node("Gather", {"table", "ids"}, {"x"}, "embed")) + nodes +
         output(port("y", {}));
}

/// An attention that hides padding.
std::string attention(const char *from) {
  return graphNode(node("Attention", {from, "qkv", "", "mask"}, {"y"}, "a", "com.microsoft") +
                   integer("num_heads", 2));
}

/// "x" as [the batch, 7, 4]: "r".
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
  // Nothing says what is padding: a shorter sequence would be another than those of the graph.
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
  // Two sizes, no multiple, and a single row.
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

} // namespace
} // namespace heddle
