// SPDX-License-Identifier: Apache-2.0
///
/// Two tables, computed at compile time.
#include "runtime/Tokenizer/ByteCharacters.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/Characters.h"

namespace heddle {

static constexpr bool standsForItself(int32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

static constexpr std::array<int16_t, 256> makeCharacters() {
  std::array<int16_t, 256> characters{};
  int16_t next = 256;
  for (int16_t byte = 0; byte < 256; ++byte) {
    characters[static_cast<size_t>(byte)] = standsForItself(byte) ? byte : next++;
  }
  return characters;
}

static constexpr std::array<int16_t, 256> characterOfByte = makeCharacters();
static constexpr size_t characterLimit = 324;

static constexpr std::array<int16_t, characterLimit> makeBytes() {
  std::array<int16_t, characterLimit> bytes{};
  bytes.fill(-1);
  for (int16_t byte = 0; byte < 256; ++byte) {
    bytes[static_cast<size_t>(characterOfByte[static_cast<size_t>(byte)])] = byte;
  }
  return bytes;
}

static constexpr std::array<int16_t, characterLimit> byteOfCharacter = makeBytes();

void appendByteCharacters(std::string_view bytes, std::string &text) {
  const size_t before = text.size();
  text.resize(before + 2 * bytes.size());
  char *to = text.data() + before;
  for (const char byte : bytes) {
    const int16_t character = characterOfByte[static_cast<unsigned char>(byte)];
    if (character < 0x80) {
      *to++ = static_cast<char>(character);
    } else {
      *to++ = static_cast<char>(0xC0 | (character >> 6));
      *to++ = static_cast<char>(0x80 | (character & 0x3F));
    }
  }
  text.resize(static_cast<size_t>(to - text.data()));
}

void appendBytes(std::string_view text, std::string &bytes) {
  const size_t before = bytes.size();
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = firstCharacter(rest);
    const int16_t byte = static_cast<size_t>(character.codePoint) < characterLimit
                             ? byteOfCharacter[static_cast<size_t>(character.codePoint)]
                             : int16_t(-1);
    if (byte < 0) {
      bytes.resize(before);
      bytes += text;
      return;
    }
    bytes.push_back(static_cast<char>(byte));
    rest.remove_prefix(character.bytes);
  }
}

namespace {
/// A truncated character: the bytes that it has, and the number that its first byte requires.
struct BrokenCharacter {
  size_t length;
  size_t wanted;
};
} // namespace

/// Returns the truncated character at the beginning of the bytes.
static BrokenCharacter brokenCharacter(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = at(0);
  size_t wanted = 1;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    wanted = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    wanted = 3;
    low = first == 0xE0 ? 0xA0 : low;
    high = first == 0xED ? 0x9F : high;
  } else if (first >= 0xF0 && first <= 0xF4) {
    wanted = 4;
    low = first == 0xF0 ? 0x90 : low;
    high = first == 0xF4 ? 0x8F : high;
  }
  size_t length = 1;
  while (length < wanted && length < bytes.size() && at(length) >= low && at(length) <= high) {
    ++length;
    low = 0x80;
    high = 0xBF;
  }
  return {length, wanted};
}

void appendAsUtf8(std::string_view bytes, std::string &text) {
  while (true) {
    const size_t valid = validUtf8Prefix(bytes);
    text += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) {
      return;
    }
    text += "\uFFFD";
    bytes.remove_prefix(brokenCharacter(bytes).length);
  }
}

size_t unfinishedBytes(std::string_view bytes) {
  constexpr size_t longest = 4;
  for (size_t count = 1; count < longest && count <= bytes.size(); ++count) {
    const std::string_view tail = bytes.substr(bytes.size() - count);
    if (continuesCharacter(tail[0])) {
      continue;
    }
    const BrokenCharacter broken = brokenCharacter(tail);
    return broken.length == count && broken.length < broken.wanted ? count : 0;
  }
  return 0;
}

} // namespace heddle
