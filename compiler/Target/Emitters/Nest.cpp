// SPDX-License-Identifier: Apache-2.0
///
/// Plain loop nests over named axes, one element at a time: the unfused counterpart of every fast
/// kernel. Nothing here is vectorised, tiled or reordered.
#include "compiler/Target/Emitters/CacheBlock.h"
#include "compiler/Target/Emitters/Emitters.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <map>

using namespace mlir;
using heddle::dataflow::BufferType;
using heddle::dataflow::CacheType;

namespace heddle {

namespace {
/// The nest at one row: the row's sequence and the value of every axis letter.
struct Nest {
  VectorCode &code;
  const KernelBody &body;
  dataflow::NestAttr computes;
  char rowAxis; // the axis that the grid divides: `t`, or `k` if there is no `t`
  KernelResult result;
  // The sizes of dimensions that depend on the batch.
  std::map<int64_t, Value> extents = {};
  // The operands that are caches, by index; `keys` is one whose positions axis k runs over.
  std::map<unsigned, CacheFields> caches = {};
  std::optional<unsigned> keys = {};
  // The axis that the members of a team share, if one does.
  char shared = 0;
  Value row = {}, firstRow = {};
  Value firstKey = {}, keyCount = {};    // if keys are rows
  Value position = {};                   // of the row among the keys
  std::map<unsigned, Value> blocks = {}; // of the row's segment, by operand
  std::map<char, Value> axes = {};       // `k` beside `t` counts from the sequence's first row
};
} // namespace

static StringRef axesOf(const Nest &nest, unsigned operand) {
  return operand == 0 ? nest.computes.getResultAxes() : nest.computes.getInputAxes(operand - 1);
}

static BufferType bufferOf(const Nest &nest, unsigned operand) {
  return operand == 0 ? nest.body.kernel.getResultBuffer()
                      : nest.body.kernel.getOperandBuffer(operand - 1);
}

static CacheType cacheOf(const Nest &nest, unsigned operand) {
  return operand == 0 ? CacheType() : nest.body.kernel.getOperandCache(operand - 1);
}

// Returns the size of an axis of an operand.
static int64_t dimension(const Nest &nest, unsigned operand, size_t axis) {
  if (CacheType cache = cacheOf(nest, operand)) {
    return axis == 0 ? longestDimension : cache.getShape()[axis - 1];
  }
  return bufferOf(nest, operand).getShape()[axis];
}

static Value extent(Nest &nest, int64_t dimension) {
  return dimension > 0 ? nest.code.integer(dimension) : nest.extents.at(dimension);
}

// Returns the index of an axis in a dimension: relative to the batch for rows, to the sequence for
// the longest.
static Value indexIn(Nest &nest, char axis, int64_t dimension) {
  VectorCode &code = nest.code;
  if (axis == nest.rowAxis) {
    return isLongest(dimension) ? code.subtract(nest.row, nest.firstRow) : nest.row;
  }
  Value index = nest.axes.at(axis);
  return rowSpaceOf(dimension) ? code.add(nest.firstKey, index) : index;
}

// Returns the constant size of an axis; if sizes differ, a cache has the smaller one.
static int64_t axisSize(const Nest &nest, char axis) {
  int64_t size = 0;
  for (unsigned i = 0; i <= nest.computes.getNumNamed(); ++i) {
    size_t at = axesOf(nest, i).find(axis);
    if (at != StringRef::npos) {
      size = std::max(size, dimension(nest, i, at));
    }
  }
  assert(size > 0 && "the verifier knows every axis");
  return size;
}

// Returns the address of an element at position k of a cache, and the scale of codes.
static Value addressInCache(Nest &nest, unsigned operand, CacheType type, Value *scale) {
  VectorCode &code = nest.code;
  Value position = nest.axes.at('k'), element = code.integer(0);
  for (auto [axis, size] : llvm::zip(axesOf(nest, operand).drop_front(), type.getShape())) {
    Value index = code.divide(nest.axes.at(axis), axisSize(nest, axis) / size);
    element = code.add(code.multiply(element, size), index);
  }
  Value block = nest.caches.at(operand).blockAt(code, nest.blocks.at(operand), position);
  CacheBlock places(type);
  Value place = code.remainder(position, HEDDLE_BLOCK);
  if (places.hasScales()) {
    *scale = code.loadScalar(places.scaleAt(code, block, place, element));
  }
  return places.elementAt(code, block, place, element);
}

static Value resultAddress(Nest &nest) {
  VectorCode &code = nest.code;
  ArrayRef<int64_t> shape = bufferOf(nest, 0).getShape();
  StringRef axes = axesOf(nest, 0);
  Value column = code.integer(0);
  for (auto [axis, dimension] : llvm::zip(axes.drop_front(), shape.drop_front())) {
    column =
        code.add(code.multiply(column, extent(nest, dimension)), indexIn(nest, axis, dimension));
  }
  return nest.result.at(code, indexIn(nest, axes.front(), shape.front()), column);
}

// Returns the address of an element of a buffer.
static Value addressOf(Nest &nest, unsigned operand) {
  VectorCode &code = nest.code;
  BufferType type = bufferOf(nest, operand);
  StringRef axes = axesOf(nest, operand);
  Value element = code.integer(0);
  for (auto [axis, dimension] : llvm::zip(axes, type.getShape())) {
    element =
        code.add(code.multiply(element, extent(nest, dimension)), indexIn(nest, axis, dimension));
  }
  if (type.getRowStride() != 0) {
    // For columns of a wider buffer the row stride exceeds the width.
    int64_t gap = type.getRowStride() - type.getConstantElements();
    Value row = indexIn(nest, axes.front(), type.getShape().front());
    element = code.add(element, code.multiply(row, gap));
  }
  return code.at(nest.body.operand(code, operand - 1), element);
}

static Value axisCount(Nest &nest, char axis) {
  return axis == 'k' ? nest.keyCount : nest.code.integer(axisSize(nest, axis));
}

// Loads an element of an operand at the current axes.
static Value elementOf(Nest &nest, unsigned operand) {
  VectorCode &code = nest.code;
  CacheType cache = cacheOf(nest, operand);
  if (!cache) {
    return code.loadScalar(addressOf(nest, operand));
  }
  Value scale, address = addressInCache(nest, operand, cache, &scale);
  Value element = code.loadStoredScalar(address, CacheBlock(cache).element);
  return scale ? code.multiplyFloat(element, scale) : element;
}

// Returns the distance from row t to key k as a column of a table: min(max(k - t, -D), D) + D.
static Value relativeDistance(Nest &nest) {
  VectorCode &code = nest.code;
  int64_t most = axisSize(nest, 'r') / 2;
  Value distance = code.subtract(nest.axes.at('k'), nest.position);
  distance = code.larger(code.smaller(distance, code.integer(most)), code.integer(-most));
  return code.add(distance, most);
}

// Returns the element of the first input at key k + j - (n - 1) / 2, zero if there is no such key.
static Value besideKey(Nest &nest) {
  VectorCode &code = nest.code;
  Value key = nest.axes.at('k'), place = code.add(key, nest.axes.at('j'));
  place = code.subtract(place, axisSize(nest, 'j') / 2);
  Value isThere = code.both(code.less(code.integer(-1), place), code.less(place, nest.keyCount));
  // Clamps the key, so that the load is in bounds; a result implies at least one key.
  nest.axes['k'] =
      code.larger(code.smaller(place, code.subtract(nest.keyCount, 1)), code.integer(0));
  Value element = elementOf(nest, 1);
  nest.axes['k'] = key;
  return code.select(isThere, element, code.number(0));
}

// Returns the term at the current axes: the region of the inputs' elements, or `hidden`.
static Value term(Nest &nest) {
  VectorCode &code = nest.code;
  SmallVector<Value> elements;
  if (nest.computes.getRelative()) {
    nest.axes['r'] = relativeDistance(nest);
  }
  for (unsigned i = 0; i < nest.computes.getNumNamed(); ++i) {
    bool slides = nest.computes.getSlides() && i == 0;
    elements.push_back(slides ? besideKey(nest) : elementOf(nest, 1 + i));
  }
  Block &block = nest.body.kernel.getEpilogue().front();
  Value value = cloneScalarMaths(code, block, elements, code.f32);
  if (!nest.computes.getHidden()) {
    return value;
  }
  float hidden = nest.computes.getHidden().getValue().convertToFloat();
  transformer::Visibility seen = nest.computes.getSeen();
  Value key = nest.axes.at('k'), result = value;
  if (seen.from) {
    Value isHidden = code.less(key, code.positionBound(*seen.from, nest.position));
    result = code.select(isHidden, code.number(hidden), result);
  }
  if (seen.to) {
    Value isSeen = code.less(key, code.positionBound(*seen.to, nest.position));
    result = code.select(isSeen, result, code.number(hidden));
  }
  return result;
}

// Returns the caller's first index of an axis, and the distance between its indices.
static std::pair<Value, int64_t> ownIndices(Nest &nest, char axis) {
  VectorCode &code = nest.code;
  return axis == nest.shared ? std::pair(code.ownElement(), code.elementStep())
                             : std::pair(code.integer(0), int64_t{1});
}

// Loops over the axes in turn, then runs the body.
static void overAxes(Nest &nest, StringRef axes, const std::function<void()> &body) {
  if (axes.empty()) {
    body();
    return;
  }
  auto [first, apart] = ownIndices(nest, axes.front());
  nest.code.loop(first, axisCount(nest, axes.front()), apart, [&](Value index) {
    nest.axes[axes.front()] = index;
    overAxes(nest, axes.drop_front(), body);
  });
}

// Reduces the terms over the axes, in order, into `carried`.
static Value reduceAxes(Nest &nest, StringRef axes, Value carried,
                        const std::function<Value(Value carried)> &step) {
  if (axes.empty()) {
    return step(carried);
  }
  auto [first, apart] = ownIndices(nest, axes.front());
  return nest.code.loop(
      first, axisCount(nest, axes.front()), apart, {carried}, [&](Value index, ValueRange values) {
        nest.axes[axes.front()] = index;
        return SmallVector<Value>{reduceAxes(nest, axes.drop_front(), values[0], step)};
      })[0];
}

// Returns the axes of the inputs that the result lacks, in order of occurrence.
static std::string reducedAxes(Nest &nest) {
  std::string reduced;
  for (unsigned i = 0; i < nest.computes.getNumNamed(); ++i) {
    for (char axis : nest.computes.getInputAxes(i)) {
      bool isLoop = axis != nest.rowAxis && !(nest.computes.getRelative() && axis == 'r');
      if (isLoop && !nest.computes.getResultAxes().contains(axis) &&
          reduced.find(axis) == std::string::npos) {
        reduced.push_back(axis);
      }
    }
  }
  return reduced;
}

// Returns the sum over all members of a team.
static Value sumOfTeam(VectorCode &code, Value sum) {
  return code.combineTeam(sum, [&](Value a, Value b) { return code.addFloat(a, b); });
}

static void emitSoftmaxOver(Nest &nest, StringRef axis) {
  VectorCode &code = nest.code;
  Value lowest = code.number(std::numeric_limits<float>::lowest());
  auto larger = [&](Value a, Value b) { return code.maximum(a, b); };
  Value maximum =
      reduceAxes(nest, axis, lowest, [&](Value carried) { return larger(term(nest), carried); });
  maximum = code.combineTeam(maximum, larger);
  auto weight = [&] {
    return math::ExpOp::create(code.builder, code.location,
                               code.subtractFloat(term(nest), maximum));
  };
  Value sum = sumOfTeam(code, reduceAxes(nest, axis, code.number(0), [&](Value carried) {
                          return code.addFloat(carried, weight());
                        }));
  overAxes(nest, axis,
           [&] { code.storeScalar(code.divideFloat(weight(), sum), resultAddress(nest)); });
}

static void emitDividedBySum(Nest &nest, StringRef axis) {
  VectorCode &code = nest.code;
  Value sum = sumOfTeam(code, reduceAxes(nest, axis, code.number(0), [&](Value carried) {
                          return code.addFloat(carried, term(nest));
                        }));
  overAxes(nest, axis,
           [&] { code.storeScalar(code.divideFloat(term(nest), sum), resultAddress(nest)); });
}

// Stores the only element of a row; in a team, one member does.
static void storeOnce(Nest &nest, Value value) {
  nest.code.once([&] { nest.code.storeScalar(value, resultAddress(nest)); });
}

static void emitElements(Nest &nest) {
  VectorCode &code = nest.code;
  std::string axes;
  for (char axis : nest.computes.getResultAxes()) {
    if (axis != nest.rowAxis) {
      axes.push_back(axis);
    }
  }
  if (nest.computes.isOverLastAxis()) {
    bool isSoftmax = nest.computes.getReduction() == dataflow::ReductionKind::Softmax;
    nest.shared = axes.back();
    overAxes(nest, StringRef(axes).drop_back(), [&] {
      (isSoftmax ? emitSoftmaxOver : emitDividedBySum)(nest, StringRef(axes).take_back());
    });
    return;
  }
  std::string reduced = reducedAxes(nest);
  bool sum = nest.computes.getReduction() == dataflow::ReductionKind::Sum;
  auto reduce = [&] {
    return reduceAxes(nest, reduced, code.number(0), [&](Value carried) {
      return sum ? code.addFloat(carried, term(nest)) : term(nest);
    });
  };
  if (axes.empty()) {
    nest.shared = sum && !reduced.empty() ? reduced.back() : 0;
    Value value = reduce();
    storeOnce(nest, nest.shared == 0 ? value : sumOfTeam(code, value));
    return;
  }
  nest.shared = axes.back();
  overAxes(nest, axes, [&] { code.storeScalar(reduce(), resultAddress(nest)); });
}

// Loads the sizes of the spaces that the kernel names.
static void loadExtents(Nest &nest) {
  VectorCode &code = nest.code;
  for (RowSpace space : nest.body.arguments.spaces) {
    RowFields fields = nest.body.arguments.rows(code, space);
    nest.extents[RowDimension{space}.number()] = fields.count(code);
    nest.extents[RowDimension{space, true}.number()] = fields.longest(code);
  }
}

// Loads the fields of the operands that are caches.
static void loadCaches(Nest &nest) {
  for (unsigned i = 1; i <= nest.body.kernel.getNumInputs(); ++i) {
    if (cacheOf(nest, i)) {
      nest.caches[i] = CacheFields::load(nest.code, nest.body.operand(nest.code, i - 1));
      nest.keys = i;
    }
  }
}

// Returns the space that k runs over, if any operand has that axis as rows.
static RowSpace keySpace(const Nest &nest) {
  for (unsigned i = 0; i <= nest.computes.getNumNamed(); ++i) {
    size_t at = axesOf(nest, i).find('k');
    if (at != StringRef::npos) {
      return *spaceOfDimension(dimension(nest, i, at));
    }
  }
  return nest.body.kernel.getRows();
}

namespace {
/// The lists of the rows, and of the keys if those are rows.
struct RowLists {
  Value sequenceOf, offsets, positions, keyOffsets;
};
} // namespace

// Sets the row's position among the keys of a cache, or among the rows of its sequence.
static void enterRow(Nest &nest, Value row, const RowLists &lists) {
  VectorCode &code = nest.code;
  Value sequence = code.loadIndex(lists.sequenceOf, row);
  nest.row = row;
  // Rows in time order see what the first token of their sequence sees.
  bool isOrdered = nest.body.kernel.getRows().isOrdered();
  Value token = row;
  if (isOrdered && nest.keys) {
    token = code.loadIndex(lists.keyOffsets, sequence);
  }
  if (!isOrdered) {
    nest.firstRow = code.loadIndex(lists.offsets, sequence);
  }
  if (!nest.keys && !isOrdered) {
    Value keyOffsets = lists.keyOffsets;
    nest.firstKey = code.loadIndex(keyOffsets, sequence);
    nest.keyCount = code.subtract(code.loadIndex(keyOffsets, code.add(sequence, 1)), nest.firstKey);
    nest.position = code.subtract(row, nest.firstRow);
    return;
  }
  for (const auto &[operand, fields] : nest.caches) {
    nest.blocks[operand] = fields.blocksOf(code, code.loadIndex(fields.segmentOf, token));
  }
  if (nest.keys) {
    const CacheFields &keys = nest.caches.at(*nest.keys);
    nest.keyCount = code.loadIndex(keys.lengths, code.loadIndex(keys.segmentOf, token));
    nest.position = code.loadIndex(lists.positions, row);
  }
}

template <> KernelScratch scratchOf(dataflow::NestAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::NestAttr computes) {
  const KernelArguments &arguments = body.arguments;
  bool hasQueries = computes.getAxes().getValue().contains('t');
  Nest nest{code, body, computes, hasQueries ? 't' : 'k', KernelResult::load(code, arguments)};
  loadExtents(nest);
  loadCaches(nest);
  RowFields rows = body.rows(code);
  RowLists lists{
      rows.sequenceOf(code), rows.offsets(code), rows.positions(code),
      arguments.rows(code, nest.keys ? RowSpace::tokens() : keySpace(nest)).offsets(code)};
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    enterRow(nest, row, lists);
    emitElements(nest);
  });
}

} // namespace heddle
