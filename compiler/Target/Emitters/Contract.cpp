// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products with packed weights: rows [m, k] times panels [n / c][k][c], c the target's
/// panelColumns. With groups, every panel belongs to one of them, and reads and writes its columns;
/// where rows have chosen groups, those of one are computed together, in place.
///
/// The inner loop is a register tile (ContractTile.cpp). It leaves its sums in a small block of the
/// frame, which stays in the first-level cache, and the epilogue runs over that block on its way to
/// the only store of the result.
///
/// What decides speed beside the tile is where weights come from. They are read once for a block of
/// rows, and each tile asks for its share of the panel that comes next, so that a pass over few
/// rows runs at the speed of the products and not at the latency of memory (docs/performance.md).
#include "compiler/Target/Emitters/ContractAmx.h"
#include "compiler/Target/Emitters/ContractRows.h"
#include "compiler/Target/Emitters/ContractTile.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Emitters/Windows.h"
#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;

namespace heddle {

// How far ahead of its loads a tile asks that is alone on its panel: what memory delivers in about
// a quarter of a microsecond.
static constexpr int64_t kBytesAhead = 8192;
// Weights that a last-level cache may be assumed to keep from one step of a loop to the next.
static constexpr int64_t kLastLevelBytes = int64_t(16) << 20;
// The least k of tiles that ask for the rows of their epilogue: measured, from there on products
// whose rows no cache has are up to an eighth faster, and others as fast as without. A tile of 64
// steps is over before they come, and the requests are in the way of its own loads.
static constexpr int64_t kLongTile = 256;

namespace {
/// The numbers of a product, and which rows it is of.
struct Product {
  int64_t n, k, groups;
  /// The rows in the order in which the product goes over them; null: one after the other.
  Value order = {};
  /// How many rows of the result read the same row.
  int64_t parts = 1;
  /// The rows of the result, for an order, and room for the addresses of a tile's rows.
  Value rowCount = {}, list = {};
  /// Room for a panel in f32; null where weights are not unpacked.
  Value unpacked = {};
  /// What is multiplied and, unless that is f32, how rows lie for it.
  dataflow::Arithmetic arithmetic = dataflow::Arithmetic::F32;
  const PreparedRows *prepared = nullptr;
  /// The group of all rows, and its bias; null where panels say what group they are of, and where
  /// there is none.
  Value group = {}, bias = {};
  /// Whether a step before read the same weights, so that a cache has them, and whether panels are
  /// taken from the last to the first; null where there are no steps.
  Value readsAgain = {}, isBackward = {};

  /// The row at a place of the order.
  Value rowAt(VectorCode &code, Value place) const {
    if (!order) {
      return place;
    }
    return arith::MinUIOp::create(code.builder, code.location, code.loadIndex(order, place),
                                  code.subtract(rowCount, 1));
  }
};

/// The result of a product, and the epilogue on the way to it.
struct Destination {
  KernelResult result;
  const Epilogue &epilogue;
  const Product &product;
};

/// A panel: the first columns of input and result that it reads and writes, and its number among
/// those of its group.
struct Panel {
  Value weights;
  Value inputColumn;
  Value resultColumn;
  Value number;
};
} // namespace

static PanelLayout layoutOf(const VectorCode &code, const KernelBody &body,
                            const Product &product) {
  return PanelLayout::of(code, body.kernel.getOperandBuffer(1).getElementType(), product.k,
                         product.arithmetic);
}

static Panel panelAt(VectorCode &code, const KernelBody &body, const Product &product,
                     Value index) {
  Value group = code.integer(0), number = index;
  int64_t groupPanels = llvm::divideCeilSigned(product.n, code.target.panelColumns);
  if (product.group) {
    index = code.add(code.multiply(product.group, groupPanels), index);
  } else if (product.groups > 1) {
    group = code.divide(index, groupPanels);
    number = code.remainder(index, groupPanels);
  }
  Value weights = body.operand(code, 1);
  int64_t bytes = layoutOf(code, body, product).panelBytes(product.k);
  const int64_t inputColumns = product.prepared ? product.prepared->groupElements() : product.k;
  return {
      code.bytesAt(weights, code.multiply(index, bytes)), code.multiply(group, inputColumns),
      code.add(code.multiply(group, product.n), code.multiply(number, code.target.panelColumns)),
      number};
}

// Takes `rows` rows of sums of one panel, from number `first` of the tile on, through the epilogue;
// `width` columns of it count. All vectors are loaded before any is stored, so that their chains of
// maths can run side by side.
static void storeRows(VectorCode &code, const Destination &to, Value sums, Value row, Value first,
                      int64_t rows, Value column, int64_t width) {
  SmallVector<std::tuple<Value, Value, int64_t>> results;
  for (int64_t r = 0; r < rows; ++r) {
    Value number = code.add(first, r), line = to.product.rowAt(code, code.add(row, number));
    Value from = code.at(sums, code.multiply(number, code.target.panelColumns));
    for (int64_t v = 0; v * code.lanes < width; ++v) {
      int64_t valid = code.validLanes(v, width);
      Value at = code.add(column, v * code.lanes);
      Value value = code.loadVector(code.at(from, v * code.lanes));
      if (to.product.bias) {
        value = code.addFloat(value, code.loadVector(code.at(to.product.bias, at), valid));
      }
      value = to.epilogue.apply(code, value, line, at, valid);
      results.push_back({value, to.result.at(code, line, at), valid});
    }
  }
  for (auto [value, place, valid] : results) {
    code.storeVector(value, place, valid);
  }
}

// Asks for what the epilogue of `count` rows will read and write, so that it comes while the tile
// computes.
static void prefetchRows(VectorCode &code, const Destination &to, Value row, Value count,
                         Value column, int64_t width) {
  code.loop(code.integer(0), count, 1, [&](Value number) {
    Value line = to.product.rowAt(code, code.add(row, number));
    to.epilogue.prefetch(code, line, column, width);
    code.prefetchLines(to.result.at(code, line, column), width);
  });
}

// Takes `count` rows of sums of one panel through the epilogue.
static void storePanel(VectorCode &code, const Destination &to, Value sums, Value row, Value count,
                       Value column, int64_t width) {
  // As many rows together as there are registers for: six vectors of sixteen lanes.
  int64_t together = std::max<int64_t>(1, 6 * code.lanes / code.target.panelColumns);
  Value whole = code.multiply(code.divide(count, together), together);
  code.loop(code.integer(0), whole, together,
            [&](Value first) { storeRows(code, to, sums, row, first, together, column, width); });
  if (together > 1) {
    code.loop(whole, count, 1,
              [&](Value first) { storeRows(code, to, sums, row, first, 1, column, width); });
  }
}

namespace {
/// A range cut into parts of about the same size, of which the first may have one more. A step of a
/// small model has a dozen products of one row, so divisions are done once for all parts.
struct EvenParts {
  Value count, size, larger;

  static EvenParts of(VectorCode &code, Value total, Value count) {
    Value size = code.divide(total, count);
    return {count, size, code.subtract(total, code.multiply(size, count))};
  }
  /// Where a part begins.
  Value begin(VectorCode &code, Value part) const {
    return code.add(code.multiply(part, size), code.smaller(part, larger));
  }
};

/// The tiles of a block of rows, and what of the next panel each of them asks for.
struct Tiles {
  Value firstRow;
  EvenParts rows;
  Value stride; // bytes for every step of k
  Value share;  // bytes for a tile

  static Tiles of(VectorCode &code, const KernelBody &body, const Product &product, Value first,
                  Value last);
};
} // namespace

Tiles Tiles::of(VectorCode &code, const KernelBody &body, const Product &product, Value first,
                Value last) {
  const PanelLayout layout = layoutOf(code, body, product);
  Value rows = code.subtract(last, first), tiles = code.divideUp(rows, layout.tileRows);
  // The tiles ask for the next panel between them, each for as few new lines at a time as will do:
  // a request to far memory holds a buffer that the tile's own loads need. A tile always asks for
  // linesAsked() lines; where fewer are new, the others are on their way or in the cache
  // already.
  const PanelLayout read = product.unpacked ? layout.unpacked(code) : layout;
  Value everyTile = code.divideUp(code.integer(layout.linesRead()), tiles);
  Value lines = code.smaller(everyTile, code.integer(read.linesAsked()));
  const int64_t unroll = read.unroll();
  return {first, EvenParts::of(code, rows, tiles), code.multiply(lines, kLineBytes / unroll),
          code.multiply(lines, product.k / unroll * kLineBytes)};
}

// Lists where the rows are that those from a place of the order on read.
static void listRows(VectorCode &code, const Product &product, const ProductRows &rows, Value place,
                     Value count) {
  code.loop(code.integer(0), count, 1, [&](Value number) {
    Value row = code.divide(product.rowAt(code, code.add(place, number)), product.parts);
    LLVM::StoreOp::create(
        code.builder, code.location, code.at(rows.memory, code.multiply(row, rows.elements)),
        code.bytesAt(product.list, code.multiply(number, sizeof(void *))), sizeof(void *));
  });
}

// Computes the sums of a tile; one that is alone asks for what itself will read, unless a cache has
// the panel.
static void callTiles(VectorCode &code, const KernelBody &body, const Product &product,
                      const PanelLayout &layout, Value isAlone, Value count, int64_t width,
                      ValueRange arguments) {
  auto call = [&](TileAsks asks) {
    callTile(code, layout, body.function, count, width,
             {/*isListed=*/static_cast<bool>(product.order), asks}, arguments);
  };
  auto alone = [&] {
    if (!product.readsAgain) {
      call(TileAsks::Alone);
      return;
    }
    code.when(product.readsAgain, [&] { call(TileAsks::Nothing); }, [&] { call(TileAsks::Alone); });
  };
  code.when(isAlone, alone, [&] { call(TileAsks::Share); });
}

// All tiles of one panel: the rows are divided evenly, so that no tile is a small remainder.
static void emitPanel(VectorCode &code, const KernelBody &body, const ProductRows &rows,
                      const Destination &to, Value sums, const Tiles &tiles, Value index) {
  const Product &product = to.product;
  const PanelLayout layout = layoutOf(code, body, product);
  int64_t k = product.k, panelBytes = layout.panelBytes(k);
  Panel panel = panelAt(code, body, product, index);
  Value next = code.bytesAt(panel.weights, code.integer(panelBytes));
  // A tile alone passes over its panel at the speed of memory: it asks for what itself will read,
  // and multiplies codes with scales on their way. Several tiles would do so again and again.
  Value isAlone = code.less(tiles.rows.count, code.integer(2));
  if (product.unpacked) {
    code.when(
        isAlone, [] {}, [&] { unpackPanel(code, layout, k, panel.weights, product.unpacked); });
  }
  code.loop(code.integer(0), tiles.rows.count, 1, [&](Value tile) {
    Value begin = tiles.rows.begin(code, tile), end = tiles.rows.begin(code, code.add(tile, 1));
    Value row = code.add(tiles.firstRow, begin), rowCount = code.subtract(end, begin);
    // Tiles that come when all of it was asked for ask for one place again, which costs nothing.
    Value asked = code.multiply(tile, tiles.share);
    Value asks = code.less(asked, code.integer(panelBytes));
    Value ahead = code.select(asks, code.bytesAt(next, asked), panel.weights);
    Value step = code.select(asks, tiles.stride, code.integer(0));
    ahead = code.select(isAlone, code.bytesAt(panel.weights, code.integer(kBytesAhead)), ahead);
    step = code.select(isAlone, code.integer(llvm::divideCeilSigned(panelBytes, k)), step);
    Value from = product.list;
    if (product.order) {
      listRows(code, product, rows, row, rowCount);
    } else {
      Value inMemory = code.multiply(code.subtract(row, rows.first), rows.elements);
      from = code.at(rows.memory, code.add(inMemory, panel.inputColumn));
    }
    auto multiply = [&](const PanelLayout &layout, Value weights, int64_t width) {
      int64_t vectors = llvm::divideCeilSigned(width, code.lanes);
      callTiles(code, body, product, layout, isAlone, rowCount, vectors * code.lanes,
                {from, rows.elements, weights, code.integer(k), sums, ahead, step});
    };
    auto computeColumns = [&](int64_t width) {
      if (k >= kLongTile) {
        prefetchRows(code, to, row, rowCount, panel.resultColumn, width);
      }
      if (product.unpacked) {
        code.when(
            isAlone, [&] { multiply(layout, panel.weights, width); },
            [&] { multiply(layout.unpacked(code), product.unpacked, width); });
      } else {
        multiply(layout, panel.weights, width);
      }
      storePanel(code, to, sums, row, rowCount, panel.resultColumn, width);
    };
    int64_t tail = product.n % code.target.panelColumns;
    if (tail == 0) {
      computeColumns(code.target.panelColumns);
      return;
    }
    Value whole = code.less(panel.number, code.integer(product.n / code.target.panelColumns));
    code.when(
        whole, [&] { computeColumns(code.target.panelColumns); }, [&] { computeColumns(tail); });
  });
}

// All panels of the call for the rows [begin, end), block by block: at most `most` tiles in each.
// `rowsOf` gives what the rows [first, last) of a block are multiplied from.
static void emitBlocks(VectorCode &code, const KernelBody &body, const Destination &to, Value sums,
                       Value begin, Value end, int64_t most,
                       llvm::function_ref<ProductRows(Value first, Value last)> rowsOf) {
  const KernelArguments &arguments = body.arguments;
  // Blocks are whole tiles of about the same number.
  int64_t tile = layoutOf(code, body, to.product).tileRows;
  Value rows = code.subtract(end, begin);
  Value tiles = code.divideUp(rows, tile), blocks = code.divideUp(tiles, most);
  code.loop(code.integer(0), blocks, 1, [&](Value block) {
    EvenParts parts = EvenParts::of(code, tiles, blocks);
    auto edge = [&](Value number) {
      Value rowsBefore = code.multiply(parts.begin(code, number), tile);
      return code.smaller(code.add(begin, rowsBefore), end);
    };
    Value first = edge(block), last = edge(code.add(block, 1));
    ProductRows rowsOfBlock = rowsOf(first, last);
    Tiles tilesOfBlock = Tiles::of(code, body, to.product, first, last);
    code.loop(arguments.columnBegin, arguments.columnEnd, 1, [&](Value panel) {
      if (to.product.isBackward) {
        Value last = code.subtract(code.add(arguments.columnBegin, arguments.columnEnd), 1);
        panel = code.select(to.product.isBackward, code.subtract(last, panel), panel);
      }
      emitPanel(code, body, rowsOfBlock, to, sums, tilesOfBlock, panel);
    });
  });
}

// Half of the second-level cache holds a block of rows while the weights stream past it.
static int64_t tilesInCache(VectorCode &code, const Product &product) {
  int64_t tiles = code.target.cacheBytes / 2 / (product.k * 4) / code.target.tileRows;
  return std::max<int64_t>(tiles, 2);
}

// A panel in f32 has at most so many columns, those of the table of targets; wider ones, which
// somebody has asked for, are not unpacked.
static constexpr int64_t kUnpackedColumns = 48;

uint64_t unpackedPanelBytes(dataflow::KernelOp kernel) {
  uint64_t bytes = 0;
  auto inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (input.role != dataflow::KernelInput::Role::Matrix ||
        input.arithmetic != dataflow::Arithmetic::F32) {
      continue;
    }
    dataflow::BufferType matrix = kernel.getOperandBuffer(index);
    if (isa<heddle::transformer::QuantizedType>(matrix.getElementType())) {
      bytes = std::max(bytes, matrix.getWidth() * kUnpackedColumns * sizeof(float));
    }
  }
  return bytes;
}

// The room for a panel behind the scratch of the family.
static Value unpackedPanel(VectorCode &code, const KernelBody &body, uint64_t ofFamily) {
  if (unpackedPanelBytes(body.kernel) == 0 || code.target.panelColumns > kUnpackedColumns) {
    return {};
  }
  auto offset = static_cast<int64_t>(llvm::alignTo(ofFamily, HEDDLE_ALIGNMENT));
  return code.bytesAt(body.arguments.scratch(code), code.integer(offset));
}

// The rows of the first operand.
static ProductRows operandRows(VectorCode &code, const KernelBody &body) {
  const int64_t elements = body.kernel.getOperandBuffer(0).getRowElements();
  return {body.operand(code, 0), code.integer(elements), code.integer(0)};
}

// Tells a product that every step of a loop does where its weights come from: after the first step
// from the last-level cache, if that is large enough. A tile alone on its panel is faster there by
// a tenth if it asks for nothing. Panels taken backwards at every second step begin with what the
// second level still has; steps are told apart as if all had as many rows.
static void findWeights(VectorCode &code, const KernelBody &body, Product &product) {
  int64_t panels = product.groups * llvm::divideCeilSigned(product.n, code.target.panelColumns);
  const PanelLayout layout = layoutOf(code, body, product);
  int64_t bytes = panels * layout.panelBytes(product.k);
  if (!body.kernel.getRows().isOfSteps() || bytes > kLastLevelBytes) {
    return;
  }
  Value begin = body.arguments.rowBegin, one = code.integer(1);
  Value rows = code.subtract(body.arguments.rowEnd, begin);
  Value step = code.divide(begin, code.select(code.less(rows, one), one, rows));
  product.readsAgain = code.less(code.integer(0), begin);
  product.isBackward = code.both(code.less(rows, code.integer(layout.tileRows + 1)),
                                 code.equal(code.remainder(step, 2), one));
}

// What a product keeps of a block of rows, of which the second-level cache of every target holds
// twice as much; and the most rows that a tile of any target has.
static constexpr int64_t kKeptBytes = 512 * 1024;
static constexpr int64_t kMostTileRows = 16;

// Room for blocks of rows of so many bytes, at least two tiles; and the tiles that it has room for.
static KernelScratch scratchOfBlock(int64_t rowBytes) {
  return {.fixed = static_cast<uint64_t>(std::max(kKeptBytes, 2 * kMostTileRows * rowBytes))};
}
static int64_t tilesOfBlock(int64_t tileRows, int64_t rowBytes) {
  assert(tileRows <= kMostTileRows && "scratch has room for two tiles");
  return std::max<int64_t>(kKeptBytes / rowBytes / tileRows, 2);
}

template <> KernelScratch scratchOf(dataflow::ContractAttr computes) {
  if (computes.getArithmetic() == dataflow::Arithmetic::F32) {
    return {};
  }
  return scratchOfBlock(PreparedRows::mostBytes(computes));
}

// A product of rows that are prepared block by block.
static void emitPrepared(VectorCode &code, const KernelBody &body, const Destination &to,
                         const PreparedRows &prepared, Value sums) {
  const ProductRows from = operandRows(code, body);
  Value scratch = body.arguments.scratch(code);
  const int64_t rowBytes = prepared.rowBytes();
  emitBlocks(code, body, to, sums, body.arguments.rowBegin, body.arguments.rowEnd,
             tilesOfBlock(layoutOf(code, body, to.product).tileRows, rowBytes),
             [&](Value first, Value last) {
               code.loop(first, last, 1, [&](Value row) {
                 Value place = code.multiply(code.subtract(row, first), rowBytes);
                 prepared.emitRow(code, code.at(from.memory, code.multiply(row, from.elements)),
                                  code.bytesAt(scratch, place));
               });
               return ProductRows{scratch, code.integer(rowBytes / int64_t(sizeof(float))), first};
             });
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::ContractAttr computes) {
  Epilogue epilogue(code, body);
  Product product{computes.getN(), computes.getK(), computes.getGroups()};
  const std::unique_ptr<PreparedRows> prepared =
      PreparedRows::of(code, body.kernel.getOperandBuffer(1), computes);
  product.arithmetic = computes.getArithmetic();
  product.prepared = prepared.get();
  if (!prepared) {
    product.unpacked = unpackedPanel(code, body, scratchOf(computes).fixed);
  }
  findWeights(code, body, product);
  Destination to{KernelResult::load(code, body.arguments), epilogue, product};
  const PanelLayout layout = layoutOf(code, body, product);
  Value sums = code.frame(body.function, layout.tileRows * code.target.panelColumns);
  if (layout.isOnAmx) {
    enterAmx(code, body.function, layout, product.k);
  }
  if (prepared) {
    emitPrepared(code, body, to, *prepared, sums);
    if (layout.isOnAmx) {
      leaveAmx(code);
    }
    return;
  }
  ProductRows rows = operandRows(code, body);
  const SpreadRows spread = SpreadRows::of(code, body, computes);
  emitBlocks(code, body, to, sums, body.arguments.rowBegin, body.arguments.rowEnd,
             tilesInCache(code, product),
             [&](Value first, Value last) { return spread.rowsOf(code, rows, first, last); });
}

template <> KernelScratch scratchOf(dataflow::ContractSlideAttr computes) {
  return scratchOfBlock(computes.getInner() * int64_t(sizeof(float)));
}

// The convolution over a line that a slide is, which goes over several rows at once.
static std::optional<dataflow::ConvolveAttr> overLine(dataflow::SlideAttr slide) {
  heddle::transformer::WindowAttr window = slide.getWindow();
  if (slide.getKind() != dataflow::SlideKind::Depthwise || !window.isOfConvolve()) {
    return std::nullopt;
  }
  return dataflow::ConvolveAttr::get(slide.getContext(), slide.getWidth(), window.getHeight(),
                                     window.getDilationDown(), window.getCausal(),
                                     slide.getResumes());
}

template <>
void emit(VectorCode &code, const KernelBody &body, dataflow::ContractSlideAttr computes) {
  Epilogue epilogue(code, body);
  Product product{computes.getN(), computes.getK(), computes.getGroups()};
  product.unpacked = unpackedPanel(code, body, scratchOf(computes).fixed);
  Destination to{KernelResult::load(code, body.arguments), epilogue, product};
  Value sums = code.frame(body.function, code.target.tileRows * code.target.panelColumns);
  int64_t inner = computes.getInner();
  int64_t most = tilesOfBlock(code.target.tileRows, inner * int64_t(sizeof(float)));
  constexpr unsigned weights = 2;
  SlideSource source(code, body, computes.getSlide(), weights);
  Value seen = body.arguments.scratch(code);
  auto rowsOf = [&](Value first, Value last) {
    auto rowOf = [&](Value row) {
      return code.at(seen, code.multiply(code.subtract(row, first), inner));
    };
    if (std::optional<dataflow::ConvolveAttr> convolve = overLine(computes.getSlide())) {
      ConvolvedRows rows{*convolve, first, last, weights, computes.getSlide().getRectifies()};
      emitConvolution(code, body, rows, [&](Value value, Value row, Value column, int64_t valid) {
        code.storeVector(value, code.at(rowOf(row), column), valid);
      });
      return ProductRows{seen, code.integer(inner), first};
    }
    code.loop(first, last, 1, [&](Value row) {
      Value to = rowOf(row);
      source.emitRow(row, [&](Value value, Value column, int64_t valid) {
        code.storeVector(value, code.at(to, column), valid);
      });
    });
    return ProductRows{seen, code.integer(inner), first};
  };
  emitBlocks(code, body, to, sums, body.arguments.rowBegin, body.arguments.rowEnd, most, rowsOf);
}

template <> KernelScratch scratchOf(dataflow::ContractChosenAttr) { return {}; }

// The first place after `begin`, before `end`, whose row has chosen another group; `end` if none.
static Value endOfGroup(VectorCode &code, Value begin, Value end, Value group,
                        llvm::function_ref<Value(Value place)> groupAt) {
  auto op = scf::WhileOp::create(code.builder, code.location, TypeRange{code.i64},
                                 ValueRange{code.add(begin, 1)});
  OpBuilder::InsertionGuard guard(code.builder);
  Block *before = code.builder.createBlock(&op.getBefore(), {}, {code.i64}, {code.location});
  Value place = before->getArgument(0);
  // There is a place to read, whatever the first condition says.
  Value goesOn = code.both(code.less(place, end),
                           code.equal(groupAt(code.smaller(place, code.subtract(end, 1))), group));
  scf::ConditionOp::create(code.builder, code.location, goesOn, before->getArguments());
  Block *after = code.builder.createBlock(&op.getAfter(), {}, {code.i64}, {code.location});
  scf::YieldOp::create(code.builder, code.location, ValueRange{code.add(after->getArgument(0), 1)});
  return op.getResult(0);
}

template <>
void emit(VectorCode &code, const KernelBody &body, dataflow::ContractChosenAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Epilogue epilogue(code, body);
  Product product{computes.getN(), computes.getK(), computes.getGroups()};
  product.unpacked = unpackedPanel(code, body, scratchOf(computes).fixed);
  Destination to{KernelResult::load(code, arguments), epilogue, product};
  Value sums = code.frame(body.function, code.target.tileRows * code.target.panelColumns);
  // An address is as wide as two elements.
  product.list = code.frame(body.function, 2 * code.target.tileRows);
  product.order = body.operand(code, 3);
  product.rowCount = body.rows(code).count(code);
  bool isOwnRow = *body.kernel.getOperandBuffer(0).getRowSpace() == body.kernel.getRows();
  product.parts = isOwnRow ? 1 : body.kernel.getRows().parts();
  Value chosen = body.operand(code, 2);
  ProductRows rows = operandRows(code, body);
  auto groupAt = [&](Value place) {
    return chosenNumber(code, chosen, product.rowAt(code, place), computes.getGroups());
  };
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value begin) {
    product.group = groupAt(begin);
    if (computes.getBiased()) {
      product.bias = code.at(body.operand(code, 4), code.multiply(product.group, computes.getN()));
    }
    Value end = endOfGroup(code, begin, arguments.rowEnd, product.group, groupAt);
    emitBlocks(code, body, to, sums, begin, end, tilesInCache(code, product),
               [&](Value, Value) { return rows; });
    return end;
  });
}

} // namespace heddle
