// SPDX-License-Identifier: Apache-2.0
///
/// A vocabulary for kernels whose blocks work together: the threads of a block, the memory that
/// they share, barriers, and copies into that memory which run beside the threads. It stands on
/// VectorCode, as emitters do; nothing outside this folder knows of it.
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

  /// `count` elements side by side at an address of shared memory, in f32: they are stored as
  /// `element`.
  llvm::SmallVector<mlir::Value> load(mlir::Value address, int64_t count, mlir::Type element);
  void store(mlir::ValueRange values, mlir::Value address);

private:
  mlir::Type sharedPointer;
  mlir::Value shared;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H
