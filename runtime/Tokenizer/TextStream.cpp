// SPDX-License-Identifier: Apache-2.0
///
/// Decoders are incremental themselves. The SentencePiece library is not: its text of some pieces
/// is a prefix of its text of more pieces, except for spaces at the end and runs of bytes. The text
/// after a piece with visible text depends on that piece alone: spaces are only removed where
/// nothing precedes them.
#include "runtime/Tokenizer/TextStream.h"

#include "runtime/Tokenizer/Tokenizer.h"

#include <algorithm>
#include <variant>

namespace heddle {

TextStream::TextStream(const Tokenizer &tokenizer, bool skipSpecial)
    : tokenizer(tokenizer), skipSpecial(skipSpecial), tokens(tokenizer.decoder) {}

Result<std::string> TextStream::add(int32_t id) {
  HEDDLE_ASSIGN(const std::string_view token, tokenizer.knownToken(id));
  const Tokenizer::AddedText *const added = tokenizer.findAdded(id);
  std::string piece;
  if (skipSpecial && added != nullptr && added->special) {
    return piece;
  }
  if (!std::holds_alternative<SentencePieceText>(tokenizer.model)) {
    tokens.add(token, piece);
    return piece;
  }
  ids.push_back(id);
  if (byteOfToken(token)) {
    return piece;
  }
  HEDDLE_ASSIGN(std::string text, newText(false));
  HEDDLE_TRY(forget());
  return text;
}

Result<std::string> TextStream::finish() {
  if (std::holds_alternative<SentencePieceText>(tokenizer.model)) {
    return newText(true);
  }
  std::string piece;
  tokens.finish(piece);
  return piece;
}

/// Returns the text of some ids; without the spaces at its end unless `isWhole`.
Result<std::string> TextStream::textOf(std::span<const int32_t> some, bool isWhole) const {
  HEDDLE_ASSIGN(std::string text,
                tokenizer.decodePieces(some, std::get<SentencePieceText>(tokenizer.model)));
  if (!isWhole) {
    // Trailing spaces are removed, but not those before more text.
    text.resize(text.find_last_not_of(' ') + 1);
  }
  return text;
}

/// Returns the new part of the text of the ids.
Result<std::string> TextStream::newText(bool isWhole) {
  HEDDLE_ASSIGN(const std::string text, textOf(ids, isWhole));
  const size_t begin = std::min(given, text.size());
  given = std::max(given, text.size());
  return text.substr(begin);
}

/// Discards the ids before the last one, if that has its own text: otherwise the time would be
/// quadratic in the length.
Status TextStream::forget() {
  HEDDLE_ASSIGN(const std::string alone, textOf(std::span(ids).last(1), false));
  if (!alone.empty()) {
    ids.erase(ids.begin(), ids.end() - 1);
    given = alone.size();
  }
  return {};
}

} // namespace heddle
