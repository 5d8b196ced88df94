// SPDX-License-Identifier: Apache-2.0
///
/// What the products of a compiled model multiply: it decides how fast a processor can be.
#ifndef HEDDLE_ARITHMETIC_H
#define HEDDLE_ARITHMETIC_H

#include <cstdint>

namespace heddle {

/// What products multiply. The numbers are those of a binary.
enum class Arithmetic : uint8_t {
  /// Numbers of f32; so does everything that is no product.
  F32,
  /// Integers of 8 bits, with sums of 32.
  Integers,
  /// Numbers of bf16, with sums in f32.
  Bf16,
};

} // namespace heddle

#endif // HEDDLE_ARITHMETIC_H
