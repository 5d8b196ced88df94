// SPDX-License-Identifier: Apache-2.0
///
/// The parts of a selection of tokens (runtime/include/heddle/Selection.h) that one thread computes
/// by itself. Kernels of one caller and of blocks of threads combine them in the same order, which
/// is also that of runtime/Kernels/LogSumExp.h, so all of them have the same bits.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_SELECT_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_SELECT_H

#include "compiler/Target/Emitters/Emitters.h"

namespace heddle {

/// An element of a row and its column, an i64; minus infinity and -1 if there is none.
struct RankedElement {
  mlir::Value element, column;
};

/// Returns what ranks before every element of a row, and what ranks after all.
RankedElement beforeAll(VectorCode &code);
RankedElement afterAll(VectorCode &code);

/// Returns whichever ranks first: the larger element or, of equal ones, that of the lower column.
/// Their order does not matter. NaN and minus infinity never rank before afterAll().
RankedElement firstOf(VectorCode &code, const RankedElement &a, const RankedElement &b);

/// Returns the first of the columns begin, begin + step, begin + 2 step, ... before `end` of a row
/// that rank after `last`; afterAll() if none do.
RankedElement firstAfter(VectorCode &code, mlir::Value row, mlir::Value begin, mlir::Value end,
                         int64_t step, const RankedElement &last);

/// The part of a piece that one of its sums covers: columns begin, begin + sumsOfPiece, ... before
/// `end`.
struct PieceOfRow {
  mlir::Value row, begin, end;

  /// Returns part number `part`, an i64, of piece number `piece`.
  static PieceOfRow of(VectorCode &code, dataflow::PeaksAttr computes, mlir::Value row,
                       mlir::Value piece, mlir::Value part);
  /// Returns the element that ranks first.
  RankedElement first(VectorCode &code) const;
  /// Returns the sum of exp(element - largest); minus infinity adds nothing.
  mlir::Value sum(VectorCode &code, mlir::Value largest) const;
};

/// Returns what an element adds to a sum: exp(element - largest), or zero for minus infinity.
mlir::Value exponentialTerm(VectorCode &code, mlir::Value element, mlir::Value largest);

/// Returns the address of a row of an operand.
mlir::Value rowOfOperand(VectorCode &code, const KernelBody &body, unsigned operand,
                         mlir::Value row);

/// Adds an f32 to a sum in double precision.
mlir::Value addDouble(VectorCode &code, mlir::Value sum, mlir::Value part);
mlir::Value zeroDouble(VectorCode &code);

/// What the first kernel leaves of a piece for the second one: its element that ranks first, and
/// the sum of exponentials.
struct Peak {
  RankedElement first;
  mlir::Value sum;

  /// Loads piece number `piece`; `row` is the address of the words of all pieces.
  static Peak load(VectorCode &code, mlir::Value row, mlir::Value piece);
};
void storePeak(VectorCode &code, const KernelResult &result, mlir::Value row, mlir::Value piece,
               const RankedElement &first, mlir::Value sumDouble);

/// Store pair number `pair` of a row: that of a piece, and a ranked element, whose column is stored
/// as the bits of an i32.
void storePiece(VectorCode &code, const KernelResult &result, mlir::Value row, mlir::Value pair,
                const Peak &piece);
void storeRanked(VectorCode &code, const KernelResult &result, mlir::Value row, mlir::Value pair,
                 const RankedElement &ranked);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_SELECT_H
