// SPDX-License-Identifier: Apache-2.0
///
/// Copies weights, and applies the epilogue to sums: the code that all tiles share.
#include "compiler/Target/Cuda/ProductTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;

namespace heddle {

Value TiledProduct::lastRow(BlockCode &block, int64_t tileRows) const {
  VectorCode &code = block.code;
  Value count = code.smaller(code.subtract(endRow, firstRow), code.integer(tileRows));
  return block.keptHere(code.subtract(count, 1));
}

Value TiledProduct::nearRow(BlockCode &block, Value row, Value last) {
  VectorCode &code = block.code;
  return arith::ExtSIOp::create(code.builder, code.location, code.i64, code.smaller(row, last));
}

Value ChosenRows::rowAt(VectorCode &code, Value place) const {
  return chosenNumber(code, order, place, code.subtract(count, 1));
}

Value TiledProduct::columnAt(VectorCode &code, Value k) const {
  return stepsBefore ? code.add(stepsBefore, k) : k;
}

Value TiledProduct::rowsBegin(VectorCode &code) const {
  return chosen ? rows : code.at(rows, code.multiply(firstRow, rowElements));
}

Value TiledProduct::elementsBefore(VectorCode &code, Value inTile) const {
  if (!chosen) {
    return code.multiply(inTile, rowElements);
  }
  Value row = chosen->rowAt(code, code.add(firstRow, inTile));
  return code.multiply(code.divide(row, chosen->parts), rowElements);
}

Value stepAt(BlockCode &block, int64_t steps, int64_t slabSteps, Value first, Value step,
             Value &valid, int64_t bytes) {
  VectorCode &code = block.code;
  Value place = code.add(first, step);
  if (steps % slabSteps == 0) {
    return place;
  }
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(code.builder, code.location, code.i32, value);
  };
  valid = code.select(code.less(place, code.integer(steps)), constant(bytes), constant(0));
  return code.smaller(place, code.integer(steps - 1));
}

void eachOwn(BlockCode &block, int64_t count, llvm::function_ref<void(Value number)> each) {
  VectorCode &code = block.code;
  Value thread =
      arith::ExtUIOp::create(code.builder, code.location, code.i64, block.keptHere(block.thread));
  for (int64_t begin = 0; begin < count; begin += kProductThreads) {
    Value number = code.add(thread, begin);
    if (begin + kProductThreads <= count) {
      each(number);
    } else {
      code.when(code.less(number, code.integer(count)), [&] { each(number); });
    }
  }
}

void TiledProduct::setColumns(VectorCode &code, Value begin, Value end) {
  firstPanel = begin;
  endPanel = end;
  firstColumn = code.multiply(begin, sharedPanelColumns);
  endColumn = code.smaller(code.multiply(end, sharedPanelColumns), code.integer(n));
}

void copyWeights(BlockCode &block, const TiledProduct &product, const WeightSlab &slab, Value to,
                 Value first) {
  VectorCode &code = block.code;
  const int64_t ofPanel = slab.stepBytes / kSharedAlignment;
  const int64_t ofStep = ofPanel * slab.panels, all = ofStep * slab.slabSteps;
  Value lastPanel = code.subtract(product.endPanel, 1);
  eachOwn(block, all, [&](Value number) {
    Value step = code.divide(number, ofStep), inStep = code.remainder(number, ofStep), valid;
    Value panel =
        code.smaller(code.add(product.firstPanel, code.divide(inStep, ofPanel)), lastPanel);
    Value place = stepAt(block, slab.steps, slab.slabSteps, first, step, valid, kSharedAlignment);
    Value row = code.add(code.multiply(panel, slab.steps), place);
    Value inRow = code.multiply(code.remainder(inStep, ofPanel), kSharedAlignment);
    Value from = code.add(code.multiply(row, slab.stepBytes), inRow);
    Value toStep = code.add(to, code.multiply(step, slab.pitch));
    block.copy(block.sharedAt(code.add(toStep, code.multiply(inStep, kSharedAlignment))),
               code.bytesAt(product.weights, from), kSharedAlignment, valid);
  });
}

// --- epilogues -----------------------------------------------------------------------------------

/// Returns the row of the result at a place.
static Value rowOf(VectorCode &code, const TiledProduct &product, const SumPlace &place) {
  return product.chosen ? product.chosen->rowAt(code, place.row) : place.row;
}

/// Applies the epilogue to the sum of a place inside.
static Value finish(BlockCode &block, const TiledProduct &product, const Epilogue &epilogue,
                    const SumPlace &place) {
  VectorCode &code = block.code;
  Value sum = block.load(block.sharedAt(place.address), 1, code.f32).front();
  Value row = rowOf(code, product, place);
  if (product.chosen && product.chosen->bias) {
    sum = code.addFloat(sum, code.loadScalar(code.at(product.chosen->bias, place.column)));
  }
  return epilogue.apply(code, code.broadcast(sum), row, place.column, 1);
}

static void store(VectorCode &code, const TiledProduct &product, const KernelResult &result,
                  const SumPlace &place, Value value) {
  code.storeVector(value, result.at(code, rowOf(code, product, place), place.column));
}

/// An operand of the epilogue may be in the memory of the result, so a thread must not read it for
/// the places of others.
void finishTogether(BlockCode &block, const TiledProduct &product, const KernelResult &result,
                    const Epilogue &epilogue, int64_t count,
                    llvm::function_ref<SumPlace(Value number)> placeAt) {
  VectorCode &code = block.code;
  auto isInside = [&](const SumPlace &place) {
    return code.both(code.less(place.row, product.endRow),
                     code.less(place.column, product.endColumn));
  };
  auto finishOne = [&](const SumPlace &place) {
    code.when(isInside(place), [&] {
      store(code, product, result, place, finish(block, product, epilogue, place));
    });
  };
  if (count == 1) {
    finishOne(placeAt(code.integer(0)));
    return;
  }
  SmallVector<SumPlace> places;
  Value areInside;
  for (int64_t i = 0; i < count; ++i) {
    places.push_back(placeAt(code.integer(i)));
    Value own = isInside(places.back());
    areInside = areInside ? code.both(areInside, own) : own;
  }
  auto finishAll = [&] {
    SmallVector<Value> values;
    for (const SumPlace &place : places) {
      values.push_back(finish(block, product, epilogue, place));
    }
    for (auto [place, value] : llvm::zip_equal(places, values)) {
      store(code, product, result, place, value);
    }
  };
  code.when(areInside, finishAll, [&] {
    code.loop(code.integer(0), code.integer(count), 1,
              [&](Value number) { finishOne(placeAt(number)); });
  });
}

/// Returns the most sums of a thread that are finished together. With more, ptxas spills registers.
static int64_t mostTogether(const TiledProduct &product) {
  const bool isFull = !product.units || product.units == Units::Tf32x3 || product.windows;
  return isFull ? 1 : 4;
}

void finishSums(BlockCode &block, const TiledProduct &product, const SumsInMemory &sums) {
  VectorCode &code = block.code;
  const int64_t all = sums.rows * sums.columns;
  assert(all % kProductThreads == 0 && "all threads have as many sums");
  const int64_t together = std::gcd(all / kProductThreads, mostTogether(product));
  // Recomputed here, so that places take no registers while products are computed.
  Value thread = together == 1 ? block.thread : block.indexKeptHere(block.thread);
  code.loop(thread, code.integer(all), together * kProductThreads, [&](Value first) {
    finishTogether(block, product, product.result, product.epilogue, together, [&](Value number) {
      Value place = code.add(first, code.multiply(number, kProductThreads));
      Value inPart = code.divide(place, sums.columns);
      Value inRow = code.remainder(place, sums.columns);
      return SumPlace{
          code.add(code.add(product.firstRow, sums.first), inPart),
          code.add(product.firstColumn, inRow),
          code.add(code.multiply(inPart, sums.pitch), code.multiply(inRow, kFloatBytes))};
    });
  });
}

Value stageAfter(BlockCode &block, Value stage, int64_t begin, int64_t bytes, int64_t stages) {
  VectorCode &code = block.code;
  Value next = code.add(stage, bytes);
  Value end = code.integer(begin + stages * bytes);
  return code.select(code.less(next, end), next, code.integer(begin));
}

} // namespace heddle
