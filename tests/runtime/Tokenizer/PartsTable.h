// SPDX-License-Identifier: Apache-2.0
///
/// Tokenizers of any parts, intact or damaged, over one small vocabulary. Tests build the parts
/// with the schema's own functions.
#ifndef HEDDLE_TESTS_RUNTIME_TOKENIZER_PARTSTABLE_H
#define HEDDLE_TESTS_RUNTIME_TOKENIZER_PARTSTABLE_H

#include "formats/Tokenizer/PairMerging.h"
#include "formats/Tokenizer/VocabularyHash.h"
#include "runtime/Tokenizer/Tokenizer.h"

#include <bit>
#include <flatbuffers/flatbuffers.h>
#include <string>
#include <vector>

namespace heddle {

/// A table with its own builder. Set the parts, then load.
struct PartsTable {
  flatbuffers::FlatBufferBuilder builder;
  manifest::Normalizer normalizerKind = manifest::Normalizer::NONE;
  flatbuffers::Offset<void> normalizer;
  manifest::PreTokenizer preTokenizerKind = manifest::PreTokenizer::NONE;
  flatbuffers::Offset<void> preTokenizer;
  manifest::TokenizerModel modelKind = manifest::TokenizerModel::NONE;
  flatbuffers::Offset<void> model;
  manifest::Decoder decoderKind = manifest::Decoder::NONE;
  flatbuffers::Offset<void> decoder;
  bool finished = false;

  /// Tokens whose ids are their positions.
  flatbuffers::Offset<manifest::Vocabulary> vocabulary(const std::vector<std::string> &tokens) {
    std::vector<uint32_t> ids;
    std::vector<uint32_t> offsets = {0};
    std::string text;
    std::vector<manifest::VocabularySlot> slots(std::bit_ceil(2 * tokens.size()));
    for (const std::string &token : tokens) {
      ids.push_back(static_cast<uint32_t>(ids.size()));
      text += token;
      offsets.push_back(static_cast<uint32_t>(text.size()));
      const VocabularyPlace place =
          vocabularyPlace(extendVocabularyHash(vocabularyHashSeed, token));
      size_t slot = place.slot % slots.size();
      while (slots[slot].token() != 0) {
        slot = (slot + 1) % slots.size();
      }
      slots[slot] = {place.tag, static_cast<uint32_t>(ids.size())};
    }
    const auto packedIds = builder.CreateVector(ids);
    const auto packedText =
        builder.CreateVector(reinterpret_cast<const uint8_t *>(text.data()), text.size());
    const auto packedOffsets = builder.CreateVector(offsets);
    const auto packedSlots = builder.CreateVectorOfStructs(slots);
    return manifest::CreateVocabulary(builder, packedIds, packedText, packedOffsets, packedSlots);
  }

  /// Every word is a token, or the last one.
  void useWords(const std::vector<std::string> &tokens) {
    const auto packed = vocabulary(tokens);
    setModel(manifest::TokenizerModel::WordPiece,
             manifest::CreateWordPiece(builder, packed, static_cast<uint32_t>(tokens.size() - 1),
                                       builder.CreateString("##"), 100));
  }

  template <typename Table>
  void setNormalizer(manifest::Normalizer kind, flatbuffers::Offset<Table> table) {
    normalizerKind = kind;
    normalizer = table.Union();
  }
  template <typename Table>
  void setPreTokenizer(manifest::PreTokenizer kind, flatbuffers::Offset<Table> table) {
    preTokenizerKind = kind;
    preTokenizer = table.Union();
  }
  template <typename Table>
  void setModel(manifest::TokenizerModel kind, flatbuffers::Offset<Table> table) {
    modelKind = kind;
    model = table.Union();
  }
  template <typename Table>
  void setDecoder(manifest::Decoder kind, flatbuffers::Offset<Table> table) {
    decoderKind = kind;
    decoder = table.Union();
  }

  /// Returns the finished table, in memory of this object.
  const manifest::Tokenizer *finish() {
    if (finished) {
      return flatbuffers::GetRoot<manifest::Tokenizer>(builder.GetBufferPointer());
    }
    finished = true;
    if (modelKind == manifest::TokenizerModel::NONE) {
      useWords({"a", "[UNK]"});
    }
    const std::vector<manifest::TemplatePiece> pieces = {{manifest::TemplatePieceKind::Text, 0, 0}};
    const auto packedPieces = builder.CreateVectorOfStructs(pieces);
    builder.Finish(manifest::CreateTokenizer(builder, 0, normalizerKind, normalizer,
                                             preTokenizerKind, preTokenizer, modelKind, model,
                                             packedPieces, decoderKind, decoder));
    return flatbuffers::GetRoot<manifest::Tokenizer>(builder.GetBufferPointer());
  }

  /// Returns the message with which the table is rejected; empty if it is accepted.
  std::string refusal() { return std::string(Tokenizer::load(finish()).status().message()); }
};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_TOKENIZER_PARTSTABLE_H
