// SPDX-License-Identifier: Apache-2.0
///
/// Merges in the order of keys, whoever computes a section:
///
///   maximum' = max(maximum, section's maximum)
///   sum'     = sum * 2^(maximum - maximum') + section's sum * 2^(section's maximum - maximum')
///
/// and likewise each sum of values. A section of which a row sees no key has the lowest maximum and
/// sums of zero: it multiplies the row's sums by one and adds zeros.
#include "compiler/Target/Cuda/KeySections.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cstddef>

using namespace mlir;

namespace heddle {

KeySections::Division KeySections::load() const {
  Value launch = walked.arguments.scratch(code);
  auto field = [&](size_t offset) {
    return code.bytesAt(launch, code.integer(static_cast<int64_t>(offset)));
  };
  Value count = code.loadInteger(field(offsetof(HeddleSections, count)));
  return {count, code.less(code.integer(1), count),
          code.loadPointer(field(offsetof(HeddleSections, partials)))};
}

Value KeySections::totalsAt(const QueryTile &tile, size_t i, const SpanThread &thread) const {
  Value lane = code.add(code.multiply(tile.placeInTile(i, thread), kLanesOfRow), thread.t);
  return block.sharedAt(code.add(code.multiply(lane, 2 * kFloatBytes), space.begin));
}

KeySection KeySections::enter(QueryTile &tile, const SpanThread &thread) const {
  // Warps that only load keys and values have negative numbers.
  Value hasRows = code.less(code.integer(-1), thread.warp);
  code.when(code.both(hasRows, code.equal(walked.after, code.integer(0))), [&] {
    for (size_t i = 0; i < static_cast<size_t>(tile.laneRows()); ++i) {
      block.store({code.number(kLowestScore), code.number(0)}, totalsAt(tile, i, thread));
    }
  });
  tile.enterKeys();
  Value isDivided = load().isDivided;
  Value first = code.multiply(walked.section, kSectionKeys);
  Value from = code.select(isDivided, code.larger(tile.from, first), tile.from);
  Value ofCall = code.smaller(tile.to, code.add(first, kSectionKeys));
  Value end = code.select(isDivided, ofCall, tile.to);
  tile.from = code.larger(from, walked.after);
  Value next = code.multiply(code.add(code.divide(tile.from, kSectionKeys), 1), kSectionKeys);
  tile.to = code.smaller(end, next);
  return {tile.to, code.less(next, end)};
}

// --- merging -------------------------------------------------------------------------------------

KeySections::Merged KeySections::mergeRow(Value maximumBefore, Value sumBefore, Value maximum,
                                          Value sum) const {
  auto factor = [&](Value older, Value newer) -> Value {
    return math::Exp2Op::create(code.builder, code.location, code.subtractFloat(older, newer));
  };
  Value larger = code.maximum(maximum, maximumBefore);
  Value ofOlder = factor(maximumBefore, larger), ofNewer = factor(maximum, larger);
  return {larger, code.fma(sumBefore, ofOlder, code.multiplyFloat(sum, ofNewer)), ofOlder, ofNewer};
}

/// Returns whether a row has seen a key, given the sum of its weights: the largest is one.
Value KeySections::hasSeen(Value sum) const {
  return arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::UNE, sum,
                               code.number(0));
}

/// `before` is zero if the row has seen no key.
Value KeySections::mergeValue(const Merged &row, Value before, Value sum) const {
  return code.fma(before, row.ofOlder, code.multiplyFloat(sum, row.ofNewer));
}

Value KeySections::partialAt(const Division &division, Value row, Value head, Value section) const {
  Value number = code.add(code.multiply(row, space.heads), head);
  number = code.add(code.multiply(number, division.count), section);
  return code.at(division.partials, code.multiply(number, partialNumbers(a.valueSize)));
}

void KeySections::storePartial(const Division &division, const QueryTile &tile,
                               ArrayRef<Value> maxima, ArrayRef<Value> rowSums,
                               ArrayRef<Value> sums, const SpanThread &thread,
                               llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const {
  Value isFirstLane = code.equal(thread.t, code.integer(0));
  Value partial;
  tile.overSums(
      sums, thread, columnOf,
      [&](size_t i, llvm::function_ref<void()> useSums) {
        partial = partialAt(division, tile.rows[i].row, tile.rows[i].head, walked.section);
        code.when(isFirstLane, [&] {
          code.storeScalar(maxima[i], partial);
          code.storeScalar(rowSums[i], code.at(partial, 1));
        });
        useSums();
      },
      [&](size_t, Value column, Value sum) {
        code.storeScalar(sum, code.at(partial, code.add(column, 2)));
      });
}

/// Between sections, the result holds the sums of values, and shared memory the rest.
void KeySections::storeMerged(const QueryTile &tile, ArrayRef<Value> maxima,
                              ArrayRef<Value> rowSums, ArrayRef<Value> sums,
                              const SpanThread &thread,
                              llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const {
  Merged row;
  Value factor, result;
  bool isFirst = false;
  tile.overSums(
      sums, thread, columnOf,
      [&](size_t i, llvm::function_ref<void()> useSums) {
        Value totals = totalsAt(tile, i, thread);
        const SmallVector<Value> before = block.load(totals, 2, code.f32);
        row = mergeRow(before[0], before[1], maxima[i], rowSums[i]);
        block.store({row.maximum, row.sum}, totals);
        factor =
            code.select(walked.hasNext, code.number(1), code.divideFloat(code.number(1), row.sum));
        Value ofRow = tile.resultAt(tile.rows[i], code.integer(0));
        auto use = [&](bool first, Value address) {
          isFirst = first;
          result = address;
          useSums();
        };
        // Most rows have one section, and then there is nothing to be read. Addresses must differ,
        // or LLVM would compute those of all columns before, which would take many registers.
        code.when(
            hasSeen(before[1]), [&] { use(/*first=*/false, block.addressKeptHere(ofRow)); },
            [&] { use(/*first=*/true, ofRow); });
      },
      [&](size_t, Value column, Value sum) {
        Value place = code.at(result, column);
        Value before = isFirst ? code.number(0) : code.loadScalar(place);
        tile.storeNumber(code.multiplyFloat(mergeValue(row, before, sum), factor), place);
      });
}

void KeySections::store(const SpanShape &shape, const SoftmaxState &softmax, ArrayRef<Value> sums,
                        llvm::function_ref<SpanThread(BlockCode &)> loadThread,
                        llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const {
  const SpanThread thread = loadThread(block);
  QueryTile tile(block, a, shape, thread.warp);
  tile.enter(walked.query, walked.last);
  tile.enterPlaces(thread.g);
  const SmallVector<Value> rowSums = sumsOfRows(block, softmax.sums);
  const Division division = load();
  code.when(
      division.isDivided,
      [&] { storePartial(division, tile, softmax.maxima, rowSums, sums, thread, columnOf); },
      [&] { storeMerged(tile, softmax.maxima, rowSums, sums, thread, columnOf); });
}

void KeySections::merge(Value row, Value head) const {
  const Division division = load();
  code.loop(block.thread, code.integer(a.valueSize), kMergeThreads, [&](Value column) {
    const SmallVector<Value> nothing = {code.number(kLowestScore), code.number(0), code.number(0)};
    const SmallVector<Value> all = code.loop(
        code.integer(0), division.count, 1, nothing, [&](Value section, ValueRange sofar) {
          Value partial = partialAt(division, row, head, section);
          const Merged merged = mergeRow(sofar[0], sofar[1], code.loadScalar(partial),
                                         code.loadScalar(code.at(partial, 1)));
          Value sum = code.loadScalar(code.at(partial, code.add(column, 2)));
          Value before = code.select(hasSeen(sofar[1]), sofar[2], code.number(0));
          return SmallVector<Value>{merged.maximum, merged.sum, mergeValue(merged, before, sum)};
        });
    Value factor = code.divideFloat(code.number(1), all[1]);
    Value number = code.addFloat(code.multiplyFloat(all[2], factor), code.number(0));
    Value place = code.add(code.multiply(head, a.valueSize), column);
    code.storeScalar(number, a.result.at(code, row, place));
  });
}

} // namespace heddle
