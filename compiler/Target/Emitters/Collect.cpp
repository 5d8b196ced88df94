// SPDX-License-Identifier: Apache-2.0
///
/// Moves rows into another order, and concatenates rows: copies, with an epilogue.
#include "compiler/Target/Emitters/Emitters.h"

using namespace mlir;

namespace heddle {
namespace {

// The number of vectors of a row that are processed together, to overlap their latencies.
constexpr int64_t kUnrolledColumns = 4;

/// The rows of a space, with the lists that map positions of sequences to rows.
class Order {
public:
  Order(VectorCode &code, RowFields fields, RowSpace space)
      : space(space), offsets(fields.offsets(code)), sequenceOf(fields.sequenceOf(code)),
        positions(space.isOfSteps() ? fields.positions(code) : Value()),
        ranks(space.isOfSteps() ? fields.ranks(code) : Value()),
        lengths(space.isOfSteps() ? fields.lengths(code) : Value()) {}

  /// Returns the sequence of a row, and its position there.
  std::pair<Value, Value> placeOf(VectorCode &code, Value row) const {
    Value sequence = code.loadIndex(sequenceOf, row);
    if (space.isOfSteps()) {
      return {sequence, code.loadIndex(positions, row)};
    }
    if (space.unit() == 0) {
      return {sequence, code.integer(0)};
    }
    return {sequence, code.subtract(row, code.loadIndex(offsets, sequence))};
  }

  /// Returns the row of a position of a sequence.
  Value rowAt(VectorCode &code, Value sequence, Value position) const {
    if (space.unit() == 0) {
      return sequence;
    }
    if (!space.isOfSteps()) {
      return code.add(code.loadIndex(offsets, sequence), position);
    }
    bool isReversed = space == RowSpace::steps(/*reversed=*/true);
    Value step = isReversed ? code.subtract(lastStep(code, sequence), position) : position;
    return rowOfStep(code, sequence, step);
  }

  /// Returns the row of the last step of a sequence.
  Value lastRow(VectorCode &code, Value sequence) const {
    return rowOfStep(code, sequence, lastStep(code, sequence));
  }

private:
  Value lastStep(VectorCode &code, Value sequence) const {
    return code.subtract(code.loadIndex(lengths, sequence), code.integer(1));
  }
  Value rowOfStep(VectorCode &code, Value sequence, Value step) const {
    return code.add(code.loadIndex(offsets, step), code.loadIndex(ranks, sequence));
  }

  RowSpace space;
  Value offsets, sequenceOf;
  // Null except for rows of steps.
  Value positions, ranks, lengths;
};

/// One input: its elements, and the order of its rows if that is not the result's.
struct Source {
  Value elements;
  int64_t stride;
  std::optional<Order> order;
};

} // namespace

template <> KernelScratch scratchOf(dataflow::CollectAttr) { return {}; }

/// Returns the row of the only input, in the space `from`, that a row of the result is.
static Value rowReadBy(VectorCode &code, const KernelBody &body, RowSpace from, Value row) {
  RowSpace to = body.kernel.getRows();
  if (from == to) {
    return row;
  }
  Order source(code, body.arguments.rows(code, from), from);
  if (to == RowSpace::sequences()) {
    return source.lastRow(code, row);
  }
  auto [sequence, position] = Order(code, body.arguments.rows(code, to), to).placeOf(code, row);
  return source.rowAt(code, sequence, position);
}

/// Copies numbers of keys, whose rows are as long as the longest sequence, one by one.
static void emitKeys(VectorCode &code, const KernelBody &body, dataflow::CollectAttr computes) {
  KernelResult written = KernelResult::load(code, body.arguments);
  RowSpace from = *body.kernel.getOperandBuffer(0).getRowSpace();
  Value longest = body.arguments.rows(code, RowSpace::tokens()).longest(code);
  Value elements = code.multiply(longest, computes.getWidths().front());
  Value input = body.operand(code, 0);
  code.loop(body.arguments.rowBegin, body.arguments.rowEnd, 1, [&](Value row) {
    Value source = code.multiply(elements, rowReadBy(code, body, from, row));
    code.loop(code.integer(0), elements, 1, [&](Value element) {
      Value value = code.loadScalar(code.at(input, code.add(source, element)));
      value = cloneScalarMaths(code, body.kernel.getEpilogue().front(), value, code.f32);
      code.storeScalar(value, written.at(code, row, element));
    });
  });
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::CollectAttr computes) {
  const KernelArguments &arguments = body.arguments;
  if (body.kernel.getResultBuffer().getShape().size() == 3) {
    emitKeys(code, body, computes);
    return;
  }
  RowSpace space = body.kernel.getRows();
  bool areLast = space == RowSpace::sequences();
  SmallVector<Source> sources;
  std::optional<Order> result;
  for (auto [index, width] : llvm::enumerate(computes.getWidths())) {
    dataflow::BufferType type = body.kernel.getOperandBuffer(index);
    RowSpace from = *type.getRowSpace();
    Source &source = sources.emplace_back(body.operand(code, index), type.getRowElements());
    if (from != space) {
      source.order.emplace(code, arguments.rows(code, from), from);
      if (!areLast && !result) {
        result.emplace(code, arguments.rows(code, space), space);
      }
    }
  }
  Epilogue epilogue(code, body);
  KernelResult written = KernelResult::load(code, arguments);
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value to = written.at(code, row, code.integer(0));
    auto [sequence, position] =
        result ? result->placeOf(code, row) : std::pair<Value, Value>(row, Value());
    int64_t first = 0;
    for (auto [source, width] : llvm::zip_equal(sources, computes.getWidths())) {
      Value read = !source.order ? row
                   : areLast     ? source.order->lastRow(code, sequence)
                                 : source.order->rowAt(code, sequence, position);
      Value from = code.at(source.elements, code.multiply(read, source.stride));
      code.overRow(width, kUnrolledColumns, [&](Value column, int64_t valid) {
        Value place = code.add(column, first);
        Value value = code.loadVector(code.at(from, column), valid);
        value = epilogue.apply(code, value, row, place, valid);
        code.storeVector(value, code.at(to, place), valid);
      });
      first += width;
    }
    if (body.kernel.getNorm()) {
      emitRowNorm(code, body, to, first);
    }
  });
}

} // namespace heddle
