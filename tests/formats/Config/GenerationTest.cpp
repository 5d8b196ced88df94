// SPDX-License-Identifier: Apache-2.0
///
/// Reads generation settings from one file or two.
#include "formats/Config/Generation.h"

#include "formats/Config/Config.h"

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
  EXPECT_EQ(settings.pad, -1);
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
  EXPECT_EQ(settings.maxLength, 511);
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
  EXPECT_EQ(settings.maxLength, 19);
}

TEST(GenerationTest, LengthsAreCountedWithoutTheStart) {
  const auto lengths = [](const char *generation) {
    const Generation settings = *read(R"({"decoder_start_token_id": 1})", generation);
    return std::pair(settings.minLength, settings.maxLength);
  };
  EXPECT_EQ(lengths(R"({"max_length": 2, "min_length": 0})"), std::pair(0, 1));
  EXPECT_EQ(lengths(R"({"max_length": 1, "min_length": 1})"), std::pair(0, 1));
  EXPECT_EQ(lengths(R"({"max_length": 10, "min_length": 5})"), std::pair(4, 9));
  EXPECT_EQ(lengths(R"({"max_length": 10, "max_new_tokens": 7})"), std::pair(0, 7));
  EXPECT_EQ(lengths(R"({"min_length": 9, "min_new_tokens": 3})"), std::pair(3, 0));
}

TEST(GenerationTest, StoppingHasThreeWays) {
  const Generation never = *read(R"({"bos_token_id": 1})", R"({"early_stopping": "never"})");
  EXPECT_TRUE(never.neverStopEarly);
  EXPECT_FALSE(never.earlyStopping);
  EXPECT_FALSE(read(R"({"bos_token_id": 1, "early_stopping": true})")->neverStopEarly);
}

TEST(GenerationTest, NotesWhatIsNotTakenOver) {
  const Config config = *Config::parse(R"({"top_k": 50, "temperature": 1.0, "do_sample": false,
                                           "stop_strings": null, "num_beam_groups": 1})",
                                       "config.json");
  EXPECT_TRUE(generationNotes(config, std::nullopt, false).empty());
  const Config generation =
      *Config::parse(R"({"do_sample": false, "top_k": 5, "temperature": 0.5, "top_p": "x",
                         "renormalize_logits": 1, "begin_suppress_tokens": [1]})",
                     "generation_config.json");
  EXPECT_EQ(
      generationNotes(config, generation, false),
      (std::vector<std::string>{
          "generation_config.json: \"renormalize_logits\" is neither true nor false, which "
          "is ignored",
          "generation_config.json: \"temperature\" is 0.5, which is ignored: \"do_sample\" is "
          "not true",
          "generation_config.json: \"top_k\" is 5, which is ignored: \"do_sample\" is not true",
          "generation_config.json: \"top_p\" is not a number, which is ignored: "
          "\"do_sample\" is not true",
          "generation_config.json: \"begin_suppress_tokens\" is set, which is ignored"}));
  const Config sampling =
      *Config::parse(R"({"do_sample": true, "num_beams": 4, "top_k": 5})", "own");
  EXPECT_EQ(generationNotes(config, sampling, true),
            (std::vector<std::string>{"own: \"num_beams\" is 4, which is ignored: \"do_sample\" is "
                                      "true, and samples have no beams"}));
}

TEST(GenerationTest, AContinuationHasTheContextOfItsPositions) {
  const auto of = [](std::string_view text) {
    return readContinuation(*Config::parse(text, "config.json"), std::nullopt, 100);
  };
  EXPECT_EQ(of(R"({"max_position_embeddings": 4096})")->contextLength, 4096);
  EXPECT_EQ(of("{}")->contextLength, 0);
  EXPECT_EQ(of(R"({"max_position_embeddings": 0})")->contextLength, 0);
  EXPECT_EQ(of(R"({"max_position_embeddings": "long"})")->contextLength, 0);
}

/// As in Transformers: the sampling parameters apply only with "do_sample", and top-k defaults to
/// 50.
TEST(GenerationTest, SamplingIsReadWhereItIsDone) {
  const Config none = *Config::parse("{}", "config.json");
  const auto of = [&](std::string_view text) {
    return readContinuation(none, *Config::parse(text, "own"), 100);
  };
  const Generation all = *of(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.9,
                                 "min_p": 0.05, "repetition_penalty": 1.1})");
  EXPECT_TRUE(all.sample);
  EXPECT_EQ(all.temperature, 0.6);
  EXPECT_EQ(all.topK, 20);
  EXPECT_EQ(all.topP, 0.9);
  EXPECT_EQ(all.minP, 0.05);
  EXPECT_EQ(all.repetitionPenalty, 1.1);
  const Generation usual = *of(R"({"do_sample": true, "temperature": null})");
  EXPECT_TRUE(usual.sample);
  EXPECT_EQ(usual.temperature, 1);
  EXPECT_EQ(usual.topK, 50);
  EXPECT_EQ(usual.topP, 1);
  EXPECT_EQ(usual.minP, 0);
  EXPECT_EQ(of(R"({"do_sample": true, "top_k": 0})")->topK, 0);
  for (const char *greedy : {R"({"temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0.05})",
                             R"({"do_sample": false, "temperature": 0.0, "top_k": -1})"}) {
    const Generation read = *of(greedy);
    EXPECT_FALSE(read.sample);
    EXPECT_EQ(read.temperature, 1);
    EXPECT_EQ(read.topK, 0);
    EXPECT_EQ(read.topP, 1);
    EXPECT_EQ(read.minP, 0);
  }
  // Encoder-decoder models are read in the same way.
  EXPECT_EQ(read(R"({"bos_token_id": 1, "do_sample": true, "top_k": 7})")->topK, 7);
  EXPECT_EQ(messageOf(of(R"({"do_sample": 1})")),
            "own: \"do_sample\" is 1, expected true or false");
  EXPECT_EQ(messageOf(of(R"({"do_sample": true, "temperature": 0})")),
            "own: \"temperature\" is 0, expected a number from 1e-06 to 1000000");
  EXPECT_EQ(messageOf(of(R"({"do_sample": true, "top_k": -1})")),
            "own: \"top_k\" is -1, expected an integer from 0 to 16777216");
  EXPECT_EQ(messageOf(of(R"({"do_sample": true, "top_p": 1.5})")),
            "own: \"top_p\" is 1.5, expected a number from 1e-06 to 1");
  EXPECT_EQ(messageOf(of(R"({"do_sample": true, "min_p": -0.5})")),
            "own: \"min_p\" is -0.5, expected a number from 0 to 1");
}

TEST(GenerationTest, ContinuationsHaveNoStartAndCountNewTokens) {
  const Config config = *Config::parse(R"({"eos_token_id": [7, 5], "max_length": 40})", "config");
  const Config own =
      *Config::parse(R"({"max_new_tokens": 9, "min_new_tokens": 2, "min_length": 4})", "own");
  const Generation settings = *readContinuation(config, own, 100);
  EXPECT_TRUE(settings.start.empty());
  EXPECT_EQ(settings.end, (std::vector<int32_t>{7, 5}));
  EXPECT_EQ(settings.rules, "transformers");
  EXPECT_EQ(settings.maxLength, 9);
  EXPECT_EQ(settings.minLength, 2);
  EXPECT_TRUE(readContinuation(*Config::parse("{}", "config"), std::nullopt, 100)->end.empty());
  EXPECT_EQ(generationNotes(config, own, true),
            (std::vector<std::string>{
                "config: \"max_length\" is 40, which is ignored: it counts the text that is "
                "continued, expected \"max_new_tokens\"",
                "own: \"min_length\" is 4, which is ignored: it counts the text that is "
                "continued, expected \"min_new_tokens\""}));
  EXPECT_TRUE(generationNotes(config, own, false).empty());
}

TEST(GenerationTest, WhatIsRefused) {
  EXPECT_EQ(messageOf(read("{}")), "config.json: \"decoder_start_token_id\" and \"bos_token_id\" "
                                   "are missing, expected one of them");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 100})")),
            "config.json: \"bos_token_id\" is 100, expected an integer from 0 to 99");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1, "bad_words_ids": [[1, 2]]})")),
            "config.json: an item of \"bad_words_ids\" has 2 tokens, expected 1");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1})", R"({"early_stopping": "often"})")),
            "generation_config.json: \"early_stopping\" is neither true nor false nor \"never\"");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1})", R"({"repetition_penalty": 0})")),
            "generation_config.json: \"repetition_penalty\" is 0, expected a number from 1e-06 to "
            "1000000");
  EXPECT_EQ(messageOf(read(R"({"bos_token_id": 1})", R"({"num_beams": 1025})")),
            "generation_config.json: \"num_beams\" is 1025, expected an integer from 1 to 1024");
}

} // namespace
} // namespace heddle
