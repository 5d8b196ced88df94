// SPDX-License-Identifier: Apache-2.0
///
/// Compares UTF-8 checks with the definition, and tests the quoting of hostile text.
#include "base/Utf8.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

/// Returns the encoding of a code point, even of an invalid one.
std::string encode(uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    return {static_cast<char>(point)};
  }
  if (point < 0x800) {
    return {static_cast<char>(0xC0 | point >> 6), tail(0)};
  }
  if (point < 0x10000) {
    return {static_cast<char>(0xE0 | point >> 12), tail(6), tail(0)};
  }
  return {static_cast<char>(0xF0 | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8Test, EveryCodePoint) {
  for (uint32_t point = 0; point < 0x120000; ++point) {
    const std::string text = "a" + encode(point);
    const bool good = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
    ASSERT_EQ(validUtf8Prefix(text), good ? text.size() : 1) << point;
  }
}

TEST(Utf8Test, PositionsOfDamage) {
  const std::string text = "0123456789abcde\u00e9fghijklmnop";
  EXPECT_EQ(validUtf8Prefix(text), text.size());
  EXPECT_EQ(validUtf8Prefix(""), 0u);
  for (size_t i = 0; i < 15; ++i) {
    std::string damaged = text;
    damaged[i] = '\x80';
    EXPECT_EQ(validUtf8Prefix(damaged), i);
  }
  // A truncated sequence, and overlong forms of the slash.
  EXPECT_EQ(validUtf8Prefix(std::string_view(text).substr(0, 16)), 15u);
  EXPECT_EQ(validUtf8Prefix("\xc0\xaf"), 0u);
  EXPECT_EQ(validUtf8Prefix("\xe0\x80\xaf"), 0u);
  EXPECT_EQ(validUtf8Prefix("\xf0\x80\x80\xaf"), 0u);
}

/// Lines, and the bytes of a line, count from 1.
TEST(Utf8Test, PlacesInATextCountFromOne) {
  EXPECT_EQ(placeInText("abc", 0), "byte 1");
  EXPECT_EQ(placeInText("abc", 3), "byte 4");
  EXPECT_EQ(placeInText("abc\n", 2), "byte 3");
  EXPECT_EQ(placeInText("", 0), "byte 1");
  EXPECT_EQ(placeInText("a\nbc", 0), "line 1, byte 1");
  EXPECT_EQ(placeInText("a\nbc", 1), "line 1, byte 2");
  EXPECT_EQ(placeInText("a\nbc", 3), "line 2, byte 2");
  EXPECT_EQ(placeInText("a\n\nc\n", 3), "line 3, byte 1");
  EXPECT_EQ(describeInvalidUtf8("\xc3\xa9"), "");
  EXPECT_EQ(describeInvalidUtf8("ab\xc3"), "byte 3 is 0xc3, expected UTF-8");
  EXPECT_EQ(describeInvalidUtf8("a\nb\xff\n"), "line 2, byte 2 is 0xff, expected UTF-8");
}

TEST(Utf8Test, Quoting) {
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("a b"), "\"a b\"");
  EXPECT_EQ(quote("say \"\\\""), "\"say \\\"\\\\\\\"\"");
  EXPECT_EQ(quote("\x1b[2J\r\n\t\x7f"), "\"\\x1b[2J\\x0d\\n\\x09\\x7f\"");
  EXPECT_EQ(quote("\u00e9\u009b\xff"), "\"\u00e9\\xc2\\x9b\\xff\"");
  EXPECT_EQ(quote(std::string_view("a\0b", 3)), "\"a\\x00b\"");
  EXPECT_EQ(quote("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(quote("abcdefg", 6), "\"abcdef...\"");
  // Never in the middle of a character.
  EXPECT_EQ(quote("ab\u00e9c", 3), "\"ab...\"");
}

} // namespace
} // namespace heddle
