// SPDX-License-Identifier: Apache-2.0
///
/// The program of T5, from the committed tiny checkpoint.
#include "tests/frontend/Families/FamilyProgram.h"

namespace heddle {

TEST(T5Test, AllLayersShareTheBiasOfTheFirst) {
  const std::string text = program("t5-tiny");
  EXPECT_TRUE(contains(text, "SelfAttention.relative_attention_bias.distances : tensor<4x41xf32> = "
                             "relative_buckets(@encoder.block.0.layer.0.SelfAttention."
                             "relative_attention_bias.weight, 1, 20)"));
  EXPECT_TRUE(contains(text, "relative_buckets(@decoder.block.0.layer.0.SelfAttention."
                             "relative_attention_bias.weight, 0, 20)"));
  size_t biases = 0;
  for (size_t at = text.find("= transformer.relative_bias"); at != std::string::npos;
       at = text.find("= transformer.relative_bias", at + 1)) {
    ++biases;
  }
  EXPECT_EQ(biases, 2u);
}

TEST(T5Test, AttentionHasNoScaleAndABias) {
  EXPECT_TRUE(contains(
      program("t5-tiny"),
      R"(transformer.contract "thd,khd->thk" %6, %7 in(%arg1, %arg1) : tensor<?x4x12xf32>, tensor<?x4x12xf32> -> tensor<?x4x?xf32>
    %9 = transformer.add %8, %1 : tensor<?x4x?xf32>, tensor<?x4x?xf32>
    %10 = transformer.softmax %9 in(%arg1) : tensor<?x4x?xf32>
)"));
}

TEST(T5Test, FeedForwardLayersHaveAGate) {
  const std::string text = program("t5-tiny");
  EXPECT_TRUE(contains(text, "transformer.rms_norm"));
  EXPECT_TRUE(contains(text, "transformer.activate gelu_new"));
  EXPECT_TRUE(contains(text, "= transformer.multiply"));
}

TEST(T5Test, TheTiedOutputIsScaled) {
  EXPECT_TRUE(contains(program("t5-tiny"), ", 0.158113882 : tensor<?x40xf32>"));
}

} // namespace heddle
