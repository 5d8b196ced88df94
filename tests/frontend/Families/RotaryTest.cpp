// SPDX-License-Identifier: Apache-2.0
///
/// Frequencies of rotary positions, compared with Transformers 5.23 for heads of 16 columns, in
/// both spellings, and errors.
#include "frontend/Families/Rotary.h"

#include "formats/Config/Config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <vector>

namespace heddle {

static Result<Rotary> read(const std::string &text, const RotarySpelling &spelling = {},
                           int64_t textLength = 0) {
  HEDDLE_ASSIGN(const Config config, Config::parse(text, "config.json"));
  return readRotary(config, 16, textLength, spelling);
}

/// A kind of scaling: its parameters without base and type, and the expected result.
struct Scaling {
  const char *type;
  const char *parameters;
  std::vector<float> frequencies;
  double factor;
  int64_t mostRows;
  int64_t textLength = 0;
  friend void PrintTo(const Scaling &scaling, std::ostream *out) { *out << scaling.type; }
};

static const std::vector<float> plain = {1.0F,
                                         0.4598632752895355F,
                                         0.2114742398262024F,
                                         0.09724924713373184F,
                                         0.04472136124968529F,
                                         0.020565712824463844F,
                                         0.009457415901124477F,
                                         0.004349118564277887F};

static const Scaling scalings[] = {
    {"default", "", plain, 1, 0},
    {"linear",
     R"(, "factor": 4.0)",
     {0.25F, 0.11496581882238388F, 0.0528685599565506F, 0.02431231178343296F, 0.011180340312421322F,
      0.005141428206115961F, 0.0023643539752811193F, 0.0010872796410694718F},
     1,
     0},
    {"dynamic", R"(, "factor": 4.0)", plain, 1, 512},
    {"dynamic", R"(, "factor": 4.0)", plain, 1, 512, 300},
    {"dynamic",
     R"(, "factor": 4.0)",
     {1.0F, 0.32011792063713074F, 0.10247547924518585F, 0.03280423581600189F, 0.010501223616302013F,
      0.003361630020663142F, 0.001076117972843349F, 0.00034448460792191327F},
     1,
     2000,
     2000},
    {"llama3",
     R"(, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64)",
     {1.0F, 0.4598632752895355F, 0.09761662781238556F, 0.01215615589171648F, 0.005590170156210661F,
      0.0025707141030579805F, 0.0011821769876405597F, 0.0005436398205347359F},
     1,
     0},
    {"yarn",
     R"(, "factor": 4.0, "original_max_position_embeddings": 128, "beta_fast": 8.0)",
     {1.0F, 0.4598632752895355F, 0.1586056798696518F, 0.04862462356686592F, 0.011180340312421322F,
      0.005141428206115961F, 0.0023643539752811193F, 0.0010872796410694718F},
     1.138629436111989,
     0},
    {"yarn",
     R"(, "factor": 4.0, "original_max_position_embeddings": 128, "beta_fast": 8.0,
        "truncate": false, "mscale": 0.7, "mscale_all_dim": 0.3)",
     {1.0F, 0.4598632752895355F, 0.1642656773328781F, 0.04829239100217819F, 0.011180340312421322F,
      0.005141428206115961F, 0.0023643539752811193F, 0.0010872796410694718F},
     1.0532376815143234,
     0},
    {"longrope",
     R"(, "original_max_position_embeddings": 128,
        "short_factor": [1.0, 1.1, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0],
        "long_factor": [2, 2, 2, 2, 2, 2, 2, 2])",
     {1.0F, 0.41805750131607056F, 0.17622853815555573F, 0.06483282893896103F, 0.022360680624842644F,
      0.008226284757256508F, 0.0031524719670414925F, 0.0010872796410694718F},
     1.1338934190276817,
     128},
    {"longrope",
     R"(, "original_max_position_embeddings": 128,
        "short_factor": [1.0, 1.1, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0],
        "long_factor": [1, 1, 1, 1, 1, 1, 1, 1])",
     plain, 1.1338934190276817, 129, 129},
    {"longrope",
     R"(, "original_max_position_embeddings": 128,
        "short_factor": [1, 1, 1, 1, 1, 1, 1, 1],
        "long_factor": [2, 2, 2, 2, 2, 2, 2, 2])",
     plain, 1.1338934190276817, 128, 128},
};

class RotaryScaling : public testing::TestWithParam<Scaling> {
protected:
  static void expectRotary(const Result<Rotary> &found) {
    ASSERT_TRUE(found.ok()) << found.status().message();
    const Scaling &scaling = GetParam();
    ASSERT_EQ(found->frequencies.size(), scaling.frequencies.size());
    for (size_t i = 0; i < scaling.frequencies.size(); ++i) {
      EXPECT_NEAR(found->frequencies[i], scaling.frequencies[i], 3e-7F * scaling.frequencies[i])
          << i;
    }
    EXPECT_NEAR(found->factor, scaling.factor, 1e-12);
    EXPECT_EQ(found->mostRows, scaling.mostRows);
    EXPECT_EQ(found->note.empty(), scaling.mostRows == 0);
    EXPECT_EQ(found->dependsOnLength, scaling.mostRows != 0);
  }
};

TEST_P(RotaryScaling, IsThatOfTransformersInBothSpellings) {
  const Scaling &scaling = GetParam();
  expectRotary(read(fmt::format(R"({{"max_position_embeddings": 512, "rope_parameters":
      {{"rope_theta": 500.0, "rope_type": "{}"{}}}}})",
                                scaling.type, scaling.parameters),
                    {}, scaling.textLength));
  expectRotary(read(fmt::format(R"({{"max_position_embeddings": 512, "rope_theta": 500,
      "rope_scaling": {{"type": "{}"{}}}}})",
                                scaling.type, scaling.parameters),
                    {}, scaling.textLength));
}

INSTANTIATE_TEST_SUITE_P(All, RotaryScaling, testing::ValuesIn(scalings));

TEST(RotaryTest, PartOfAHeadMayTurn) {
  const Result<Rotary> part = read(R"({"rope_theta": 100, "partial_rotary_factor": 0.26})");
  ASSERT_TRUE(part.ok()) << part.status().message();
  // 4.16 columns are rounded down to 4.
  ASSERT_EQ(part->frequencies.size(), 2U);
  EXPECT_FLOAT_EQ(part->frequencies[1], 0.1F);
}

TEST(RotaryTest, FamiliesHaveNamesOfTheirOwn) {
  const RotarySpelling old = {
      .base = "rotary_emb_base", .fraction = "rotary_pct", .absentFraction = 0.25};
  const Result<Rotary> quarter = read(R"({"rotary_emb_base": 100})", old);
  ASSERT_TRUE(quarter.ok());
  ASSERT_EQ(quarter->frequencies.size(), 2U);
  EXPECT_FLOAT_EQ(quarter->frequencies[1], 0.1F);
  EXPECT_EQ(read(R"({"rotary_pct": 1})", old)->frequencies.size(), 8U);
  EXPECT_TRUE(read(R"({"rotary_pct": 0})", old)->frequencies.empty());
}

/// Layers with and without a window.
TEST(RotaryTest, LayersMayHaveBasesOfTheirOwn) {
  const std::string text = R"({"rope_theta": 100, "rope_local_base_freq": 16,
      "rope_scaling": {"rope_type": "linear", "factor": 2.0}})";
  const Result<Rotary> global = read(text, {.layers = "full_attention"});
  const Result<Rotary> local = read(
      text, {.base = "rope_local_base_freq", .layers = "sliding_attention", .isScaled = false});
  ASSERT_TRUE(global.ok() && local.ok());
  EXPECT_FLOAT_EQ(global->frequencies[4], 0.05F);
  EXPECT_FLOAT_EQ(local->frequencies[4], 0.25F);
  const std::string nested = R"({"rope_parameters": {
      "full_attention": {"rope_theta": 100, "rope_type": "default"},
      "sliding_attention": {"rope_theta": 16, "rope_type": "linear", "factor": 2}}})";
  EXPECT_FLOAT_EQ(read(nested, {.layers = "full_attention"})->frequencies[4], 0.1F);
  EXPECT_FLOAT_EQ(read(nested, {.layers = "sliding_attention"})->frequencies[4], 0.125F);
}

/// If both lists are equal, the frequencies do not depend on the length of the text.
TEST(RotaryTest, EqualListsLimitNothing) {
  const Result<Rotary> rotary = read(R"({"max_position_embeddings": 64, "rope_scaling": {
      "type": "su", "short_factor": [1,1,1,1,1,1,1,2], "long_factor": [1,1,1,1,1,1,1,2]}})",
                                     {.hasOldNames = true});
  ASSERT_TRUE(rotary.ok()) << rotary.status().message();
  EXPECT_EQ(rotary->mostRows, 0);
}

/// The notes state the maximum length of texts and how to change it.
TEST(RotaryTest, NotesSayWhichLength) {
  const std::string dynamic = R"({"max_position_embeddings": 64, "rope_scaling": {
      "type": "dynamic", "factor": 2}})";
  EXPECT_EQ(read(dynamic)->note,
            "rotary positions are \"dynamic\": texts have at most 64 tokens, since frequencies of "
            "longer ones depend on the length; --text-length chooses one");
  EXPECT_EQ(read(dynamic, {}, 65)->note,
            "rotary positions are \"dynamic\": all texts, of at most 65 tokens, have the "
            "frequencies of the longest");
  const std::string lists = R"({"max_position_embeddings": 64, "rope_scaling": {
      "original_max_position_embeddings": 16, "type": "longrope",
      "short_factor": [1,1,1,1,1,1,1,1], "long_factor": [1,1,1,1,1,1,1,2]}})";
  EXPECT_EQ(read(lists)->note,
            "rotary positions are \"longrope\": all texts, of at most 16 tokens, have the "
            "frequencies of \"short_factor\"; --text-length chooses others");
  EXPECT_EQ(read(lists, {}, 50)->note,
            "rotary positions are \"longrope\": all texts, of at most 50 tokens, have the "
            "frequencies of \"long_factor\"");
}

/// Two columns have frequency 1 for any base, here an infinite one.
TEST(RotaryTest, TwoColumnsNeedNoBase) {
  const Result<Rotary> rotary = read(R"({"max_position_embeddings": 64, "rope_scaling": {
      "type": "dynamic", "factor": 2}, "partial_rotary_factor": 0.125})",
                                     {}, 100);
  ASSERT_TRUE(rotary.ok()) << rotary.status().message();
  EXPECT_EQ(rotary->frequencies, std::vector<float>{1.0F});
}

/// For Phi-3, an original length outside of the scaling parameters has a default.
TEST(RotaryTest, AnOriginalLengthOutsideCounts) {
  const auto readPhi = [](const std::string &outside, const std::string &inside) {
    return read(fmt::format(R"({{"max_position_embeddings": 32768{}, "rope_scaling": {{
        "type": "longrope", "short_factor": [1,1,1,1,1,1,1,1],
        "long_factor": [1,1,1,1,1,1,1,2]{}}}}})",
                            outside, inside),
                {.absentOriginal = 4096, .hasOldNames = true});
  };
  const std::string key = R"(, "original_max_position_embeddings": )";
  for (const std::string &inside : {std::string(), key + "2048"}) {
    const Result<Rotary> absent = readPhi("", inside);
    ASSERT_TRUE(absent.ok()) << absent.status().message();
    EXPECT_EQ(absent->mostRows, 4096);
    // The square root of 1 + log 8 / log 4096.
    EXPECT_NEAR(absent->factor, 1.118033988749895, 1e-12);
    EXPECT_EQ(readPhi(key + "1024", inside)->mostRows, 1024);
  }
}

struct RefusedRotary {
  const char *name;
  const char *text;
  const char *expected;
  friend void PrintTo(const RefusedRotary &refused, std::ostream *out) { *out << refused.name; }
};

class RotaryRefusal : public testing::TestWithParam<RefusedRotary> {};

TEST_P(RotaryRefusal, GivesItsMessage) {
  EXPECT_EQ(read(GetParam().text).status().message(), GetParam().expected);
}

static const RefusedRotary refusals[] = {
    {"Type", R"({"rope_scaling": {"type": "su"}})",
     "config.json: \"rope_scaling\": \"rope_type\" is \"su\", expected one of default, linear, "
     "dynamic, llama3, yarn, longrope"},
    {"Key", R"({"rope_parameters": {"rope_type": "default", "mrope_section": [2, 3]}})",
     "config.json: \"rope_parameters\": \"mrope_section\" is a list of 2, expected rotary "
     "positions of type \"default\" without"},
    {"Factor", R"({"rope_scaling": {"type": "linear", "factor": 0}})",
     "config.json: \"rope_scaling\": \"factor\" is 0, expected a number from "
     "2.2250738585072014e-308 to 1000000000000"},
    {"WaveLengths",
     R"({"max_position_embeddings": 64, "rope_scaling": {"type": "llama3", "factor": 2,
         "low_freq_factor": 4, "high_freq_factor": 4}})",
     "config.json: \"rope_scaling\": \"high_freq_factor\" is 4, expected more than "
     "\"low_freq_factor\", 4"},
    {"Odd", R"({"partial_rotary_factor": 0.5625})",
     "config.json: 9 of the 16 columns of a head turn, expected an even number"},
    {"Divisors",
     R"({"max_position_embeddings": 64, "rope_scaling": {"type": "longrope", "short_factor": [1, 2],
         "long_factor": [1, 2]}})",
     "config.json: \"rope_scaling\": \"short_factor\" has 2 numbers, expected 8, one for each pair "
     "of columns that turn"},
    {"Ramp",
     R"({"max_position_embeddings": 64, "rope_scaling": {"type": "yarn", "factor": 2,
         "beta_fast": 0}})",
     "config.json: \"rope_scaling\": \"factor\" is 2, \"beta_fast\" 0, \"beta_slow\" 1 and the "
     "base "
     "10000, expected numbers above 0 and another base than 1"},
    {"Infinite", R"({"rope_scaling": {"type": "linear", "factor": 1e-300}})",
     "config.json: a frequency of rotary positions is infinite, expected another base or factor"},
};

INSTANTIATE_TEST_SUITE_P(All, RotaryRefusal, testing::ValuesIn(refusals),
                         [](const auto &info) { return info.param.name; });

} // namespace heddle
