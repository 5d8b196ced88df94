// SPDX-License-Identifier: Apache-2.0
///
/// Four characters are three bytes.
#include "formats/Tokenizer/Base64.h"

#include <cstdint>

namespace heddle {

std::optional<std::string> decodeBase64(std::string_view text) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  for (int i = 0; i < 2 && text.ends_with('='); ++i) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char character : text) {
    const size_t digit = alphabet.find(character);
    if (digit == alphabet.npos) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return bytes;
}

} // namespace heddle
