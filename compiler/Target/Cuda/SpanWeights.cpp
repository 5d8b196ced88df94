// SPDX-License-Identifier: Apache-2.0
///
/// Implements the two passes over the keys:
///
///   for each span: store its keys; barrier; scores; load the next keys; barrier; softmax, or
///   store the weights
///
/// Keys are stored after the barrier that follows their last use.
#include "compiler/Target/Cuda/SpanWeights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace heddle {

SpanWeights::SpanWeights(BlockCode &block, AttentionTile &a, const SpanShape &shape, float scale)
    : block(block), code(block.code), a(a), shape(shape), scale(scale),
      thread(SpanThread::load(block)), products(fmaSpanProducts(block, a, shape, thread)),
      tile(block, a, shape, thread.warp) {
  assert(shape.units == Units::Fma && "weights are results in f32");
}

/// Goes over the spans that the tile sees. Returns what is carried last.
SmallVector<Value> SpanWeights::overSpans(ValueRange carried, Span span) {
  const SpanRows keys = tile.keysOrValues(/*areKeys=*/true);
  Value begin = tile.firstSpan(), from = tile.from, to = tile.to;
  SmallVector<Value> initial = loadFirstSpan(block, shape, keys, begin, from, to);
  const size_t loads = initial.size();
  llvm::append_range(initial, carried);
  // A warp without rows only loads its part of the keys.
  Value hasRows = code.less(tile.before, tile.count);
  const SmallVector<Value> last =
      code.loop(begin, to, shape.keys, initial, [&](Value first, ValueRange state) {
        heddle::storeSpan(block, shape, keys, SmallVector<Value>(state.take_front(loads)),
                          shape.keysBegin());
        products->storeLines(tile, first);
        block.barrier();
        const SmallVector<Value> sums = productsOf(block, *products, shape, hasRows);
        // After the last span, this reloads its last key, which is not used.
        SmallVector<Value> next =
            loadSpan(block, shape, keys, code.add(first, shape.keys), from, to);
        block.barrier();
        const ValueRange before = state.drop_front(loads);
        llvm::append_range(next, block.choose(
                                     hasRows,
                                     [&] {
                                       return span(first,
                                                   spanScores(block, a, shape, scale, tile.rows,
                                                              sums, first, thread.t),
                                                   before);
                                     },
                                     [&] { return SmallVector<Value>(before); }));
        return next;
      });
  return SmallVector<Value>(ArrayRef(last).drop_front(loads));
}

/// Returns the maxima and sums of the lane's rows.
SoftmaxState SpanWeights::sumUp() {
  const size_t rows = tile.rows.size();
  SmallVector<Value> initial(rows, code.number(kLowestScore));
  initial.append(rows, code.number(0));
  auto stateOf = [&](ValueRange all) {
    return SoftmaxState{SmallVector<Value>(all.take_front(rows)),
                        SmallVector<Value>(all.take_back(rows))};
  };
  return stateOf(overSpans(initial, [&](Value, SmallVector<Value> scores, ValueRange before) {
    SoftmaxState state = stateOf(before);
    updateSoftmax(block, state, scores);
    SmallVector<Value> after = state.maxima;
    llvm::append_range(after, state.sums);
    return after;
  }));
}

/// Calls `store` with the lane, and with the place of the first weight of its row `row`, if that is
/// a row of the tile.
void SpanWeights::storeRow(size_t row,
                           llvm::function_ref<void(const SpanThread &here, Value place)> store) {
  const LaneRow &own = tile.rows[row];
  // Recomputed here, so that the places of keys take no registers while scores are computed.
  BlockCode inPlace = block;
  inPlace.thread =
      arith::ExtUIOp::create(code.builder, code.location, code.i64, block.keptHere(block.thread));
  const SpanThread here = SpanThread::load(inPlace);
  code.when(code.less(tile.placeInTile(row, here), tile.count),
            [&] { store(here, a.result.at(code, own.row, code.multiply(own.head, a.longest))); });
}

/// Stores the weights of a row for the span from key `first` on.
void SpanWeights::storeSpan(size_t row, Value weights, Value first) {
  storeRow(row, [&](const SpanThread &here, Value place) {
    Value own = code.add(first, code.multiply(here.t, 2));
    for (auto [e, weight] : llvm::enumerate(elementsOf(code, weights))) {
      const auto number = static_cast<int64_t>(e);
      Value key = code.add(own, number / 2 * kMatrixColumns + number % 2);
      Value stored = weight;
      code.when(code.less(key, a.keyCount), [&] { code.storeScalar(stored, code.at(place, key)); });
    }
  });
}

/// Stores zeros for the keys in spans that the tile does not see.
void SpanWeights::storeUnseen() {
  Value end = code.multiply(code.divideUp(tile.to, code.integer(shape.keys)), shape.keys);
  for (size_t row = 0; row < tile.rows.size(); ++row) {
    storeRow(row, [&](const SpanThread &here, Value place) {
      auto clear = [&](Value key) { code.storeScalar(code.number(0), code.at(place, key)); };
      code.loop(here.t, tile.firstSpan(), kLanesOfRow, clear);
      code.loop(code.add(end, here.t), a.keyCount, kLanesOfRow, clear);
    });
  }
}

/// Returns the weights of a row of scores. That of an unseen key is zero, whatever the row's sum.
Value SpanWeights::weigh(Value scores, Value maximum, Value inverseSum) {
  Value factor =
      vector::BroadcastOp::create(code.builder, code.location, scores.getType(), inverseSum);
  Value weights = code.multiplyFloat(weightsOf(code, scores, maximum), factor);
  auto type = cast<VectorType>(scores.getType());
  auto all = [&](float number) -> Value {
    return arith::ConstantOp::create(code.builder, code.location,
                                     DenseElementsAttr::get(type, number));
  };
  Value isSeen = arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::UNE,
                                       scores, all(-std::numeric_limits<float>::infinity()));
  return code.select(isSeen, weights, all(0));
}

void SpanWeights::emitTile(Value query, Value last) {
  tile.enter(query, last);
  const SmallVector<Value> queries = tile.enterRows(thread.g);
  tile.enterKeys();
  products->takeQueries(queries, tile.rows);
  SoftmaxState state;
  if (!a.isRaw) {
    state = sumUp();
    state.sums = inverses(code, sumsOfRows(block, state.sums));
  }
  overSpans({}, [&](Value first, SmallVector<Value> scores, ValueRange) {
    for (auto [row, ofRow] : llvm::enumerate(scores)) {
      storeSpan(row, a.isRaw ? ofRow : weigh(ofRow, state.maxima[row], state.sums[row]), first);
    }
    return SmallVector<Value>();
  });
  storeUnseen();
}

} // namespace heddle
