// SPDX-License-Identifier: Apache-2.0
///
/// Appending rows to a paged cache: every row goes to the place of its position.
#include "compiler/Target/Cpu/Emitters/Emitters.h"

#include "heddle/Abi.h"

using namespace mlir;
using heddle::dataflow::CacheLayout;

namespace heddle {

// Elements written out in the loop that scatters a row of keys.
static constexpr int64_t kUnroll = 8;

Value cacheElement(VectorCode &code, dataflow::CacheType type, Value block, Value position,
                   Value element) {
  Value place = code.remainder(position, HEDDLE_BLOCK);
  bool areKeys = type.getLayout() == CacheLayout::Keys;
  return code.at(block, areKeys ? code.add(code.multiply(element, HEDDLE_BLOCK), place)
                                : code.add(code.multiply(place, type.getWidth()), element));
}

// Keys lie [width][HEDDLE_BLOCK]: the elements of one position are that far apart.
static void scatterRow(VectorCode &code, Value from, Value to, int64_t width) {
  auto copy = [&](Value element) {
    code.storeScalar(code.loadScalar(code.at(from, element)),
                     code.at(to, code.multiply(element, HEDDLE_BLOCK)));
  };
  int64_t whole = width / kUnroll * kUnroll;
  code.loop(code.integer(0), code.integer(whole), kUnroll, [&](Value first) {
    for (int64_t i = 0; i < kUnroll; ++i) {
      copy(code.add(first, i));
    }
  });
  for (int64_t element = whole; element < width; ++element) {
    copy(code.integer(element));
  }
}

static void copyRow(VectorCode &code, Value from, Value to, int64_t width) {
  code.overRow(width, 4, [&](Value column, int64_t valid) {
    code.storeVector(code.loadVector(code.at(from, column), valid), code.at(to, column), valid);
  });
}

// As many rows as a vector has lanes, of positions side by side in one block: squares of them are
// transposed in registers.
static void transposeRows(VectorCode &code, Value from, int64_t stride, Value to, int64_t width) {
  code.overRow(width, 1, [&](Value column, int64_t valid) {
    SmallVector<Value> square;
    for (int64_t row = 0; row < code.lanes; ++row) {
      square.push_back(code.loadVector(code.at(code.at(from, row * stride), column), valid));
    }
    square = code.transposeSquare(square);
    for (int64_t i = 0; i < valid; ++i) {
      Value line = code.multiply(code.add(column, i), HEDDLE_BLOCK);
      code.storeVector(square[i], code.at(to, line));
    }
  });
}

template <> KernelScratch scratchOf(dataflow::AppendAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::AppendAttr) {
  const KernelArguments &arguments = body.arguments;
  dataflow::CacheType type = body.kernel.getOperandCache(0);
  CacheFields cache = CacheFields::load(code, body.operand(code, 0));
  // Segments of a cache that is appended to are the sequences of the run.
  RowFields appended = body.rows(code);
  Value sequenceOf = appended.sequenceOf(code), positions = appended.positions(code);
  Value rows = body.operand(code, 1);
  int64_t stride = body.kernel.getOperandBuffer(1).getRowElements();
  auto place = [&](Value row, Value position) {
    Value blocks = cache.blocksOf(code, code.loadIndex(sequenceOf, row));
    Value block = cache.blockAt(code, blocks, position);
    return cacheElement(code, type, block, position, code.integer(0));
  };
  auto appendRow = [&](Value row) {
    Value to = place(row, code.loadIndex(positions, row));
    Value from = code.at(rows, code.multiply(row, stride));
    if (type.getLayout() == CacheLayout::Keys) {
      scatterRow(code, from, to, type.getWidth());
    } else {
      copyRow(code, from, to, type.getWidth());
    }
  };
  if (type.getLayout() != CacheLayout::Keys) {
    code.loop(arguments.rowBegin, arguments.rowEnd, 1, appendRow);
    return;
  }
  // As many rows as lanes go as a whole where they are positions side by side from a multiple of
  // the lanes on.
  auto isGroup = [&](Value row, Value position) {
    Value inRange = code.less(code.add(row, code.lanes - 1), arguments.rowEnd);
    // Nothing past the range is read.
    Value lastRow = code.select(inRange, code.add(row, code.lanes - 1), row);
    Value last = code.add(position, code.lanes - 1);
    Value follow = code.equal(code.loadIndex(positions, lastRow), last);
    Value sameSequence =
        code.equal(code.loadIndex(sequenceOf, lastRow), code.loadIndex(sequenceOf, row));
    Value isAligned = code.equal(code.remainder(position, code.lanes), code.integer(0));
    return code.both(code.both(follow, sameSequence), isAligned);
  };
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value position = code.loadIndex(positions, row), whole = isGroup(row, position);
    code.when(
        whole,
        [&] {
          transposeRows(code, code.at(rows, code.multiply(row, stride)), stride,
                        place(row, position), type.getWidth());
        },
        [&] { appendRow(row); });
    return code.add(row, code.select(whole, code.integer(code.lanes), code.integer(1)));
  });
}

} // namespace heddle
