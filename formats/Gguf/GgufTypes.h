// SPDX-License-Identifier: Apache-2.0
///
/// The element types of GGUF files. A plain type stores each element by itself, a quantised one
/// blocks of consecutive elements of a row: integer codes with scales, and perhaps minimums, that
/// groups of them share. One table has the sizes, the meaning of the codes and their decoder.
#ifndef HEDDLE_FORMATS_GGUF_GGUFTYPES_H
#define HEDDLE_FORMATS_GGUF_GGUFTYPES_H

#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The most elements of a block, and the most groups in one.
inline constexpr size_t ggufBlockLimit = 256;
inline constexpr size_t ggufGroupLimit = 16;

/// A block of codes and what its groups share. Element i has the value
/// (codes[i] - zero) * scales[i / group], plus minimums[i / group] if the type has minimums.
struct GgufBlock {
  int8_t codes[ggufBlockLimit];
  float scales[ggufGroupLimit];
  float minimums[ggufGroupLimit];
};

/// A line of the table.
struct GgufType {
  /// Its number in files, and its name as ggml spells it.
  uint32_t number;
  std::string_view name;
  /// Elements of a block, 1 in a plain type, and bytes of one. 0 bytes: the type is not read.
  uint32_t elements = 1;
  uint32_t bytes = 0;
  /// The element type of a plain type.
  std::optional<ElementType> plain = std::nullopt;
  /// Quantised types: bits of a code, consecutive elements that share a scale, the code of the
  /// value 0 (or of the minimum), and whether groups have minimums.
  uint32_t bits = 0;
  uint32_t group = 0;
  int8_t zero = 0;
  bool hasMinimums = false;
  /// Decodes `bytes` unaligned bytes.
  void (*decode)(const std::byte *source, GgufBlock &block) = nullptr;

  bool isRead() const { return bytes > 0; }
};

/// The type of that number, whether it is read or only known by name; null for other numbers.
const GgufType *findGgufType(uint32_t number);
/// The names of the types that are read, for messages.
std::string ggufTypeChoices();

/// Converts whole blocks of a type that is read to f32, with the bits of ggml's own conversion: in
/// f32, codes times scales, then plus minimums. InvalidArgument if `source` does not hold exactly
/// as many values as `destination`.
Status convertGgufToF32(const GgufType &type, std::span<const std::byte> source,
                        std::span<float> destination);

/// The integers of a quantised tensor as they are in the file, row by row, for a reader that keeps
/// them. Value i is (codes[i] - zero) * scales[i / group], plus minimums[i / group] if there are
/// any.
struct GgufCodes {
  /// Q8_0: -128 to 127, zero 0. Q4_0: 0 to 15, zero 8. Q5_0: 0 to 31, zero 16. Q4_1, Q4_K: 0 to 15
  /// and Q5_1, Q5_K: 0 to 31, with minimums. Q6_K: -32 to 31, zero 0.
  std::vector<int8_t> codes;
  int8_t zero = 0;
  /// Elements that share a scale: 32, or 16 for Q6_K. It divides the length of a row.
  uint32_t group = 0;
  std::vector<float> scales;
  /// One for each scale, or none.
  std::vector<float> minimums;

  /// Whether all codes lie within -127 to 127. Codes of Q8_0 always do when ggml has written them,
  /// but -128 is a valid file: a type of codes that lacks it cannot keep such a tensor, which has
  /// to be converted to f32 instead. No code is ever clamped.
  bool isSymmetric() const;
};

/// Decodes whole blocks. InvalidArgument for a plain type, and if `source` is not whole blocks.
Result<GgufCodes> readGgufCodes(const GgufType &type, std::span<const std::byte> source);

} // namespace heddle

#endif // HEDDLE_FORMATS_GGUF_GGUFTYPES_H
