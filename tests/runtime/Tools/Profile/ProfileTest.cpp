// SPDX-License-Identifier: Apache-2.0
///
/// `heddle profile`: its arguments, and the summation of dispatches.
#include "runtime/Tools/Profile/ProfileRows.h"
#include "tests/runtime/Tools/ParsedArguments.h"

#include <gtest/gtest.h>
#include <optional>

namespace heddle::tools {

TEST(ProfileArguments, AllOfThem) {
  const auto options = std::get<ProfileOptions>(parse({"profile",
                                                       "m.so",
                                                       "--shapes",
                                                       "1x16,2x8",
                                                       "--entry",
                                                       "encode",
                                                       "--cases",
                                                       "1x4",
                                                       "--source-length",
                                                       "7",
                                                       "--target-length",
                                                       "9",
                                                       "--input",
                                                       "a.jsonl",
                                                       "--beam",
                                                       "3",
                                                       "--by",
                                                       "layer",
                                                       "--runs",
                                                       "12",
                                                       "--trace",
                                                       "t.json",
                                                       "--output",
                                                       "o.json",
                                                       "--threads",
                                                       "2",
                                                       "--isa",
                                                       "x86-64-v3",
                                                       "--json"}));
  EXPECT_EQ(options.model, "m.so");
  ASSERT_EQ(options.shapes.size(), 2u);
  EXPECT_EQ(options.shapes[1].name, "2x8");
  EXPECT_EQ(options.entry, "encode");
  ASSERT_EQ(options.cases.size(), 1u);
  EXPECT_EQ(options.cases[0].beam, 4);
  EXPECT_EQ(options.sourceLength, 7);
  EXPECT_EQ(options.targetLength, 9);
  EXPECT_EQ(options.input, "a.jsonl");
  EXPECT_EQ(options.beam, 3);
  EXPECT_EQ(options.by, ProfileBy::Layer);
  EXPECT_EQ(options.runs, 12);
  EXPECT_EQ(options.trace, "t.json");
  EXPECT_EQ(options.output, "o.json");
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.isa, "x86-64-v3");
  EXPECT_TRUE(options.json);
  const auto few =
      std::get<ProfileOptions>(parse({"profile", "m.so", "--input", "ids", "--tokens"}));
  EXPECT_TRUE(few.tokens);
  EXPECT_FALSE(few.beam);
  EXPECT_EQ(few.by, ProfileBy::Name);
  EXPECT_EQ(few.runs, 5);
  EXPECT_EQ(few.threads, 1);
}

TEST(ProfileArguments, EmptyNamesOfOutputsAreNone) {
  const auto options = std::get<ProfileOptions>(
      parse({"profile", "m.so", "--shapes", "1x1", "--trace", "", "--output", ""}));
  EXPECT_EQ(options.trace + options.output, "");
}

TEST(ProfileArguments, Errors) {
  EXPECT_EQ(errorOf({"profile"}), "profile: OUT.so is missing");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes", "1x0"}),
            "profile: --shapes: shape \"1x0\" is not two positive numbers, expected "
            "SENTENCESxTOKENS such as 32x128");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--by", "color"}),
            "profile: --by is \"color\", expected name, dispatch, layer or kind");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--by", "dispach"}),
            "profile: --by is \"dispach\", expected name, dispatch, layer or kind; did you mean "
            "\"dispatch\"?");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--runs", "0"}),
            "profile: --runs is \"0\", expected a whole number from 1 to 1000000");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--beam", "x"}),
            "profile: --beam is \"x\", expected a whole number from 1 to 1024");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--beam", "2"}),
            "profile: --beam is given without --input, expected both");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--tokens"}),
            "profile: --tokens is given without --input, expected both");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--source-length", "9"}),
            "profile: --source-length is given without --cases, expected both");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--trace", "t.txt"}),
            "profile: --trace \"t.txt\" has no known ending, expected a .json file");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--output", "-"}),
            "profile: --output \"-\" has no known ending, expected a .json file");
  EXPECT_EQ(errorOf({"profile", "m.so", "--shapes=1x8", "--threads", "0"}),
            "profile: --threads \"0\" is not a number of threads, expected 1 to 1024");
}

TEST(ProfileRows, NamesWithoutTheNumberOfTheLayer) {
  EXPECT_EQ(withoutLayerNumber("decoder.layers.3.ffn.inner"), "decoder.layers.*.ffn.inner");
  EXPECT_EQ(withoutLayerNumber("decoder.layers.3"), "decoder.layers.*");
  // Only the first: T5 numbers the parts of a block too.
  EXPECT_EQ(withoutLayerNumber("encoder.block.11.layer.0.SelfAttention"),
            "encoder.block.*.layer.0.SelfAttention");
  EXPECT_EQ(withoutLayerNumber("conv2d.v1"), "conv2d.v1");
  EXPECT_EQ(withoutLayerNumber(""), "");
  EXPECT_EQ(layerOf("decoder.layers.3.ffn.inner"), "decoder.layers.3");
  EXPECT_EQ(layerOf("7.x"), "7");
  EXPECT_EQ(layerOf("embeddings.word_embeddings.weight"), "embeddings.word_embeddings");
  EXPECT_EQ(layerOf("shared"), "shared");
}

TEST(ProfileRows, KindsOfKernels) {
  EXPECT_EQ(kindOfKernel("contract_512x2048_relu"), "contract");
  EXPECT_EQ(kindOfKernel("attention_weights_8x64"), "attention_weights");
  EXPECT_EQ(kindOfKernel("append_48_keys_2"), "append");
  EXPECT_EQ(kindOfKernel("copy"), "copy");
  EXPECT_EQ(kindOfKernel("layer_norm"), "layer_norm");
}

/// Returns two layers of two dispatches each, and a table that both entries read.
static std::vector<DispatchProfile> profile() {
  return {{"encode", "embed", "gather_8", 4, 1.0, 0, 400, 0},
          {"encode", "layers.0.inner", "contract_16x8", 4, 2.0, 4e9, 0, 0},
          {"encode", "layers.0.outer", "contract_8x16", 4, 1.0, 4e9, 0, 0},
          {"encode", "layers.1.inner", "contract_16x8", 4, 4.0, 4e9, 0, 0},
          {"encode", "layers.1.outer", "contract_8x16", 4, 1.0, 4e9, 0, 0},
          {"decode", "layers.0.inner", "contract_16x8", 8, 16.0, 0, 6e9, 2e9}};
}

static const MachineRoof roof = {.peak = 8,
                                 .entries = {{"encode", {100, 100}}, {"decode", {1e9, 2}}}};

static const ProfileRow *find(const std::vector<ProfileRow> &rows, const std::string &entry,
                              const std::string &name) {
  for (const ProfileRow &row : rows) {
    if (row.entry == entry && row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

TEST(ProfileRows, AreOfMedianTimes) {
  std::vector<std::vector<DispatchProfile>> runs(5, profile());
  // One run was interrupted in one dispatch, another was slightly faster.
  runs[1][2].seconds = 100;
  runs[3][2].seconds = 0.5;
  runs[2][0].seconds = 0.5;
  const std::vector<DispatchProfile> typical = medianProfile(runs);
  ASSERT_EQ(typical.size(), profile().size());
  for (size_t i = 0; i < typical.size(); ++i) {
    EXPECT_EQ(typical[i].seconds, profile()[i].seconds) << i;
    EXPECT_EQ(typical[i].calls, profile()[i].calls) << i;
    EXPECT_EQ(typical[i].flops, profile()[i].flops) << i;
  }
  const std::vector<ProfileRow> rows = profileRows(typical, ProfileBy::Dispatch, 1, roof);
  const ProfileRow *outer = find(rows, "encode", "layers.0.outer");
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->seconds, 1);
}

TEST(ProfileRows, AddsUpByName) {
  const std::vector<ProfileRow> rows = profileRows(profile(), ProfileBy::Name, 2, roof);
  ASSERT_EQ(rows.size(), 4u);
  // In descending order of time, in seconds of wall time.
  EXPECT_EQ(rows[0].entry, "decode");
  EXPECT_EQ(rows[0].seconds, 8);
  const ProfileRow *inner = find(rows, "encode", "layers.*.inner");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->kernel, "contract_16x8");
  EXPECT_EQ(inner->kernels, 1u);
  EXPECT_EQ(inner->calls, 8u);
  EXPECT_EQ(inner->seconds, 3);
  EXPECT_DOUBLE_EQ(inner->rate(), 8.0 / 3);
  // One second at the peak, in three.
  EXPECT_DOUBLE_EQ(inner->ofRoof(), 1.0 / 3);
  EXPECT_FALSE(inner->boundByMemory());
  // Eight gigabytes at two a second, in eight seconds.
  EXPECT_DOUBLE_EQ(rows[0].ofRoof(), 0.5);
  EXPECT_DOUBLE_EQ(rows[0].traffic(), 1);
  EXPECT_TRUE(rows[0].boundByMemory());
}

TEST(ProfileRows, AddsUpByDispatchLayerAndKind) {
  EXPECT_EQ(profileRows(profile(), ProfileBy::Dispatch, 1, roof).size(), 6u);
  std::vector<DispatchProfile> twice = profile();
  twice.push_back(twice.front());
  EXPECT_EQ(profileRows(twice, ProfileBy::Dispatch, 1, roof).size(), 7u);
  const std::vector<ProfileRow> layers = profileRows(profile(), ProfileBy::Layer, 1, roof);
  ASSERT_EQ(layers.size(), 4u);
  const ProfileRow *second = find(layers, "encode", "layers.1");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->seconds, 5);
  // The function that took longest of two.
  EXPECT_EQ(second->kernel, "contract_16x8");
  EXPECT_EQ(second->kernels, 2u);
  const std::vector<ProfileRow> kinds = profileRows(profile(), ProfileBy::Kind, 1, roof);
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(find(kinds, "encode", "contract")->seconds, 8);
  double total = 0;
  for (const ProfileRow &row : kinds) {
    total += row.seconds;
  }
  EXPECT_EQ(total, 25);
}

} // namespace heddle::tools
