// SPDX-License-Identifier: Apache-2.0
///
/// Decomposes with the library's tables; sorts and composes itself.
#include "runtime/Tokenizer/UnicodeForm.h"

#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utf8proc.h>

namespace heddle {

void UnicodeForm::decompose(int32_t codePoint, std::vector<int32_t> &out) const {
  // U+11938 decomposes canonically since Unicode 13.
  constexpr int32_t divesAkuruVowelSignO = 0x11938;
  if (codePoint < 0x80 || codePoint == divesAkuruVowelSignO ||
      (compatible && isLaterForm(codePoint))) {
    out.push_back(codePoint);
    return;
  }
  // The longest decomposition has 18 code points.
  std::array<utf8proc_int32_t, 32> parts{codePoint};
  int boundary = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      codePoint, parts.data(), parts.size(), static_cast<utf8proc_option_t>(options), &boundary);
  const auto length = std::clamp<utf8proc_ssize_t>(count, 1, parts.size());
  out.insert(out.end(), parts.begin(), parts.begin() + length);
}

/// Sorts marks by class, then position.
static void sortRun(std::span<int32_t> marks) {
  // The sort key holds an 8-bit class, the position in the text and a 21-bit code point.
  constexpr unsigned codePointBits = 21;
  constexpr unsigned classShift = 53;
  std::vector<uint64_t> keys;
  keys.reserve(marks.size());
  for (const int32_t mark : marks) {
    keys.push_back(uint64_t(combiningClass(mark)) << classShift | keys.size() << codePointBits |
                   static_cast<uint64_t>(mark));
  }
  std::sort(keys.begin(), keys.end());
  for (size_t i = 0; i < marks.size(); ++i) {
    marks[i] = static_cast<int32_t>(keys[i] & ((1U << codePointBits) - 1));
  }
}

/// Puts the marks after each letter into canonical order.
static void sortMarks(std::span<int32_t> codePoints) {
  const auto isMark = [](int32_t codePoint) {
    return codePoint >= 0x80 && combiningClass(codePoint) != 0;
  };
  for (size_t begin = 0; begin < codePoints.size(); ++begin) {
    size_t end = begin;
    while (end < codePoints.size() && isMark(codePoints[end])) {
      ++end;
    }
    if (end - begin > 1) {
      sortRun(codePoints.subspan(begin, end - begin));
    }
    begin = end;
  }
}

/// Returns the composition of two characters, if there is one.
static std::optional<int32_t> composePair(int32_t first, int32_t second) {
  if (second < 0x80 || isLaterForm(first) || isLaterForm(second)) {
    return std::nullopt;
  }
  std::array<utf8proc_int32_t, 3> pair = {first, second, 0};
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(
      pair.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  return length == 1 && !isLaterForm(pair[0]) ? std::optional(pair[0]) : std::nullopt;
}

/// Composes the result of decompose() and sortMarks() in place.
static void compose(std::vector<int32_t> &codePoints) {
  constexpr size_t none = static_cast<size_t>(-1);
  size_t starter = none;
  // The class of the previous character, unless that is the starter itself.
  int32_t classBefore = -1;
  size_t to = 0;
  for (const int32_t codePoint : codePoints) {
    const int32_t order = codePoint < 0x80 ? 0 : combiningClass(codePoint);
    if (starter != none && classBefore < order) {
      if (const auto whole = composePair(codePoints[starter], codePoint)) {
        codePoints[starter] = *whole;
        continue;
      }
    }
    if (order == 0) {
      starter = to;
      classBefore = -1;
    } else {
      classBefore = order;
    }
    codePoints[to++] = codePoint;
  }
  codePoints.resize(to);
}

void UnicodeForm::append(std::string_view text, std::string &out) const {
  const auto other = std::find_if(text.begin(), text.end(), [](char byte) { return byte < 0; });
  if (other == text.end()) {
    out += text;
    return;
  }
  // The last ASCII character may compose with the next character.
  const auto plain = static_cast<size_t>(std::max<ptrdiff_t>(other - text.begin() - 1, 0));
  out += text.substr(0, plain);
  text.remove_prefix(plain);
  std::vector<int32_t> codePoints;
  codePoints.reserve(text.size());
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    decompose(character.codePoint, codePoints);
    text.remove_prefix(character.bytes);
  }
  sortMarks(codePoints);
  if (composed) {
    compose(codePoints);
  }
  for (const int32_t codePoint : codePoints) {
    appendCharacter(codePoint, out);
  }
}

} // namespace heddle
