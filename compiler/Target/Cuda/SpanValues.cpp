// SPDX-License-Identifier: Apache-2.0
///
/// Goes over the spans of keys that a tile sees:
///
///   for each span: store its values; load the weights, and the next values; barrier; add values;
///   barrier
///
/// Values are stored after the barrier that follows their last use.
#include "compiler/Target/Cuda/SpanValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

SpanValues::SpanValues(BlockCode &block, AttentionTile &a, const SpanShape &shape)
    : block(block), code(block.code), a(a), shape(shape), thread(SpanThread::load(block)),
      products(fmaSpanProducts(block, a, shape, thread)), tile(block, a, shape, thread.warp) {
  assert(shape.units == Units::Fma && "given weights are f32");
}

/// Returns the weights of the lane's keys of the span from key `first` on, in the layout of scores;
/// zero for keys that the row does not see.
Value SpanValues::weightsOf(const LaneRow &row, Value first) {
  auto wide = [&](Value number) -> Value {
    return arith::ExtSIOp::create(code.builder, code.location, code.i64, number);
  };
  Value heads = code.multiply(row.row, a.headsOfGiven);
  Value line = code.at(a.given, code.multiply(code.add(heads, row.head), a.longest));
  Value own = code.add(first, code.multiply(thread.t, 2)), end = wide(row.end);
  SmallVector<Value> weights;
  for (int64_t e = 0; e < shape.laneKeys(); ++e) {
    Value key = code.add(own, e / 2 * kMatrixColumns + e % 2), isSeen = code.less(key, end);
    if (row.begin) {
      isSeen = code.both(isSeen, code.less(code.subtract(wide(row.begin), 1), key));
    }
    llvm::append_range(weights,
                       block.choose(
                           isSeen, [&] { return Values{code.loadScalar(code.at(line, key))}; },
                           [&] { return Values{code.number(0)}; }));
  }
  return vectorOf(code, weights);
}

/// Returns the values of the next span and the sums after the span from key `first` on.
SmallVector<Value> SpanValues::next(Value first, ValueRange carried, const SpanRows &values) {
  const size_t sums = tile.rows.size() * static_cast<size_t>(shape.laneValues());
  const SmallVector<Value> loaded(carried.drop_back(sums)), before(carried.take_back(sums));
  // A warp without rows only loads its part of the values.
  Value hasRows = code.less(tile.before, tile.count);
  storeSpan(block, shape, values, loaded, shape.valuesBegin());
  SmallVector<Value> after =
      loadSpan(block, shape, values, code.add(first, shape.keys), tile.from, tile.to);
  block.barrier();
  llvm::append_range(after, block.choose(
                                hasRows,
                                [&] {
                                  SmallVector<Value> weights;
                                  for (const LaneRow &row : tile.rows) {
                                    weights.push_back(weightsOf(row, first));
                                  }
                                  return products->addValues(weights, before);
                                },
                                [&] { return before; }));
  block.barrier();
  return after;
}

void SpanValues::emitTile(Value query, Value last) {
  tile.enter(query, last);
  tile.enterRows(thread.g);
  tile.enterKeys();
  const SpanRows values = tile.keysOrValues(/*areKeys=*/false);
  Value begin = tile.firstSpan();
  SmallVector<Value> initial = loadFirstSpan(block, shape, values, begin, tile.from, tile.to);
  const size_t sums = tile.rows.size() * static_cast<size_t>(shape.laneValues());
  initial.append(sums, code.number(0));
  const SmallVector<Value> after =
      code.loop(begin, tile.to, shape.keys, initial,
                [&](Value first, ValueRange carried) { return next(first, carried, values); });
  tile.store(ArrayRef(after).take_back(sums), thread,
             [&](int64_t i) { return products->columnOf(i); });
}

} // namespace heddle
