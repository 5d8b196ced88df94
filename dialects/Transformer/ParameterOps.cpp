// SPDX-License-Identifier: Apache-2.0
///
/// Verification of parameters and of the weight algebra on them.
#include "dialects/Transformer/ParameterChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace heddle::transformer;

/// More than any tensor of a checkpoint has; products of two such counts are far from overflow.
static constexpr int64_t kMostElements = int64_t{1} << 40;

/// Columns of one panel of packed weights: the register tile of every target reads these.
static constexpr int64_t kPanelWidth = 48;

LogicalResult ParameterOp::verify() {
  // C1
  if (getSource().has_value() == getExpression().has_value()) {
    return emitOpError("expects either a source or an expression, got ")
           << (getSource() ? "both" : "neither");
  }
  // C2
  RankedTensorType type = getTensorType();
  if (type.getRank() < 1 || type.getRank() > 4 ||
      llvm::any_of(type.getShape(), [](int64_t size) { return size <= 0; })) {
    return emitOpError("expects rank 1 to 4 and positive dimensions, got ") << type;
  }
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    if (llvm::MulOverflow(elements, size, elements) || elements > kMostElements) {
      return emitOpError("expects at most 2^40 elements, got ") << type;
    }
  }
  return success();
}

/// The shape an expression gives for shapes of its operands; fails where it has none. A kind's own
/// number of operands has been checked.
static FailureOr<SmallVector<int64_t>>
inferShape(ExpressionKind kind, ArrayRef<RankedTensorType> operands, RankedTensorType result) {
  SmallVector<int64_t> shape(result.getShape());
  switch (kind) {
  case ExpressionKind::Zeros:
    return shape;
  case ExpressionKind::Reshape:
    if (operands[0].getNumElements() != result.getNumElements()) {
      return failure();
    }
    return shape;
  case ExpressionKind::Transpose:
    if (operands[0].getRank() != 2) {
      return failure();
    }
    return SmallVector<int64_t>{operands[0].getDimSize(1), operands[0].getDimSize(0)};
  case ExpressionKind::Pack:
    if (operands[0].getRank() != 2) {
      return failure();
    }
    return SmallVector<int64_t>{
        static_cast<int64_t>(llvm::divideCeil(operands[0].getDimSize(0), kPanelWidth)),
        operands[0].getDimSize(1), kPanelWidth};
  case ExpressionKind::Concat:
    shape.assign(operands[0].getShape().begin(), operands[0].getShape().end());
    for (RankedTensorType operand : operands.drop_front()) {
      if (operand.getShape().drop_front() != operands[0].getShape().drop_front()) {
        return failure();
      }
      shape[0] += operand.getDimSize(0);
    }
    return shape;
  }
  llvm_unreachable("every kind is handled");
}

/// C3: as many operands as the kind takes.
static LogicalResult verifyOperandCount(ParameterOp parameter, ParameterExpressionAttr expression) {
  size_t count = expression.getOperands().size();
  ExpressionKind kind = expression.getKind();
  if (kind == ExpressionKind::Concat) {
    if (count == 0) {
      return parameter.emitOpError("expects 'concat' of at least one parameter, got none");
    }
    return success();
  }
  size_t expected = kind == ExpressionKind::Zeros ? 0 : 1;
  if (count != expected) {
    return parameter.emitOpError("expects '")
           << stringifyExpressionKind(kind) << "' of " << expected
           << (expected == 1 ? " parameter" : " parameters") << ", got " << count;
  }
  return success();
}

/// C5: walks all that the parameter needs, each once, without recursion.
static LogicalResult verifyAcyclic(ParameterOp parameter, SymbolTableCollection &symbolTable) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<ParameterOp> pending{parameter};
  while (!pending.empty()) {
    ParameterOp current = pending.pop_back_val();
    if (!current.getExpression()) {
      continue;
    }
    for (FlatSymbolRefAttr operand : current.getExpression()->getOperands()) {
      auto needed = symbolTable.lookupNearestSymbolFrom<ParameterOp>(parameter, operand);
      if (needed == parameter) {
        InFlightDiagnostic error =
            parameter.emitOpError("expects an expression that does not need '@")
            << parameter.getSymName() << "' itself, got one that does";
        error.attachNote(current.getLoc()) << "it is used here";
        return error;
      }
      if (needed && seen.insert(needed).second) {
        pending.push_back(needed);
      }
    }
  }
  return success();
}

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getExpression()) {
    return success();
  }
  ParameterExpressionAttr expression = *getExpression();
  if (failed(verifyOperandCount(*this, expression))) {
    return failure();
  }
  SmallVector<RankedTensorType> operands;
  for (FlatSymbolRefAttr symbol : expression.getOperands()) {
    // C3
    ParameterOp operand = lookUpParameter(*this, "operand", symbol, symbolTable);
    if (!operand) {
      return failure();
    }
    operands.push_back(operand.getTensorType());
  }
  // C4
  FailureOr<SmallVector<int64_t>> shape =
      inferShape(expression.getKind(), operands, getTensorType());
  if (failed(shape)) {
    InFlightDiagnostic error = emitOpError("expects operands that '")
                               << stringifyExpressionKind(expression.getKind())
                               << "' takes, got shapes ";
    llvm::interleaveComma(operands, error, [&](RankedTensorType operand) {
      error << printShape(operand.getShape());
    });
    error << " for " << printShape(getTensorType().getShape());
    return error;
  }
  if (ArrayRef<int64_t>(*shape) != getTensorType().getShape()) {
    return emitOpError("expects shape ") << printShape(*shape) << " of its expression, got "
                                         << printShape(getTensorType().getShape());
  }
  return verifyAcyclic(*this, symbolTable);
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  return verifyParameterShape(*this, "weight", getParameterAttr(), getType().getShape(),
                              symbolTable);
}
