// SPDX-License-Identifier: Apache-2.0
///
/// The inner loop of matrix products: a register tile of rows x vectors with the whole of k in one
/// loop. The sum of every element is computed in the order of k, so the bits of a row do not depend
/// on the number of rows. Weights in other types than f32 are widened as they are loaded, once for
/// all rows of the tile. Quantised weights are multiplied with their scales then, so sums are those
/// of f32 arithmetic on the weights that codes and scales represent.
#include "compiler/Target/Emitters/ContractTile.h"

#include "compiler/Target/Emitters/ContractAmx.h"
#include "compiler/Target/Emitters/ContractBf16.h"
#include "compiler/Target/Emitters/ContractIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

PanelLayout PanelLayout::of(const TargetDescription &target, Type type, int64_t k,
                            dataflow::Arithmetic arithmetic) {
  auto quantized = dyn_cast<transformer::QuantizedType>(type);
  Type element = quantized ? quantized.getCodes() : type;
  const int64_t columns = target.panelColumns;
  const int64_t rowBytes = columns * element.getIntOrFloatBitWidth() / 8;
  PanelLayout layout{element,     rowBytes, arithmetic,
                     /*group=*/0, columns,  /*headBytes=*/0, quantized, target.tileRows};
  if (quantized) {
    layout.group = quantized.getScalesOf(k) == 1 ? allSteps : quantized.getGroupOf(k);
    layout.headBytes = quantized.getHeadBytes(columns, dataflow::elementsTogether(arithmetic));
  }
  if (runsOnAmx(target, layout)) {
    layout.isOnAmx = true;
    layout.tileRows = kAmxRows;
  }
  return layout;
}

int64_t PanelLayout::panelBytes(int64_t k) const {
  const int64_t side = dataflow::elementsTogether(arithmetic);
  return quantized ? quantized.getPanelBytes(k, columns, side)
                   : static_cast<int64_t>(llvm::alignTo(k, side)) * rowBytes;
}

int64_t PanelLayout::together() const {
  const int64_t side = dataflow::elementsTogether(arithmetic);
  // With f32, weights are converted one step at a time, whether steps share bytes or not.
  return quantized && arithmetic != dataflow::Arithmetic::F32 ? quantized.getRowsTogether(side)
                                                              : side;
}

int64_t PanelLayout::unroll() const {
  const int64_t steps = arithmetic == dataflow::Arithmetic::F32 ? 4 : 8;
  // 4-bit codes have many short groups, and half of the bytes: an iteration covers a group of 32.
  const int64_t longer = arithmetic == dataflow::Arithmetic::F32 ? 2 : 4;
  return hasHalves() ? longer * steps : steps;
}

int64_t PanelLayout::linesRead() const { return unroll() * rowBytes / kLineBytes; }

// Measured with f32 on rows at spread distances (docs/performance.md). Up to two rows, a tile
// computes for less time than the hardware prefetcher hides. Up to six rows, hardware prefetching
// alone is fastest, and software prefetches slow it down. From seven rows on, a step takes as long
// as memory needs for its lines, and a line that was not prefetched stalls it. With integers, one
// row of 8-bit codes is limited by memory in the same way; more rows are faster with one line, and
// 4-bit codes with none.
int64_t PanelLayout::linesAskedAlone(int64_t rows) const {
  if (arithmetic == dataflow::Arithmetic::Integers) {
    return hasHalves() ? 0 : rows == 1 ? linesAsked() : 1;
  }
  const bool isMeasured = arithmetic == dataflow::Arithmetic::Bf16 ||
                          (arithmetic == dataflow::Arithmetic::F32 && element.isF32());
  if (!isMeasured) {
    return linesAsked();
  }
  constexpr int64_t mostHalf = 2, mostNone = 6;
  return rows <= mostHalf ? linesAsked() : rows <= mostNone ? 0 : linesRead();
}

std::string PanelLayout::suffix() const {
  if (element.isF32()) {
    return "";
  }
  std::string text = "_" + std::string(infoOf(elementTypeOf(element)).name);
  if (arithmetic != dataflow::Arithmetic::F32) {
    text += ("_by" + Twine(together())).str();
  }
  if (quantized && !quantized.getScales().isF32()) {
    text += "x" + std::string(infoOf(elementTypeOf(quantized.getScales())).name);
  }
  if (hasMinimums()) {
    text += "min";
  }
  if (quantized && quantized.getFull()) {
    text += "full";
  }
  return group > 0 ? text + "of" + std::to_string(group) : text;
}

// Loads a vector of codes of zero, two per byte; `column` is a multiple of the lanes.
static Value loadZeros(VectorCode &code, Value zeros, int64_t column) {
  constexpr int64_t inWord = 8, bits = 4;
  // With fewer lanes than codes in a word, the column may begin inside a word.
  const int64_t before = column % inWord;
  const int64_t words = llvm::divideCeilSigned(before + code.lanes, inWord);
  auto narrow = VectorType::get({words}, code.i32);
  auto wide = VectorType::get({code.lanes}, code.i32);
  Value loaded = LLVM::LoadOp::create(
      code.builder, code.location, narrow,
      code.bytesAt(zeros, code.integer((column - before) * bits / 8)), sizeof(int32_t));
  SmallVector<int64_t> wordOf;
  SmallVector<int32_t> shifts;
  for (int64_t lane = 0; lane < code.lanes; ++lane) {
    wordOf.push_back((before + lane) / inWord);
    shifts.push_back(static_cast<int32_t>((before + lane) % inWord * bits));
  }
  auto constant = [&](DenseElementsAttr value) -> Value {
    return arith::ConstantOp::create(code.builder, code.location, value);
  };
  Value spread = vector::ShuffleOp::create(code.builder, code.location, loaded, loaded, wordOf);
  Value shifted =
      arith::ShRUIOp::create(code.builder, code.location, spread,
                             constant(DenseElementsAttr::get(wide, ArrayRef<int32_t>(shifts))));
  return arith::AndIOp::create(code.builder, code.location, shifted,
                               constant(DenseElementsAttr::get(wide, int32_t(0xF))));
}

GroupHead GroupHead::load(VectorCode &code, const PanelLayout &layout, Value head, int64_t first,
                          int64_t vectors) {
  GroupHead loaded;
  Type scales = layout.quantized.getScales();
  Value after = code.bytesAt(head, code.integer(layout.columns * layout.quantized.getScaleBytes()));
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t column = first + v * code.lanes;
    loaded.scales.push_back(
        code.loadStored(code.storedAt(head, code.integer(column), scales), scales));
    if (layout.hasZeros()) {
      loaded.zeros.push_back(loadZeros(code, after, column));
    } else if (layout.hasMinimums()) {
      loaded.minimums.push_back(
          code.loadStored(code.storedAt(after, code.integer(column), scales), scales));
    }
  }
  return loaded;
}

// Loads the 4-bit codes of step `inGroup` of a group, in i32: steps 2 i and 2 i + 1 are the halves
// of a row of bytes.
static Value loadHalves(VectorCode &code, const PanelLayout &layout, Value codes, Value inGroup,
                        Value column) {
  Value row = code.multiply(code.divide(inGroup, 2), layout.columns);
  auto words = VectorType::get({code.lanes}, code.i32);
  auto bytes = VectorType::get({code.lanes}, code.builder.getI8Type());
  Value loaded = LLVM::LoadOp::create(code.builder, code.location, bytes,
                                      code.bytesAt(codes, code.add(row, column)), /*alignment=*/1);
  Value wide = arith::ExtUIOp::create(code.builder, code.location, words, loaded);
  Value half = arith::TruncIOp::create(code.builder, code.location, code.i32,
                                       code.multiply(code.remainder(inGroup, 2), 4));
  Value shift = vector::BroadcastOp::create(code.builder, code.location, words, half);
  Value mask = arith::ConstantOp::create(code.builder, code.location,
                                         DenseElementsAttr::get(words, int32_t(0xF)));
  wide = arith::ShRUIOp::create(code.builder, code.location, wide, shift);
  return arith::AndIOp::create(code.builder, code.location, wide, mask);
}

// Loads the weights of step `inGroup` of a group in f32, for vector `v` of the columns from `first`
// on.
static Value loadWeights(VectorCode &code, const PanelLayout &layout, const GroupHead &head,
                         Value codes, Value inGroup, int64_t first, size_t v) {
  Value column = code.integer(first + static_cast<int64_t>(v) * code.lanes);
  Value stored;
  if (layout.hasHalves()) {
    Value halves = loadHalves(code, layout, codes, inGroup, column);
    if (layout.hasZeros()) {
      halves = arith::SubIOp::create(code.builder, code.location, halves, head.zeros[v]);
    }
    stored = arith::SIToFPOp::create(code.builder, code.location, code.vector, halves);
  } else {
    Value row = code.multiply(inGroup, layout.columns);
    stored = code.loadStored(code.storedAt(codes, code.add(row, column), layout.element),
                             layout.element);
  }
  if (head.scales.empty()) {
    return stored;
  }
  return layout.hasMinimums() ? code.fma(stored, head.scales[v], head.minimums[v])
                              : code.multiplyFloat(stored, head.scales[v]);
}

void unpackPanel(VectorCode &code, const PanelLayout &layout, int64_t k, Value from, Value to) {
  const int64_t columns = code.target.panelColumns;
  const int64_t steps = layout.group == PanelLayout::allSteps ? k : layout.group;
  code.loop(code.integer(0), code.integer(k), steps, [&](Value begin) {
    // If all steps share scales, they are one group.
    Value number = code.divide(begin, steps);
    Value group = code.bytesAt(from, code.multiply(number, layout.groupBytes()));
    Value codes = code.bytesAt(group, code.integer(layout.headBytes));
    const int64_t vectors = columns / code.lanes;
    GroupHead head = GroupHead::load(code, layout, group, /*first=*/0, vectors);
    Value end = code.smaller(code.add(begin, steps), code.integer(k));
    code.loop(begin, end, 1, [&](Value i) {
      Value inGroup = code.subtract(i, begin);
      for (int64_t v = 0; v < vectors; ++v) {
        Value weights = loadWeights(code, layout, head, codes, inGroup, /*first=*/0, v);
        Value place = code.integer(v * code.lanes);
        code.storeVector(weights, code.at(to, code.add(code.multiply(i, columns), place)));
      }
    });
  });
}

// --- shared by all tiles -----------------------------------------------------------------------

// The distances at which a tile that prefetches all lines of f32 that it reads does so, instead of
// kBytesAhead. It requests each line twice, because a processor may drop requests that come faster
// than memory answers (docs/performance.md).
static constexpr int64_t kBytesAheadOfAll[] = {4096, 1536};

// Prefetches the lines of an iteration that begins with step `i`.
static void askForLines(const TileColumns &tile, Value i) {
  VectorCode &code = tile.code;
  Value stride = tile.entry.getArgument(TileArgument::Step);
  Value line = code.bytesAt(tile.entry.getArgument(Ahead), code.multiply(i, stride));
  auto ask = [&](int64_t offset) {
    for (int64_t p = 0; p < tile.linesAsked; ++p) {
      code.prefetch(code.bytesAt(line, code.integer(p * kLineBytes + offset)));
    }
  };
  if (tile.layout.arithmetic == dataflow::Arithmetic::F32 &&
      tile.linesAsked == tile.layout.linesRead()) {
    llvm::for_each(kBytesAheadOfAll, [&](int64_t bytes) { ask(bytes - kBytesAhead); });
  } else {
    ask(0);
  }
}

SmallVector<Value> TileColumns::steps(Value begin, Value end, ValueRange sums, Step step) const {
  const int64_t unroll = layout.unroll(), together = layout.together();
  Value count = code.subtract(end, begin);
  Value whole = code.add(begin, code.multiply(code.divide(count, unroll), unroll));
  SmallVector<Value> next = code.loop(begin, whole, unroll, sums, [&](Value i, ValueRange carried) {
    if (first == 0 && linesAsked > 0) {
      askForLines(*this, i);
    }
    SmallVector<Value> sums(carried);
    for (int64_t u = 0; u < unroll; u += together) {
      Value k = code.add(i, u);
      sums = step(code.subtract(k, begin), k, sums);
    }
    return sums;
  });
  return code.loop(whole, end, together, next, [&](Value i, ValueRange carried) {
    return step(code.subtract(i, begin), i, carried);
  });
}

Value TileColumns::sumAt(int64_t row, int64_t vector) const {
  return code.at(entry.getArgument(Sums),
                 row * code.target.panelColumns + first + vector * code.lanes);
}

SmallVector<Value> TileColumns::begin() const {
  SmallVector<Value> sums(rows.size() * vectors, code.splat(0));
  for (size_t i = 0; adds && i < sums.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    sums[i] = code.loadVector(sumAt(number / vectors, number % vectors));
  }
  return sums;
}

void TileColumns::store(ValueRange sums) const {
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    code.storeVector(sums[i], sumAt(number / vectors, number % vectors));
  }
}

// --- tiles that multiply f32 -------------------------------------------------------------------

// Computes one step of k: a vector of weights per column group, times its scale if there are
// scales, times one element of every row.
static SmallVector<Value> step(const TileColumns &tile, const GroupHead &head, Value weights,
                               Value inGroup, Value k, ValueRange sums) {
  VectorCode &code = tile.code;
  SmallVector<Value> loaded;
  for (int64_t v = 0; v < tile.vectors; ++v) {
    loaded.push_back(loadWeights(code, tile.layout, head, weights, inGroup, tile.first, v));
  }
  SmallVector<Value> next;
  for (size_t r = 0; r < tile.rows.size(); ++r) {
    Value factor = code.broadcast(code.loadScalar(code.at(tile.rows[r], k)));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      next.push_back(code.fma(factor, loaded[v], sums[r * tile.vectors + v]));
    }
  }
  return next;
}

// Computes the whole of k: for quantised weights group by group, with the scales of each in
// registers.
static SmallVector<Value> allSteps(const TileColumns &tile, ValueRange sums) {
  VectorCode &code = tile.code;
  const PanelLayout &layout = tile.layout;
  Value weights = tile.entry.getArgument(Weights), k = tile.entry.getArgument(K);
  auto steps = [&](const GroupHead &head, Value from, Value begin, Value end, ValueRange sums) {
    return tile.steps(begin, end, sums, [&](Value inGroup, Value k, ValueRange sums) {
      return step(tile, head, from, inGroup, k, sums);
    });
  };
  if (layout.group == 0) {
    return steps({}, weights, code.integer(0), k, sums);
  }
  auto ofGroup = [&](Value group, Value begin, Value end, ValueRange sums) {
    const GroupHead head = GroupHead::load(code, layout, group, tile.first, tile.vectors);
    Value codes = code.bytesAt(group, code.integer(layout.headBytes));
    return steps(head, codes, begin, end, sums);
  };
  if (layout.group == PanelLayout::allSteps) {
    return ofGroup(weights, code.integer(0), k, sums);
  }
  return code.loop(code.integer(0), k, layout.group, sums, [&](Value begin, ValueRange carried) {
    Value number = code.divide(begin, layout.group);
    Value end = code.smaller(code.add(begin, layout.group), k);
    Value group = code.bytesAt(weights, code.multiply(number, layout.groupBytes()));
    return ofGroup(group, begin, end, carried);
  });
}

// --- tile functions ----------------------------------------------------------------------------

static void emitTile(const TileColumns &tile) {
  if (tile.layout.isOnAmx) {
    emitAmxTile(tile);
    return;
  }
  switch (tile.layout.arithmetic) {
  case dataflow::Arithmetic::Integers:
    emitIntegerTile(tile);
    return;
  case dataflow::Arithmetic::Bf16:
    emitBf16Tile(tile);
    return;
  case dataflow::Arithmetic::F32:
    tile.store(allSteps(tile, tile.begin()));
    return;
  }
}

// Loads entry `number` of a list of addresses, which changes from tile to tile.
static Value listed(VectorCode &code, Value list, Value number) {
  Value place = code.bytesAt(list, code.multiply(number, sizeof(void *)));
  return LLVM::LoadOp::create(code.builder, code.location, code.pointer, place, sizeof(void *));
}

// Tiles of integers have long code, so tiles that are not full have only one variant that
// prefetches.
static int64_t linesAsked(const PanelLayout &layout, int64_t rows, TileAsks asks) {
  const bool isFull = rows == layout.tileRows;
  switch (asks) {
  case TileAsks::Nothing:
    return 0;
  case TileAsks::Share:
    return layout.arithmetic == dataflow::Arithmetic::Integers && !isFull
               ? layout.linesAskedAlone(rows)
               : layout.linesAsked();
  case TileAsks::Alone:
    return layout.linesAskedAlone(rows);
  }
}

// Returns the part of a tile function's name that says what it prefetches.
static StringRef askingName(const PanelLayout &layout, int64_t lines) {
  return lines == 0 ? "unasked_" : lines == layout.linesAsked() ? "" : "asking_";
}

// Returns the tile function for a number of rows and of columns, those of a panel or of the last
// one in whole vectors. It is emitted once per module. Kernel names contain no slash.
static func::FuncOp tileFunction(VectorCode &code, const PanelLayout &layout, func::FuncOp kernel,
                                 int64_t rowCount, int64_t width, TileKind kind) {
  assert((!kind.adds || layout.arithmetic == dataflow::Arithmetic::F32) &&
         "others only write sums");
  auto module = kernel->getParentOfType<ModuleOp>();
  const int64_t lines = linesAsked(layout, rowCount, kind.asks);
  std::string name =
      ("tile/contract_" + Twine(kind.isListed ? "listed_" : "") +
       Twine(kind.adds ? "adding_" : "") + askingName(layout, lines) + Twine(rowCount) + "x" +
       Twine(width) + layout.suffix() + "." + code.target.name)
          .str();
  if (auto existing = module.lookupSymbol<func::FuncOp>(name)) {
    return existing;
  }
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.setInsertionPointToStart(module.getBody());
  auto type = code.builder.getFunctionType(
      {code.pointer, code.i64, code.pointer, code.i64, code.pointer, code.pointer, code.i64}, {});
  auto function = func::FuncOp::create(code.builder, kernel.getLoc(), name, type);
  function.setPrivate();
  Block &entry = *function.addEntryBlock();
  code.builder.setInsertionPointToStart(&entry);
  SmallVector<Value> rows;
  for (int64_t r = 0; r < rowCount; ++r) {
    rows.push_back(kind.isListed ? listed(code, entry.getArgument(Rows), code.integer(r))
                                 : code.at(entry.getArgument(Rows),
                                           code.multiply(entry.getArgument(Stride), r)));
  }
  int64_t vectors = code.target.tileVectors, columns = vectors * code.lanes;
  for (int64_t column = 0; column < width; column += columns) {
    const int64_t own = std::min(vectors, (width - column) / code.lanes);
    emitTile({code, layout, entry, rows, column, own, lines, kind.adds});
  }
  func::ReturnOp::create(code.builder, kernel.getLoc());
  return function;
}

void callTile(VectorCode &code, const PanelLayout &layout, func::FuncOp kernel, Value count,
              int64_t width, TileKind kind, ValueRange arguments) {
  int64_t most = layout.tileRows;
  if (most == 1 || layout.isOnAmx) {
    func::CallOp::create(code.builder, code.location,
                         tileFunction(code, layout, kernel, most, width, kind), arguments);
    return;
  }
  SmallVector<int64_t> cases;
  SmallVector<func::FuncOp> tiles;
  for (int64_t rows = 1; rows <= most; ++rows) {
    tiles.push_back(tileFunction(code, layout, kernel, rows, width, kind));
    if (rows < most) {
      cases.push_back(rows);
    }
  }
  Value index =
      arith::IndexCastOp::create(code.builder, code.location, code.builder.getIndexType(), count);
  auto choose = scf::IndexSwitchOp::create(code.builder, code.location, TypeRange(), index, cases,
                                           cases.size());
  auto fill = [&](Region &region, func::FuncOp tile) {
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.createBlock(&region);
    func::CallOp::create(code.builder, code.location, tile, arguments);
    scf::YieldOp::create(code.builder, code.location);
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    fill(choose.getCaseRegions()[i], tiles[i]);
  }
  fill(choose.getDefaultRegion(), tiles.back());
}

} // namespace heddle
