// SPDX-License-Identifier: Apache-2.0
///
/// What tensor cores multiply: words of 32 bits, which are two numbers of bf16 or one of tf32, and
/// with tf32x3 two words for each number of f32.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_TENSORWORDS_H
#define HEDDLE_COMPILER_TARGET_CUDA_TENSORWORDS_H

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/BlockCode.h"

namespace heddle {

/// What multiplies: FMA units numbers of f32; tensor cores numbers of bf16, numbers rounded to
/// tf32, or numbers of f32 as sums of two of tf32.
enum class Units : uint8_t { Fma, Bf16, Tf32, Tf32x3 };

/// The units for what products may be.
Units unitsFor(FloatProducts products);

/// Numbers that lie in a word.
int64_t numbersOfWord(Units units);

/// Words of a matrix as instructions take them, and of what rounding has left of its numbers where
/// that counts.
struct Words {
  llvm::SmallVector<mlir::Value> high, low;
};

/// Writes products of tensor cores.
class TensorProducts {
public:
  TensorProducts(BlockCode &block, Units units) : block(block), units(units) {}

  /// The words of numbers on their way to where they are multiplied from, or to shared memory.
  /// Those for FMA units are the numbers' bits.
  llvm::SmallVector<mlir::Value> wordsOf(mlir::ValueRange numbers);
  /// What instructions take of words. `areRounded`: wordsOf() has made them; others have the bits
  /// of numbers of f32, or are pairs of bf16.
  Words rounded(mlir::ValueRange words, bool areRounded);
  /// A product, added to sums: see BlockCode.
  llvm::SmallVector<mlir::Value> add(const Words &rows, const Words &columns,
                                     mlir::ValueRange sums);

private:
  Words split(mlir::ValueRange words);

  BlockCode &block;
  Units units;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_TENSORWORDS_H
