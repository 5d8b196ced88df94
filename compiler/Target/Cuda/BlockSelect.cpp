// SPDX-License-Identifier: Apache-2.0
///
/// Distributes the parts of a selection (Emitters/Select.h) among the threads of a block. All
/// combinations have the order of one caller, so the bits are the same.
///
/// Shared memory holds the best element of each warp, twice: one pass writes it while slower
/// threads still read that of the pass before, so a pass needs only one barrier.
#include "compiler/Target/Cuda/BlockSelect.h"

#include "compiler/Target/Emitters/Select.h"
#include "heddle/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace heddle {

/// With one sentence a single multiprocessor works, so a block is large: a pass over 32,000 tokens
/// loads 63 elements per thread.
static constexpr int64_t kThreads = 512;
static constexpr int64_t kWarps = kThreads / kWarpLanes;
/// An element and its column, in words.
static constexpr int64_t kSlotBytes = 8;
static constexpr int64_t kSharedBytes = 2 * kWarps * kSlotBytes;

BlockWork blockSelect(dataflow::SelectAttr computes) {
  const BlockPiece row = {1, computes.getPieces() + computes.getCount()};
  return {kThreads, kSharedBytes, row, row, /*fewRows=*/0, /*leastBlocks=*/1};
}

namespace {
/// The work of a block on one row.
class SelectedRow {
public:
  SelectedRow(VectorCode &code, const BlockCode &block, const KernelBody &body)
      : code(code), block(block), arguments(body.arguments),
        computes(cast<dataflow::SelectAttr>(body.kernel.getComputes())),
        input(body.operand(code, 0)), stride(body.kernel.getOperandBuffer(0).getRowElements()),
        result(KernelResult::load(code, body.arguments)),
        lane(code.remainder(block.thread, kWarpLanes)) {}

  void emit(Value row) {
    Value from = code.at(input, code.multiply(row, stride));
    emitPieces(row, from);
    // Slower threads may still read what the last pass over the previous row left.
    block.barrier();
    emitRanks(row, from);
  }

private:
  void emitPieces(Value row, Value from);
  void emitRanks(Value row, Value from);
  RankedElement firstOfWarp(RankedElement own);
  RankedElement firstOfBlock(const RankedElement &own, Value pass);
  Value word(Value number) {
    return arith::TruncIOp::create(code.builder, code.location, code.i32, number);
  }
  Value index(Value word) {
    return arith::ExtSIOp::create(code.builder, code.location, code.i64, word);
  }
  Value cast32(Type type, Value bits) {
    return arith::BitcastOp::create(code.builder, code.location, type, bits);
  }
  Value slot(Value pass, Value warp) {
    Value half = code.multiply(code.remainder(pass, 2), kWarps);
    return block.sharedAt(code.multiply(code.add(half, warp), kSlotBytes));
  }

  VectorCode &code;
  BlockCode block;
  const KernelArguments &arguments;
  dataflow::SelectAttr computes;
  Value input;
  int64_t stride;
  KernelResult result;
  Value lane;
};
} // namespace

/// Each team of sumsOfPiece lanes takes every n-th piece.
void SelectedRow::emitPieces(Value row, Value from) {
  static_assert(kWarpLanes % sumsOfPiece == 0);
  Value part = code.remainder(block.thread, sumsOfPiece);
  Value firstLane = code.subtract(lane, part);
  Value bits = code.integer((int64_t{1} << sumsOfPiece) - 1);
  Value mask = word(arith::ShLIOp::create(code.builder, code.location, bits, firstLane));
  Value first = code.add(arguments.columnBegin, code.divide(block.thread, sumsOfPiece));
  Value last = code.smaller(arguments.columnEnd, code.integer(computes.getPieces()));
  code.loop(first, last, kThreads / sumsOfPiece, [&](Value piece) {
    const PieceOfRow own = PieceOfRow::of(code, computes, from, piece, part);
    Value largest = own.largest(code, code.number(-std::numeric_limits<float>::infinity()));
    for (int64_t bit = 1; bit < sumsOfPiece; bit *= 2) {
      largest = code.maximum(largest, block.ofOtherLane(largest, bit, mask));
    }
    Value partial = own.sum(code, largest);
    Value sum = zeroDouble(code);
    for (int64_t each = 0; each < sumsOfPiece; ++each) {
      Value other = block.ofLane(partial, word(code.add(firstLane, each)), mask);
      sum = addDouble(code, sum, other);
    }
    code.when(code.equal(part, code.integer(0)),
              [&] { storePiece(code, result, row, piece, largest, sum); });
  });
}

/// Returns the first of the elements of a warp's lanes, in all lanes.
RankedElement SelectedRow::firstOfWarp(RankedElement own) {
  for (int64_t bit = 1; bit < kWarpLanes; bit *= 2) {
    Value element = block.ofOtherLane(own.element, bit);
    // Lanes exchange words; what they hold does not matter.
    Value column = block.ofOtherLane(cast32(code.f32, word(own.column)), bit);
    own = firstOf(code, own, {element, index(cast32(code.i32, column))});
  }
  return own;
}

/// Returns the first of the elements of all threads, in all threads. Each pass has a number.
RankedElement SelectedRow::firstOfBlock(const RankedElement &own, Value pass) {
  const RankedElement ofWarp = firstOfWarp(own);
  code.when(code.equal(lane, code.integer(0)), [&] {
    block.storeWords({cast32(code.i32, ofWarp.element), word(ofWarp.column)},
                     slot(pass, code.divide(block.thread, kWarpLanes)));
  });
  block.barrier();
  RankedElement best = afterAll(code);
  for (int64_t warp = 0; warp < kWarps; ++warp) {
    SmallVector<Value> words = block.loadWords(slot(pass, code.integer(warp)), 2);
    best = firstOf(code, best, {cast32(code.f32, words[0]), index(words[1])});
  }
  return best;
}

void SelectedRow::emitRanks(Value row, Value from) {
  const RankedElement before = beforeAll(code);
  code.loop(code.integer(computes.getPieces()), arguments.columnEnd, 1,
            {before.element, before.column}, [&](Value pair, ValueRange last) {
              const RankedElement own =
                  firstAfter(code, computes, from, block.thread, kThreads, {last[0], last[1]});
              const RankedElement next = firstOfBlock(own, pair);
              Value isWanted = code.less(arguments.columnBegin, code.add(pair, 1));
              Value isFirst = code.equal(block.thread, code.integer(0));
              code.when(code.both(isWanted, isFirst),
                        [&] { storeRanked(code, result, row, pair, next); });
              return SmallVector<Value>{next.element, next.column};
            });
}

void emitBlockSelect(VectorCode &code, const KernelBody &body) {
  blockSelect(cast<dataflow::SelectAttr>(body.kernel.getComputes())).note(body.function);
  const BlockCode block(code, body.function);
  SelectedRow selected(code, block, body);
  code.loop(body.arguments.rowBegin, body.arguments.rowEnd, 1,
            [&](Value row) { selected.emit(row); });
}

} // namespace heddle
