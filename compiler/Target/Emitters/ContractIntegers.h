// SPDX-License-Identifier: Apache-2.0
///
/// Products of integers, with sums of 32 bits: rows quantised to 8 bits without sign times codes of
/// weights with sign, or rows with sign times codes of weights of 4 bits without. Sums are exact
/// and what is made of them is written once, so that all targets give the same bits.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTINTEGERS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTINTEGERS_H

#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"

namespace heddle {

/// Rows quantised as the description of #dataflow.contract says. The columns of each group of the
/// product have codes, as many bytes as codeBytes() says, and then, of all that share a scale, the
/// scale in f32 and, of codes without sign, the code of zero in i32, of others the sum of codes in
/// f32. Where a target has no instruction for codes without sign times others with sign, they and
/// the code of zero are less by 128.
class QuantizedRows final : public PreparedRows {
public:
  /// Rows that are multiplied with a quantised matrix.
  QuantizedRows(dataflow::BufferType weights, dataflow::ContractAttr computes);

  /// The most bytes that `k` columns of a group have, however many share a scale.
  static int64_t mostBytes(int64_t k);

private:
  void emitGroup(VectorCode &code, mlir::Value from, mlir::Value to) const override;

  /// Elements that share a scale.
  int64_t shared;
  /// Whether codes have signs, as those of weights have none.
  bool isSigned;
};

/// The sums of what shares scale number `number` of a row in f32, of products of codes, with the
/// scales and what else is before codes at `head`, added to those `before` it if there are any.
llvm::SmallVector<mlir::Value> scaledSums(const TileColumns &tile, mlir::ValueRange sums,
                                          mlir::Value head, mlir::Value number,
                                          mlir::ValueRange before);

/// The whole of k of some columns of a tile.
void emitIntegerTile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTINTEGERS_H
