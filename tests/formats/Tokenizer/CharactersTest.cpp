// SPDX-License-Identifier: Apache-2.0
///
/// Compares character classes and normal forms with the Hugging Face tokenizers library (0.23.3),
/// by a checksum over all code points and by examples.
#include "formats/Tokenizer/Characters.h"
#include "runtime/Tokenizer/BertNormalizer.h"

#include <array>
#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(CharactersTest, ClassesOfAllCodePoints) {
  // Counts and an FNV-1a hash of the reference's classes, in code point order.
  std::array<int, 5> counts{};
  uint64_t hash = 0xCBF29CE484222325U;
  for (int32_t codePoint = 0; codePoint < 0x110000; ++codePoint) {
    if (codePoint >= 0xD800 && codePoint < 0xE000) {
      continue;
    }
    const std::array<bool, 5> classes = {isRemovedByCleaning(codePoint), isWhiteSpace(codePoint),
                                         isPunctuation(codePoint), isNonspacingMark(codePoint),
                                         isIdeograph(codePoint)};
    uint64_t bits = 0;
    for (size_t i = 0; i < classes.size(); ++i) {
      counts[i] += classes[i] ? 1 : 0;
      bits |= uint64_t(classes[i]) << i;
    }
    hash = (hash ^ bits) * 0x100000001B3U;
  }
  EXPECT_EQ(counts, (std::array<int, 5>{137681, 25, 726, 1567, 81264}));
  EXPECT_EQ(hash, 0x74EB8029CEC28C28U);
}

TEST(CharactersTest, LettersNumbersAndMarksOfAllCodePoints) {
  // The same for \\p{L} and \\p{N} of its regular expressions, and the marks that StripAccents
  // removes.
  std::array<int, 3> counts{};
  uint64_t hash = 0xCBF29CE484222325U;
  for (int32_t codePoint = 0; codePoint < 0x110000; ++codePoint) {
    if (codePoint >= 0xD800 && codePoint < 0xE000) {
      continue;
    }
    const std::array<bool, 3> classes = {isLetter(codePoint), isNumber(codePoint),
                                         isCombiningMark(codePoint)};
    uint64_t bits = 0;
    for (size_t i = 0; i < classes.size(); ++i) {
      counts[i] += classes[i] ? 1 : 0;
      bits |= uint64_t(classes[i]) << i;
    }
    hash = (hash ^ bits) * 0x100000001B3U;
  }
  EXPECT_EQ(counts, (std::array<int, 3>{141028, 1911, 2097}));
  EXPECT_EQ(hash, 0x9838B0A06C03244FU);
}

TEST(CharactersTest, WordCharacters) {
  for (const int32_t word : {0x61, 0x5A, 0x30, 0x5F, 0xE9, 0x301, 0x203F, 0x200D, 0x24B6, 0x1F130,
                             0x1F150, 0x1F170, 0x2160, 0x4E00}) {
    EXPECT_TRUE(isWordCharacter(word)) << word;
  }
  for (const int32_t other : {0x2D, 0x20, 0x5B, 0xA0, 0xB2, 0x2014, 0x200B, 0x1F600}) {
    EXPECT_FALSE(isWordCharacter(other)) << other;
  }
}

TEST(CharactersTest, FirstAndLast) {
  EXPECT_EQ(firstCharacter("é1").codePoint, 0xE9);
  EXPECT_EQ(firstCharacter("é1").bytes, 2u);
  EXPECT_EQ(lastCharacter("1\U0001F600").codePoint, 0x1F600);
  // A malformed character is one byte long.
  EXPECT_EQ(firstCharacter("\xff").codePoint, 0xFFFD);
  EXPECT_EQ(firstCharacter("\xc3").bytes, 1u);
  EXPECT_EQ(lastCharacter("\x80\x80").codePoint, 0xFFFD);
}

std::string normal(std::string_view text, BertNormalizer::Options options) {
  std::string result = ">";
  BertNormalizer(options).append(text, result);
  return result.substr(1);
}

constexpr BertNormalizer::Options all = {true, true, true, true};

TEST(BertNormalizerTest, CleansText) {
  EXPECT_EQ(normal(std::string_view("a\0b\tc\nd\re\001f\x7f", 12), {.cleanText = true}),
            "ab c d ef");
  EXPECT_EQ(normal("a\u0085b\u00a0c\u3000d\u200be\ufefff\ufffdg\u00adh", {.cleanText = true}),
            "ab c defgh");
  EXPECT_EQ(normal("\U000E0001\uE000\u0378", {.cleanText = true}), "\u0378");
  EXPECT_EQ(normal(std::string_view("a\0\t", 3), {}), std::string_view("a\0\t", 3));
}

TEST(BertNormalizerTest, SetsIdeographsApart) {
  EXPECT_EQ(normal("a你b好", {.handleChineseChars = true}), "a 你 b 好 ");
  EXPECT_EQ(normal("かなカナ한글", {.handleChineseChars = true}), "かなカナ한글");
  // Ideographs get spaces before they are decomposed.
  EXPECT_EQ(normal("\uF900", all), " \u8C48 ");
}

TEST(BertNormalizerTest, StripsAccents) {
  EXPECT_EQ(normal("Café ÅNGSTRÖM", {.stripAccents = true}), "Cafe ANGSTROM");
  EXPECT_EQ(normal("e\u0301\u0323", {.stripAccents = true}), "e");
  EXPECT_EQ(normal("한", {.stripAccents = true}), "\u1112\u1161\u11AB");
  // Spacing marks stay, in canonical order. A removed mark of class 0 still separates them.
  EXPECT_EQ(normal("a\U0001D16D\U0001D165", {.stripAccents = true}), "a\U0001D165\U0001D16D");
  EXPECT_EQ(normal("a\U0001D16D\u034F\U0001D165", {.stripAccents = true}), "a\U0001D16D\U0001D165");
  // A character removed by cleaning does not separate them.
  EXPECT_EQ(normal("a\U0001D16D\x01\U0001D165", {.cleanText = true, .stripAccents = true}),
            "a\U0001D165\U0001D16D");
  EXPECT_EQ(normal("a\U0001D16D\u200B\U0001D165", {.cleanText = true, .stripAccents = true}),
            "a\U0001D165\U0001D16D");
}

TEST(BertNormalizerTest, LowersTheCase) {
  EXPECT_EQ(normal("ABZ[ÀÉΣ", {.lowercase = true}), "abz[àéσ");
  EXPECT_EQ(normal("ΟΔΟΣ", {.lowercase = true}), "οδοσ");
  EXPECT_EQ(normal("İ", {.lowercase = true}), "i\u0307");
  EXPECT_EQ(normal("İI", all), "ii");
  EXPECT_EQ(normal("\u1E9E", all), "ß");
}

TEST(BertNormalizerTest, ManyMarksTakeNoSquareTime) {
  std::string text = "a";
  std::string expected = "a";
  constexpr int count = 200'000;
  for (int i = 0; i < count; ++i) {
    text += i % 2 == 0 ? "\U0001D16D" : "\U0001D165";
  }
  for (int i = 0; i < count; ++i) {
    expected += i < count / 2 ? "\U0001D165" : "\U0001D16D";
  }
  EXPECT_EQ(normal(text, all), expected);
}

} // namespace
} // namespace heddle
