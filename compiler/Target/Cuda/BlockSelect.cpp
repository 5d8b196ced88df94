// SPDX-License-Identifier: Apache-2.0
///
/// Distributes the parts of a selection (Emitters/Select.h) among the threads of a block. All
/// combinations have the order of one caller, so the bits are the same.
///
/// Shared memory holds a candidate for each piece: its element that ranks first among those that
/// have no rank yet. The next best element of the row is the best candidate, and only its piece is
/// then searched for another one, so the whole row is not read again for each token.
#include "compiler/Target/Cuda/BlockSelect.h"

#include "compiler/Target/Cuda/OrderKernels.h"
#include "compiler/Target/Cuda/OwnEntries.h"
#include "compiler/Target/Emitters/Select.h"
#include "heddle/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace heddle {

/// With one sentence a single multiprocessor works, so a block is large.
static constexpr int64_t kThreads = 512;
static constexpr int64_t kWarps = kThreads / kWarpLanes;
/// An element and its column, in words.
static constexpr int64_t kSlotBytes = 8;

static constexpr llvm::StringLiteral kMark = "dataflow.selects_tokens";

/// What every target has: 163 KB and more.
static constexpr int64_t kMostShared = 160 * 1024;

/// Shared memory has a slot for each warp, and one for each piece: enough for 15 million tokens in
/// pieces of 768.
std::optional<BlockWork> blockSelect(dataflow::SelectAttr computes) {
  const BlockPiece row = {1, computes.getPieces() + computes.getCount()};
  const auto bytes = static_cast<int64_t>(
      llvm::alignTo((kWarps + computes.getPieces()) * kSlotBytes, kSharedAlignment));
  if (bytes > kMostShared) {
    return std::nullopt;
  }
  return BlockWork{kThreads, bytes, row, row, /*fewRows=*/0, /*leastBlocks=*/1};
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
    block.barrier();
    emitRanks(row, from);
  }

private:
  void emitPieces(Value row, Value from);
  void emitRanks(Value row, Value from);
  RankedElement firstOfLanes(RankedElement own, int64_t lanes, Value mask = {});
  RankedElement firstOfBlock(const RankedElement &own);
  RankedElement bestCandidate();
  Value word(Value number) {
    return arith::TruncIOp::create(code.builder, code.location, code.i32, number);
  }
  Value index(Value word) {
    return arith::ExtSIOp::create(code.builder, code.location, code.i64, word);
  }
  Value cast32(Type type, Value bits) {
    return arith::BitcastOp::create(code.builder, code.location, type, bits);
  }
  /// Return the slots of a warp and of a piece.
  Value ofWarp(Value warp) { return block.sharedAt(code.multiply(warp, kSlotBytes)); }
  Value ofPiece(Value piece) { return ofWarp(code.add(piece, kWarps)); }
  void store(const RankedElement &ranked, Value slot) {
    block.storeWords({cast32(code.i32, ranked.element), word(ranked.column)}, slot);
  }
  RankedElement load(Value slot) {
    const SmallVector<Value> words = block.loadWords(slot, 2);
    return {cast32(code.f32, words[0]), index(words[1])};
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
  Value pieces = code.integer(computes.getPieces());
  code.loop(
      code.divide(block.thread, sumsOfPiece), pieces, kThreads / sumsOfPiece, [&](Value piece) {
        const PieceOfRow own = PieceOfRow::of(code, computes, from, piece, part);
        const RankedElement first = firstOfLanes(own.first(code), sumsOfPiece, mask);
        Value partial = own.sum(code, first.element);
        Value sum = zeroDouble(code);
        for (int64_t each = 0; each < sumsOfPiece; ++each) {
          Value other = block.ofLane(partial, word(code.add(firstLane, each)), mask);
          sum = addDouble(code, sum, other);
        }
        Value isWanted = code.both(code.less(arguments.columnBegin, code.add(piece, 1)),
                                   code.less(piece, arguments.columnEnd));
        code.when(code.equal(part, code.integer(0)), [&] {
          store(first, ofPiece(piece));
          code.when(isWanted, [&] { storePiece(code, result, row, piece, first.element, sum); });
        });
      });
}

/// Returns the first of the elements of so many adjacent lanes, in all of them. `mask` says which
/// these are, unless they are the whole warp.
RankedElement SelectedRow::firstOfLanes(RankedElement own, int64_t lanes, Value mask) {
  for (int64_t bit = 1; bit < lanes; bit *= 2) {
    Value element = block.ofOtherLane(own.element, bit, mask);
    // Lanes exchange words; what they hold does not matter.
    Value column = block.ofOtherLane(cast32(code.f32, word(own.column)), bit, mask);
    own = firstOf(code, own, {element, index(cast32(code.i32, column))});
  }
  return own;
}

/// Returns the first of the elements of all threads, in all threads.
RankedElement SelectedRow::firstOfBlock(const RankedElement &own) {
  const RankedElement first = firstOfLanes(own, kWarpLanes);
  code.when(code.equal(lane, code.integer(0)),
            [&] { store(first, ofWarp(code.divide(block.thread, kWarpLanes))); });
  block.barrier();
  RankedElement best = afterAll(code);
  for (int64_t warp = 0; warp < kWarps; ++warp) {
    best = firstOf(code, best, load(ofWarp(code.integer(warp))));
  }
  return best;
}

/// Returns the best candidate. Each warp looks at all of them.
RankedElement SelectedRow::bestCandidate() {
  const RankedElement none = afterAll(code);
  const SmallVector<Value> found =
      code.loop(lane, code.integer(computes.getPieces()), kWarpLanes, {none.element, none.column},
                [&](Value piece, ValueRange best) {
                  const RankedElement first =
                      firstOf(code, {best[0], best[1]}, load(ofPiece(piece)));
                  return SmallVector<Value>{first.element, first.column};
                });
  return firstOfLanes({found[0], found[1]}, kWarpLanes);
}

void SelectedRow::emitRanks(Value row, Value from) {
  Value isFirst = code.equal(block.thread, code.integer(0));
  code.loop(code.integer(computes.getPieces()), arguments.columnEnd, 1, [&](Value pair) {
    const RankedElement best = bestCandidate();
    Value isWanted = code.less(arguments.columnBegin, code.add(pair, 1));
    code.when(code.both(isWanted, isFirst), [&] { storeRanked(code, result, row, pair, best); });
    // Without an element in the row, no piece has a candidate.
    Value piece = code.divide(code.larger(best.column, code.integer(0)), computes.getPiece());
    const PieceOfRow own = PieceOfRow::of(code, computes, from, piece, block.thread);
    const RankedElement next =
        firstOfBlock(firstAfter(code, from, own.begin, own.end, kThreads, best));
    code.when(isFirst, [&] { store(next, ofPiece(piece)); });
    block.barrier();
  });
}

void emitBlockSelect(VectorCode &code, const KernelBody &body) {
  blockSelect(cast<dataflow::SelectAttr>(body.kernel.getComputes()))->note(body.function);
  body.function->getParentOfType<ModuleOp>()->setAttr(kMark, code.builder.getUnitAttr());
  const BlockCode block(code, body.function);
  SelectedRow selected(code, block, body);
  code.loop(body.arguments.rowBegin, body.arguments.rowEnd, 1,
            [&](Value row) { selected.emit(row); });
}

// --- kernels beside selections -------------------------------------------------------------------

/// Each thread of the grid makes every n-th of some logits minus infinity.
static void emitExclusion(const BlockCode &block, const LaunchRecord &launch) {
  VectorCode &code = block.code;
  const Callers callers = Callers::load(code);
  Value logits = launch.operand(0), list = launch.operand(1);
  const LaunchRange work = launch.work();
  code.walk(code.add(work.rowBegin, callers.own), work.rowEnd, [&](Value number) {
    Value at = code.bytesAt(list, code.multiply(number, int64_t(sizeof(int64_t))));
    code.storeScalar(code.number(-std::numeric_limits<float>::infinity()),
                     code.at(logits, code.loadInteger(at)));
    return code.add(number, callers.count);
  });
}

void addSelectionKernels(ModuleOp module, const TargetDescription &target) {
  if (module->removeAttr(kMark)) {
    addOwnEntry(module, target, {exclusionEntry, exclusionThreads}, emitExclusion);
    addOrderKernels(module, target);
  }
}

} // namespace heddle
