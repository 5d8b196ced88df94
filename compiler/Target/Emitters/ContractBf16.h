// SPDX-License-Identifier: Apache-2.0
///
/// Products of bf16 with sums in f32. A target multiplies pairs of k with one instruction, or
/// widens both operands and multiplies them in the instruction's order, so that both give the same
/// bits but for numbers below the least normal one, which the instruction takes for zero.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBF16_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBF16_H

#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"

namespace heddle {

/// Rows rounded to bf16, with a zero behind an odd number of columns: stored as bf16 where a target
/// has an instruction for it, else as f32.
class RoundedRows final : public PreparedRows {
public:
  RoundedRows(const TargetDescription &target, dataflow::ContractAttr computes);

  /// The most bytes of `k` columns.
  static int64_t mostBytes(int64_t k);

private:
  void emitGroup(VectorCode &code, mlir::Value from, mlir::Value to) const override;
};

/// The pair of bf16 at an address in all lanes, and a sum plus the products of pairs of two
/// vectors, by the instruction for it. `words` has its pairs in lanes of 32 bits.
mlir::Value broadcastBf16Pair(VectorCode &code, mlir::Value address);
mlir::Value addBf16Products(VectorCode &code, mlir::Value sum, mlir::Value pairs,
                            mlir::Value words);

/// The whole of k of some columns of a tile.
void emitBf16Tile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBF16_H
