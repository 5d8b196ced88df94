// SPDX-License-Identifier: Apache-2.0
///
/// Products of bf16 with sums in f32. A target either multiplies pairs of k with one instruction,
/// or widens both operands and multiplies them in the instruction's order. Both give the same bits,
/// except for subnormal numbers, which the instruction flushes to zero.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBF16_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBF16_H

#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"

namespace heddle {

/// Rows rounded to bf16, padded with a zero if the number of columns is odd: stored as bf16 if the
/// target has the instruction, otherwise as f32.
class RoundedRows final : public PreparedRows {
public:
  RoundedRows(const TargetDescription &target, dataflow::ContractAttr computes);

  /// Returns the largest number of bytes of `k` columns.
  static int64_t mostBytes(int64_t k);

private:
  void emitGroup(VectorCode &code, mlir::Value from, mlir::Value to) const override;
};

/// broadcastBf16Pair() loads the pair of bf16 at an address into all lanes; addBf16Products() adds
/// the products of the pairs of two vectors to a sum, with the target's instruction. `words` has
/// its pairs in lanes of 32 bits.
mlir::Value broadcastBf16Pair(VectorCode &code, mlir::Value address);
mlir::Value addBf16Products(VectorCode &code, mlir::Value sum, mlir::Value pairs,
                            mlir::Value words);

/// Computes some columns of a tile over the whole of k.
void emitBf16Tile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBF16_H
