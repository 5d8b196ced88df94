// SPDX-License-Identifier: Apache-2.0
///
/// Checks and quotes untrusted text.
#include "base/Utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <utf8proc.h>

namespace heddle {

/// The code point at the start of a non-empty text; `length` is 0 if it is malformed.
struct CodePoint {
  size_t length;
  int32_t value;
};

static CodePoint firstCodePoint(std::string_view text) {
  utf8proc_int32_t value = -1;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &value);
  return {length > 0 ? static_cast<size_t>(length) : 0, value};
}

size_t validUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: eight bytes at a time while no high bit is set.
    uint64_t word = 0;
    if (text.size() - at >= sizeof(word)) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & 0x8080808080808080U) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const size_t length = firstCodePoint(text.substr(at)).length;
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return at;
}

std::string placeInText(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line = before.rfind('\n');
  const size_t begin = line == std::string_view::npos ? 0 : line + 1;
  // A line feed at the very end closes the only line.
  if (text.find('\n') >= text.size() - std::min<size_t>(text.size(), 1)) {
    return fmt::format("byte {}", at + 1);
  }
  return fmt::format("line {}, byte {}", std::count(before.begin(), before.end(), '\n') + 1,
                     at - begin + 1);
}

std::string describeInvalidUtf8(std::string_view text) {
  const size_t valid = validUtf8Prefix(text);
  return valid == text.size()
             ? std::string()
             : fmt::format("{} is {:#04x}, expected UTF-8", placeInText(text, valid),
                           static_cast<unsigned char>(text[valid]));
}

std::string quote(std::string_view text, size_t limit) {
  std::string result = "\"";
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = firstCodePoint(text.substr(at));
    const size_t taken = point.length == 0 ? 1 : point.length;
    if (at + taken > limit) {
      return result + "...\"";
    }
    const std::string_view sequence = text.substr(at, taken);
    // U+0080 to U+009F are terminal commands, as are those below U+0020.
    const bool control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
    if (sequence == "\n") {
      result += "\\n";
    } else if (point.length == 0 || control) {
      for (const char byte : sequence) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      if (sequence == "\"" || sequence == "\\") {
        result += '\\';
      }
      result += sequence;
    }
    at += taken;
  }
  return result + '"';
}

} // namespace heddle
