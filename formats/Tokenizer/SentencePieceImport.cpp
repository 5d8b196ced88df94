// SPDX-License-Identifier: Apache-2.0
///
/// Loads the model with the library that the runtime uses, so that a damaged file is detected at
/// compile time.
#include "formats/Tokenizer/SentencePieceImport.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/SentencePieceModel.h"
#include "formats/Tokenizer/WriteOnce.h"

#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;

static Result<SentencePieceModel> loadModel(std::string_view bytes, std::string_view where) {
  Result<SentencePieceModel> model = SentencePieceModel::load(bytes);
  HEDDLE_TRY_WITH(model.status(), where);
  return model;
}

static std::vector<std::string> piecesOf(const SentencePieceModel &model) {
  std::vector<std::string> pieces;
  for (int32_t id = 0; id < model.size(); ++id) {
    pieces.push_back(model.piece(id));
  }
  return pieces;
}

Result<std::vector<std::string>> readPieces(std::string_view model, std::string_view where) {
  HEDDLE_ASSIGN(const SentencePieceModel loaded, loadModel(model, where));
  return piecesOf(loaded);
}

Result<flatbuffers::Offset<manifest::Tokenizer>>
packSentencePiece(FlatBufferBuilder &builder, std::string_view model,
                  const SentencePieceSettings &settings, const LengthLimits &limits,
                  std::string_view where) {
  HEDDLE_ASSIGN(const SentencePieceModel loaded, loadModel(model, where));
  VocabularyTable vocabulary;
  if (settings.vocabulary) {
    vocabulary = *settings.vocabulary;
  } else {
    HEDDLE_ASSIGN(vocabulary, VocabularyTable::fromTokens(piecesOf(loaded), false, where));
  }
  const std::optional<uint32_t> unknown = vocabulary.idOf(settings.unknown);
  if (settings.vocabulary && !unknown) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the vocabulary beside it has no {}, which stands for the "
                                    "pieces that are not in it",
                                    where, quote(settings.unknown)));
  }
  TokenizerParts parts;
  HEDDLE_ASSIGN(parts.pieces, packTemplate(settings.before, settings.after, vocabulary, where));
  std::vector<std::string> special = settings.special;
  for (int32_t id = 0; id < loaded.size(); ++id) {
    if (loaded.isControl(id)) {
      special.push_back(loaded.piece(id));
    }
  }
  parts.added = specialTokens(special, vocabulary);
  parts.added.insert(parts.added.end(), settings.added.begin(), settings.added.end());
  const auto packedModel = writeOnce<uint8_t>(builder, model);
  const auto packedVocabulary =
      settings.vocabulary ? vocabulary.pack(builder) : flatbuffers::Offset<manifest::Vocabulary>();
  const auto packed =
      manifest::CreateSentencePiece(builder, packedModel, packedVocabulary, unknown.value_or(0));
  parts.model = {manifest::TokenizerModel::SentencePiece, packed.Union()};
  return finishTokenizer(builder, parts, limits, where);
}

} // namespace heddle
