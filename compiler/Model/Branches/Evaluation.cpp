// SPDX-License-Identifier: Apache-2.0
///
/// Counts the cost of an evaluation, describes it and writes its operations.
#include "compiler/Model/Branches/Evaluation.h"

#include "compiler/Cost/OperationCost.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

/// Counts the multiplications of an element by a factor.
static int64_t countFactors(const Factor &factor) {
  return (factor.isOne() ? 0 : 1) + static_cast<int64_t>(factor.rows.size());
}

/// Returns the cost of a node without that of its parts.
static int64_t ownCost(const EvaluationNode &node) {
  switch (node.kind) {
  case EvaluationNode::Kind::Columns:
    return 0;
  case EvaluationNode::Kind::Linear:
    return 2 * node.weight->columns() * node.width;
  case EvaluationNode::Kind::Activate:
    return node.width;
  case EvaluationNode::Kind::Sum:
    int64_t steps = static_cast<int64_t>(node.parts.size()) - (node.bias ? 0 : 1);
    for (const Addend &part : node.parts) {
      steps += countFactors(part.factor);
    }
    return steps * node.width;
  }
  llvm_unreachable("every kind is handled");
}

int64_t costOf(const Evaluation &evaluation) {
  int64_t cost = ownCost(*evaluation);
  for (const Addend &part : evaluation->parts) {
    cost += costOf(part.evaluation);
  }
  return cost;
}

int64_t costOf(ArrayRef<Operation *> operations) {
  int64_t cost = 0;
  for (Operation *operation : operations) {
    auto linear = dyn_cast<LinearOp>(operation);
    cost += flopsPerRow(operation);
    cost -= linear && linear.getBiasAttr() ? linear.getType().getDimSize(1) : 0;
  }
  return cost;
}

void appendReplaced(const Evaluation &evaluation, SmallVectorImpl<Operation *> &operations) {
  llvm::append_range(operations, evaluation->replaced);
  for (const Addend &part : evaluation->parts) {
    appendReplaced(part.evaluation, operations);
  }
}

std::string describeMaps(const Evaluation &evaluation) {
  std::string text;
  auto append = [&](const std::string &more) {
    text += text.empty() || more.empty() ? more : ", " + more;
  };
  for (const Addend &part : evaluation->parts) {
    append(describeMaps(part.evaluation));
  }
  if (evaluation->kind == EvaluationNode::Kind::Linear) {
    std::string groups = evaluation->groups == 1
                             ? std::string()
                             : " in " + std::to_string(evaluation->groups) + " groups";
    append(std::to_string(evaluation->parts.front().evaluation->width) + " to " +
           std::to_string(evaluation->width) + groups);
  }
  return text;
}

namespace {
/// Writes the operations of an evaluation.
class EvaluationEmitter {
public:
  EvaluationEmitter(OpBuilder &builder, Location location, DerivedParameters &parameters)
      : builder(builder), location(location), parameters(parameters) {}

  Value emit(const Evaluation &evaluation);

private:
  Value emitColumns(const EvaluationNode &node);
  Value emitLinear(const EvaluationNode &node);
  Value emitSum(const EvaluationNode &node);
  Value emitFactor(Value value, const Factor &factor);
  RankedTensorType rowsType(int64_t width) {
    return RankedTensorType::get({ShapedType::kDynamic, width}, builder.getF32Type());
  }

  OpBuilder &builder;
  Location location;
  DerivedParameters &parameters;
};
} // namespace

Value EvaluationEmitter::emit(const Evaluation &evaluation) {
  switch (evaluation->kind) {
  case EvaluationNode::Kind::Columns:
    return emitColumns(*evaluation);
  case EvaluationNode::Kind::Linear:
    return emitLinear(*evaluation);
  case EvaluationNode::Kind::Activate: {
    Value input = emit(evaluation->parts.front().evaluation);
    return ActivateOp::create(builder, input.getLoc(), input.getType(), evaluation->function,
                              input);
  }
  case EvaluationNode::Kind::Sum:
    return emitSum(*evaluation);
  }
  llvm_unreachable("every kind is handled");
}

Value EvaluationEmitter::emitColumns(const EvaluationNode &node) {
  Value base = node.columns.base;
  if (base.getType() == rowsType(node.width)) {
    return base;
  }
  return ColumnsOp::create(builder, base.getLoc(), rowsType(node.width), base,
                           builder.getI64IntegerAttr(node.columns.first));
}

Value EvaluationEmitter::emitLinear(const EvaluationNode &node) {
  Value input = emit(node.parts.front().evaluation);
  SmallVector<Location> locations;
  node.weight->appendLocations(locations);
  Location place = FusedLoc::get(builder.getContext(), locations);
  FlatSymbolRefAttr weight = node.weight->derive(parameters);
  FlatSymbolRefAttr bias = node.bias ? node.bias->derive(parameters) : FlatSymbolRefAttr();
  if (node.groups == 1) {
    return LinearOp::create(builder, place, rowsType(node.width), input, weight, bias);
  }
  return GroupedLinearOp::create(builder, place, rowsType(node.width), input, weight, bias,
                                 builder.getI64IntegerAttr(node.groups));
}

Value EvaluationEmitter::emitFactor(Value value, const Factor &factor) {
  if (!factor.isOne() && factor.weights.empty()) {
    value = ScaleOp::create(builder, location, value.getType(), value,
                            builder.getF32FloatAttr(static_cast<float>(factor.constant)));
  } else if (!factor.isOne()) {
    FlatSymbolRefAttr number = deriveFactor(factor, location, parameters);
    auto type = RankedTensorType::get({1}, builder.getF32Type());
    Value weight = WeightOp::create(builder, location, type, number);
    value = MultiplyOp::create(builder, location, value.getType(), value, weight);
  }
  for (Value rows : factor.rows) {
    value = MultiplyOp::create(builder, location, value.getType(), value, rows);
  }
  return value;
}

Value EvaluationEmitter::emitSum(const EvaluationNode &node) {
  Value sum;
  // Compute each part directly before it is added, so that kernels add to the last result.
  for (const Addend &part : node.parts) {
    Value value = emitFactor(emit(part.evaluation), part.factor);
    sum = sum ? AddOp::create(builder, location, value.getType(), sum, value) : value;
  }
  if (node.bias) {
    auto type = RankedTensorType::get(node.bias->shape(), builder.getF32Type());
    Value bias = WeightOp::create(builder, location, type, node.bias->derive(parameters));
    sum = AddOp::create(builder, location, sum.getType(), sum, bias);
  }
  return sum;
}

Value emitEvaluation(OpBuilder &builder, Location location, const Evaluation &evaluation,
                     DerivedParameters &parameters) {
  return EvaluationEmitter(builder, location, parameters).emit(evaluation);
}

} // namespace heddle
