// SPDX-License-Identifier: Apache-2.0
///
/// The output of heddlec after every phase, and its report on every pass.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <nlohmann/json.hpp>

#include <map>
#include <numeric>

namespace heddle {
namespace {

using nlohmann::json;

bool has(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class HeddlecEmitTest : public HeddlecTest {
protected:
  /// Returns the program after a phase, from standard output.
  std::string emit(const std::string &phase, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {tiny, "--emit=" + phase});
    tools::Outcome outcome = heddlec(options);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    EXPECT_EQ(withoutNotes(outcome.error), "");
    return outcome.output;
  }
};

TEST_F(HeddlecEmitTest, ModelIsPrimitive) {
  std::string text = emit("model");
  EXPECT_TRUE(has(text, "transformer.softmax") && has(text, "transformer.gather"));
  EXPECT_TRUE(has(text, "loc(\"encoder.layer.0.attention.self.query\")"));
  for (const char *fused : {"transformer.attention", "transformer.embed", "dataflow."}) {
    EXPECT_FALSE(has(text, fused)) << fused;
  }
}

// Additive and concat scores, with and without a window around a predicted position, and those that
// use the attention of earlier steps: no value and no buffer has an element for each row, key and
// column.
TEST_F(HeddlecEmitTest, ScoresOfPairsAreNeverInMemory) {
  for (const char *oracle : {"gru-additive", "gru-concat-local-p", "gnmt-like", "tanh-additive",
                             "location", "location-cumulative"}) {
    const std::string path = HEDDLE_TEST_DATA "/oracles/recurrent/" + std::string(oracle);
    const auto emitted = [&](const std::string &phase, std::vector<std::string> options = {}) {
      options.insert(options.end(), {path, "--emit=" + phase, "--target=x86-64-v3"});
      return heddlec(options).output;
    };
    const std::string fused = emitted("fused");
    EXPECT_TRUE(has(fused, "pair_weights = @")) << oracle;
    EXPECT_FALSE(has(fused, "tensor<?x?x")) << oracle;
    const std::string dataflow = emitted("dataflow");
    EXPECT_TRUE(has(dataflow, "pairs = true")) << oracle;
    EXPECT_FALSE(has(dataflow, "longest, ")) << oracle;
    // Without the pass, they have such values.
    EXPECT_TRUE(has(emitted("dataflow", {"--disable-pass=fuse-attention"}), "longest, ")) << oracle;
  }
}

/// Returns the part before the definitions of locations, which must be at the end.
std::string withoutDefinitions(const std::string &text) {
  const size_t at = text.find("\n#loc");
  std::istringstream rest(text.substr(at + 1));
  for (std::string line; std::getline(rest, line);) {
    EXPECT_TRUE(line.starts_with("#loc")) << line;
  }
  return text.substr(0, at + 1);
}

TEST_F(HeddlecEmitTest, LocationsAreAtTheEnd) {
  for (const char *phase : {"model", "fused", "dataflow", "kernels", "llvm"}) {
    const std::string program = withoutDefinitions(emit(phase, {"--target=x86-64-v3"}));
    for (size_t at = 0; (at = program.find("loc(", at)) != std::string::npos; ++at) {
      ASSERT_TRUE(program.substr(at).starts_with("loc(#loc")) << program.substr(at, 80);
    }
    EXPECT_FALSE(has(program, "\n\n#loc")) << phase;
  }
}

TEST_F(HeddlecEmitTest, NamesWithQuotesAndParenthesesStayAsTheyAre) {
  const std::string folder = HEDDLE_TEST_DATA "/EndToEnd/spellings/";
  std::string text = readBytes(folder + "unscaled.mlir");
  const std::string name = "\"last_hidden_state\"";
  ASSERT_NE(text.find(name), std::string::npos);
  text.replace(text.find(name), name.size(), R"x("a loc(\"b) \\ loc(c)")x");
  const std::string program = work.write("p.mlir", text);
  work.write("p.safetensors", readBytes(folder + "unscaled.safetensors"));
  const tools::Outcome first = heddlec({program, "--emit=model"});
  ASSERT_EQ(first.code, 0) << first.error;
  EXPECT_TRUE(has(first.output, R"x("a loc(\22b) \\ loc(c)")x")) << first.output;
  work.write("p.mlir", first.output);
  const tools::Outcome second = heddlec({program, "--emit=model"});
  ASSERT_EQ(second.code, 0) << second.error;
  EXPECT_EQ(second.output, first.output);
}

TEST_F(HeddlecEmitTest, WhatEntriesShareIsPrintedOnce) {
  for (const char *phase : {"model", "fused"}) {
    const std::string text = emit(phase);
    EXPECT_TRUE(has(text, "func.func private @shared_by_encode_and_embed(")) << phase;
    const std::string layer =
        phase == std::string("model") ? "transformer.softmax" : "transformer.attention ";
    size_t layers = 0;
    for (size_t at = 0; (at = text.find(layer, at)) != std::string::npos; ++at) {
      ++layers;
    }
    EXPECT_EQ(layers, 3u) << phase;
  }
  // Graphs have separate memory plans.
  EXPECT_FALSE(has(emit("dataflow"), "shared_by"));
}

TEST_F(HeddlecEmitTest, FusedHasLargeOperations) {
  std::string text = emit("fused");
  EXPECT_TRUE(has(text, "transformer.attention") && has(text, "transformer.embed"));
  for (const char *primitive : {"transformer.softmax", "transformer.gather", "dataflow."}) {
    EXPECT_FALSE(has(text, primitive)) << primitive;
  }
  std::string plain = emit("fused", {"--disable-pass=fuse-attention"});
  EXPECT_TRUE(has(plain, "transformer.softmax"));
  EXPECT_FALSE(has(plain, "transformer.attention"));
}

TEST_F(HeddlecEmitTest, DataflowIsAGraphWithItsPlan) {
  std::string text = emit("dataflow");
  for (const char *part :
       {"dataflow.graph @encode", "dataflow.kernel", "dataflow.dispatch", "arena"}) {
    EXPECT_TRUE(has(text, part)) << part;
  }
  EXPECT_FALSE(has(text, "transformer.attention"));
  EXPECT_FALSE(has(text, "func.func"));
}

TEST_F(HeddlecEmitTest, KernelsAreLoopsAndVectors) {
  std::string text = emit("kernels", {"--target=x86-64-v3"});
  for (const char *part : {"module @\"x86-64-v3\"", "func.func", "scf.for", "vector."}) {
    EXPECT_TRUE(has(text, part)) << part;
  }
  EXPECT_FALSE(has(text, "x86-64-v4"));
}

TEST_F(HeddlecEmitTest, LlvmIsItsDialectAlone) {
  std::string text = emit("llvm");
  EXPECT_TRUE(has(text, "llvm.func") && has(text, "module @\"x86-64-v4\""));
  for (const char *other : {"func.func", "scf.", "vector."}) {
    EXPECT_FALSE(has(text, std::string(" ") + other)) << other;
  }
}

TEST_F(HeddlecEmitTest, AssemblyIsAListingForEachTarget) {
  std::string text = emit("asm");
  for (const char *part : {"vfmadd", "%ymm", "%zmm", ".globl\t\"attention_3x24.x86-64-v3\"",
                           ".globl\t\"attention_3x24.x86-64-v4\""}) {
    EXPECT_TRUE(has(text, part)) << part;
  }
  EXPECT_FALSE(has(emit("asm", {"--target=x86-64-v3"}), "%zmm"));
}

TEST_F(HeddlecEmitTest, PrintsAndGoesOn) {
  std::string binary = work / "out.so";
  EXPECT_EQ(emit("fused", {"-o", binary}), emit("fused"));
  EXPECT_TRUE(readBytes(binary) == readBytes(compileByDefault(tiny)));
  std::string program = work / "p.mlir";
  EXPECT_EQ(emit("fused", {"--stop-after=dataflow", "-o", program}), emit("fused"));
  EXPECT_EQ(readBytes(program), emit("dataflow"));
}

TEST_F(HeddlecEmitTest, SameInputSameText) {
  for (const char *phase : {"model", "fused", "dataflow", "kernels", "llvm", "asm"}) {
    EXPECT_TRUE(emit(phase) == emit(phase)) << phase;
  }
}

class HeddlecReportTest : public HeddlecTest {
protected:
  /// Compiles and returns the report.
  json report(const std::string &input, const std::vector<std::string> &options = {}) {
    std::vector<std::string> arguments = {input, "-o", work / "out.so", "--report", file};
    arguments.insert(arguments.end(), options.begin(), options.end());
    tools::Outcome outcome = heddlec(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    json entries = json::parse(readBytes(file), nullptr, false);
    EXPECT_TRUE(entries.is_array());
    return entries;
  }

  const std::string file = work / "report.json";
};

/// Returns a copy of the program in which every pass finds a candidate, with parameters of zeros.
std::string everyPass(const TemporaryFolder &folder) {
  const std::string path = folder.write(
      "every-pass.mlir", readBytes(HEDDLE_TEST_DATA "/EndToEnd/Inputs/every-pass.mlir"));
  const std::vector<std::pair<const char *, std::vector<int64_t>>> shapes = {
      {"word", {32, 24}},       {"segment", {2, 24}}, {"square", {24, 24}}, {"query", {24, 24}},
      {"key", {24, 24}},        {"value", {24, 24}},  {"heads", {3, 8, 8}}, {"norm.weight", {24}},
      {"norm.bias", {24}},      {"unused", {24}},     {"other", {24, 24}},  {"key.copy", {24, 24}},
      {"value.copy", {24, 24}}, {"window", {24, 72}}};
  // Every tensor begins with another number; copies begin with that of their original.
  std::vector<float> values(24 * 72 + shapes.size());
  std::iota(values.begin(), values.end(), 0.0F);
  std::map<std::string, size_t> beginnings;
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, shape] : shapes) {
    const std::string original = std::string(name).substr(0, std::string(name).find(".copy"));
    const size_t begin = beginnings.try_emplace(original, beginnings.size()).first->second;
    const auto bytes = std::as_bytes(std::span(values).subspan(begin));
    tensors.push_back(
        {name, ElementType::F32, shape, bytes.first(*byteSize(ElementType::F32, shape))});
  }
  EXPECT_TRUE(writeSafetensors(folder / "every-pass.safetensors", tensors).ok());
  return path;
}

TEST_F(HeddlecReportTest, EveryCandidateOfEveryPass) {
  TemporaryFolder source;
  std::map<std::string, int> taken, declined;
  // Tokens are selected for targets with memory of their own.
  for (const json &entry : report(everyPass(source), {"--target=x86-64-v3,sm_80"})) {
    const std::string pass = entry.value("pass", "");
    bool isTaken = entry.value("taken", false);
    (isTaken ? taken : declined)[pass]++;
    // A predicted gain also has both programs, and the sizes.
    EXPECT_EQ(entry.size(), pass == "predicted-gain" ? 8u : 5u) << entry;
    EXPECT_FALSE(entry.value("where", "").empty()) << entry;
    EXPECT_FALSE(entry.value(isTaken ? "what" : "reason", "").empty()) << entry;
    for (const char *saving : {"flops_per_token", "weight_bytes", "activation_bytes_per_token",
                               "cache_bytes_per_token", "flops_per_token_and_key"}) {
      EXPECT_TRUE(entry["savings"].value(saving, json()).is_number_integer()) << entry;
    }
  }
  for (const std::string &pass : passNames()) {
    EXPECT_GT(taken[pass], 0) << pass;
  }
  // The others have no conditions: they take every candidate.
  for (const char *pass :
       {"fuse-activation", "fuse-norm", "normalize-heads", "fuse-attention", "fuse-rotary",
        "share-attention", "fuse-branches", "fuse-projections", "fuse-embedding",
        "hoist-from-loops", "fuse-windows", "fold-epilogues", "group-loops"}) {
    EXPECT_GT(declined[pass], 0) << pass;
  }
}

TEST_F(HeddlecReportTest, SaysWhereInTheCheckpoint) {
  int layers = 0;
  for (const json &entry : report(tiny)) {
    layers += entry["pass"] == "fuse-attention" && entry["taken"] == true &&
              entry["where"].get<std::string>().starts_with("encoder.layer.") &&
              has(entry["what"], "3 heads of 24");
  }
  // Three layers in each of two entries.
  EXPECT_EQ(layers, 6);
}

TEST_F(HeddlecReportTest, DisabledPassesReportNothing) {
  for (const json &entry : report(tiny, {"--disable-pass=fuse-attention"})) {
    EXPECT_NE(entry["pass"], "fuse-attention");
  }
}

TEST_F(HeddlecReportTest, SameInputSameReport) {
  report(tiny);
  std::string first = readBytes(file);
  report(tiny);
  EXPECT_EQ(readBytes(file), first);
}

} // namespace
} // namespace heddle
