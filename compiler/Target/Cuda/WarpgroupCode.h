// SPDX-License-Identifier: Apache-2.0
///
/// Operations of Hopper for blocks whose warpgroups have different tasks: mbarriers, bulk copies,
/// and matrix products by warpgroups, four warps each. Used only in this folder, for targets of
/// compute capability 9.0.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPCODE_H
#define HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPCODE_H

#include "compiler/Target/Cuda/BlockCode.h"

namespace heddle {

/// Returns whether a target has wgmma, which exists on compute capability 9.0 and on no other.
bool hasWarpgroups(const TargetDescription &target);

/// Threads of a warpgroup.
inline constexpr int64_t kWarpgroupThreads = 4 * kWarpLanes;
/// A product of a warpgroup: rows of the first matrix, and steps of k in bf16.
inline constexpr int64_t kWarpgroupRows = 64, kWarpgroupSteps = 16;
/// A core matrix of bf16: eight rows of 16 bytes, which are eight steps of k.
inline constexpr int64_t kCoreRows = 8, kCoreSteps = 8, kCoreRowBytes = 16;
/// The alignment of a matrix in shared memory whose parts are permuted.
inline constexpr int64_t kSwizzleAlignment = 1024;
inline constexpr int64_t kBf16Bytes = kCoreRowBytes / kCoreSteps;
/// Bytes of an mbarrier.
inline constexpr int64_t kMbarrierBytes = 8;

/// Emits such operations at the insertion point of a BlockCode. Offsets are those of bytes in
/// shared memory, as i64.
class WarpgroupCode {
public:
  /// Aligns shared memory for the matrices of warpgroups.
  explicit WarpgroupCode(BlockCode &block);

  BlockCode &block;

  /// Returns a constant, as i32.
  mlir::Value constant(int64_t value);

  // --- mbarriers: each is used by all threads, after a fence and a barrier. Arrivals are an i32.
  void createMbarrier(mlir::Value offset, mlir::Value arrivals);
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

  /// Returns the place of a 16-byte part among the parts of a row, as descriptors permute them.
  mlir::Value permuted(mlir::Value row, mlir::Value part, int64_t rowBytes);
  /// Returns the words of eight numbers, rounded to bf16: a part of a row.
  llvm::SmallVector<mlir::Value> partOf(mlir::ValueRange numbers);
  /// Stores eight numbers, rounded to bf16, as a part of a row.
  void storePart(mlir::ValueRange numbers, mlir::Value offset);

  // --- products: all threads of a warpgroup call these together.
  /// Returns the descriptor of a matrix of bf16 with rows of k at an offset. Without permuted parts
  /// (`rowBytes` = 16), it consists of core matrices: `stride` bytes from eight rows to the next,
  /// `leading` from eight steps of k to the next. Else its rows of 32, 64 or 128 bytes are
  /// adjacent, and part p of row r is at place p ^ (r / (128 / rowBytes) % (rowBytes / 16)).
  mlir::Value descriptor(mlir::Value offset, int64_t rowBytes, int64_t stride, int64_t leading);
  /// Returns a descriptor `bytes` bytes further.
  mlir::Value moved(mlir::Value descriptor, int64_t bytes);
  /// Must come between other uses of registers and products that use them: as sums, or as words of
  /// the first matrix. Returns the registers if they are given: nothing changes these in between.
  llvm::SmallVector<mlir::Value> fenceRegisters(mlir::ValueRange registers = {});
  /// Starts to add the product of [64][16] and a transposed [columns][16] to sums, [64][columns];
  /// without `adds`, an i32, to zeros. A thread has the sums of columns 2 t and 2 t + 1 of its row
  /// g, then of row g + 8, then those of the next eight columns; warps have 16 rows each. The
  /// results may only be passed to products and awaitSums().
  llvm::SmallVector<mlir::Value> add(mlir::ValueRange sums, mlir::Value rows, mlir::Value columns,
                                     mlir::Value adds);
  /// Starts the same product with `count` new sums for each thread.
  llvm::SmallVector<mlir::Value> multiply(size_t count, mlir::Value rows, mlir::Value columns);
  /// Starts to add a product whose first matrix is in registers: a thread has four words of bf16,
  /// steps 2 t and 2 t + 1 of row g and of row g + 8, then the same eight steps further. Until the
  /// product is awaited, the words must be kept: awaitSums() takes them too.
  llvm::SmallVector<mlir::Value> addWords(mlir::ValueRange sums, mlir::ValueRange words,
                                          mlir::Value columns);
  /// Commits the products since the last commit as a group.
  void commit();
  /// Waits until at most `running` groups are in flight: the others have read their matrices.
  void await(int64_t running);
  /// Does the same. Returns registers of these groups, sums as numbers.
  llvm::SmallVector<mlir::Value> awaitSums(mlir::ValueRange registers, int64_t running = 0);

private:
  /// Emits an instruction that writes registers of some types: operands 0 to count - 1 of its text.
  /// Those that it reads too follow as inputs, all or none of them, and then others.
  llvm::SmallVector<mlir::Value> changeRegisters(mlir::TypeRange types, mlir::ValueRange read,
                                                 mlir::ValueRange others, const std::string &text,
                                                 llvm::StringRef constraints);
  llvm::SmallVector<mlir::Value> addProduct(size_t count, mlir::ValueRange sums,
                                            mlir::ValueRange rows, mlir::Value columns,
                                            mlir::Value adds);

  VectorCode &code;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPCODE_H
