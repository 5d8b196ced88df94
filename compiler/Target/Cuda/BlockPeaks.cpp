// SPDX-License-Identifier: Apache-2.0
///
/// A lane loads its elements of a piece once, all before it uses the first, and keeps them in
/// registers: a team waits for memory once. Sums have the order of one caller (Emitters/Select.h),
/// so the bits are the same.
#include "compiler/Target/Cuda/BlockPeaks.h"

#include "compiler/Target/Cuda/BlockSelect.h"
#include "compiler/Target/Emitters/Select.h"
#include "heddle/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace heddle {

/// A block is small, so that the pieces of one row occupy many multiprocessors.
static constexpr int64_t kPeakThreads = 64;
static constexpr int64_t kTeams = kPeakThreads / sumsOfPiece;
static_assert(kWarpLanes % sumsOfPiece == 0, "a team is in one warp");
/// The elements for which a lane has registers.
static constexpr int64_t kMostElements = 64;
/// The elements of a lane whose exponentials one pass of a loop computes. Written out for all, the
/// code would be much larger, and run once it would wait for its own instructions.
static constexpr int64_t kTermsTogether = 8;
/// A lane compares its elements in so many chains, so that most comparisons do not wait for others.
static constexpr int64_t kChains = 4;

/// Returns the elements of a piece that a lane has.
static int64_t elementsOfLane(dataflow::PeaksAttr computes) {
  return computes.getPiece() / sumsOfPiece;
}

std::optional<BlockWork> blockPeaks(dataflow::PeaksAttr computes) {
  if (elementsOfLane(computes) > kMostElements) {
    return std::nullopt;
  }
  const BlockPiece pieces = {1, kTeams};
  // Shared memory marks a launch whose threads cooperate.
  return BlockWork{kPeakThreads, kSharedAlignment, pieces,
                   pieces,       /*fewRows=*/0,    /*leastBlocks=*/1};
}

namespace {
/// The work of a lane on a piece.
class PieceCode {
public:
  PieceCode(VectorCode &code, const KernelBody &body)
      : code(code), block(code, body.function), body(body),
        computes(cast<dataflow::PeaksAttr>(body.kernel.getComputes())),
        result(KernelResult::load(code, body.arguments)), mask(block.teamMask(sumsOfPiece)),
        team(code.divide(block.thread, sumsOfPiece)),
        part(code.remainder(block.thread, sumsOfPiece)) {}

  /// Emits the pieces of a row that the thread's team has: every n-th one.
  void emit(Value row, Value begin, Value end) {
    Value from = rowOfOperand(code, body, 0, row);
    code.loop(code.add(begin, team), end, kTeams,
              [&](Value piece) { emitPiece(row, piece, from); });
  }

private:
  void emitPiece(Value row, Value piece, Value from);
  SmallVector<Value> load(const PieceOfRow &own);
  RankedElement firstOf(ArrayRef<Value> elements, Value begin);
  Value sumOfLane(ArrayRef<Value> elements, Value largest);
  Value sumOfTeam(Value partial);
  Value word(int64_t number) {
    return arith::ConstantIntOp::create(code.builder, code.location, code.i32, number);
  }

  VectorCode &code;
  BlockCode block;
  const KernelBody &body;
  dataflow::PeaksAttr computes;
  KernelResult result;
  Value mask, team;
  /// The thread's number in its team.
  Value part;
};
} // namespace

static Value minusInfinity(VectorCode &code) {
  return code.number(-std::numeric_limits<float>::infinity());
}

/// Loads the lane's elements. Minus infinity, which changes nothing, stands for those after the end
/// of the row.
SmallVector<Value> PieceCode::load(const PieceOfRow &own) {
  const int64_t count = elementsOfLane(computes), columns = computes.getColumns();
  const bool isCut = columns % computes.getPiece() != 0;
  Value begin = isCut ? code.smaller(own.begin, code.integer(columns - 1)) : own.begin;
  Value first = code.at(own.row, begin);
  auto asWord = [&](Value number) -> Value {
    return arith::TruncIOp::create(code.builder, code.location, code.i32, number);
  };
  // As words, which take one instruction each. Addresses need no comparisons, so that those of the
  // elements come after all loads.
  Value left = code.subtract(own.end, own.begin);
  Value last = asWord(code.larger(code.subtract(left, 1), code.integer(0)));
  left = asWord(left);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i) {
    Value offset = word(i * sumsOfPiece);
    offset = isCut ? code.smaller(offset, last) : offset;
    Value wide = arith::ExtUIOp::create(code.builder, code.location, code.i64, offset);
    elements.push_back(block.loadFar(code.at(first, wide), code.f32));
  }
  for (int64_t i = 0; isCut && i < count; ++i) {
    Value isThere = code.less(word(i * sumsOfPiece), left);
    elements[i] = code.select(isThere, elements[i], minusInfinity(code));
  }
  return elements;
}

/// Returns whichever of two elements ranks first if the first one is of the lower column.
static RankedElement laterIfLarger(VectorCode &code, const RankedElement &first,
                                   const RankedElement &later) {
  Value isLarger = arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::OGT,
                                         later.element, first.element);
  return {code.select(isLarger, later.element, first.element),
          code.select(isLarger, later.column, first.column)};
}

/// Returns the first of the lane's elements, whose columns begin at `begin`.
RankedElement PieceCode::firstOf(ArrayRef<Value> elements, Value begin) {
  const auto count = static_cast<int64_t>(elements.size());
  const int64_t length = llvm::divideCeilSigned(count, kChains);
  // Columns are relative to `begin`, as words.
  const RankedElement none = {afterAll(code).element, word(-1)};
  RankedElement best = none;
  for (int64_t chain = 0; chain < count; chain += length) {
    RankedElement ofChain = none;
    for (int64_t i = chain; i < std::min(chain + length, count); ++i) {
      ofChain = laterIfLarger(code, ofChain, {elements[i], word(i * sumsOfPiece)});
    }
    best = laterIfLarger(code, best, ofChain);
  }
  Value offset = arith::ExtSIOp::create(code.builder, code.location, code.i64, best.column);
  Value isNone = code.less(offset, code.integer(0));
  return {best.element, code.select(isNone, code.integer(-1), code.add(begin, offset))};
}

/// Returns the sum of the exponentials of the lane. A pass takes the first elements, and moves the
/// others to their registers.
Value PieceCode::sumOfLane(ArrayRef<Value> elements, Value largest) {
  const int64_t passes =
      llvm::divideCeilSigned(static_cast<int64_t>(elements.size()), kTermsTogether);
  SmallVector<Value> carried = {code.number(0)};
  llvm::append_range(carried, elements);
  carried.resize(static_cast<size_t>(1 + passes * kTermsTogether), minusInfinity(code));
  return code
      .loop(code.integer(0), code.integer(passes), 1, carried,
            [&](Value, ValueRange now) {
              Value sum = now.front();
              for (Value element : now.slice(1, kTermsTogether)) {
                sum = code.addFloat(sum, exponentialTerm(code, element, largest));
              }
              SmallVector<Value> next = {sum};
              llvm::append_range(next, now.drop_front(1 + kTermsTogether));
              next.resize(now.size(), minusInfinity(code));
              return next;
            })
      .front();
}

/// Returns the sum of the sums of all lanes of the team, in double precision.
Value PieceCode::sumOfTeam(Value partial) {
  Value firstLane = code.subtract(code.remainder(block.thread, kWarpLanes), part);
  Value sum = zeroDouble(code);
  for (int64_t each = 0; each < sumsOfPiece; ++each) {
    Value lane =
        arith::TruncIOp::create(code.builder, code.location, code.i32, code.add(firstLane, each));
    sum = addDouble(code, sum, block.ofLane(partial, lane, mask));
  }
  return sum;
}

void PieceCode::emitPiece(Value row, Value piece, Value from) {
  const PieceOfRow own = PieceOfRow::of(code, computes, from, piece, part);
  const SmallVector<Value> elements = load(own);
  const RankedElement first = firstOfLanes(block, firstOf(elements, own.begin), sumsOfPiece, mask);
  Value sum = sumOfTeam(sumOfLane(elements, first.element));
  code.when(code.equal(part, code.integer(0)),
            [&] { storePeak(code, result, row, piece, first, sum); });
}

void emitBlockPeaks(VectorCode &code, const KernelBody &body) {
  blockPeaks(cast<dataflow::PeaksAttr>(body.kernel.getComputes()))->note(body.function);
  const KernelArguments &arguments = body.arguments;
  PieceCode piece(code, body);
  code.loop(arguments.rowBegin, arguments.rowEnd, 1,
            [&](Value row) { piece.emit(row, arguments.columnBegin, arguments.columnEnd); });
}

} // namespace heddle
