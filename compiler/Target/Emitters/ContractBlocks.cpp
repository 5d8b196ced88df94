// SPDX-License-Identifier: Apache-2.0
///
/// Tiles store their sums to a small block of the stack frame, which stays in the first-level
/// cache. The epilogue reads that block and stores the result, once.
///
/// Weights are read once for a block of rows, and each tile prefetches its share of the next panel,
/// so the time of a pass over few rows is that of its products and not memory latency
/// (docs/performance.md).
#include "compiler/Target/Emitters/ContractBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

// The smallest k for which tiles prefetch the rows of their epilogue. Measured: from there on,
// products whose rows are in no cache are up to an eighth faster, and others are as fast as
// without. A tile of 64 steps ends before the rows arrive, and the requests delay its own loads.
static constexpr int64_t kLongTile = 256;
// Bytes of weights of a strip, which fits in the first-level cache beside the part of the rows that
// tiles read.
static constexpr int64_t kStripBytes = int64_t(24) * 1024;
// The largest number of tiles that process a panel strip by strip. More tiles compute long enough
// for weights to arrive from the second level in time, and their sums do not stay in the first.
static constexpr int64_t kMostStripTiles = 6;

Value Product::rowAt(VectorCode &code, Value place) const {
  if (!order) {
    return place;
  }
  return chosenNumber(code, order, place, code.subtract(rowCount, 1));
}

PanelLayout layoutOf(const VectorCode &code, const KernelBody &body, const Product &product) {
  return PanelLayout::of(code.target, body.kernel.getOperandBuffer(1).getElementType(), product.k,
                         product.arithmetic);
}

namespace {
/// A panel: the first columns of input and result that it reads and writes, and its number within
/// its group.
struct Panel {
  Value weights;
  Value inputColumn;
  Value resultColumn;
  Value number;
};
} // namespace

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

// Applies the epilogue to `rows` rows of sums of one panel, from number `first` of the tile on, and
// stores `width` columns of them. All vectors are loaded before any is stored, so that their chains
// of operations overlap.
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

// Prefetches the memory that the epilogue of `count` rows will read and write, while the tile
// computes.
static void prefetchRows(VectorCode &code, const Destination &to, Value row, Value count,
                         Value column, int64_t width) {
  code.loop(code.integer(0), count, 1, [&](Value number) {
    Value line = to.product.rowAt(code, code.add(row, number));
    to.epilogue.prefetch(code, line, column, width);
    code.prefetchLines(to.result.at(code, line, column), width);
  });
}

// Applies the epilogue to `count` rows of sums of one panel.
static void storePanel(VectorCode &code, const Destination &to, Value sums, Value row, Value count,
                       Value column, int64_t width) {
  // As many rows at once as registers allow: six vectors of sixteen lanes.
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
/// A range split into parts of nearly equal size; the first parts may have one more element. A step
/// of a small model has a dozen products of one row, so divisions are done once for all parts.
struct EvenParts {
  Value count, size, larger;

  static EvenParts of(VectorCode &code, Value total, Value count) {
    Value size = code.divide(total, count);
    return {count, size, code.subtract(total, code.multiply(size, count))};
  }
  /// Returns where a part begins.
  Value begin(VectorCode &code, Value part) const {
    return code.add(code.multiply(part, size), code.smaller(part, larger));
  }
};

/// The tiles of a block of rows, and the part of the next panel that each of them prefetches.
struct Tiles {
  Value firstRow;
  EvenParts rows;
  Value stride; // bytes per step of k
  Value share;  // bytes per tile

  /// Returns the first row of a tile, and its number of rows.
  std::pair<Value, Value> at(VectorCode &code, Value tile) const {
    Value begin = rows.begin(code, tile), end = rows.begin(code, code.add(tile, 1));
    return {code.add(firstRow, begin), code.subtract(end, begin)};
  }
  static Tiles of(VectorCode &code, const KernelBody &body, const Product &product, Value first,
                  Value last);
};
} // namespace

Tiles Tiles::of(VectorCode &code, const KernelBody &body, const Product &product, Value first,
                Value last) {
  const PanelLayout layout = layoutOf(code, body, product);
  Value rows = code.subtract(last, first), tiles = code.divideUp(rows, layout.tileRows);
  // The tiles share the prefetching of the next panel, each with as few new lines per round as
  // suffice: a request to memory occupies a fill buffer that the tile's own loads need. A tile
  // always requests linesAsked() lines; if fewer are new, the others are in flight or cached
  // already.
  const PanelLayout read = product.unpacked ? layout.unpacked(code) : layout;
  Value everyTile = code.divideUp(code.integer(layout.linesRead()), tiles);
  Value lines = code.smaller(everyTile, code.integer(read.linesAsked()));
  const int64_t unroll = read.unroll();
  return {first, EvenParts::of(code, rows, tiles), code.multiply(lines, kLineBytes / unroll),
          code.multiply(lines, product.k / unroll * kLineBytes)};
}

// Returns the steps of k of a strip; 0 if panels are not split. Quantised weights are unpacked by
// panels, and rows in an order of their own need a list.
static int64_t stripSteps(const VectorCode &code, const PanelLayout &layout,
                          const Product &product) {
  const int64_t steps = kStripBytes / layout.rowBytes;
  const bool canAdd = product.arithmetic == dataflow::Arithmetic::F32 && layout.group == 0;
  return canAdd && !product.order && code.target.tileRows > 1 && product.k >= 2 * steps ? steps : 0;
}

Value frameOfSums(VectorCode &code, const KernelBody &body, const Product &product) {
  const PanelLayout layout = layoutOf(code, body, product);
  const bool hasStrips = stripSteps(code, layout, product) > 0;
  return code.frame(body.function,
                    (hasStrips ? kMostStripTiles : 1) * layout.tileRows * code.target.panelColumns);
}

// Stores the addresses of the operand rows for `count` places of the order, from `place` on.
static void listRows(VectorCode &code, const Product &product, const OperandRows &rows, Value place,
                     Value count) {
  code.loop(code.integer(0), count, 1, [&](Value number) {
    Value row = code.divide(product.rowAt(code, code.add(place, number)), product.parts);
    LLVM::StoreOp::create(
        code.builder, code.location, code.at(rows.memory, code.multiply(row, rows.elements)),
        code.bytesAt(product.list, code.multiply(number, sizeof(void *))), sizeof(void *));
  });
}

// Returns the address of a row's elements from a column on; the following rows come after it.
static Value rowsFrom(VectorCode &code, const OperandRows &rows, Value row, Value column) {
  Value inMemory = code.multiply(code.subtract(row, rows.first), rows.elements);
  return code.at(rows.memory, code.add(inMemory, column));
}

// Computes the sums of a tile. A tile that is alone prefetches its own panel, unless a cache has
// it.
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

// Calls `compute` with the number of valid columns of a panel: all, or fewer for the last panel of
// a group.
static void ofWidth(VectorCode &code, const Product &product, const Panel &panel,
                    llvm::function_ref<void(int64_t width)> compute) {
  int64_t tail = product.n % code.target.panelColumns;
  if (tail == 0) {
    compute(code.target.panelColumns);
    return;
  }
  Value whole = code.less(panel.number, code.integer(product.n / code.target.panelColumns));
  code.when(whole, [&] { compute(code.target.panelColumns); }, [&] { compute(tail); });
}

// Computes all tiles of one panel, one after another.
static void emitTiles(VectorCode &code, const KernelBody &body, const OperandRows &rows,
                      const Destination &to, Value sums, const Tiles &tiles, const Panel &panel) {
  const Product &product = to.product;
  const PanelLayout layout = layoutOf(code, body, product);
  int64_t k = product.k, panelBytes = layout.panelBytes(k);
  Value next = code.bytesAt(panel.weights, code.integer(panelBytes));
  // A single tile reads its panel at the speed of memory: it prefetches its own panel, and applies
  // scales to codes as it loads them. Several tiles would repeat that work.
  Value isAlone = code.less(tiles.rows.count, code.integer(2));
  if (product.unpacked) {
    code.when(
        isAlone, [] {}, [&] { unpackPanel(code, layout, k, panel.weights, product.unpacked); });
  }
  code.loop(code.integer(0), tiles.rows.count, 1, [&](Value tile) {
    auto [row, rowCount] = tiles.at(code, tile);
    // If all of the panel has been requested, later tiles request the same line again, which costs
    // nothing.
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
      from = rowsFrom(code, rows, row, panel.inputColumn);
    }
    auto multiply = [&](const PanelLayout &layout, Value weights, int64_t width) {
      int64_t vectors = llvm::divideCeilSigned(width, code.lanes);
      callTiles(code, body, product, layout, isAlone, rowCount, vectors * code.lanes,
                {from, rows.elements, weights, code.integer(k), sums, ahead, step});
    };
    ofWidth(code, product, panel, [&](int64_t width) {
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
    });
  });
}

// Computes a few tiles of one panel, strip by strip: each strip is read once from the second-level
// cache or from memory, and stays in the first level for all tiles. They prefetch the strip after
// the next.
static void emitStrips(VectorCode &code, const KernelBody &body, const OperandRows &rows,
                       const Destination &to, Value sums, const Tiles &tiles, const Panel &panel,
                       int64_t width) {
  const Product &product = to.product;
  const PanelLayout layout = layoutOf(code, body, product);
  const int64_t steps = stripSteps(code, layout, product), stripBytes = steps * layout.rowBytes;
  const int64_t ofTile = code.target.tileRows * code.target.panelColumns;
  auto overTiles =
      [&](llvm::function_ref<void(Value tile, Value row, Value count, Value sums)> each) {
        code.loop(code.integer(0), tiles.rows.count, 1, [&](Value tile) {
          auto [row, count] = tiles.at(code, tile);
          each(tile, row, count, code.at(sums, code.multiply(tile, ofTile)));
        });
      };
  overTiles([&](Value, Value row, Value count, Value) {
    prefetchRows(code, to, row, count, panel.resultColumn, width);
  });
  code.loop(code.integer(0), code.multiply(tiles.rows.count, ofTile), code.lanes,
            [&](Value element) { code.storeVector(code.splat(0), code.at(sums, element)); });
  Value share = code.multiply(tiles.stride, steps);
  code.loop(code.integer(0), code.integer(product.k), steps, [&](Value first) {
    Value weights = code.bytesAt(panel.weights, code.multiply(first, layout.rowBytes));
    Value count = code.smaller(code.subtract(code.integer(product.k), first), code.integer(steps));
    Value later = code.bytesAt(weights, code.integer(2 * stripBytes));
    overTiles([&](Value tile, Value row, Value rowCount, Value sums) {
      Value asked = code.multiply(tile, share);
      Value asks = code.less(asked, code.integer(stripBytes));
      Value ahead = code.select(asks, code.bytesAt(later, asked), weights);
      Value step = code.select(asks, tiles.stride, code.integer(0));
      Value from = rowsFrom(code, rows, row, code.add(panel.inputColumn, first));
      callTile(code, layout, body.function, rowCount, llvm::alignTo(width, code.lanes),
               {/*isListed=*/false, TileAsks::Share, /*adds=*/true},
               {from, rows.elements, weights, count, sums, ahead, step});
    });
  });
  overTiles([&](Value, Value row, Value count, Value sums) {
    storePanel(code, to, sums, row, count, panel.resultColumn, width);
  });
}

// Computes all tiles of one panel. Rows are divided evenly, so no tile is a small remainder.
static void emitPanel(VectorCode &code, const KernelBody &body, const OperandRows &rows,
                      const Destination &to, Value sums, const Tiles &tiles, Value index) {
  Panel panel = panelAt(code, body, to.product, index);
  auto byTile = [&] { emitTiles(code, body, rows, to, sums, tiles, panel); };
  if (stripSteps(code, layoutOf(code, body, to.product), to.product) == 0) {
    byTile();
    return;
  }
  Value areFew = code.both(code.less(code.integer(1), tiles.rows.count),
                           code.less(tiles.rows.count, code.integer(kMostStripTiles + 1)));
  auto byStrip = [&](int64_t width) {
    emitStrips(code, body, rows, to, sums, tiles, panel, width);
  };
  code.when(areFew, [&] { ofWidth(code, to.product, panel, byStrip); }, byTile);
}

void emitBlocks(VectorCode &code, const KernelBody &body, const Destination &to, Value sums,
                Value begin, Value end, int64_t most,
                llvm::function_ref<OperandRows(Value first, Value last)> rowsOf) {
  const KernelArguments &arguments = body.arguments;
  // Blocks have nearly equal numbers of whole tiles.
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
    OperandRows rowsOfBlock = rowsOf(first, last);
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

} // namespace heddle
