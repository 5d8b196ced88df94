// SPDX-License-Identifier: Apache-2.0
///
/// The programs of the project's own format, from the committed seed models.
#include "tests/frontend/Families/FamilyProgram.h"

namespace heddle {

TEST(TransformerTest, EmbeddingsAreMultipliedBeforePositionsAreAdded) {
  EXPECT_TRUE(contains(program("transformer-post"),
                       R"(    %0 = transformer.gather @shared.weight[%arg0] : tensor<?x48xf32>
    %1 = transformer.scale %0, 6.92820311 : tensor<?x48xf32>
    %2 = transformer.positions %arg1
    %3 = transformer.gather @positions[%2] : tensor<?x48xf32>
    %4 = transformer.add %1, %3 : tensor<?x48xf32>, tensor<?x48xf32>
)"));
}

TEST(TransformerTest, KeysAndValuesOfCrossAttentionAreComputedByTheEncoder) {
  const std::string text = program("transformer-post");
  EXPECT_TRUE(contains(
      text,
      R"(    %72 = transformer.linear %61, @decoder.layers.2.cross_attention.value.weight, @decoder.layers.2.cross_attention.value.bias : tensor<?x48xf32> -> tensor<?x48xf32>
    %73 = transformer.append %arg7, %72 in(%arg1) : !transformer.cache<48>
    return %61, %63, %65, %67, %69, %71, %73 : tensor<?x48xf32>, !transformer.cache<48>, !transformer.cache<48>, !transformer.cache<48>, !transformer.cache<48>, !transformer.cache<48>, !transformer.cache<48>
)"));
}

TEST(TransformerTest, TheDecoderKeepsKeysAndValues) {
  EXPECT_TRUE(contains(program("transformer-post"), R"(    %0 = transformer.history %arg1
    %1 = transformer.gather @shared.weight[%arg0] : tensor<?x48xf32>
    %2 = transformer.scale %1, 6.92820311 : tensor<?x48xf32>
    %3 = transformer.positions %arg1
    %4 = transformer.gather @positions[%3] : tensor<?x48xf32>
    %5 = transformer.add %2, %4 : tensor<?x48xf32>, tensor<?x48xf32>
    %6 = transformer.linear %5, @decoder.layers.0.self_attention.key.weight, @decoder.layers.0.self_attention.key.bias : tensor<?x48xf32> -> tensor<?x48xf32>
    %7 = transformer.append %arg3, %6 in(%arg1) : !transformer.cache<48>
    %8 = transformer.cached %7 in(%0) : !transformer.cache<48> -> tensor<?x48xf32>
    %9 = transformer.linear %5, @decoder.layers.0.self_attention.value.weight, @decoder.layers.0.self_attention.value.bias : tensor<?x48xf32> -> tensor<?x48xf32>
    %10 = transformer.append %arg4, %9 in(%arg1) : !transformer.cache<48>
    %11 = transformer.cached %10 in(%0) : !transformer.cache<48> -> tensor<?x48xf32>
    %12 = transformer.linear %5, @decoder.layers.0.self_attention.query.weight, @decoder.layers.0.self_attention.query.bias : tensor<?x48xf32> -> tensor<?x48xf32>
    %13 = transformer.split_heads %12 : tensor<?x48xf32> -> tensor<?x4x12xf32>
    %14 = transformer.split_heads %8 : tensor<?x48xf32> -> tensor<?x4x12xf32>
    %15 = transformer.contract "thd,khd->thk" %13, %14 in(%arg1, %0) : tensor<?x4x12xf32>, tensor<?x4x12xf32> -> tensor<?x4x?xf32>
    %16 = transformer.scale %15, 0.288675129 : tensor<?x4x?xf32>
    %17 = transformer.mask causal in(%arg1, %0)
    %18 = transformer.select %17, %16 {hidden = 0xFF800000 : f32} : tensor<?x4x?xf32>
    %19 = transformer.softmax %18 in(%0) : tensor<?x4x?xf32>
    %20 = transformer.split_heads %11 : tensor<?x48xf32> -> tensor<?x4x12xf32>
    %21 = transformer.contract "thk,khd->thd" %19, %20 in(%arg1, %0) : tensor<?x4x?xf32>, tensor<?x4x12xf32> -> tensor<?x4x12xf32>
    %22 = transformer.merge_heads %21 : tensor<?x4x12xf32> -> tensor<?x48xf32>
    %23 = transformer.linear %22, @decoder.layers.0.self_attention.output.weight, @decoder.layers.0.self_attention.output.bias : tensor<?x48xf32> -> tensor<?x48xf32>
    %24 = transformer.add %23, %5 : tensor<?x48xf32>, tensor<?x48xf32>
    %25 = transformer.layer_norm %24, @decoder.layers.0.self_attention_norm.weight, @decoder.layers.0.self_attention_norm.bias {epsilon = 9.99999997E-7 : f32} : tensor<?x48xf32>
    %26 = transformer.cached %arg5 in(%arg2) : !transformer.cache<48> -> tensor<?x48xf32>
    %27 = transformer.cached %arg6 in(%arg2) : !transformer.cache<48> -> tensor<?x48xf32>
)"));
}

/// Decoder layers in blocks of 1 and 4 for self-attention, and of 3 and 2 for cross-attention.
TEST(TransformerTest, LayersThatShareAttentionOwnWhatTheyUse) {
  const std::string text = program("san");
  const auto names = [&](const std::string &name) { return text.find(name) != std::string::npos; };
  for (int layer = 0; layer < 5; ++layer) {
    const std::string prefix = "decoder.layers." + std::to_string(layer);
    const bool ownsWeights = layer == 0 || layer == 1;
    const bool ownsContext = layer == 0 || layer == 3;
    for (const char *part : {"query", "key", "value", "output"}) {
      const bool isLast = std::string_view(part) == "output";
      const bool ownsSelf = ownsWeights || isLast || std::string_view(part) == "value";
      const std::string self = prefix + ".self_attention." + part;
      const std::string cross = prefix + ".cross_attention." + part;
      EXPECT_EQ(names("@" + self + ".weight"), ownsSelf) << self;
      EXPECT_EQ(names("@" + cross + ".weight"), ownsContext || isLast) << cross;
      const bool isCached = std::string_view(part) == "key" || std::string_view(part) == "value";
      EXPECT_EQ(names("transformer.name = \"" + self + "\""), ownsSelf && isCached) << self;
      EXPECT_EQ(names("transformer.name = \"" + cross + "\""), ownsContext && isCached) << cross;
    }
  }
}

TEST(TransformerTest, AveragesKeepASum) {
  const std::string text = program("san-average");
  EXPECT_TRUE(contains(text, R"(
  transformer.parameter @decoder.layers.0.self_attention.gate.weight : tensor<96x96xf32> from "decoder.layers.0.self_attention.gate.weight"
  transformer.parameter @decoder.layers.0.self_attention.gate.bias : tensor<96xf32> from "decoder.layers.0.self_attention.gate.bias"
  transformer.parameter @decoder.layers.0.self_attention.gate.input.weight : tensor<48x96xf32> = rows(@decoder.layers.0.self_attention.gate.weight, 0)
  transformer.parameter @decoder.layers.0.self_attention.gate.input.own.weight : tensor<48x48xf32> = columns(@decoder.layers.0.self_attention.gate.input.weight, 0)
  transformer.parameter @decoder.layers.0.self_attention.gate.input.mean.weight : tensor<48x48xf32> = columns(@decoder.layers.0.self_attention.gate.input.weight, 48)
  transformer.parameter @decoder.layers.0.self_attention.gate.input.bias : tensor<48xf32> = rows(@decoder.layers.0.self_attention.gate.bias, 0)
)"));
  EXPECT_TRUE(contains(text, R"(
    %4 = transformer.add %1, %3 : tensor<?x48xf32>, tensor<?x48xf32>
    %5 = transformer.prefix_mean %4, %arg3 in(%arg1) : !transformer.state<48>
    %6 = transformer.accumulate %arg3, %4 in(%arg1) : !transformer.state<48>
    %7 = transformer.linear %4, @decoder.layers.0.self_attention.gate.input.own.weight, @decoder.layers.0.self_attention.gate.input.bias : tensor<?x48xf32> -> tensor<?x48xf32>
    %8 = transformer.linear %5, @decoder.layers.0.self_attention.gate.input.mean.weight : tensor<?x48xf32> -> tensor<?x48xf32>
    %9 = transformer.add %7, %8 : tensor<?x48xf32>, tensor<?x48xf32>
    %10 = transformer.activate sigmoid %9 : tensor<?x48xf32>
)"));
  EXPECT_TRUE(contains(text, R"(
    %15 = transformer.multiply %10, %4 : tensor<?x48xf32>
    %16 = transformer.multiply %14, %5 : tensor<?x48xf32>
    %17 = transformer.add %15, %16 : tensor<?x48xf32>, tensor<?x48xf32>
    %18 = transformer.add %17, %4 : tensor<?x48xf32>, tensor<?x48xf32>
)"));
  EXPECT_TRUE(contains(text, "!transformer.state<48> {transformer.name = "
                             "\"decoder.layers.2.self_attention.sum\"}"));
  EXPECT_FALSE(text.find("transformer.history") != std::string::npos);
}

TEST(TransformerTest, NormsBeforeSubLayersAndAfterStacks) {
  const std::string text = program("transformer-pre");
  EXPECT_TRUE(contains(text, "transformer.layer_norm %4, "
                             "@encoder.layers.0.self_attention_norm.weight"));
  EXPECT_TRUE(contains(text, "@encoder.positions.weight : tensor<64x48xf32> from"));
  EXPECT_TRUE(contains(text, "@encoder.norm.weight, @encoder.norm.bias"));
  EXPECT_TRUE(contains(text, "@decoder.norm.weight, @decoder.norm.bias"));
  EXPECT_TRUE(contains(text, ", @output.weight : tensor<?x48xf32> -> tensor<?x61xf32>"));
}

// Equations 3 and 4 of "Weighted Transformer network": there is no common W^O and no common
// feed-forward layer.
TEST(TransformerTest, BranchesAreSummed) {
  const std::string text = program("weighted");
  EXPECT_TRUE(
      contains(text,
               R"(    %25 = transformer.columns %15 from 12 : tensor<?x48xf32> -> tensor<?x12xf32>
)"));
  for (const char *part :
       {"@encoder.layers.0.branched.kappa : tensor<4xf32> from",
        "@encoder.layers.0.branched.branches.1.kappa : tensor<1xf32> = "
        "rows(@encoder.layers.0.branched.kappa, 1)",
        "@encoder.layers.0.branched.branches.1.inner.weight : tensor<24x48xf32> from",
        "@decoder.layers.2.branched.branches.3.outer.weight : tensor<48x24xf32> from",
        "@decoder.layers.2.self_attention.output.weight"}) {
    EXPECT_TRUE(contains(text, part));
  }
  for (const char *part : {"cross_attention.output", ".ffn.", "encoder.layers.0.self_attention"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
}

TEST(TransformerTest, BranchesMayShareOneFeedForwardLayer) {
  const std::string text = program("weighted-shared-ffn");
  EXPECT_TRUE(contains(text, "@encoder.layers.0.branched.ffn.inner.weight : tensor<96x48xf32>"));
  EXPECT_EQ(text.find("branches.0.inner"), std::string::npos);
}

TEST(TransformerTest, GenerationFollowsThePaper) {
  EXPECT_TRUE(contains(
      program("transformer-post"),
      "transformer.generation = {context_length = 0 : i32, early_stopping = false, end = "
      "array<i32: 2>, forced_first = -1 : "
      "i32, forced_last = -1 : i32, length_penalty = 1.000000e+00 : f32, max_length = 0 : i32, "
      "min_length = 0 : i32, min_p = 0.000000e+00 : f32, never_stop_early = false, no_repeat_ngram "
      "= 0 : i32, num_beams = 1 : "
      "i32, pad = 0 : i32, repetition_penalty = "
      "1.000000e+00 : f32, rules = \"paper\", sample = false, start = array<i32: 1>, suppressed = "
      "array<i32>, temperature = 1.000000e+00 : f32, top_k = 0 : i32, top_p = 1.000000e+00 : "
      "f32}"));
}

TEST(TransformerTest, EntriesHaveTheirNames) {
  const std::string text = program("transformer-post");
  EXPECT_TRUE(contains(text, "func.func @encode(%arg0: tensor<?xi32> {transformer.name = "
                             "\"source\"}, %arg1: !transformer.segments, %arg2: "
                             "!transformer.cache<48> {transformer.name = "
                             "\"decoder.layers.0.cross_attention.key\"}"));
  EXPECT_TRUE(contains(text, "-> (tensor<?x48xf32> {transformer.name = \"encoder\"}, "
                             "!transformer.cache<48> {transformer.name = "
                             "\"decoder.layers.0.cross_attention.key\"}"));
  EXPECT_TRUE(contains(text, "func.func @decode(%arg0: tensor<?xi32> {transformer.name = "
                             "\"target\"}, %arg1: !transformer.segments, %arg2: "
                             "!transformer.segments {transformer.name = \"memory\"}, %arg3: "
                             "!transformer.cache<48> {transformer.name = "
                             "\"decoder.layers.0.self_attention.key\"}"));
  EXPECT_TRUE(contains(text, "-> (tensor<?x61xf32> {transformer.name = \"logits\"}, "
                             "tensor<?x4x?xf32> {transformer.name = \"attention\"}, "
                             "!transformer.cache<48> {transformer.name = "
                             "\"decoder.layers.0.self_attention.key\"}"));
}

} // namespace heddle
