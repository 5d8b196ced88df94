// SPDX-License-Identifier: Apache-2.0
///
/// Small encoder-decoder graphs, whose decoder rows attend to those of a source.
#include "tests/frontend/Onnx/SmallGraphs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace onnxbytes;

Read read(const std::string &graph, const std::string &config = "", int64_t version = 18) {
  return readModel(model(graph, version), {.config = config});
}

/// Attention with one head, from `queries` to `keys`. The nodes `masking` compute "PREFIXmasked"
/// from "PREFIXscores".
std::string attention(const std::string &prefix, const std::string &queries,
                      const std::string &keys, const std::string &masking) {
  return step("Transpose", {keys}, prefix + "turned", integers("perm", {0, 2, 1})) +
         step("MatMul", {queries, prefix + "turned"}, prefix + "scores") + masking +
         step("Softmax", {prefix + "masked"}, prefix + "weights", integer("axis", -1)) +
         step("MatMul", {prefix + "weights", keys}, prefix + "mixed");
}

const std::string causal = step("Where", {"order", "self_scores", "low"}, "self_masked");
const std::string unmasked = step("Identity", {"self_scores"}, "self_masked");
const std::string padded = step("Where", {"present", "cross_scores", "low"}, "cross_masked");
const std::string all = step("Identity", {"cross_scores"}, "cross_masked");

/// The parts in which the graphs differ.
struct Spelling {
  std::string self = causal;
  std::string cross = padded;
  /// The nodes that compute the targets and the source.
  std::string targets = step("Gather", {"table", "ids"}, "words") + step("Relu", {"words"}, "x");
  std::string memory = step("Tanh", {"states"}, "memory");
  /// The nodes that compute whether a row of the source is visible.
  std::string truth = step("Cast", {"mask"}, "truth", integer("to", 9));
  /// Additional inputs, nodes after all others, and outputs.
  std::string inputs = "";
  std::string more = step("Add", {"cross_mixed", "self_mixed"}, "logits");
  std::string outputs = output(port("logits", {}));
};

Read readDecoder(const Spelling &spelling, const std::string &config = "") {
  std::string text =
      input(port("ids", {"batch", "target"}, 7)) + input(port("states", {"batch", "source", "8"})) +
      input(port("mask", {"batch", "source"}, 7)) + spelling.inputs +
      initializer(tensor("table", {11, 8}) + raw(352)) + floats("low", {}, {minusInfinity});
  for (const int64_t value : {0, 1}) {
    text += numbers(fmt::format("i{}", value), {}, {value}) +
            numbers(fmt::format("v{}", value), {1}, {value});
  }
  text += step("Shape", {"ids"}, "s1", integer("start", 1)) + step("Squeeze", {"s1"}, "s") +
          step("Range", {"i0", "s", "i1"}, "positions") +
          step("Unsqueeze", {"positions", "v1"}, "rows") +
          step("LessOrEqual", {"positions", "rows"}, "order") + spelling.truth +
          step("Unsqueeze", {"truth", "v1"}, "present");
  text += spelling.targets + spelling.memory + attention("self_", "x", "x", spelling.self) +
          attention("cross_", "self_mixed", "memory", spelling.cross) + spelling.more +
          spelling.outputs;
  return read(text, config);
}

/// Returns whether a graph became a function, and a note gives this reason.
bool hasNote(const Read &found, const std::string &reason) {
  for (const std::string &note : found.notes) {
    if (note.starts_with("no model that generates: ") && note.find(reason) != std::string::npos) {
      return found.has("func.func @run_source(") && found.has("func.func @run(");
    }
  }
  return false;
}

TEST(OnnxEncoderDecoder, HasAnEntryForEachLength) {
  const Read found = readDecoder({});
  EXPECT_EQ(found.message, "");
  const size_t decode = found.text.find("func.func @decode(");
  ASSERT_NE(decode, std::string::npos) << found.text;
  const std::string encode = found.text.substr(0, decode), rest = found.text.substr(decode);
  for (const char *const part :
       {"func.func @encode(%arg0: tensor<?x8xf32> {transformer.name = \"states\"}, ",
        "{transformer.name = \"mask\", transformer.optional, transformer.pad = 0 : i32}",
        "transformer.activate tanh", "transformer.append"}) {
    EXPECT_NE(encode.find(part), std::string::npos) << part << "\n" << found.text;
  }
  for (const char *const part :
       {"%arg0: tensor<?xi32> {transformer.name = \"ids\"}", "transformer.name = \"memory\"",
        "transformer.mask causal", "transformer.history", "transformer.append",
        "transformer.name = \"logits\""}) {
    EXPECT_NE(rest.find(part), std::string::npos) << part << "\n" << found.text;
  }
  // The mask is metadata for the code that fills the batch; no kernel reads it.
  EXPECT_EQ(rest.find("\"mask\""), std::string::npos) << found.text;
  EXPECT_EQ(rest.find("activate tanh"), std::string::npos) << found.text;
}

TEST(OnnxEncoderDecoder, MasksThatCountHaveLimits) {
  const Read found = readDecoder({.truth = step("Equal", {"mask", "i1"}, "truth")});
  EXPECT_EQ(found.message, "");
  EXPECT_TRUE(found.has("{transformer.limit = 2 : i32, transformer.name = \"mask\", "
                        "transformer.optional, transformer.pad = 0 : i32}"))
      << found.text;
}

TEST(OnnxEncoderDecoder, KeysThatTwoAttentionsReadAreKeptOnce) {
  const std::string again =
      attention("third_", "cross_mixed", "memory",
                step("Where", {"present", "third_scores", "low"}, "third_masked"));
  const Read found = readDecoder({.more = again + step("Identity", {"third_mixed"}, "logits")});
  EXPECT_EQ(found.message, "");
  const std::string encode = found.text.substr(0, found.text.find("func.func @decode("));
  size_t appended = 0;
  for (size_t at = encode.find("transformer.append "); at != std::string::npos;
       at = encode.find("transformer.append ", at + 1)) {
    ++appended;
  }
  // Here the transposed keys and the values have the same column order, so they share a cache.
  EXPECT_EQ(appended, 1U) << found.text;
}

TEST(OnnxEncoderDecoder, KeysThatAreHandedBackAreInCaches) {
  const std::string heads = numbers("sizes", {4}, {0, 0, 2, 4});
  // Two heads of the source, and the same keys as an output.
  const std::string more =
      heads + step("Reshape", {"memory", "sizes"}, "parts") +
      step("Transpose", {"parts"}, "key", integers("perm", {0, 2, 1, 3})) +
      step("Transpose", {"key"}, "turned", integers("perm", {0, 1, 3, 2})) +
      step("Reshape", {"cross_mixed", "sizes"}, "queries") +
      step("Transpose", {"queries"}, "query", integers("perm", {0, 2, 1, 3})) +
      step("MatMul", {"query", "turned"}, "scores") + step("Unsqueeze", {"present", "v1"}, "seen") +
      step("Where", {"seen", "scores", "low"}, "masked") +
      step("Softmax", {"masked"}, "weights", integer("axis", -1)) +
      step("MatMul", {"weights", "key"}, "mixed") +
      step("Transpose", {"mixed"}, "back", integers("perm", {0, 2, 1, 3})) +
      numbers("join", {3}, {0, 0, 8}) + step("Reshape", {"back", "join"}, "logits");
  const Read found =
      readDecoder({.more = more, .outputs = output(port("logits", {})) + output(port("key", {}))});
  EXPECT_EQ(found.message, "");
  EXPECT_FALSE(found.has("\"key\"")) << found.text;
  // A decoder gives no other outputs of this form.
  const Read other =
      readDecoder({.more = more + step("Relu", {"key"}, "changed"),
                   .outputs = output(port("logits", {})) + output(port("changed", {}))});
  EXPECT_EQ(other.message, "");
  EXPECT_TRUE(hasNote(other, "output \"changed\" has other axes than rows"));
  EXPECT_TRUE(other.has("{transformer.axes = array<i64: -1, 2, -2, 4>, transformer.name = "
                        "\"changed\"}"))
      << other.text;
}

TEST(OnnxEncoderDecoder, SourcesNeedNoMask) {
  const Read found = readDecoder({.cross = all});
  EXPECT_EQ(found.message, "");
  EXPECT_FALSE(found.has("transformer.pad")) << found.text;
}

TEST(OnnxEncoderDecoder, SettingsAreThoseBesideTheGraph) {
  EXPECT_FALSE(readDecoder({}).has("transformer.generation"));
  const Read found = readDecoder({}, R"({"eos_token_id": 7, "decoder_start_token_id": 2})");
  EXPECT_EQ(found.message, "");
  EXPECT_TRUE(found.has("end = array<i32: 7>")) << found.text;
  EXPECT_TRUE(found.has("start = array<i32: 2>")) << found.text;
}

TEST(OnnxEncoderDecoder, OthersAreFunctionsOrRefusedWithTheReason) {
  const std::string states = input(port("more", {"batch", "source", "8"}));
  const std::string wide = input(port("wide", {"batch", "target", "8"}));
  const std::string third = input(port("third", {"batch", "other"}, 7));
  const std::string back =
      attention("back_", "memory", "cross_mixed", step("Identity", {"back_scores"}, "back_masked"));
  const std::pair<Spelling, const char *> functions[] = {
      {{.self = unmasked},
       "(MatMul) lets rows of \"target\" see later ones, expected a causal mask where rows look at "
       "those of another length"},
      {{.targets = step("Relu", {"wide"}, "x"), .inputs = wide},
       "the rows of \"target\" are computed from \"wide\", expected one input of ids, as a decoder "
       "has"},
      {{.memory = step("Add", {"states", "more"}, "memory"), .inputs = states},
       "the rows of \"source\" are computed from \"states\", \"more\", expected one input"},
      {{.more = step("Identity", {"cross_mixed"}, "y"), .outputs = output(port("y", {}))},
       "the graph decodes rows of \"target\", but has no output \"logits\" of them"}};
  for (const auto &[spelling, reason] : functions) {
    const Read found = readDecoder(spelling);
    EXPECT_EQ(found.message, "");
    EXPECT_TRUE(hasNote(found, reason)) << reason << "\n" << found.text;
    // One run gives all rows of the targets, so that none of theirs are kept.
    EXPECT_FALSE(found.has("transformer.history")) << found.text;
  }
  const std::pair<Spelling, const char *> cases[] = {
      {{.more = attention("third_", "cross_mixed", "memory",
                          step("Identity", {"third_scores"}, "third_masked")) +
                step("Identity", {"third_mixed"}, "logits")},
       "(MatMul) sees all rows of \"source\", but "},
      {{.more = step("Add", {"cross_mixed", "self_mixed"}, "logits") + back,
        .outputs = output(port("logits", {})) + output(port("back_mixed", {}))},
       "does so the other way round, expected one direction"},
      {{.inputs = third}, "has rows of another length than the inputs before it"},
  };
  for (const auto &[spelling, message] : cases) {
    const Read found = readDecoder(spelling);
    EXPECT_NE(found.message.find(message), std::string::npos)
        << found.message << "\nexpected " << message;
  }
}

TEST(OnnxEncoderDecoder, InputsOfTwoLengthsMustMeet) {
  const Read found = read(input(port("ids", {"batch", "target"}, 7)) +
                          input(port("mask", {"batch", "source"}, 7)) +
                          initializer(tensor("table", {11, 8}) + raw(352)) +
                          step("Gather", {"table", "ids"}, "logits") + output(port("logits", {})));
  EXPECT_NE(found.message.find("the inputs have rows of two lengths, \"target\" and \"source\", "
                               "expected an attention whose queries are rows of one and whose keys "
                               "are rows of the other"),
            std::string::npos)
      << found.message;
}

} // namespace
} // namespace heddle
