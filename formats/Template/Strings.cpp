// SPDX-License-Identifier: Apache-2.0
///
/// Space, splitting and case of strings. Case comes from utf8proc, which maps a character to one
/// character, and from a table of characters that map to several.
#include "formats/Template/Strings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utf8proc.h>

namespace heddle::chat {

int hexadecimalDigit(char c) {
  if (isDigit(c)) {
    return c - '0';
  }
  const char lower = asciiLower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool isSpace(int32_t codePoint) {
  return (codePoint >= 0x1c && codePoint <= 0x1f) || isWhiteSpace(codePoint);
}

bool isNameCharacter(int32_t codePoint) { return codePoint == '_' || isWordCharacter(codePoint); }

size_t lengthOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), isFirstByte));
}

size_t byteOf(std::string_view text, size_t characters) {
  size_t at = 0;
  while (at < text.size() && characters > 0) {
    ++at;
    while (at < text.size() && !isFirstByte(text[at])) {
      ++at;
    }
    --characters;
  }
  return at;
}

std::vector<std::string_view> charactersOf(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = characterAt(text, at).bytes;
    characters.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return characters;
}

// --- pieces ----------------------------------------------------------------------------------

static bool isStripped(Character character, std::string_view bytes,
                       std::optional<std::string_view> set) {
  return set ? set->find(bytes) != std::string_view::npos : isSpace(character.codePoint);
}

std::string_view stripBegin(std::string_view text, std::optional<std::string_view> set) {
  while (!text.empty()) {
    const Character first = firstCharacter(text);
    if (!isStripped(first, text.substr(0, first.bytes), set)) {
      break;
    }
    text.remove_prefix(first.bytes);
  }
  return text;
}

std::string_view stripEnd(std::string_view text, std::optional<std::string_view> set) {
  while (!text.empty()) {
    const Character last = lastCharacter(text);
    if (!isStripped(last, text.substr(text.size() - last.bytes), set)) {
      break;
    }
    text.remove_suffix(last.bytes);
  }
  return text;
}

size_t lengthOfSpace(std::string_view text) { return text.size() - stripBegin(text).size(); }

size_t findText(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size()) {
    return std::string_view::npos;
  }
  // The library's find() restarts at every position, which takes hours for two long runs of one
  // letter.
  const void *const found =
      memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char *>(found) - text.data());
}

std::vector<std::string_view> splitAtSpace(std::string_view text, size_t most, bool fromEnd) {
  std::vector<std::string_view> words;
  for (text = fromEnd ? stripEnd(text) : stripBegin(text); !text.empty();) {
    if (words.size() == most) {
      words.push_back(fromEnd ? stripEnd(text) : text);
      break;
    }
    std::string_view word;
    if (fromEnd) {
      size_t begin = text.size();
      while (begin > 0 && !isSpace(lastCharacter(text.substr(0, begin)).codePoint)) {
        begin -= lastCharacter(text.substr(0, begin)).bytes;
      }
      word = text.substr(begin);
      text = stripEnd(text.substr(0, begin));
    } else {
      size_t end = 0;
      while (end < text.size() && !isSpace(characterAt(text, end).codePoint)) {
        end += characterAt(text, end).bytes;
      }
      word = text.substr(0, end);
      text = stripBegin(text.substr(end));
    }
    words.push_back(word);
  }
  if (fromEnd) {
    std::reverse(words.begin(), words.end());
  }
  return words;
}

std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator,
                                      size_t most, bool fromEnd) {
  std::vector<std::string_view> pieces;
  while (pieces.size() < most) {
    const size_t found = fromEnd ? text.rfind(separator) : findText(text, separator);
    if (found == std::string_view::npos) {
      break;
    }
    if (fromEnd) {
      pieces.push_back(text.substr(found + separator.size()));
      text = text.substr(0, found);
    } else {
      pieces.push_back(text.substr(0, found));
      text = text.substr(found + separator.size());
    }
  }
  pieces.push_back(text);
  if (fromEnd) {
    std::reverse(pieces.begin(), pieces.end());
  }
  return pieces;
}

static bool endsLine(int32_t codePoint) {
  return (codePoint >= '\n' && codePoint <= '\r') || (codePoint >= 0x1c && codePoint <= 0x1e) ||
         codePoint == 0x85 || codePoint == 0x2028 || codePoint == 0x2029;
}

std::vector<std::string_view> splitLines(std::string_view text, bool keepEnds) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text, at);
    const size_t end = at;
    at += character.bytes;
    if (!endsLine(character.codePoint)) {
      continue;
    }
    at += character.codePoint == '\r' && at < text.size() && text[at] == '\n' ? 1 : 0;
    lines.push_back(text.substr(begin, (keepEnds ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) {
    lines.push_back(text.substr(begin));
  }
  return lines;
}

std::string replaceAll(std::string_view text, std::string_view from, std::string_view to,
                       size_t most) {
  std::string out;
  if (from.empty()) {
    for (const std::string_view character : charactersOf(text)) {
      out += most > 0 ? to : "";
      most -= most > 0 ? 1 : 0;
      out += character;
    }
    return most > 0 ? out.append(to) : out;
  }
  for (; most > 0; --most) {
    const size_t found = findText(text, from);
    if (found == std::string_view::npos) {
      break;
    }
    out.append(text.substr(0, found)).append(to);
    text = text.substr(found + from.size());
  }
  return out.append(text);
}

// --- case ------------------------------------------------------------------------------------

/// The value of a decimal digit, -1 for what is none. In Unicode those of a script stand together,
/// from zero to nine, and so do the sets of scripts that have several.
static int decimalDigit(int32_t codePoint) {
  const auto isDecimal = [](int32_t each) {
    return utf8proc_category(each) == UTF8PROC_CATEGORY_ND;
  };
  if (!isDecimal(codePoint)) {
    return -1;
  }
  int32_t first = codePoint;
  while (isDecimal(first - 1)) {
    --first;
  }
  return (codePoint - first) % 10;
}

std::string withAsciiDigits(std::string_view text) {
  std::string result;
  for (const std::string_view character : charactersOf(text)) {
    const int digit = decimalDigit(firstCharacter(character).codePoint);
    if (digit < 0) {
      result += character;
    } else {
      result += static_cast<char>('0' + digit);
    }
  }
  return result;
}

namespace {
struct LongCase {
  int32_t codePoint;
  std::string_view upper;
  std::string_view title;
};
constexpr LongCase longCases[] = {
#define HEDDLE_LONG_CASE(codePoint, upper, title) {codePoint, upper, title},
#include "formats/Template/LongCases.def"
};
} // namespace

static const LongCase *longCaseOf(int32_t codePoint) {
  const auto *const found =
      std::lower_bound(std::begin(longCases), std::end(longCases), codePoint,
                       [](const LongCase &each, int32_t value) { return each.codePoint < value; });
  return found != std::end(longCases) && found->codePoint == codePoint ? found : nullptr;
}

static bool isUpper(int32_t codePoint) { return utf8proc_isupper(codePoint) != 0; }
static bool isLower(int32_t codePoint) { return utf8proc_islower(codePoint) != 0; }

static bool isCased(int32_t codePoint) {
  return isUpper(codePoint) || isLower(codePoint) ||
         utf8proc_category(codePoint) == UTF8PROC_CATEGORY_LT;
}

/// Returns whether a character between letters does not end a word: marks, modifiers, some
/// punctuation.
static bool isCaseIgnorable(int32_t codePoint) {
  constexpr std::array<int32_t, 9> punctuation = {'\'',   '.',    ':',    0xb7,  0x2018,
                                                  0x2019, 0x2024, 0x2027, 0xfe13};
  switch (utf8proc_category(codePoint)) {
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_SK:
    return true;
  default:
    return std::find(punctuation.begin(), punctuation.end(), codePoint) != punctuation.end();
  }
}

/// Returns whether the sigma at a byte ends a word: it is preceded by a letter and not followed by
/// one.
static bool isFinalSigma(std::string_view text, size_t at) {
  std::string_view before = text.substr(0, at);
  while (!before.empty() && isCaseIgnorable(lastCharacter(before).codePoint)) {
    before.remove_suffix(lastCharacter(before).bytes);
  }
  std::string_view behind = text.substr(at + 2);
  while (!behind.empty() && isCaseIgnorable(firstCharacter(behind).codePoint)) {
    behind.remove_prefix(firstCharacter(behind).bytes);
  }
  return !before.empty() && isCased(lastCharacter(before).codePoint) &&
         (behind.empty() || !isCased(firstCharacter(behind).codePoint));
}

static void appendLower(std::string_view text, size_t at, int32_t codePoint, std::string &out) {
  constexpr int32_t sigma = 0x3a3;
  if (codePoint == sigma) {
    out += isFinalSigma(text, at) ? "\u03c2" : "\u03c3";
  } else {
    appendLowercase(codePoint, out);
  }
}

static void appendTitle(int32_t codePoint, std::string &out) {
  if (const LongCase *const special = longCaseOf(codePoint)) {
    out += special->title;
  } else {
    appendCharacter(utf8proc_totitle(codePoint), out);
  }
}

std::string upperCase(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text, at);
    if (const LongCase *const special = longCaseOf(character.codePoint)) {
      out += special->upper;
    } else {
      appendCharacter(utf8proc_toupper(character.codePoint), out);
    }
    at += character.bytes;
  }
  return out;
}

/// Appends the lower case of the text from a byte on.
static void appendLowerCase(std::string_view text, size_t at, std::string &out) {
  while (at < text.size()) {
    const Character character = characterAt(text, at);
    appendLower(text, at, character.codePoint, out);
    at += character.bytes;
  }
}

std::string lowerCase(std::string_view text) {
  std::string out;
  appendLowerCase(text, 0, out);
  return out;
}

std::string titleCase(std::string_view text) {
  std::string out;
  bool inWord = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text, at);
    if (inWord) {
      appendLower(text, at, character.codePoint, out);
    } else {
      appendTitle(character.codePoint, out);
    }
    inWord = isCased(character.codePoint);
    at += character.bytes;
  }
  return out;
}

std::string capitalized(std::string_view text) {
  std::string out;
  if (!text.empty()) {
    const Character first = firstCharacter(text);
    appendTitle(first.codePoint, out);
    appendLowerCase(text, first.bytes, out);
  }
  return out;
}

static bool hasOnly(std::string_view text, bool (*isWanted)(int32_t)) {
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text, at);
    if (isCased(character.codePoint) && !isWanted(character.codePoint)) {
      return false;
    }
    found = found || isWanted(character.codePoint);
    at += character.bytes;
  }
  return found;
}

bool isUpperCase(std::string_view text) { return hasOnly(text, isUpper); }
bool isLowerCase(std::string_view text) { return hasOnly(text, isLower); }

} // namespace heddle::chat
