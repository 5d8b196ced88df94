// SPDX-License-Identifier: Apache-2.0
///
/// Computes the panels of a product for blocks of its rows: chooses the tiles and what they
/// prefetch, and applies the epilogue before the result is stored.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBLOCKS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBLOCKS_H

#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"
#include "compiler/Target/Emitters/Emitters.h"

namespace heddle {

/// The sizes of a product, and the rows that it computes.
struct Product {
  int64_t n, k, groups;
  /// The order in which the product iterates over its rows; null: ascending.
  mlir::Value order = {};
  /// The number of rows of the result that read the same row.
  int64_t parts = 1;
  /// With an order: the number of rows of the result, and memory for the addresses of a tile's
  /// rows.
  mlir::Value rowCount = {}, list = {};
  /// Memory for a panel in f32; null if weights are not unpacked.
  mlir::Value unpacked = {};
  /// The type of the factors and, unless it is f32, the layout of rows.
  dataflow::Arithmetic arithmetic = dataflow::Arithmetic::F32;
  const PreparedRows *prepared = nullptr;
  /// The group of all rows; null if it follows from the panel. And the group's bias; null if there
  /// is none.
  mlir::Value group = {}, bias = {};
  /// Whether a previous step read the same weights, so a cache has them, and whether panels are
  /// processed from the last to the first; null without steps.
  mlir::Value readsAgain = {}, isBackward = {};

  /// Returns the row at a place of the order.
  mlir::Value rowAt(VectorCode &code, mlir::Value place) const;
};

/// The result of a product, and the epilogue that is applied before it is stored.
struct Destination {
  KernelResult result;
  const Epilogue &epilogue;
  const Product &product;
};

/// Returns the layout of a product's weights.
PanelLayout layoutOf(const VectorCode &code, const KernelBody &body, const Product &product);

/// Returns memory in the stack frame for the sums of the tiles of a panel that are computed side by
/// side.
mlir::Value frameOfSums(VectorCode &code, const KernelBody &body, const Product &product);

/// Computes all panels of the call for the rows [begin, end), in blocks of at most `most` tiles.
/// `rowsOf` returns the operand rows of the rows [first, last) of a block; `sums` is the result of
/// frameOfSums().
void emitBlocks(VectorCode &code, const KernelBody &body, const Destination &to, mlir::Value sums,
                mlir::Value begin, mlir::Value end, int64_t most,
                llvm::function_ref<OperandRows(mlir::Value first, mlir::Value last)> rowsOf);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBLOCKS_H
