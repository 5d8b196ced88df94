// SPDX-License-Identifier: Apache-2.0
///
/// Sorts the marks after a letter itself, because the library's insertion sort takes quadratic time
/// and a text may be one letter with a million marks.
#include "runtime/Tokenizer/BertNormalizer.h"

#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <tuple>
#include <utf8proc.h>

namespace heddle {

BertNormalizer::BertNormalizer(Options options) : options(options) {
  for (size_t i = 0; i < ascii.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i);
    unsigned char result = byte;
    if (options.cleanText && isRemovedByCleaning(byte)) {
      result = removed;
    } else if (options.cleanText && isWhiteSpace(byte)) {
      result = ' ';
    } else if (options.lowercase && byte >= 'A' && byte <= 'Z') {
      result = static_cast<unsigned char>(byte - 'A' + 'a');
    }
    ascii[i] = result;
  }
}

/// Appends the ASCII prefix of `text` and returns its length.
size_t BertNormalizer::appendAscii(std::string_view text, std::string &out) const {
  size_t length = 0;
  while (length < text.size() && static_cast<unsigned char>(text[length]) < 0x80) {
    ++length;
  }
  const size_t before = out.size();
  out.resize(before + length);
  char *to = out.data() + before;
  for (size_t i = 0; i < length; ++i) {
    const unsigned char result = ascii[static_cast<unsigned char>(text[i])];
    *to = static_cast<char>(result);
    to += result == removed ? 0 : 1;
  }
  out.resize(static_cast<size_t>(to - out.data()));
  return length;
}

void BertNormalizer::lower(int32_t codePoint, std::string &out) const {
  if (options.lowercase) {
    appendLowercase(codePoint, out);
  } else {
    appendCharacter(codePoint, out);
  }
}

void BertNormalizer::flush(Marks &marks, std::string &out) const {
  std::sort(marks.begin(), marks.end(), [](const Mark &left, const Mark &right) {
    return std::tie(left.order, left.position) < std::tie(right.order, right.position);
  });
  for (const Mark &mark : marks) {
    lower(mark.codePoint, out);
  }
  marks.clear();
}

/// Applies the canonical decomposition. Drops nonspacing marks and holds back other marks for
/// sorting.
void BertNormalizer::decompose(int32_t codePoint, Marks &marks, std::string &out) const {
  // It decomposes since Unicode 13, but the tokenizers used in training have Unicode 9.
  constexpr int32_t divesAkuruVowelSignO = 0x11938;
  // The longest canonical decomposition has four code points.
  std::array<utf8proc_int32_t, 16> parts{codePoint};
  utf8proc_ssize_t count = 1;
  if (codePoint != divesAkuruVowelSignO) {
    int boundary = 0;
    count = utf8proc_decompose_char(codePoint, parts.data(), parts.size(), UTF8PROC_DECOMPOSE,
                                    &boundary);
    count = std::min<utf8proc_ssize_t>(count, parts.size());
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const int32_t part = parts[static_cast<size_t>(i)];
    const int32_t order = combiningClass(part);
    if (order == 0) {
      // Flushed even if the letter is dropped: marks do not move across it.
      flush(marks, out);
    }
    if (isNonspacingMark(part)) {
      continue;
    }
    if (order == 0) {
      lower(part, out);
    } else {
      marks.push_back({part, order, marks.size()});
    }
  }
}

void BertNormalizer::appendOther(int32_t codePoint, Marks &marks, std::string &out) const {
  if (options.cleanText) {
    if (isRemovedByCleaning(codePoint)) {
      return;
    }
    if (isWhiteSpace(codePoint)) {
      flush(marks, out);
      out.push_back(' ');
      return;
    }
  }
  const bool apart = options.handleChineseChars && isIdeograph(codePoint);
  if (apart) {
    flush(marks, out);
    out.push_back(' ');
  }
  if (options.stripAccents) {
    decompose(codePoint, marks, out);
  } else {
    lower(codePoint, out);
  }
  if (apart) {
    out.push_back(' ');
  }
}

void BertNormalizer::append(std::string_view text, std::string &out) const {
  Marks marks;
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    if (character.codePoint >= 0x80) {
      appendOther(character.codePoint, marks, out);
      text.remove_prefix(character.bytes);
      continue;
    }
    // Removed characters do not separate marks.
    if (ascii[static_cast<size_t>(character.codePoint)] == removed) {
      text.remove_prefix(1);
      continue;
    }
    flush(marks, out);
    text.remove_prefix(appendAscii(text, out));
  }
  flush(marks, out);
}

} // namespace heddle
