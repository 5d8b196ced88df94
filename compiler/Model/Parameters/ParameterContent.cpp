// SPDX-License-Identifier: Apache-2.0
///
/// Represents the origin of a parameter's values as an attribute: two parameters with the same
/// origin are equal without reading them.
#include "compiler/Model/Parameters/ParameterContent.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

constexpr static llvm::StringLiteral rowsOrigin = "rows";

ParameterContents::ParameterContents(ModuleOp module, ParameterHasher hasher)
    : module(module), symbols(module), hasher(std::move(hasher)) {}

ParameterOp ParameterContents::lookUp(FlatSymbolRefAttr symbol) const {
  return symbols.lookup<ParameterOp>(symbol.getAttr());
}

ParameterRows ParameterContents::rowsOf(FlatSymbolRefAttr symbol) const {
  return {symbol, 0, lookUp(symbol).getTensorType().getDimSize(0)};
}

bool ParameterContents::haveOneShape(const ParameterRows &left, const ParameterRows &right) const {
  if (!left.symbol || !right.symbol) {
    return true;
  }
  return left.count == right.count &&
         lookUp(left.symbol).getTensorType().getShape().drop_front() ==
             lookUp(right.symbol).getTensorType().getShape().drop_front();
}

/// Returns the origin of a parameter's values: tensors of the checkpoint, contents that the program
/// names, and operations on these, without the names of intermediate symbols.
Attribute ParameterContents::originOf(FlatSymbolRefAttr symbol) {
  // Visits operands first, with a worklist: expressions may be nested as deep as the program is
  // long.
  SmallVector<FlatSymbolRefAttr> open = {symbol};
  while (!open.empty()) {
    FlatSymbolRefAttr next = open.back();
    ParameterOp parameter = lookUp(next);
    const size_t before = open.size();
    if (auto expression = parameter.getExpression();
        expression && !parameter.getContentAttr() && !origins.contains(next)) {
      llvm::copy_if(expression->getOperands(), std::back_inserter(open),
                    [&](FlatSymbolRefAttr operand) { return !origins.contains(operand); });
    }
    if (open.size() == before) {
      makeOrigin(next);
      open.pop_back();
    }
  }
  return origins.lookup(symbol);
}

/// Builds an origin; those of the operands are known.
Attribute ParameterContents::makeOrigin(FlatSymbolRefAttr symbol) {
  if (Attribute known = origins.lookup(symbol)) {
    return known;
  }
  Builder builder(module.getContext());
  ParameterOp parameter = lookUp(symbol);
  Attribute type = TypeAttr::get(parameter.getType());
  std::optional<ParameterExpressionAttr> expression = parameter.getExpression();
  Attribute origin;
  if (StringAttr content = parameter.getContentAttr()) {
    origin = builder.getArrayAttr({builder.getStringAttr("content"), content, type});
  } else if (!expression) {
    origin =
        builder.getArrayAttr({builder.getStringAttr("source"), parameter.getSourceAttr(), type});
  } else if (expression->getKind() == ExpressionKind::Rows) {
    origin = rowsOfOrigin(expression->getOperands().front(), expression->getNumbers().front(),
                          parameter.getTensorType().getDimSize(0));
  } else {
    // The expression without its symbols, with all other attributes of its kind.
    AttrTypeReplacer unname;
    unname.addReplacement([&](FlatSymbolRefAttr) -> std::optional<Attribute> {
      return FlatSymbolRefAttr::get(builder.getStringAttr(""));
    });
    SmallVector<Attribute> parts = {unname.replace(Attribute(*expression)), type};
    for (FlatSymbolRefAttr operand : expression->getOperands()) {
      parts.push_back(origins.lookup(operand));
    }
    origin = builder.getArrayAttr(parts);
  }
  origins[symbol] = origin;
  return origin;
}

/// Rows of a concatenation have the origin of the operand that contains all of them.
Attribute ParameterContents::rowsOfOrigin(FlatSymbolRefAttr symbol, int64_t first, int64_t count) {
  ParameterOp parameter = lookUp(symbol);
  if (first == 0 && count == parameter.getTensorType().getDimSize(0)) {
    return originOf(symbol);
  }
  std::optional<ParameterExpressionAttr> expression = parameter.getExpression();
  if (expression && !parameter.getContentAttr() &&
      expression->getKind() == ExpressionKind::Concat) {
    int64_t begin = 0;
    for (FlatSymbolRefAttr operand : expression->getOperands()) {
      int64_t end = begin + lookUp(operand).getTensorType().getDimSize(0);
      if (begin <= first && first + count <= end) {
        return rowsOfOrigin(operand, first - begin, count);
      }
      begin = end;
    }
  }
  Builder builder(module.getContext());
  return builder.getArrayAttr({builder.getStringAttr(rowsOrigin), originOf(symbol),
                               builder.getI64IntegerAttr(first), builder.getI64IntegerAttr(count)});
}

Attribute ParameterContents::originOf(const ParameterRows &rows) {
  return rowsOfOrigin(rows.symbol, rows.first, rows.count);
}

std::optional<ContentHash> ParameterContents::hashOf(const ParameterRows &rows) {
  auto [place, isNew] = hashes.try_emplace({rows.symbol, rows.first, rows.count});
  if (isNew && hasher) {
    place->second = hasher(lookUp(rows.symbol), rows.first, rows.count);
  }
  return place->second;
}

/// Returns whether an origin describes zeros.
static bool isZeros(Attribute origin) {
  auto parts = dyn_cast<ArrayAttr>(origin);
  if (!parts || parts.empty()) {
    return false;
  }
  if (auto expression = dyn_cast<ParameterExpressionAttr>(parts[0])) {
    return expression.getKind() == ExpressionKind::Zeros;
  }
  return parts[0] == StringAttr::get(origin.getContext(), rowsOrigin) && isZeros(parts[1]);
}

bool ParameterContents::areEqual(const ParameterRows &left, const ParameterRows &right) {
  if (!left.symbol && !right.symbol) {
    return true;
  }
  if (!left.symbol || !right.symbol) {
    const ParameterRows &given = left.symbol ? left : right;
    if (isZeros(originOf(given))) {
      return true;
    }
    std::optional<ContentHash> hash = hashOf(given);
    return hash && hash->isZero;
  }
  if (!haveOneShape(left, right)) {
    return false;
  }
  if (originOf(left) == originOf(right)) {
    return true;
  }
  std::optional<ContentHash> mine = hashOf(left);
  std::optional<ContentHash> other = hashOf(right);
  return mine && other && *mine == *other;
}

unsigned ParameterContents::classOf(const ParameterRows &rows) {
  SmallVector<int64_t> shape = {rows.count};
  if (rows.symbol) {
    llvm::append_range(shape, lookUp(rows.symbol).getTensorType().getShape().drop_front());
  }
  Type type = RankedTensorType::get(shape, Builder(module.getContext()).getF32Type());
  auto numberIn = [&](auto &classes, const auto &key) {
    auto [place, isNew] = classes.try_emplace(key, lastClass + 1);
    lastClass += isNew ? 1 : 0;
    return place->second;
  };
  if (!rows.symbol) {
    return numberIn(zeroClasses, type);
  }
  Attribute origin = originOf(rows);
  if (auto known = originClasses.find(origin); known != originClasses.end()) {
    return known->second;
  }
  std::optional<ContentHash> hash = isZeros(origin) ? std::nullopt : hashOf(rows);
  unsigned number = isZeros(origin) || (hash && hash->isZero) ? numberIn(zeroClasses, type)
                    : hash ? numberIn(contentClasses, std::tuple(type, hash->low, hash->high))
                           : ++lastClass;
  originClasses[origin] = number;
  return number;
}

} // namespace heddle
