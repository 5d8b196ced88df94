// SPDX-License-Identifier: Apache-2.0
///
/// The programs of the BERT family, from the committed tiny checkpoints.
#include "tests/frontend/Families/FamilyProgram.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

namespace heddle {

static size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(BertTest, EmbeddingsAndTheFirstLayer) {
  // As in figure 2 and equation 1 of the BERT paper.
  EXPECT_TRUE(contains(
      program("bert-tiny"),
      R"(    %0 = transformer.gather @embeddings.word_embeddings.weight[%arg0] : tensor<?x72xf32>
    %1 = transformer.gather @embeddings.token_type_embeddings.weight[%arg1] : tensor<?x72xf32>
    %2 = transformer.add %0, %1 : tensor<?x72xf32>, tensor<?x72xf32>
    %3 = transformer.positions %arg2
    %4 = transformer.gather @embeddings.position_embeddings.weight[%3] : tensor<?x72xf32>
    %5 = transformer.add %2, %4 : tensor<?x72xf32>, tensor<?x72xf32>
    %6 = transformer.layer_norm %5, @embeddings.LayerNorm.weight, @embeddings.LayerNorm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x72xf32>
    %7 = transformer.linear %6, @encoder.layer.0.attention.self.query.weight, @encoder.layer.0.attention.self.query.bias : tensor<?x72xf32> -> tensor<?x72xf32>
    %8 = transformer.linear %6, @encoder.layer.0.attention.self.key.weight, @encoder.layer.0.attention.self.key.bias : tensor<?x72xf32> -> tensor<?x72xf32>
    %9 = transformer.linear %6, @encoder.layer.0.attention.self.value.weight, @encoder.layer.0.attention.self.value.bias : tensor<?x72xf32> -> tensor<?x72xf32>
    %10 = transformer.split_heads %7 : tensor<?x72xf32> -> tensor<?x3x24xf32>
    %11 = transformer.split_heads %8 : tensor<?x72xf32> -> tensor<?x3x24xf32>
    %12 = transformer.contract "thd,khd->thk" %10, %11 in(%arg2, %arg2) : tensor<?x3x24xf32>, tensor<?x3x24xf32> -> tensor<?x3x?xf32>
    %13 = transformer.scale %12, 0.204124153 : tensor<?x3x?xf32>
    %14 = transformer.softmax %13 in(%arg2) : tensor<?x3x?xf32>
    %15 = transformer.split_heads %9 : tensor<?x72xf32> -> tensor<?x3x24xf32>
    %16 = transformer.contract "thk,khd->thd" %14, %15 in(%arg2, %arg2) : tensor<?x3x?xf32>, tensor<?x3x24xf32> -> tensor<?x3x24xf32>
    %17 = transformer.merge_heads %16 : tensor<?x3x24xf32> -> tensor<?x72xf32>
    %18 = transformer.linear %17, @encoder.layer.0.attention.output.dense.weight, @encoder.layer.0.attention.output.dense.bias : tensor<?x72xf32> -> tensor<?x72xf32>
    %19 = transformer.add %18, %6 : tensor<?x72xf32>, tensor<?x72xf32>
    %20 = transformer.layer_norm %19, @encoder.layer.0.attention.output.LayerNorm.weight, @encoder.layer.0.attention.output.LayerNorm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x72xf32>
    %21 = transformer.linear %20, @encoder.layer.0.intermediate.dense.weight, @encoder.layer.0.intermediate.dense.bias : tensor<?x72xf32> -> tensor<?x100xf32>
    %22 = transformer.activate gelu %21 : tensor<?x100xf32>
    %23 = transformer.linear %22, @encoder.layer.0.output.dense.weight, @encoder.layer.0.output.dense.bias : tensor<?x100xf32> -> tensor<?x72xf32>
    %24 = transformer.add %23, %20 : tensor<?x72xf32>, tensor<?x72xf32>
    %25 = transformer.layer_norm %24, @encoder.layer.0.output.LayerNorm.weight, @encoder.layer.0.output.LayerNorm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x72xf32>
)"));
}

TEST(BertTest, EveryOperationNamesItsPlaceInTheCheckpoint) {
  const std::string text = program("bert-tiny", true);
  for (const char *name : {
           "loc(\"embeddings.word_embeddings\")",
           "loc(\"embeddings.LayerNorm\")",
           "loc(\"encoder.layer.2.attention.self.query\")",
           "loc(\"encoder.layer.2.attention.self\")",
           "loc(\"encoder.layer.2.attention.output.dense\")",
           "loc(\"encoder.layer.2.output.LayerNorm\")",
           "loc(\"pooler.dense\")",
           "transformer.softmax %13 in(%arg2) : tensor<?x3x?xf32> "
           "loc(\"encoder.layer.0.attention.self\")",
           "transformer.activate gelu %21 : tensor<?x100xf32> "
           "loc(\"encoder.layer.0.intermediate.dense\")",
       }) {
    EXPECT_TRUE(contains(text, name));
  }
  EXPECT_EQ(text.find("loc(unknown)"), std::string::npos);
}

TEST(BertTest, EntriesHaveTheirNames) {
  const std::string text = program("bert-tiny");
  EXPECT_TRUE(contains(
      text, "func.func @encode(%arg0: tensor<?xi32> {transformer.name = \"input_ids\"}, %arg1: "
            "tensor<?xi32> {transformer.name = \"token_type_ids\", transformer.optional}, %arg2: "
            "!transformer.segments) -> (tensor<?x72xf32> {transformer.name = "
            "\"last_hidden_state\"}, tensor<?x72xf32> {transformer.name = \"pooler_output\"})"));
  EXPECT_TRUE(contains(text, "-> (tensor<?x72xf32> {transformer.name = \"embedding\"})"));
  EXPECT_TRUE(contains(text, "transformer.pool cls "));
  EXPECT_TRUE(contains(text, "transformer.activate tanh "));
  EXPECT_TRUE(contains(text, "transformer.model_type = \"bert\""));
  // Two entries, three layers.
  EXPECT_EQ(count(text, "transformer.softmax"), 6u);
  EXPECT_EQ(count(text, "transformer.parameter"), 55u);
}

TEST(BertTest, PoolsAsTheSentenceEncoderSays) {
  EXPECT_TRUE(contains(program("bert-tiny"), "transformer.pool mean "));
  EXPECT_EQ(program("bert-tiny").find("transformer.normalize"), std::string::npos);
  SentenceTransformers sentence;
  sentence.pooling = Pooling::Max;
  sentence.modules = {SentenceModule()};
  const std::string text = program("bert-tiny", false, sentence);
  EXPECT_TRUE(contains(text, "transformer.pool max "));
  EXPECT_TRUE(contains(text, "transformer.normalize "));
  sentence.pooling = Pooling::Cls;
  EXPECT_EQ(count(program("bert-tiny", false, sentence), "transformer.pool cls "), 2u);
}

TEST(BertTest, ModulesFollowThePoolingInTheirOrder) {
  SentenceTransformers sentence;
  SentenceModule dense;
  dense.kind = SentenceModule::Kind::Dense;
  dense.name = "2_Dense";
  dense.inputs = 72;
  dense.outputs = 31;
  dense.activation = "silu";
  sentence.modules = {dense, SentenceModule()};
  const std::string text = program("bert-tiny", false, sentence);
  EXPECT_TRUE(contains(text, "-> (tensor<?x31xf32> {transformer.name = \"embedding\"})"));
  EXPECT_TRUE(contains(text, "2_Dense.linear.weight"));
  const size_t silu = text.find("transformer.activate silu ");
  EXPECT_LT(silu, text.find("transformer.normalize "));
}

TEST(BertTest, ModernBertHasWindowsBetweenGlobalLayers) {
  const std::string text = program("modernbert-tiny");
  // Four layers in two entries; layers 1 and 2 attend to three rows on each side.
  EXPECT_EQ(count(text, "transformer.softmax"), 8u);
  EXPECT_EQ(count(text, "transformer.mask from i - 3 to i + 4"), 4u);
  EXPECT_EQ(text.find("layers.0.attn_norm"), std::string::npos);
  EXPECT_TRUE(contains(text, "@layers.1.attn_norm.weight"));
  EXPECT_TRUE(contains(text, "transformer.model_type = \"modernbert\""));
}

// For null, Transformers uses the base of the global layers.
TEST(BertTest, ModernBertTakesOneBaseForNull) {
  const auto withLocal = [](const nlohmann::json &base) {
    return program("modernbert-tiny", false, std::nullopt,
                   [&](nlohmann::json &config) { config["local_rope_theta"] = base; });
  };
  const std::string text = withLocal(nullptr);
  EXPECT_EQ(text, withLocal(5000.0));
  EXPECT_NE(text, program("modernbert-tiny"));
}

TEST(BertTest, DistilBertHasNeitherTypesNorPooler) {
  const std::string text = program("distilbert-tiny");
  EXPECT_TRUE(contains(text, "func.func @encode(%arg0: tensor<?xi32> {transformer.name = "
                             "\"input_ids\"}, %arg1: !transformer.segments) -> (tensor<?x54xf32> "
                             "{transformer.name = \"last_hidden_state\"})"));
  EXPECT_TRUE(contains(text, "@transformer.layer.1.attention.out_lin.weight"));
  EXPECT_TRUE(contains(text, "tensor<?x3x18xf32>"));
  EXPECT_EQ(text.find("token_type"), std::string::npos);
  EXPECT_EQ(count(text, "transformer.parameter"), 36u);
}

TEST(BertTest, RobertaCountsPositionsFromAfterThePadding) {
  const std::string text = program("roberta-tiny");
  EXPECT_TRUE(contains(text, "transformer.positions %arg2 {offset = 2 : i64}"));
  EXPECT_TRUE(contains(text, "transformer.activate gelu_new "));
  EXPECT_TRUE(contains(text, "{epsilon = 9.99999974E-6 : f32}"));
  EXPECT_TRUE(contains(text, "transformer.model_type = \"roberta\""));
}

TEST(BertTest, AlbertSharesLayers) {
  const std::string text = program("albert-tiny");
  // Five layers of two layers each, in two groups and two entries, with the parameters of four
  // layers.
  EXPECT_EQ(count(text, "transformer.softmax"), 20u);
  EXPECT_EQ(count(text, "transformer.parameter @encoder.albert_layer_groups"), 64u);
  EXPECT_TRUE(contains(text, "@encoder.embedding_hidden_mapping_in.weight"));
  EXPECT_TRUE(contains(text, "transformer.activate gelu_new "));
}

TEST(BertTest, MpNetAddsBiasesOfDistances) {
  const std::string text = program("mpnet-tiny");
  EXPECT_EQ(count(text, "transformer.relative_bias"), 2u);
  EXPECT_TRUE(contains(text, "@encoder.relative_attention_bias.weight"));
  EXPECT_TRUE(contains(text, "transformer.positions %arg1 {offset = 2 : i64}"));
}

TEST(BertTest, ClassifiersHaveAnEntry) {
  const std::string tags = program("bert-tags");
  EXPECT_TRUE(contains(tags, "func.func @classify("));
  EXPECT_TRUE(contains(tags, "-> (tensor<?x5xf32> {transformer.name = \"logits\"})"));
  EXPECT_TRUE(contains(tags, "problem = \"single_label\""));
  EXPECT_TRUE(contains(tags, "@classifier.weight"));
  const std::string labels = program("distilbert-labels");
  EXPECT_TRUE(contains(labels, "transformer.activate relu "));
  EXPECT_TRUE(contains(labels, "labels = [\"LABEL_0\", \"LABEL_1\", \"LABEL_2\"], problem = "
                               "\"multi_label\""));
  const std::string xlm = program("xlm-roberta-labels");
  EXPECT_TRUE(contains(xlm, "transformer.model_type = \"xlm-roberta\""));
  EXPECT_TRUE(contains(xlm, "@classifier.out_proj.weight"));
}

} // namespace heddle
