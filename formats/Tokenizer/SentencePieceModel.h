// SPDX-License-Identifier: Apache-2.0
///
/// Wraps a model file of the SentencePiece library (.spm, .model). The compiler packs the file's
/// bytes; the runtime uses them.
#ifndef HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEMODEL_H
#define HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEMODEL_H

#include "heddle/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
} // namespace sentencepiece

namespace heddle {

/// Immutable, cheap to copy; may be used by several threads.
class SentencePieceModel {
public:
  /// Parses a model file's bytes, which are not needed afterwards. Checks the character rules
  /// first, because the library trusts them. InvalidArgument if the bytes are not such a file.
  static Result<SentencePieceModel> load(std::string_view bytes);

  /// Returns the number of pieces. Their ids count from 0.
  int32_t size() const;
  const std::string &piece(int32_t id) const;
  /// Returns the id of a piece, or that of the unknown piece.
  int32_t find(std::string_view piece) const;
  /// Returns whether a piece is a control piece, such as <s> or </s>, which is not part of texts.
  bool isControl(int32_t id) const;
  int32_t unknownId() const;
  /// Return the ids of the control pieces; -1 if the model has none.
  int32_t beginId() const;
  int32_t endId() const;

  /// Appends the ids of a text.
  Status encode(std::string_view text, std::vector<int32_t> &ids) const;
  /// Returns the text of pieces that are ids of this model.
  Result<std::string> decode(std::span<const int32_t> ids) const;
  /// Returns the text of any pieces. A piece that the model lacks is copied verbatim.
  Result<std::string> decode(const std::vector<std::string> &pieces) const;

private:
  std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_SENTENCEPIECEMODEL_H
