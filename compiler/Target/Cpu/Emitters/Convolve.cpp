// SPDX-License-Identifier: Apache-2.0
///
/// Depthwise convolutions over rows. Channels lie along vectors; the elements of the kernel are
/// written out. Several rows go together: each vector of weights is loaded once for all of them,
/// and each vector of the input once for all sums that it is part of.
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
  Value weight(int64_t j, Value column, int64_t valid) {
    return code.loadVector(code.at(code.at(weights, j * computes.getWidth()), column), valid);
  }
};
} // namespace

static void enterRow(Convolution &c, Value row) {
  VectorCode &code = c.code;
  const KernelArguments &arguments = c.body.arguments;
  Value offsets = arguments.offsets(code);
  Value sequence = code.loadIndex(arguments.sequenceOf(code), row);
  c.row = row;
  c.firstRow = code.loadIndex(offsets, sequence);
  c.endRow = code.loadIndex(offsets, code.add(sequence, 1));
  if (!c.cache) {
    c.own = code.subtract(row, c.firstRow);
    c.count = code.subtract(c.endRow, c.firstRow);
    return;
  }
  Value segment = code.loadIndex(c.cache->segmentOf, row);
  c.own = code.loadIndex(arguments.positions(code), row);
  c.count = code.loadIndex(c.cache->lengths, segment);
  c.blocks = c.cache->blocksOf(code, segment);
}

/// Stores the sums of a vector of columns of rows side by side, from the row on.
static void storeSums(Convolution &c, ArrayRef<Value> sums, Value column, int64_t valid) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value row = c.code.add(c.row, static_cast<int64_t>(i));
    Value value = c.epilogue.apply(c.code, sum, row, column, valid);
    c.code.storeVector(value, c.result.at(c.code, row, column), valid);
  }
}

/// One row, some of whose neighbours may be outside the sequence. The order of additions is that of
/// rows that go together.
static void emitRow(Convolution &c) {
  VectorCode &code = c.code;
  int64_t kernel = c.computes.getKernel();
  SmallVector<Value> starts, inside;
  for (int64_t j = 0; j < kernel; ++j) {
    Value number = code.add(c.own, c.distanceOf(j));
    Value isInside = code.both(code.less(code.integer(-1), number), code.less(number, c.count));
    inside.push_back(isInside);
    starts.push_back(c.rowAt(code.select(isInside, number, c.own)));
  }
  code.overRow(c.computes.getWidth(), 1, [&](Value column, int64_t valid) {
    Value sum;
    for (int64_t j = 0; j < kernel; ++j) {
      Value x = code.loadVector(code.at(starts[j], column), valid);
      x = code.select(inside[j], x, code.splat(0));
      Value weight = c.weight(j, column, valid);
      sum = sum ? code.fma(weight, x, sum) : code.multiplyFloat(weight, x);
    }
    storeSums(c, sum, column, valid);
  });
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
    SmallVector<Value> sums(rows);
    std::map<int64_t, Value> loaded;
    for (int64_t j = 0; j < kernel; ++j) {
      Value weight = c.weight(j, column, valid);
      for (int64_t r = 0; r < rows; ++r) {
        int64_t distance = c.distanceOf(j) + r;
        Value &x = loaded[distance];
        x = x ? x : code.loadVector(code.at(starts.at(distance), column), valid);
        sums[r] = sums[r] ? code.fma(weight, x, sums[r]) : code.multiplyFloat(weight, x);
      }
    }
    storeSums(c, sums, column, valid);
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
