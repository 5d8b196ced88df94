// SPDX-License-Identifier: Apache-2.0
///
/// Depthwise convolutions over rows, vectorised over channels. Processes several rows together, one
/// panel of columns at a time: the loop over kernel elements is unrolled, each vector of weights is
/// loaded once for all rows, and each vector of the input once for all sums that use it. The panel
/// width is limited by the L1 cache, so that the next rows find shared input there.
#include "compiler/Target/Emitters/Windows.h"

using namespace mlir;

namespace heddle {

namespace {
/// The convolution in one sequence.
struct Convolution {
  VectorCode &code;
  const KernelBody &body;
  dataflow::ConvolveAttr computes;
  bool rectifies;
  SlideSource::StoreRow store;
  Value input, weights;
  int64_t stride; // elements between rows of the input
  Value packed;   // packed weights of a panel: for each vector of columns, the vectors of all
                  // elements
  std::optional<CacheFields> state = {};
  Value firstRow = {}, endRow = {};
  // With a state: its rows of the sequence, and the position of the sequence's first row.
  Value kept = {}, start = {};

  /// Returns the distance from a row to the row that kernel element j reads.
  int64_t distanceOf(int64_t j) const {
    return (j - computes.getCenter()) * computes.getDilation();
  }
  Value loadInput(Value address, int64_t valid) const {
    Value x = code.loadVector(address, valid);
    // With this operand order NaN propagates, as in a separate ReLU.
    return rectifies ? code.maximum(code.splat(0), x) : x;
  }
  /// Loads a vector of columns of kernel element j from the weight matrix.
  Value loadWeight(Value j, Value column, int64_t valid) {
    Value row = code.at(weights, code.multiply(j, computes.getWidth()));
    return code.loadVector(code.at(row, column), valid);
  }
};

/// The blocking of rows whose neighbours are all rows of the run.
struct Blocking {
  /// The number of rows computed together.
  int64_t together;
  /// The columns of a panel, which all rows of a pass process before the next panel.
  int64_t columns;
  /// Whether to pack the weights of a panel first. If matrix rows have a power of two elements,
  /// unpacked weights would conflict in the L1 cache.
  bool packsWeights;

  Blocking(const TargetDescription &target, dataflow::ConvolveAttr computes) {
    int64_t kernel = computes.getKernel(), width = computes.getWidth();
    // A short kernel is memory-bound and faster with fewer rows at a time.
    constexpr int64_t shortKernel = 4;
    together = kernel <= shortKernel ? std::min<int64_t>(target.tileRows, 4) : target.tileRows;
    // For the rows that are read, those that are written, and the weights.
    constexpr int64_t firstCacheBytes = int64_t(32) * 1024;
    int64_t rows = 2 * (together + kernel) - 1;
    int64_t vectors = firstCacheBytes / (rows * target.lanes * int64_t(sizeof(float)));
    int64_t panels = llvm::divideCeil(width, std::max<int64_t>(1, vectors) * target.lanes);
    columns = llvm::divideCeil(width, panels * target.lanes) * target.lanes;
    packsWeights = panels > 1;
  }
};
} // namespace

/// The number of rows per pass, for every row of dilation; a pass processes all columns.
static constexpr int64_t kRowsOfPass = 64;

static void enterSequence(Convolution &c, Value row) {
  VectorCode &code = c.code;
  RowFields rows = c.body.rows(code);
  Value offsets = rows.offsets(code);
  Value sequence = code.loadIndex(rows.sequenceOf(code), row);
  c.firstRow = code.loadIndex(offsets, sequence);
  c.endRow = code.loadIndex(offsets, code.add(sequence, 1));
  if (c.state) {
    c.kept = c.state->blockAt(code, c.state->blocksOf(code, sequence), code.integer(0));
    c.start = code.loadIndex(rows.positions(code), c.firstRow);
  }
}

/// Returns the address of the row at index `number` of the sequence; negative indices are rows in
/// the state.
static Value rowAt(Convolution &c, Value number) {
  VectorCode &code = c.code;
  Value row = code.at(c.input, code.multiply(code.add(c.firstRow, number), c.stride));
  if (!c.state) {
    return row;
  }
  Value place = code.remainder(code.add(c.start, number), c.computes.getRowsBefore());
  Value before = code.at(c.kept, code.multiply(place, c.computes.getWidth()));
  return code.select(code.less(number, code.integer(0)), before, row);
}

/// Computes some columns of one row, with the kernel elements in [first, end).
static void emitColumns(Convolution &c, Value row, Value first, Value end,
                        ArrayRef<VectorCode::Columns> group) {
  VectorCode &code = c.code;
  Value own = code.subtract(row, c.firstRow);
  SmallVector<Value> sums(group.size(), code.splat(0));
  sums = code.loop(first, end, 1, sums, [&](Value j, ValueRange carried) {
    Value distance = code.multiply(code.subtract(j, code.integer(c.computes.getCenter())),
                                   c.computes.getDilation());
    Value from = rowAt(c, code.add(own, distance));
    SmallVector<Value> next;
    for (auto [columns, sum] : llvm::zip_equal(group, carried)) {
      Value x = c.loadInput(code.at(from, columns.first), columns.valid);
      next.push_back(code.fma(c.loadWeight(j, columns.first, columns.valid), x, sum));
    }
    return next;
  });
  for (auto [columns, sum] : llvm::zip_equal(group, sums)) {
    c.store(sum, row, columns.first, columns.valid);
  }
}

/// Computes one row with neighbours outside the sequence or before the run. Neighbours outside are
/// omitted; otherwise its sums have the same terms in the same order as blocked rows.
static void emitRow(Convolution &c, Value row) {
  VectorCode &code = c.code;
  int64_t center = c.computes.getCenter(), dilation = c.computes.getDilation();
  Value own = code.subtract(row, c.firstRow);
  Value before = code.divide(c.state ? code.add(own, c.start) : own, dilation);
  Value after = code.divide(code.subtract(code.add(c.endRow, -1), row), dilation);
  Value first = code.larger(code.subtract(code.integer(center), before), code.integer(0));
  Value end = code.smaller(code.add(after, center + 1), code.integer(c.computes.getKernel()));
  // Enough vectors to overlap their additions.
  constexpr int64_t unroll = 4;
  code.overGroups(c.computes.getWidth(), unroll, [&](ArrayRef<VectorCode::Columns> group) {
    emitColumns(c, row, first, end, group);
  });
}

/// Computes one vector of columns of `rows` rows, `dilation` apart. `weights` loads the vector of
/// an element.
static void emitRows(Convolution &c, Value first, int64_t rows, Value column, int64_t valid,
                     llvm::function_ref<Value(int64_t)> weights) {
  VectorCode &code = c.code;
  Value here = code.at(code.at(c.input, code.multiply(first, c.stride)), column);
  SmallVector<Value> x, sums(rows, code.splat(0));
  for (int64_t j = 0; j < c.computes.getKernel(); ++j) {
    Value weight = weights(j);
    for (int64_t r = 0; r < rows; ++r) {
      if (static_cast<int64_t>(x.size()) == j + r) {
        x.push_back(c.loadInput(code.at(here, c.distanceOf(j + r) * c.stride), valid));
      }
      sums[r] = code.fma(weight, x[j + r], sums[r]);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    c.store(sums[r], code.add(first, r * c.computes.getDilation()), column, valid);
  }
}

/// Computes the panel of `columns` columns from `firstColumn` on, of every `dilation`th row in
/// [first, end).
static void emitChain(Convolution &c, const Blocking &blocking, Value first, Value end,
                      Value firstColumn, int64_t columns) {
  VectorCode &code = c.code;
  int64_t dilation = c.computes.getDilation(), kernel = c.computes.getKernel();
  Value count = code.divideUp(code.subtract(end, first), dilation);
  Value whole = code.subtract(count, code.remainder(count, blocking.together));
  auto emitPart = [&](Value from, Value to, int64_t rows) {
    code.loop(from, to, rows, [&](Value number) {
      Value row = code.add(first, code.multiply(number, dilation));
      code.overRow(columns, 1, [&](Value offset, int64_t valid) {
        Value column = code.add(firstColumn, offset);
        emitRows(c, row, rows, column, valid, [&](int64_t j) {
          Value packed = code.add(code.multiply(offset, kernel), j * code.lanes);
          return blocking.packsWeights ? code.loadVector(code.at(c.packed, packed))
                                       : c.loadWeight(code.integer(j), column, valid);
        });
      });
    });
  };
  emitPart(code.integer(0), whole, blocking.together);
  emitPart(whole, count, 1);
}

/// Packs the weights of a panel.
static void packWeights(Convolution &c, Value firstColumn, int64_t columns) {
  VectorCode &code = c.code;
  int64_t kernel = c.computes.getKernel();
  code.overRow(columns, 1, [&](Value offset, int64_t valid) {
    Value to = code.at(c.packed, code.multiply(offset, kernel));
    for (int64_t j = 0; j < kernel; ++j) {
      Value weight = c.loadWeight(code.integer(j), code.add(firstColumn, offset), valid);
      code.storeVector(weight, code.at(to, j * code.lanes));
    }
  });
}

/// Computes rows [first, end), all of whose neighbours are rows of the run.
static void emitInside(Convolution &c, const Blocking &blocking, Value first, Value end) {
  VectorCode &code = c.code;
  int64_t width = c.computes.getWidth();
  auto emitPanel = [&](Value firstColumn, int64_t columns) {
    if (blocking.packsWeights) {
      packWeights(c, firstColumn, columns);
    }
    Value chains = code.smaller(code.integer(c.computes.getDilation()), code.subtract(end, first));
    code.loop(code.integer(0), chains, 1, [&](Value chain) {
      emitChain(c, blocking, code.add(first, chain), end, firstColumn, columns);
    });
  };
  int64_t whole = width / blocking.columns * blocking.columns;
  if (whole > 0) {
    code.loop(code.integer(0), code.integer(whole), blocking.columns,
              [&](Value column) { emitPanel(column, blocking.columns); });
  }
  if (whole < width) {
    emitPanel(code.integer(whole), width - whole);
  }
}

void emitConvolution(VectorCode &code, const KernelBody &body, const ConvolvedRows &rows,
                     SlideSource::StoreRow store, llvm::function_ref<void(Value)> finish) {
  dataflow::ConvolveAttr computes = rows.computes;
  Blocking blocking(code.target, computes);
  Convolution c{code,
                body,
                computes,
                rows.rectifies,
                store,
                body.operand(code, 0),
                body.operand(code, rows.weights),
                body.kernel.getOperandBuffer(0).getRowElements(),
                code.team ? Value()
                          : code.frame(body.function, blocking.columns * computes.getKernel())};
  if (computes.getResumes()) {
    c.state = CacheFields::load(code, body.operand(code, rows.weights + 1));
  }
  if (code.team) {
    // Members have neighbouring columns, so rows would not share registers.
    code.overRows(rows.begin, rows.end, [&](Value row) {
      enterSequence(c, row);
      emitRow(c, row);
      if (finish) {
        finish(row);
      }
    });
    return;
  }
  code.walk(rows.begin, rows.end, [&](Value row) {
    enterSequence(c, row);
    Value end = code.smaller(code.smaller(rows.end, c.endRow),
                             code.add(row, kRowsOfPass * computes.getDilation()));
    Value inside =
        code.smaller(code.larger(row, code.add(c.firstRow, computes.getRowsBefore())), end);
    Value outside =
        code.larger(inside, code.smaller(end, code.add(c.endRow, -computes.getRowsAfter())));
    code.loop(row, inside, 1, [&](Value each) { emitRow(c, each); });
    code.when(code.less(inside, outside), [&] { emitInside(c, blocking, inside, outside); });
    code.loop(outside, end, 1, [&](Value each) { emitRow(c, each); });
    if (finish) {
      code.loop(row, end, 1, [&](Value finished) { finish(finished); });
    }
    return end;
  });
}

template <> KernelScratch scratchOf(dataflow::ConvolveAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::ConvolveAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Epilogue epilogue(code, body);
  KernelResult result = KernelResult::load(code, arguments);
  auto store = [&](Value sum, Value row, Value column, int64_t valid) {
    Value value = epilogue.apply(code, sum, row, column, valid);
    code.storeVector(value, result.at(code, row, column), valid);
  };
  auto norm = [&](Value row) {
    emitRowNorm(code, body, result.at(code, row, code.integer(0)), computes.getWidth());
  };
  ConvolvedRows rows{computes, arguments.rowBegin, arguments.rowEnd};
  if (body.kernel.getNorm()) {
    emitConvolution(code, body, rows, store, norm);
  } else {
    emitConvolution(code, body, rows, store);
  }
}

} // namespace heddle
