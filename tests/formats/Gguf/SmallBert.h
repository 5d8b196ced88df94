// SPDX-License-Identifier: Apache-2.0
///
/// A small random BERT as a GGUF file, for tests to modify, and as a folder with the same values in
/// f32.
#ifndef HEDDLE_TESTS_FORMATS_GGUF_SMALLBERT_H
#define HEDDLE_TESTS_FORMATS_GGUF_SMALLBERT_H

#include "formats/Checkpoint/Safetensors.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Gguf/GgufBlocks.h"
#include "tests/formats/Gguf/GgufBytes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace heddle {

/// One layer with two heads. Matrices and the word embeddings have `type`; all other tensors are
/// F32.
struct SmallBert {
  struct Tensor {
    std::string ggufName;
    std::string name;
    std::vector<int64_t> shape;
    const GgufType *type;
    std::string bytes;
  };

  int64_t width;
  /// In the spelling of vocab.txt.
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",  "[MASK]", "the",
                                     "cat",   "sat",   "##s",   "##ting", ".",      "a"};
  static constexpr int64_t positions = 16;
  static constexpr int64_t tokenTypes = 2;
  std::vector<Tensor> tensors;
  std::mt19937 random;

  explicit SmallBert(uint32_t type = 0, int64_t width = 64) : width(width), random(type + 1) {
    const GgufType &f32 = *findGgufType(0);
    const GgufType &quantised = *findGgufType(type);
    const auto words = static_cast<int64_t>(pieces.size());
    add("token_embd.weight", "embeddings.word_embeddings.weight", {words, width}, quantised);
    add("token_types.weight", "embeddings.token_type_embeddings.weight", {tokenTypes, width}, f32);
    add("position_embd.weight", "embeddings.position_embeddings.weight", {positions, width}, f32);
    addNorm("token_embd_norm", "embeddings.LayerNorm");
    const std::pair<const char *, const char *> linears[] = {
        {"attn_q", "attention.self.query"}, {"attn_k", "attention.self.key"},
        {"attn_v", "attention.self.value"}, {"attn_output", "attention.output.dense"},
        {"ffn_up", "intermediate.dense"},   {"ffn_down", "output.dense"}};
    for (const auto &[source, name] : linears) {
      const std::string from = fmt::format("blk.0.{}", source);
      const std::string to = fmt::format("encoder.layer.0.{}", name);
      add(from + ".weight", to + ".weight", {width, width}, quantised);
      add(from + ".bias", to + ".bias", {width}, f32);
    }
    addNorm("blk.0.attn_output_norm", "encoder.layer.0.attention.output.LayerNorm");
    addNorm("blk.0.layer_output_norm", "encoder.layer.0.output.LayerNorm");
  }

  void addNorm(const std::string &source, const std::string &name) {
    add(source + ".weight", name + ".weight", {width}, *findGgufType(0));
    add(source + ".bias", name + ".bias", {width}, *findGgufType(0));
  }

  void add(const std::string &source, const std::string &name, std::vector<int64_t> shape,
           const GgufType &type) {
    size_t count = 1;
    for (const int64_t size : shape) {
      count *= static_cast<size_t>(size);
    }
    tensors.push_back({source, name, std::move(shape), &type, valuesOf(type, count)});
  }

  std::string valuesOf(const GgufType &type, size_t count) {
    if (!type.plain) {
      return randomGgufBlocks(type, count / type.elements, random, 7);
    }
    // Magnitudes below 1/4 of either sign, as f32, bf16 or f16.
    std::uniform_real_distribution<float> distribution(-0.25F, 0.25F);
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      const float value = distribution(random);
      if (type.bytes == 4) {
        bytes += rawBytes(value);
      } else if (type.plain == ElementType::BF16) {
        bytes += rawBytes(value).substr(2);
      } else {
        bytes += rawBytes(static_cast<uint16_t>((random() & 0x83FFU) | (10 + random() % 3) << 10));
      }
    }
    return bytes;
  }

  /// Returns the token as llama.cpp stores it.
  static std::string markedPiece(const std::string &piece) {
    if (piece.starts_with("[") && piece.ends_with("]") && piece.size() > 2) {
      return piece;
    }
    return piece.starts_with("##") ? piece.substr(2) : "\xE2\x96\x81" + piece;
  }

  static void addTokenizer(GgufBytes &file, const std::vector<std::string> &pieces) {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    for (const std::string &piece : pieces) {
      tokens.push_back(markedPiece(piece));
      types.push_back(tokens.back() == piece ? 3 : 1);
    }
    const auto id = [&](const char *piece) {
      return static_cast<uint32_t>(std::find(pieces.begin(), pieces.end(), piece) - pieces.begin());
    };
    file.addText("tokenizer.ggml.model", "bert");
    file.addTexts("tokenizer.ggml.tokens", tokens);
    file.addList("tokenizer.ggml.token_type", GgufKind::I32, types);
    file.add("tokenizer.ggml.token_type_count", GgufKind::U32, uint32_t(tokenTypes));
    file.add("tokenizer.ggml.padding_token_id", GgufKind::U32, id("[PAD]"));
    file.add("tokenizer.ggml.unknown_token_id", GgufKind::U32, id("[UNK]"));
    file.add("tokenizer.ggml.cls_token_id", GgufKind::U32, id("[CLS]"));
    file.add("tokenizer.ggml.seperator_token_id", GgufKind::U32, id("[SEP]"));
    file.add("tokenizer.ggml.mask_token_id", GgufKind::U32, id("[MASK]"));
  }

  /// Returns the fields of a file as written by llama.cpp's converter.
  GgufBytes bytes() const {
    GgufBytes file;
    file.addText("general.architecture", "bert");
    file.add("bert.block_count", GgufKind::U32, uint32_t(1));
    file.add("bert.context_length", GgufKind::U32, uint32_t(positions));
    file.add("bert.embedding_length", GgufKind::U32, uint32_t(width));
    file.add("bert.feed_forward_length", GgufKind::U32, uint32_t(width));
    file.add("bert.attention.head_count", GgufKind::U32, uint32_t(2));
    file.add("bert.attention.layer_norm_epsilon", GgufKind::F32, 1e-12F);
    file.add("bert.attention.causal", GgufKind::Bool, uint8_t(0));
    file.add("bert.pooling_type", GgufKind::U32, uint32_t(1));
    addTokenizer(file, pieces);
    for (const Tensor &tensor : tensors) {
      std::vector<uint64_t> sizes(tensor.shape.rbegin(), tensor.shape.rend());
      file.tensors.push_back({tensor.ggufName, sizes, tensor.type->number, tensor.bytes});
    }
    return file;
  }

  /// Writes config.json, vocab.txt, the modules of a sentence encoder, and the values in f32.
  void writeFolder(const TemporaryFolder &folder) const {
    folder.write("config.json",
                 fmt::format(R"({{"model_type": "bert", "vocab_size": {}, "hidden_size": {},
                     "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": {},
                     "max_position_embeddings": {}, "type_vocab_size": {}, "hidden_act": "gelu",
                     "layer_norm_eps": 1e-12}})",
                             pieces.size(), width, width, positions, tokenTypes));
    std::string vocabulary;
    for (const std::string &piece : pieces) {
      vocabulary += piece + "\n";
    }
    folder.write("vocab.txt", vocabulary);
    writeModules(folder);
    std::vector<std::vector<float>> values;
    std::vector<SafetensorsTensor> converted;
    for (const Tensor &tensor : tensors) {
      const size_t count = tensor.bytes.size() / tensor.type->bytes * tensor.type->elements;
      std::vector<float> &one = values.emplace_back(count);
      ASSERT_TRUE(convertGgufToF32(*tensor.type, std::as_bytes(std::span(tensor.bytes)), one).ok());
      converted.push_back(
          {tensor.name, ElementType::F32, tensor.shape, std::as_bytes(std::span(one))});
    }
    const Status written = writeSafetensors(folder / "model.safetensors", converted);
    ASSERT_TRUE(written.ok()) << written.message();
  }

  /// Writes the modules of a sentence encoder: mean pooling and normalization.
  static void writeModules(const TemporaryFolder &folder) {
    folder.write("modules.json",
                 R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                     {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
                     {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}])");
    folder.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  }
};

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_GGUF_SMALLBERT_H
