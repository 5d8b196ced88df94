// SPDX-License-Identifier: Apache-2.0
///
/// The programs of BART and Marian, from the committed tiny checkpoints.
#include "tests/frontend/Families/FamilyProgram.h"

namespace heddle {

TEST(BartTest, PositionsBeginAtTwoAndANormFollows) {
  EXPECT_TRUE(contains(program("bart-tiny"),
                       R"(    %0 = transformer.gather @model.shared.weight[%arg0] : tensor<?x36xf32>
    %1 = transformer.positions %arg1 {offset = 2 : i64}
    %2 = transformer.gather @model.encoder.embed_positions.weight[%1] : tensor<?x36xf32>
    %3 = transformer.add %0, %2 : tensor<?x36xf32>, tensor<?x36xf32>
    %4 = transformer.layer_norm %3, @model.encoder.layernorm_embedding.weight, @model.encoder.layernorm_embedding.bias {epsilon = 9.99999974E-6 : f32} : tensor<?x36xf32>
)"));
}

TEST(BartTest, TheBiasOfLogitsIsAVector) {
  const std::string text = program("bart-tiny");
  EXPECT_TRUE(contains(text, "@final_logits_bias.vector : tensor<103xf32> = "
                             "reshape(@final_logits_bias)"));
  EXPECT_TRUE(contains(text, "@model.shared.weight, @final_logits_bias.vector"));
}

TEST(BartTest, EntriesHaveTheNamesOfHuggingFace) {
  const std::string text = program("bart-tiny");
  for (const char *name : {"input_ids", "encoder_last_hidden_state", "decoder_input_ids", "memory",
                           "logits", "attention", "model.decoder.layers.2.self_attn.v_proj",
                           "model.decoder.layers.2.encoder_attn.k_proj"}) {
    EXPECT_TRUE(contains(text, "transformer.name = \"" + std::string(name) + "\""));
  }
}

TEST(BartTest, GenerationFollowsTransformers) {
  EXPECT_TRUE(contains(program("bart-tiny"), "end = array<i32: 2>, forced_first = -1 : i32, "
                                             "forced_last = 2 : i32"));
  EXPECT_TRUE(contains(program("bart-tiny"),
                       "rules = \"transformers\", sample = false, start = array<i32: 2>"));
}

TEST(MarianTest, PositionsAreSinusoidsInHalvesAtThePaperRates) {
  const std::string text = program("marian-tiny");
  EXPECT_TRUE(contains(text, "@model.positions : tensor<64x48xf32> = sinusoid_split(0, 24)"));
  EXPECT_TRUE(contains(text, "%1 = transformer.scale %0, 6.92820311 : tensor<?x48xf32>"));
  EXPECT_TRUE(contains(text, "transformer.activate silu"));
  EXPECT_EQ(text.find("layernorm_embedding"), std::string::npos);
}

} // namespace heddle
