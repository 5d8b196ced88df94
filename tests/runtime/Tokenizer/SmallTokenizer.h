// SPDX-License-Identifier: Apache-2.0
///
/// A tokenizer table in memory, intact or damaged: every field of the schema can be set to any
/// value.
#ifndef HEDDLE_TESTS_RUNTIME_TOKENIZER_SMALLTOKENIZER_H
#define HEDDLE_TESTS_RUNTIME_TOKENIZER_SMALLTOKENIZER_H

#include "formats/Tokenizer/VocabularyHash.h"
#include "runtime/Tokenizer/Tokenizer.h"

#include <bit>
#include <flatbuffers/flatbuffers.h>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The contents of the table. The vocabulary's arrays are derived from `tokens` unless they are
/// set.
struct SmallTokenizer {
  struct Added {
    std::string content;
    uint32_t id = 0;
    bool singleWord = false;
    bool leftStrip = false;
    bool rightStrip = false;
    bool normalized = false;
    bool special = true;
  };
  using Piece = manifest::TemplatePiece;
  static constexpr auto text = manifest::TemplatePieceKind::Text;
  static constexpr auto token = manifest::TemplatePieceKind::Token;

  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s",
                                     "s",     ".",     "##at",  "c",     "é",   "'",   "t"};
  std::optional<std::vector<uint32_t>> ids;
  std::optional<std::string> tokenText;
  std::optional<std::vector<uint32_t>> offsets;
  std::optional<std::vector<manifest::VocabularySlot>> slots;
  std::vector<Added> added = {{"[CLS]", 2}, {"[SEP]", 3}};
  manifest::Normalizer normalizerKind = manifest::Normalizer::BertNormalizer;
  BertNormalizer::Options normalizer = {true, true, true, true};
  bool normalizerPresent = true;
  manifest::PreTokenizer preTokenizerKind = manifest::PreTokenizer::BertPreTokenizer;
  manifest::TokenizerModel modelKind = manifest::TokenizerModel::WordPiece;
  uint32_t unknownId = 1;
  uint32_t maxWordCharacters = 100;
  std::vector<Piece> pieces = {{token, 2, 0}, {text, 0, 0}, {token, 3, 0}};
  std::vector<Piece> pair = {};
  manifest::Decoder decoderKind = manifest::Decoder::WordPieceDecoder;
  bool decoderPresent = true;
  bool cleanup = true;
  uint32_t maxLength = 0;
  bool truncateLeft = false;

  /// Returns the table, in memory of this object.
  const manifest::Tokenizer *build() {
    builder.Clear();
    const auto vocabulary = buildVocabulary();
    const auto model = manifest::CreateWordPiece(builder, vocabulary, unknownId,
                                                 builder.CreateString("##"), maxWordCharacters);
    std::vector<flatbuffers::Offset<manifest::AddedToken>> packed;
    for (const Added &token : added) {
      packed.push_back(manifest::CreateAddedToken(
          builder, builder.CreateString(token.content), token.id, token.singleWord, token.leftStrip,
          token.rightStrip, token.normalized, token.special));
    }
    const auto packedAdded = builder.CreateVector(packed);
    const auto packedPieces = builder.CreateVectorOfStructs(pieces);
    const auto packedPair = builder.CreateVectorOfStructs(pair);
    const auto bert =
        manifest::CreateBertNormalizer(builder, normalizer.cleanText, normalizer.handleChineseChars,
                                       normalizer.stripAccents, normalizer.lowercase);
    const auto split = manifest::CreateBertPreTokenizer(builder);
    const auto join =
        manifest::CreateWordPieceDecoder(builder, builder.CreateString("##"), cleanup);
    builder.Finish(manifest::CreateTokenizer(
        builder, packedAdded, normalizerKind,
        normalizerPresent ? bert.Union() : flatbuffers::Offset<void>(), preTokenizerKind,
        split.Union(), modelKind, model.Union(), packedPieces, decoderKind,
        decoderPresent ? join.Union() : flatbuffers::Offset<void>(), maxLength, truncateLeft,
        pair.empty() ? decltype(packedPair)() : packedPair));
    return flatbuffers::GetRoot<manifest::Tokenizer>(builder.GetBufferPointer());
  }

  /// Loads the tokenizer that the table describes.
  Result<Tokenizer> load() { return Tokenizer::load(build()); }

private:
  flatbuffers::Offset<manifest::Vocabulary> buildVocabulary() {
    std::vector<uint32_t> allIds;
    std::vector<uint32_t> allOffsets = {0};
    std::string all;
    std::vector<manifest::VocabularySlot> table(std::bit_ceil(2 * tokens.size()));
    for (const std::string &token : tokens) {
      allIds.push_back(static_cast<uint32_t>(allIds.size()));
      all += token;
      allOffsets.push_back(static_cast<uint32_t>(all.size()));
      const VocabularyPlace place =
          vocabularyPlace(extendVocabularyHash(vocabularyHashSeed, token));
      size_t slot = place.slot % table.size();
      while (table[slot].token() != 0) {
        slot = (slot + 1) % table.size();
      }
      table[slot] = {place.tag, static_cast<uint32_t>(allIds.size())};
    }
    const std::string chosen = tokenText.value_or(all);
    const auto packedIds = builder.CreateVector(ids.value_or(allIds));
    const auto packedText =
        builder.CreateVector(reinterpret_cast<const uint8_t *>(chosen.data()), chosen.size());
    const auto packedOffsets = builder.CreateVector(offsets.value_or(allOffsets));
    const auto packedSlots = builder.CreateVectorOfStructs(slots.value_or(table));
    return manifest::CreateVocabulary(builder, packedIds, packedText, packedOffsets, packedSlots);
  }

  flatbuffers::FlatBufferBuilder builder;
};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_TOKENIZER_SMALLTOKENIZER_H
