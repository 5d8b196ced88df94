// SPDX-License-Identifier: Apache-2.0
///
/// A model file of the SentencePiece library (.spm, .model) as a tokenizer: the file itself, and
/// the ids and tokens around texts that lie beside it.
#ifndef HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEIMPORT_H

#include "formats/Tokenizer/TokenizerParts.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// What a model file does not say.
struct SentencePieceSettings {
  /// The ids of the pieces; none: those of the model file.
  std::optional<VocabularyTable> vocabulary = std::nullopt;
  /// What pieces become that the vocabulary lacks.
  std::string unknown = "<unk>";
  /// Tokens before and after those of a text.
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
  /// Tokens that are left out when ids become text, beside the model's control pieces.
  std::vector<std::string> special = {};
  /// Tokens that are sought in texts and have the ids given.
  std::vector<ImportedToken> added = {};
};

/// The pieces of a model in the order of their ids; `where` begins every message.
Result<std::vector<std::string>> readPieces(std::string_view model, std::string_view where);

/// Packs a tokenizer; `model` are the bytes of the file `where`.
Result<flatbuffers::Offset<manifest::Tokenizer>>
packSentencePiece(flatbuffers::FlatBufferBuilder &builder, std::string_view model,
                  const SentencePieceSettings &settings, const LengthLimits &limits,
                  std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEIMPORT_H
