// SPDX-License-Identifier: Apache-2.0
///
/// Compares normal forms with the Hugging Face tokenizers library (0.23.3), by a checksum over all
/// code points and by sequences.
#include "runtime/Tokenizer/UnicodeForm.h"
#include "formats/Tokenizer/Characters.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

const UnicodeForm nfc(false, true);
const UnicodeForm nfd(false, false);
const UnicodeForm nfkc(true, true);
const UnicodeForm nfkd(true, false);

std::string normal(const UnicodeForm &form, std::string_view text) {
  std::string result = ">";
  form.append(text, result);
  return result.substr(1);
}

uint64_t hashOfAll(const UnicodeForm &form) {
  uint64_t hash = 0xCBF29CE484222325U;
  for (int32_t codePoint = 0; codePoint < 0x110000; ++codePoint) {
    if (codePoint >= 0xD800 && codePoint < 0xE000) {
      continue;
    }
    std::string character;
    appendCharacter(codePoint, character);
    for (const char byte : normal(form, character)) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
    }
  }
  return hash;
}

TEST(UnicodeFormTest, AllCodePoints) {
  EXPECT_EQ(hashOfAll(nfc), 0x23FC43766D7C2EB9U);
  EXPECT_EQ(hashOfAll(nfd), 0x2D165BB5391680A1U);
  EXPECT_EQ(hashOfAll(nfkc), 0x9D5B951DBC60F581U);
  EXPECT_EQ(hashOfAll(nfkd), 0x46E757DFEEA21CAEU);
}

TEST(UnicodeFormTest, Composes) {
  EXPECT_EQ(normal(nfc, "cafe\u0301 A\u030A"), "café Å");
  EXPECT_EQ(normal(nfc, "\u1112\u1161\u11AB"), "한");
  // A mark of a lower class in between does not prevent composition; one of the same class does.
  EXPECT_EQ(normal(nfc, "e\u0323\u0301"), "\u1EB9\u0301");
  EXPECT_EQ(normal(nfc, "a\u0332\u0301"), "á\u0332");
  EXPECT_EQ(normal(nfc, "a\u0300\u0301"), "à\u0301");
  // A starter in between does too.
  EXPECT_EQ(normal(nfc, "a\u034F\u0301"), "a\u034F\u0301");
  EXPECT_EQ(normal(nfc, "plain"), "plain");
  EXPECT_EQ(normal(nfc, ""), "");
}

TEST(UnicodeFormTest, Decomposes) {
  EXPECT_EQ(normal(nfd, "é\u0323"), "e\u0323\u0301");
  EXPECT_EQ(normal(nfd, "ﬁ"), "ﬁ");
  EXPECT_EQ(normal(nfkd, "ﬁ Å"), "fi A\u030A");
  EXPECT_EQ(normal(nfkc, "ﬁ Ａ ①"), "fi A 1");
}

TEST(UnicodeFormTest, CharactersLaterThanUnicode9Stay) {
  // Their decompositions came with versions 13 and 12.1.
  EXPECT_EQ(normal(nfd, "\U00011938"), "\U00011938");
  EXPECT_EQ(normal(nfc, "\U00011935\U00011930"), "\U00011935\U00011930");
  EXPECT_EQ(normal(nfkc, "\u32FF"), "\u32FF");
}

TEST(UnicodeFormTest, ManyMarksTakeNoSquareTime) {
  constexpr int count = 200'000;
  std::string text = "a";
  for (int i = 0; i < count; ++i) {
    text += i % 2 == 0 ? "\u0301" : "\u0323";
  }
  const std::string result = normal(nfc, text);
  EXPECT_TRUE(result.starts_with("\u1EA1\u0323"));
  EXPECT_TRUE(result.ends_with("\u0301"));
}

} // namespace
} // namespace heddle
