// SPDX-License-Identifier: Apache-2.0
///
/// Looks up the parameters of a module by symbol and by expression, and replaces the parameters
/// that graphs read.
#include "compiler/Parameters/DerivedParameters.h"

#include "dialects/Transformer/ElementTypes.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

int64_t byteSize(ParameterOp parameter) {
  RankedTensorType type = parameter.getTensorType();
  return storedAs(type.getElementType(), type.getShape()).bytes();
}

llvm::DenseSet<Attribute> neededParameters(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::DenseSet<Attribute> needed;
  SmallVector<ParameterOp> pending;
  auto need = [&](Operation *user) {
    // Symbols may be nested in expressions, arrays and dictionaries.
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

// Longer lists of names are abbreviated to the first and the last one.
static constexpr size_t mostNamesJoined = 4;
// The longest joined part. Names joined from joined names would otherwise grow with each step.
static constexpr size_t longestJoined = 96;

/// Returns the first and the last part of a name that joins many.
static std::string shorten(StringRef joined) {
  if (joined.size() <= longestJoined) {
    return joined.str();
  }
  StringRef first = joined.split('_').first.take_front(longestJoined / 2);
  StringRef last = joined.rsplit('_').second.take_back(longestJoined / 2);
  return (first + "_to_" + last).str();
}

std::string joinNames(ArrayRef<FlatSymbolRefAttr> symbols) {
  SmallVector<SmallVector<StringRef>> names;
  size_t shortest = SIZE_MAX;
  for (FlatSymbolRefAttr symbol : symbols) {
    symbol.getValue().split(names.emplace_back(), '.');
    shortest = std::min(shortest, names.back().size());
  }
  ArrayRef<StringRef> first = names.front();
  // Leave each name at least one distinct part.
  size_t before = 0;
  while (before + 1 < shortest &&
         llvm::all_of(names, [&](auto &name) { return name[before] == first[before]; })) {
    ++before;
  }
  size_t after = 0;
  while (before + after + 1 < shortest && llvm::all_of(names, [&](auto &name) {
           return name[name.size() - 1 - after] == first[first.size() - 1 - after];
         })) {
    ++after;
  }
  SmallVector<std::string> middle;
  for (ArrayRef<StringRef> name : names) {
    middle.push_back(llvm::join(name.drop_front(before).drop_back(after), "."));
  }
  // The layers of a decoder may all read the same rows; the first and the last layer identify them.
  if (middle.size() > mostNamesJoined) {
    middle = {middle.front(), "to", middle.back()};
  }
  SmallVector<std::string> parts;
  for (StringRef part : first.take_front(before)) {
    parts.push_back(part.str());
  }
  parts.push_back(shorten(llvm::join(middle, "_")));
  for (StringRef part : first.take_back(after)) {
    parts.push_back(part.str());
  }
  return llvm::join(parts, ".");
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
                                            llvm::ArrayRef<int64_t> shape, FloatAttr factor,
                                            llvm::ArrayRef<int64_t> numbers) {
  OpBuilder builder(module.getContext());
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  FlatSymbolRefAttr base;
  if (kind == ExpressionKind::Reshape) {
    // Folds a reshape of a reshape into one of the original, or into the original itself.
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
  return derive(location, name,
                ParameterExpressionAttr::get(builder.getContext(), kind, operands, numbers, factor),
                type);
}

FlatSymbolRefAttr DerivedParameters::derive(Location location, StringRef name,
                                            ParameterExpressionAttr expression,
                                            RankedTensorType type) {
  ParameterOp &known = byExpression[{expression, type}];
  if (!known) {
    OpBuilder builder(module.getContext());
    known = ParameterOp::create(builder, location, builder.getStringAttr(name), TypeAttr::get(type),
                                StringAttr(), expression);
    Block *body = module.getBody();
    symbols.insert(known, last ? std::next(Block::iterator(last)) : body->begin());
    last = known;
  }
  return FlatSymbolRefAttr::get(known.getSymNameAttr());
}

Value GraphParameters::replace(dataflow::ParameterOp old, dataflow::BufferType type,
                               FlatSymbolRefAttr symbol, ArrayAttr encodings) {
  dataflow::ParameterOp &found =
      known[{old->getParentOp(), Attribute(symbol), Attribute(encodings)}];
  if (!found) {
    OpBuilder builder(old);
    found = dataflow::ParameterOp::create(builder, old.getLoc(), type, symbol, encodings);
  }
  return found.getResult();
}

void eraseUnreadParameters(ModuleOp module) {
  for (auto graph : module.getOps<dataflow::GraphOp>()) {
    for (auto parameter :
         llvm::make_early_inc_range(graph.getBody().getOps<dataflow::ParameterOp>())) {
      if (parameter->use_empty()) {
        parameter.erase();
      }
    }
  }
}

} // namespace heddle
