// SPDX-License-Identifier: Apache-2.0
///
/// Plain loop nests over named axes, one element at a time: the unfused twin of every fast kernel.
/// Nothing here is vectorised, tiled or reordered.
#include "compiler/Conversion/DataflowToKernels/Emitters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <functional>
#include <limits>
#include <map>

using namespace mlir;
using heddle::dataflow::BufferType;

namespace heddle {

namespace {
/// The nest at one row: where the row's sequence lies and the value of every axis letter.
struct Nest {
  VectorCode &code;
  const KernelBody &body;
  dataflow::NestAttr computes;
  char rowAxis; // the axis that the grid divides: `t`, or `k` where there is no `t`
  Value tokens, sequences, longest;
  Value row, firstRow, keyCount;
  std::map<char, Value> axes; // `k` beside `t` counts from the sequence's first row
};
} // namespace

static StringRef axesOf(const Nest &nest, unsigned operand) {
  return operand == 0 ? nest.computes.getResultAxes() : nest.computes.getInputAxes(operand - 1);
}

static BufferType bufferOf(const Nest &nest, unsigned operand) {
  return operand == 0 ? nest.body.kernel.getResultBuffer()
                      : nest.body.kernel.getOperandBuffer(operand - 1);
}

static Value extent(Nest &nest, int64_t dimension) {
  switch (dimension) {
  case BufferType::kTokens:
    return nest.tokens;
  case BufferType::kSequences:
    return nest.sequences;
  case BufferType::kLongest:
    return nest.longest;
  default:
    return nest.code.integer(dimension);
  }
}

// The index an axis has in a dimension: of the batch in tokens, of the sequence in longest.
static Value indexIn(Nest &nest, char axis, int64_t dimension) {
  VectorCode &code = nest.code;
  bool ofSequence = dimension == BufferType::kLongest;
  if (axis == nest.rowAxis) {
    return ofSequence ? code.subtract(nest.row, nest.firstRow) : nest.row;
  }
  Value index = nest.axes.at(axis);
  bool rows = dimension == BufferType::kTokens || dimension == BufferType::kSequences;
  return rows ? code.add(nest.firstRow, index) : index;
}

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
    // Columns of a wider buffer: rows are further apart than they are long.
    int64_t gap = type.getRowStride() - type.getConstantElements();
    Value row = indexIn(nest, axes.front(), type.getShape().front());
    element = code.add(element, code.multiply(row, gap));
  }
  return code.at(nest.body.arguments.operand(code, operand), element);
}

// The term at the current axes: the region of the inputs' elements, or `hidden`.
static Value term(Nest &nest) {
  VectorCode &code = nest.code;
  SmallVector<Value> elements;
  for (unsigned i = 0; i < nest.computes.getNumInputs(); ++i) {
    elements.push_back(code.loadScalar(addressOf(nest, 1 + i)));
  }
  Block &block = nest.body.kernel.getEpilogue().front();
  Value value = cloneScalarMaths(code, block, elements, code.f32);
  if (!nest.computes.getHidden()) {
    return value;
  }
  Value position = code.subtract(nest.row, nest.firstRow);
  float hidden = nest.computes.getHidden().getValue().convertToFloat();
  return code.select(code.less(position, nest.axes.at('k')), code.number(hidden), value);
}

static Value axisCount(Nest &nest, char axis) {
  if (axis == 'k') {
    return nest.keyCount;
  }
  for (unsigned i = 0; i <= nest.computes.getNumInputs(); ++i) {
    size_t at = axesOf(nest, i).find(axis);
    if (at != StringRef::npos) {
      return nest.code.integer(bufferOf(nest, i).getShape()[at]);
    }
  }
  llvm_unreachable("the verifier knows every axis");
}

// Loops over the axes in turn, then runs the body.
static void overAxes(Nest &nest, StringRef axes, const std::function<void()> &body) {
  if (axes.empty()) {
    body();
    return;
  }
  nest.code.loop(nest.code.integer(0), axisCount(nest, axes.front()), 1, [&](Value index) {
    nest.axes[axes.front()] = index;
    overAxes(nest, axes.drop_front(), body);
  });
}

// The reduction of the terms over the axes, in their order, into `carried`.
static Value reduceAxes(Nest &nest, StringRef axes, Value carried,
                        const std::function<Value(Value carried)> &step) {
  if (axes.empty()) {
    return step(carried);
  }
  return nest.code.loop(nest.code.integer(0), axisCount(nest, axes.front()), 1, {carried},
                        [&](Value index, ValueRange values) {
                          nest.axes[axes.front()] = index;
                          return SmallVector<Value>{
                              reduceAxes(nest, axes.drop_front(), values[0], step)};
                        })[0];
}

// The axes of the inputs that the result lacks, in the order they are written.
static std::string reducedAxes(Nest &nest) {
  std::string reduced;
  for (unsigned i = 0; i < nest.computes.getNumInputs(); ++i) {
    for (char axis : nest.computes.getInputAxes(i)) {
      if (axis != nest.rowAxis && !nest.computes.getResultAxes().contains(axis) &&
          reduced.find(axis) == std::string::npos) {
        reduced.push_back(axis);
      }
    }
  }
  return reduced;
}

static void emitSoftmax(Nest &nest, StringRef axis) {
  VectorCode &code = nest.code;
  Value lowest = code.number(std::numeric_limits<float>::lowest());
  Value maximum = reduceAxes(nest, axis, lowest,
                             [&](Value carried) { return code.maximum(term(nest), carried); });
  auto weight = [&] {
    return math::ExpOp::create(code.builder, code.location,
                               code.subtractFloat(term(nest), maximum));
  };
  Value sum = reduceAxes(nest, axis, code.number(0),
                         [&](Value carried) { return code.addFloat(carried, weight()); });
  overAxes(nest, axis,
           [&] { code.storeScalar(code.divideFloat(weight(), sum), addressOf(nest, 0)); });
}

static void emitElements(Nest &nest) {
  VectorCode &code = nest.code;
  std::string axes;
  for (char axis : nest.computes.getResultAxes()) {
    if (axis != nest.rowAxis) {
      axes.push_back(axis);
    }
  }
  if (nest.computes.getReduction() == dataflow::ReductionKind::Softmax) {
    overAxes(nest, StringRef(axes).drop_back(),
             [&] { emitSoftmax(nest, StringRef(axes).take_back()); });
    return;
  }
  std::string reduced = reducedAxes(nest);
  overAxes(nest, axes, [&] {
    Value value = reduceAxes(nest, reduced, code.number(0), [&](Value carried) {
      bool sum = nest.computes.getReduction() == dataflow::ReductionKind::Sum;
      return sum ? code.addFloat(carried, term(nest)) : term(nest);
    });
    code.storeScalar(value, addressOf(nest, 0));
  });
}

void emitNest(VectorCode &code, const KernelBody &body, dataflow::NestAttr computes) {
  const KernelArguments &arguments = body.arguments;
  bool hasQueries = computes.getAxes().getValue().contains('t');
  Nest nest{code,
            body,
            computes,
            hasQueries ? 't' : 'k',
            arguments.tokens(code),
            arguments.sequences(code),
            arguments.longest(code),
            {},
            {},
            {},
            {}};
  Value offsets = arguments.offsets(code), sequenceOf = arguments.sequenceOf(code);
  code.loop(arguments.rowBegin, arguments.rowEnd, 1, [&](Value row) {
    Value sequence = code.loadIndex(sequenceOf, row);
    nest.row = row;
    nest.firstRow = code.loadIndex(offsets, sequence);
    nest.keyCount = code.subtract(code.loadIndex(offsets, code.add(sequence, 1)), nest.firstRow);
    emitElements(nest);
  });
}

} // namespace heddle
