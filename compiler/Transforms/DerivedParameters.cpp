// SPDX-License-Identifier: Apache-2.0
///
/// The table of a module's parameters by symbol and by expression.
#include "compiler/Transforms/DerivedParameters.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

int64_t byteSize(ParameterOp parameter) {
  RankedTensorType type = parameter.getTensorType();
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

llvm::DenseSet<Attribute> neededParameters(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::DenseSet<Attribute> needed;
  SmallVector<ParameterOp> pending;
  auto need = [&](Operation *user) {
    // Symbols may lie inside expressions, arrays and dictionaries.
    user->getAttrDictionary().walk([&](FlatSymbolRefAttr symbol) {
      if (!needed.insert(symbol.getAttr()).second) {
        return;
      }
      if (auto parameter = symbols.lookup<ParameterOp>(symbol.getAttr())) {
        pending.push_back(parameter);
      }
    });
  };
  module.walk([&](Operation *op) {
    if (!isa<ParameterOp>(op)) {
      need(op);
    }
  });
  while (!pending.empty()) {
    need(pending.pop_back_val());
  }
  return needed;
}

DerivedParameters::DerivedParameters(ModuleOp module) : module(module), symbols(module) {
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    last = parameter;
    if (auto expression = parameter.getExpressionAttr()) {
      byExpression.try_emplace({expression, parameter.getType()}, parameter);
    }
  }
}

ParameterOp DerivedParameters::lookUp(FlatSymbolRefAttr symbol) const {
  return symbols.lookup<ParameterOp>(symbol.getAttr());
}

FlatSymbolRefAttr DerivedParameters::derive(Location location, llvm::StringRef name,
                                            ExpressionKind kind,
                                            llvm::ArrayRef<FlatSymbolRefAttr> operands,
                                            llvm::ArrayRef<int64_t> shape) {
  OpBuilder builder(module.getContext());
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  FlatSymbolRefAttr base;
  if (kind == ExpressionKind::Reshape) {
    // A reshape of a reshape is one of what that had, and may be that itself.
    base = operands.front();
    ParameterOp stored = lookUp(base);
    while (stored.getExpression() && stored.getExpression()->getKind() == ExpressionKind::Reshape) {
      base = stored.getExpression()->getOperands().front();
      stored = lookUp(base);
    }
    if (stored.getType() == type) {
      return base;
    }
    operands = base;
  }
  auto expression = ParameterExpressionAttr::get(builder.getContext(), kind, operands);
  ParameterOp &known = byExpression[{expression, type}];
  if (!known) {
    known = ParameterOp::create(builder, location, builder.getStringAttr(name), TypeAttr::get(type),
                                StringAttr(), expression);
    Block *body = module.getBody();
    symbols.insert(known, last ? std::next(Block::iterator(last)) : body->begin());
    last = known;
  }
  return FlatSymbolRefAttr::get(known.getSymNameAttr());
}

} // namespace heddle
