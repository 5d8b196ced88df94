// SPDX-License-Identifier: Apache-2.0
///
/// Converts texts to ids and back with a SentencePiece model. Pieces have the model's own ids, or
/// those of a separate vocabulary, as in Marian models.
#ifndef HEDDLE_RUNTIME_TOKENIZER_SENTENCEPIECETEXT_H
#define HEDDLE_RUNTIME_TOKENIZER_SENTENCEPIECETEXT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/SentencePieceModel.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/Vocabulary.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads.
class SentencePieceText {
public:
  /// Checks the table; the table must outlive the object.
  static Result<SentencePieceText> load(const manifest::SentencePiece &table);

  /// Appends the ids of a text.
  Status appendText(std::string_view text, std::vector<int32_t> &ids) const;
  /// Returns the text of ids that are tokens.
  Result<std::string> decode(std::span<const int32_t> ids) const;
  /// Returns the token of an id; nullopt if there is none.
  std::optional<std::string_view> text(int32_t id) const;
  /// Returns the id of a token; -1 if it is unknown.
  int32_t find(std::string_view token) const;
  /// Returns the number of tokens.
  size_t size() const;

private:
  explicit SentencePieceText(SentencePieceModel model) : model(std::move(model)) {}

  SentencePieceModel model;
  std::optional<Vocabulary> tokens;
  // With a vocabulary: the id of each piece.
  std::vector<int32_t> idOfPiece;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_SENTENCEPIECETEXT_H
