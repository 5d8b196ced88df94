// SPDX-License-Identifier: Apache-2.0
///
/// Implements tiles of integers: their shapes, copies of weights, products of codes, and the
/// conversion of sums to f32 (rows: IntegerRows.cpp).
#include "compiler/Target/Cuda/IntegerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <climits>

using namespace mlir;
using heddle::transformer::QuantizedType;

namespace heddle {

/// Bytes of a line of a panel, a word for each column.
static constexpr int64_t kPanelLineBytes = sharedPanelColumns * kWordBytes;
/// The shared memory that every GPU provides by default, and the bounds of the stages in it.
static constexpr int64_t kUsualBytes = int64_t(48) * 1024, kFewestStages = 3, kMostStages = 8;
/// Below four tiles of few rows, the larger tile gives too few tiles.
static constexpr int64_t kFewRows = 64;

// --- the shape -----------------------------------------------------------------------------------

/// For many rows, a tile has four panels if a row has one scale: rows take four times the bytes of
/// weights, and each of their elements is quantised once per tile. A lane with groups has sums in
/// f32 beside those of a group, and one of signed rows has sums of codes: half as many columns.
/// Each group of columns begins with a panel, so that tiles have one. For few rows, whose time is
/// that of reading weights, slabs are longer. Three warps have 16 columns each; the fourth only
/// loads its part of the operands.
IntegerTile IntegerTile::of(QuantizedType type, int64_t k, int64_t groupsOfColumns, bool isFew) {
  constexpr WordTile wide = {64, 4, 16, 1, 4}, two = {64, 2, 16, 2, 2}, one = {64, 1, 16, 2, 2},
                     few = {16, 1, 32, 1, 3};
  const WordTile &many = groupsOfColumns == 1 ? two : one;
  const int64_t shared = type.getGroupOf(k), scales = type.getScalesOf(k);
  if (scales == 1) {
    const bool isWide = groupsOfColumns == 1 && !type.hasZeros();
    return {isFew ? few : isWide ? wide : many, type, k, shared, /*groups=*/0};
  }
  WordTile words = isFew ? few : many;
  const auto ofGroup =
      static_cast<int64_t>(llvm::PowerOf2Ceil(std::max(shared / codesTogether, kMatrixWords)));
  // Every slab has as many groups.
  int64_t groups = std::max<int64_t>(words.slab / ofGroup, 1);
  while (scales % groups != 0) {
    groups /= 2;
  }
  words.slab = groups * ofGroup;
  return {words, type, k, shared, groups};
}

int64_t IntegerTile::stages() const {
  const int64_t fitting = (kUsualBytes - words.stagesBegin() - keptBytes()) / stageBytes();
  return std::clamp(fitting, kFewestStages, kMostStages);
}

bool integersFit(QuantizedType type, int64_t k) {
  return type.getScalesOf(k) == 1 || type.getGroupOf(k) <= kMostSharedInBlocks;
}

BlockWork integerWork(QuantizedType type, int64_t k, int64_t groups) {
  const IntegerTile many = IntegerTile::of(type, k, groups, /*isFew=*/false),
                    few = IntegerTile::of(type, k, groups, /*isFew=*/true);
  return {kProductThreads,
          std::max(many.bytes(), few.bytes()),
          {many.words.rows, many.words.panels},
          {few.words.rows, few.words.panels},
          kFewRows,
          kProductBlocks};
}

IntegerTileCode::IntegerTileCode(BlockCode &block, const IntegerTile &tile,
                                 const TiledProduct &product)
    : WordTileCode(block, tile.words, {tile.words.stagesBegin(), tile.stageBytes(), tile.stages()},
                   product, codesTogether),
      shape(tile), groupSteps(tile.groupWords() * codesTogether) {}

Value IntegerTileCode::constant(int64_t value) {
  return arith::ConstantIntOp::create(code.builder, code.location, code.i32, value);
}
Value IntegerTileCode::toFloat(Value integer) {
  return arith::SIToFPOp::create(code.builder, code.location, code.f32, integer);
}
Value IntegerTileCode::bitsOf(Value number) {
  return arith::BitcastOp::create(code.builder, code.location, code.i32, number);
}
Value IntegerTileCode::numberOf(Value bits) {
  return arith::BitcastOp::create(code.builder, code.location, code.f32, bits);
}
Value IntegerTileCode::laneOf(Value vector) {
  return vector::ExtractOp::create(code.builder, code.location, vector, ArrayRef<int64_t>{0});
}

// --- weights -------------------------------------------------------------------------------------

/// Starts to copy the factors of columns of as many groups as a slab has.
void IntegerTileCode::copyHeads(Value to, Value firstGroup) {
  const int64_t ofPanel = shape.headBytes() / kSharedAlignment, ofGroup = ofPanel * tile.panels;
  Value lastPanel = code.subtract(product.endPanel, 1);
  eachOwn(block, std::max<int64_t>(shape.groups, 1) * ofGroup, [&](Value number) {
    Value group = code.add(firstGroup, code.divide(number, ofGroup));
    Value inGroup = code.remainder(number, ofGroup);
    Value panel =
        code.smaller(code.add(product.firstPanel, code.divide(inGroup, ofPanel)), lastPanel);
    Value from = code.add(code.multiply(panel, shape.panelBytes()),
                          code.multiply(group, shape.groupBytes()));
    from = code.add(from, code.multiply(code.remainder(inGroup, ofPanel), kSharedAlignment));
    block.copy(block.sharedAt(code.add(to, code.multiply(number, kSharedAlignment))),
               code.bytesAt(product.weights, from), kSharedAlignment);
  });
}

void IntegerTileCode::copySlab(Value stage, Value number) {
  constexpr int64_t ofPanel = kPanelLineBytes / kSharedAlignment;
  const int64_t ofLine = ofPanel * tile.panels, used = shape.linesOf(shape.usedWords());
  Value lastPanel = code.subtract(product.endPanel, 1);
  Value group = code.multiply(number, shape.groups);
  eachOwn(block, std::max<int64_t>(shape.groups, 1) * used * ofLine, [&](Value copy) {
    Value line = code.divide(copy, ofLine), inLine = code.remainder(copy, ofLine);
    Value panel =
        code.smaller(code.add(product.firstPanel, code.divide(inLine, ofPanel)), lastPanel);
    // The place in the panel, and the line of the stage.
    Value from, to = line;
    if (shape.isWhole()) {
      from = code.multiply(code.add(code.multiply(number, used), line), kPanelLineBytes);
    } else {
      Value inSlab = code.divide(line, used), inGroup = code.remainder(line, used);
      from = code.add(code.multiply(code.add(group, inSlab), shape.groupBytes()),
                      code.multiply(inGroup, kPanelLineBytes));
      to = code.add(code.multiply(inSlab, shape.linesOf(shape.groupWords())), inGroup);
    }
    from = code.add(code.add(from, shape.headBytes()),
                    code.multiply(code.remainder(inLine, ofPanel), kSharedAlignment));
    if (shape.copiesGaps()) {
      // Any bytes of the panel will do, since they are multiplied with zero.
      from = code.smaller(from, code.integer(shape.panelBytes() - kSharedAlignment));
    }
    from = code.add(from, code.multiply(panel, shape.panelBytes()));
    to = code.add(code.multiply(to, tile.linePitch()), code.multiply(inLine, kSharedAlignment));
    block.copy(block.sharedAt(code.add(stage, to)), code.bytesAt(product.weights, from),
               kSharedAlignment);
  });
  if (!shape.isWhole()) {
    copyHeads(code.add(stage, shape.linesBytes()), group);
  }
}

// --- sums ----------------------------------------------------------------------------------------

WordTileCode::Columns IntegerTileCode::loadColumns(const ColumnRun &run, Value columns) {
  constexpr int64_t lowerHalves = 0x0F0F0F0F, halfBits = 4;
  Value first = runAt(run, columns);
  const SmallVector<Value> words = block.loadWords(block.sharedAt(first), run.width);
  Columns result;
  if (!shape.type.hasHalves()) {
    const int64_t before = kMatrixWords / 2 * tile.linePitch();
    const SmallVector<Value> others =
        block.loadWords(block.sharedAt(code.add(first, before)), run.width);
    for (auto [word, other] : llvm::zip_equal(words, others)) {
      result.push_back({word, other});
    }
    return result;
  }
  auto lower = [&](Value word) -> Value {
    return arith::AndIOp::create(code.builder, code.location, word, constant(lowerHalves));
  };
  for (Value word : words) {
    Value upper = arith::ShRUIOp::create(code.builder, code.location, word, constant(halfBits));
    result.push_back({lower(word), lower(upper)});
  }
  return result;
}

/// Adds `count` words of the slab, from word `first` on, to integers().
void IntegerTileCode::multiplyWords(const Slab &slab, int64_t first, int64_t count,
                                    MutableArrayRef<Value> sums) {
  constexpr int64_t ones = 0x01010101;
  for (int64_t word = first; word < first + count; word += kMatrixWords) {
    const SmallVector<SmallVector<Value>> rows = loadMatrices(slab.rows, word);
    auto add = [&](size_t part, ValueRange columns, MutableArrayRef<Value> own) {
      llvm::copy(block.multiplyCodes(rows[part], columns, own, isSigned()), own.begin());
    };
    for (const ColumnRun &run : runs) {
      const Columns columns = loadColumns(run, columnsAt(slab.stage, shape.linesOf(word)));
      for (auto [j, column] : llvm::enumerate(columns)) {
        const int64_t matrix = run.first / kMatrixColumns + static_cast<int64_t>(j);
        for (size_t part = 0; part < rows.size(); ++part) {
          add(part, column, sumsAt(sums, static_cast<int64_t>(part), matrix));
        }
      }
    }
    // Sums of codes: products with ones, whose columns are all the same.
    for (size_t part = 0; isSigned() && part < rows.size(); ++part) {
      const auto begin = static_cast<size_t>(tile.sumsOfLane()) + 4 * part;
      add(part, {constant(ones), constant(ones)}, sums.slice(begin, 4));
    }
  }
}

SmallVector<Value> IntegerTileCode::integers() {
  const int64_t count = tile.sumsOfLane() + (isSigned() ? 4 * tile.parts() : 0);
  return SmallVector<Value>(static_cast<size_t>(count), constant(0));
}

void IntegerTileCode::multiply(const Slab &slab, MutableArrayRef<Value> sums) {
  if (shape.isWhole()) {
    multiplyWords(slab, 0, tile.slab, sums);
    return;
  }
  const size_t ofPart = sums.size() / static_cast<size_t>(tile.parts());
  for (int64_t group = 0; group < shape.groups; ++group) {
    SmallVector<Value> ofGroup = integers();
    multiplyWords(slab, group * shape.groupWords(), shape.usedWords(), ofGroup);
    Value heads =
        code.add(slab.stage, shape.linesBytes() + group * tile.panels * shape.headBytes());
    const ColumnFactors columns = loadFactors(heads);
    Value factors = code.add(factorsOf(slab.rows), group * 2 * kWordBytes);
    for (int64_t part = 0; part < tile.parts(); ++part) {
      auto own = sums.slice(static_cast<size_t>(part) * ofPart, ofPart);
      llvm::copy(scaled(part, ofGroup, columns, factors, own), own.begin());
    }
  }
}

/// Returns the place of the scales of rows, given that of the rows.
Value IntegerTileCode::factorsOf(Value rows) {
  if (shape.isWhole()) {
    return code.integer(shape.factorsBegin() + 2 * kWordBytes);
  }
  Value isFirst = code.equal(rows, code.integer(0));
  return code.select(isFirst, code.integer(shape.factorsBegin()),
                     code.integer(shape.factorsBegin() + shape.factorsBytes()));
}

/// Loads the lane's factors from the heads of a group, one for each panel of the tile.
ColumnFactors IntegerTileCode::loadFactors(Value heads) {
  const QuantizedType type = shape.type;
  Value warpFirst = code.multiply(warpColumn, tile.columnsOfWarp());
  Value head =
      code.add(heads, code.multiply(code.divide(warpFirst, sharedPanelColumns), shape.headBytes()));
  Value others = code.add(head, sharedPanelColumns * type.getScaleBytes());
  ColumnFactors factors;
  for (const ColumnRun &run : runs) {
    const int64_t count = 2 * run.width;
    Value column = code.add(code.remainder(warpFirst, sharedPanelColumns), ownColumn(run));
    const int64_t together = std::min(count, kSharedAlignment / type.getScaleBytes());
    for (int64_t i = 0; i < count; i += together) {
      Value at = code.multiply(code.add(column, i), type.getScaleBytes());
      llvm::append_range(factors.scales, block.load(block.sharedAt(code.add(head, at)), together,
                                                    type.getScales()));
    }
    if (!isSigned()) {
      for (int64_t i = 0; i < count; i += std::min(count, kPartWords)) {
        Value at = code.multiply(code.add(column, i), kWordBytes);
        llvm::append_range(factors.others, block.loadWords(block.sharedAt(code.add(others, at)),
                                                           std::min(count, kPartWords)));
      }
      continue;
    }
    // Eight codes of zero in a word.
    constexpr int64_t inWord = 8, bits = 4, largest = 0xF;
    Value at = code.multiply(code.divide(column, inWord), kWordBytes);
    Value word = block.loadWords(block.sharedAt(code.add(others, at)), 1).front();
    Value shift = arith::TruncIOp::create(code.builder, code.location, code.i32,
                                          code.multiply(code.remainder(column, inWord), bits));
    word = arith::ShRUIOp::create(code.builder, code.location, word, shift);
    for (int64_t i = 0; i < count; ++i) {
      Value zero = arith::ShRUIOp::create(code.builder, code.location, word, constant(i * bits));
      zero = arith::AndIOp::create(code.builder, code.location, zero, constant(largest));
      factors.others.push_back(
          toFloat(arith::SubIOp::create(code.builder, code.location, constant(0), zero)));
    }
  }
  return factors;
}

/// Converts the sums of a part to f32, and adds them to `before` unless it is empty. `factors` is
/// the place of the scale and code of zero of the tile's first row.
SmallVector<Value> IntegerTileCode::scaled(int64_t part, ValueRange integers,
                                           const ColumnFactors &columns, Value factors,
                                           ValueRange before) {
  const size_t ofPart = static_cast<size_t>(tile.sumsOfLane() / tile.parts());
  const ValueRange own = integers.slice(static_cast<size_t>(part) * ofPart, ofPart);
  SmallVector<Value> after(ofPart);
  for (const int64_t half : {0, 1}) {
    Value row = code.add(ownSumRow(part), half * kMatrixRows / 2);
    Value at = code.add(factors, code.multiply(row, shape.rowFactorBytes()));
    const SmallVector<Value> words = block.loadWords(block.sharedAt(at), 2);
    Value scale = numberOf(words[0]);
    Value sumOfCodes =
        isSigned() ? toFloat(integers[static_cast<size_t>(tile.sumsOfLane() + 4 * part + 2 * half)])
                   : Value();
    for (const ColumnRun &run : runs) {
      for (int64_t i = 0; i < 2 * run.width; ++i) {
        const int64_t matrix = run.first / kMatrixColumns + i % run.width;
        const auto index = static_cast<size_t>(matrix * 4 + half * 2 + i / run.width);
        const auto column = static_cast<size_t>(run.first / kLanesOfRow + i);
        Value exact;
        if (isSigned()) {
          exact = code.fma(sumOfCodes, columns.others[column], toFloat(own[index]));
        } else {
          Value ofZero =
              arith::MulIOp::create(code.builder, code.location, words[1], columns.others[column]);
          exact = toFloat(arith::SubIOp::create(code.builder, code.location, own[index], ofZero));
        }
        Value factor = code.multiplyFloat(scale, columns.scales[column]);
        after[index] = before.empty() ? code.multiplyFloat(exact, factor)
                                      : code.fma(exact, factor, before[index]);
      }
    }
  }
  return after;
}

void IntegerTileCode::emit() {
  if (!shape.isWhole()) {
    // -0 plus a product is that product, whatever its sign: the first group adds to nothing.
    const SmallVector<Value> initial(static_cast<size_t>(tile.sumsOfLane()), code.number(-0.0F));
    finish(sumsOf(shape.slabs(), initial));
    return;
  }
  const SmallVector<Value> all = sumsOf(shape.slabs(), integers());
  // The factors of columns came with a slab that may not have been awaited.
  block.await(0);
  block.barrier();
  finish([&](int64_t part) {
    return scaled(part, all, loadFactors(code.integer(shape.headsBegin())), factorsOf(Value()), {});
  });
}

void emitIntegerTile(BlockCode &block, const TiledProduct &product, bool isFew) {
  auto type = cast<QuantizedType>(product.element);
  const IntegerTile tile = IntegerTile::of(type, product.k, product.groups, isFew);
  IntegerTileCode(block, tile, product).emit();
}

} // namespace heddle
