// SPDX-License-Identifier: Apache-2.0
///
/// Graphs that differ from those of exporters in one operator. Each is translated correctly or
/// rejected with the name of the node; none may be translated to a different program.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace heddle {
namespace {

using namespace onnxbytes;

/// A FunctionProto of the domain "local".
std::string function(std::string_view name, const std::vector<std::string> &inputs,
                     const std::vector<std::string> &outputs,
                     const std::vector<std::string> &nodes) {
  std::string text = bytes(1, name) + bytes(10, "local");
  for (const std::string &each : inputs) {
    text += bytes(4, each);
  }
  for (const std::string &each : outputs) {
    text += bytes(5, each);
  }
  for (const std::string &each : nodes) {
    text += bytes(7, each);
  }
  return bytes(25, text);
}

/// Rows "x" with 4 columns, a mask, and constants by name.
Read read(const std::string &nodes, const std::string &functions = "", int64_t version = 17) {
  std::string graph = input(port("x", {"batch", "rows", "4"})) +
                      input(port("mask", {"batch", "rows"}, 7)) + floats("none", {}, {0}) +
                      floats("one", {}, {1}) + floats("two", {}, {2}) +
                      floats("ones", {4}, {1, 1, 1, 1}) + nodes + output(port("y", {}));
  for (const int64_t value : {-1, 0, 1, 2, 4, 9}) {
    const std::string name = value < 0 ? "m" + std::to_string(-value) : std::to_string(value);
    graph += numbers("i" + name, {}, {value}) + numbers("v" + name, {1}, {value});
  }
  return readModel(model(graph, version) + opset(1, "com.microsoft") + functions);
}

/// Returns the number of occurrences of `part` in a text.
size_t countOf(const std::string &text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// Rows in the place of columns: the reshape would have to take rows from a width.
TEST(OnnxOddGraphs, ReshapesThatOnlyTransposingUndoes) {
  const Read found = read(step("Shape", {"x"}, "sizes") +
                          step("Transpose", {"x"}, "t", integers("perm", {0, 2, 1})) +
                          step("Reshape", {"t", "sizes"}, "r") + step("Relu", {"r"}, "y"));
  EXPECT_NE(found.message.find("the reshape mixes the batch, rows or keys with other axes"),
            std::string::npos)
      << found.message;
}

TEST(OnnxOddGraphs, ResultsThatNothingReadsAreNoOperands) {
  const std::string two =
      function("Two", {"a"}, {"b", "c"}, {node("Neg", {"a"}, {"b"}), node("Abs", {"a"}, {"c"})});
  const Read called = read(stepWithOutputs("Two", {"x"}, {"t", ""}, "", "local") +
                               step("Clip", {"x", "", "one"}, "c") + step("Add", {"c", "t"}, "y"),
                           two);
  EXPECT_EQ(called.message, "");
  EXPECT_FALSE(called.has("abs")) << called.text;
  EXPECT_FALSE(called.has("combine maximum")) << called.text;
  const Read summed = read(stepWithOutputs("SkipLayerNormalization", {"x", "x", "ones"},
                                           {"n", "", "", ""}, "", "com.microsoft") +
                           step("Clip", {"n", "", "one"}, "y"));
  EXPECT_EQ(summed.message, "");
  EXPECT_FALSE(summed.has("combine maximum")) << summed.text;
  EXPECT_TRUE(summed.has("clamp")) << summed.text;
  // A function that returns an operand which its caller omits.
  const std::string same = function("Same", {"a"}, {"a"}, {});
  EXPECT_EQ(read(step("Same", {""}, "y", "", "local"), same).message,
            "output \"y\" is not made, expected a value");
  EXPECT_EQ(read(step("Same", {""}, "z", "", "local") + step("Relu", {"z"}, "y"), same).message,
            "node \"the_node\" (Relu): input 1 is not made, expected a value");
}

TEST(OnnxOddGraphs, CallsOfFunctionsWithoutNodesAreCounted) {
  // 12^8 calls.
  std::string functions;
  for (int depth = 0; depth < 8; ++depth) {
    const std::string call = node("F" + std::to_string(depth + 1), {}, {}, "the_node", "local");
    functions += function("F" + std::to_string(depth), {}, {}, std::vector<std::string>(12, call));
  }
  functions += function("F8", {}, {}, {});
  EXPECT_EQ(
      read(stepWithOutputs("F0", {}, {}, "", "local") + step("Neg", {"x"}, "y"), functions).message,
      "more than 262144 nodes with those of functions");
}

TEST(OnnxOddGraphs, OperandsThatMustBeThere) {
  EXPECT_EQ(read(step("Max", {"x", ""}, "y")).message,
            "node \"the_node\" (Max): input 2 is left out, expected a value");
  EXPECT_EQ(read(step("Concat", {"x", ""}, "y", integer("axis", 2))).message,
            "node \"the_node\" (Concat): input 2 is left out, expected a value");
  EXPECT_EQ(read(step("Relu", {""}, "y")).message,
            "node \"the_node\" (Relu): input 1 is left out, expected a value");
}

TEST(OnnxOddGraphs, EmbeddingsWithoutTokenTypes) {
  const std::string tables = initializer(tensor("words", {7, 4}) + raw(112)) +
                             initializer(tensor("places", {9, 4}) + raw(144));
  const Read found =
      read(tables + stepWithOutputs("EmbedLayerNormalization",
                                    {"mask", "", "words", "places", "", "ones", "ones"}, {"y", ""},
                                    "", "com.microsoft"));
  EXPECT_EQ(found.message, "");
  // Only words and positions are looked up.
  EXPECT_EQ(countOf(found.text, "transformer.gather"), 2U) << found.text;
  EXPECT_EQ(read(tables + stepWithOutputs("EmbedLayerNormalization",
                                          {"mask", "", "", "places", "", "ones", "ones"}, {"y", ""},
                                          "", "com.microsoft"))
                .message,
            "node \"the_node\" (com.microsoft.EmbedLayerNormalization): input 3 is left out, "
            "expected a value");
}

TEST(OnnxOddGraphs, VectorsThatAreNoScalars) {
  const std::string empty = initializer(tensor("empty", {0}, 7)),
                    pair = numbers("pair", {2}, {1, 2});
  EXPECT_EQ(read(empty + step("Range", {"empty", "i9", "i1"}, "y")).message,
            "node \"the_node\" (Range): its start has 0 elements, expected one");
  EXPECT_EQ(read(pair + step("Range", {"i0", "i9", "pair"}, "y")).message,
            "node \"the_node\" (Range): its step has 2 elements, expected one");
  EXPECT_EQ(read(empty + numbers("square", {2, 2}, {1, 2, 3, 4}) +
                 step("Trilu", {"square", "empty"}, "y"))
                .message,
            "node \"the_node\" (Trilu): its diagonal has 0 elements, expected one");
  EXPECT_EQ(read(empty + step("CumSum", {"mask", "empty"}, "y")).message,
            "node \"the_node\" (CumSum): its axis has 0 elements, expected one");
}

TEST(OnnxOddGraphs, ColumnsBeyondTheLastOneAreNone) {
  const std::string none = step("Slice", {"x", "v4", "v9", "v2"}, "none_left");
  const Read joined = read(none + step("Concat", {"x", "none_left"}, "j", integer("axis", 2)) +
                           step("Relu", {"j"}, "y"));
  EXPECT_EQ(joined.message, "");
  EXPECT_FALSE(joined.has("transformer.columns")) << joined.text;
  EXPECT_FALSE(joined.has("transformer.concat")) << joined.text;
  const Read both = read(none + step("Concat", {"x", "none_left", "x"}, "y", integer("axis", 2)));
  EXPECT_EQ(both.message, "");
  EXPECT_EQ(countOf(both.text, "transformer.concat"), 1U) << both.text;
  EXPECT_EQ(read(none + step("Relu", {"none_left"}, "y")).message,
            "node \"the_node\" (Relu): reads \"none_left\", which has no elements, expected a "
            "Concat with others");
  EXPECT_EQ(read(none + step("Concat", {"none_left"}, "y", integer("axis", 2))).message,
            "node \"the_node\" (Concat): joins activations that have no elements");
  EXPECT_EQ(read(step("Slice", {"x", "v4", "v9", "v2"}, "y")).message,
            "output \"y\" has no elements, expected some");
}

TEST(OnnxOddGraphs, ManyFunctionsInARowTakeNoTime) {
  std::string nodes;
  std::string last = "x";
  for (int i = 0; i < 300; ++i) {
    const std::string next = "t" + std::to_string(i);
    nodes += step("Tanh", {last}, next);
    last = next;
  }
  const Read found = read(nodes + step("Neg", {last}, "y"));
  EXPECT_EQ(found.message, "");
  EXPECT_EQ(countOf(found.text, "activate tanh"), 300U);
}

TEST(OnnxOddGraphs, FactorsFollowFromTheFormula) {
  // (x / 2) * -1 * 1 / 4 is one factor.
  const Read factor = read(floats("quarter", {}, {0.25}) + step("Div", {"x", "two"}, "a") +
                           step("Neg", {"a"}, "b") + step("Mul", {"quarter", "b"}, "y"));
  EXPECT_EQ(countOf(factor.text, "transformer.scale"), 1U) << factor.text;
  EXPECT_TRUE(factor.has("-1.250000e-01")) << factor.text;
  // x x / x is NaN where x is 0.
  const Read quotient = read(step("Mul", {"x", "x"}, "square") + step("Div", {"square", "x"}, "y"));
  EXPECT_TRUE(quotient.has("multiply")) << quotient.text;
  EXPECT_TRUE(quotient.has("combine divide")) << quotient.text;
}

TEST(OnnxOddGraphs, ConstantsDoNotEnlargeRows) {
  const std::string mean = step("ReduceMean", {"x"}, "m", integers("axes", {-1}));
  const std::string refusal =
      "node \"the_node\" (Mul): a constant has more axes than the rows, or larger ones";
  EXPECT_EQ(
      read(mean + floats("twos", {4}, {2, 2, 2, 2}) + step("Mul", {"m", "twos"}, "y")).message,
      refusal);
  EXPECT_EQ(
      read(mean + floats("four", {4}, {1, 2, 3, 4}) + step("Mul", {"four", "m"}, "y")).message,
      refusal);
  const auto filled = [](const std::vector<int64_t> &shape) {
    return numbers("shape", {static_cast<int64_t>(shape.size())}, shape) +
           step("ConstantOfShape", {"shape"}, "same");
  };
  EXPECT_EQ(read(filled({2, 1, 1, 1}) + step("Mul", {"x", "same"}, "y")).message, refusal);
  EXPECT_EQ(read(mean + filled({4}) + step("Mul", {"m", "same"}, "y")).message, refusal);
  EXPECT_EQ(read(filled({1, 4}) + step("Mul", {"x", "same"}, "y")).message, "");
  // A constant that is the same in all columns counts as one number.
  const Read twice = read(floats("twos", {4}, {2, 2, 2, 2}) + step("Mul", {"x", "twos"}, "y"));
  EXPECT_EQ(twice.message, "");
}

TEST(OnnxOddGraphs, EqualIndicesAreNotOne) {
  const std::string refusal =
      "node \"the_node\" (Gather): reads activations by indices that are no "
      "constant, or by several";
  EXPECT_EQ(
      read(numbers("same", {2}, {1, 1}) + step("Gather", {"x", "same"}, "y", integer("axis", 2)))
          .message,
      refusal);
  const Read one = read(step("Gather", {"x", "v1"}, "y", integer("axis", 2)));
  EXPECT_EQ(one.message, "");
  EXPECT_TRUE(one.has("columns")) << one.text;
}

/// Attention of the rows to themselves. The nodes compute "weights" from "scores" and "order",
/// which is true for keys up to the query.
std::string attentionOf(const std::string &nodes) {
  return step("Transpose", {"x"}, "keys", integers("perm", {0, 2, 1})) +
         step("MatMul", {"x", "keys"}, "scores") +
         step("Shape", {"x"}, "s1", integer("start", 1) + integer("end", 2)) +
         step("Squeeze", {"s1"}, "s") + step("Range", {"i0", "s", "i1"}, "positions") +
         step("Unsqueeze", {"positions", "v1"}, "queries") +
         step("LessOrEqual", {"positions", "queries"}, "order") + nodes +
         step("MatMul", {"weights", "x"}, "y");
}

TEST(OnnxOddGraphs, OnlyWhatHidesAScoreStandsForAMask) {
  const auto become = [](float number) {
    return read(floats("low", {}, {number}) +
                attentionOf(step("Where", {"order", "scores", "low"}, "m") +
                            step("Softmax", {"m"}, "weights", integer("axis", -1))));
  };
  const Read hidden = become(-1e9F);
  EXPECT_EQ(hidden.message, "");
  EXPECT_TRUE(hidden.has("transformer.mask causal")) << hidden.text;
  EXPECT_EQ(become(-10000).message, "");
  for (const auto &[number, text] : {std::pair(0.0F, "0"), std::pair(-100.0F, "-100")}) {
    EXPECT_EQ(become(number).message,
              std::string("node \"the_node\" (Where): chooses between scores and ") + text +
                  ", expected a number of at most -10000 that hides them from a softmax");
  }
  // Linear attention, and a mask applied to weights.
  EXPECT_NE(read(attentionOf(step("Where", {"order", "scores", "none"}, "weights"))).message, "");
  EXPECT_NE(read(attentionOf(step("Softmax", {"scores"}, "w", integer("axis", -1)) +
                             step("Where", {"order", "w", "none"}, "weights")))
                .message,
            "");
  // A number that hides scores must not have more axes than they have.
  EXPECT_NE(read(floats("lows", {2, 1, 1, 1}, {-1e9F, -1e9F}) +
                 attentionOf(step("Where", {"order", "scores", "lows"}, "m") +
                             step("Softmax", {"m"}, "weights", integer("axis", -1))))
                .message,
            "");
}

TEST(OnnxOddGraphs, NumbersThatAreNoneBecomeZero) {
  const std::string quotient = step("ReduceSum", {"x", "vm1"}, "sum", integer("keepdims", 1)) +
                               step("Div", {"x", "sum"}, "d") + step("IsNaN", {"d"}, "nan");
  const Read guarded = read(quotient + step("Where", {"nan", "none", "d"}, "y"));
  EXPECT_EQ(guarded.message, "");
  EXPECT_TRUE(guarded.has("activate nan_to_zero")) << guarded.text;
  const std::string refusal = "node \"the_node\" (Where): chooses by activations, expected a mask, "
                              "or 0 where a value is NaN";
  EXPECT_EQ(read(quotient + step("Not", {"nan"}, "not") + step("Where", {"not", "none", "d"}, "y"))
                .message,
            refusal);
  EXPECT_EQ(read(quotient + step("Where", {"nan", "one", "d"}, "y")).message, refusal);
  EXPECT_EQ(read(quotient + step("Where", {"nan", "none", "x"}, "y")).message, refusal);
}

/// Attention with a bias from the table [16, 1] "biases". The nodes compute "index" from
/// "distance", the position of the key minus that of the query.
Read withBiasBy(const std::string &nodes, int64_t count = 16) {
  return read(initializer(tensor("biases", {count, 1}) + raw(static_cast<size_t>(count) * 4)) +
              attentionOf(step("Sub", {"positions", "queries"}, "distance") + nodes +
                          step("Gather", {"biases", "index"}, "b3") +
                          step("Transpose", {"b3"}, "b1", integers("perm", {2, 0, 1})) +
                          step("Squeeze", {"b1", "v0"}, "bias") +
                          step("Add", {"scores", "bias"}, "m") +
                          step("Softmax", {"m"}, "weights", integer("axis", -1))));
}

TEST(OnnxOddGraphs, NegativeIndicesCountFromTheEnd) {
  // Distances -15 to 15: indices -15 to -1 before the query, 0 to 15 after it.
  const Read found = withBiasBy(step("Identity", {"distance"}, "index"));
  EXPECT_EQ(found.message, "");
  EXPECT_TRUE(found.has("distances to 15")) << found.text;
  EXPECT_TRUE(found.has("biases.bucket 15")) << found.text;
  // The index at distance 1 is outside the table.
  EXPECT_EQ(
      withBiasBy(step("Mul", {"distance", "i9"}, "index"), 4).message,
      "node \"the_node\" (Add): adds a bias from \"biases\" by what is no distance, or a bucket "
      "of none of its 4 rows, to scores, expected one that is read from a table of [buckets, "
      "heads] by the distance of a key");
}

TEST(OnnxOddGraphs, WholePowersOfNegativeNumbersAreNumbers) {
  const auto raised = [](float power) {
    return read(floats("power", {}, {power}) + step("Pow", {"x", "power"}, "y")).text;
  };
  // 20 is 16 + 4: four squarings and one product.
  EXPECT_EQ(countOf(raised(20), "transformer.multiply"), 5U);
  EXPECT_EQ(countOf(raised(20), "activate log"), 0U);
  EXPECT_EQ(countOf(raised(1024), "transformer.multiply"), 10U);
  EXPECT_EQ(countOf(raised(-1024), "activate reciprocal"), 1U);
  // Larger powers use the logarithm of the magnitude; odd ones restore the sign.
  for (const auto &[power, products] :
       {std::pair(4096.0F, 0U), std::pair(1025.0F, 1U), std::pair(-1025.0F, 1U)}) {
    const std::string text = raised(power);
    const size_t magnitude = text.find("activate abs"), log = text.find("activate log");
    ASSERT_NE(magnitude, std::string::npos) << text;
    EXPECT_LT(magnitude, log) << text;
    EXPECT_EQ(countOf(text, "transformer.multiply"), products) << text;
    EXPECT_EQ(countOf(text, "activate reciprocal"), power < 0 ? 1U : 0U) << text;
  }
  // Non-integer powers of negative numbers are undefined.
  EXPECT_EQ(countOf(raised(1.5F), "activate abs"), 0U);
}

/// Casts the nodes' "from" and, if the cast is accepted, uses it to look up rows of a table.
Read castTo(int64_t type, const std::string &nodes) {
  return read(initializer(tensor("entries", {11, 4}) + raw(176)) + nodes +
              step("Cast", {"from"}, "index", integer("to", type)) +
              step("Gather", {"entries", "index"}, "y"));
}

TEST(OnnxOddGraphs, CastsOfConstantsHaveTheWidthOfTheirType) {
  constexpr int64_t i8 = 3, u8 = 2, i32 = 6, u32 = 12;
  // A slice that ends at the largest 64-bit integer, which is -1 in 32 bits: all but the last
  // column.
  const auto columns = [](int64_t type, int64_t end) {
    return read(numbers("end", {1}, {end}) + step("Cast", {"end"}, "e", integer("to", type)) +
                step("Slice", {"x", "v0", "e", "v2"}, "s") + step("Relu", {"s"}, "y"));
  };
  for (const auto &[type, end] :
       {std::pair(i32, INT64_MAX), std::pair(i8, int64_t{255}), std::pair(u8, int64_t{256 + 3}),
        std::pair(u32, (int64_t{1} << 32) + 3)}) {
    const Read found = columns(type, end);
    EXPECT_EQ(found.message, "");
    EXPECT_TRUE(found.has("tensor<?x3xf32>")) << type << "\n" << found.text;
  }
  const auto refusal = [&](float number, int64_t type) {
    return castTo(type, floats("from", {1}, {number})).message;
  };
  EXPECT_EQ(refusal(300, u8),
            "node \"the_node\" (Cast): casts 300 to u8, expected a number that fits");
  EXPECT_EQ(refusal(-1, u8),
            "node \"the_node\" (Cast): casts -1 to u8, expected a number that fits");
  EXPECT_EQ(refusal(3e9F, i32),
            "node \"the_node\" (Cast): casts 3000000000 to i32, expected a number that fits");
  EXPECT_EQ(refusal(std::numeric_limits<float>::quiet_NaN(), 7),
            "node \"the_node\" (Cast): casts nan to i64, expected a number that fits");
}

TEST(OnnxOddGraphs, CastsThatMayNotFitAreRefused) {
  constexpr int64_t i8 = 3, u8 = 2, i32 = 6, i64 = 7;
  const std::string same = step("Identity", {"mask"}, "from");
  EXPECT_EQ(castTo(i32, same).message, "");
  EXPECT_EQ(castTo(i64, same).message, "");
  const std::string narrow =
      "node \"the_node\" (Cast): casts integers to i8, expected such as are known to fit";
  EXPECT_EQ(castTo(i8, same).message, narrow);
  EXPECT_EQ(castTo(i32, numbers("factor", {}, {1 << 20}) + step("Mul", {"mask", "factor"}, "from"))
                .message,
            "node \"the_node\" (Cast): casts integers to i32, expected such as are known to fit");
  // Booleans fit any type, and so does a select between small numbers.
  const std::string truth = step("Cast", {"mask"}, "truth", integer("to", 9));
  EXPECT_EQ(castTo(u8, truth + step("Identity", {"truth"}, "from")).message.find("Cast"),
            std::string::npos);
  EXPECT_EQ(castTo(i8, truth + step("Where", {"truth", "i1", "i2"}, "from")).message.find("Cast"),
            std::string::npos);
  EXPECT_NE(castTo(i8, truth + numbers("many", {}, {128}) +
                           step("Where", {"truth", "i1", "many"}, "from"))
                .message.find(narrow),
            std::string::npos);
}

TEST(OnnxOddGraphs, AttributesThatNothingReadsAreRefused) {
  const std::string dropped = constant<char>("yes", {}, 9, {1}) + constant<char>("no", {}, 9, {0});
  EXPECT_EQ(read(dropped + step("Dropout", {"x", "one", "yes"}, "y")).message,
            "node \"the_node\" (Dropout): may be in training mode, expected the constant false");
  EXPECT_EQ(read(dropped + step("Dropout", {"x", "one", "no"}, "y", integer("seed", 3))).message,
            "");
  EXPECT_EQ(read(step("Relu", {"x"}, "y", integer("mystery", 1))).message,
            "node \"the_node\" (Relu): attribute \"mystery\" is not supported");
  EXPECT_EQ(read(step("LayerNormalization", {"x", "ones"}, "y", integer("stash_type", 1))).message,
            "");
  EXPECT_EQ(
      read(step("LayerNormalization", {"x", "ones"}, "y", integer("stash_type", 10))).message,
      "node \"the_node\" (LayerNormalization): attribute \"stash_type\" is not supported, expected "
      "1");
  EXPECT_EQ(
      read(step("LayerNormalization", {"x", "ones"}, "y", real("epsilon", NAN))).message,
      "node \"the_node\" (LayerNormalization): attribute \"epsilon\" is nan, expected a finite "
      "number");
  EXPECT_EQ(
      read(stepWithOutputs("SkipLayerNormalization", {"x", "x", "ones"}, {"y", "", "", ""},
                           real("epsilon", INFINITY), "com.microsoft"))
          .message,
      "node \"the_node\" (com.microsoft.SkipLayerNormalization): attribute \"epsilon\" is inf, "
      "expected a finite number");
}

/// Masks the scores as "masked", with keys hidden where the mask is 0, before the given nodes.
std::string padded(const std::string &nodes) {
  return floats("low", {}, {-1e9F}) + step("Unsqueeze", {"mask", "v1"}, "mask3") +
         step("Cast", {"mask3"}, "bits", integer("to", 1)) + step("Sub", {"one", "bits"}, "hides") +
         step("Mul", {"hides", "low"}, "bias") +
         attentionOf(step("Add", {"scores", "bias"}, "masked") + nodes);
}

const std::string softmaxOfMasked = step("Softmax", {"masked"}, "p", integer("axis", -1));

TEST(OnnxOddGraphs, AMaskIsOfItsOwnReaderOnly) {
  EXPECT_EQ(read(padded(step("Softmax", {"masked"}, "weights", integer("axis", -1)))).message, "");
  // The scores are used once with the mask and once without.
  const Read twice = read(padded(softmaxOfMasked + step("MatMul", {"p", "x"}, "z") +
                                 step("Softmax", {"scores"}, "weights", integer("axis", -1))) +
                          step("Add", {"y", "z"}, "sum") + output(port("sum", {})));
  EXPECT_NE(twice.message.find("mixes all rows of a sequence, but node"), std::string::npos)
      << twice.message;
}

TEST(OnnxOddGraphs, HiddenKeysStayHidden) {
  const auto become = [](const std::string &nodes) { return read(padded(nodes)).message; };
  const std::string ofWeights = "node \"the_node\" (MatMul): reads a function of weights that is "
                                "not 0 for hidden keys, whose weights are 0";
  EXPECT_EQ(become(softmaxOfMasked + step("Exp", {"p"}, "weights")), ofWeights);
  EXPECT_EQ(become(softmaxOfMasked + step("Add", {"p", "one"}, "weights")), ofWeights);
  // Functions that map 0 to 0.
  for (const char *const type : {"Sqrt", "Tanh", "Neg", "Relu"}) {
    EXPECT_EQ(become(softmaxOfMasked + step(type, {"p"}, "weights")), "") << type;
  }
  EXPECT_EQ(become(softmaxOfMasked + step("Mul", {"p", "two"}, "weights")), "");
  EXPECT_EQ(
      become(step("Tanh", {"masked"}, "weights")),
      "node \"the_node\" (MatMul): reads a function of scores whose keys are hidden, expected "
      "their softmax");
  EXPECT_EQ(become(step("Identity", {"masked"}, "weights")),
            "node \"the_node\" (MatMul): mixes values by scores whose keys are hidden, expected "
            "their softmax");
  EXPECT_EQ(become(softmaxOfMasked + step("Softmax", {"p"}, "weights", integer("axis", -1))),
            "node \"the_node\" (Softmax): is a softmax of weights whose keys are hidden, expected "
            "scores");
  EXPECT_EQ(become(softmaxOfMasked + step("Add", {"p", "bias"}, "weights")),
            "node \"the_node\" (Add): masks weights, expected the scores before a softmax");
  // Scores may be scaled, or have a lower bound that also hides keys.
  const std::string weights = step("Softmax", {"f"}, "weights", integer("axis", -1));
  EXPECT_EQ(become(step("Mul", {"masked", "two"}, "f") + weights), "");
  EXPECT_EQ(become(step("Max", {"masked", "low"}, "f") + weights), "");
  EXPECT_NE(become(step("Neg", {"masked"}, "f") + weights), "");
  EXPECT_NE(become(step("Max", {"masked", "none"}, "f") + weights), "");
  EXPECT_NE(become(floats("small", {}, {1e-3F}) + step("Mul", {"masked", "small"}, "f") + weights),
            "");
}

TEST(OnnxOddGraphs, CombinationsOfHiddenKeys) {
  const auto become = [](const std::string &nodes) { return read(padded(nodes)).message; };
  const std::string open = step("Softmax", {"scores"}, "q", integer("axis", -1));
  const std::string refusal = "combines scores or weights of which only one hides keys, expected a "
                              "softmax first";
  EXPECT_EQ(become(softmaxOfMasked + open + step("Mul", {"p", "q"}, "weights")), "");
  EXPECT_EQ(become(softmaxOfMasked + step("Mul", {"p", "scores"}, "weights")), "");
  EXPECT_EQ(become(softmaxOfMasked + open + step("Add", {"p", "q"}, "weights")),
            "node \"the_node\" (Add): " + refusal);
  EXPECT_EQ(become(softmaxOfMasked + open + step("Div", {"q", "p"}, "weights")),
            "node \"the_node\" (Div): " + refusal);
  EXPECT_EQ(become(step("Tanh", {"scores"}, "t") + step("Add", {"masked", "t"}, "sum") +
                   step("Softmax", {"sum"}, "weights", integer("axis", -1))),
            "");
  EXPECT_EQ(become(step("Tanh", {"scores"}, "t") + step("Mul", {"masked", "t"}, "sum") +
                   step("Softmax", {"sum"}, "weights", integer("axis", -1))),
            "node \"the_node\" (Mul): " + refusal);
}

TEST(OnnxOddGraphs, AMaskThatIsAlsoIds) {
  const std::string weights = step("Softmax", {"masked"}, "weights", integer("axis", -1));
  EXPECT_EQ(read(initializer(tensor("kinds", {2, 4}) + raw(32)) + padded(weights) +
                 step("Gather", {"kinds", "mask"}, "k") + step("Relu", {"k"}, "z") +
                 output(port("z", {})))
                .message,
            "node \"the_node\" (Add) hides rows where \"mask\" is 0, and node \"the_node\" (Relu) "
            "reads it as ids, expected a mask of 0 and 1 that nothing else reads");
}

TEST(OnnxOddGraphs, PaddingIsAnIdOf32Bits) {
  const auto become = [](int64_t padding) {
    return read(numbers("padding", {}, {padding}) + step("Equal", {"mask", "padding"}, "p2") +
                step("Unsqueeze", {"p2", "v1"}, "p3") + floats("low", {}, {-1e9F}) +
                attentionOf(step("Where", {"p3", "low", "scores"}, "m") +
                            step("Softmax", {"m"}, "weights", integer("axis", -1))))
        .message;
  };
  EXPECT_EQ(become(7), "");
  EXPECT_EQ(
      become(int64_t{1} << 32),
      "node \"the_node\" (Where): the mask compares \"mask\" with 4294967296, which no id of 32 "
      "bits is, expected one that hides the keys of padding, those after their query, or "
      "both, and nothing else");
}

TEST(OnnxOddGraphs, ARefusedFunctionIsItsNodes) {
  const auto named = [](const char *type, const std::vector<std::string> &inputs,
                        const std::string &output,
                        const char *name) { return graphNode(node(type, inputs, {output}, name)); };
  EXPECT_EQ(read(named("Tanh", {"x"}, "a", "first") + named("Pow", {"a", "none"}, "b", "second") +
                 named("Mul", {"b", "two"}, "c", "third") + named("Softplus", {"c"}, "y", "reader"))
                .message,
            "node \"second\" (Pow): raises rows to the power 0, expected another number");
}

TEST(OnnxOddGraphs, RowsWithoutABatchAreAlone) {
  // Only "x" has a batch.
  EXPECT_EQ(
      read(input(port("p", {"rows", "4"})) + step("Add", {"x", "p"}, "y")).message,
      "input \"p\" has no batch, but \"x\" has, expected ids [batch, sequence] or rows of floats "
      "[batch, sequence, width]");
}

/// An attention node whose mask is an input [batch].
Read readCounted(const std::string &more = "", const std::string &sizes = "batch") {
  return readModel(
      model(input(port("lengths", {sizes}, 6)) + input(port("x", {"batch", "rows", "4"})) +
                initializer(tensor("qkv", {4, 12}) + raw(192)) + more +
                graphNode(
                    node("Attention", {"x", "qkv", "", "lengths"}, {"y"}, "a", "com.microsoft") +
                    integer("num_heads", 2)) +
                output(port("y", {})),
            17) +
      opset(1, "com.microsoft"));
}

TEST(OnnxOddGraphs, NumbersOfTokensAreMasks) {
  const Read found = readCounted();
  EXPECT_EQ(found.message, "");
  // Padding follows the tokens, so there is no entry for padding elsewhere.
  EXPECT_TRUE(found.has("\"lengths\"")) << found.text;
  EXPECT_FALSE(found.has("@run_columns"));
  EXPECT_FALSE(found.has("transformer.select"));
  const Read alone =
      readModel(model(input(port("lengths", {"batch"}, 6)) +
                      graphNode(node("Neg", {"lengths"}, {"y"})) + output(port("y", {}))));
  EXPECT_EQ(alone.message,
            "input \"lengths\" has one number for each sequence, which is read beside "
            "rows of one length without a past, expected ids [batch, sequence] or "
            "rows of floats [batch, sequence, width]");
}

} // namespace
} // namespace heddle
