// SPDX-License-Identifier: Apache-2.0
///
/// Products of integers: rows quantised to 8 bits without sign, codes of weights with sign, sums of
/// 32 bits. Sums are exact and what is made of them is written once, so that all targets give the
/// same bits.
#ifndef HEDDLE_COMPILER_TARGET_CPU_EMITTERS_CONTRACTINTEGERS_H
#define HEDDLE_COMPILER_TARGET_CPU_EMITTERS_CONTRACTINTEGERS_H

#include "compiler/Target/Cpu/Emitters/ContractRows.h"
#include "compiler/Target/Cpu/Emitters/ContractTile.h"

namespace heddle {

/// Rows quantised as the description of #dataflow.contract says. The columns of each group of the
/// product have codes, as many bytes as codeBytes() says, and then, of all that share a scale, the
/// scale in f32 and the code of zero in i32. Where a target has no instruction for codes without
/// sign, they and the code of zero are less by 128.
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
};

/// The whole of k of some columns of a tile.
void emitIntegerTile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_EMITTERS_CONTRACTINTEGERS_H
