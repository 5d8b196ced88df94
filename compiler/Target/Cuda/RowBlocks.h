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

/// The launches of a product whose rows a separate kernel rounds first.
struct RoundedLaunches {
  /// Those of at least so many rows; 0: none.
  int64_t from = 0;
  RowBlocks blocks = {};
};

/// Returns for which launches of a product with `n` columns that saves time.
RoundedLaunches worthRounding(int64_t n, const RowBlocks &blocks);

/// Returns the address of a launch's rounded rows, null if they are not rounded.
mlir::Value roundedRows(VectorCode &code, const KernelArguments &arguments);
/// Returns whether an address is null.
mlir::Value isNull(VectorCode &code, mlir::Value address);

/// Emits the kernel that rounds the rows of a launch of a product. `areAligned`: rows begin at
/// multiples of 16 bytes.
void emitRowBlocks(VectorCode &code, const KernelBody &body, const RowBlocks &blocks,
                   bool areAligned);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ROWBLOCKS_H
