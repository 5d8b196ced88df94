// SPDX-License-Identifier: Apache-2.0
///
/// The inner loop of matrix products: a register tile of rows x vectors with the whole of k in one
/// loop, so that every element's sum runs in the order of k whatever the number of rows: same row,
/// same bits. Weights in another type than f32 are widened on their way into registers, once for
/// all rows of the tile; quantised ones are multiplied with their scales there, so that sums are
/// those of f32 arithmetic on the weights that codes and scales stand for.
#include "compiler/Target/Cpu/Emitters/ContractTile.h"

#include "compiler/Target/Cpu/Emitters/ContractBf16.h"
#include "compiler/Target/Cpu/Emitters/ContractIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace heddle {

PanelLayout PanelLayout::of(const VectorCode &code, Type type, int64_t k,
                            dataflow::Arithmetic arithmetic) {
  auto quantized = dyn_cast<transformer::QuantizedType>(type);
  Type element = quantized ? quantized.getCodes() : type;
  const int64_t columns = code.target.panelColumns;
  const int64_t rowBytes = columns * element.getIntOrFloatBitWidth() / 8;
  if (!quantized) {
    return {element, rowBytes, arithmetic, /*group=*/0, /*headBytes=*/0};
  }
  const int64_t group = quantized.getScalesOf(k) == 1 ? allSteps : quantized.getGroupOf(k);
  const bool hasSums = arithmetic == dataflow::Arithmetic::Integers;
  return {element, rowBytes, arithmetic, group, (hasSums ? 2 : 1) * columns * kScaleBytes};
}

int64_t PanelLayout::panelBytes(int64_t k) const {
  const auto steps = static_cast<int64_t>(llvm::alignTo(k, together()));
  if (group == 0) {
    return steps * rowBytes;
  }
  const int64_t heads = group == allSteps ? 1 : llvm::divideCeilSigned(k, group);
  return heads * headBytes + steps * rowBytes;
}

int64_t PanelLayout::linesRead() const { return unroll() * rowBytes / kLineBytes; }

std::string PanelLayout::suffix() const {
  if (element.isF32()) {
    return "";
  }
  std::string text = "_" + std::string(infoOf(elementTypeOf(element)).name);
  if (arithmetic != dataflow::Arithmetic::F32) {
    text += ("_by" + Twine(together())).str();
  }
  return group > 0 ? text + "of" + std::to_string(group) : text;
}

void unpackPanel(VectorCode &code, const PanelLayout &layout, int64_t k, Value from, Value to) {
  const int64_t columns = code.target.panelColumns;
  const int64_t steps = layout.group == PanelLayout::allSteps ? k : layout.group;
  const int64_t groupBytes = layout.headBytes + steps * layout.rowBytes;
  code.loop(code.integer(0), code.integer(k), steps, [&](Value begin) {
    Value group = code.bytesAt(from, code.multiply(code.divide(begin, steps), groupBytes));
    Value codes = code.bytesAt(group, code.integer(layout.headBytes));
    SmallVector<Value> scales;
    for (int64_t column = 0; column < columns; column += code.lanes) {
      scales.push_back(code.loadVector(code.at(group, column)));
    }
    Value end = code.smaller(code.add(begin, steps), code.integer(k));
    code.loop(begin, end, 1, [&](Value i) {
      Value row = code.multiply(code.subtract(i, begin), columns);
      for (auto [v, scale] : llvm::enumerate(scales)) {
        Value place = code.integer(static_cast<int64_t>(v) * code.lanes);
        Value stored = code.storedAt(codes, code.add(row, place), layout.element);
        Value weights = code.multiplyFloat(code.loadStored(stored, layout.element), scale);
        code.storeVector(weights, code.at(to, code.add(code.multiply(i, columns), place)));
      }
    });
  });
}

// --- what all tiles share ----------------------------------------------------------------------

SmallVector<Value> TileColumns::steps(Value begin, Value end, ValueRange sums, Step step) const {
  Value ahead = entry.getArgument(Ahead), stride = entry.getArgument(TileArgument::Step);
  const int64_t unroll = layout.unroll(), together = layout.together();
  Value count = code.subtract(end, begin);
  Value whole = code.add(begin, code.multiply(code.divide(count, unroll), unroll));
  SmallVector<Value> next = code.loop(begin, whole, unroll, sums, [&](Value i, ValueRange carried) {
    if (first == 0 && asks) {
      Value line = code.bytesAt(ahead, code.multiply(i, stride));
      for (int64_t p = 0; p < layout.linesAsked(); ++p) {
        code.prefetch(code.bytesAt(line, code.integer(p * kLineBytes)));
      }
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

void TileColumns::store(ValueRange sums) const {
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    code.storeVector(sums[i], sumAt(number / vectors, number % vectors));
  }
}

// --- tiles that multiply f32 -------------------------------------------------------------------

// One step of k: a vector of weights per column group, times its scale if there are scales, times
// one element of every row.
static SmallVector<Value> step(const TileColumns &tile, ArrayRef<Value> scales, Value weights,
                               Value inPanel, Value k, ValueRange sums) {
  VectorCode &code = tile.code;
  Type element = tile.layout.element;
  Value panelRow =
      code.storedAt(weights, code.multiply(inPanel, code.target.panelColumns), element);
  SmallVector<Value> loaded;
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Value place = code.integer(tile.first + v * code.lanes);
    Value stored = code.loadStored(code.storedAt(panelRow, place, element), element);
    loaded.push_back(scales.empty() ? stored : code.multiplyFloat(stored, scales[v]));
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

// The whole of k: of quantised weights group by group, the scales of each in registers.
static SmallVector<Value> allSteps(const TileColumns &tile, ValueRange sums) {
  VectorCode &code = tile.code;
  const PanelLayout &layout = tile.layout;
  Value weights = tile.entry.getArgument(Weights), k = tile.entry.getArgument(K);
  auto steps = [&](ArrayRef<Value> scales, Value from, Value begin, Value end, ValueRange sums) {
    return tile.steps(begin, end, sums, [&](Value inPanel, Value k, ValueRange sums) {
      return step(tile, scales, from, inPanel, k, sums);
    });
  };
  if (layout.group == 0) {
    return steps({}, weights, code.integer(0), k, sums);
  }
  auto ofGroup = [&](Value group, Value begin, Value end, ValueRange sums) {
    SmallVector<Value> scales;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      scales.push_back(code.loadVector(code.at(group, tile.first + v * code.lanes)));
    }
    Value codes = code.bytesAt(group, code.integer(layout.headBytes));
    return steps(scales, codes, begin, end, sums);
  };
  if (layout.group == PanelLayout::allSteps) {
    return ofGroup(weights, code.integer(0), k, sums);
  }
  return code.loop(code.integer(0), k, layout.group, sums, [&](Value begin, ValueRange carried) {
    int64_t groupBytes = layout.headBytes + layout.group * layout.rowBytes;
    Value number = code.divide(begin, layout.group);
    Value end = code.smaller(code.add(begin, layout.group), k);
    return ofGroup(code.bytesAt(weights, code.multiply(number, groupBytes)), begin, end, carried);
  });
}

// --- tile functions ----------------------------------------------------------------------------

static void emitTile(const TileColumns &tile) {
  switch (tile.layout.arithmetic) {
  case dataflow::Arithmetic::Integers:
    emitIntegerTile(tile);
    return;
  case dataflow::Arithmetic::Bf16:
    emitBf16Tile(tile);
    return;
  case dataflow::Arithmetic::F32:
    SmallVector<Value> sums(tile.rows.size() * tile.vectors, tile.code.splat(0));
    tile.store(allSteps(tile, sums));
    return;
  }
}

// Entry `number` of a list of addresses, which changes from tile to tile.
static Value listed(VectorCode &code, Value list, Value number) {
  Value place = code.bytesAt(list, code.multiply(number, sizeof(void *)));
  return LLVM::LoadOp::create(code.builder, code.location, code.pointer, place, sizeof(void *));
}

// The tile function for a number of rows and of columns, those of a panel or the whole vectors that
// hold those of a last one, written once in a module. No kernel's name has a slash.
static func::FuncOp tileFunction(VectorCode &code, const PanelLayout &layout, func::FuncOp kernel,
                                 int64_t rowCount, int64_t width, TileKind kind) {
  auto module = kernel->getParentOfType<ModuleOp>();
  std::string name = ("tile/contract_" + Twine(kind.isListed ? "listed_" : "") +
                      Twine(kind.asks ? "" : "cached_") + Twine(rowCount) + "x" + Twine(width) +
                      layout.suffix() + "." + code.target.name)
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
    emitTile({code, layout, entry, rows, column, own, kind.asks});
  }
  func::ReturnOp::create(code.builder, kernel.getLoc());
  return function;
}

void callTile(VectorCode &code, const PanelLayout &layout, func::FuncOp kernel, Value count,
              int64_t width, TileKind kind, ValueRange arguments) {
  int64_t most = code.target.tileRows;
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
