// SPDX-License-Identifier: Apache-2.0
///
/// Follows expressions down to the tensors of a checkpoint, operands first.
#include "compiler/Parameters/KeptCodes.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

static ArrayRef<FlatSymbolRefAttr> operandsOf(ParameterOp parameter) {
  auto expression = parameter.getExpression();
  return expression ? expression->getOperands() : ArrayRef<FlatSymbolRefAttr>();
}

const KeptCodes &CodesOfParameters::of(FlatSymbolRefAttr symbol) {
  SmallVector<FlatSymbolRefAttr> open = {symbol};
  while (!open.empty()) {
    const FlatSymbolRefAttr next = open.back();
    const size_t before = open.size();
    if (!known.contains(next)) {
      llvm::copy_if(operandsOf(parameters.lookUp(next)), std::back_inserter(open),
                    [&](FlatSymbolRefAttr operand) { return !known.contains(operand); });
    }
    if (open.size() == before) {
      if (!known.contains(next)) {
        KeptCodes found = find(parameters.lookUp(next));
        known.try_emplace(next, std::move(found));
      }
      open.pop_back();
    }
  }
  return known.find(symbol)->second;
}

QuantizedType CodesOfParameters::typeOf(const KeptCodes &codes) const {
  return cast<QuantizedType>(parameters.lookUp(codes.symbol).getTensorType().getElementType());
}

KeptCodes CodesOfParameters::derive(ParameterOp parameter, ArrayRef<FlatSymbolRefAttr> operands,
                                    QuantizedType element) {
  ParameterExpressionAttr expression = *parameter.getExpression();
  auto moved = ParameterExpressionAttr::get(parameter.getContext(), expression.getKind(), operands,
                                            expression.getNumbers());
  return {parameters.derive(parameter.getLoc(), (parameter.getSymName() + ".codes").str(), moved,
                            parameter.getTensorType().clone(element))};
}

/// Joins the codes of concatenated matrices: rows keep their codes if all rows have the same type.
KeptCodes CodesOfParameters::join(ParameterOp parameter) {
  SmallVector<FlatSymbolRefAttr> operands;
  QuantizedType element;
  for (FlatSymbolRefAttr operand : operandsOf(parameter)) {
    const KeptCodes &codes = known.find(operand)->second;
    if (!codes.symbol) {
      return {{}, codes.reason.empty() ? "rows with and without codes are joined" : codes.reason};
    }
    const QuantizedType its = typeOf(codes);
    if (element && element.withFull(false) != its.withFull(false)) {
      return {{}, "rows of different codes are joined"};
    }
    element = its.withFull(its.getFull() || (element && element.getFull()));
    operands.push_back(codes.symbol);
  }
  return derive(parameter, operands, element);
}

/// Moves the codes of an operand: some of its rows, or the same elements in another shape.
KeptCodes CodesOfParameters::move(ParameterOp parameter) {
  const KeptCodes &codes = known.find(operandsOf(parameter).front())->second;
  if (!codes.symbol) {
    return codes;
  }
  const RankedTensorType from = parameters.lookUp(codes.symbol).getTensorType();
  if (from.getShape().back() != parameter.getTensorType().getShape().back()) {
    return {{}, "rows of codes are cut"};
  }
  if (from.getShape() == parameter.getTensorType().getShape()) {
    return codes;
  }
  return derive(parameter, codes.symbol, typeOf(codes));
}

KeptCodes CodesOfParameters::find(ParameterOp parameter) {
  if (isa<QuantizedType>(parameter.getTensorType().getElementType())) {
    return {FlatSymbolRefAttr::get(parameter.getSymNameAttr())};
  }
  const bool hasCodes = llvm::any_of(operandsOf(parameter), [&](FlatSymbolRefAttr operand) {
    const KeptCodes &codes = known.find(operand)->second;
    return codes.symbol || !codes.reason.empty();
  });
  if (!hasCodes) {
    return {};
  }
  const ExpressionKind kind = parameter.getExpression()->getKind();
  const bool isWide = parameter.getTensorType().getElementType().isF32();
  if (isWide && kind == ExpressionKind::Concat) {
    return join(parameter);
  }
  if (isWide && kind == ExpressionKind::Rows && parameter.getTensorType().getRank() > 1) {
    return move(parameter);
  }
  if (isWide && (kind == ExpressionKind::Reshape || kind == ExpressionKind::Convert)) {
    return move(parameter);
  }
  return {{}, ("made of codes by '" + stringifyExpressionKind(kind) + "'").str()};
}

} // namespace heddle
