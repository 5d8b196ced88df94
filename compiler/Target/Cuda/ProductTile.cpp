// SPDX-License-Identifier: Apache-2.0
///
/// Copies weights, and applies the epilogue to sums: the code that all tiles share.
#include "compiler/Target/Cuda/ProductTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

static constexpr int64_t kFloatBytes = sizeof(float);

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

/// Applies the epilogue to one sum and stores it.
static void finish(BlockCode &block, const TiledProduct &product, const SumsInMemory &sums,
                   Value place) {
  VectorCode &code = block.code;
  Value inPart = code.divide(place, sums.columns), inRow = code.remainder(place, sums.columns);
  Value row = code.add(code.add(product.firstRow, sums.first), inPart);
  Value column = code.add(product.firstColumn, inRow);
  code.when(code.both(code.less(row, product.endRow), code.less(column, product.endColumn)), [&] {
    Value at = code.add(code.multiply(inPart, sums.pitch), code.multiply(inRow, kFloatBytes));
    Value sum = block.load(block.sharedAt(at), 1, code.f32).front();
    Value own = row;
    if (product.chosen) {
      own = product.chosen->rowAt(code, row);
      if (product.chosen->bias) {
        sum = code.addFloat(sum, code.loadScalar(code.at(product.chosen->bias, column)));
      }
    }
    Value value = product.epilogue.apply(code, code.broadcast(sum), own, column, 1);
    code.storeVector(value, product.result.at(code, own, column));
  });
}

void finishSums(BlockCode &block, const TiledProduct &product, const SumsInMemory &sums) {
  VectorCode &code = block.code;
  code.loop(block.thread, code.integer(sums.rows * sums.columns), kProductThreads,
            [&](Value place) { finish(block, product, sums, place); });
}

Value stageAfter(BlockCode &block, Value stage, int64_t begin, int64_t bytes, int64_t stages) {
  VectorCode &code = block.code;
  Value next = code.add(stage, bytes);
  Value end = code.integer(begin + stages * bytes);
  return code.select(code.less(next, end), next, code.integer(begin));
}

} // namespace heddle
