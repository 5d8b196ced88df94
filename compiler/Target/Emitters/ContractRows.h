// SPDX-License-Identifier: Apache-2.0
///
/// The rows that a product multiplies: where they are, and which of them are copied. If the product
/// does not multiply f32, its rows are prepared in scratch, block by block, each independently.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTROWS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTROWS_H

#include "compiler/Target/Emitters/ContractTile.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Emitters/VectorCode.h"

#include <memory>

namespace heddle {

/// The operand rows of a block, in memory; the first is row `first` of the work.
struct OperandRows {
  mlir::Value memory;
  mlir::Value elements; // from one row to the next
  mlir::Value first;
};

/// Copies, in the stack frame, of f32 rows that share sets of the first-level cache, for a tile
/// that is alone on its panel.
class SpreadRows {
public:
  static SpreadRows of(VectorCode &code, const KernelBody &body, dataflow::ContractAttr computes);

  /// Returns the rows of a block: copies if they are one tile of more than a few rows.
  OperandRows rowsOf(VectorCode &code, const OperandRows &rows, mlir::Value first,
                     mlir::Value last) const;

private:
  int64_t width = 0;
  /// Null if rows need no copies.
  mlir::Value copies = {};

  int64_t stride() const;
};

/// The layout of rows in scratch: the columns of each group of the product, one group after
/// another, in whole cache lines.
class PreparedRows {
public:
  virtual ~PreparedRows() = default;

  /// Returns the layout for a product with these weights; null if it multiplies f32.
  static std::unique_ptr<PreparedRows> of(const VectorCode &code, dataflow::BufferType weights,
                                          dataflow::ContractAttr computes);
  /// Returns the largest number of bytes of a row, for any weights and target.
  static int64_t mostBytes(dataflow::ContractAttr computes);

  /// Return the bytes from one row to the next, and the size of a group in elements of f32.
  int64_t rowBytes() const { return spreadBytes(groups * bytesOfGroup); }
  int64_t groupElements() const { return bytesOfGroup / int64_t(sizeof(float)); }

  /// Prepares a row.
  void emitRow(VectorCode &code, mlir::Value from, mlir::Value to) const;

protected:
  PreparedRows(dataflow::ContractAttr computes, int64_t bytesOfGroup);

  /// Prepares the columns of a group.
  virtual void emitGroup(VectorCode &code, mlir::Value from, mlir::Value to) const = 0;

  const int64_t k;

private:
  const int64_t groups;
  const int64_t bytesOfGroup;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTROWS_H
