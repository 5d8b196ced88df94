// SPDX-License-Identifier: Apache-2.0
///
/// Epilogues and norms: the operations on a value between its computation and its only store.
#include "compiler/Target/Emitters/Emitters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;

namespace heddle {

Epilogue::Epilogue(VectorCode &code, const KernelBody &body) : kernel(body.kernel) {
  for (unsigned i = 0; i < kernel.getNumElementwise(); ++i) {
    unsigned index = kernel.getNumInputs() + i;
    dataflow::BufferType type = kernel.getOperandBuffer(index);
    operands.push_back({body.operand(code, index), type.getShape().size() == 1,
                        type.getWidth() == 1, type.getRowElements()});
  }
}

Value Epilogue::apply(VectorCode &code, Value value, Value row, Value column, int64_t valid) const {
  SmallVector<Value> arguments = {value};
  for (const Operand &operand : operands) {
    Value element = operand.everyRow ? code.integer(0) : code.multiply(row, operand.rowElements);
    if (operand.everyColumn) {
      arguments.push_back(code.broadcast(code.loadScalar(code.at(operand.base, element))));
      continue;
    }
    element = operand.everyRow ? column : code.add(element, column);
    arguments.push_back(code.loadVector(code.at(operand.base, element), valid));
  }
  return cloneScalarMaths(code, kernel.getEpilogue().front(), arguments, code.vector);
}

void Epilogue::prefetch(VectorCode &code, Value row, Value column, int64_t width) const {
  for (const Operand &operand : operands) {
    if (!operand.everyRow && !operand.everyColumn) {
      Value element = code.add(code.multiply(row, operand.rowElements), column);
      code.prefetchLines(code.at(operand.base, element), width);
    }
  }
}

Value cloneScalarMaths(VectorCode &code, Block &block, ValueRange arguments, Type type) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  auto vectorType = dyn_cast<VectorType>(type);
  for (Operation &op : block.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && vectorType) {
      auto splat = DenseElementsAttr::get(vectorType.clone(constant.getType()),
                                          Attribute(constant.getValue()));
      mapping.map(constant.getResult(),
                  arith::ConstantOp::create(code.builder, code.location, splat));
      continue;
    }
    Operation *copy = code.builder.clone(op, mapping);
    // Without fast-math flags, for the reason given in VectorCode.cpp.
    if (auto maths = dyn_cast<arith::ArithFastMathInterface>(copy)) {
      copy->setAttr(maths.getFastMathAttrName(),
                    arith::FastMathFlagsAttr::get(copy->getContext(), arith::FastMathFlags::none));
    }
    for (OpResult result : copy->getResults()) {
      // Comparisons return i1, all other operations the elements' type.
      if (vectorType) {
        result.setType(vectorType.clone(getElementTypeOrSelf(result.getType())));
      }
    }
  }
  return mapping.lookup(block.getTerminator()->getOperand(0));
}

// Returns `term` of the last vector of a row, from `column` on, of which `valid` lanes are used. A
// team member whose column is past the end returns `neutral`.
static Value lastTerm(VectorCode &code, Value row, int64_t column, int64_t width, Value neutral,
                      llvm::function_ref<Value(Value vector, int64_t valid)> term) {
  Value own = code.ownColumn(code.integer(column));
  if (!code.team || column + code.columnStep() <= width) {
    const int64_t valid = std::min(code.lanes, width - column);
    return term(code.loadVector(code.at(row, own), valid), valid);
  }
  // Other members may be writing their columns, so the load must be conditional.
  auto side = [&](llvm::function_ref<Value()> value) {
    return [value](OpBuilder &builder, Location location) {
      scf::YieldOp::create(builder, location, value());
    };
  };
  auto load = [&] { return term(code.loadVector(code.at(row, own)), code.lanes); };
  auto nothing = [&] { return neutral; };
  return scf::IfOp::create(code.builder, code.location, code.less(own, code.integer(width)),
                           side(load), side(nothing))
      .getResult(0);
}

Value sumOverRow(VectorCode &code, Value row, int64_t width,
                 llvm::function_ref<Value(Value vector, int64_t valid)> term) {
  constexpr int64_t unroll = 4;
  const int64_t step = code.columnStep(), group = unroll * step, whole = width / group * group;
  SmallVector<Value> sums(unroll, code.splat(0));
  if (whole > 0) {
    sums = code.loop(code.integer(0), code.integer(whole), group, sums,
                     [&](Value first, ValueRange carried) {
                       SmallVector<Value> next;
                       for (int64_t i = 0; i < unroll; ++i) {
                         Value column = code.ownColumn(code.add(first, i * step));
                         Value x = code.loadVector(code.at(row, column));
                         next.push_back(code.addFloat(carried[i], term(x, code.lanes)));
                       }
                       return next;
                     });
  }
  for (int64_t column = whole, i = 0; column < width; column += step, ++i) {
    Value next = lastTerm(code, row, column, width, code.splat(0), term);
    sums[i % unroll] = code.addFloat(sums[i % unroll], next);
  }
  Value sum = code.sumOfLanes(
      code.addFloat(code.addFloat(sums[0], sums[1]), code.addFloat(sums[2], sums[3])));
  return code.combineTeam(sum, [&](Value a, Value b) { return code.addFloat(a, b); });
}

Value largestOverRow(VectorCode &code, Value row, int64_t width, Largest largest,
                     llvm::function_ref<Value(Value vector)> term) {
  const float infinity = std::numeric_limits<float>::infinity();
  auto larger = [&](Value a, Value b) {
    return largest == Largest::OrNan ? code.maximumOrNan(a, b) : code.maximum(a, b);
  };
  auto clear = [&](Value x, int64_t valid) {
    Value next = term(x);
    return valid == code.lanes
               ? next
               : code.keepBelow(next, code.integer(0), code.integer(valid), -infinity);
  };
  const int64_t step = code.columnStep(), whole = width / step * step;
  Value lowest = code.splat(-infinity);
  Value most = code.loop(code.integer(0), code.integer(whole), step, {lowest},
                         [&](Value column, ValueRange carried) {
                           Value x = code.loadVector(code.at(row, code.ownColumn(column)));
                           return SmallVector<Value>{larger(term(x), carried[0])};
                         })[0];
  if (whole < width) {
    most = larger(lastTerm(code, row, whole, width, lowest, clear), most);
  }
  return code.combineTeam(largest == Largest::OrNan ? code.maximumOfLanesOrNan(most)
                                                    : code.maximumOfLanes(most),
                          larger);
}

// Sets the lanes past `valid` to zero, so that they do not change a sum.
static Value clearTail(VectorCode &code, Value vector, int64_t valid) {
  return valid == code.lanes ? vector
                             : code.keepBelow(vector, code.integer(0), code.integer(valid), 0.0f);
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias. The variance is computed from centred
// values, because a difference of two large sums loses digits.
static void emitLayerNorm(VectorCode &code, const KernelBody &body, Value row, int64_t width,
                          float epsilon) {
  unsigned first = body.kernel.getKernelType().getNumInputs() - 2;
  Value weight = body.operand(code, first);
  Value bias = body.operand(code, first + 1);
  Value inverseWidth = code.number(1.0f / static_cast<float>(width));
  Value sum = sumOverRow(code, row, width, [](Value x, int64_t) { return x; });
  Value mean = code.broadcast(code.multiplyFloat(sum, inverseWidth));
  Value squares = sumOverRow(code, row, width, [&](Value x, int64_t valid) {
    Value centred = clearTail(code, code.subtractFloat(x, mean), valid);
    return code.multiplyFloat(centred, centred);
  });
  Value variance = code.multiplyFloat(squares, inverseWidth);
  Value deviation = code.squareRoot(code.addFloat(variance, code.number(epsilon)));
  Value factor = code.broadcast(code.divideFloat(code.number(1.0f), deviation));
  code.overRow(width, 4, [&](Value column, int64_t valid) {
    Value x = code.loadVector(code.at(row, column), valid);
    Value scaled = code.multiplyFloat(code.subtractFloat(x, mean), factor);
    Value w = code.loadVector(code.at(weight, column), valid);
    Value b = code.loadVector(code.at(bias, column), valid);
    code.storeVector(code.fma(scaled, w, b), code.at(row, column), valid);
  });
}

// x / sqrt(mean of x^2 + epsilon) * weight.
static void emitRmsNorm(VectorCode &code, const KernelBody &body, Value row, int64_t width,
                        float epsilon) {
  Value weight = body.operand(code, body.kernel.getKernelType().getNumInputs() - 1);
  Value squares =
      sumOverRow(code, row, width, [&](Value x, int64_t) { return code.multiplyFloat(x, x); });
  Value mean = code.multiplyFloat(squares, code.number(1.0f / static_cast<float>(width)));
  Value deviation = code.squareRoot(code.addFloat(mean, code.number(epsilon)));
  Value factor = code.broadcast(code.divideFloat(code.number(1.0f), deviation));
  code.overRow(width, 4, [&](Value column, int64_t valid) {
    Value x = code.loadVector(code.at(row, column), valid);
    Value w = code.loadVector(code.at(weight, column), valid);
    Value scaled = code.multiplyFloat(code.multiplyFloat(x, factor), w);
    code.storeVector(scaled, code.at(row, column), valid);
  });
}

static void emitNormalize(VectorCode &code, Value row, int64_t width, float epsilon) {
  Value squares =
      sumOverRow(code, row, width, [&](Value x, int64_t) { return code.multiplyFloat(x, x); });
  Value length = code.maximum(code.squareRoot(squares), code.number(epsilon));
  Value factor = code.broadcast(code.divideFloat(code.number(1.0f), length));
  code.overRow(width, 4, [&](Value column, int64_t valid) {
    Value x = code.loadVector(code.at(row, column), valid);
    code.storeVector(code.multiplyFloat(x, factor), code.at(row, column), valid);
  });
}

// exp(x - max) / sum. NaN is ignored by the maximum, but propagates through the sum.
static void emitSoftmax(VectorCode &code, Value row, int64_t width) {
  Value largest = code.broadcast(
      largestOverRow(code, row, width, Largest::OfNumbers, [](Value x) { return x; }));
  code.overRow(width, 1, [&](Value column, int64_t valid) {
    Value x = code.subtractFloat(code.loadVector(code.at(row, column), valid), largest);
    code.storeVector(math::ExpOp::create(code.builder, code.location, x), code.at(row, column),
                     valid);
  });
  Value sum = code.broadcast(sumOverRow(code, row, width, [](Value x, int64_t) { return x; }));
  code.overRow(width, 4, [&](Value column, int64_t valid) {
    Value x = code.loadVector(code.at(row, column), valid);
    code.storeVector(code.divideFloat(x, sum), code.at(row, column), valid);
  });
}

void emitRowNorm(VectorCode &code, const KernelBody &body, Value row, int64_t width) {
  dataflow::NormAttr norm = *body.kernel.getNorm();
  float epsilon = norm.getEpsilon().getValue().convertToFloat();
  switch (norm.getKind()) {
  case dataflow::NormKind::LayerNorm:
    emitLayerNorm(code, body, row, width, epsilon);
    return;
  case dataflow::NormKind::RmsNorm:
    emitRmsNorm(code, body, row, width, epsilon);
    return;
  case dataflow::NormKind::Normalize:
    emitNormalize(code, row, width, epsilon);
    return;
  case dataflow::NormKind::Softmax:
    emitSoftmax(code, row, width);
    return;
  }
}

void emitRowNorms(VectorCode &code, const KernelBody &body) {
  KernelResult result =
      KernelResult::load(code, body.arguments, *body.kernel.getComputes().getEpilogueResult());
  code.overRows(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value row) {
    emitRowNorm(code, body, result.at(code, row, code.integer(0)),
                body.kernel.getMappedBuffer().getWidth());
  });
}

} // namespace heddle
