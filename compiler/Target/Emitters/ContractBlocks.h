// SPDX-License-Identifier: Apache-2.0
///
/// The panels of a product, for blocks of its rows: which tiles compute them, what these ask memory
/// for, and the epilogue on the way to the result.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBLOCKS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBLOCKS_H

#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"
#include "compiler/Target/Emitters/Emitters.h"

namespace heddle {

/// The numbers of a product, and which rows it is of.
struct Product {
  int64_t n, k, groups;
  /// The rows in the order in which the product goes over them; null: one after the other.
  mlir::Value order = {};
  /// How many rows of the result read the same row.
  int64_t parts = 1;
  /// The rows of the result, for an order, and room for the addresses of a tile's rows.
  mlir::Value rowCount = {}, list = {};
  /// Room for a panel in f32; null where weights are not unpacked.
  mlir::Value unpacked = {};
  /// What is multiplied and, unless that is f32, how rows lie for it.
  dataflow::Arithmetic arithmetic = dataflow::Arithmetic::F32;
  const PreparedRows *prepared = nullptr;
  /// The group of all rows, and its bias; null where panels say what group they are of, and where
  /// there is none.
  mlir::Value group = {}, bias = {};
  /// Whether a step before read the same weights, so that a cache has them, and whether panels are
  /// taken from the last to the first; null where there are no steps.
  mlir::Value readsAgain = {}, isBackward = {};

  /// The row at a place of the order.
  mlir::Value rowAt(VectorCode &code, mlir::Value place) const;
};

/// The result of a product, and the epilogue on the way to it.
struct Destination {
  KernelResult result;
  const Epilogue &epilogue;
  const Product &product;
};

/// How the weights of a product lie.
PanelLayout layoutOf(const VectorCode &code, const KernelBody &body, const Product &product);

/// Room in the frame for the sums of the tiles of a panel that are computed side by side.
mlir::Value frameOfSums(VectorCode &code, const KernelBody &body, const Product &product);

/// All panels of the call for the rows [begin, end), block by block: at most `most` tiles in each.
/// `rowsOf` gives what the rows [first, last) of a block are multiplied from; `sums` is
/// frameOfSums().
void emitBlocks(VectorCode &code, const KernelBody &body, const Destination &to, mlir::Value sums,
                mlir::Value begin, mlir::Value end, int64_t most,
                llvm::function_ref<ProductRows(mlir::Value first, mlir::Value last)> rowsOf);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTBLOCKS_H
