// SPDX-License-Identifier: Apache-2.0
///
/// What a plan costs, says and writes.
#include "compiler/Model/Branches/BranchPlan.h"

#include "compiler/Cost/OperationCost.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

/// Multiplications of an element by a factor.
static int64_t countFactors(const Factor &factor) {
  return (factor.isOne() ? 0 : 1) + static_cast<int64_t>(factor.rows.size());
}

/// What a node does with its parts, without computing them.
static int64_t ownCost(const PlanNode &node) {
  switch (node.kind) {
  case PlanNode::Kind::Columns:
    return 0;
  case PlanNode::Kind::Linear:
    return 2 * node.weight->columns() * node.width;
  case PlanNode::Kind::Activate:
    return node.width;
  case PlanNode::Kind::Sum:
    int64_t steps = static_cast<int64_t>(node.parts.size()) - (node.bias ? 0 : 1);
    for (const Addend &part : node.parts) {
      steps += countFactors(part.factor);
    }
    return steps * node.width;
  }
  llvm_unreachable("every kind is handled");
}

int64_t costOf(const Plan &plan) {
  int64_t cost = ownCost(*plan);
  for (const Addend &part : plan->parts) {
    cost += costOf(part.plan);
  }
  return cost;
}

int64_t costOf(ArrayRef<Operation *> operations) {
  int64_t cost = 0;
  for (Operation *operation : operations) {
    auto linear = dyn_cast<LinearOp>(operation);
    cost += flopsPerToken(operation);
    cost -= linear && linear.getBiasAttr() ? linear.getType().getDimSize(1) : 0;
  }
  return cost;
}

void appendReplaced(const Plan &plan, SmallVectorImpl<Operation *> &operations) {
  llvm::append_range(operations, plan->replaced);
  for (const Addend &part : plan->parts) {
    appendReplaced(part.plan, operations);
  }
}

std::string describeMaps(const Plan &plan) {
  std::string text;
  auto append = [&](const std::string &more) {
    text += text.empty() || more.empty() ? more : ", " + more;
  };
  for (const Addend &part : plan->parts) {
    append(describeMaps(part.plan));
  }
  if (plan->kind == PlanNode::Kind::Linear) {
    std::string groups =
        plan->groups == 1 ? std::string() : " in " + std::to_string(plan->groups) + " groups";
    append(std::to_string(plan->parts.front().plan->width) + " to " + std::to_string(plan->width) +
           groups);
  }
  return text;
}

namespace {
/// Writes the operations of a plan.
class PlanEmitter {
public:
  PlanEmitter(OpBuilder &builder, Location location, DerivedParameters &parameters)
      : builder(builder), location(location), parameters(parameters) {}

  Value emit(const Plan &plan);

private:
  Value emitColumns(const PlanNode &node);
  Value emitLinear(const PlanNode &node);
  Value emitSum(const PlanNode &node);
  Value emitFactor(Value value, const Factor &factor);
  RankedTensorType rowsType(int64_t width) {
    return RankedTensorType::get({ShapedType::kDynamic, width}, builder.getF32Type());
  }

  OpBuilder &builder;
  Location location;
  DerivedParameters &parameters;
};
} // namespace

Value PlanEmitter::emit(const Plan &plan) {
  switch (plan->kind) {
  case PlanNode::Kind::Columns:
    return emitColumns(*plan);
  case PlanNode::Kind::Linear:
    return emitLinear(*plan);
  case PlanNode::Kind::Activate: {
    Value input = emit(plan->parts.front().plan);
    return ActivateOp::create(builder, input.getLoc(), input.getType(), plan->function, input);
  }
  case PlanNode::Kind::Sum:
    return emitSum(*plan);
  }
  llvm_unreachable("every kind is handled");
}

Value PlanEmitter::emitColumns(const PlanNode &node) {
  Value base = node.columns.base;
  if (base.getType() == rowsType(node.width)) {
    return base;
  }
  return ColumnsOp::create(builder, base.getLoc(), rowsType(node.width), base,
                           builder.getI64IntegerAttr(node.columns.first));
}

Value PlanEmitter::emitLinear(const PlanNode &node) {
  Value input = emit(node.parts.front().plan);
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

Value PlanEmitter::emitFactor(Value value, const Factor &factor) {
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

Value PlanEmitter::emitSum(const PlanNode &node) {
  Value sum;
  // Each part right before it is added: kernels then add to what they computed last.
  for (const Addend &part : node.parts) {
    Value value = emitFactor(emit(part.plan), part.factor);
    sum = sum ? AddOp::create(builder, location, value.getType(), sum, value) : value;
  }
  if (node.bias) {
    auto type = RankedTensorType::get(node.bias->shape(), builder.getF32Type());
    Value bias = WeightOp::create(builder, location, type, node.bias->derive(parameters));
    sum = AddOp::create(builder, location, sum.getType(), sum, bias);
  }
  return sum;
}

Value emitPlan(OpBuilder &builder, Location location, const Plan &plan,
               DerivedParameters &parameters) {
  return PlanEmitter(builder, location, parameters).emit(plan);
}

} // namespace heddle
