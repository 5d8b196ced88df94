// SPDX-License-Identifier: Apache-2.0
///
/// Rows of a large product in bf16, rounded once before it (docs/decisions/0078), in the layout of
/// the stages of warpgroups (WarpgroupTile.cpp): blocks of 64 rows and a slab of steps. The copy
/// engine copies a block as a whole.
///
///   rows 0 to 63:    slab 0, slab 1, ...      each block [64][slab] bf16, the 16-byte parts of a
///   rows 64 to 127:  slab 0, slab 1, ...      row permuted as descriptors permute them
///   ...
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ROWBLOCKS_H
#define HEDDLE_COMPILER_TARGET_CUDA_ROWBLOCKS_H

#include "compiler/Target/Cuda/WarpgroupCode.h"
#include "compiler/Target/Emitters/Emitters.h"

#include "heddle/Abi.h"

namespace heddle {

/// The layout, for rows of `k` steps in slabs of `slab`, which divides k.
struct RowBlocks {
  int64_t k, slab;

  static constexpr int64_t rows = HEDDLE_ROUNDED_ROWS;
  /// Bytes of a row in a block, of a block, and of a row in all blocks.
  int64_t lineBytes() const { return slab * kBf16Bytes; }
  int64_t blockBytes() const { return rows * lineBytes(); }
  int64_t rowBytes() const { return k * kBf16Bytes; }

  /// Returns the address of the block of 64 rows number `number` and a slab.
  mlir::Value blockAt(VectorCode &code, mlir::Value memory, mlir::Value number,
                      mlir::Value slab) const;
};

/// The launches that round their rows before.
struct RoundedLaunches {
  /// Those of at least so many rows; 0: none.
  int64_t from = 0;
  RowBlocks blocks = {};
};

/// Returns which launches of a product do. `slab` are the steps of a stage.
RoundedLaunches roundedLaunches(int64_t n, int64_t k, int64_t slab);

/// Returns the address of a launch's rounded rows, null if it has none.
mlir::Value roundedRows(VectorCode &code, const KernelArguments &arguments);

/// Emits the kernel that rounds the rows of a launch of a product.
void emitRoundedRows(VectorCode &code, const KernelBody &body, const RowBlocks &blocks);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ROWBLOCKS_H
