// SPDX-License-Identifier: Apache-2.0
///
/// CTranslate2 folders that are rejected, each with its whole message, and the options that change
/// the configuration.
#include "formats/CTranslate2/CTranslate2.h"

#include "tests/formats/CTranslate2/SmallTransformer.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(CTranslate2OptionsTest, Plain) {
  SmallTransformer small;
  const auto model = small.read();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(show(model->config, {"norm", "final_norm", "tie_embeddings", "bos_token_id"}),
            "norm=pre final_norm=none tie_embeddings=false bos_token_id=1");
  EXPECT_EQ(model->files, (std::vector<std::string>{small.folder / "shared_vocabulary.txt"}));
  EXPECT_EQ(model->tensors.front().name, "encoder.embed.weight");
  const auto key = std::ranges::find(model->tensors, "decoder.layers.0.cross_attention.value.bias",
                                     &TensorView::name);
  ASSERT_NE(key, model->tensors.end());
  EXPECT_EQ(key->source, "decoder/layer_0/attention/linear_1/bias");
  EXPECT_EQ(key->firstRow, 4);
  EXPECT_EQ(key->rows, 4);
}

TEST(CTranslate2OptionsTest, FinalNorm) {
  SmallTransformer post;
  post.option("encoder/pre_norm", 0);
  post.option("decoder/pre_norm", 0);
  EXPECT_EQ(show(post.read()->config, {"norm", "final_norm"}), "norm=post final_norm=true");
  SmallTransformer pre;
  for (const char *name : {"encoder/layer_norm/gamma", "encoder/layer_norm/beta",
                           "decoder/layer_norm/gamma", "decoder/layer_norm/beta"}) {
    pre.erase(name);
  }
  EXPECT_EQ(show(pre.read()->config, {"norm", "final_norm"}), "norm=pre final_norm=false");
}

TEST(CTranslate2OptionsTest, Scaling) {
  const auto scaling = [](float factor) {
    SmallTransformer small;
    small.file.addF32("encoder/scale_embeddings", {}, {factor});
    small.file.addF32("decoder/scale_embeddings", {}, {factor});
    // A contradictory option, which is ignored.
    small.option("encoder/embeddings_0/multiply_by_sqrt_depth", factor == 1 ? 1 : 0);
    const auto model = small.read();
    return model.ok() ? show(model->config, {"scale_embeddings"})
                      : std::string(model.status().message().substr(small.path().size()));
  };
  EXPECT_EQ(scaling(1), "scale_embeddings=false");
  EXPECT_EQ(scaling(2), "scale_embeddings=true");
  EXPECT_EQ(scaling(2.001F), "scale_embeddings=true");
  EXPECT_EQ(scaling(3), ": variable \"encoder/scale_embeddings\" is 3, expected 1 or 2, the square "
                        "root of the width");
  SmallTransformer old(5, 4);
  old.option("encoder/embeddings_0/multiply_by_sqrt_depth", 0);
  old.option("decoder/embeddings_0/multiply_by_sqrt_depth", 0);
  EXPECT_EQ(show(old.read()->config, {"scale_embeddings"}), "scale_embeddings=false");
}

TEST(CTranslate2OptionsTest, PositionTables) {
  SmallTransformer small;
  small.table("encoder/position_encodings/encodings", 9, 4);
  small.table("decoder/position_encodings/encodings", 8, 4);
  const auto model = small.read();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(show(model->config, {"positions", "positions_offset", "max_positions"}),
            "positions=learned positions_offset=none max_positions=8");
  small.erase("decoder/position_encodings/encodings");
  EXPECT_EQ(small.message(),
            small.path() +
                ": variable \"encoder/position_encodings/encodings\" is present, "
                "\"decoder/position_encodings/encodings\" is missing, expected both or neither");
  small.table("decoder/position_encodings/encodings", 8, 3);
  EXPECT_EQ(small.message(), small.path() + ": variable \"decoder/position_encodings/encodings\" "
                                            "has shape [8, 3], expected [any, 4]");
  small.erase("decoder/position_encodings/encodings");
  small.file.addF32("decoder/position_encodings/encodings", {0, 4}, {});
  EXPECT_EQ(small.message(), small.path() + ": variable \"decoder/position_encodings/encodings\" "
                                            "has shape [0, 4], expected [any, 4]");
}

TEST(CTranslate2OptionsTest, Configuration) {
  SmallTransformer small;
  const std::string path = small.folder / "config.json";
  const auto message = [&](std::string_view text) {
    small.folder.write("config.json", text);
    return small.message();
  };
  EXPECT_EQ(message(R"({"bos_token": null, "decoder_start_token": "a", "add_source_bos": true,
                       "layer_norm_epsilon": 1e-3, "more": []})"),
            "");
  EXPECT_EQ(show(small.read()->config, {"bos_token_id", "layer_norm_eps", "add_source_bos"}),
            "bos_token_id=3 layer_norm_eps=0.001 add_source_bos=true");
  EXPECT_EQ(message(R"({"decoder_start_token": "gone"})"), "");
  EXPECT_EQ(show(small.read()->config, {"bos_token_id"}), "bos_token_id=4");
  EXPECT_EQ(message(R"({"decoder_start_token": null})"), "");
  EXPECT_EQ(small.read()->notes,
            (std::vector<std::string>{"\"decoder_start_token\" is null: every target needs a "
                                      "prefix, which begins with the start token"}));
  small.folder.write("vmap.txt", "x");
  EXPECT_EQ(small.read()->notes.back(), "vmap.txt is ignored: translations may use any token");
  EXPECT_EQ(message("[]"), path + ": is a list of 0, expected an object");
  EXPECT_EQ(message(R"({"unk_token": 3})"), path + ": \"unk_token\" is 3, expected a string");
  EXPECT_EQ(message(R"({"add_source_eos": 1})"),
            path + ": \"add_source_eos\" is 1, expected true or false");
  EXPECT_EQ(message(R"({"layer_norm_epsilon": -1})"),
            path + ": \"layer_norm_epsilon\" is -1, expected a number from 0 to 1");
  EXPECT_EQ(message(R"({"multi_query_attention": true})"),
            path + ": the option \"multi_query_attention\" is not supported");
  EXPECT_EQ(message(R"({"quantization_type": 1})"),
            path + ": the option \"quantization_type\" is not supported");
  EXPECT_EQ(message(R"({"eos_token": "<end>"})"),
            small.folder /
                "shared_vocabulary.txt: no token \"<end>\", which has to end a sentence");
}

TEST(CTranslate2OptionsTest, Vocabulary) {
  SmallTransformer small;
  small.folder.write("shared_vocabulary.txt", "<s>\n</s>\n<unk>\na\n");
  EXPECT_EQ(small.message(), small.folder / "shared_vocabulary.txt: 4 tokens, but variable "
                                            "\"encoder/embeddings_0/weight\" of " +
                                 small.path() + " has 5 rows, expected a row for each token");
  SmallTransformer two;
  two.folder.write("target_vocabulary.txt", "</s>\n");
  std::filesystem::remove(two.folder / "shared_vocabulary.txt");
  two.folder.write("source_vocabulary.txt", "a\nb\nc\nd\n");
  EXPECT_EQ(two.message(), two.folder / "target_vocabulary.txt: 2 tokens, but variable "
                                        "\"decoder/embeddings_0/weight\" of " +
                               two.path() + " has 5 rows, expected a row for each token");
}

TEST(CTranslate2RefusalTest, Specifications) {
  for (const char *name : {"TransformerDecoderSpec", "TransformerEncoderSpec", "WhisperSpec", ""}) {
    SmallTransformer small;
    small.file.specification = name;
    EXPECT_EQ(small.message(),
              fmt::format("{}: the specification \"{}\" is not supported, expected "
                          "TransformerSpec, TransformerBase, TransformerBig",
                          small.path(), name));
    EXPECT_EQ(small.read().status().code(), StatusCode::Unsupported);
  }
  for (const uint32_t revision : {1u, 8u}) {
    SmallTransformer small;
    small.file.revision = revision;
    EXPECT_EQ(small.message(),
              fmt::format("{}: revision {} of TransformerSpec is not supported, expected 2 to 7",
                          small.path(), revision));
  }
}

TEST(CTranslate2RefusalTest, Options) {
  const std::pair<const char *, const char *> options[] = {
      {"embeddings_1", "source features"},
      {"external_post_encoder_attention_layer_norm", "norms outside attention"},
      {"external_pre_encoder_attention_layer_norm", "norms outside attention"},
      {"final_logit_softcapping", "logit soft-capping"},
      {"head_dim", "a head size of its own"},
      {"input_layer_norm", "parallel residuals"},
      {"k_norm", "key norms"},
      {"layer_norm_use_residual", "RMS norms"},
      {"layer_scalar", "layer scaling"},
      {"linear_0_noact", "gated feed-forward layers"},
      {"memory_kv", "merged attention"},
      {"merged_encoder_attention", "merged attention"},
      {"num_heads_kv", "grouped or multi-query attention"},
      {"post_attention_layer_norm", "norms around sub-layers"},
      {"post_feedforward_layer_norm", "norms around sub-layers"},
      {"pre_feedforward_layer_norm", "norms around sub-layers"},
      {"project_in", "embedding projections"},
      {"project_out", "embedding projections"},
      {"q_norm", "query norms"},
      {"queries_scale", "query scaling"},
      {"relative_asymmetric_position_keys", "relative positions"},
      {"relative_attention_bias", "relative position bias"},
      {"relative_position_keys", "relative positions"},
      {"relative_position_values", "relative positions"},
      {"rotary_dim", "rotary embeddings"},
      {"scale_outputs", "logit scaling"},
      {"shared_layer_norm", "parallel residuals"},
      {"sliding_window", "sliding-window attention"},
      {"v_norm", "value norms"},
      {"weight_zero", "AWQ quantization"}};
  for (const auto &[name, meaning] : options) {
    SmallTransformer small;
    const std::string variable = fmt::format("decoder/layer_0/{}", name);
    small.option(variable, 1);
    EXPECT_EQ(small.message(), fmt::format("{}: variable \"{}\": the option \"{}\" ({}) is not "
                                           "supported",
                                           small.path(), variable, name, meaning));
    EXPECT_EQ(small.read().status().code(), StatusCode::Unsupported);
  }
}

TEST(CTranslate2RefusalTest, Flags) {
  const std::pair<const char *, const char *> options[] = {
      {"decoder/alibi", "ALiBi"},
      {"encoder/multi_query_attention", "grouped or multi-query attention"},
      {"with_relative_position", "relative positions"}};
  for (const auto &[name, meaning] : options) {
    SmallTransformer small;
    small.option(name, 0);
    small.option("decoder/scale_alibi", 1);
    small.option("encoder/embeddings_merge", 1);
    EXPECT_EQ(small.message(), "") << name;
    small.option(name, 1);
    EXPECT_EQ(small.message(),
              fmt::format("{}: variable \"{}\" is 1: the option \"{}\" ({}) is not supported",
                          small.path(), name,
                          std::string(name).substr(std::string(name).find('/') + 1), meaning));
  }
  SmallTransformer small;
  small.file.addF32("decoder/alibi", {2}, {0, 0});
  EXPECT_EQ(small.message(), small.path() + ": variable \"decoder/alibi\" has shape [2], expected "
                                            "a single value");
}

TEST(CTranslate2RefusalTest, RmsNorms) {
  SmallTransformer small;
  small.erase("encoder/layer_0/ffn/layer_norm/beta");
  EXPECT_EQ(small.message(),
            small.path() + ": variable \"encoder/layer_0/ffn/layer_norm/gamma\" has no \"beta\" "
                           "beside it: the option \"rms_norm\" (RMS norms) is not supported");
}

TEST(CTranslate2RefusalTest, OptionValues) {
  const auto message = [](const std::function<void(SmallTransformer &)> &edit) {
    SmallTransformer small;
    edit(small);
    const std::string text = small.message();
    EXPECT_TRUE(text.starts_with(small.path() + ": ")) << text;
    return text.substr(std::min(text.size(), small.path().size() + 2));
  };
  const auto option = [&](const std::string &name, int8_t value) {
    return message([&](SmallTransformer &small) { small.option(name, value); });
  };
  EXPECT_EQ(option("encoder/num_heads", 0),
            "variable \"encoder/num_heads\" is 0, expected an integer from 1 to 4");
  EXPECT_EQ(
      option("encoder/num_heads", 1),
      "the option \"num_heads\" is 1 in the encoder and 2 in the decoder, expected the same value");
  EXPECT_EQ(
      option("encoder/pre_norm", 0),
      "the option \"pre_norm\" is 0 in the encoder and 1 in the decoder, expected the same value");
  EXPECT_EQ(option("decoder/activation", 1), "the option \"activation\" is 0 in the encoder and 1 "
                                             "in the decoder, expected the same value");
  EXPECT_EQ(option("decoder/activation", 7),
            "variable \"decoder/activation\" is 7, expected an integer from 0 to 6");
  EXPECT_EQ(option("decoder/scale_embeddings", 0),
            "the option \"scale_embeddings\" is 1 in the encoder and 0 in the decoder, expected "
            "the same value");
  EXPECT_EQ(option("decoder/pre_norm", 2),
            "variable \"decoder/pre_norm\" is 2, expected an integer from 0 to 1");
  EXPECT_EQ(option("decoder/alignment_layer", 1),
            "variable \"decoder/alignment_layer\" is 1, expected an integer from -1 to 0");
  EXPECT_EQ(option("decoder/alignment_heads", 3),
            "variable \"decoder/alignment_heads\" is 3, expected an integer from 0 to 2");
  EXPECT_EQ(message([](SmallTransformer &small) {
              small.erase("encoder/num_heads");
              small.file.addF32("encoder/num_heads", {}, {1.5F});
            }),
            "variable \"encoder/num_heads\" is 1.5, expected an integer from 1 to 4");
  EXPECT_EQ(message([](SmallTransformer &small) {
              small.option("encoder/num_heads", 3);
              small.option("decoder/num_heads", 3);
            }),
            "the option \"num_heads\" is 3, expected a divisor of the width 4");
}

TEST(CTranslate2RefusalTest, Tensors) {
  const auto message = [](const std::function<void(SmallTransformer &)> &edit) {
    SmallTransformer small;
    edit(small);
    const std::string text = small.message();
    EXPECT_TRUE(text.starts_with(small.path() + ": ")) << text;
    return text.substr(std::min(text.size(), small.path().size() + 2));
  };
  const auto without = [&](const std::string &name) {
    return message([&](SmallTransformer &small) { small.erase(name); });
  };
  EXPECT_EQ(without("decoder/layer_0/attention/linear_1/bias"),
            "variable \"decoder/layer_0/attention/linear_1/bias\" is missing, expected one of "
            "shape [8]");
  EXPECT_EQ(without("encoder/embeddings_0/weight"),
            "variable \"encoder/embeddings/weight\" is missing, expected one of shape [any, any]");
  EXPECT_EQ(without("encoder/layer_0/ffn/linear_0/weight"),
            "variable \"encoder/layer_0/ffn/linear_0/weight\" is missing, expected at least one "
            "layer");
  EXPECT_EQ(without("decoder/layer_norm/gamma"),
            "variable \"encoder/layer_norm/gamma\" is present, \"decoder/layer_norm/gamma\" is "
            "missing, expected both or neither");
  const auto reshaped = [&](const std::string &name, uint32_t rows, uint32_t columns) {
    return message([&](SmallTransformer &small) {
      small.erase(name);
      small.table(name, rows, columns);
    });
  };
  EXPECT_EQ(reshaped("encoder/layer_0/self_attention/linear_0/weight", 8, 4),
            "variable \"encoder/layer_0/self_attention/linear_0/weight\" has shape [8, 4], "
            "expected [12, 4]");
  EXPECT_EQ(reshaped("decoder/layer_0/ffn/linear_0/weight", 7, 4),
            "variable \"decoder/layer_0/ffn/linear_0/weight\" has shape [7, 4], expected [6, 4]");
  EXPECT_EQ(reshaped("decoder/projection/weight", 4, 4),
            "variable \"decoder/projection/weight\" has shape [4, 4], expected [5, 4]");
  EXPECT_EQ(reshaped("decoder/projection/bias", 4, 0),
            "variable \"decoder/projection/bias\" has shape [4], expected [5]");
  EXPECT_EQ(message([](SmallTransformer &small) {
              small.erase("decoder/projection/bias");
              small.file.add<int32_t>("decoder/projection/bias", {5}, ElementType::I32,
                                      {1, 2, 3, 4, 5});
            }),
            "variable \"decoder/projection/bias\" has type I32, expected real numbers");
  EXPECT_EQ(message([](SmallTransformer &small) { small.option("encoder/novelty", 1); }),
            "variable \"encoder/novelty\" is unused, expected only those of a Transformer");
  // A layer after a gap.
  EXPECT_EQ(
      message([](SmallTransformer &small) { small.linear("encoder/layer_2/ffn/linear_0", 6, 4); }),
      "variable \"encoder/layer_2/ffn/linear_0/weight\" is unused, expected only those of a "
      "Transformer");
}

TEST(CTranslate2RefusalTest, OddWidth) {
  SmallTransformer small;
  for (ModelBin::Variable &variable : small.file.variables) {
    for (uint32_t &size : variable.shape) {
      size = size == 4 ? 2 : size == 8 ? 4 : size == 12 ? 6 : size;
    }
    size_t count = infoOf(variable.dtype).bytes();
    for (const uint32_t size : variable.shape) {
      count *= size;
    }
    variable.bytes.resize(count);
  }
  EXPECT_EQ(small.message(),
            small.path() +
                ": the width is 2, expected an even number of at least 4 for sinusoidal positions");
}

} // namespace
} // namespace heddle
