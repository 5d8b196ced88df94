// SPDX-License-Identifier: Apache-2.0
///
/// Loads and applies character rules; utf8proc finds the graphemes.
#include "formats/Tokenizer/CharsMap.h"

#include "formats/Tokenizer/Characters.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <utf8proc.h>

namespace heddle {

static_assert(std::endian::native == std::endian::little, "units are read in place");

Result<CharsMap> CharsMap::load(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() >= sizeof(size)) {
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes.remove_prefix(sizeof(size));
  }
  if (size == 0 || size % sizeof(uint32_t) != 0 || size >= bytes.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("charsmap: a trie of {} bytes, with {} bytes after its size, "
                                    "expected a multiple of 4 and text after it",
                                    size, bytes.size()));
  }
  CharsMap result;
  result.rules = DoubleArray(bytes.substr(0, size));
  result.texts = bytes.substr(size);
  if (result.texts.back() != '\0') {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("charsmap: {} bytes of text, expected a NUL at their end",
                                    result.texts.size()));
  }
  if (!result.rules.isSafe(static_cast<uint32_t>(result.texts.size()))) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("charsmap: a trie of {} units points outside "
                                                     "itself or its {} bytes of text",
                                                     result.rules.size(), result.texts.size()));
  }
  return result;
}

std::optional<std::string_view> CharsMap::replacement(std::string_view text) const {
  DoubleArray::Place place = rules.root();
  for (const char byte : text) {
    if (byte == '\0' || !rules.step(place, static_cast<unsigned char>(byte))) {
      break;
    }
    if (place.endsKey) {
      return std::string_view(texts.data() + rules.value(place));
    }
  }
  return std::nullopt;
}

void CharsMap::appendGrapheme(std::string_view grapheme, std::string &out) const {
  constexpr size_t wholeLimit = 6;
  if (grapheme.size() < wholeLimit) {
    if (const auto text = replacement(grapheme)) {
      out += *text;
      return;
    }
  }
  while (!grapheme.empty()) {
    const std::string_view character = grapheme.substr(0, firstCharacter(grapheme).bytes);
    out += replacement(character).value_or(character);
    grapheme.remove_prefix(character.size());
  }
}

void CharsMap::append(std::string_view text, std::string &out) const {
  utf8proc_int32_t state = 0;
  size_t begin = 0;
  size_t at = 0;
  int32_t before = 0;
  while (at < text.size()) {
    const Character character = firstCharacter(text.substr(at));
    if (at > begin && utf8proc_grapheme_break_stateful(before, character.codePoint, &state)) {
      appendGrapheme(text.substr(begin, at - begin), out);
      begin = at;
    }
    before = character.codePoint;
    at += character.bytes;
  }
  appendGrapheme(text.substr(begin), out);
}

} // namespace heddle
