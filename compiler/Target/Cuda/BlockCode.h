// SPDX-License-Identifier: Apache-2.0
///
/// Operations for kernels whose blocks cooperate: threads of a block, shared memory, barriers,
/// asynchronous copies to shared memory, and matrix products by warps. Built on VectorCode, like
/// the emitters, and used only in this folder.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H
#define HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H

#include "compiler/Target/Emitters/VectorCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <optional>

namespace heddle {

/// The part of a launch's work that a block computes at a time: rows, and columns of work.
struct BlockPiece {
  int64_t rows, columns;
};

inline constexpr int64_t kAnyBlocks = 0;
/// For blocks of 128 threads that wait for memory and share nothing but registers: 80 for a thread.
/// With eight blocks, 64, ptxas unrolls the loops of wide rows as before, and spills.
inline constexpr int64_t kRowBlocks = 6;

/// How blocks compute a kernel.
struct BlockWork {
  int64_t threads;
  /// Bytes of shared memory per block.
  int64_t shared;
  /// A piece for most launches, and a smaller one for launches of up to `fewRows` rows.
  BlockPiece many, few;
  int64_t fewRows;
  /// How many blocks a multiprocessor must be able to run at the same time, which limits the
  /// registers of a thread; kAnyBlocks leaves it to ptxas, which then spills registers of some
  /// kernels so that there are more.
  int64_t leastBlocks;
  /// Whether a block's threads call the function once, with all rows and columns of the launch, and
  /// it finds the pieces of its block. Otherwise they call it for each of these.
  bool findsPieces = false;

  /// note() attaches this to a kernel's function as an attribute: the threads of a block call the
  /// function together. of() reads it; nullopt for functions that each thread calls separately.
  void note(mlir::func::FuncOp function) const;
  static std::optional<BlockWork> of(mlir::func::FuncOp function);
  /// Removes the attribute from the lowered function. Returns whether there was one.
  static bool forget(mlir::Operation *function);
};

/// Reads a special register, as i64.
template <typename Register> mlir::Value readRegister(VectorCode &code) {
  mlir::Value value = Register::create(code.builder, code.location, code.i32);
  return mlir::arith::ExtUIOp::create(code.builder, code.location, code.i64, value);
}

/// Rows and columns: [rowBegin, rowEnd) and [columnBegin, columnEnd).
struct LaunchRange {
  mlir::Value rowBegin, rowEnd, columnBegin, columnEnd;
};

/// The pieces of a launch, each of so many rows and columns.
struct LaunchPieces {
  LaunchPieces(VectorCode &code, const LaunchRange &launch, mlir::Value rows, mlir::Value columns);
  /// Returns the pieces of a kernel's launch, which are smaller if it has few rows.
  static LaunchPieces of(VectorCode &code, const LaunchRange &launch, const BlockWork &work);

  /// Returns a piece; rows vary fastest.
  LaunchRange at(VectorCode &code, mlir::Value number) const;
  /// Returns a piece in another order: groups of `most` pieces of rows come one after another, each
  /// with all columns, so that adjacent pieces share rows and columns.
  LaunchRange atInGroups(VectorCode &code, mlir::Value number, int64_t most) const;
  /// Return the number of the first piece of the running block, and the distance to its next one.
  static mlir::Value first(VectorCode &code);
  static mlir::Value step(VectorCode &code);

  /// The launch, and the size of a piece.
  const LaunchRange launch;
  const mlir::Value rows, columns;
  /// The number of pieces that have the same columns, and of all.
  const mlir::Value ofColumns, count;

private:
  /// Returns the piece with these numbers among the pieces of rows and of columns.
  LaunchRange at(VectorCode &code, mlir::Value row, mlir::Value column) const;
};

/// How a target computes a kernel, for reports: how blocks do, or why they do not.
struct KernelChoice {
  bool isTaken;
  std::string text;
};

inline constexpr int64_t kFloatBytes = sizeof(float), kWordBytes = sizeof(uint32_t);
/// The alignment of every array in shared memory: the size of the largest copy.
inline constexpr int64_t kSharedAlignment = 16;
/// Bytes of all banks of shared memory, one word each.
inline constexpr int64_t kBankBytes = 128;
/// The numbers that a thread loads at once.
inline constexpr int64_t kNumbersTogether = 4;

/// Threads of a warp, the lanes of its instructions.
inline constexpr int64_t kWarpLanes = 32;
/// The matrix product that a warp computes with one instruction: rows of the first matrix, columns
/// of the second, and 32-bit words of k, each of which holds two bf16 numbers, one of tf32 or four
/// codes.
inline constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8, kMatrixWords = 8;
/// Lanes that share a row of the first matrix and of the result, and a column of the second.
inline constexpr int64_t kLanesOfRow = 4;

/// Emits code of a block at the insertion point of a VectorCode.
class BlockCode {
public:
  BlockCode(VectorCode &code, mlir::func::FuncOp function);

  VectorCode &code;
  /// The index of the thread in its block.
  mlir::Value thread;

  /// Returns a zero, or a vector of zeros.
  mlir::Value zero(mlir::Type type);
  /// Returns the address of byte `offset` of shared memory.
  mlir::Value sharedAt(mlir::Value offset);
  /// Aligns shared memory to so many bytes.
  void alignShared(int64_t bytes);
  /// Emits a barrier of all threads of the block. After it, all threads may read data that any of
  /// them stored to shared memory before, or copied there and awaited.
  void barrier();
  /// Does the same for the lanes of the thread's warp.
  void syncWarp();
  /// Keeps ptxas from computing the addresses of later loads before earlier ones have begun, which
  /// would take registers (docs/decisions/0080). All lanes of the warp call it together.
  void separateLoads() { syncWarp(); }

  /// Loads a number, or a vector of numbers, from global memory, aligned to its size.
  mlir::Value loadFar(mlir::Value address, mlir::Type type);
  /// Loads four adjacent f32 numbers from there as a vector: one by one, unless they are aligned to
  /// 16 bytes.
  mlir::Value loadFour(mlir::Value address, bool areAligned);

  /// Starts an asynchronous copy of 4 or 16 bytes to shared memory; both addresses are aligned to
  /// that size. With `valid`, an i32, only so many bytes are read, and the rest are zero.
  void copy(mlir::Value to, mlir::Value from, int64_t bytes, mlir::Value valid = {});
  /// Commits the thread's copies since the last commit as a group, which may be empty.
  void commit();
  /// Waits for all of the thread's groups except the last `running`. Other threads see the copied
  /// data after a barrier.
  void await(int64_t running);

  /// Returns a number as an opaque i32, so that LLVM recomputes values that depend on it where they
  /// are used. LLVM would otherwise hoist the addresses of a loop's copies, which would take
  /// registers from sums: a register costs more than an addition.
  mlir::Value keptHere(mlir::Value number);
  /// Does the same for a number that is not negative, as i64.
  mlir::Value indexKeptHere(mlir::Value number);
  /// Does the same for an address, so that loads through it are not hoisted.
  mlir::Value addressKeptHere(mlir::Value address);
  /// Returns a number of 32 bits that LLVM computes before whatever follows that has side effects,
  /// instead of where it is used.
  mlir::Value computedHere(mlir::Value number);

  /// Emits an if with results: values of the same types from either side. Threads that synchronise
  /// in one of the sides must all take it.
  llvm::SmallVector<mlir::Value>
  choose(mlir::Value condition, llvm::function_ref<llvm::SmallVector<mlir::Value>()> then,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> otherwise);

  /// Loads `count` adjacent elements, stored as `element`, from shared memory, as f32.
  llvm::SmallVector<mlir::Value> load(mlir::Value address, int64_t count, mlir::Type element);
  void store(mlir::ValueRange values, mlir::Value address);
  /// Do the same for words, which are i32.
  llvm::SmallVector<mlir::Value> loadWords(mlir::Value address, int64_t count);
  void storeWords(mlir::ValueRange words, mlir::Value address);

  // --- products by warps: all lanes of a warp call these together; g is lane / 4, t is lane % 4.
  /// Loads a matrix of 16 rows of 8 words from shared memory as the first operand. Lane l passes
  /// the address of the 16 bytes of row l % 16 that begin at word l / 16 * 4. Word 0 of a lane is
  /// word t of row g, and its word 1 that of row g + 8; words 2 and 3 are 4 words to the right of
  /// these.
  llvm::SmallVector<mlir::Value> loadMatrix(mlir::Value address);
  /// Loads a matrix of bf16, [16][16], from shared memory as a transposed second operand. Lane l
  /// passes the address of the 8 elements of row l % 16 that begin at element l / 16 * 8. Words 0
  /// and 1 of a lane are of column g: rows 2 t and 2 t + 1, and the same 8 rows below. Words 2 and
  /// 3 are of column g + 8.
  llvm::SmallVector<mlir::Value> loadTransposed(mlir::Value address);
  /// Adds the product of a matrix of bf16, [16][16], and a transposed one, [8][16], to sums in f32,
  /// [16][8]. Words of the second matrix: word t of column g, and the one 4 words further. Sums of
  /// a lane: columns 2 t and 2 t + 1 of row g, then of row g + 8.
  llvm::SmallVector<mlir::Value> multiplyBf16(mlir::ValueRange rows, mlir::ValueRange columns,
                                              mlir::ValueRange sums);
  /// Does the same in tf32, [16][8] and [8][8]. Words that are not tf32 numbers give undefined
  /// results.
  llvm::SmallVector<mlir::Value> multiplyTf32(mlir::ValueRange rows, mlir::ValueRange columns,
                                              mlir::ValueRange sums);
  /// Does the same for codes of 8 bits with sums in i32, [16][32] and [8][32]: unsigned rows times
  /// signed columns or, if rows are signed, the opposite.
  llvm::SmallVector<mlir::Value> multiplyCodes(mlir::ValueRange rows, mlir::ValueRange columns,
                                               mlir::ValueRange sums, bool areRowsSigned);
  /// Returns two numbers rounded to bf16, ties to even, with the first in the lower half of the
  /// word.
  mlir::Value roundedPair(mlir::Value first, mlir::Value second);
  /// Returns the word of a number rounded to tf32, ties away from zero.
  mlir::Value roundedToTf32(mlir::Value number);
  /// Return the number that another lane passes: the lane with index `lane`, an i32, or the one
  /// whose index differs in the bits of `bits`. With `mask`, an i32, only the lanes in the mask
  /// take part; all of them must pass the same mask.
  mlir::Value ofLane(mlir::Value number, mlir::Value lane, mlir::Value mask = {});
  mlir::Value ofOtherLane(mlir::Value number, int64_t bits, mlir::Value mask = {});
  /// Returns the mask of the thread's team, if each `members` adjacent lanes are one.
  mlir::Value teamMask(int64_t members);

private:
  /// Loads a vector from an address aligned to its size, and returns its elements.
  llvm::SmallVector<mlir::Value> loadTogether(mlir::Value address, mlir::VectorType type,
                                              llvm::function_ref<mlir::Value(mlir::Value)> widen);

  mlir::Type sharedPointer;
  mlir::Value shared;
};

/// Returns the elements of a vector.
llvm::SmallVector<mlir::Value> elementsOf(VectorCode &code, mlir::Value vector);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_BLOCKCODE_H
