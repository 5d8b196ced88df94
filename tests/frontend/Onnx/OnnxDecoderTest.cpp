// SPDX-License-Identifier: Apache-2.0
///
/// Small decoder graphs: causal masks in several forms, rotary positions, grouped-query attention.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

Read read(const std::string &graph, const std::string &config = "", int64_t version = 18) {
  return readModel(model(graph, version), {.config = config});
}

/// Constants by name, the length of a sequence as "s" and "s1", and the positions of rows as
/// "positions".
std::string preamble() {
  std::string text = input(port("ids", {"batch", "rows"}, 7)) +
                     input(port("mask", {"batch", "rows"}, 7)) +
                     initializer(tensor("table", {11, 8}) + raw(352)) + floats("none", {}, {0}) +
                     floats("low", {}, {minusInfinity});
  for (const int64_t value : {0, 1, 2, 3, 4}) {
    text += numbers(fmt::format("i{}", value), {}, {value}) +
            numbers(fmt::format("v{}", value), {1}, {value});
  }
  return text + step("Gather", {"table", "ids"}, "embedded") + step("Relu", {"embedded"}, "x") +
         step("Shape", {"ids"}, "s1", integer("start", 1)) + step("Squeeze", {"s1"}, "s") +
         step("Range", {"i0", "s", "i1"}, "positions") +
         step("Unsqueeze", {"positions", "v1"}, "rows");
}

/// Attention with one head; the nodes `masking` compute "masked" from "scores".
Read attention(const std::string &masking) {
  return read(preamble() + step("Transpose", {"x"}, "keys", integers("perm", {0, 2, 1})) +
              step("MatMul", {"x", "keys"}, "scores") + masking +
              step("Softmax", {"masked"}, "weights", integer("axis", -1)) +
              step("MatMul", {"weights", "x"}, "y") + output(port("y", {})));
}

/// The mask input as Booleans [batch, 1, keys].
std::string present() {
  return step("Cast", {"mask"}, "truth", integer("to", 9)) +
         step("Unsqueeze", {"truth", "v1"}, "present");
}

const std::string upTo = step("LessOrEqual", {"positions", "rows"}, "order");

TEST(OnnxDecoder, CausalMasksAreFoundInEverySpelling) {
  const std::string table =
      constant<char>("stored", {1, 4, 4}, 9, {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1});
  const std::string bias = floats("stored_bias", {2, 2}, {0, -1e9F, 0, 0});
  const std::string cut = step("Slice", {"stored", "v0", "s1", "v1"}, "some") +
                          step("Slice", {"some", "v0", "s1", "v2"}, "order");
  const std::string select = step("Where", {"order", "scores", "low"}, "masked");
  const std::string added =
      step("Where", {"order", "none", "low"}, "bias") + step("Add", {"bias", "scores"}, "masked");
  const std::string square = step("Concat", {"s1", "s1"}, "square", integer("axis", 0));
  const std::string full = square + step("Expand", {"low", "square"}, "lows") +
                           step("Trilu", {"lows", "i1"}, "bias") +
                           step("Add", {"scores", "bias"}, "masked");
  const std::string ones = square + step("Expand", {"i1", "square"}, "ones") +
                           step("Trilu", {"ones"}, "lower", integer("upper", 0)) +
                           step("Cast", {"lower"}, "order", integer("to", 9));
  const std::string after = step("Greater", {"positions", "rows"}, "later") +
                            step("Where", {"later", "low", "scores"}, "masked");
  const std::string difference = step("Sub", {"rows", "positions"}, "distance") +
                                 step("GreaterOrEqual", {"distance", "i0"}, "order") + select;
  for (const std::string &spelling :
       {upTo + select, upTo + added, table + cut + select, full, ones + select, after, difference,
        bias + step("Slice", {"stored_bias", "v0", "s1", "v0"}, "part") +
            step("Slice", {"part", "v0", "s1", "v1"}, "bias") +
            step("Add", {"scores", "bias"}, "masked")}) {
    const Read found = attention(spelling);
    EXPECT_EQ(found.message, "");
    EXPECT_TRUE(found.has("transformer.mask causal")) << found.text;
    EXPECT_TRUE(found.has("transformer.select")) << found.text;
    // Padding is not masked.
    EXPECT_FALSE(found.has("run_columns")) << found.text;
  }
}

TEST(OnnxDecoder, CausalMasksMayHidePaddingToo) {
  const std::string both = present() + upTo + step("And", {"order", "present"}, "seen");
  const std::string selected = both + step("Where", {"seen", "scores", "low"}, "masked");
  const std::string twice = present() + upTo + step("Where", {"order", "scores", "low"}, "causal") +
                            step("Where", {"present", "causal", "low"}, "masked");
  const std::string sum = present() + upTo + step("Where", {"order", "none", "low"}, "a") +
                          step("Where", {"present", "none", "low"}, "b") +
                          step("Add", {"a", "b"}, "bias") +
                          step("Add", {"scores", "bias"}, "masked");
  for (const std::string &spelling : {selected, twice, sum}) {
    const Read found = attention(spelling);
    EXPECT_EQ(found.message, "");
    EXPECT_TRUE(found.has("transformer.mask causal")) << found.text;
    EXPECT_TRUE(found.has("func.func @run_columns")) << found.text;
  }
}

TEST(OnnxDecoder, OtherMasksOfPositionsAreRefused) {
  const auto refusal = [](const char *what) {
    return fmt::format(
        "the mask {}, expected one that hides the keys of padding, those after their "
        "query, or both, and nothing else",
        what);
  };
  const std::string select = step("Where", {"order", "scores", "low"}, "masked");
  // Masks that also show the key after the query, only keys before it, or only the query itself.
  const std::string next = step("Add", {"rows", "i1"}, "limit") +
                           step("LessOrEqual", {"positions", "limit"}, "order") + select;
  const std::string before = step("Less", {"positions", "rows"}, "order") + select;
  const std::string itself = step("Equal", {"positions", "rows"}, "order") + select;
  for (const std::string &spelling : {next, before, itself}) {
    EXPECT_NE(attention(spelling).message.find(refusal("depends on positions in another way")),
              std::string::npos)
        << attention(spelling).message;
  }
  // A prefix that all rows attend to: the input shows keys after their query.
  const std::string prefix = present() + upTo + step("Or", {"order", "present"}, "seen") +
                             step("Where", {"seen", "scores", "low"}, "masked");
  EXPECT_NE(attention(prefix).message.find(refusal("cannot be proved to depend on \"mask\" alone")),
            std::string::npos)
      << attention(prefix).message;
}

/// Splits rows into two heads of 4 columns, [batch, 2, rows, 4], as "heads".
std::string heads() {
  return numbers("split", {4}, {0, 0, 2, 4}) + step("Reshape", {"x", "split"}, "parts") +
         step("Transpose", {"parts"}, "heads", integers("perm", {0, 2, 1, 3}));
}

/// The inverse, from "turned" to rows "y".
std::string joined() {
  return numbers("join", {3}, {0, 0, 8}) +
         step("Transpose", {"turned"}, "back", integers("perm", {0, 2, 1, 3})) +
         step("Reshape", {"back", "join"}, "y") + output(port("y", {}));
}

TEST(OnnxDecoder, RotaryPositionsArePartsOfHeads) {
  const std::string frequencies = floats("frequencies", {2}, {1, 0.5F});
  const std::string multiplied =
      step("Cast", {"rows"}, "p", integer("to", 1)) + step("Mul", {"p", "frequencies"}, "half");
  // Older exporters emit a matrix product.
  const std::string product = step("Cast", {"rows"}, "p", integer("to", 1)) +
                              step("Unsqueeze", {"frequencies", "v0"}, "line") +
                              step("MatMul", {"p", "line"}, "half");
  for (const std::string &angles : {multiplied, product}) {
    const std::string turn =
        step("Concat", {"half", "half"}, "angles", integer("axis", -1)) +
        step("Cos", {"angles"}, "c") + step("Sin", {"angles"}, "s_") +
        step("Slice", {"heads", "v0", "v2", "v3"}, "near") +
        step("Slice", {"heads", "v2", "v4", "v3"}, "far") + step("Neg", {"far"}, "minus") +
        step("Concat", {"minus", "near"}, "exchanged", integer("axis", -1)) +
        step("Mul", {"heads", "c"}, "a") + step("Mul", {"exchanged", "s_"}, "b") +
        step("Add", {"a", "b"}, "turned");
    const Read found = read(preamble() + frequencies + heads() + angles + turn + joined());
    EXPECT_EQ(found.message, "");
    // The cosine of each angle, emitted once for both halves.
    for (const char *const part :
         {"transformer.angles %arg2 {frequencies = array<f32: 1.000000e+00, 5.000000e-01>}",
          "transformer.activate cos ", "transformer.choices %arg2, 2", "transformer.split_rows",
          "transformer.repeat", "transformer.join_rows"}) {
      EXPECT_TRUE(found.has(part)) << part << "\n" << found.text;
    }
    const size_t first = found.text.find("activate cos");
    EXPECT_EQ(found.text.find("activate cos", first + 1), std::string::npos) << found.text;
  }
}

TEST(OnnxDecoder, HeadsAreRepeated) {
  const std::string sizes = numbers("sizes", {5}, {1, 1, 3, 1, 1});
  const Read found = read(
      preamble() + heads() + sizes + numbers("all", {4}, {0, 6, -1, 4}) +
      step("Unsqueeze", {"heads", "v2"}, "single") + step("Expand", {"single", "sizes"}, "copies") +
      step("Reshape", {"copies", "all"}, "shared") + numbers("join", {3}, {0, 0, 24}) +
      step("Transpose", {"shared"}, "back", integers("perm", {0, 2, 1, 3})) +
      step("Reshape", {"back", "join"}, "y") + output(port("y", {})));
  EXPECT_EQ(found.message, "");
  EXPECT_TRUE(found.has("transformer.repeat_heads")) << found.text;
  EXPECT_TRUE(found.has("tensor<?x2x4xf32> -> tensor<?x6x4xf32>")) << found.text;
  EXPECT_NE(read(preamble() + step("Unsqueeze", {"x", "v1"}, "a") +
                 numbers("sizes", {4}, {1, 2, 1, 1}) + step("Expand", {"a", "sizes"}, "b") +
                 step("Expand", {"b", "sizes"}, "c") + step("Relu", {"c"}, "y") +
                 output(port("y", {})))
                .message.find("has other axes than rows"),
            std::string::npos);
}

TEST(OnnxDecoder, KeysMayStandBeforeQueries) {
  const auto turned = [](int64_t axis) {
    return read(preamble() + step("Cast", {"mask"}, "truth", integer("to", 9)) +
                step("Unsqueeze", {"truth", "v2"}, "present") +
                step("Transpose", {"x"}, "queries", integers("perm", {0, 2, 1})) +
                step("MatMul", {"x", "queries"}, "scores") +
                step("Where", {"present", "scores", "low"}, "masked") +
                step("Softmax", {"masked"}, "turned", integer("axis", axis)) +
                step("Transpose", {"turned"}, "weights", integers("perm", {0, 2, 1})) +
                step("MatMul", {"weights", "x"}, "y") + output(port("y", {})));
  };
  for (const int64_t axis : {1, -2}) {
    const Read found = turned(axis);
    EXPECT_EQ(found.message, "");
    EXPECT_TRUE(found.has("contract \"thd,khd->thk\"")) << found.text;
    EXPECT_TRUE(found.has("func.func @run_columns")) << found.text;
  }
  // With the weights along the other axis, the mask hides queries instead of keys.
  EXPECT_NE(turned(2).message.find("elsewhere than at the key's own row"), std::string::npos)
      << turned(2).message;
}

/// A graph with one node of opset 23 and past inputs.
Read attentionWithPasts(const std::string &attributes, const char *rows = "rows") {
  std::string text = input(port("ids", {"batch", rows}, 7));
  for (const char *const name : {"past_key", "past_value"}) {
    text += input(port(name, {"batch", "2", "earlier", "4"}));
  }
  return read(text + initializer(tensor("table", {11, 8}) + raw(352)) +
                  step("Gather", {"table", "ids"}, "x") +
                  graphNode(node("Attention", {"x", "x", "x", "", "past_key", "past_value"},
                                 {"logits", "key", "value"}) +
                            integer("q_num_heads", 2) + integer("kv_num_heads", 2) + attributes) +
                  output(port("logits", {})) + output(port("key", {})) + output(port("value", {})),
              "", 23);
}

/// Returns whether a graph became a function, and a note gives this reason.
bool hasNote(const Read &found, const std::string &reason) {
  for (const std::string &note : found.notes) {
    if (note.starts_with("no model that generates: ") && note.find(reason) != std::string::npos) {
      return found.has("func.func @run_past(") && found.has("func.func @run(");
    }
  }
  return false;
}

TEST(OnnxDecoder, PastsOfAttentionNodesAreCaches) {
  const Read found = attentionWithPasts(integer("is_causal", 1));
  EXPECT_EQ(found.message, "");
  for (const char *const part :
       {"func.func @decode(", "!transformer.cache<8> {transformer.name = \"past_value\"}",
        "transformer.history", "transformer.mask causal"}) {
    EXPECT_TRUE(found.has(part)) << part << "\n" << found.text;
  }
  const Read unordered = attentionWithPasts("");
  EXPECT_EQ(unordered.message, "");
  EXPECT_TRUE(hasNote(unordered, "(Attention) lets rows see later ones"));
  EXPECT_FALSE(unordered.has("transformer.mask causal")) << unordered.text;
  const Read single = attentionWithPasts(integer("is_causal", 1), "1");
  EXPECT_EQ(single.message, "");
  EXPECT_TRUE(single.has("{transformer.name = \"ids\", transformer.rows = 1 : i64}"))
      << single.text;
  const std::string one = single.notes.empty() ? "" : single.notes.front();
  EXPECT_NE(
      one.find("input \"ids\" has one row of each sequence beside a past, expected any number; "
               "what the exporter made for the first tokens has that, and is decoded a token "
               "at a time as well"),
      std::string::npos)
      << one;
}

TEST(OnnxDecoder, TrianglesOfActivationsAreRefused) {
  EXPECT_NE(read(preamble() + step("Trilu", {"x"}, "y") + output(port("y", {})))
                .message.find("takes a triangle of activations, expected a mask"),
            std::string::npos);
}

/// A graph with one head whose keys and values are x, concatenated with pasts by `join` to "keys"
/// and "values" [batch, 1, all, 8]. The mask and the positions cover all rows so far.
Read withPasts(const std::string &join, const std::string &more = "", const char *logits = "logits",
               const char *seen = "both", const std::string &config = "",
               bool isMaskFirst = false) {
  const std::string mask = input(port("mask", {"batch", "total"}, 7));
  std::string text = (isMaskFirst ? mask : "") + input(port("ids", {"batch", "rows"}, 7)) + more;
  for (const char *const name : {"past_key", "past_value"}) {
    text += input(port(name, {"batch", "1", "earlier", "8"}));
  }
  text += (isMaskFirst ? "" : mask) + initializer(tensor("table", {11, 8}) + raw(352)) +
          initializer(tensor("steps", {20, 8}) + raw(640)) + floats("none", {}, {0}) +
          floats("low", {}, {minusInfinity});
  for (const int64_t value : {0, 1, 2}) {
    text += numbers(fmt::format("i{}", value), {}, {value}) +
            numbers(fmt::format("v{}", value), {1}, {value});
  }
  // Positions of rows, starting after the past.
  text += step("Shape", {"ids"}, "s1", integer("start", 1)) + step("Squeeze", {"s1"}, "s") +
          step("Shape", {"past_key"}, "p1", integer("start", 2) + integer("end", 3)) +
          step("Squeeze", {"p1"}, "p") + step("Add", {"p", "s"}, "all") +
          step("Range", {"i0", "s", "i1"}, "own") + step("Add", {"own", "p"}, "at") +
          step("Range", {"i0", "all", "i1"}, "columns") + step("Unsqueeze", {"at", "v1"}, "rows") +
          step("LessOrEqual", {"columns", "rows"}, "order") +
          step("Cast", {"mask"}, "truth", integer("to", 9)) +
          step("Unsqueeze", {"truth", "v1"}, "present") +
          step("And", {"order", "present"}, "both") + step("Unsqueeze", {seen, "v1"}, "sees");
  text += step("Gather", {"table", "ids"}, "words") + step("Gather", {"steps", "at"}, "places") +
          step("Add", {"words", "places"}, "x") + step("Unsqueeze", {"x", "v1"}, "fresh") + join +
          step("Transpose", {"keys"}, "turned", integers("perm", {0, 1, 3, 2})) +
          step("MatMul", {"fresh", "turned"}, "scores") +
          step("Where", {"sees", "scores", "low"}, "masked") +
          step("Softmax", {"masked"}, "weights", integer("axis", -1)) +
          step("MatMul", {"weights", "values"}, "mixed") + step("Squeeze", {"mixed", "v1"}, logits);
  return read(text + output(port(logits, {})) + output(port("keys", {})) +
                  output(port("values", {})),
              config);
}

const std::string joinKeys = step("Concat", {"past_key", "fresh"}, "keys", integer("axis", -2));
const std::string joinValues = step("Concat", {"past_value"}, "alone", integer("axis", 2)) +
                               step("Concat", {"alone", "fresh"}, "values", integer("axis", 2));

/// Attention of a decoder with a constant factor on all keys, which is applied to the scores.
TEST(OnnxDecoder, AttentionKeepsAFactorOfItsKeys) {
  const std::string real = bytes(5, bytes(1, "scale") + number(20, 1) + varint(2 << 3 | 5) +
                                        std::string("\0\0\0\x3f", 4));
  const Read found = read(
      input(port("ids", {"batch", "rows"}, 7)) + input(port("pk", {"batch", "1", "past", "8"})) +
          input(port("pv", {"batch", "1", "past", "8"})) +
          initializer(tensor("table", {11, 8}) + raw(352)) + floats("quarter", {}, {0.25}) +
          numbers("v1", {1}, {1}) + step("Gather", {"table", "ids"}, "x") +
          step("Unsqueeze", {"x", "v1"}, "q") +
          step("Concat", {"pk", "q"}, "keys", integer("axis", 2)) +
          step("Concat", {"pv", "q"}, "values", integer("axis", 2)) +
          step("Mul", {"keys", "quarter"}, "less") + numbers("i0", {}, {0}) +
          numbers("i1", {}, {1}) + step("Shape", {"ids"}, "s1", integer("start", 1)) +
          step("Squeeze", {"s1"}, "s") +
          step("Shape", {"keys"}, "a1", integer("start", 2) + integer("end", 3)) +
          step("Squeeze", {"a1"}, "all") + step("Sub", {"all", "s"}, "p") +
          step("Range", {"p", "all", "i1"}, "at") + step("Range", {"i0", "all", "i1"}, "columns") +
          step("Unsqueeze", {"at", "v1"}, "rows") +
          step("LessOrEqual", {"columns", "rows"}, "sees") +
          step("Attention", {"q", "less", "values", "sees"}, "mixed", real) +
          step("Squeeze", {"mixed", "v1"}, "logits") + output(port("logits", {})) +
          output(port("keys", {})) + output(port("values", {})),
      "", 23);
  EXPECT_EQ(found.message, "");
  EXPECT_TRUE(found.has("1.250000e-01")) << found.text;
}

TEST(OnnxDecoder, AMaskMayComeBeforeTokens) {
  const Read found = withPasts(joinKeys + joinValues, "", "logits", "both", "", true);
  EXPECT_EQ(found.message, "");
  EXPECT_EQ(found.text, withPasts(joinKeys + joinValues).text);
}

TEST(OnnxDecoder, PositionsBesideAPastAreNoted) {
  const Read found =
      withPasts(joinKeys + joinValues, input(port("position_ids", {"batch", "rows"}, 7)));
  EXPECT_EQ(found.message, "");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0], "input \"position_ids\" is no input of the model: its rows have the "
                            "positions of a request, from 0 on");
}

/// A mask of floats with four axes is not a past, because no node concatenates it.
TEST(OnnxDecoder, WhatNothingJoinsIsNoPast) {
  const Read found = read(input(port("x", {"batch", "rows", "8"})) +
                          input(port("bias", {"batch", "1", "1", "rows"})) +
                          step("Add", {"x", "bias"}, "y") + output(port("y", {})));
  EXPECT_EQ(found.message, "input \"bias\" has 4 axes, expected ids [batch, sequence] or rows of "
                           "floats [batch, sequence, width]");
}

TEST(OnnxDecoder, PastsAreCaches) {
  const Read found = withPasts(joinKeys + joinValues);
  EXPECT_EQ(found.message, "");
  for (const char *const part :
       {"func.func @decode(%arg0: tensor<?xi32> {transformer.name = \"ids\"}, ",
        "!transformer.cache<8> {transformer.name = \"past_key\"}", "transformer.positions %arg1",
        "transformer.append", "transformer.history %arg1", "transformer.cached",
        "transformer.mask causal", "transformer.generation"}) {
    EXPECT_TRUE(found.has(part)) << part << "\n" << found.text;
  }
  EXPECT_FALSE(found.has("\"mask\"")) << found.text;
  EXPECT_FALSE(found.has("@run")) << found.text;
  // The stop tokens are in the configuration beside the graph.
  EXPECT_TRUE(found.has("end = array<i32>")) << found.text;
  const auto ended = [](const std::string &config) {
    return withPasts(joinKeys + joinValues, "", "logits", "both", config);
  };
  EXPECT_TRUE(ended(R"({"eos_token_id": 7})").has("end = array<i32: 7>"));
  EXPECT_NE(ended(R"({"eos_token_id": 8})").message.find("eos_token_id"), std::string::npos);
}

TEST(OnnxDecoder, PastsThatAreNoCachesAreRefused) {
  const std::string reads = step("Relu", {"past_value"}, "r") +
                            step("Concat", {"r", "fresh"}, "values", integer("axis", 2));
  const std::string twice = step("Concat", {"past_key", "fresh"}, "values", integer("axis", 2));
  const std::string before = step("Concat", {"fresh", "past_value"}, "values", integer("axis", 2));
  const std::string more =
      step("Concat", {"past_value", "fresh", "fresh"}, "values", integer("axis", 2));
  const std::string unread = step("Relu", {"fresh"}, "f") +
                             step("Concat", {"past_key", "f"}, "keys", integer("axis", 2)) +
                             step("Identity", {"keys"}, "values");
  const std::pair<std::string, const char *> cases[] = {
      {joinKeys + reads, "(Relu): reads \"past_value\", the rows of earlier runs, before it is "
                         "joined with those of this run, expected a Concat"},
      {joinKeys + twice, "joins \"past_key\", the rows of earlier runs, for the second time, "
                         "expected one cache"},
      {joinKeys + before, "joins rows of earlier runs behind others, expected them first"},
      {joinKeys + more, "joins rows of earlier runs with others than those of this run"},
      {unread, "input \"past_value\" is not read, expected its rows to be joined with those of a "
               "run"}};
  for (const auto &[join, message] : cases) {
    EXPECT_NE(withPasts(join).message.find(message), std::string::npos) << withPasts(join).message;
  }
  EXPECT_NE(withPasts(joinKeys + joinValues, "", "scores_of_tokens")
                .message.find("the graph has a past, but no output \"logits\", expected one of "
                              "rows"),
            std::string::npos);
  EXPECT_NE(withPasts(joinKeys + joinValues, "", "logits", "present")
                .message.find("(MatMul) lets rows see later ones, expected a causal mask where the "
                              "graph has a past"),
            std::string::npos);
  const std::string types = input(port("types", {"batch", "rows"}, 7));
  const std::string typed = step("Gather", {"table", "types"}, "more") +
                            step("Add", {"x", "more"}, "sum") +
                            step("Unsqueeze", {"sum", "v1"}, "typed") +
                            step("Concat", {"past_value", "typed"}, "values", integer("axis", 2));
  EXPECT_NE(withPasts(joinKeys + typed, types)
                .message.find("the graph has a past and reads 2 inputs of ids, expected one"),
            std::string::npos)
      << withPasts(joinKeys + typed, types).message;
}

} // namespace
} // namespace heddle
