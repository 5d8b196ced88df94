// SPDX-License-Identifier: Apache-2.0
///
/// Small graphs, the programs that they are translated to, and graphs that are rejected.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <cmath>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

/// A graph with ids, a mask, a table of 11 rows and a matrix, both 4 columns wide; more may follow.
std::string graphOf(const std::string &nodes, const std::string &more = "") {
  return input(port("ids", {"batch", "rows"}, 7)) + input(port("mask", {"batch", "rows"}, 7)) +
         initializer(tensor("table", {11, 4}) + raw(176)) +
         initializer(tensor("w", {4, 4}) + raw(64)) + initializer(tensor("zero", {}, 7) + raw(8)) +
         more + nodes + output(port("y", {}));
}

Read read(const std::string &graph, int64_t opset = 17) {
  return readModel(model(graph, opset), {.showsLocations = true});
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
  // Without a padding mask, a batch cannot have padding.
  EXPECT_EQ(found.text.find("run_columns"), std::string::npos);
}

TEST(OnnxProgram, AllOperatorsThatAreNotReadAreNamed) {
  EXPECT_EQ(read(graphOf(lookUp + graphNode(node("Frobnicate", {"x"}, {"a"}, "first")) +
                         graphNode(node("Frobnicate", {"a"}, {"b"}, "second")) +
                         graphNode(node("Relu", {"b"}, {"y"}, "third", "com.example"))))
                .message,
            "2 unsupported operators: \"Frobnicate\" (2 nodes, first \"first\", opset 17), "
            "\"com.example.Relu\" (1 node, first \"third\", opset 1)");
  // Versions before the operator was introduced, or before its current form.
  EXPECT_EQ(
      read(graphOf(lookUp + graphNode(node("LayerNormalization", {"x", "w"}, {"y"}))), 13).message,
      "unsupported operator: \"LayerNormalization\" (1 node, first \"the_node\", opset "
      "13)");
  // Nodes that no output depends on are ignored.
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

std::string number(const char *name, float value) {
  return initializer(tensor(name, {}) +
                     bytes(9, std::string_view(reinterpret_cast<const char *>(&value), 4)));
}

/// Expects all parts to occur in this order.
void expectInOrder(const std::string &text, std::initializer_list<const char *> parts) {
  size_t at = 0;
  for (const char *const part : parts) {
    at = text.find(part, at);
    ASSERT_NE(at, std::string::npos) << "expected " << part << " in order\n" << text;
  }
}

TEST(OnnxProgram, ScalarFunctionsArePrimitiveMathematics) {
  const std::string numbers = number("root", 1.41421356F) + number("one", 1) +
                              number("half", 0.5F) + number("three", 3) + number("two", 2) +
                              number("most", 6) + number("zero_power", 0) +
                              number("infinite", INFINITY) + number("minus", -1);
  const auto become = [&](const std::string &nodes, int64_t opset = 17) {
    return read(graphOf(lookUp + nodes, numbers), opset);
  };
  const Read gelu = become(
      graphNode(node("Div", {"x", "root"}, {"a"})) + graphNode(node("Erf", {"a"}, {"b"})) +
      graphNode(node("Add", {"one", "b"}, {"c"})) + graphNode(node("Mul", {"x", "c"}, {"d"})) +
      graphNode(node("Mul", {"d", "half"}, {"e"})) + graphNode(node("MatMul", {"e", "w"}, {"y"})));
  EXPECT_EQ(gelu.message, "");
  expectInOrder(gelu.text, {"scale %", "0.707106", "activate erf", "shift %", "multiply %",
                            "scale %", "5.000000e-01", "linear"});
  expectInOrder(become(graphNode(node("Gelu", {"x"}, {"y"})), 20).text,
                {"0.707106", "activate erf", "shift", "multiply", "5.000000e-01"});
  expectInOrder(become(graphNode(node("Pow", {"x", "three"}, {"y"}))).text,
                {"multiply %", "multiply %"});
  expectInOrder(become(graphNode(node("Pow", {"x", "minus"}, {"y"}))).text, {"reciprocal"});
  expectInOrder(become(graphNode(node("Pow", {"x", "root"}, {"y"}))).text,
                {"activate log", "scale", "1.41421", "activate exp"});
  expectInOrder(become(graphNode(node("Pow", {"two", "x"}, {"y"}))).text,
                {"scale", "0.693147", "activate exp"});
  expectInOrder(become(graphNode(node("Div", {"one", "x"}, {"y"}))).text, {"reciprocal"});
  expectInOrder(become(graphNode(node("Sub", {"one", "x"}, {"y"}))).text,
                {"scale", "-1.0", "shift"});
  expectInOrder(become(graphNode(node("Clip", {"x", "one", "most"}, {"y"}))).text,
                {"clamp", "from 1.0", "clamp", "to 6.0"});
  expectInOrder(
      become(graphNode(node("Tanh", {"x"}, {"t"})) + graphNode(node("Div", {"t", "x"}, {"y"})))
          .text,
      {"activate tanh", "combine divide"});
  EXPECT_EQ(become(graphNode(node("Pow", {"x", "zero_power"}, {"y"}))).message,
            "node \"the_node\" (Pow): raises rows to the power 0, expected another number");
  EXPECT_EQ(become(graphNode(node("Pow", {"minus", "x"}, {"y"}))).message,
            "node \"the_node\" (Pow): raises -1 to powers, expected a positive number");
  EXPECT_EQ(become(graphNode(node("Mul", {"x", "infinite"}, {"y"}))).message,
            "node \"the_node\" (Mul): computes with the constant inf, expected one that is finite "
            "in f32");
}

TEST(OnnxProgram, NormsArePrimitiveMathematics) {
  const std::string numbers =
      number("two", 2) + number("epsilon", 1e-5F) + initializer(tensor("v", {4}) + raw(16));
  const auto become = [&](const std::string &nodes, int64_t opset = 17) {
    return read(graphOf(lookUp + nodes, numbers), opset);
  };
  const auto mean = [](const char *from, const char *to) {
    return graphNode(node("ReduceMean", {from}, {to}) + integers("axes", {-1}));
  };
  const Read spelt = become(
      mean("x", "m") + graphNode(node("Sub", {"x", "m"}, {"c"})) +
          graphNode(node("Pow", {"c", "two"}, {"q"})) + mean("q", "v0") +
          graphNode(node("Add", {"v0", "epsilon"}, {"v1"})) +
          graphNode(node("Sqrt", {"v1"}, {"r"})) + graphNode(node("Div", {"c", "r"}, {"n"})) +
          graphNode(node("Mul", {"n", "v"}, {"s"})) + graphNode(node("Add", {"v", "s"}, {"y"})),
      13);
  EXPECT_EQ(spelt.message, "");
  expectInOrder(spelt.text, {"reduce mean", "combine subtract", "multiply", "reduce mean", "shift",
                             "activate sqrt", "combine divide", "multiply", "transformer.add"});
  const Read named = become(graphNode(node("LayerNormalization", {"x", "v", "v"}, {"y"})));
  expectInOrder(named.text, {"reduce mean", "combine subtract", "multiply", "reduce mean", "shift",
                             "activate rsqrt", "multiply", "multiply", "transformer.add"});
  const Read rms = become(graphNode(node("RMSNormalization", {"x", "v"}, {"y"})), 23);
  EXPECT_EQ(rms.text.find("subtract"), std::string::npos);
  expectInOrder(rms.text, {"multiply", "reduce mean", "shift", "rsqrt", "multiply", "multiply"});
  // One number per row as either operand, and weights that are subtracted or divide.
  expectInOrder(become(mean("x", "m") + graphNode(node("Sub", {"m", "x"}, {"y"})), 13).text,
                {"combine subtract"});
  expectInOrder(become(mean("x", "m") + graphNode(node("Div", {"m", "x"}, {"y"})), 13).text,
                {"reciprocal", "multiply"});
  expectInOrder(become(mean("x", "m") + graphNode(node("Add", {"m", "x"}, {"y"})), 13).text,
                {"combine subtract"});
  expectInOrder(become(graphNode(node("Div", {"x", "v"}, {"y"}))).text, {"combine divide"});
  expectInOrder(become(graphNode(node("Sub", {"v", "x"}, {"y"}))).text,
                {"-1.0", "transformer.add"});
  EXPECT_EQ(become(graphNode(node("ReduceMean", {"x"}, {"y"}) + integers("axes", {1})), 13).message,
            "node \"the_node\" (ReduceMean): reduces activations along another axis than parts of "
            "the width of rows");
  EXPECT_EQ(become(graphNode(node("ReduceMean", {"x"}, {"y"}) + integers("axes", {3})), 13).message,
            "node \"the_node\" (ReduceMean): names axis 3 of 3");
}

TEST(OnnxProgram, AttentionsArePrimitiveMathematics) {
  const auto become = [&](const std::string &nodes, int64_t opset = 23) {
    return read(graphOf(lookUp + graphNode(node("Relu", {"x"}, {"r"})) + nodes,
                        initializer(tensor("w3", {4, 12}) + raw(192))),
                opset);
  };
  const std::string heads = integer("q_num_heads", 2) + integer("kv_num_heads", 2);
  const std::string xs = node("Attention", {"x", "x", "x"}, {"y"});
  const auto attention = [](const std::vector<std::string> &inputs) {
    return node("Attention", inputs, {"y"});
  };
  expectInOrder(become(graphNode(xs + heads)).text,
                {"split_heads", "contract \"thd,khd->thk\"", "scale", "0.7071", "softmax",
                 "contract \"thk,khd->thd\"", "merge_heads"});
  const std::string microsoft = "com.microsoft";
  const Read packed =
      become(graphNode(node("Attention", {"x", "w3", "", "mask"}, {"y"}, "a", microsoft) +
                       integer("num_heads", 2)),
             17);
  EXPECT_EQ(packed.message, "");
  expectInOrder(packed.text, {"linear", "columns", "columns", "columns", "contract", "softmax",
                              "contract", "run_columns"});
  const Read separate =
      become(graphNode(node("MultiHeadAttention", {"x", "x", "x"}, {"y"}, "a", microsoft) +
                       integer("num_heads", 2)),
             17);
  expectInOrder(separate.text, {"contract", "softmax", "contract"});
  const std::pair<std::string, const char *> refusals[] = {
      {xs, "node \"the_node\" (Attention): divides 4 among 0 heads"},
      {xs + integer("q_num_heads", 3) + integer("kv_num_heads", 3),
       "node \"the_node\" (Attention): divides 4 among 3 heads"},
      {attention({"x", "x", "x", "", "x", "x"}) + heads,
       "node \"the_node\" (Attention): has keys and values of a past that are no inputs of the "
       "graph"},
      {attention({"x", "x", "x", "", "", "", "x"}) + heads,
       "node \"the_node\" (Attention): has lengths of its keys, expected a mask"},
      {attention({"x", "x", "x", "r"}) + heads,
       "node \"the_node\" (Attention): has a mask that is computed of activations"},
      {node("Attention", {"x", "w"}, {"y"}, "a", microsoft) + integer("num_heads", 2),
       "node \"a\" (com.microsoft.Attention): its queries, keys and values are no parts of 4 "
       "columns"},
      {node("Attention", {"x", "w3", "", "", "x"}, {"y"}, "a", microsoft) + integer("num_heads", 2),
       "node \"a\" (com.microsoft.Attention): has a past, rotary positions or a matrix that is "
       "computed"},
      {node("Attention", {"x", "w3", "", "x"}, {"y"}, "a", microsoft) + integer("num_heads", 2),
       "node \"a\" (com.microsoft.Attention): has a mask that is neither [batch, keys] nor the "
       "number of keys of each sequence"},
      {node("MultiHeadAttention", {"x"}, {"y"}, "a", microsoft) + integer("num_heads", 2),
       "node \"a\" (com.microsoft.MultiHeadAttention): has packed operands, a bias or a past, "
       "expected queries, keys and values with their biases"}};
  for (const auto &[nodes, message] : refusals) {
    EXPECT_EQ(become(graphNode(nodes)).message, message);
  }
}

TEST(OnnxProgram, RefusesWhatIsNoProgramOfRows) {
  const std::pair<std::string, const char *> cases[] = {
      {input(port("x", {"batch", "4", "rows", "others"})) + graphNode(node("Relu", {"x"}, {"y"})) +
           output(port("y", {})),
       "input \"x\" has 4 axes, expected ids [batch, sequence] or rows of floats [batch, sequence, "
       "width]"},
      {input(port("a", {"batch", "rows"}, 7)) + input(port("c", {"batch", "more"}, 7)) +
           input(port("b", {"batch", "others"}, 7)) + graphNode(node("Add", {"a", "b"}, {"y"})) +
           output(port("y", {})),
       "input \"c\" has rows of another length than the inputs before it, expected one length for "
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
       "reads values other than rows of a table, expected rows of activations or of a table"}};
  for (const auto &[graph, message] : cases) {
    EXPECT_EQ(read(graph).message, message);
  }
}

} // namespace
} // namespace heddle
