// SPDX-License-Identifier: Apache-2.0
///
/// The table of types, and the layout of their blocks. All numbers are little-endian; d is a scale
/// and m a minimum in f16, and blocks of 256 ("K") have d and dmin for integer scales and minimums
/// of their groups.
#include "formats/Gguf/GgufTypes.h"

#include "formats/Checkpoint/Convert.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace heddle {

static uint32_t byteAt(const std::byte *source, size_t at) {
  return std::to_integer<uint32_t>(source[at]);
}

static float halfAt(const std::byte *source, size_t at) {
  uint16_t bits;
  std::memcpy(&bits, source + at, sizeof bits);
  return f16ToF32(bits);
}

/// Splits 16 bytes with two codes each: elements 0 to 15 in the low nibbles, 16 to 31 in the high
/// ones.
static void splitHalves(const std::byte *source, int8_t *codes) {
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = static_cast<int8_t>(byteAt(source, i) & 15U);
    codes[i + 16] = static_cast<int8_t>(byteAt(source, i) >> 4);
  }
}

/// Adds the fifth bits of 32 codes, from one little-endian number.
static void addFifthBits(const std::byte *source, int8_t *codes) {
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t bit = byteAt(source, i / 8) >> (i % 8) & 1U;
    codes[i] = static_cast<int8_t>(static_cast<uint32_t>(codes[i]) | bit << 4);
  }
}

/// Layout: d, then 32 signed bytes.
static void decodeQ8(const std::byte *source, GgufBlock &block) {
  block.scales[0] = halfAt(source, 0);
  std::memcpy(block.codes, source + 2, 32);
}

/// Layout: d, then nibbles.
static void decodeQ40(const std::byte *source, GgufBlock &block) {
  block.scales[0] = halfAt(source, 0);
  splitHalves(source + 2, block.codes);
}

/// Layout: d, m, then nibbles.
static void decodeQ41(const std::byte *source, GgufBlock &block) {
  block.scales[0] = halfAt(source, 0);
  block.minimums[0] = halfAt(source, 2);
  splitHalves(source + 4, block.codes);
}

/// Layout: d, fifth bits, then nibbles.
static void decodeQ50(const std::byte *source, GgufBlock &block) {
  block.scales[0] = halfAt(source, 0);
  splitHalves(source + 6, block.codes);
  addFifthBits(source + 2, block.codes);
}

/// Layout: d, m, fifth bits, then nibbles.
static void decodeQ51(const std::byte *source, GgufBlock &block) {
  block.scales[0] = halfAt(source, 0);
  block.minimums[0] = halfAt(source, 2);
  splitHalves(source + 8, block.codes);
  addFifthBits(source + 4, block.codes);
}

/// Layout: d and dmin, then 12 bytes with eight scales and eight minimums of 6 bits. Those of
/// groups 0 to 3 are the low bits of the first and second four bytes; those of groups 4 to 7 have
/// their low nibble in the last four bytes and their high bits above the others.
static void decodeGroupScales(const std::byte *source, GgufBlock &block) {
  const float scale = halfAt(source, 0);
  const float minimum = halfAt(source, 2);
  const std::byte *const packed = source + 4;
  for (size_t i = 0; i < 8; ++i) {
    uint32_t scaleCode = byteAt(packed, i % 4);
    uint32_t minimumCode = byteAt(packed, i % 4 + 4);
    if (i < 4) {
      scaleCode &= 63U;
      minimumCode &= 63U;
    } else {
      const uint32_t low = byteAt(packed, i + 4);
      scaleCode = (low & 15U) | scaleCode >> 6 << 4;
      minimumCode = low >> 4 | minimumCode >> 6 << 4;
    }
    block.scales[i] = scale * static_cast<float>(scaleCode);
    block.minimums[i] = -(minimum * static_cast<float>(minimumCode));
  }
}

/// Splits 128 bytes: of each 32, the low nibbles are one group and the high nibbles the next.
static void splitGroups(const std::byte *source, int8_t *codes) {
  for (size_t i = 0; i < 128; ++i) {
    const size_t first = i / 32 * 64 + i % 32;
    codes[first] = static_cast<int8_t>(byteAt(source, i) & 15U);
    codes[first + 32] = static_cast<int8_t>(byteAt(source, i) >> 4);
  }
}

/// Layout: scales, then groups of nibbles.
static void decodeQ4K(const std::byte *source, GgufBlock &block) {
  decodeGroupScales(source, block);
  splitGroups(source + 16, block.codes);
}

/// Layout: scales, 32 bytes with the fifth bits (bit g of byte i is that of element i of group g),
/// then groups of nibbles.
static void decodeQ5K(const std::byte *source, GgufBlock &block) {
  decodeGroupScales(source, block);
  splitGroups(source + 48, block.codes);
  for (size_t i = 0; i < 256; ++i) {
    const uint32_t bit = byteAt(source + 16, i % 32) >> (i / 32) & 1U;
    block.codes[i] = static_cast<int8_t>(static_cast<uint32_t>(block.codes[i]) | bit << 4);
  }
}

/// Layout: 128 bytes of low nibbles, 64 of upper bit pairs, 16 signed scales, then d. Each 128
/// elements have 64 and 32 bytes: of four runs of 32 elements, the first two are in low nibbles and
/// the others in high ones, and run r has bits 2r and 2r + 1 of its byte of pairs.
static void decodeQ6K(const std::byte *source, GgufBlock &block) {
  const float scale = halfAt(source, 208);
  for (size_t i = 0; i < 16; ++i) {
    const auto code = static_cast<int8_t>(byteAt(source, 192 + i));
    block.scales[i] = scale * static_cast<float>(code);
  }
  for (size_t i = 0; i < 256; ++i) {
    const size_t half = i / 128;
    const size_t run = i % 128 / 32;
    const uint32_t low = byteAt(source, half * 64 + i % 64) >> (run / 2 * 4) & 15U;
    const uint32_t high = byteAt(source, 128 + half * 32 + i % 32) >> (2 * run) & 3U;
    block.codes[i] = static_cast<int8_t>(static_cast<int>(low | high << 4) - 32);
  }
}

/// In the order of their numbers. Types without bytes only have names for messages.
static constexpr GgufType types[] = {
    {.number = 0, .name = "F32", .bytes = 4, .plain = ElementType::F32},
    {.number = 1, .name = "F16", .bytes = 2, .plain = ElementType::F16},
    {.number = 2,
     .name = "Q4_0",
     .elements = 32,
     .bytes = 18,
     .bits = 4,
     .group = 32,
     .zero = 8,
     .decode = decodeQ40},
    {.number = 3,
     .name = "Q4_1",
     .elements = 32,
     .bytes = 20,
     .bits = 4,
     .group = 32,
     .hasMinimums = true,
     .decode = decodeQ41},
    {.number = 6,
     .name = "Q5_0",
     .elements = 32,
     .bytes = 22,
     .bits = 5,
     .group = 32,
     .zero = 16,
     .decode = decodeQ50},
    {.number = 7,
     .name = "Q5_1",
     .elements = 32,
     .bytes = 24,
     .bits = 5,
     .group = 32,
     .hasMinimums = true,
     .decode = decodeQ51},
    {.number = 8,
     .name = "Q8_0",
     .elements = 32,
     .bytes = 34,
     .bits = 8,
     .group = 32,
     .decode = decodeQ8},
    {.number = 9, .name = "Q8_1"},
    {.number = 10, .name = "Q2_K"},
    {.number = 11, .name = "Q3_K"},
    {.number = 12,
     .name = "Q4_K",
     .elements = 256,
     .bytes = 144,
     .bits = 4,
     .group = 32,
     .hasMinimums = true,
     .decode = decodeQ4K},
    {.number = 13,
     .name = "Q5_K",
     .elements = 256,
     .bytes = 176,
     .bits = 5,
     .group = 32,
     .hasMinimums = true,
     .decode = decodeQ5K},
    {.number = 14,
     .name = "Q6_K",
     .elements = 256,
     .bytes = 210,
     .bits = 6,
     .group = 16,
     .decode = decodeQ6K},
    {.number = 15, .name = "Q8_K"},
    {.number = 16, .name = "IQ2_XXS"},
    {.number = 17, .name = "IQ2_XS"},
    {.number = 18, .name = "IQ3_XXS"},
    {.number = 19, .name = "IQ1_S"},
    {.number = 20, .name = "IQ4_NL"},
    {.number = 21, .name = "IQ3_S"},
    {.number = 22, .name = "IQ2_S"},
    {.number = 23, .name = "IQ4_XS"},
    {.number = 24, .name = "I8"},
    {.number = 25, .name = "I16"},
    {.number = 26, .name = "I32"},
    {.number = 27, .name = "I64"},
    {.number = 28, .name = "F64"},
    {.number = 29, .name = "IQ1_M"},
    {.number = 30, .name = "BF16", .bytes = 2, .plain = ElementType::BF16},
    {.number = 34, .name = "TQ1_0"},
    {.number = 35, .name = "TQ2_0"},
    {.number = 39, .name = "MXFP4"},
};

const GgufType *findGgufType(uint32_t number) {
  const auto *const found =
      std::find_if(std::begin(types), std::end(types),
                   [&](const GgufType &type) { return type.number == number; });
  return found == std::end(types) ? nullptr : found;
}

std::string ggufTypeChoices() {
  std::string choices;
  for (const GgufType &type : types) {
    if (type.isRead()) {
      choices += fmt::format("{}{}", choices.empty() ? "" : ", ", type.name);
    }
  }
  return choices;
}

Status convertGgufToF32(const GgufType &type, std::span<const std::byte> source,
                        std::span<float> destination) {
  if (type.plain) {
    return convertToF32(*type.plain, source, destination);
  }
  const size_t values = source.size() / type.bytes * type.elements;
  if (source.size() % type.bytes != 0 || values != destination.size()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("holds {} values, the destination {}", values,
                                                     destination.size()));
  }
  GgufBlock block;
  for (size_t at = 0; at < values; at += type.elements) {
    type.decode(source.data() + at / type.elements * type.bytes, block);
    for (size_t i = 0; i < type.elements; ++i) {
      const float scale = block.scales[i / type.group];
      const float value = static_cast<float>(block.codes[i] - type.zero) * scale;
      destination[at + i] = type.hasMinimums ? value + block.minimums[i / type.group] : value;
    }
  }
  return {};
}

bool GgufCodes::isSymmetric() const {
  return std::find(codes.begin(), codes.end(), int8_t(-128)) == codes.end();
}

Result<GgufCodes> readGgufCodes(const GgufType &type, std::span<const std::byte> source) {
  if (type.plain || source.size() % type.bytes != 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("is {} bytes of {}, expected whole blocks of codes", source.size(), type.name));
  }
  GgufCodes result;
  result.zero = type.zero;
  result.group = type.group;
  const size_t groups = type.elements / type.group;
  GgufBlock block;
  for (size_t at = 0; at < source.size(); at += type.bytes) {
    type.decode(source.data() + at, block);
    result.codes.insert(result.codes.end(), block.codes, block.codes + type.elements);
    result.scales.insert(result.scales.end(), block.scales, block.scales + groups);
    if (type.hasMinimums) {
      result.minimums.insert(result.minimums.end(), block.minimums, block.minimums + groups);
    }
  }
  return result;
}

} // namespace heddle
