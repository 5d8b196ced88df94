// SPDX-License-Identifier: Apache-2.0
///
/// The program of GPT-2, from the committed tiny checkpoint.
#include "tests/frontend/Families/FamilyProgram.h"

namespace heddle {

TEST(Gpt2Test, OneEntryContinuesWhatItIsGiven) {
  const std::string text = program("gpt2-tiny");
  EXPECT_EQ(text.find("@encode"), std::string::npos);
  EXPECT_TRUE(contains(text, "func.func @decode"));
  EXPECT_TRUE(contains(text, "end = array<i32: 106>"));
  EXPECT_TRUE(contains(text, "start = array<i32>"));
}

TEST(Gpt2Test, MatricesAreStoredByInputs) {
  EXPECT_TRUE(contains(program("gpt2-tiny"),
                       "@transformer.h.0.mlp.c_fc.weight.transposed : tensor<208x52xf32> = "
                       "transpose(@transformer.h.0.mlp.c_fc.weight)"));
}

TEST(Gpt2Test, QueriesKeysAndValuesAreOneProduct) {
  const std::string text = program("gpt2-tiny");
  EXPECT_TRUE(contains(text, "transformer.name = \"transformer.h.2.attn.key\""));
  EXPECT_TRUE(
      contains(text, "transformer.columns %6 from 104 : tensor<?x156xf32> -> tensor<?x52xf32>"));
  EXPECT_TRUE(contains(text, ", 0.277350098 : tensor<?x4x?xf32>"));
}

TEST(Gpt2Test, TheOutputIsTheTableOfTheEmbeddings) {
  EXPECT_TRUE(contains(program("gpt2-tiny"), "@transformer.wte.weight : tensor<?x52xf32> -> "
                                             "tensor<?x107xf32>"));
}

} // namespace heddle
