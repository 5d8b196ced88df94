// SPDX-License-Identifier: Apache-2.0
///
/// Model files of the SentencePiece library: real ones, intact and damaged.
#include "formats/Tokenizer/SentencePieceModel.h"
#include "base/MappedFile.h"
#include "tests/runtime/Tokenizer/PartsTable.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Ids = std::vector<int32_t>;

std::string readModel(const std::string &name) {
  const Result<MappedFile> file =
      MappedFile::open(HEDDLE_TEST_DATA "/oracles/tokenizers/" + name + "/source.spm");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::string(file->text());
}

std::string refusal(std::string_view bytes) {
  const Result<SentencePieceModel> model = SentencePieceModel::load(bytes);
  EXPECT_TRUE(model.ok() || model.status().code() == StatusCode::InvalidArgument);
  return std::string(model.status().message());
}

TEST(SentencePieceModelTest, Pieces) {
  const Result<SentencePieceModel> model =
      SentencePieceModel::load(readModel("sentencepiece-unigram"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_GT(model->size(), 400);
  EXPECT_EQ(model->piece(model->unknownId()), "<unk>");
  EXPECT_EQ(model->piece(model->endId()), "</s>");
  EXPECT_TRUE(model->isControl(model->endId()));
  EXPECT_FALSE(model->isControl(model->unknownId()));
  EXPECT_EQ(model->find("</s>"), model->endId());
  EXPECT_EQ(model->find("no piece"), model->unknownId());
  Ids ids;
  ASSERT_TRUE(model->encode("The cat", ids).ok());
  EXPECT_EQ(*model->decode(ids), "The cat");
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    pieces.push_back(model->piece(id));
  }
  EXPECT_EQ(*model->decode(pieces), "The cat");
  EXPECT_EQ(*model->decode(std::vector<std::string>{"no piece"}), "no piece");
}

TEST(SentencePieceModelTest, BytesFallBack) {
  const Result<SentencePieceModel> model = SentencePieceModel::load(readModel("sentencepiece-bpe"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  Ids ids;
  ASSERT_TRUE(model->encode("\u01F6\U0001F980", ids).ok());
  EXPECT_EQ(*model->decode(ids), "\u01F6\U0001F980");
  EXPECT_EQ(*model->decode(std::vector<std::string>{"<0xF0>", "<0x9F>"}), "\uFFFD\uFFFD");
}

TEST(SentencePieceModelTest, CutOff) {
  const std::string whole = readModel("sentencepiece-unigram");
  EXPECT_EQ(refusal(whole), "");
  EXPECT_EQ(refusal(whole.substr(0, whole.size() / 2)),
            "sentencepiece: the model is cut off or damaged");
  EXPECT_EQ(refusal("plain text, no model"), "sentencepiece: the model is cut off or damaged");
  EXPECT_TRUE(refusal("").starts_with("sentencepiece: the library cannot use the model: "))
      << refusal("");
}

TEST(SentencePieceModelTest, DamagedRules) {
  // Field 3 is the normalizer, whose field 2 holds the rules.
  const auto model = [](std::string_view rules) {
    const auto field = [](char tag, std::string_view bytes) {
      return std::string({tag, static_cast<char>(bytes.size())}) + std::string(bytes);
    };
    return field(0x1A, field(0x12, rules));
  };
  EXPECT_EQ(refusal(model("abc")),
            "sentencepiece: charsmap: a trie of 0 bytes, with 3 bytes after its size, expected a "
            "multiple of 4 and text after it");
  std::string cut = model("abc");
  cut[3] = 9;
  EXPECT_EQ(refusal(cut), "sentencepiece: a normalizer of the model is cut off or damaged");
}

TEST(SentencePieceModelTest, AnyByteMayBeDamaged) {
  // A damaged model is rejected or works.
  const std::string whole = readModel("sentencepiece-bpe");
  uint64_t random = 1;
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole;
    random = random * 6364136223846793005U + 1442695040888963407U;
    bytes[(random >> 33) % bytes.size()] ^= static_cast<char>(1U << (random >> 61));
    const Result<SentencePieceModel> model = SentencePieceModel::load(bytes);
    if (model.ok()) {
      Ids ids;
      EXPECT_TRUE(model->encode("The quick brown fox, ﬁne Ａ\u0301 \u0001", ids).ok());
      EXPECT_TRUE(model->decode(ids).ok());
    }
  }
}

TEST(SentencePieceModelTest, IdsOfAnotherVocabulary) {
  PartsTable table;
  const std::string bytes = readModel("sentencepiece-unigram");
  const auto tokens = table.vocabulary({"</s>", "<unk>", "▁The", "▁"});
  const auto packed =
      table.builder.CreateVector(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  table.setModel(manifest::TokenizerModel::SentencePiece,
                 manifest::CreateSentencePiece(table.builder, packed, tokens, 1));
  const Result<Tokenizer> tokenizer = Tokenizer::load(table.finish());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const Result<Ids> ids = tokenizer->encode("The The");
  ASSERT_TRUE(ids.ok());
  for (const int32_t id : *ids) {
    EXPECT_LT(id, 4);
  }
  EXPECT_EQ(*tokenizer->decode(std::vector{2, 2}), "The The");
  EXPECT_EQ(tokenizer->idOf("▁The"), 2);
  PartsTable unknown;
  const auto same = unknown.vocabulary({"</s>"});
  const auto model =
      unknown.builder.CreateVector(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  unknown.setModel(manifest::TokenizerModel::SentencePiece,
                   manifest::CreateSentencePiece(unknown.builder, model, same, 1));
  EXPECT_EQ(unknown.refusal(), "vocabulary: no token has the unknown id 1");
}

} // namespace
} // namespace heddle
