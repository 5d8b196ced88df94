// SPDX-License-Identifier: Apache-2.0
///
/// Converts stored items to the types that the compiler and the programs use. Sources may be
/// unaligned, because the file formats guarantee no alignment.
#ifndef HEDDLE_FORMATS_CHECKPOINT_CONVERT_H
#define HEDDLE_FORMATS_CHECKPOINT_CONVERT_H

#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heddle {

/// Converts an IEEE half to f32 exactly. Preserves a NaN's payload and whether it is quiet.
constexpr float f16ToF32(uint16_t bits) {
  // Computes the normal and the subnormal reading and selects one, so that loops vectorise.
  constexpr uint32_t rebias = 112U << 23;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFU) << 13;
  const uint32_t exponent = magnitude & 0x0F800000U;
  // An exponent of all ones (infinity, NaN) must stay all ones.
  const uint32_t normal = magnitude + rebias + (exponent == 0x0F800000U ? rebias : 0U);
  // Subnormal: after inserting the exponent of 2^-14, the value is too large by exactly 2^-14.
  const float smallest = std::bit_cast<float>(113U << 23);
  const float subnormal = std::bit_cast<float>(magnitude + (113U << 23)) - smallest;
  return std::bit_cast<float>(sign | (exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal));
}

/// Converts a bfloat16 to f32 exactly.
constexpr float bf16ToF32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// The types that readers convert to f32, and those that they convert to i32.
inline constexpr ElementType realTypes[] = {ElementType::F32, ElementType::F16, ElementType::BF16};
inline constexpr ElementType idTypes[] = {ElementType::I32, ElementType::I64};
/// The types that CTranslate2 stores with scales.
inline constexpr ElementType scaledTypes[] = {ElementType::I8, ElementType::I16};

/// Returns the list of types in messages about files: "F32, F16 or BF16".
std::string typeChoices(std::span<const ElementType> types);

/// Converts F32, F16 and BF16 items to f32 exactly; other types are Unsupported. InvalidArgument if
/// `source` and `destination` have different numbers of items.
Status convertToF32(ElementType dtype, std::span<const std::byte> source,
                    std::span<float> destination);

/// Divides I8 and I16 items by their scales, giving f32; other types are Unsupported. `scales` are
/// unaligned f32. Each applies to the same number of consecutive items, so their number divides
/// that of the items.
Status convertScaledToF32(ElementType dtype, std::span<const std::byte> source,
                          std::span<const std::byte> scales, std::span<float> destination);

/// Converts I32 and I64 items to i32. Other types are Unsupported; a value that does not fit is
/// OutOfRange.
Status convertToI32(ElementType dtype, std::span<const std::byte> source,
                    std::span<int32_t> destination);

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_CONVERT_H
