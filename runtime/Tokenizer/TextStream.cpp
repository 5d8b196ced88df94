// SPDX-License-Identifier: Apache-2.0
///
/// Decoders stream by themselves. The SentencePiece library does not: its text of some pieces is
/// the beginning of its text of more, but for spaces at the end and for runs of bytes.
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
  certain = ids.size();
  return newText(certain, false);
}

Result<std::string> TextStream::finish() {
  if (std::holds_alternative<SentencePieceText>(tokenizer.model)) {
    return newText(ids.size(), true);
  }
  std::string piece;
  tokens.finish(piece);
  return piece;
}

/// What is new in the text of the first `count` ids.
Result<std::string> TextStream::newText(size_t count, bool isWhole) {
  HEDDLE_ASSIGN(std::string text,
                tokenizer.decodePieces(std::span(ids).first(count),
                                       std::get<SentencePieceText>(tokenizer.model)));
  if (!isWhole) {
    // Spaces at an end are removed, but not those before more text.
    text.resize(text.find_last_not_of(' ') + 1);
  }
  const size_t begin = std::min(given, text.size());
  given = std::max(given, text.size());
  return text.substr(begin);
}

} // namespace heddle
