// SPDX-License-Identifier: Apache-2.0
///
/// The operand types of a compiled model's products, which determine a processor's peak throughput.
#ifndef HEDDLE_ARITHMETIC_H
#define HEDDLE_ARITHMETIC_H

#include <cstdint>

namespace heddle {

/// The operand type of products. The values are stored in compiled models.
enum class Arithmetic : uint8_t {
  /// f32 operands; also everything that is not a product.
  F32,
  /// 8-bit integer operands with 32-bit sums.
  Integers,
  /// bf16 operands with f32 sums.
  Bf16,
  /// f32 operands that a GPU rounds to tf32, and those that it splits into two tf32 numbers, for
  /// three products. Only profiles have these: in compiled models they are F32.
  Tf32,
  Tf32x3,
};

} // namespace heddle

#endif // HEDDLE_ARITHMETIC_H
