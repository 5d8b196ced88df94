// SPDX-License-Identifier: Apache-2.0
///
/// Character classes from utf8proc's categories, corrected where the reference's tables differ.
#include "formats/Tokenizer/Characters.h"

#include "base/Utf8.h"

#include <algorithm>
#include <array>
#include <span>
#include <utf8proc.h>

namespace heddle {

namespace {
struct CharacterRange {
  int32_t first;
  int32_t last;
};
struct CategoryRange {
  int32_t first;
  int32_t last;
  utf8proc_category_t category;
};
} // namespace

static constexpr auto laterCharacters = std::to_array<CharacterRange>({
#define HEDDLE_LATER_CHARACTERS(first, last) {first, last},
#include "formats/Tokenizer/LaterCharacters.def"
});

static constexpr auto laterMarks = std::to_array<CharacterRange>({
#define HEDDLE_LATER_MARKS(first, last) {first, last},
#include "formats/Tokenizer/LaterCharacters.def"
});

static constexpr auto laterCombining = std::to_array<CharacterRange>({
#define HEDDLE_LATER_COMBINING(first, last) {first, last},
#include "formats/Tokenizer/LaterCharacters.def"
});

static constexpr auto laterForms = std::to_array<CharacterRange>({
#define HEDDLE_LATER_FORMS(first, last) {first, last},
#include "formats/Tokenizer/LaterCharacters.def"
});

static constexpr auto newerCategories = std::to_array<CategoryRange>({
#define HEDDLE_NEWER_CATEGORY(first, last, category) {first, last, UTF8PROC_CATEGORY_##category},
#include "formats/Tokenizer/LaterCharacters.def"
});

// Characters that changed category since Unicode 8.
static constexpr int32_t tagalogPamudpod = 0x1734;
static constexpr int32_t canadianSyllabicsChi = 0x166D;
static constexpr int32_t sharadaSandhiMark = 0x111C9;
static constexpr int32_t vedicSignArdhavisarga = 0x1CF2;
static constexpr int32_t vedicSignRotatedArdhavisarga = 0x1CF3;

static constexpr int32_t replacementCharacter = 0xFFFD;

/// Returns whether one of the ranges, which ascend, contains the code point.
static bool isIn(std::span<const CharacterRange> ranges, int32_t codePoint) {
  const auto range =
      std::lower_bound(ranges.begin(), ranges.end(), codePoint,
                       [](CharacterRange range, int32_t value) { return range.last < value; });
  return range != ranges.end() && range->first <= codePoint;
}

static bool isLater(int32_t codePoint) { return isIn(laterCharacters, codePoint); }

Character firstCharacter(std::string_view text) {
  if (const auto byte = static_cast<unsigned char>(text[0]); byte < 0x80) {
    return {byte, 1};
  }
  utf8proc_int32_t codePoint = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &codePoint);
  return length > 0 ? Character{codePoint, static_cast<size_t>(length)}
                    : Character{replacementCharacter, 1};
}

Character lastCharacter(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && continuesCharacter(text[begin])) {
    --begin;
  }
  return firstCharacter(text.substr(begin));
}

void appendCharacter(int32_t codePoint, std::string &text) {
  if (codePoint < 0x80) {
    text.push_back(static_cast<char>(codePoint));
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t length = utf8proc_encode_char(codePoint, bytes.data());
  text.append(reinterpret_cast<const char *>(bytes.data()), static_cast<size_t>(length));
}

bool isWhiteSpace(int32_t codePoint) {
  if ((codePoint >= '\t' && codePoint <= '\r') || codePoint == 0x85) {
    return true;
  }
  const utf8proc_category_t category = utf8proc_category(codePoint);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool isRemovedByCleaning(int32_t codePoint) {
  if (codePoint == '\t' || codePoint == '\n' || codePoint == '\r') {
    return false;
  }
  if (codePoint == 0 || codePoint == replacementCharacter) {
    return true;
  }
  const utf8proc_category_t category = utf8proc_category(codePoint);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CO ||
         (category == UTF8PROC_CATEGORY_CF && !isLater(codePoint));
}

bool isIdeograph(int32_t codePoint) {
  static constexpr auto ranges = std::to_array<CharacterRange>({
      {0x3400, 0x4DBF},
      {0x4E00, 0x9FFF},
      {0xF900, 0xFAFF},
      {0x20000, 0x2A6DF},
      {0x2A700, 0x2B81F},
      // The reference excludes 2B820 to 2B91F.
      {0x2B920, 0x2CEAF},
      {0x2F800, 0x2FA1F},
  });
  return codePoint >= ranges.front().first && isIn(ranges, codePoint);
}

bool isPunctuation(int32_t codePoint) {
  if (codePoint < 0x80) {
    return (codePoint >= '!' && codePoint <= '/') || (codePoint >= ':' && codePoint <= '@') ||
           (codePoint >= '[' && codePoint <= '`') || (codePoint >= '{' && codePoint <= '~');
  }
  if (codePoint == canadianSyllabicsChi || codePoint == sharadaSandhiMark) {
    return true;
  }
  const utf8proc_category_t category = utf8proc_category(codePoint);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO &&
         !isLater(codePoint);
}

bool isNonspacingMark(int32_t codePoint) {
  return codePoint == tagalogPamudpod ||
         (utf8proc_category(codePoint) == UTF8PROC_CATEGORY_MN && !isLater(codePoint));
}

bool isCombiningMark(int32_t codePoint) {
  if (codePoint == vedicSignArdhavisarga || codePoint == vedicSignRotatedArdhavisarga) {
    return true;
  }
  const utf8proc_category_t category = utf8proc_category(codePoint);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME &&
         !isIn(laterCombining, codePoint);
}

bool isLaterForm(int32_t codePoint) { return isIn(laterForms, codePoint); }

void appendLowercase(int32_t codePoint, std::string &text) {
  constexpr int32_t capitalIWithDot = 0x130;
  if (codePoint == capitalIWithDot) {
    // The only character with a full mapping to two; the library has the simple mappings.
    text += "i\u0307";
  } else {
    appendCharacter(utf8proc_tolower(codePoint), text);
  }
}

/// Returns the category of a character in regular expressions.
static utf8proc_category_t categoryOf(int32_t codePoint) {
  const auto range = std::lower_bound(
      newerCategories.begin(), newerCategories.end(), codePoint,
      [](const CategoryRange &range, int32_t value) { return range.last < value; });
  return range != newerCategories.end() && range->first <= codePoint ? range->category
                                                                     : utf8proc_category(codePoint);
}

bool isLetter(int32_t codePoint) {
  if (codePoint < 0x80) {
    return (codePoint >= 'a' && codePoint <= 'z') || (codePoint >= 'A' && codePoint <= 'Z');
  }
  utf8proc_category_t category = utf8proc_category(codePoint);
  category = category == UTF8PROC_CATEGORY_CN ? categoryOf(codePoint) : category;
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isNumber(int32_t codePoint) {
  if (codePoint < 0x80) {
    return codePoint >= '0' && codePoint <= '9';
  }
  utf8proc_category_t category = utf8proc_category(codePoint);
  category = category == UTF8PROC_CATEGORY_CN ? categoryOf(codePoint) : category;
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

std::string_view generalCategory(int32_t codePoint) {
  // In the order of the library's numbers.
  static constexpr std::string_view names =
      "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";
  return names.substr(2 * static_cast<size_t>(categoryOf(codePoint)), 2);
}

int32_t combiningClass(int32_t codePoint) {
  const int32_t known = utf8proc_get_property(codePoint)->combining_class;
  return known != 0 && isIn(laterMarks, codePoint) ? 0 : known;
}

bool isWordCharacter(int32_t codePoint) {
  switch (utf8proc_category(codePoint)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    break;
  }
  // Join controls, and circled and squared letters, which count as alphabetic.
  return codePoint == 0x200C || codePoint == 0x200D ||
         (codePoint >= 0x24B6 && codePoint <= 0x24E9) ||
         (codePoint >= 0x1F130 && codePoint <= 0x1F149) ||
         (codePoint >= 0x1F150 && codePoint <= 0x1F169) ||
         (codePoint >= 0x1F170 && codePoint <= 0x1F189);
}

} // namespace heddle
