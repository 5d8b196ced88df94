// SPDX-License-Identifier: Apache-2.0
///
/// Operands of tensor cores: 32-bit words, each of two bf16 numbers or one of tf32; with tf32x3,
/// two words for each f32 number.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_TENSORWORDS_H
#define HEDDLE_COMPILER_TARGET_CUDA_TENSORWORDS_H

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/BlockCode.h"

namespace heddle {

/// The units that multiply: FMA units on f32, or tensor cores on bf16, on numbers rounded to tf32,
/// or on f32 numbers split into sums of two tf32 numbers.
enum class Units : uint8_t { Fma, Bf16, Tf32, Tf32x3 };

/// Returns the units for the products that a kernel permits.
Units unitsFor(FloatProducts products);

/// Returns the number of numbers in a word.
int64_t numbersOfWord(Units units);

/// Words of a matrix as operands of instructions and, with tf32x3, the words of the rounding
/// errors.
struct Words {
  llvm::SmallVector<mlir::Value> high, low;
};

/// Emits products of tensor cores.
class TensorProducts {
public:
  TensorProducts(BlockCode &block, Units units) : block(block), units(units) {}

  /// Converts numbers to words for shared memory or for products. For FMA units these are the bits
  /// of the numbers.
  llvm::SmallVector<mlir::Value> wordsOf(mlir::ValueRange numbers);
  /// Converts words to operands of instructions. `areRounded` says that wordsOf() made them;
  /// otherwise they are bits of f32 numbers, or pairs of bf16.
  Words rounded(mlir::ValueRange words, bool areRounded);
  /// Adds a product to sums: see BlockCode.
  llvm::SmallVector<mlir::Value> add(const Words &rows, const Words &columns,
                                     mlir::ValueRange sums);

private:
  Words split(mlir::ValueRange words);

  BlockCode &block;
  Units units;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_TENSORWORDS_H
