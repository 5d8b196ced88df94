// SPDX-License-Identifier: Apache-2.0
///
/// The selection of tokens by one caller. Each pass over a row finds the element that ranks
/// directly after the one before it.
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

PieceOfRow PieceOfRow::of(VectorCode &code, dataflow::SelectAttr computes, Value row, Value piece,
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
    Value shifted = code.subtractFloat(element, largest);
    Value exponential = math::ExpOp::create(code.builder, code.location, shifted);
    Value isNan = compare(code, arith::CmpFPredicate::UNO, shifted, shifted);
    Value isNone = compare(code, arith::CmpFPredicate::OEQ, element, code.number(-kInfinity));
    Value term = code.select(isNone, zero, code.select(isNan, shifted, exponential));
    return SmallVector<Value>{code.addFloat(carried[0], term)};
  })[0];
}

Value zeroDouble(VectorCode &code) {
  return arith::ConstantOp::create(code.builder, code.location, code.builder.getF64FloatAttr(0));
}

Value addDouble(VectorCode &code, Value sum, Value part) {
  Value wide = arith::ExtFOp::create(code.builder, code.location, code.builder.getF64Type(), part);
  return arith::AddFOp::create(code.builder, code.location, sum, wide);
}

// --- results ---------------------------------------------------------------------------------

static void storePair(VectorCode &code, const KernelResult &result, Value row, Value pair,
                      Value first, Value second) {
  Value address = result.at(code, row, code.multiply(pair, selectedPair));
  code.storeScalar(first, address);
  code.storeScalar(second, code.at(address, 1));
}

void storePiece(VectorCode &code, const KernelResult &result, Value row, Value pair, Value largest,
                Value sumDouble) {
  Value sum = arith::TruncFOp::create(code.builder, code.location, code.f32, sumDouble);
  storePair(code, result, row, pair, largest, sum);
}

void storeRanked(VectorCode &code, const KernelResult &result, Value row, Value pair,
                 const RankedElement &ranked) {
  // If there is no element, any column will do that a row has.
  Value isNone = code.less(ranked.column, code.integer(0));
  Value column = code.select(isNone, code.integer(0), ranked.column);
  Value word = arith::TruncIOp::create(code.builder, code.location, code.i32, column);
  Value bits = arith::BitcastOp::create(code.builder, code.location, code.f32, word);
  storePair(code, result, row, pair, ranked.element, bits);
}

// --- one caller ------------------------------------------------------------------------------

template <> KernelScratch scratchOf(dataflow::SelectAttr) { return {}; }

static void emitPieces(VectorCode &code, const KernelArguments &arguments,
                       const KernelResult &result, dataflow::SelectAttr computes, Value row,
                       Value from) {
  Value zero = code.integer(0), parts = code.integer(sumsOfPiece);
  Value last = code.smaller(arguments.columnEnd, code.integer(computes.getPieces()));
  code.loop(arguments.columnBegin, last, 1, [&](Value piece) {
    auto part = [&](Value number) { return PieceOfRow::of(code, computes, from, piece, number); };
    const RankedElement none = afterAll(code);
    Value largest =
        code.loop(zero, parts, 1, {none.element, none.column}, [&](Value number, ValueRange best) {
          const RankedElement first = firstOf(code, {best[0], best[1]}, part(number).first(code));
          return SmallVector<Value>{first.element, first.column};
        })[0];
    Value sum =
        code.loop(zero, parts, 1, {zeroDouble(code)}, [&](Value number, ValueRange carried) {
          return SmallVector<Value>{addDouble(code, carried[0], part(number).sum(code, largest))};
        })[0];
    storePiece(code, result, row, piece, largest, sum);
  });
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::SelectAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Value input = body.operand(code, 0);
  const int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  const KernelResult result = KernelResult::load(code, arguments);
  code.loop(arguments.rowBegin, arguments.rowEnd, 1, [&](Value row) {
    Value from = code.at(input, code.multiply(row, stride));
    emitPieces(code, arguments, result, computes, row, from);
    const RankedElement first = beforeAll(code);
    code.loop(code.integer(computes.getPieces()), arguments.columnEnd, 1,
              {first.element, first.column}, [&](Value pair, ValueRange last) {
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
