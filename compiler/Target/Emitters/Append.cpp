// SPDX-License-Identifier: Apache-2.0
///
/// Appends rows to a paged cache: stores each row at the place of its position, rounded to the
/// cache's element type. Integers and divisions round identically on every target.
#include "compiler/Target/Emitters/CacheBlock.h"
#include "compiler/Target/Emitters/Emitters.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using heddle::dataflow::CacheLayout;

namespace heddle {

// The unroll factor of the loop that scatters a row of keys.
static constexpr int64_t kUnrolledAppends = 8;
// The largest 8-bit code.
static constexpr float kLargestCode = 127;

namespace {
/// The place of a row: one position of a cache.
struct Place {
  const CacheBlock &places;
  Value block, position;

  Value of(VectorCode &code, Value element) const {
    return places.elementAt(code, block, position, element);
  }
};
} // namespace

// Consecutive elements of a key are a block apart.
static void scatterRow(VectorCode &code, Value from, const Place &to, int64_t width) {
  Type type = to.places.element;
  auto copy = [&](Value element) {
    Value number = code.loadScalar(code.at(from, element));
    code.storeStoredScalar(number, to.of(code, element), type);
  };
  int64_t whole = width / kUnrolledAppends * kUnrolledAppends;
  code.loop(code.integer(0), code.integer(whole), kUnrolledAppends, [&](Value first) {
    for (int64_t i = 0; i < kUnrolledAppends; ++i) {
      copy(code.add(first, i));
    }
  });
  for (int64_t element = whole; element < width; ++element) {
    copy(code.integer(element));
  }
}

static void copyRow(VectorCode &code, Value from, const Place &to, int64_t width) {
  Type type = to.places.element;
  code.overRow(width, 4, [&](Value column, int64_t valid) {
    Value numbers = code.loadVector(code.at(from, column), valid);
    code.storeStored(numbers, to.of(code, column), type, valid);
  });
}

// Stores as many rows as a vector has lanes, at adjacent positions of one block, by transposing
// squares in registers.
static void transposeRows(VectorCode &code, Value from, int64_t stride, const Place &to,
                          int64_t width) {
  code.overRow(width, 1, [&](Value column, int64_t valid) {
    SmallVector<Value> square;
    for (int64_t row = 0; row < code.lanes; ++row) {
      square.push_back(code.loadVector(code.at(code.at(from, row * stride), column), valid));
    }
    square = code.transposeSquare(square);
    for (int64_t i = 0; i < valid; ++i) {
      code.storeStored(square[i], to.of(code, code.add(column, i)), to.places.element);
    }
  });
}

// --- codes -----------------------------------------------------------------------------------

// Returns the scale of `count` numbers: their largest magnitude divided by the largest code; NaN if
// one of them is infinite or NaN.
static Value scaleOf(VectorCode &code, Value from, int64_t count) {
  Value largest = largestOverRow(code, from, count, Largest::OrNan, [&](Value numbers) -> Value {
    return math::AbsFOp::create(code.builder, code.location, numbers);
  });
  Value isFinite =
      arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::OLT, largest,
                            code.number(std::numeric_limits<float>::infinity()));
  return code.select(isFinite, code.divideFloat(largest, code.number(kLargestCode)),
                     code.number(std::numeric_limits<float>::quiet_NaN()));
}

// Divides numbers by their scale and rounds to codes, to nearest, ties to even. If the scale is
// zero, all codes are zero. A subnormal scale may make codes too large: they are clamped.
static Value codesOf(VectorCode &code, Value numbers, Value scale) {
  // The addition moves the rounded integer into the low bits.
  constexpr float rounder = 12582912;
  Value all = code.broadcast(scale);
  Value isZero = arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::OEQ, all,
                                       code.splat(0));
  Value quotients = code.select(isZero, code.splat(0), code.divideFloat(numbers, all));
  quotients =
      code.minimum(code.maximum(quotients, code.splat(-kLargestCode)), code.splat(kLargestCode));
  Value rounded = code.addFloat(quotients, code.splat(rounder));
  auto words = VectorType::get({code.lanes}, code.i32);
  auto bytes = VectorType::get({code.lanes}, code.builder.getI8Type());
  Value bits = arith::BitcastOp::create(code.builder, code.location, words, rounded);
  return arith::TruncIOp::create(code.builder, code.location, bytes, bits);
}

// Stores codes: adjacent, or a block apart for keys.
static void storeCodes(VectorCode &code, Value codes, const Place &to, Value element,
                       int64_t valid) {
  if (to.places.elementStride == 1) {
    code.storeBytes(codes, to.of(code, element), valid);
    return;
  }
  for (int64_t lane = 0; lane < valid; ++lane) {
    Value one = vector::ExtractOp::create(code.builder, code.location, codes, lane);
    LLVM::StoreOp::create(code.builder, code.location, one, to.of(code, code.add(element, lane)),
                          /*alignment=*/1);
  }
}

// Quantises each group of a row separately, independent of other rows and heads.
static void quantizeRow(VectorCode &code, Value from, const Place &to, int64_t width) {
  int64_t group = to.places.group;
  code.loop(code.integer(0), code.integer(width), group, [&](Value first) {
    Value numbers = code.at(from, first), scale = scaleOf(code, numbers, group);
    code.once(
        [&] { code.storeScalar(scale, to.places.scaleAt(code, to.block, to.position, first)); });
    code.overRow(group, 1, [&](Value column, int64_t valid) {
      Value codes = codesOf(code, code.loadVector(code.at(numbers, column), valid), scale);
      storeCodes(code, codes, to, code.add(first, column), valid);
    });
  });
}

// --- rows ------------------------------------------------------------------------------------

template <> KernelScratch scratchOf(dataflow::AppendAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::AppendAttr) {
  const KernelArguments &arguments = body.arguments;
  dataflow::CacheType type = body.kernel.getOperandCache(0);
  CacheFields cache = CacheFields::load(code, body.operand(code, 0));
  // The segments of a cache that is appended to are the sequences of the run.
  RowFields appended = body.rows(code);
  Value sequenceOf = appended.sequenceOf(code), positions = appended.positions(code);
  Value rows = body.operand(code, 1);
  int64_t stride = body.kernel.getOperandBuffer(1).getRowElements();
  CacheBlock places(type);
  auto place = [&](Value row, Value position) {
    Value blocks = cache.blocksOf(code, code.loadIndex(sequenceOf, row));
    return Place{places, cache.blockAt(code, blocks, position),
                 code.remainder(position, HEDDLE_BLOCK)};
  };
  bool areKeys = type.getLayout() == CacheLayout::Keys;
  // With one lane per vector, copyRow() stores each element at its place.
  auto appendOne = places.hasScales() ? quantizeRow : areKeys && !code.team ? scatterRow : copyRow;
  auto appendRow = [&](Value row) {
    Place to = place(row, code.loadIndex(positions, row));
    appendOne(code, code.at(rows, code.multiply(row, stride)), to, type.getWidth());
  };
  if (!areKeys || places.hasScales() || code.team) {
    code.overRows(arguments.rowBegin, arguments.rowEnd, appendRow);
    return;
  }
  // Takes a full vector of rows together if their positions are adjacent and aligned to the lanes.
  auto isGroup = [&](Value row, Value position) {
    Value inRange = code.less(code.add(row, code.lanes - 1), arguments.rowEnd);
    // Reads nothing past the range.
    Value lastRow = code.select(inRange, code.add(row, code.lanes - 1), row);
    Value last = code.add(position, code.lanes - 1);
    Value follow = code.equal(code.loadIndex(positions, lastRow), last);
    Value sameSequence =
        code.equal(code.loadIndex(sequenceOf, lastRow), code.loadIndex(sequenceOf, row));
    Value isAligned = code.equal(code.remainder(position, code.lanes), code.integer(0));
    return code.both(code.both(follow, sameSequence), isAligned);
  };
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value position = code.loadIndex(positions, row), whole = isGroup(row, position);
    code.when(
        whole,
        [&] {
          transposeRows(code, code.at(rows, code.multiply(row, stride)), stride,
                        place(row, position), type.getWidth());
        },
        [&] { appendRow(row); });
    return code.add(row, code.select(whole, code.integer(code.lanes), code.integer(1)));
  });
}

} // namespace heddle
