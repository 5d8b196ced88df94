// SPDX-License-Identifier: Apache-2.0
///
/// Depthwise convolutions over rows, channels along vectors. Several rows go together where all of
/// their neighbours are in the sequence: the elements of the kernel are written out, each vector of
/// weights is loaded once for all rows, each vector of the input once for all sums it is part of.
#include "compiler/Target/Cpu/Emitters/Emitters.h"

#include <map>

using namespace mlir;

namespace heddle {

namespace {
/// The kernel at one row: where its sequence lies and which of its rows it is.
struct Convolution {
  VectorCode &code;
  const KernelBody &body;
  dataflow::ConvolveAttr computes;
  Epilogue epilogue;
  KernelResult result;
  Value input, weights;
  std::optional<CacheFields> cache = {};
  int64_t stride = 0; // elements between rows of a buffer
  Value row = {}, firstRow = {}, endRow = {};
  Value own = {}, count = {}; // of the rows that the row sees: its number, and how many
  Value blocks = {};

  /// How far after the row the element j of the kernel reads.
  int64_t distanceOf(int64_t j) const {
    return (j - computes.getCenter()) * computes.getDilation();
  }
  /// Where row `number` of what the row sees begins.
  Value rowAt(Value number) {
    if (!cache) {
      return code.at(input, code.multiply(code.add(firstRow, number), stride));
    }
    Value block = cache->blockAt(code, blocks, number);
    return cacheElement(code, body.kernel.getOperandCache(0), block, number, code.integer(0));
  }
};
} // namespace

static void enterRow(Convolution &c, Value row) {
  VectorCode &code = c.code;
  RowFields rows = c.body.rows(code);
  Value offsets = rows.offsets(code);
  Value sequence = code.loadIndex(rows.sequenceOf(code), row);
  c.row = row;
  c.firstRow = code.loadIndex(offsets, sequence);
  c.endRow = code.loadIndex(offsets, code.add(sequence, 1));
  if (!c.cache) {
    c.own = code.subtract(row, c.firstRow);
    c.count = code.subtract(c.endRow, c.firstRow);
    return;
  }
  Value segment = code.loadIndex(c.cache->segmentOf, row);
  c.own = code.loadIndex(rows.positions(code), row);
  c.count = code.loadIndex(c.cache->lengths, segment);
  c.blocks = c.cache->blocksOf(code, segment);
}

/// Stores the sum of a vector of columns of a row.
static void storeSum(Convolution &c, Value sum, Value row, Value column, int64_t valid) {
  Value value = c.epilogue.apply(c.code, sum, row, column, valid);
  c.code.storeVector(value, c.result.at(c.code, row, column), valid);
}

/// Vectors of columns of one row, side by side, with the elements of the kernel from `first` on.
static void emitColumns(Convolution &c, Value first, Value end, Value column,
                        ArrayRef<int64_t> valid) {
  VectorCode &code = c.code;
  SmallVector<Value> sums(valid.size(), code.splat(0));
  sums = code.loop(first, end, 1, sums, [&](Value j, ValueRange carried) {
    Value distance = code.multiply(code.subtract(j, code.integer(c.computes.getCenter())),
                                   c.computes.getDilation());
    Value x = code.at(c.rowAt(code.add(c.own, distance)), column);
    Value weights = code.at(code.at(c.weights, code.multiply(j, c.computes.getWidth())), column);
    SmallVector<Value> next;
    for (auto [i, sum] : llvm::enumerate(carried)) {
      int64_t offset = static_cast<int64_t>(i) * code.lanes;
      next.push_back(code.fma(code.loadVector(code.at(weights, offset), valid[i]),
                              code.loadVector(code.at(x, offset), valid[i]), sum));
    }
    return next;
  });
  for (auto [i, sum] : llvm::enumerate(sums)) {
    storeSum(c, sum, c.row, code.add(column, static_cast<int64_t>(i) * code.lanes), valid[i]);
  }
}

/// One row, some of whose neighbours may be outside the sequence: they are left out. Its sums are
/// those of rows that go together, term by term.
static void emitRow(Convolution &c) {
  VectorCode &code = c.code;
  int64_t center = c.computes.getCenter(), dilation = c.computes.getDilation();
  int64_t width = c.computes.getWidth(), lanes = code.lanes;
  Value before = code.divide(c.own, dilation);
  Value after = code.divide(code.subtract(code.add(c.count, -1), c.own), dilation);
  Value first = code.larger(code.subtract(code.integer(center), before), code.integer(0));
  Value end = code.smaller(code.add(after, center + 1), code.integer(c.computes.getKernel()));
  // So many vectors that their additions overlap.
  constexpr int64_t unroll = 4;
  int64_t group = unroll * lanes, whole = width / group * group;
  code.loop(code.integer(0), code.integer(whole), group, [&](Value column) {
    emitColumns(c, first, end, column, SmallVector<int64_t>(unroll, lanes));
  });
  SmallVector<int64_t> rest;
  for (int64_t column = whole; column < width; column += lanes) {
    rest.push_back(std::min(lanes, width - column));
  }
  if (!rest.empty()) {
    emitColumns(c, first, end, code.integer(whole), rest);
  }
}

/// `rows` rows side by side, all of whose neighbours are in the sequence.
static void emitRows(Convolution &c, int64_t rows) {
  VectorCode &code = c.code;
  int64_t kernel = c.computes.getKernel();
  // What is read, by its distance after the row. Rows of a buffer lie at constant distances.
  std::map<int64_t, Value> starts;
  Value here = c.cache ? Value() : c.rowAt(c.own);
  for (int64_t j = 0; j < kernel; ++j) {
    for (int64_t r = 0; r < rows; ++r) {
      int64_t distance = c.distanceOf(j) + r;
      Value &start = starts[distance];
      if (!start) {
        start = c.cache ? c.rowAt(code.add(c.own, distance)) : code.at(here, distance * c.stride);
      }
    }
  }
  code.overRow(c.computes.getWidth(), 1, [&](Value column, int64_t valid) {
    SmallVector<Value> sums(rows, code.splat(0));
    std::map<int64_t, Value> loaded;
    for (int64_t j = 0; j < kernel; ++j) {
      Value weight =
          code.loadVector(code.at(code.at(c.weights, j * c.computes.getWidth()), column), valid);
      for (int64_t r = 0; r < rows; ++r) {
        int64_t distance = c.distanceOf(j) + r;
        Value &x = loaded[distance];
        x = x ? x : code.loadVector(code.at(starts.at(distance), column), valid);
        sums[r] = code.fma(weight, x, sums[r]);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      storeSum(c, sums[r], code.add(c.row, r), column, valid);
    }
  });
}

template <> KernelScratch scratchOf(dataflow::ConvolveAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::ConvolveAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Convolution c{code,
                body,
                computes,
                Epilogue(code, body),
                KernelResult::load(code, arguments),
                body.operand(code, 0),
                body.operand(code, 1)};
  if (body.kernel.getOperandCache(0)) {
    c.cache = CacheFields::load(code, c.input);
  } else {
    c.stride = body.kernel.getOperandBuffer(0).getRowElements();
  }
  // As many sums, as many vectors of the input and a weight are in registers.
  int64_t together = code.target.tileRows;
  int64_t before = -c.distanceOf(0), after = c.distanceOf(computes.getKernel() - 1);
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    enterRow(c, row);
    Value last = code.add(row, together - 1);
    Value areRows = code.less(last, code.smaller(arguments.rowEnd, c.endRow));
    Value areInside = code.both(code.less(code.integer(before - 1), c.own),
                                code.less(code.add(c.own, together - 1 + after), c.count));
    Value isWhole = code.both(areRows, areInside);
    code.when(isWhole, [&] { emitRows(c, together); }, [&] { emitRow(c); });
    Value next = code.add(row, code.select(isWhole, code.integer(together), code.integer(1)));
    if (body.kernel.getNorm()) {
      code.loop(row, next, 1, [&](Value finished) {
        emitRowNorm(code, body, c.result.at(code, finished, code.integer(0)), computes.getWidth());
      });
    }
    return next;
  });
}

} // namespace heddle
