// SPDX-License-Identifier: Apache-2.0
///
/// Weighted sums of values, in the order of the keys.
#include "compiler/Target/Cpu/Emitters/AttentionTile.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

// Calls `key(j, line, carried)` for the keys firstKey + j, `from` <= j < `to`; `line` is the row of
// V of the head at hand.
static SmallVector<Value>
overValues(AttentionTile &a, Value firstKey, Value from, Value to, SmallVector<Value> carried,
           function_ref<SmallVector<Value>(Value j, Value line, ValueRange carried)> key) {
  VectorCode &code = a.code;
  Value column = code.multiply(a.valueHead(), a.valueSize);
  if (!a.isCached) {
    Value values = code.at(code.at(a.value, column),
                           code.multiply(code.add(a.firstKey, firstKey), a.valueStride));
    auto lineOf = [&](Value j) { return code.at(values, code.multiply(j, a.valueStride)); };
    Value pairs = code.multiply(code.divide(code.subtract(to, from), 2), 2);
    Value end = code.add(from, pairs);
    carried = code.loop(from, end, 2, carried, [&](Value j, ValueRange sums) {
      Value second = code.add(j, 1);
      return key(second, lineOf(second), key(j, lineOf(j), sums));
    });
    return code.loop(end, to, 1, carried,
                     [&](Value j, ValueRange sums) { return key(j, lineOf(j), sums); });
  }
  Value firstBlock = code.multiply(code.divide(from, HEDDLE_BLOCK), HEDDLE_BLOCK);
  return code.loop(firstBlock, to, HEDDLE_BLOCK, carried, [&](Value first, ValueRange outer) {
    Value block = a.valueCache.blockAt(code, a.valueBlocks, code.add(firstKey, first));
    Value values = code.at(block, column);
    Value begin = code.larger(code.subtract(from, first), code.integer(0));
    Value end = code.smaller(code.subtract(to, first), code.integer(HEDDLE_BLOCK));
    return code.loop(begin, end, 1, outer, [&](Value j, ValueRange sums) {
      return key(code.add(first, j), code.at(values, code.multiply(j, a.valueStride)), sums);
    });
  });
}

SmallVector<ValueGroup> valueGroups(const AttentionTile &a) {
  SmallVector<ValueGroup> groups;
  int64_t most = std::min(a.valueVectors(), a.vectorsOfTile());
  for (int64_t first = 0; first < a.valueVectors(); first += most) {
    groups.push_back({first, std::min(most, a.valueVectors() - first)});
  }
  return groups;
}

Value isNotZero(VectorCode &code, Value number) {
  return arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::UNE, number,
                               code.number(0));
}

SmallVector<Value> addValues(AttentionTile &a, ValueGroup group, ArrayRef<Value> weights,
                             Value firstKey, Value count, ArrayRef<Value> limits,
                             SmallVector<Value> sums) {
  VectorCode &code = a.code;
  auto hasPart = [&](Value j, Value limit, Value weight) {
    Value isSeen = code.less(j, limit);
    return a.hidden ? code.select(isSeen, isSeen, isNotZero(code, weight)) : isSeen;
  };
  auto key = [&](Value j, Value line, ValueRange carried, bool isHiddenFromSome) {
    SmallVector<Value> next(carried), loaded;
    for (int64_t v = group.first; v < group.first + group.count; ++v) {
      loaded.push_back(
          code.loadVector(code.at(line, v * code.lanes), code.validLanes(v, a.valueSize)));
    }
    for (int64_t r = 0; r < a.rows; ++r) {
      Value scalar = code.loadScalar(code.at(weights[r], j));
      Value weight = code.broadcast(scalar);
      for (int64_t v = 0; v < group.count; ++v) {
        Value &sum = next[r * group.count + v];
        Value with = code.fma(weight, loaded[v], sum);
        // No product with zero: V may be infinite.
        sum = isHiddenFromSome ? code.select(hasPart(j, limits[r], scalar), with, sum) : with;
      }
    }
    return next;
  };
  Value none = code.integer(0);
  bool isMasked = a.isCausal || a.hidden;
  Value shared = isMasked ? code.larger(limits.front(), none) : count;
  sums = overValues(a, firstKey, none, shared, sums, [&](Value j, Value line, ValueRange carried) {
    return key(j, line, carried, false);
  });
  if (isMasked) {
    sums =
        overValues(a, firstKey, shared, count, sums, [&](Value j, Value line, ValueRange carried) {
          return key(j, line, carried, true);
        });
  }
  return sums;
}

} // namespace heddle
