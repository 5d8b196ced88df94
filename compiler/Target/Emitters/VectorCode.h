// SPDX-License-Identifier: Apache-2.0
///
/// A thin layer over scf, vector, arith and llvm for writing kernels: pointers into buffers,
/// vectors of the target's width, loops over 64-bit counters. All emitters use it, so that a
/// kernel's source reads like its inner loop.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_VECTORCODE_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_VECTORCODE_H

#include "compiler/Target/Target.h"
#include "dialects/Transformer/Visibility.h"
#include "heddle/RowSpace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <functional>
#include <optional>

namespace heddle {

/// The size of a cache line, which a prefetch loads.
inline constexpr int64_t kLineBytes = 64;
/// The size of a scale of quantised weights.
inline constexpr int64_t kScaleBytes = sizeof(float);

/// The largest number of lanes of any target: where whole vectors are stored, scratch has room for
/// so many.
inline constexpr int64_t kMostLanes = 16;

/// Threads that compute a row together, on targets whose vectors have one lane: member `own` has
/// the columns own, own + members, own + 2 * members, ... A member may load elements that it has
/// stored itself, but not those of other members.
struct RowTeam {
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

  mlir::Value own;
  int64_t members;
  /// The index of the team and the number of teams, which take rows in turns.
  mlir::Value team;
  int64_t teams;
  /// Combines one number of each member and returns the same result to all, in an order that
  /// depends only on `members`. All members must call it, and the operation must be commutative.
  std::function<mlir::Value(mlir::Value number, Combine combine)> combine;
};

/// Writes code at a builder's insertion point.
class VectorCode {
public:
  using Body = llvm::function_ref<void(mlir::Value counter)>;
  using CarriedBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value counter,
                                                                        mlir::ValueRange carried)>;

  VectorCode(mlir::OpBuilder &builder, mlir::Location location, const TargetDescription &target);

  mlir::OpBuilder &builder;
  mlir::Location location;
  const TargetDescription &target;
  /// The f32 lanes of a vector.
  const int64_t lanes;
  mlir::Type f32, i32, i64, pointer, vector;
  /// The team that computes rows with overRows() and overRow(); none if the caller is alone.
  std::optional<RowTeam> team;

  // --- integers -------------------------------------------------------------------------------
  mlir::Value integer(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, integer(b)); }
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, int64_t b) { return subtract(a, integer(b)); }
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, int64_t b) { return b == 1 ? a : multiply(a, integer(b)); }
  /// Return quotients of non-negative integers, rounded down and up.
  mlir::Value divide(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, int64_t b) { return b == 1 ? a : divide(a, integer(b)); }
  mlir::Value divideUp(mlir::Value a, int64_t b) { return divide(add(a, b - 1), b); }
  mlir::Value divideUp(mlir::Value a, mlir::Value b) { return divide(add(a, subtract(b, 1)), b); }
  /// Returns the remainder of a non-negative integer.
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value larger(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);
  /// Returns the first key, or the end of the keys, that a query at a position sees.
  mlir::Value positionBound(const transformer::PositionBound &bound, mlir::Value position);
  /// Returns whether both conditions hold.
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  // --- memory ---------------------------------------------------------------------------------
  /// Returns the address of f32 element `offset` of `base`.
  mlir::Value at(mlir::Value base, mlir::Value offset);
  mlir::Value at(mlir::Value base, int64_t offset) {
    return offset == 0 ? base : at(base, integer(offset));
  }
  mlir::Value bytesAt(mlir::Value base, mlir::Value offset);
  // Load from the description of a run (heddle/Abi.h) and its i32 arrays. Kernels do not change
  // them, so the loads are invariant and LLVM may hoist them.
  mlir::Value loadPointer(mlir::Value address);
  mlir::Value loadInteger(mlir::Value address);
  /// Loads element `offset` of an i32 array, as i64.
  mlir::Value loadIndex(mlir::Value base, mlir::Value offset);
  mlir::Value loadScalar(mlir::Value address);
  void storeScalar(mlir::Value value, mlir::Value address);
  /// Loads a vector; only the first `valid` lanes are read from memory, the others are zero.
  mlir::Value loadVector(mlir::Value address, int64_t valid);
  mlir::Value loadVector(mlir::Value address) { return loadVector(address, lanes); }
  /// Returns the address of element `offset` of `base`, whose elements are stored as `element`.
  mlir::Value storedAt(mlir::Value base, mlir::Value offset, mlir::Type element);
  /// Loads a vector of elements stored as f32, f16, bf16 or i8, as f32, like loadVector().
  mlir::Value loadStored(mlir::Value address, mlir::Type element, int64_t valid);
  mlir::Value loadStored(mlir::Value address, mlir::Type element) {
    return loadStored(address, element, lanes);
  }
  /// Loads one such element.
  mlir::Value loadStoredScalar(mlir::Value address, mlir::Type element);
  /// Converts the bits of a stored type other than f32 to f32: one element or a vector.
  mlir::Value widenStored(mlir::Value stored, mlir::Type element);
  /// Stores a vector of f32 as elements of f32 or bf16, rounded by roundedToBf16(), like
  /// storeVector().
  void storeStored(mlir::Value value, mlir::Value address, mlir::Type element, int64_t valid);
  void storeStored(mlir::Value value, mlir::Value address, mlir::Type element) {
    storeStored(value, address, element, lanes);
  }
  /// Stores one such element.
  void storeStoredScalar(mlir::Value value, mlir::Value address, mlir::Type element);
  /// Stores the first `valid` elements of a vector of i8.
  void storeBytes(mlir::Value value, mlir::Value address, int64_t valid);
  /// Rounds f32 numbers to bf16, ties to even, and returns the bits in the upper halves; the lower
  /// halves are undefined. NaN stays NaN. Uses integer arithmetic, because the hardware instruction
  /// flushes subnormal numbers: all targets round alike. For one number or a vector.
  mlir::Value roundedToBf16(mlir::Value numbers);
  /// Does the same, but returns f32 numbers, whose lower halves are zero.
  mlir::Value nearestBf16(mlir::Value numbers);
  /// Loads a vector with zero in the lanes whose index plus `first` is not below `limit`; their
  /// memory is not read.
  mlir::Value loadBelow(mlir::Value address, mlir::Value first, mlir::Value limit);
  void storeVector(mlir::Value value, mlir::Value address, int64_t valid);
  void storeVector(mlir::Value value, mlir::Value address) { storeVector(value, address, lanes); }
  /// Stores the lanes whose index plus `first` is below `limit`.
  void storeBelow(mlir::Value value, mlir::Value address, mlir::Value first, mlir::Value limit);
  /// Prefetches the cache line at an address into the L2 cache: a hint that never faults.
  void prefetch(mlir::Value address);
  /// Prefetches the cache lines of `elements` f32 elements; the address is aligned to a line.
  void prefetchLines(mlir::Value address, int64_t elements);
  /// Allocates `elements` f32 values in the function's frame, aligned to a cache line.
  mlir::Value frame(mlir::func::FuncOp function, int64_t elements);
  /// Stores an array of constants beside the code of a function, which has at most one, and returns
  /// its address.
  mlir::Value array(mlir::func::FuncOp function, llvm::ArrayRef<float> values);

  // --- f32 scalars and vectors ----------------------------------------------------------------
  mlir::Value number(float value);
  mlir::Value splat(float value);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value addFloat(mlir::Value a, mlir::Value b);
  mlir::Value subtractFloat(mlir::Value a, mlir::Value b);
  mlir::Value multiplyFloat(mlir::Value a, mlir::Value b);
  mlir::Value divideFloat(mlir::Value a, mlir::Value b);
  /// Return the larger and the smaller number; NaN in `b` propagates, NaN in `a` does not.
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  /// Returns the larger number, or NaN if either is NaN.
  mlir::Value maximumOrNan(mlir::Value a, mlir::Value b);
  mlir::Value squareRoot(mlir::Value a);
  /// Return the sum and the maximum of all lanes, in a fixed order.
  mlir::Value sumOfLanes(mlir::Value vector);
  mlir::Value maximumOfLanes(mlir::Value vector);
  /// Returns the maximum of all lanes, or NaN if any is NaN.
  mlir::Value maximumOfLanesOrNan(mlir::Value vector);
  /// The same, bitwise, for each of several vectors, at most as many as lanes: lane i of the result
  /// is for vector i. Avoids storing scalars and loading them as a vector, which would stall.
  mlir::Value sumsOfLanes(llvm::ArrayRef<mlir::Value> vectors);
  mlir::Value maximaOfLanes(llvm::ArrayRef<mlir::Value> vectors);
  /// Broadcasts one lane of a vector.
  mlir::Value broadcastLane(mlir::Value vector, int64_t lane);
  /// Transposes as many vectors as lanes: lane j of result i is lane i of vector j.
  llvm::SmallVector<mlir::Value> transposeSquare(llvm::SmallVector<mlir::Value> rows);
  /// Keeps the lanes whose index plus `first` is below `limit`, sets the others to `other`.
  mlir::Value keepBelow(mlir::Value vector, mlir::Value first, mlir::Value limit, float other);
  /// The same for the lanes whose index plus `first` is at least `begin`.
  mlir::Value keepFrom(mlir::Value vector, mlir::Value first, mlir::Value begin, float other);

  // --- control --------------------------------------------------------------------------------
  void loop(mlir::Value from, mlir::Value to, int64_t step, Body body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to, int64_t step,
                                      mlir::ValueRange initial, CarriedBody body);
  /// Emits a while loop: calls `body` with `from`, then with its previous result, as long as that
  /// is less than `to`.
  void walk(mlir::Value from, mlir::Value to, llvm::function_ref<mlir::Value(mlir::Value)> body);
  void when(mlir::Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);

  /// Returns the lanes of vector `index` that are within `width` elements.
  int64_t validLanes(int64_t index, int64_t width) const {
    return std::max<int64_t>(0, std::min(lanes, width - index * lanes));
  }
  /// Calls `body(row)` for the rows of [from, to); with a team, for those of the caller's team.
  void overRows(mlir::Value from, mlir::Value to, Body body);
  /// A vector of columns of a row: the first of them, and its used lanes.
  struct Columns {
    mlir::Value first;
    int64_t valid;
  };
  /// Calls `body` for the vectors of a row of `width` elements: a loop over whole groups of
  /// `unroll` vectors, then the rest as a group. A member of a team gets its own columns, and must
  /// not combine anything in `body`: the others may be done.
  void overGroups(int64_t width, int64_t unroll,
                  llvm::function_ref<void(llvm::ArrayRef<Columns> group)> body);
  /// Does the same vector by vector.
  void overRow(int64_t width, int64_t unroll,
               llvm::function_ref<void(mlir::Value column, int64_t valid)> body);
  /// Return the first element of a row that the caller has, and the distance to its next one, where
  /// code takes elements one by one; and call `body` in one member of the team.
  mlir::Value ownElement() { return team ? team->own : integer(0); }
  int64_t elementStep() const { return team ? team->members : 1; }
  void once(llvm::function_ref<void()> body);
  /// Return the distance from one vector of the caller to its next one, and the caller's first
  /// column at or after a multiple of that distance.
  int64_t columnStep() const { return team ? team->members : lanes; }
  mlir::Value ownColumn(mlir::Value column) { return team ? add(column, team->own) : column; }
  /// Combines one number of each member of the team; without a team, returns the number itself.
  mlir::Value combineTeam(mlir::Value number, RowTeam::Combine combine) {
    return team ? team->combine(number, combine) : number;
  }
};

/// The rows of one row space (HeddleRows), loaded on demand.
struct RowFields {
  mlir::Value rows;

  mlir::Value count(VectorCode &code) const;
  mlir::Value longest(VectorCode &code) const;
  mlir::Value offsets(VectorCode &code) const;
  mlir::Value sequenceOf(VectorCode &code) const;
  mlir::Value positions(VectorCode &code) const;
  /// Only for rows in time order.
  mlir::Value ranks(VectorCode &code) const;
  mlir::Value lengths(VectorCode &code) const;
  /// Only for rows of images of variable width, and tokens that are their pixels.
  mlir::Value widths(VectorCode &code) const;
};

/// The arguments of a kernel function (runtime/include/heddle/Abi.h), loaded on demand.
struct KernelArguments {
  mlir::Value context, rowBegin, rowEnd, columnBegin, columnEnd;
  /// The row spaces that the kernel names, in the order of the dispatch.
  llvm::SmallVector<RowSpace> spaces;

  /// Returns an operand of a call: first the results, each a HeddleResult or a HeddleCache, then
  /// the inputs that are only read.
  mlir::Value operand(VectorCode &code, int64_t index) const;
  /// Returns the rows of a space that the kernel names.
  RowFields rows(VectorCode &code, RowSpace space) const;
  mlir::Value scratch(VectorCode &code) const;
};

/// The buffer that a kernel writes, or the part of it that is in memory (HeddleResult).
struct KernelResult {
  mlir::Value memory, rowStride;
  mlir::Value skipped; // elements between the first of the buffer and the first in memory

  /// Loads the result with index `number`, which must not be a cache or state.
  static KernelResult load(VectorCode &code, const KernelArguments &arguments, int64_t number = 0);
  /// Returns the address of an element of a row; it must be in memory.
  mlir::Value at(VectorCode &code, mlir::Value row, mlir::Value column) const;
};

/// The fields of an operand that is a cache (HeddleCache).
struct CacheFields {
  mlir::Value memory, blockStride, offsets, segmentOf, lengths, blocks, blocksPitch;

  static CacheFields load(VectorCode &code, mlir::Value cache);
  /// Returns the list of the blocks of a segment.
  mlir::Value blocksOf(VectorCode &code, mlir::Value segment) const;
  /// Returns the address of this cache's part of the block that holds a position; `list` is the
  /// segment's.
  mlir::Value blockAt(VectorCode &code, mlir::Value list, mlir::Value position) const;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_VECTORCODE_H
