// SPDX-License-Identifier: Apache-2.0
///
/// Weighted sums of values, computed in the order of the keys.
#include "compiler/Target/Emitters/AttentionPairs.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

namespace {
/// A row of V of the current head, and the scale of its codes; null if it is not quantised.
struct ValueLine {
  Value address, scale = {};
};
} // namespace

// Returns the elements from one rounded row of values to the next.
static int64_t roundedStride(const AttentionTile &a) { return a.valueVectors() * a.code.lanes; }

// Returns the values of the current head from key `position` on, if values are rows.
static Value valuesFrom(AttentionTile &a, Value position, int64_t stride) {
  VectorCode &code = a.code;
  if (a.isRounded()) {
    Value first = a.firstTransposed ? code.subtract(position, a.firstTransposed) : position;
    return code.at(a.roundedValues, code.multiply(first, stride));
  }
  Value head = code.at(a.value, code.multiply(a.valueHead(), a.valueSize));
  return code.at(head, code.multiply(code.add(a.firstKey, position), stride));
}

void roundValues(AttentionTile &a) {
  if (a.isPaired) {
    pairValues(a);
    return;
  }
  VectorCode &code = a.code;
  Value firstRow = a.firstScratchRow();
  Value rows = code.subtract(code.add(a.firstKey, a.keyCount), firstRow);
  Value head = code.at(a.value, code.multiply(a.valueHead(), a.valueSize));
  code.loop(code.integer(0), code.smaller(rows, a.pitch), 1, [&](Value j) {
    Value from = code.at(head, code.multiply(code.add(firstRow, j), a.valueStride));
    Value to = code.at(a.roundedValues, code.multiply(j, roundedStride(a)));
    for (int64_t v = 0; v < a.valueVectors(); ++v) {
      Value elements =
          code.loadVector(code.at(from, v * code.lanes), code.validLanes(v, a.valueSize));
      code.storeVector(code.nearestBf16(elements), code.at(to, v * code.lanes));
    }
  });
}

// Calls `key(j, line, carried)` for the keys firstKey + j, `from` <= j < `to`.
static SmallVector<Value>
overValues(AttentionTile &a, Value firstKey, Value from, Value to, SmallVector<Value> carried,
           function_ref<SmallVector<Value>(Value j, ValueLine line, ValueRange carried)> key) {
  VectorCode &code = a.code;
  Value column = code.multiply(a.valueHead(), a.valueSize);
  if (!a.isCached) {
    const int64_t stride = a.isRounded() ? roundedStride(a) : a.valueStride;
    Value values = valuesFrom(a, firstKey, stride);
    auto lineOf = [&](Value j) { return ValueLine{code.at(values, code.multiply(j, stride))}; };
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
    Value begin = code.larger(code.subtract(from, first), code.integer(0));
    Value end = code.smaller(code.subtract(to, first), code.integer(HEDDLE_BLOCK));
    auto lineOf = [&](Value j) {
      ValueLine line{a.valuePlaces.elementAt(code, block, j, column)};
      if (a.valuePlaces.hasScales()) {
        line.scale = code.loadScalar(a.valuePlaces.scaleAt(code, block, j, column));
      }
      return line;
    };
    return code.loop(begin, end, 1, outer, [&](Value j, ValueRange sums) {
      return key(code.add(first, j), lineOf(j), sums);
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
                             Value firstKey, Value count, const KeyLimits &limits,
                             SmallVector<Value> sums) {
  VectorCode &code = a.code;
  auto hasPart = [&](Value j, int64_t row, Value weight) {
    Value isSeen = code.less(j, limits.ends[row]);
    if (!limits.begins.empty()) {
      isSeen = code.both(isSeen, code.less(limits.begins[row], code.add(j, 1)));
    }
    return a.hidden ? code.select(isSeen, isSeen, isNotZero(code, weight)) : isSeen;
  };
  auto key = [&](Value j, ValueLine line, ValueRange carried, bool isHiddenFromSome) {
    SmallVector<Value> next(carried), loaded;
    for (int64_t v = group.first; v < group.first + group.count; ++v) {
      Value address = code.storedAt(line.address, code.integer(v * code.lanes), a.valueElement);
      loaded.push_back(code.loadStored(address, a.valueElement, code.validLanes(v, a.valueSize)));
    }
    for (int64_t r = 0; r < a.rows; ++r) {
      Value scalar = code.loadScalar(code.at(weights[r], j));
      Value weight = code.broadcast(line.scale ? code.multiplyFloat(scalar, line.scale) : scalar);
      for (int64_t v = 0; v < group.count; ++v) {
        Value &sum = next[r * group.count + v];
        Value with = code.fma(weight, loaded[v], sum);
        // Selects instead of multiplying by zero: V may be infinite.
        sum = isHiddenFromSome ? code.select(hasPart(j, r, scalar), with, sum) : with;
      }
    }
    return next;
  };
  auto add = [&](Value from, Value to, bool isHiddenFromSome) {
    sums =
        overValues(a, firstKey, from, to, sums, [&](Value j, ValueLine line, ValueRange carried) {
          return key(j, line, carried, isHiddenFromSome);
        });
  };
  // All rows see the keys from `shared` on; only some rows see the keys before and after them.
  Value shared = code.integer(0);
  if (!limits.begins.empty()) {
    Value from = code.smaller(limits.begins.front(), count);
    shared = code.smaller(limits.begins.back(), count);
    add(from, shared, true);
  }
  bool isMasked = a.visibility.to || a.hidden;
  Value sharedEnd = isMasked ? code.larger(limits.ends.front(), shared) : count;
  add(shared, sharedEnd, false);
  if (isMasked) {
    add(sharedEnd, count, true);
  }
  return sums;
}

} // namespace heddle
