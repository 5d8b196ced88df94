// SPDX-License-Identifier: Apache-2.0
///
/// Character rules: a small map written by hand, and damaged ones.
#include "formats/Tokenizer/CharsMap.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

/// One rule: "A" becomes "x". The trie has 512 units, and the base of the root is 256.
struct SmallMap {
  std::vector<uint32_t> units = std::vector<uint32_t>(512);
  std::string texts = std::string("x\0", 2);
  std::optional<uint32_t> size;

  SmallMap() {
    units[0] = 256U << 10;
    // Its base is 257, where the value is stored.
    units[256 ^ 'A'] = ((256U ^ 'A' ^ 257U) << 10) | 1U << 8 | 'A';
    units[257] = 0U | 1U << 31;
  }

  std::string bytes() const {
    const uint32_t stated = size.value_or(static_cast<uint32_t>(units.size() * 4));
    std::string result(reinterpret_cast<const char *>(&stated), 4);
    result.append(reinterpret_cast<const char *>(units.data()), units.size() * 4);
    return result + texts;
  }
  std::string refusal() const {
    const std::string all = bytes();
    return std::string(CharsMap::load(all).status().message());
  }
};

std::string mapped(std::string_view text) {
  const std::string bytes = SmallMap().bytes();
  const Result<CharsMap> map = CharsMap::load(bytes);
  EXPECT_TRUE(map.ok()) << map.status().message();
  std::string result;
  map->append(text, result);
  return result;
}

TEST(CharsMapTest, Replaces) {
  EXPECT_EQ(mapped("AbA A"), "xbx x");
  EXPECT_EQ(mapped(""), "");
  EXPECT_EQ(mapped(std::string_view("\0A", 2)), std::string_view("\0x", 2));
}

TEST(CharsMapTest, Graphemes) {
  // A short grapheme is replaced as a whole, a long one character by character.
  EXPECT_EQ(mapped("A\u0301b"), "xb");
  EXPECT_EQ(mapped("A\u0301\u0301\u0301b"), "x\u0301\u0301\u0301b");
}

TEST(CharsMapTest, DamagedMaps) {
  EXPECT_EQ(CharsMap::load("").status().message(),
            "charsmap: a trie of 0 bytes, with 0 bytes after its size, expected a multiple of 4 "
            "and text after it");
  SmallMap odd;
  odd.size = 6;
  EXPECT_EQ(odd.refusal(), "charsmap: a trie of 6 bytes, with 2050 bytes after its size, expected "
                           "a multiple of 4 and text after it");
  SmallMap large;
  large.size = 4000;
  EXPECT_EQ(large.refusal(), "charsmap: a trie of 4000 bytes, with 2050 bytes after its size, "
                             "expected a multiple of 4 and text after it");
  SmallMap open;
  open.texts = "xy";
  EXPECT_EQ(open.refusal(), "charsmap: 2 bytes of text, expected a NUL at their end");
  SmallMap base;
  base.units[300] = 512U << 10;
  EXPECT_EQ(base.refusal(),
            "charsmap: a trie of 512 units points outside itself or its 2 bytes of text");
  SmallMap value;
  value.units[257] = 2U | 1U << 31;
  EXPECT_EQ(value.refusal(),
            "charsmap: a trie of 512 units points outside itself or its 2 bytes of text");
  // A root that is also a value: SentencePiece includes that bit in its offset.
  SmallMap root;
  root.units[0] |= 1U << 31;
  EXPECT_EQ(root.refusal(),
            "charsmap: a trie of 512 units points outside itself or its 2 bytes of text");
}

} // namespace
} // namespace heddle
