// SPDX-License-Identifier: Apache-2.0
///
/// Quantises the rows of a tile of integers on their way to shared memory.
#include "compiler/Target/Cuda/IntegerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <climits>

using namespace mlir;

namespace heddle {

static constexpr int64_t kProductWarps = kProductThreads / kWarpLanes;

// --- rows ----------------------------------------------------------------------------------------

Value IntegerTileCode::firstStep(Value number) {
  if (shape.isWhole()) {
    return code.add(code.multiply(number, slabSteps()), ownFour);
  }
  Value group = code.add(code.multiply(number, shape.groups), ownGroup());
  return code.add(code.multiply(group, shape.shared), ownInGroup());
}

RowQuantizer IntegerTileCode::quantizerOf(Value below, Value largest, Value finite) {
  return isSigned() ? RowQuantizer::withSign(code, code.maximum(below, largest), finite)
                    : RowQuantizer::withoutSign(code, below, largest, finite);
}

namespace {
/// The negated smallest and the largest of some numbers and 0; and zero, or NaN if one of them is
/// infinite or NaN.
struct Extent {
  Value below, largest, finite;

  static Extent of(VectorCode &code) { return {code.number(0), code.number(0), code.number(0)}; }
  Extent with(VectorCode &code, const Extent &other) const {
    return {code.maximum(other.below, below), code.maximum(other.largest, largest),
            code.addFloat(finite, other.finite)};
  }
  Extent with(VectorCode &code, Value number) const {
    Value negative = code.subtractFloat(code.number(0), number);
    return {code.maximum(negative, below), code.maximum(number, largest),
            code.fma(number, code.number(0), finite)};
  }
  /// Combines those of the lanes whose indices differ in bits below `lanes`.
  Extent ofLanes(BlockCode &block, int64_t lanes) const {
    Extent all = *this;
    for (int64_t bit = 1; bit < lanes; bit *= 2) {
      const Extent other = {block.ofOtherLane(all.below, bit), block.ofOtherLane(all.largest, bit),
                            block.ofOtherLane(all.finite, bit)};
      all = all.with(block.code, other);
    }
    return all;
  }
};
} // namespace

/// Computes the factors of a row of the tile, as a warp.
void IntegerTileCode::measureRow(Value row) {
  constexpr int64_t ofWarp = kWarpLanes * kTogether, mostLoads = 4;
  const int64_t loads = std::min(mostLoads, llvm::divideCeilSigned(product.k, ofWarp));
  Value from = code.at(firstRow(), code.multiply(row, product.rowElements));
  Value own = code.multiply(lane, kTogether);
  // Each of the four elements of a load has an extent of its own, to shorten chains.
  SmallVector<Value> carried(3 * kTogether, code.number(0));
  carried = code.loop(
      code.integer(0), code.integer(product.k), loads * ofWarp, carried,
      [&](Value begin, ValueRange before) {
        SmallVector<Value> fours, after(before);
        for (int64_t load = 0; load < loads; ++load) {
          Value k = code.add(code.add(begin, load * ofWarp), own);
          Value four = loadFour(from, k);
          fours.push_back(product.k % (loads * ofWarp) == 0 ? four : zeroBehind(four, k));
        }
        for (Value four : fours) {
          for (auto [i, element] : llvm::enumerate(elementsOf(code, four))) {
            const Extent extent =
                Extent{after[3 * i], after[3 * i + 1], after[3 * i + 2]}.with(code, element);
            after[3 * i] = extent.below;
            after[3 * i + 1] = extent.largest;
            after[3 * i + 2] = extent.finite;
          }
        }
        return after;
      });
  Extent extent = {carried[0], carried[1], carried[2]};
  for (int64_t i = 1; i < kTogether; ++i) {
    extent = extent.with(code, Extent{carried[3 * i], carried[3 * i + 1], carried[3 * i + 2]});
  }
  extent = extent.ofLanes(block, kWarpLanes);
  const RowQuantizer quantizer = quantizerOf(extent.below, extent.largest, extent.finite);
  Value zero = isSigned() ? constant(0) : laneOf(quantizer.zeros);
  code.when(code.equal(lane, code.integer(0)), [&] {
    Value at = code.add(code.multiply(row, shape.rowFactorBytes()), shape.factorsBegin());
    block.storeWords({bitsOf(laneOf(quantizer.inverses)), zero, bitsOf(quantizer.scale), zero},
                     block.sharedAt(at));
  });
}

void IntegerTileCode::prepare() {
  if (!shape.isWhole()) {
    return;
  }
  copyHeads(code.integer(shape.headsBegin()), code.integer(0));
  Value last = arith::ExtSIOp::create(code.builder, code.location, code.i64,
                                      product.lastRow(block, tile.rows));
  Value count = code.add(last, 1);
  code.loop(warp, count, kProductWarps, [&](Value row) { measureRow(row); });
  // Other rows repeat the last one, with codes of zero.
  code.loop(code.add(count, block.thread), code.integer(tile.rows), kProductThreads,
            [&](Value row) {
              Value at = code.add(code.multiply(row, shape.rowFactorBytes()), shape.factorsBegin());
              block.storeWords(SmallVector<Value>(4, constant(0)), block.sharedAt(at));
            });
  block.barrier();
}

/// Returns whether the thread's elements from step `k` on exist; null if all do.
Value IntegerTileCode::isThere(Value k) {
  if (!shape.hasGaps()) {
    return {};
  }
  Value isInside = code.less(k, code.integer(product.k));
  return groupSteps == shape.shared || shape.isWhole()
             ? isInside
             : code.both(isInside, code.less(ownInGroup(), code.integer(shape.shared)));
}

/// Returns four elements, with zero in place of those that do not exist.
SmallVector<Value> IntegerTileCode::existing(Value four, Value k) {
  const bool isSplit = product.k % kTogether != 0;
  SmallVector<Value> elements = elementsOf(code, isSplit ? zeroBehind(four, k) : four);
  if (Value isIn = isThere(k)) {
    for (Value &element : elements) {
      element = code.select(isIn, element, code.number(0));
    }
  }
  return elements;
}

/// Returns the quantiser of the group of a row whose elements the thread has loaded with others,
/// and stores the row's factors.
RowQuantizer IntegerTileCode::quantizerOfGroup(ValueRange elements, int64_t load, Value factors) {
  Extent extent = Extent::of(code);
  for (Value element : elements) {
    extent = extent.with(code, element);
  }
  const int64_t lanes = shape.groupWords();
  extent = extent.ofLanes(block, lanes);
  const RowQuantizer quantizer = quantizerOf(extent.below, extent.largest, extent.finite);
  code.when(code.equal(code.remainder(lane, lanes), code.integer(0)), [&] {
    Value row = code.add(ownRow, load * rowsOfLoad());
    Value at = code.add(code.multiply(row, shape.rowFactorBytes()),
                        code.multiply(ownGroup(), 2 * kWordBytes));
    Value zero = isSigned() ? constant(0) : laneOf(quantizer.zeros);
    block.storeWords({bitsOf(quantizer.scale), zero}, block.sharedAt(code.add(factors, at)));
  });
  return quantizer;
}

/// Loads the quantiser of the row of a load.
RowQuantizer IntegerTileCode::storedQuantizer(int64_t load) {
  Value row = code.add(ownRow, load * rowsOfLoad());
  Value at = code.add(code.multiply(row, shape.rowFactorBytes()), shape.factorsBegin());
  const SmallVector<Value> words = block.loadWords(block.sharedAt(at), 2);
  auto lanes = VectorType::get({code.lanes}, code.i32);
  Value zeros =
      isSigned()
          ? Value()
          : vector::BroadcastOp::create(code.builder, code.location, lanes, words[1]).getResult();
  return {Value(), code.broadcast(numberOf(words[0])), zeros};
}

/// Returns the codes of four elements, the first in the lowest byte.
Value IntegerTileCode::wordOf(ValueRange elements, const RowQuantizer &quantizer) {
  constexpr int64_t byteBits = CHAR_BIT, lowest = 0xFF;
  Value word;
  for (auto [i, element] : llvm::enumerate(elements)) {
    Value byte = laneOf(quantizer.codesOf(code, code.broadcast(element)));
    if (isSigned() && i + 1 < elements.size()) {
      byte = arith::AndIOp::create(code.builder, code.location, byte, constant(lowest));
    }
    byte = arith::ShLIOp::create(code.builder, code.location, byte,
                                 constant(static_cast<int64_t>(i) * byteBits));
    word = word ? arith::OrIOp::create(code.builder, code.location, word, byte).getResult() : byte;
  }
  return word;
}

/// Returns the place of the thread's word in a row. A lane splits a word of 4-bit codes into words
/// of adjacent steps, which it multiplies with words 4 places apart.
Value IntegerTileCode::placeOfWord() {
  Value word = code.divide(ownFour, codesTogether);
  if (!shape.type.hasHalves()) {
    return word;
  }
  constexpr int64_t half = kMatrixWords / 2;
  Value matrix = code.divide(word, kMatrixWords), inMatrix = code.remainder(word, kMatrixWords);
  Value place =
      code.add(code.multiply(code.remainder(inMatrix, 2), half), code.divide(inMatrix, 2));
  return code.add(code.multiply(matrix, kMatrixWords), place);
}

void IntegerTileCode::storeRows(ValueRange loaded, const Slab &slab) {
  Value k = firstStep(slab.number), place = placeOfWord();
  Value isIn = isThere(k), factors = factorsOf(slab.rows);
  for (auto [number, four] : llvm::enumerate(loaded)) {
    const auto load = static_cast<int64_t>(number);
    const SmallVector<Value> elements = existing(four, k);
    Value word = wordOf(elements, shape.isWhole() ? storedQuantizer(load)
                                                  : quantizerOfGroup(elements, load, factors));
    storeRow(isIn ? code.select(isIn, word, constant(0)) : word, load, place, slab.rows);
  }
}

} // namespace heddle
