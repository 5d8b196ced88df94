// SPDX-License-Identifier: Apache-2.0
///
/// The rows of a tile, which keys they see, and their results. The same for all units that
/// multiply.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

QueryTile::QueryTile(BlockCode &block, AttentionTile &a, const SpanShape &shape, Value warp)
    : before(block.code.multiply(warp, shape.warpRows())), code(block.code), a(a), shape(shape) {}

Value QueryTile::narrow(Value number) const {
  return arith::TruncIOp::create(code.builder, code.location, code.i32, number);
}

// --- operands ------------------------------------------------------------------------------------

Value QueryTile::areAligned(Value address, int64_t stride, int64_t size) const {
  if (stride % kFourNumbers != 0 || size % kFourNumbers != 0) {
    return {};
  }
  Value number = LLVM::PtrToIntOp::create(code.builder, code.location, code.i64, address);
  return code.equal(code.remainder(number, kSharedAlignment), code.integer(0));
}

SpanRows QueryTile::keysOrValues(bool areKeys) const {
  SpanRows all;
  all.size = areKeys ? a.keySize : a.valueSize;
  all.numbers = areKeys ? shape.keyNumbers() : shape.valueNumbers();
  Value head = areKeys ? a.keyHead() : a.valueHead();
  all.column = code.multiply(head, all.size);
  if (a.isCached) {
    all.cache = areKeys ? &a.keyCache : &a.valueCache;
    all.places = areKeys ? &a.keyPlaces : &a.valuePlaces;
    all.blocks = areKeys ? a.keyBlocks : a.valueBlocks;
    if (!areKeys) {
      Value first = areAligned(all.cache->memory, a.valueStride, all.size);
      Value bytes = code.remainder(all.cache->blockStride, kSharedAlignment);
      all.areAligned = first ? code.both(first, code.equal(bytes, code.integer(0))) : first;
    }
    return all;
  }
  all.stride = areKeys ? a.keyStride : a.valueStride;
  Value memory = areKeys ? a.key : a.value;
  all.areAligned = areAligned(memory, all.stride, all.size);
  all.base = code.at(memory, code.add(code.multiply(a.firstKey, all.stride), all.column));
  return all;
}

LaneRow QueryTile::rowOf(const QueryPlace &place) const {
  LaneRow row{place.row, place.head, a.positionOf(place.row)};
  Value end = a.keyCount;
  if (a.visibility.to) {
    end = code.smaller(code.positionBound(*a.visibility.to, row.position), end);
  }
  row.end = narrow(end);
  if (a.visibility.from) {
    Value begin = code.positionBound(*a.visibility.from, row.position);
    row.begin = narrow(code.larger(begin, code.integer(0)));
  }
  if (a.hidden) {
    row.shown = narrow(code.add(row.position, 1));
  }
  return row;
}

/// Returns a query of the tile, and the keys that it sees.
LaneRow QueryTile::rowOf(Value query) const { return rowOf(placeOf(a, query)); }

QueryPlace QueryTile::placeAt(Value inTile) const {
  return placeOf(a, code.smaller(code.add(first, inTile), lastQuery));
}

Value QueryTile::addressOf(const QueryPlace &place) const {
  Value number =
      code.add(code.multiply(place.row, a.queryStride), code.multiply(place.head, a.keySize));
  return code.at(a.query, number);
}

// --- a tile --------------------------------------------------------------------------------------

void QueryTile::enter(Value query, Value last) {
  first = query;
  lastQuery = code.subtract(last, 1);
  count = code.smaller(code.subtract(last, query), code.integer(shape.rows()));
}

SmallVector<Value> QueryTile::enterRows(Value g) {
  rows.clear();
  SmallVector<Value> queries;
  for (int64_t i = 0; i < shape.laneRows; ++i) {
    Value inTile = code.add(code.add(before, g), i * kLaneGroups);
    const QueryPlace place = placeAt(inTile);
    rows.push_back(rowOf(place));
    if (a.query) {
      queries.push_back(addressOf(place));
    }
  }
  return queries;
}

void QueryTile::enterPlaces(Value g) {
  rows.clear();
  for (int64_t i = 0; i < shape.laneRows; ++i) {
    const QueryPlace place = placeAt(code.add(code.add(before, g), i * kLaneGroups));
    rows.push_back({place.row, place.head, /*position=*/{}});
  }
}

void QueryTile::enterKeys() {
  // Bounds of visible keys do not decrease from row to row.
  auto wide = [&](Value number) -> Value {
    return arith::ExtSIOp::create(code.builder, code.location, code.i64, number);
  };
  const LaneRow firstRow = rowOf(first);
  const LaneRow lastRow = rowOf(code.add(first, code.subtract(count, 1)));
  from = firstRow.begin ? wide(firstRow.begin) : code.integer(0);
  to = wide(lastRow.end);
}

Value QueryTile::firstSpan() const {
  return code.multiply(code.divide(from, shape.keys), shape.keys);
}

Value QueryTile::placeInTile(size_t i, const SpanThread &thread) const {
  return code.add(code.add(before, thread.g), static_cast<int64_t>(i) * kLaneGroups);
}

void QueryTile::overSums(
    ArrayRef<Value> sums, const SpanThread &thread,
    llvm::function_ref<SpanProducts::Column(int64_t)> columnOf,
    llvm::function_ref<void(size_t row, llvm::function_ref<void()> useSums)> useRow,
    llvm::function_ref<void(size_t row, Value column, Value sum)> use) const {
  const auto values = static_cast<size_t>(shape.laneValues());
  auto useSums = [&](size_t i) {
    for (auto [n, sum] : llvm::enumerate(sums.slice(i * values, values))) {
      const SpanProducts::Column column = columnOf(static_cast<int64_t>(n));
      Value own = code.add(code.multiply(thread.t, column.step), column.first);
      const Value ofColumn = sum;
      const int64_t most = column.first + (kLanesOfRow - 1) * column.step;
      if (most < a.valueSize) {
        use(i, own, ofColumn);
      } else if (column.first < a.valueSize) {
        code.when(code.less(own, code.integer(a.valueSize)), [&] { use(i, own, ofColumn); });
      }
    }
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    code.when(code.less(placeInTile(i, thread), count), [&] { useRow(i, [&] { useSums(i); }); });
  }
}

Value QueryTile::resultAt(const LaneRow &row, Value column) const {
  return a.result.at(code, row.row, code.add(code.multiply(row.head, a.valueSize), column));
}

/// The sign of a zero sum may depend on spans that the row does not see, so negative zeros are
/// replaced by positive ones.
void QueryTile::storeNumber(Value number, Value address) const {
  code.storeScalar(code.addFloat(number, code.number(0)), address);
}

void QueryTile::store(ArrayRef<Value> all, const SpanThread &thread,
                      llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const {
  overSums(
      all, thread, columnOf, [](size_t, llvm::function_ref<void()> useSums) { useSums(); },
      [&](size_t i, Value column, Value sum) { storeNumber(sum, resultAt(rows[i], column)); });
}

} // namespace heddle
