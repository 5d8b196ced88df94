// SPDX-License-Identifier: Apache-2.0
///
/// Operations of Hopper for blocks whose warpgroups have different tasks: mbarriers, bulk copies,
/// and matrix products by warpgroups, four warps each. Used only in this folder, for targets of
/// compute capability 9.0.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPCODE_H
#define HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPCODE_H

#include "compiler/Target/Cuda/BlockCode.h"

namespace heddle {

/// Threads of a warpgroup.
inline constexpr int64_t kWarpgroupThreads = 4 * kWarpLanes;
/// A product of a warpgroup: rows of the first matrix, and steps of k in bf16.
inline constexpr int64_t kWarpgroupRows = 64, kWarpgroupSteps = 16;
/// A core matrix of bf16: eight rows of 16 bytes, which are eight steps of k.
inline constexpr int64_t kCoreRows = 8, kCoreSteps = 8, kCoreRowBytes = 16;
/// The alignment of a matrix in shared memory whose parts are permuted.
inline constexpr int64_t kSwizzleAlignment = 1024;
/// Bytes of an mbarrier.
inline constexpr int64_t kMbarrierBytes = 8;

/// Emits such operations at the insertion point of a BlockCode. Offsets are those of bytes in
/// shared memory, as i64.
class WarpgroupCode {
public:
  /// Aligns shared memory for the matrices of warpgroups.
  explicit WarpgroupCode(BlockCode &block);

  BlockCode &block;

  // --- mbarriers: each is used by all threads, after a fence and a barrier.
  void createMbarrier(mlir::Value offset, int64_t arrivals);
  void destroyMbarrier(mlir::Value offset);
  void arrive(mlir::Value offset);
  /// Does the same, and lets the phase wait for bytes of bulk copies.
  void arriveExpecting(mlir::Value offset, int64_t bytes);
  /// Waits for a phase of an mbarrier: the last one whose number has the parity, an i32, unless it
  /// is not complete. "The phase before the first one" is complete.
  void awaitPhase(mlir::Value offset, mlir::Value parity);

  /// Copies bytes from global memory to shared memory; they arrive at an mbarrier. Sizes, and both
  /// addresses, are multiples of 16.
  void copyBulk(mlir::Value to, mlir::Value from, int64_t bytes, mlir::Value mbarrier);
  /// Lets later bulk copies and products see what the thread has stored to shared memory. Other
  /// threads' copies and products see it after a barrier or an mbarrier.
  void fenceProxies();

  // --- products: all threads of a warpgroup call these together.
  /// Returns the descriptor of a matrix of bf16 with rows of k at an offset. Without permuted parts
  /// (`rowBytes` = 16), it consists of core matrices: `stride` bytes from eight rows to the next,
  /// `leading` from eight steps of k to the next. Else its rows of 32, 64 or 128 bytes are
  /// adjacent, and part p of row r is at place p ^ (r / (128 / rowBytes) % (rowBytes / 16)).
  mlir::Value descriptor(mlir::Value offset, int64_t rowBytes, int64_t stride, int64_t leading);
  /// Returns a descriptor `bytes` bytes further.
  mlir::Value moved(mlir::Value descriptor, int64_t bytes);
  /// Must come between other uses of registers of sums and products that are added to them.
  void fenceRegisters();
  /// Starts to add the product of [64][16] and a transposed [columns][16] to sums, [64][columns];
  /// without `adds`, an i32, to zeros. A thread has the sums of columns 2 t and 2 t + 1 of its row
  /// g, then of row g + 8, then those of the next eight columns; warps have 16 rows each. The
  /// results may only be passed to add() and awaitSums().
  llvm::SmallVector<mlir::Value> add(mlir::ValueRange sums, mlir::Value rows, mlir::Value columns,
                                     mlir::Value adds);
  /// Commits the products since the last commit as a group.
  void commit();
  /// Waits until at most `running` groups are in flight: the others have read their matrices.
  void await(int64_t running);
  /// Waits for all groups, and returns the sums as numbers.
  llvm::SmallVector<mlir::Value> awaitSums(mlir::ValueRange sums);

private:
  /// Emits an instruction that changes registers of f32: operands 0 to count - 1 of its text, which
  /// are followed by the same ones as inputs, and others.
  llvm::SmallVector<mlir::Value> changeRegisters(mlir::ValueRange registers,
                                                 mlir::ValueRange others, const std::string &text,
                                                 llvm::StringRef constraints);
  mlir::Value constant(int64_t value);

  VectorCode &code;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPCODE_H
