// SPDX-License-Identifier: Apache-2.0
///
/// The bytes that each token adds to a text, for constraints that decide token by token. They are
/// independent of the neighbouring tokens only for decoders that concatenate tokens.
#include "runtime/Tokenizer/ByteCharacters.h"
#include "runtime/Tokenizer/TokenStream.h"
#include "runtime/Tokenizer/Tokenizer.h"

#include <fmt/format.h>
#include <variant>

namespace heddle {

static Status unsupported(std::string_view joins) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("the tokenizer {}, expected one whose text is that of "
                                  "its tokens, end to end",
                                  joins));
}

Status TokenDecoder::checkJoins() const {
  if (joinsWithSpaces) {
    return unsupported("joins tokens with spaces");
  }
  bool isFused = false;
  for (const Step &step : steps) {
    if (std::holds_alternative<WordPiece>(step)) {
      return unsupported("joins pieces of words with spaces");
    }
    if (std::holds_alternative<Suffix>(step)) {
      return unsupported("has a mark at the end of words");
    }
    // Stripping the beginning of a text that all tokens were joined to is ignored: JSON may begin
    // with or without a space.
    if (const Strip *const strip = std::get_if<Strip>(&step);
        strip != nullptr && !(isFused && strip->stop == 0 && strip->content == " ")) {
      return unsupported("strips tokens");
    }
    isFused = isFused || std::holds_alternative<Fuse>(step);
  }
  return {};
}

std::string TokenDecoder::bytesOf(std::string_view token) const {
  std::string text(token);
  for (const Step &step : steps) {
    if (std::holds_alternative<ByteLevel>(step)) {
      std::string bytes;
      appendBytes(text, bytes);
      text = std::move(bytes);
    } else if (const Metaspace *const spaces = std::get_if<Metaspace>(&step)) {
      replaceAll(text, spaces->replacement, " ");
    } else if (const Replace *const replace = std::get_if<Replace>(&step)) {
      replaceAll(text, replace->pattern, replace->content);
    } else if (std::holds_alternative<ByteFallback>(step)) {
      const std::optional<char> byte = byteOfToken(text);
      text = byte ? std::string(1, *byte) : text;
    }
  }
  return text;
}

/// Returns the bytes of a piece. The library omits spaces at both ends of a text.
static Result<std::optional<std::string>> bytesOfPiece(const SentencePieceText &pieces, int32_t id,
                                                       std::string_view piece) {
  if (const std::optional<char> byte = byteOfToken(piece)) {
    return std::optional(std::string(1, *byte));
  }
  std::string text(piece);
  replaceAll(text, "\u2581", " ");
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::string inner = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  // Pieces without text, such as the unknown token, are decoded as something else.
  HEDDLE_ASSIGN(const std::string decoded, pieces.decode({&id, 1}));
  const size_t first = std::min(decoded.find_first_not_of(' '), decoded.size());
  const std::string seen = decoded.substr(first, decoded.find_last_not_of(' ') + 1 - first);
  return seen == inner ? std::optional(text) : std::nullopt;
}

Result<std::vector<std::optional<std::string>>> Tokenizer::tokenBytes(size_t count) const {
  const auto *const pieces = std::get_if<SentencePieceText>(&model);
  if (pieces == nullptr) {
    HEDDLE_TRY(decoder.checkJoins());
  }
  std::vector<std::optional<std::string>> all(count);
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::optional<std::string_view> text = token(id);
    const AddedText *const added = findAdded(id);
    if (!text || (added != nullptr && (added->special || pieces != nullptr))) {
      continue;
    }
    if (pieces == nullptr) {
      all[i] = decoder.bytesOf(*text);
    } else {
      HEDDLE_ASSIGN(all[i], bytesOfPiece(*pieces, id, *text));
    }
  }
  return all;
}

} // namespace heddle
