// SPDX-License-Identifier: Apache-2.0
///
/// Small graphs: what programs they become, and why others are refused.
#include "frontend/Onnx/OnnxProgram.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Onnx/OnnxBytes.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

/// A graph of ids and a mask with a table of 11 rows and a matrix, both 4 wide; others come after.
std::string graphOf(const std::string &nodes, const std::string &more = "") {
  return input(port("ids", {"batch", "rows"}, 7)) + input(port("mask", {"batch", "rows"}, 7)) +
         initializer(tensor("table", {11, 4}) + raw(176)) +
         initializer(tensor("w", {4, 4}) + raw(64)) + initializer(tensor("zero", {}, 7) + raw(8)) +
         more + nodes + output(port("y", {}));
}

struct Read {
  std::string text;
  std::string message;
};

Read read(const std::string &graph, int64_t opset = 17) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.onnx", model(graph, opset));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto program = readOnnxProgram(context, file);
  Read result;
  if (!program.ok()) {
    result.message = program.status().message();
    EXPECT_TRUE(result.message.starts_with(file + ": ")) << result.message;
    result.message.erase(0, file.size() + 2);
    return result;
  }
  llvm::raw_string_ostream stream(result.text);
  program->module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return result;
}

const std::string lookUp = graphNode(node("Gather", {"table", "ids"}, {"x"}, "embed"));

TEST(OnnxProgram, NamesStayAndLocationsAreNodes) {
  const Read found =
      read(graphOf(lookUp + graphNode(node("MatMul", {"x", "w"}, {"y"}, "/layer/MatMul"))));
  EXPECT_EQ(found.message, "");
  for (const char *const part : {"func.func @run(", "transformer.name = \"ids\"",
                                 "transformer.name = \"y\"", "@w : tensor<4x4xf32> from \"w\"",
                                 "transpose(@w)", "loc(\"/layer/MatMul\")", "loc(\"embed\")"}) {
    EXPECT_NE(found.text.find(part), std::string::npos) << part << "\n" << found.text;
  }
  // Nothing hides rows: any batch is one of full rows.
  EXPECT_EQ(found.text.find("run_columns"), std::string::npos);
}

TEST(OnnxProgram, AllOperatorsThatAreNotReadAreNamed) {
  EXPECT_EQ(read(graphOf(lookUp + graphNode(node("Frobnicate", {"x"}, {"a"}, "first")) +
                         graphNode(node("Frobnicate", {"a"}, {"b"}, "second")) +
                         graphNode(node("Relu", {"b"}, {"y"}, "third", "com.example"))))
                .message,
            "2 operators that are not read: \"Frobnicate\" (2 nodes, first \"first\", opset 17), "
            "\"com.example.Relu\" (1 node, first \"third\", opset 1)");
  // A version before the operator, or before its form.
  EXPECT_EQ(
      read(graphOf(lookUp + graphNode(node("LayerNormalization", {"x", "w"}, {"y"}))), 13).message,
      "an operator that is not read: \"LayerNormalization\" (1 node, first \"the_node\", opset "
      "13)");
  // What no output needs is not looked at.
  EXPECT_EQ(read(graphOf(lookUp + graphNode(node("Frobnicate", {"x"}, {"a"}, "first")) +
                         graphNode(node("Relu", {"x"}, {"y"}))))
                .message,
            "");
}

TEST(OnnxProgram, FunctionsAreInlined) {
  const std::string body = node("Relu", {"a"}, {"t"}, "inner");
  const std::string function =
      bytes(25, bytes(1, "Twice") + bytes(10, "local") + bytes(4, "a") + bytes(5, "b") +
                    bytes(7, body) + bytes(7, node("Relu", {"t"}, {"b"}, "outer")));
  const std::string graph =
      graphOf(lookUp + graphNode(node("Twice", {"x"}, {"y"}, "call", "local")));
  const TemporaryFolder folder;
  const std::string file = folder.write("m.onnx", model(graph) + function);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  EXPECT_EQ(readOnnxProgram(context, file).status().message(), "");
}

TEST(OnnxProgram, BranchesOnConstantsAreChosen) {
  const auto branch = [](const char *type) {
    return graphNode(node(type, {"x"}, {"r"})) + output(port("r", {}));
  };
  const std::string condition = initializer(tensor("yes", {}, 9) + bytes(9, "\x01"));
  const std::string chosen =
      graphNode(node("If", {"yes"}, {"y"}) + graphAttribute("then_branch", branch("Tanh")) +
                graphAttribute("else_branch", branch("Frobnicate")));
  const Read found = read(graphOf(lookUp + chosen, condition));
  EXPECT_EQ(found.message, "");
  EXPECT_NE(found.text.find("tanh"), std::string::npos) << found.text;
}

TEST(OnnxProgram, ScalarFunctionsBecomeActivations) {
  const auto number = [](const char *name, float value) {
    return initializer(tensor(name, {}) +
                       bytes(9, std::string_view(reinterpret_cast<const char *>(&value), 4)));
  };
  const std::string numbers = number("root", 1.41421356F) + number("one", 1) + number("half", 0.5F);
  const std::string chain =
      graphNode(node("Div", {"x", "root"}, {"a"})) + graphNode(node("Erf", {"a"}, {"b"})) +
      graphNode(node("Add", {"one", "b"}, {"c"})) + graphNode(node("Mul", {"x", "c"}, {"d"})) +
      graphNode(node("Mul", {"d", "half"}, {"e"}));
  const Read found =
      read(graphOf(lookUp + chain + graphNode(node("MatMul", {"e", "w"}, {"y"})), numbers));
  EXPECT_EQ(found.message, "");
  EXPECT_NE(found.text.find("transformer.activate gelu "), std::string::npos) << found.text;
  // Half of it is no activation.
  EXPECT_EQ(
      read(graphOf(lookUp + chain + graphNode(node("MatMul", {"b", "w"}, {"y"})), numbers)).message,
      "node \"the_node\" (MatMul): reads a function of each element that is no activation of the "
      "dialect and is not made of some");
}

TEST(OnnxProgram, RefusesWhatIsNoProgramOfRows) {
  const std::pair<std::string, const char *> cases[] = {
      {input(port("x", {"batch", "4", "rows", "2"})) + graphNode(node("Relu", {"x"}, {"y"})) +
           output(port("y", {})),
       "input \"x\" has 4 axes, expected ids [batch, sequence] or rows of floats [batch, sequence, "
       "width]"},
      {input(port("x", {"3", "rows"}, 7)) + graphNode(node("Relu", {"x"}, {"y"})) +
           output(port("y", {})),
       "input \"x\" has a fixed batch or length, expected ids [batch, sequence] or rows of floats "
       "[batch, "
       "sequence, width]"},
      {input(port("a", {"batch", "rows"}, 7)) + input(port("b", {"batch", "others"}, 7)) +
           graphNode(node("Add", {"a", "b"}, {"y"})) + output(port("y", {})),
       "input \"b\" has rows of another length than the inputs before it, expected one length for "
       "all"},
      {graphOf(lookUp + graphNode(node("Relu", {"nowhere"}, {"y"}))),
       "node \"the_node\" (Relu): no node makes \"nowhere\", expected a node, an input or an "
       "initializer"},
      {graphOf(lookUp + graphNode(node("Relu", {"x"}, {"ids"})) +
               graphNode(node("Relu", {"x"}, {"y"}))),
       "\"ids\" is made twice, expected one node, input or initializer"},
      {graphOf(lookUp + graphNode(node("Relu", {"x", "x"}, {"y"}))),
       "node \"the_node\" (Relu): has 2 inputs, expected 1 to 1"},
      {graphOf(lookUp + graphNode(node("Softmax", {"x"}, {"y"}) + integers("axis", {1}))),
       "node \"the_node\" (Softmax): attribute \"axis\" is integers, expected an integer"},
      {graphOf(lookUp + graphNode(node("Softmax", {"x"}, {"y"}) + integer("axis", 3))),
       "node \"the_node\" (Softmax): attribute \"axis\" is 3, expected -3 to 2"},
      {graphOf(lookUp + graphNode(node("Add", {"x", "mask"}, {"y"}))),
       "node \"the_node\" (Add): combines rows with sizes, indices or masks, expected a mask to be "
       "added "
       "to scores"},
      {graphOf(graphNode(node("Cast", {"ids"}, {"y"}) + integer("to", 1))),
       "reads values that are no rows of a table, expected rows of activations or of a table"}};
  for (const auto &[graph, message] : cases) {
    EXPECT_EQ(read(graph).message, message);
  }
}

} // namespace
} // namespace heddle
