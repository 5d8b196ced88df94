// SPDX-License-Identifier: Apache-2.0
///
/// A vocabulary for kernels whose blocks work together: the threads of a block, the memory that
/// they share, barriers, copies into that memory which run beside the threads, and products of
/// matrices by the threads of a warp. It stands on VectorCode, as emitters do; nothing outside this
/// folder knows of it.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H

#include "compiler/Target/Emitters/VectorCode.h"

#include <optional>

namespace heddle {

/// A part of a launch's work that a block does at a time: rows, and columns of work.
struct BlockPiece {
  int64_t rows, columns;
};

/// How blocks do the work of a kernel.
struct BlockWork {
  int64_t threads;
  /// Bytes of shared memory of a block.
  int64_t shared;
  /// A piece, and another for launches of up to `fewRows` rows, of which there are more.
  BlockPiece many, few;
  int64_t fewRows;

  /// Notes on a kernel's function that the threads of a block call it together, for its entry; and
  /// reads the note. Nothing of functions that each thread calls for itself.
  void note(mlir::func::FuncOp function) const;
  static std::optional<BlockWork> of(mlir::func::FuncOp function);
  /// Takes the note back from what the function has become. Whether there was one.
  static bool forget(mlir::Operation *function);
};

/// What every array in shared memory begins at a multiple of: the largest copy.
inline constexpr int64_t kSharedAlignment = 16;

/// Threads of a warp, the lanes of its instructions.
inline constexpr int64_t kWarpLanes = 32;
/// The product of matrices that a warp computes at once: so many rows of the first, columns of the
/// second, and words of 32 bits that the steps of k take, two of bf16 or one of tf32 each.
inline constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8, kMatrixWords = 8;
/// Lanes that share a row of the first matrix and of the result, and a column of the second.
inline constexpr int64_t kLanesOfRow = 4;

/// Writes code of a block at the insertion point of a VectorCode.
class BlockCode {
public:
  BlockCode(VectorCode &code, mlir::func::FuncOp function);

  VectorCode &code;
  /// The number of the thread in its block.
  mlir::Value thread;

  /// The address of byte `offset` of the shared memory.
  mlir::Value sharedAt(mlir::Value offset);
  /// Waits until all threads of the block are here. What any of them has written to shared memory
  /// before, and what was copied and awaited, all may read after.
  void barrier();

  /// A number of f32, or a vector of them, in the GPU's memory, at a multiple of its bytes.
  mlir::Value loadFar(mlir::Value address, mlir::Type type);

  /// Copies 4 or 16 bytes, both addresses multiples of that, to shared memory while the thread goes
  /// on. With `valid`, an i32, only so many are read, and the rest of them are zero.
  void copy(mlir::Value to, mlir::Value from, int64_t bytes, mlir::Value valid = {});
  /// Makes a group of the thread's copies since the last one; a group may be empty.
  void commit();
  /// Waits for all of the thread's groups but the last `running`. Other threads see what they have
  /// brought after a barrier.
  void await(int64_t running);

  /// A number, as an i32 of which nothing is known: what follows from it is computed where it is
  /// used. LLVM would move addresses of a loop's copies in front of it, where they are in the way
  /// of sums: a register is dearer than an addition.
  mlir::Value keptHere(mlir::Value number);

  /// What the side gives that runs where a condition holds, or does not: as many values of the same
  /// types. Threads that meet in one of them must all take it.
  llvm::SmallVector<mlir::Value>
  choose(mlir::Value condition, llvm::function_ref<llvm::SmallVector<mlir::Value>()> then,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> otherwise);

  /// `count` elements side by side at an address of shared memory, in f32: they are stored as
  /// `element`.
  llvm::SmallVector<mlir::Value> load(mlir::Value address, int64_t count, mlir::Type element);
  void store(mlir::ValueRange values, mlir::Value address);
  /// The same for words, which are i32.
  llvm::SmallVector<mlir::Value> loadWords(mlir::Value address, int64_t count);
  void storeWords(mlir::ValueRange words, mlir::Value address);

  // --- products by warps: all lanes of a warp call these together. `g` is lane / 4, `t` is lane
  // % 4.
  /// A matrix of 16 rows of 8 words in shared memory, as products take it. Lane l says where the 16
  /// bytes are that row l % 16 has from word l / 16 * 4 on. Word 0 of a lane is word t of row g,
  /// its word 1 that of row g + 8; words 2 and 3 are 4 words further on.
  llvm::SmallVector<mlir::Value> loadMatrix(mlir::Value address);
  /// A matrix of bf16, [16][16] in shared memory, as products take the second one of it transposed.
  /// Lane l says where row l % 16 has the 8 elements from l / 16 * 8 on. Words 0 and 1 of a lane
  /// are of column g: rows 2 t and 2 t + 1, and 8 rows further on. Words 2 and 3: of column g + 8.
  llvm::SmallVector<mlir::Value> loadTransposed(mlir::Value address);
  /// Adds the product of a matrix of bf16, [16][16], with another one, transposed [8][16], to sums
  /// in f32, [16][8]. Words of the second: word t of column g, and 4 words further on. Sums of a
  /// lane: columns 2 t and 2 t + 1 of row g, then of row g + 8.
  llvm::SmallVector<mlir::Value> multiplyBf16(mlir::ValueRange rows, mlir::ValueRange columns,
                                              mlir::ValueRange sums);
  /// The same of tf32, [16][8] and [8][8]. What is no number of tf32 gives anything.
  llvm::SmallVector<mlir::Value> multiplyTf32(mlir::ValueRange rows, mlir::ValueRange columns,
                                              mlir::ValueRange sums);
  /// Two numbers rounded to bf16, ties to even, the first in the lower half of the word.
  mlir::Value roundedPair(mlir::Value first, mlir::Value second);
  /// The word of a number rounded to tf32, ties away from zero.
  mlir::Value roundedToTf32(mlir::Value number);
  /// The number that another lane has given: lane number `lane`, an i32, and the one whose number
  /// differs in the bits of `bits`. With `mask`, an i32, only those lanes of the warp take part
  /// whose bits it has, which all must give the same.
  mlir::Value ofLane(mlir::Value number, mlir::Value lane);
  mlir::Value ofOtherLane(mlir::Value number, int64_t bits, mlir::Value mask = {});

private:
  mlir::Type sharedPointer;
  mlir::Value shared;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H
