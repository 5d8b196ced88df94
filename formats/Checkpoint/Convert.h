// SPDX-License-Identifier: Apache-2.0
///
/// Stored items to the types the compiler and the command lines work with. Sources need no
/// alignment: the files promise none.
#ifndef HEDDLE_FORMATS_CHECKPOINT_CONVERT_H
#define HEDDLE_FORMATS_CHECKPOINT_CONVERT_H

#include "formats/Checkpoint/Dtype.h"
#include "heddle/Status.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/// An IEEE half to f32, exact; the payload and the quietness of a NaN are kept.
constexpr float f16ToF32(uint16_t bits) {
  // Both ways to read the exponent are computed and one selected, so that loops over it vectorise.
  constexpr uint32_t rebias = 112U << 23;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFU) << 13;
  const uint32_t exponent = magnitude & 0x0F800000U;
  // An exponent of all ones (infinity, NaN) must stay all ones.
  const uint32_t normal = magnitude + rebias + (exponent == 0x0F800000U ? rebias : 0U);
  // Subnormal: with the exponent of 2^-14 put in, the value is too large by 2^-14 exactly.
  const float smallest = std::bit_cast<float>(113U << 23);
  const float subnormal = std::bit_cast<float>(magnitude + (113U << 23)) - smallest;
  return std::bit_cast<float>(sign | (exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal));
}

/// A bfloat16 to f32, exact.
constexpr float bf16ToF32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// F32, F16 and BF16 items to f32, exact; other types are Unsupported. InvalidArgument where
/// `source` and `destination` differ in their number of items.
Status convertToF32(Dtype dtype, std::span<const std::byte> source, std::span<float> destination);

/// I8 and I16 items, each divided by its scale, to f32; other types are Unsupported. `scales` are
/// f32 at any alignment, each for as many items as the others; their number divides that of the
/// items.
Status convertScaledToF32(Dtype dtype, std::span<const std::byte> source,
                          std::span<const std::byte> scales, std::span<float> destination);

/// I32 and I64 items to i32; other types are Unsupported, a value that does not fit is OutOfRange.
Status convertToI32(Dtype dtype, std::span<const std::byte> source, std::span<int32_t> destination);

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_CONVERT_H
