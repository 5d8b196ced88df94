// SPDX-License-Identifier: Apache-2.0
///
/// A function of scores is a graph, such as s * sigmoid(s). Its input is the nearest value that
/// dominates all paths to its result.
#include "compiler/Model/Attention/ScoreMaths.h"

#include "compiler/Model/Attention/AttentionMasks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

using Values = llvm::SmallSetVector<Value, 4>;

/// Returns the number that every element of a value has, if it is a weight derived from a constant.
std::optional<float> constantOf(Value value) {
  auto weight = value.getDefiningOp<WeightOp>();
  FlatSymbolRefAttr symbol = weight ? weight.getParameterAttr() : FlatSymbolRefAttr();
  while (symbol) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(weight, symbol);
    ParameterExpressionAttr expression = parameter.getExpressionAttr();
    if (!expression) {
      return std::nullopt;
    }
    if (expression.getKind() == ExpressionKind::OnesFrom && expression.getNumbers()[0] <= 0) {
      return 1.0F;
    }
    symbol = expression.getKind() == ExpressionKind::Reshape ? expression.getOperands().front()
                                                             : FlatSymbolRefAttr();
  }
  return std::nullopt;
}

/// Returns whether an operation computes every score only from its operands' elements at the same
/// place.
bool isElementwise(Operation *op) {
  if (isa_and_nonnull<ScaleOp, ShiftOp, ActivateOp>(op) ||
      (isa_and_nonnull<AddOp>(op) && constantOf(op->getOperand(1)))) {
    return true;
  }
  return isa_and_nonnull<AddOp, MultiplyOp>(op) && !isNumberTimes(op) &&
         op->getOperand(0).getType() == op->getOperand(1).getType() &&
         !AttentionMasks::isBias(op->getOperand(0)) && !AttentionMasks::isBias(op->getOperand(1));
}

/// Returns the value that the program computes last; arguments precede everything.
Value lastOf(const Values &values) {
  return *std::max_element(values.begin(), values.end(), [](Value left, Value right) {
    Operation *first = left.getDefiningOp();
    Operation *second = right.getDefiningOp();
    return second && (!first || first->isBeforeInBlock(second));
  });
}

/// Returns one step for each of the operations, which are listed in reverse.
SmallVector<ScoreStep> stepsOf(ArrayRef<Operation *> backwards, Value input) {
  llvm::SmallDenseMap<Value, int64_t> numbers = {{input, 0}};
  SmallVector<ScoreStep> steps;
  for (Operation *op : llvm::reverse(backwards)) {
    auto numberOf = [&](unsigned operand) {
      std::optional<float> constant = constantOf(op->getOperand(operand));
      return constant ? ScoreTerm::ofConstant(*constant)
                      : ScoreTerm::ofValue(numbers.lookup(op->getOperand(operand)));
    };
    if (auto scale = dyn_cast<ScaleOp>(op)) {
      ScoreTerm factor = ScoreTerm::ofConstant(scale.getFactor().convertToFloat());
      steps.push_back(ScoreStep::multiply(numberOf(0), factor));
    } else if (auto shift = dyn_cast<ShiftOp>(op)) {
      ScoreTerm summand = ScoreTerm::ofConstant(shift.getNumber().convertToFloat());
      steps.push_back(ScoreStep::add(numberOf(0), summand));
    } else if (auto activate = dyn_cast<ActivateOp>(op)) {
      steps.push_back(ScoreStep::activate(activate.getFunction(), numberOf(0)));
    } else if (isa<AddOp>(op)) {
      steps.push_back(ScoreStep::add(numberOf(0), numberOf(1)));
    } else {
      steps.push_back(ScoreStep::multiply(numberOf(0), numberOf(1)));
    }
    numbers[op->getResult(0)] = static_cast<int64_t>(steps.size());
  }
  return steps;
}

} // namespace

static std::optional<MathsPiece> pieceBefore(Value value, bool takesLinear) {
  Values open;
  open.insert(value);
  SmallVector<Operation *> backwards;
  // The function up to the last value that was its only input.
  Value input = value;
  size_t count = 0;
  // Collects one step more than allowed: the score is then declined for its length.
  while (backwards.size() <= ScoreAttr::mostSteps) {
    if (open.size() == 1) {
      input = open.front();
      count = backwards.size();
    }
    Value last = lastOf(open);
    Operation *op = last.getDefiningOp();
    if (!isElementwise(op)) {
      break;
    }
    backwards.push_back(op);
    open.remove(last);
    for (Value operand : op->getOperands()) {
      if (!constantOf(operand)) {
        open.insert(operand);
      }
    }
  }
  backwards.truncate(count);
  auto isLinear = [](Operation *op) { return isa<ScaleOp, ShiftOp, AddOp>(op); };
  if (backwards.empty() || (!takesLinear && llvm::all_of(backwards, isLinear))) {
    return std::nullopt;
  }
  return MathsPiece{input, stepsOf(backwards, input)};
}

bool isNanGuard(Operation *op) {
  auto activate = dyn_cast<ActivateOp>(op);
  return activate && activate.getFunction() == Activation::NanToZero;
}

std::optional<MathsPiece> elementwiseBefore(Value value) {
  return pieceBefore(value, /*takesLinear=*/true);
}

std::optional<MathsPiece> mathsBefore(Value value) {
  return pieceBefore(value, /*takesLinear=*/false);
}

/// Increases the step numbers of operands by `by`.
static void renumber(MutableArrayRef<ScoreStep> steps, int64_t by) {
  for (ScoreStep &step : steps) {
    for (ScoreTerm *term : {&step.left, &step.right}) {
      bool isUsed = term == &step.left || step.kind != ScoreStep::Kind::Activate;
      if (isUsed && term->kind == ScoreTerm::Kind::Value) {
        term->value += by;
      }
    }
  }
}

void ScoreMaths::prepend(ArrayRef<ScoreStep> before) {
  renumber(steps, static_cast<int64_t>(before.size()));
  steps.insert(steps.begin(), before.begin(), before.end());
}

double ScoreMaths::takeFactor() {
  double factor = 1;
  auto takesInput = [](const ScoreStep &step) {
    return step.left.isValue(0) ||
           (step.kind != ScoreStep::Kind::Activate && step.right.isValue(0));
  };
  while (!steps.empty()) {
    const ScoreStep &first = steps.front();
    bool isFactor = first.kind == ScoreStep::Kind::Multiply && first.left.isValue(0) &&
                    first.right.kind == ScoreTerm::Kind::Constant && first.right.constant != 0;
    if (!isFactor || llvm::any_of(ArrayRef(steps).drop_front(), takesInput)) {
      break;
    }
    factor *= first.right.constant;
    steps.erase(steps.begin());
    renumber(steps, -1);
  }
  return factor;
}

} // namespace heddle
