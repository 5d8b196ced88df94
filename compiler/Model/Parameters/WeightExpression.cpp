// SPDX-License-Identifier: Apache-2.0
///
/// Trees of parameter expressions; expressions share subtrees.
#include "compiler/Model/Parameters/WeightExpression.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

Factor Factor::operator*(const Factor &other) const {
  Factor product = *this;
  product.constant *= other.constant;
  llvm::append_range(product.weights, other.weights);
  llvm::append_range(product.rows, other.rows);
  product.spread *= other.spread;
  return product;
}

Factor Factor::of(double constant) {
  double size = std::abs(constant);
  return {constant, {}, {}, size == 0 ? 1 : std::max(size, 1 / size)};
}

struct Weight::Node {
  SmallVector<int64_t> shape;
  /// The symbol of a stored parameter; null for an expression.
  FlatSymbolRefAttr symbol;
  /// For a stored parameter, the location of its user; for zeros, that of the operation that needs
  /// them.
  std::optional<Location> location;
  ExpressionKind kind = ExpressionKind::Zeros;
  SmallVector<Weight> operands;
  Factor factor;
  /// The name, for zeros.
  std::string name;
};

Weight Weight::stored(ParameterOp parameter, Location location) {
  Node node;
  node.shape.assign(parameter.getTensorType().getShape().begin(),
                    parameter.getTensorType().getShape().end());
  node.symbol = FlatSymbolRefAttr::get(parameter.getSymNameAttr());
  node.location = location;
  return Weight(std::make_shared<Node>(std::move(node)));
}

Weight Weight::zeros(int64_t width, StringRef name, Location location) {
  Node node;
  node.shape = {width};
  node.location = location;
  node.name = name;
  return Weight(std::make_shared<Node>(std::move(node)));
}

Weight Weight::combine(ExpressionKind kind, ArrayRef<Weight> weights, ArrayRef<int64_t> shape) {
  Node node;
  node.kind = kind;
  node.operands.assign(weights.begin(), weights.end());
  node.shape.assign(shape.begin(), shape.end());
  return Weight(std::make_shared<Node>(std::move(node)));
}

Weight Weight::sum(ArrayRef<Weight> weights) {
  return weights.size() == 1 ? weights.front()
                             : combine(ExpressionKind::Sum, weights, weights.front().shape());
}

Weight Weight::concat(ArrayRef<Weight> weights) {
  if (weights.size() == 1) {
    return weights.front();
  }
  SmallVector<int64_t> shape(weights.front().shape());
  for (const Weight &weight : weights.drop_front()) {
    shape.front() += weight.rows();
  }
  return combine(ExpressionKind::Concat, weights, shape);
}

Weight Weight::concatColumns(ArrayRef<Weight> weights) {
  if (weights.size() == 1) {
    return weights.front();
  }
  SmallVector<int64_t> shape = {weights.front().rows(), 0};
  for (const Weight &weight : weights) {
    shape.back() += weight.columns();
  }
  return combine(ExpressionKind::ConcatColumns, weights, shape);
}

Weight Weight::times(const Weight &right) const {
  SmallVector<int64_t> shape(right.shape());
  shape.front() = rows();
  return combine(ExpressionKind::Product, {*this, right}, shape);
}

Weight Weight::scaled(const Factor &factor) const {
  if (factor.isOne()) {
    return *this;
  }
  Weight result = combine(ExpressionKind::Scale, *this, shape());
  auto scaled = std::make_shared<Node>(*result.node);
  scaled->factor = factor.known();
  return Weight(scaled);
}

Weight Weight::asColumn() const { return combine(ExpressionKind::Reshape, *this, {rows(), 1}); }

ArrayRef<int64_t> Weight::shape() const { return node->shape; }

bool Weight::isSameStored(const Weight &other) const {
  return node->symbol && node->symbol == other.node->symbol;
}

FlatSymbolRefAttr Weight::symbol() const { return node->symbol; }

ExpressionKind Weight::kind() const { return node->kind; }

ArrayRef<Weight> Weight::operands() const { return node->operands; }

const Factor &Weight::factor() const { return node->factor; }

// The most locations of a weight that is composed of many others; the remaining ones are dropped.
static constexpr size_t mostLocations = 64;

void Weight::appendLocations(SmallVectorImpl<Location> &locations) const {
  if (locations.size() >= mostLocations) {
    return;
  }
  if (node->location) {
    locations.push_back(*node->location);
  }
  for (const Weight &operand : node->operands) {
    operand.appendLocations(locations);
  }
}

static FloatAttr constantOf(const Factor &factor, MLIRContext *context) {
  return factor.constant == 1 ? FloatAttr()
                              : FloatAttr::get(Float64Type::get(context), factor.constant);
}

/// Inserts a part into a name: "a.scaled.weight" for "a.weight". The last part, which names the
/// kind of parameter, stays last.
static std::string insertPart(StringRef name, StringRef part) {
  auto [owner, last] = name.rsplit('.');
  return last.empty() ? (name + "." + part).str() : (owner + "." + part + "." + last).str();
}

/// Returns the name of a product: "a.output_inner.bias" for "a.inner.weight" times "a.output.bias".
static std::string productName(FlatSymbolRefAttr left, FlatSymbolRefAttr right) {
  StringRef vector = right.getValue();
  if (vector.consume_back(".bias") && left.getValue().ends_with(".weight")) {
    auto matrix = FlatSymbolRefAttr::get(left.getContext(), (vector + ".weight").str());
    return StringRef(joinNames({matrix, left})).drop_back(6).str() + "bias";
  }
  // In the order of their application.
  return joinNames({right, left});
}

FlatSymbolRefAttr Weight::derive(DerivedParameters &parameters) const {
  if (node->symbol) {
    return node->symbol;
  }
  SmallVector<FlatSymbolRefAttr> operands;
  for (const Weight &operand : node->operands) {
    operands.push_back(operand.derive(parameters));
  }
  SmallVector<Location> locations;
  appendLocations(locations);
  MLIRContext *context = locations.front().getContext();
  std::string name = node->name;
  FloatAttr constant;
  switch (node->kind) {
  case ExpressionKind::Zeros:
    break;
  case ExpressionKind::Scale:
    name = insertPart(operands.front().getValue(), "scaled");
    llvm::append_range(operands, node->factor.weights);
    constant = constantOf(node->factor, context);
    break;
  case ExpressionKind::Reshape:
    name = insertPart(operands.front().getValue(), "column");
    break;
  case ExpressionKind::Product:
    name = productName(operands[0], operands[1]);
    break;
  default:
    name = joinNames(operands);
  }
  return parameters.derive(FusedLoc::get(context, locations), name, node->kind, operands,
                           node->shape, constant);
}

FlatSymbolRefAttr deriveFactor(const Factor &factor, Location location,
                               DerivedParameters &parameters) {
  if (factor.constant == 1 && factor.weights.size() == 1) {
    return factor.weights.front();
  }
  return parameters.derive(location, insertPart(factor.weights.front().getValue(), "scaled"),
                           ExpressionKind::Scale, factor.weights, 1,
                           constantOf(factor, location.getContext()));
}

} // namespace heddle
