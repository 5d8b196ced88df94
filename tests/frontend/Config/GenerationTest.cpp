// SPDX-License-Identifier: Apache-2.0
///
/// Settings of generation from one file or two.
#include "frontend/Config/Generation.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

Result<Generation> read(const char *config, const char *generation = nullptr) {
  std::optional<Config> second;
  if (generation != nullptr) {
    second = *Config::parse(generation, "generation_config.json");
  }
  return readGeneration(*Config::parse(config, "config.json"), second, 100);
}

std::string messageOf(const Result<Generation> &result) {
  return std::string(result.status().message());
}

TEST(GenerationTest, AbsentKeysHaveTheDefaultsOfTransformers) {
  const Generation settings = *read(R"({"bos_token_id": 3})");
  EXPECT_EQ(settings.start, std::vector<int32_t>({3}));
  EXPECT_TRUE(settings.end.empty());
  EXPECT_EQ(settings.pad, 0);
  EXPECT_EQ(settings.forcedFirst, -1);
  EXPECT_EQ(settings.forcedLast, -1);
  EXPECT_TRUE(settings.suppressed.empty());
  EXPECT_EQ(settings.rules, "transformers");
  EXPECT_EQ(settings.maxLength, 0);
  EXPECT_EQ(settings.beams, 1);
  EXPECT_EQ(settings.lengthPenalty, 1);
  EXPECT_FALSE(settings.earlyStopping);
  EXPECT_EQ(settings.noRepeatNgram, 0);
  EXPECT_EQ(settings.repetitionPenalty, 1);
}

TEST(GenerationTest, EveryKey) {
  const Generation settings =
      *read(R"({"decoder_start_token_id": 1, "bos_token_id": 3, "eos_token_id": [2, 4],
                "pad_token_id": 5, "forced_bos_token_id": 6, "forced_eos_token_id": 7,
                "bad_words_ids": [[9], [8]], "suppress_tokens": [8, 1], "max_length": 512,
                "num_beams": 6, "length_penalty": 0.5, "early_stopping": true,
                "no_repeat_ngram_size": 3, "repetition_penalty": 1.5})");
  EXPECT_EQ(settings.start, std::vector<int32_t>({1}));
  EXPECT_EQ(settings.end, std::vector<int32_t>({2, 4}));
  EXPECT_EQ(settings.pad, 5);
  EXPECT_EQ(settings.forcedFirst, 6);
  EXPECT_EQ(settings.forcedLast, 7);
  EXPECT_EQ(settings.suppressed, std::vector<int32_t>({1, 8, 9}));
  EXPECT_EQ(settings.maxLength, 512);
  EXPECT_EQ(settings.beams, 6);
  EXPECT_EQ(settings.lengthPenalty, 0.5);
  EXPECT_TRUE(settings.earlyStopping);
  EXPECT_EQ(settings.noRepeatNgram, 3);
  EXPECT_EQ(settings.repetitionPenalty, 1.5);
}

TEST(GenerationTest, TheSecondFileCounts) {
  const Generation settings =
      *read(R"({"decoder_start_token_id": 1, "num_beams": 6, "eos_token_id": 2})",
            R"({"decoder_start_token_id": 9, "num_beams": null, "max_length": 20})");
  EXPECT_EQ(settings.start, std::vector<int32_t>({9}));
  EXPECT_EQ(settings.end, std::vector<int32_t>({2}));
  EXPECT_EQ(settings.beams, 6);
  EXPECT_EQ(settings.maxLength, 20);
}

TEST(GenerationTest, WhatIsRefused) {
  EXPECT_EQ(messageOf(read("{}")), "config.json: \"decoder_start_token_id\" and \"bos_token_id\" "
                                   "are missing, expected one of them");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 100})")),
            "config.json: \"bos_token_id\" is 100, expected an integer from 0 to 99");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1, "bad_words_ids": [[1, 2]]})")),
            "config.json: an item of \"bad_words_ids\" has 2 tokens, expected 1");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1})", R"({"early_stopping": "never"})")),
            "generation_config.json: \"early_stopping\" is neither true nor false, expected one of "
            "them");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1})", R"({"repetition_penalty": 0})")),
            "generation_config.json: \"repetition_penalty\" is 0, expected a number from 1e-06 to "
            "1000000");
}

} // namespace
} // namespace heddle
