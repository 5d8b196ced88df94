// SPDX-License-Identifier: Apache-2.0
///
/// Products of integers, with 32-bit sums: rows quantised to unsigned 8-bit codes times signed
/// codes of weights, or signed rows times unsigned 4-bit codes of weights. Sums are exact, and all
/// targets convert them to f32 with the same code, so they give the same bits.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTINTEGERS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTINTEGERS_H

#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"

namespace heddle {

/// Rows quantised as the description of #dataflow.contract says. The columns of each group of the
/// product have codes, codeBytes() bytes of them. Then follows, for each run of columns that share
/// a scale, the scale in f32 and a second number: for unsigned codes the code of zero in i32, for
/// signed codes their sum in f32. On targets without an instruction for unsigned times signed
/// codes, the codes and the code of zero are reduced by 128.
class QuantizedRows final : public PreparedRows {
public:
  /// Rows that are multiplied with a quantised matrix.
  QuantizedRows(dataflow::BufferType weights, dataflow::ContractAttr computes);

  /// Returns the largest number of bytes of `k` columns of a group, however many share a scale.
  static int64_t mostBytes(int64_t k);

private:
  void emitGroup(VectorCode &code, mlir::Value from, mlir::Value to) const override;

  /// The number of elements that share a scale.
  int64_t shared;
  /// Whether codes are signed, because those of weights are unsigned.
  bool isSigned;
};

/// Converts sums of products of codes to f32, with scale number `number` of each row and the scales
/// and other factors of columns at `head`. Adds the results to `before` unless it is empty.
llvm::SmallVector<mlir::Value> scaledSums(const TileColumns &tile, mlir::ValueRange sums,
                                          mlir::Value head, mlir::Value number,
                                          mlir::ValueRange before);

/// Computes some columns of a tile over the whole of k.
void emitIntegerTile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTINTEGERS_H
