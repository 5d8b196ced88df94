// SPDX-License-Identifier: Apache-2.0
///
/// Verification of parameters and of the weight algebra on them.
#include "dialects/Transformer/ParameterChecks.h"

#include "heddle/Abi.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::transformer;

/// More than any tensor of a checkpoint has; products of two such counts are far from overflow.
static constexpr int64_t kMostElements = int64_t{1} << 40;

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
        static_cast<int64_t>(llvm::divideCeil(operands[0].getDimSize(0), HEDDLE_PANEL)),
        operands[0].getDimSize(1), HEDDLE_PANEL};
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

/// C5. An operand in another block is in one around this one, which cannot name this parameter.
static LogicalResult verifyOrder(ParameterOp parameter, ParameterOp operand) {
  if (operand->getBlock() != parameter->getBlock() || operand->isBeforeInBlock(parameter)) {
    return success();
  }
  InFlightDiagnostic error = parameter.emitOpError("expects operands that are declared before it, "
                                                   "got '@")
                             << operand.getSymName() << "'";
  if (operand != parameter) {
    error.attachNote(operand.getLoc()) << "it is declared here";
  }
  return error;
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
    if (!operand || failed(verifyOrder(*this, operand))) {
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
  return success();
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  return verifyParameterShape(*this, "weight", getParameterAttr(), getType().getShape(),
                              symbolTable);
}
