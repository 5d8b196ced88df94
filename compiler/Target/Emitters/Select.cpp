// SPDX-License-Identifier: Apache-2.0
///
/// The selection of tokens by one caller, in two kernels: what the pieces of a row have, then its
/// best elements. Each pass over a row finds the element that ranks directly after the one before.
#include "compiler/Target/Emitters/Select.h"

#include "heddle/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace heddle {

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

static Value compare(VectorCode &code, arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(code.builder, code.location, predicate, a, b);
}

// --- ranks -----------------------------------------------------------------------------------

RankedElement beforeAll(VectorCode &code) { return {code.number(kInfinity), code.integer(-1)}; }
RankedElement afterAll(VectorCode &code) { return {code.number(-kInfinity), code.integer(-1)}; }

static Value ranksBefore(VectorCode &code, const RankedElement &a, const RankedElement &b) {
  Value isLarger = compare(code, arith::CmpFPredicate::OGT, a.element, b.element);
  Value isEqual = compare(code, arith::CmpFPredicate::OEQ, a.element, b.element);
  Value isTie = code.both(isEqual, code.less(a.column, b.column));
  return arith::OrIOp::create(code.builder, code.location, isLarger, isTie);
}

RankedElement firstOf(VectorCode &code, const RankedElement &a, const RankedElement &b) {
  Value isFirst = ranksBefore(code, a, b);
  return {code.select(isFirst, a.element, b.element), code.select(isFirst, a.column, b.column)};
}

RankedElement firstAfter(VectorCode &code, Value row, Value begin, Value end, int64_t step,
                         const RankedElement &last) {
  const RankedElement none = afterAll(code);
  SmallVector<Value> found = code.loop(
      begin, end, step, {none.element, none.column}, [&](Value column, ValueRange carried) {
        const RankedElement best = {carried[0], carried[1]};
        const RankedElement each = {code.loadScalar(code.at(row, column)), column};
        Value isNext = code.both(ranksBefore(code, last, each), ranksBefore(code, each, best));
        return SmallVector<Value>{code.select(isNext, each.element, best.element),
                                  code.select(isNext, each.column, best.column)};
      });
  return {found[0], found[1]};
}

// --- pieces ----------------------------------------------------------------------------------

PieceOfRow PieceOfRow::of(VectorCode &code, dataflow::PeaksAttr computes, Value row, Value piece,
                          Value part) {
  Value begin = code.multiply(piece, computes.getPiece());
  Value end =
      code.smaller(code.add(begin, computes.getPiece()), code.integer(computes.getColumns()));
  return {row, code.add(begin, part), end};
}

RankedElement PieceOfRow::first(VectorCode &code) const {
  return firstAfter(code, row, begin, end, sumsOfPiece, beforeAll(code));
}

Value PieceOfRow::sum(VectorCode &code, Value largest) const {
  Value zero = code.number(0);
  return code.loop(begin, end, sumsOfPiece, {zero}, [&](Value column, ValueRange carried) {
    Value element = code.loadScalar(code.at(row, column));
    return SmallVector<Value>{code.addFloat(carried[0], exponentialTerm(code, element, largest))};
  })[0];
}

Value exponentialTerm(VectorCode &code, Value element, Value largest) {
  Value shifted = code.subtractFloat(element, largest);
  Value exponential = math::ExpOp::create(code.builder, code.location, shifted);
  Value isNan = compare(code, arith::CmpFPredicate::UNO, shifted, shifted);
  Value isNone = compare(code, arith::CmpFPredicate::OEQ, element, code.number(-kInfinity));
  return code.select(isNone, code.number(0), code.select(isNan, shifted, exponential));
}

Value rowOfOperand(VectorCode &code, const KernelBody &body, unsigned operand, Value row) {
  const int64_t stride = body.kernel.getOperandBuffer(operand).getRowElements();
  return code.at(body.operand(code, operand), code.multiply(row, stride));
}

Value zeroDouble(VectorCode &code) {
  return arith::ConstantOp::create(code.builder, code.location, code.builder.getF64FloatAttr(0));
}

Value addDouble(VectorCode &code, Value sum, Value part) {
  Value wide = arith::ExtFOp::create(code.builder, code.location, code.builder.getF64Type(), part);
  return arith::AddFOp::create(code.builder, code.location, sum, wide);
}

// --- results ---------------------------------------------------------------------------------

/// Returns the bits of a column as an f32. If there is no element, any column will do that a row
/// has.
static Value columnBits(VectorCode &code, Value column) {
  Value isNone = code.less(column, code.integer(0));
  Value word = arith::TruncIOp::create(code.builder, code.location, code.i32,
                                       code.select(isNone, code.integer(0), column));
  return arith::BitcastOp::create(code.builder, code.location, code.f32, word);
}

Peak Peak::load(VectorCode &code, Value row, Value piece) {
  Value address = code.at(row, code.multiply(piece, peakWords));
  Value largest = code.loadScalar(address), sum = code.loadScalar(code.at(address, 1));
  Value word = arith::BitcastOp::create(code.builder, code.location, code.i32,
                                        code.loadScalar(code.at(address, 2)));
  return {{largest, arith::ExtSIOp::create(code.builder, code.location, code.i64, word)}, sum};
}

void storePeak(VectorCode &code, const KernelResult &result, Value row, Value piece,
               const RankedElement &first, Value sumDouble) {
  Value address = result.at(code, row, code.multiply(piece, peakWords));
  Value sum = arith::TruncFOp::create(code.builder, code.location, code.f32, sumDouble);
  code.storeScalar(first.element, address);
  code.storeScalar(sum, code.at(address, 1));
  code.storeScalar(columnBits(code, first.column), code.at(address, 2));
}

static void storePair(VectorCode &code, const KernelResult &result, Value row, Value pair,
                      Value first, Value second) {
  Value address = result.at(code, row, code.multiply(pair, selectedPair));
  code.storeScalar(first, address);
  code.storeScalar(second, code.at(address, 1));
}

void storePiece(VectorCode &code, const KernelResult &result, Value row, Value pair,
                const Peak &piece) {
  storePair(code, result, row, pair, piece.first.element, piece.sum);
}

void storeRanked(VectorCode &code, const KernelResult &result, Value row, Value pair,
                 const RankedElement &ranked) {
  storePair(code, result, row, pair, ranked.element, columnBits(code, ranked.column));
}

// --- one caller ------------------------------------------------------------------------------

template <> KernelScratch scratchOf(dataflow::PeaksAttr) { return {}; }
template <> KernelScratch scratchOf(dataflow::SelectAttr) { return {}; }

static void emitPeak(VectorCode &code, const KernelResult &result, dataflow::PeaksAttr computes,
                     Value row, Value from, Value piece) {
  Value zero = code.integer(0), parts = code.integer(sumsOfPiece);
  auto part = [&](Value number) { return PieceOfRow::of(code, computes, from, piece, number); };
  const RankedElement none = afterAll(code);
  SmallVector<Value> found =
      code.loop(zero, parts, 1, {none.element, none.column}, [&](Value number, ValueRange best) {
        const RankedElement first = firstOf(code, {best[0], best[1]}, part(number).first(code));
        return SmallVector<Value>{first.element, first.column};
      });
  const RankedElement first = {found[0], found[1]};
  Value sum = code.loop(zero, parts, 1, {zeroDouble(code)}, [&](Value number, ValueRange carried) {
    Value partial = part(number).sum(code, first.element);
    return SmallVector<Value>{addDouble(code, carried[0], partial)};
  })[0];
  storePeak(code, result, row, piece, first, sum);
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::PeaksAttr computes) {
  const KernelArguments &arguments = body.arguments;
  const KernelResult result = KernelResult::load(code, arguments);
  code.loop(arguments.rowBegin, arguments.rowEnd, 1, [&](Value row) {
    Value from = rowOfOperand(code, body, 0, row);
    code.loop(arguments.columnBegin, arguments.columnEnd, 1,
              [&](Value piece) { emitPeak(code, result, computes, row, from, piece); });
  });
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::SelectAttr computes) {
  const KernelArguments &arguments = body.arguments;
  const KernelResult result = KernelResult::load(code, arguments);
  Value pieces = code.integer(computes.getPieces());
  code.loop(arguments.rowBegin, arguments.rowEnd, 1, [&](Value row) {
    Value from = rowOfOperand(code, body, 0, row), peaks = rowOfOperand(code, body, 1, row);
    code.loop(
        arguments.columnBegin, code.smaller(arguments.columnEnd, pieces), 1,
        [&](Value piece) { storePiece(code, result, row, piece, Peak::load(code, peaks, piece)); });
    const RankedElement first = beforeAll(code);
    code.loop(pieces, arguments.columnEnd, 1, {first.element, first.column},
              [&](Value pair, ValueRange last) {
                const RankedElement next =
                    firstAfter(code, from, code.integer(0), code.integer(computes.getColumns()),
                               /*step=*/1, {last[0], last[1]});
                code.when(code.less(arguments.columnBegin, code.add(pair, 1)),
                          [&] { storeRanked(code, result, row, pair, next); });
                return SmallVector<Value>{next.element, next.column};
              });
  });
}

} // namespace heddle
