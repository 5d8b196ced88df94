// SPDX-License-Identifier: Apache-2.0
///
/// Translates CTranslate2 folders to configuration and names: folders from its own converters, with
/// every value compared, and small ones of each version.
#include "formats/CTranslate2/CTranslate2.h"

#include "tests/formats/CTranslate2/SmallTransformer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

std::vector<float> valuesOf(const Checkpoint &model, const std::string &name) {
  const StoredTensor *const tensor = model.find(name);
  if (tensor == nullptr) {
    return {};
  }
  std::vector<float> values(tensor->bytes.size() / infoOf(tensor->dtype).bytes());
  const Status status = model.readF32(name, values);
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

/// Opens a folder as the importer does.
Result<std::pair<CTranslate2Model, Checkpoint>> openFolder(const std::string &folder) {
  HEDDLE_ASSIGN(Checkpoint stored, Checkpoint::open(folder));
  HEDDLE_ASSIGN(CTranslate2Model model, readCTranslate2Model(folder, *stored.ctranslate2()));
  HEDDLE_ASSIGN(Checkpoint checkpoint, std::move(stored).withViews(model.tensors));
  return std::pair(std::move(model), std::move(checkpoint));
}

/// Folders written by CTranslate2, with their values as read by NumPy.
class WrittenFolderTest : public testing::TestWithParam<const char *> {};

TEST_P(WrittenFolderTest, EveryValue) {
  const std::string folder =
      HEDDLE_TEST_DATA "/formats/CTranslate2/models/" + std::string(GetParam());
  const auto opened = openFolder(folder);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto &[model, checkpoint] = *opened;
  const auto expected = Checkpoint::open(folder + "/expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  std::vector<std::string> names = checkpoint.names();
  std::vector<std::string> expectedNames = expected->names();
  std::ranges::sort(names);
  std::ranges::sort(expectedNames);
  EXPECT_EQ(names, expectedNames);
  for (const std::string &name : expectedNames) {
    ASSERT_NE(checkpoint.find(name), nullptr) << name;
    EXPECT_EQ(checkpoint.find(name)->shape, expected->find(name)->shape) << name;
    EXPECT_EQ(valuesOf(checkpoint, name), valuesOf(*expected, name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WrittenFolderTest,
                         testing::Values("tied-f32", "tied-bf16", "tied-i8", "tied-i16",
                                         "tied-i8-f16", "separate"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(CTranslate2Test, TiedConfiguration) {
  const std::string folder = HEDDLE_TEST_DATA "/formats/CTranslate2/models/tied-i8";
  const auto opened = openFolder(folder);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const CTranslate2Model &model = opened->first;
  EXPECT_EQ(model.config.where(), folder + "/model.bin");
  EXPECT_EQ(show(model.config, {"model_type", "vocab_size", "target_vocab_size", "d_model",
                                "encoder_layers", "decoder_layers", "heads", "d_ff", "norm",
                                "layer_norm_eps", "positions", "positions_offset", "max_positions",
                                "tie_embeddings", "activation", "output_bias", "scale_embeddings"}),
            "model_type=transformer vocab_size=13 target_vocab_size=none d_model=6 "
            "encoder_layers=2 decoder_layers=1 heads=2 d_ff=10 norm=post layer_norm_eps=1e-05 "
            "positions=sinusoidal-split positions_offset=1 max_positions=1024 tie_embeddings=true "
            "activation=relu output_bias=true scale_embeddings=true");
  EXPECT_EQ(
      show(model.config, {"pad_token_id", "bos_token_id", "eos_token_id", "unk_token_id",
                          "source_bos_token_id", "source_eos_token_id", "source_unk_token_id",
                          "add_source_bos", "add_source_eos", "alignment_layer", "alignment_heads",
                          "final_norm", "embedding_norm", "start_from_zero_embedding"}),
      "pad_token_id=0 bos_token_id=1 eos_token_id=2 unk_token_id=12 source_bos_token_id=1 "
      "source_eos_token_id=2 source_unk_token_id=12 add_source_bos=false add_source_eos=true "
      "alignment_layer=0 alignment_heads=1 final_norm=none embedding_norm=none "
      "start_from_zero_embedding=none");
  EXPECT_TRUE(model.vocabularies.isShared());
  EXPECT_EQ(model.files, (std::vector<std::string>{folder + "/config.json",
                                                   folder + "/shared_vocabulary.json"}));
  EXPECT_TRUE(model.notes.empty());
}

TEST(CTranslate2Test, SeparateConfiguration) {
  const std::string folder = HEDDLE_TEST_DATA "/formats/CTranslate2/models/separate";
  const auto opened = openFolder(folder);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const CTranslate2Model &model = opened->first;
  EXPECT_EQ(show(model.config,
                 {"vocab_size", "target_vocab_size", "encoder_layers", "decoder_layers", "norm",
                  "layer_norm_eps", "positions", "positions_offset", "max_positions",
                  "tie_embeddings", "activation", "output_bias", "scale_embeddings"}),
            "vocab_size=9 target_vocab_size=11 encoder_layers=1 decoder_layers=2 norm=pre "
            "layer_norm_eps=1e-06 positions=learned positions_offset=none max_positions=7 "
            "tie_embeddings=false activation=silu output_bias=false scale_embeddings=false");
  EXPECT_EQ(show(model.config, {"pad_token_id", "bos_token_id", "eos_token_id", "unk_token_id",
                                "source_bos_token_id", "source_eos_token_id", "source_unk_token_id",
                                "alignment_layer", "alignment_heads", "final_norm",
                                "embedding_norm", "start_from_zero_embedding"}),
            "pad_token_id=0 bos_token_id=8 eos_token_id=8 unk_token_id=0 source_bos_token_id=1 "
            "source_eos_token_id=2 source_unk_token_id=8 alignment_layer=0 alignment_heads=2 "
            "final_norm=none embedding_norm=true start_from_zero_embedding=true");
  EXPECT_EQ(model.files,
            (std::vector<std::string>{folder + "/config.json", folder + "/source_vocabulary.json",
                                      folder + "/target_vocabulary.json"}));
}

/// A trained model of version 2; it is not part of this project.
TEST(CTranslate2Test, Transliteration) {
  const char *const given = std::getenv("HEDDLE_SHARED");
  const std::string folder =
      std::string(given != nullptr ? given : HEDDLE_SHARED) + "/oracles/transliteration-6x6";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is not there";
  }
  const auto opened = openFolder(folder);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto &[model, checkpoint] = *opened;
  EXPECT_EQ(show(model.config, {"vocab_size",
                                "target_vocab_size",
                                "d_model",
                                "encoder_layers",
                                "decoder_layers",
                                "heads",
                                "d_ff",
                                "norm",
                                "layer_norm_eps",
                                "positions",
                                "positions_offset",
                                "tie_embeddings",
                                "activation",
                                "output_bias",
                                "scale_embeddings",
                                "pad_token_id",
                                "bos_token_id",
                                "eos_token_id",
                                "unk_token_id",
                                "source_unk_token_id",
                                "add_source_eos",
                                "alignment_layer",
                                "alignment_heads"}),
            "vocab_size=51 target_vocab_size=43 d_model=32 encoder_layers=6 decoder_layers=6 "
            "heads=8 d_ff=128 norm=pre layer_norm_eps=1e-05 positions=sinusoidal-split "
            "positions_offset=1 tie_embeddings=false activation=relu output_bias=true "
            "scale_embeddings=true pad_token_id=0 bos_token_id=1 eos_token_id=2 unk_token_id=42 "
            "source_unk_token_id=50 add_source_eos=false alignment_layer=5 alignment_heads=1");
  EXPECT_EQ(checkpoint.names().size(), 4u + 6 * 16 + 2 + 6 * 26 + 2);
  const auto query = valuesOf(checkpoint, "encoder.layers.3.self_attention.query.weight");
  EXPECT_EQ(query.size(), 32u * 32);
  EXPECT_TRUE(std::ranges::any_of(query, [](float value) { return value != 0; }));
}

class OldFileTest : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {};

TEST_P(OldFileTest, Options) {
  const auto [version, revision] = GetParam();
  SmallTransformer small(version, revision);
  const std::string scope = revision < 5 ? "" : "decoder/";
  if (revision >= 5) {
    small.option("encoder/pre_norm", 1);
  }
  small.option(scope + "pre_norm", 1);
  small.option(scope + "alignment_heads", 0);
  if (revision < 3) {
    small.file.specification = "TransformerBig";
    small.option("num_heads", 4);
  }
  small.option("with_source_eos", 1);
  small.option("with_target_bos", 0);
  small.option("with_relative_position", 0);
  small.folder.write("shared_vocabulary.txt", "<blank>\n<s>\n</s>\na\nb\n");
  small.text("unk_token", "a");
  small.text("eos_token", "</s>");
  const auto model = small.read();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::string heads = revision < 3 ? "4" : "2";
  EXPECT_EQ(show(model->config, {"heads", "norm", "vocab_size", "alignment_heads", "bos_token_id",
                                 "unk_token_id", "add_source_eos"}),
            "heads=" + heads + " norm=pre vocab_size=5 alignment_heads=" + heads +
                " bos_token_id=2 unk_token_id=3 add_source_eos=true");
}

INSTANTIATE_TEST_SUITE_P(All, OldFileTest,
                         testing::Values(std::pair(2u, 2u), std::pair(2u, 3u), std::pair(3u, 3u),
                                         std::pair(4u, 3u), std::pair(5u, 4u), std::pair(5u, 5u)),
                         [](const auto &info) {
                           return fmt::format("V{}Revision{}", info.param.first, info.param.second);
                         });

TEST(CTranslate2Test, HeadsOfTheFirstRevisions) {
  SmallTransformer small(2, 2);
  small.file.specification = "TransformerBase";
  EXPECT_EQ(small.message(), small.path() + ": the option \"num_heads\" is 8, expected a divisor "
                                            "of the width 4");
}

} // namespace
} // namespace heddle
