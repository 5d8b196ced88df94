// SPDX-License-Identifier: Apache-2.0
///
/// Kernels that read and write states. Running sums and last rows: a panel of columns stays in
/// registers over the rows of a sequence, in order, so that results are bitwise the same for any
/// division into runs, sequences and columns. Loads and stores of rows: copies.
#include "compiler/Target/Emitters/Emitters.h"
#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

namespace {
/// Some columns of a panel, in one sequence.
struct Panel {
  Value firstRow, endRow;
  Value state;    // of the sequence
  Value hasBegun; // whether earlier runs stored a sum
  ArrayRef<VectorCode::Columns> columns;
};

/// Called with the sums of all rows up to `row`, one vector for each vector of the panel.
using AtRow = llvm::function_ref<void(const Panel &, Value row, ValueRange sums)>;
} // namespace

/// Returns the sums of all rows of the sequence; calls `atRow`, if given, at each row.
static SmallVector<Value> emitSums(VectorCode &code, const Panel &panel, Value input,
                                   int64_t stride, AtRow atRow) {
  SmallVector<Value> sums;
  for (const VectorCode::Columns &columns : panel.columns) {
    // Before the first run the memory is uninitialised and may contain NaN.
    Value left = code.loadVector(code.at(panel.state, columns.first), columns.valid);
    sums.push_back(code.select(panel.hasBegun, left, code.splat(0)));
  }
  return code.loop(panel.firstRow, panel.endRow, 1, sums, [&](Value row, ValueRange carried) {
    Value from = code.at(input, code.multiply(row, stride));
    SmallVector<Value> next;
    for (auto [columns, sum] : llvm::zip_equal(panel.columns, carried)) {
      next.push_back(
          code.addFloat(sum, code.loadVector(code.at(from, columns.first), columns.valid)));
    }
    if (atRow) {
      atRow(panel, row, next);
    }
    return next;
  });
}

/// Calls `emit` for every panel of the grid's columns in every sequence of its rows.
static void overPanels(VectorCode &code, const KernelBody &body, Value state, int64_t width,
                       llvm::function_ref<void(const Panel &)> emit) {
  const KernelArguments &arguments = body.arguments;
  CacheFields cache = CacheFields::load(code, state);
  RowFields rows = body.rows(code);
  Value offsets = rows.offsets(code), positions = rows.positions(code);
  const int64_t panelColumns = code.target.panelColumns;
  int64_t whole = width / panelColumns * panelColumns;
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value sequence) {
    Value first = code.loadIndex(offsets, sequence);
    Value end = code.loadIndex(offsets, code.add(sequence, 1));
    Value hasBegun = code.less(code.integer(0), code.loadIndex(positions, first));
    Value row = cache.blockAt(code, cache.blocksOf(code, sequence), code.integer(0));
    code.loop(arguments.columnBegin, arguments.columnEnd, 1, [&](Value number) {
      Value firstColumn = code.multiply(number, panelColumns);
      auto emitPanel = [&](int64_t count) {
        const int64_t vectors = llvm::divideCeil(panelColumns, code.columnStep());
        code.overGroups(count, vectors, [&](ArrayRef<VectorCode::Columns> group) {
          SmallVector<VectorCode::Columns> columns;
          for (const VectorCode::Columns &each : group) {
            columns.push_back({code.add(firstColumn, each.first), each.valid});
          }
          emit({first, end, row, hasBegun, columns});
        });
      };
      if (whole == width) {
        emitPanel(panelColumns);
        return;
      }
      code.when(
          code.less(firstColumn, code.integer(whole)), [&] { emitPanel(panelColumns); },
          [&] { emitPanel(width - whole); });
    });
  });
}

namespace {
/// The operands of a kernel over a state, by their indices in the dispatch.
struct StateOperands {
  StateOperands(VectorCode &code, const KernelBody &body, unsigned rows, unsigned state)
      : input(body.operand(code, rows)), state(body.operand(code, state)),
        stride(body.kernel.getOperandBuffer(rows).getRowElements()),
        width(body.kernel.getOperandState(state).getWidth()) {}

  Value input;
  Value state;
  int64_t stride;
  int64_t width;
};
} // namespace

/// Stores the sums of all rows of the sequence as its state.
static void storeSums(VectorCode &code, const Panel &panel, ValueRange sums) {
  for (auto [columns, sum] : llvm::zip_equal(panel.columns, sums)) {
    code.storeVector(sum, code.at(panel.state, columns.first), columns.valid);
  }
}

/// Returns the sums of all rows of the sequence; stores the mean up to each row.
static SmallVector<Value> emitMeans(VectorCode &code, const Panel &panel,
                                    const StateOperands &operands, const KernelResult &result,
                                    Value positions) {
  auto storeMeans = [&](const Panel &panel, Value row, ValueRange sums) {
    Value count = arith::SIToFPOp::create(code.builder, code.location, code.f32,
                                          code.add(code.loadIndex(positions, row), 1));
    for (auto [columns, sum] : llvm::zip_equal(panel.columns, sums)) {
      code.storeVector(code.divideFloat(sum, code.broadcast(count)),
                       result.at(code, row, columns.first), columns.valid);
    }
  };
  return emitSums(code, panel, operands.input, operands.stride, storeMeans);
}

template <> KernelScratch scratchOf(dataflow::AccumulateAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::AccumulateAttr) {
  StateOperands operands(code, body, /*rows=*/1, /*state=*/0);
  overPanels(code, body, operands.state, operands.width, [&](const Panel &panel) {
    storeSums(code, panel, emitSums(code, panel, operands.input, operands.stride, nullptr));
  });
}

template <> KernelScratch scratchOf(dataflow::KeepAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::KeepAttr) {
  StateOperands operands(code, body, /*rows=*/1, /*state=*/0);
  int64_t width = body.kernel.getOperandBuffer(1).getWidth(), places = operands.width / width;
  Value positions = body.rows(code).positions(code);
  overPanels(code, body, operands.state, width, [&](const Panel &panel) {
    Value first = code.larger(panel.firstRow, code.add(panel.endRow, -places));
    code.loop(first, panel.endRow, 1, [&](Value row) {
      Value from = code.at(operands.input, code.multiply(row, operands.stride));
      Value place = code.remainder(code.loadIndex(positions, row), places);
      Value to = code.at(panel.state, code.multiply(place, width));
      for (const VectorCode::Columns &columns : panel.columns) {
        code.storeVector(code.loadVector(code.at(from, columns.first), columns.valid),
                         code.at(to, columns.first), columns.valid);
      }
    });
  });
}

template <> KernelScratch scratchOf(dataflow::PrefixMeanAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::PrefixMeanAttr) {
  KernelResult result = KernelResult::load(code, body.arguments);
  StateOperands operands(code, body, /*rows=*/0, /*state=*/1);
  Value positions = body.rows(code).positions(code);
  overPanels(code, body, operands.state, operands.width,
             [&](const Panel &panel) { emitMeans(code, panel, operands, result, positions); });
}

template <> KernelScratch scratchOf(dataflow::RunningMeanAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::RunningMeanAttr) {
  KernelResult means = KernelResult::load(code, body.arguments);
  StateOperands operands(code, body, /*rows=*/0, /*state=*/1);
  Value positions = body.rows(code).positions(code);
  // A panel is read before its rows and stored after them; calls do not share panels.
  overPanels(code, body, operands.state, operands.width, [&](const Panel &panel) {
    storeSums(code, panel, emitMeans(code, panel, operands, means, positions));
  });
}

// --- rows of states ---------------------------------------------------------------------------

// The number of vectors of a row that are processed together, to overlap their latencies.
static constexpr int64_t kUnrolledStates = 4;

/// Returns the address of a sequence's row in a state.
static Value stateOf(VectorCode &code, const CacheFields &state, Value sequence) {
  return state.blockAt(code, state.blocksOf(code, sequence), code.integer(0));
}

/// Calls `body` for every whole vector of each head of a sequence's keys, with the address in the
/// state, the head, and the first key of the vector. Positions in a block have the layout of keys,
/// adjacent in each head. The members of a team share each block.
static void
overKeys(VectorCode &code, const CacheFields &state, Value sequence, int64_t heads,
         llvm::function_ref<void(Value inState, int64_t head, Value key, Value keys)> body) {
  Value keys = code.loadIndex(state.lengths, sequence);
  Value blocks = state.blocksOf(code, sequence);
  code.loop(code.integer(0), keys, HEDDLE_BLOCK, [&](Value first) {
    Value block = state.blockAt(code, blocks, first);
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t place = 0; place < HEDDLE_BLOCK; place += code.columnStep()) {
        Value own = code.ownColumn(code.integer(place));
        body(code.at(block, code.add(own, head * HEDDLE_BLOCK)), head, code.add(first, own), keys);
      }
    }
  });
}

/// Loads numbers of keys, [sequences, heads, longest], from a state.
static void emitLoadKeys(VectorCode &code, const KernelBody &body) {
  KernelResult result = KernelResult::load(code, body.arguments);
  CacheFields state = CacheFields::load(code, body.operand(code, 0));
  Value longest = body.arguments.rows(code, RowSpace::tokens()).longest(code);
  RowFields rows = body.rows(code);
  Value sequenceOf = rows.sequenceOf(code), positions = rows.positions(code);
  int64_t heads = body.kernel.getOperandState(0).getWidth();
  code.overRows(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value row) {
    Value hasBegun = code.less(code.integer(0), code.loadIndex(positions, row));
    Value to = result.at(code, row, code.integer(0));
    overKeys(code, state, code.loadIndex(sequenceOf, row), heads,
             [&](Value from, int64_t head, Value key, Value keys) {
               Value place = code.add(code.multiply(longest, head), key);
               Value value = code.select(hasBegun, code.loadVector(from), code.splat(0));
               code.storeBelow(value, code.at(to, place), key, keys);
             });
  });
}

template <> KernelScratch scratchOf(dataflow::LoadAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::LoadAttr computes) {
  if (body.kernel.getOperandState(0).getKeyed()) {
    emitLoadKeys(code, body);
    return;
  }
  KernelResult result = KernelResult::load(code, body.arguments);
  CacheFields state = CacheFields::load(code, body.operand(code, 0));
  int64_t width = body.kernel.getOperandState(0).getWidth();
  RowFields rows = body.rows(code);
  Value sequenceOf = rows.sequenceOf(code), positions = rows.positions(code);
  code.overRows(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value row) {
    Value from = stateOf(code, state, code.loadIndex(sequenceOf, row));
    Value hasBegun = code.less(code.integer(0), code.loadIndex(positions, row));
    Value to = result.at(code, row, code.integer(0));
    code.overRow(width, kUnrolledStates, [&](Value column, int64_t valid) {
      Value left = code.loadVector(code.at(from, column), valid);
      // Before the first run the memory is uninitialised and may contain NaN, unless it was given.
      Value value = computes.getGiven() ? left : code.select(hasBegun, left, code.splat(0));
      code.storeVector(value, code.at(to, column), valid);
    });
  });
}

template <> KernelScratch scratchOf(dataflow::StoreAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::StoreAttr) {
  StateOperands operands(code, body, /*rows=*/1, /*state=*/0);
  CacheFields state = CacheFields::load(code, operands.state);
  bool isKeyed = body.kernel.getOperandState(0).getKeyed();
  Value longest = isKeyed ? body.arguments.rows(code, RowSpace::tokens()).longest(code) : Value();
  bool areSteps = body.kernel.getRows().isOfSteps();
  RowFields rows = body.rows(code);
  Value offsets, ranks, lengths;
  if (areSteps) {
    offsets = rows.offsets(code);
    ranks = rows.ranks(code);
    lengths = rows.lengths(code);
  }
  code.overRows(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value sequence) {
    Value row = sequence;
    if (areSteps) {
      Value last = code.loadIndex(offsets, code.add(code.loadIndex(lengths, sequence), -1));
      row = code.add(last, code.loadIndex(ranks, sequence));
    }
    if (isKeyed) {
      Value from = code.multiply(code.multiply(longest, operands.width), row);
      overKeys(code, state, sequence, operands.width,
               [&](Value to, int64_t head, Value key, Value keys) {
                 Value place = code.add(code.add(from, code.multiply(longest, head)), key);
                 Value numbers = code.loadVector(code.at(operands.input, place));
                 code.storeBelow(numbers, to, key, keys);
               });
      return;
    }
    Value from = code.at(operands.input, code.multiply(row, operands.stride));
    Value to = stateOf(code, state, sequence);
    code.overRow(operands.width, kUnrolledStates, [&](Value column, int64_t valid) {
      code.storeVector(code.loadVector(code.at(from, column), valid), code.at(to, column), valid);
    });
  });
}

} // namespace heddle
