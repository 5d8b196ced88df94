// SPDX-License-Identifier: Apache-2.0
///
/// The element types of GGUF files. A plain type stores each element separately; a quantised type
/// stores blocks of consecutive elements of a row: integer codes with scales, and optionally
/// minimums, that groups of elements share. One table has the sizes, the meaning of the codes and
/// their decoder.
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

/// The maximum number of elements of a block, and of groups in one.
inline constexpr size_t ggufBlockLimit = 256;
inline constexpr size_t ggufGroupLimit = 16;

/// A decoded block: codes, and the data that its groups share. Element i has the value (codes[i] -
/// zero) * scales[i / group], plus minimums[i / group] if the type has minimums.
struct GgufBlock {
  int8_t codes[ggufBlockLimit];
  float scales[ggufGroupLimit];
  float minimums[ggufGroupLimit];
};

/// A line of the table.
struct GgufType {
  /// The number in files, and ggml's name.
  uint32_t number;
  std::string_view name;
  /// The elements of a block, 1 for a plain type, and the bytes of one. 0 bytes: the type cannot be
  /// read.
  uint32_t elements = 1;
  uint32_t bytes = 0;
  /// The element type of a plain type.
  std::optional<ElementType> plain = std::nullopt;
  /// For quantised types: the bits of a code, the number of consecutive elements that share a
  /// scale, the code of the value 0 (or of the minimum), and whether groups have minimums.
  uint32_t bits = 0;
  uint32_t group = 0;
  int8_t zero = 0;
  bool hasMinimums = false;
  /// Decodes a block of `bytes` unaligned bytes.
  void (*decode)(const std::byte *source, GgufBlock &block) = nullptr;

  bool isRead() const { return bytes > 0; }
};

/// Returns the type of that number, even if it is only known by name; null for other numbers.
const GgufType *findGgufType(uint32_t number);
/// Returns the names of the types that can be read, for messages.
std::string ggufTypeChoices();

/// Converts whole blocks of a readable type to f32, with the same bits as ggml's conversion: in
/// f32, codes times scales, then plus minimums. InvalidArgument if `source` and `destination` have
/// different numbers of values.
Status convertGgufToF32(const GgufType &type, std::span<const std::byte> source,
                        std::span<float> destination);

/// The integers of a quantised tensor as in the file, row by row, for readers that keep them. Value
/// i is (codes[i] - zero) * scales[i / group], plus minimums[i / group] if there are any.
struct GgufCodes {
  /// Q8_0: -128 to 127, zero 0. Q4_0: 0 to 15, zero 8. Q5_0: 0 to 31, zero 16. Q4_1, Q4_K: 0 to 15,
  /// and Q5_1, Q5_K: 0 to 31, with minimums. Q6_K: -32 to 31, zero 0.
  std::vector<int8_t> codes;
  int8_t zero = 0;
  /// The number of elements that share a scale: 32, or 16 for Q6_K. It divides the length of a row.
  uint32_t group = 0;
  std::vector<float> scales;
  /// One for each scale, or none.
  std::vector<float> minimums;

  /// Returns whether all codes are in -127 to 127. ggml never writes the Q8_0 code -128, but a
  /// valid file may contain it: a code type without it cannot keep such a tensor, which must be
  /// converted to f32 instead. Codes are never clamped.
  bool isSymmetric() const;
};

/// Decodes whole blocks. InvalidArgument for a plain type, and if `source` is not a multiple of the
/// block size.
Result<GgufCodes> readGgufCodes(const GgufType &type, std::span<const std::byte> source);

} // namespace heddle

#endif // HEDDLE_FORMATS_GGUF_GGUFTYPES_H
