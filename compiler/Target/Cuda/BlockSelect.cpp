// SPDX-License-Identifier: Apache-2.0
///
/// Shared memory holds a candidate for each piece: its element that ranks first among those that
/// have no rank yet, at first that of the kernel before. The next best element of the row is the
/// best candidate, and only its piece is then searched for another one, so the whole row is never
/// read. Without another token to find, no piece is searched.
#include "compiler/Target/Cuda/BlockSelect.h"

#include "compiler/Target/Cuda/OrderKernels.h"
#include "compiler/Target/Cuda/OwnEntries.h"
#include "heddle/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace heddle {

/// Enough for all candidates of most vocabularies, and for a piece.
static constexpr int64_t kThreads = 256;
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

static Value word(VectorCode &code, Value number) {
  return arith::TruncIOp::create(code.builder, code.location, code.i32, number);
}
static Value index(VectorCode &code, Value word) {
  return arith::ExtSIOp::create(code.builder, code.location, code.i64, word);
}
static Value cast32(VectorCode &code, Type type, Value bits) {
  return arith::BitcastOp::create(code.builder, code.location, type, bits);
}

RankedElement firstOfLanes(BlockCode &block, RankedElement own, int64_t lanes, Value mask) {
  VectorCode &code = block.code;
  for (int64_t bit = 1; bit < lanes; bit *= 2) {
    Value element = block.ofOtherLane(own.element, bit, mask);
    // Lanes exchange words; what they hold does not matter.
    Value bits = block.ofOtherLane(cast32(code, code.f32, word(code, own.column)), bit, mask);
    own = firstOf(code, own, {element, index(code, cast32(code, code.i32, bits))});
  }
  return own;
}

namespace {
/// The work of a block on one row.
class SelectedRow {
public:
  SelectedRow(VectorCode &code, const BlockCode &block, const KernelBody &body)
      : code(code), block(block), body(body), arguments(body.arguments),
        computes(cast<dataflow::SelectAttr>(body.kernel.getComputes())),
        result(KernelResult::load(code, body.arguments)),
        lane(code.remainder(block.thread, kWarpLanes)) {}

  void emit(Value row) {
    emitPieces(row);
    block.barrier();
    emitRanks(row);
    // The next row has the same slots.
    block.barrier();
  }

private:
  void emitPieces(Value row);
  void emitRanks(Value row);
  RankedElement nextOfPiece(Value row, Value piece, const RankedElement &last);
  RankedElement firstOfBlock(const RankedElement &own);
  RankedElement bestCandidate();
  /// Return the slots of a warp and of a piece.
  Value ofWarp(Value warp) { return block.sharedAt(code.multiply(warp, kSlotBytes)); }
  Value ofPiece(Value piece) { return ofWarp(code.add(piece, kWarps)); }
  void store(const RankedElement &ranked, Value slot) {
    block.storeWords({cast32(code, code.i32, ranked.element), word(code, ranked.column)}, slot);
  }
  RankedElement load(Value slot) {
    const SmallVector<Value> words = block.loadWords(slot, 2);
    return {cast32(code, code.f32, words[0]), index(code, words[1])};
  }

  VectorCode &code;
  BlockCode block;
  const KernelBody &body;
  const KernelArguments &arguments;
  dataflow::SelectAttr computes;
  KernelResult result;
  Value lane;
};
} // namespace

/// Copies what the pieces have. Each thread takes every n-th one.
void SelectedRow::emitPieces(Value row) {
  Value from = rowOfOperand(code, body, 1, row);
  code.loop(block.thread, code.integer(computes.getPieces()), kThreads, [&](Value piece) {
    const Peak peak = Peak::load(code, from, piece);
    store(peak.first, ofPiece(piece));
    Value isWanted = code.both(code.less(arguments.columnBegin, code.add(piece, 1)),
                               code.less(piece, arguments.columnEnd));
    code.when(isWanted, [&] { storePiece(code, result, row, piece, peak); });
  });
}

/// Returns the first of the elements of all threads, in all threads.
RankedElement SelectedRow::firstOfBlock(const RankedElement &own) {
  const RankedElement first = firstOfLanes(block, own, kWarpLanes);
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
  return firstOfLanes(block, {found[0], found[1]}, kWarpLanes);
}

/// Returns the first element of a piece that ranks after `last`.
RankedElement SelectedRow::nextOfPiece(Value row, Value piece, const RankedElement &last) {
  Value begin = code.multiply(piece, computes.getPiece());
  Value end =
      code.smaller(code.add(begin, computes.getPiece()), code.integer(computes.getColumns()));
  return firstOfBlock(firstAfter(code, rowOfOperand(code, body, 0, row),
                                 code.add(begin, block.thread), end, kThreads, last));
}

void SelectedRow::emitRanks(Value row) {
  Value isFirst = code.equal(block.thread, code.integer(0));
  code.loop(code.integer(computes.getPieces()), arguments.columnEnd, 1, [&](Value pair) {
    const RankedElement best = bestCandidate();
    Value isWanted = code.less(arguments.columnBegin, code.add(pair, 1));
    code.when(code.both(isWanted, isFirst), [&] { storeRanked(code, result, row, pair, best); });
    code.when(code.less(code.add(pair, 1), arguments.columnEnd), [&] {
      // Without an element in the row, no piece has a candidate.
      Value piece = code.divide(code.larger(best.column, code.integer(0)), computes.getPiece());
      const RankedElement next = nextOfPiece(row, piece, best);
      code.when(isFirst, [&] { store(next, ofPiece(piece)); });
      block.barrier();
    });
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
    addOwnEntry(module, target,
                {exclusionEntry, exclusionThreads, kAnyBlocks, /*areTogether=*/false},
                emitExclusion);
    addOrderKernels(module, target);
  }
}

} // namespace heddle
