// SPDX-License-Identifier: Apache-2.0
///
/// Packs a model file of the SentencePiece library (.spm, .model) as a tokenizer, with ids and
/// surrounding tokens from the files next to it.
#ifndef HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEIMPORT_H

#include "formats/Tokenizer/TokenizerParts.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Settings that a model file does not contain.
struct SentencePieceSettings {
  /// The ids of the pieces; nullopt for those of the model file.
  std::optional<VocabularyTable> vocabulary = std::nullopt;
  /// The token for pieces that the vocabulary lacks.
  std::string unknown = "<unk>";
  /// Tokens before and after those of a text.
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
  /// Tokens that are omitted when ids become text, in addition to the model's control pieces.
  std::vector<std::string> special = {};
  /// Tokens that are searched for in texts, with their ids.
  std::vector<ImportedToken> added = {};
};

/// Returns the pieces of a model in the order of their ids; `where` begins every message.
Result<std::vector<std::string>> readPieces(std::string_view model, std::string_view where);

/// Packs a tokenizer; `model` contains the bytes of the file `where`.
Result<flatbuffers::Offset<manifest::Tokenizer>>
packSentencePiece(flatbuffers::FlatBufferBuilder &builder, std::string_view model,
                  const SentencePieceSettings &settings, const LengthLimits &limits,
                  std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEIMPORT_H
