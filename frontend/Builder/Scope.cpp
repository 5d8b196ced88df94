// SPDX-License-Identifier: Apache-2.0
///
/// Checkpoint names, parameters, and operations with parameters.
#include "frontend/Builder/ModelState.h"

#include "base/Utf8.h"

#include <fmt/format.h>

using namespace mlir;

namespace heddle {

std::string Scope::join(std::string_view name) const {
  if (prefix.empty() || name.empty()) {
    return prefix.empty() ? std::string(name) : prefix;
  }
  return fmt::format("{}.{}", prefix, name);
}

Scope Scope::scope(std::string_view name) const { return Scope(state, join(name)); }

Scope Scope::scope(std::string_view name, int64_t index) const {
  return Scope(state, join(fmt::format("{}.{}", name, index)));
}

/// Checks that a parameter belongs to this model and has the rank that result types depend on.
/// Verifiers check the rest of its shape.
static bool expectParameter(OperationSite &site, const Parameter &parameter, std::string_view role,
                            size_t rank) {
  if (!site.ok()) {
    return false;
  }
  if (parameter.model() != site.model()) {
    site.fail(fmt::format("the {} is not a parameter of this model", role));
  } else if (parameter.shape().size() != rank) {
    site.fail(fmt::format("the {} has shape {}, expected rank {}", role,
                          printSizes(parameter.shape()), rank));
  }
  return site.ok();
}

/// "a.b" for "a.b.weight".
static std::string_view ownerOf(const Parameter &parameter) {
  const std::string_view symbol = parameter.symbol();
  const size_t dot = symbol.rfind('.');
  return dot == std::string_view::npos ? symbol : symbol.substr(0, dot);
}

Tensor Scope::gather(std::string_view name, const Ids &ids, int64_t size, int64_t width) const {
  return gather(scope(name).parameter("weight", {size, width}), ids);
}

Tensor Scope::gather(const Parameter &table, const Ids &ids) const {
  OperationSite site(state, ownerOf(table), {&ids});
  if (!expectParameter(site, table, "table", 2)) {
    return {};
  }
  return site.make<Tensor, transformer::GatherOp>(StringRef(table.symbol()), ids.value(),
                                                  table.shape()[1]);
}

Tensor Scope::linear(std::string_view name, const Tensor &x, int64_t width, Bias bias) const {
  const Scope inner = scope(name);
  OperationSite site(state, inner.name(), {&x});
  if (!site.ok()) {
    return {};
  }
  const Parameter weight = inner.parameter("weight", {width, x.width()});
  return linear(x, weight, bias == Bias::Yes ? inner.parameter("bias", {width}) : Parameter());
}

Tensor Scope::linear(const Tensor &x, const Parameter &weight, const Parameter &bias) const {
  OperationSite site(state, ownerOf(weight), {&x});
  if (!expectParameter(site, weight, "weight", 2) ||
      (bias.valid() && !expectParameter(site, bias, "bias", 1))) {
    return {};
  }
  const RankedTensorType type = typeOf(x);
  if (type.getRank() != 2 || type.getDimSize(1) != weight.shape()[1]) {
    site.fail(fmt::format("the input has shape {}, expected [?, {}] for a weight {}",
                          printSizes(type.getShape()), weight.shape()[1],
                          printSizes(weight.shape())));
    return {};
  }
  FlatSymbolRefAttr biasSymbol;
  if (bias.valid()) {
    biasSymbol = FlatSymbolRefAttr::get(state->context, bias.symbol());
  }
  return site.make<Tensor, transformer::LinearOp>(
      site.tensorType({ShapedType::kDynamic, weight.shape()[0]}), x.value(),
      FlatSymbolRefAttr::get(state->context, weight.symbol()), biasSymbol);
}

Tensor Scope::chosenLinear(const Tensor &x, const Ids &chosen, int64_t maps,
                           const Parameter &weight, const Parameter &bias) const {
  OperationSite site(state, ownerOf(weight), {&x, &chosen});
  if (!expectParameter(site, weight, "weight", 2) ||
      (bias.valid() && !expectParameter(site, bias, "bias", 1))) {
    return {};
  }
  if (maps < 1 || weight.shape()[0] % maps != 0) {
    site.fail(fmt::format("the weight has {} rows, expected a multiple of {} maps",
                          weight.shape()[0], maps));
    return {};
  }
  FlatSymbolRefAttr biasSymbol;
  if (bias.valid()) {
    biasSymbol = FlatSymbolRefAttr::get(state->context, bias.symbol());
  }
  return site.make<Tensor, transformer::ChosenLinearOp>(
      site.tensorType({ShapedType::kDynamic, weight.shape()[0] / maps}), x.value(), chosen.value(),
      FlatSymbolRefAttr::get(state->context, weight.symbol()), biasSymbol,
      Builder(state->context).getI64IntegerAttr(maps));
}

Tensor Scope::convolve(std::string_view name, const Tensor &x, int64_t kernel, const Segments &rows,
                       const State &before, const Convolution &options) const {
  const Scope inner = scope(name);
  OperationSite site = before.valid() ? OperationSite(state, inner.name(), {&x, &rows, &before})
                                      : OperationSite(state, inner.name(), {&x, &rows});
  if (!site.ok()) {
    return {};
  }
  const Parameter weight = inner.parameter("weight", {x.width(), kernel});
  FlatSymbolRefAttr bias;
  if (options.bias == Bias::Yes) {
    bias = FlatSymbolRefAttr::get(state->context, inner.parameter("bias", {x.width()}).symbol());
  }
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::ConvolveOp>(
      typeOf(x), x.value(), rows.value(), before.valid() ? before.value() : Value(),
      FlatSymbolRefAttr::get(state->context, weight.symbol()), bias,
      Builder(state->context).getI64IntegerAttr(options.dilation),
      options.causal ? UnitAttr::get(state->context) : UnitAttr());
}

Tensor Scope::convolveKeys(const Tensor &x, const Parameter &weight, const Segments &rows,
                           const Segments &keys) const {
  OperationSite site(state, prefix, {&x, &rows, &keys});
  if (site.ok() && weight.model() != state) {
    site.fail("the weight is not a parameter of this model");
  }
  if (!site.ok()) {
    return {};
  }
  // The verifier reports a weight that does not match.
  const int64_t width = weight.shape().empty() ? 1 : weight.shape().front();
  return site.make<Tensor, transformer::ConvolveKeysOp>(
      site.tensorType({ShapedType::kDynamic, ShapedType::kDynamic, width}), x.value(),
      FlatSymbolRefAttr::get(state->context, weight.symbol()), rows.value(), keys.value());
}

Tensor Scope::layerNorm(std::string_view name, const Tensor &x, double epsilon,
                        NormNames names) const {
  const Scope inner = scope(name);
  OperationSite site(state, inner.name(), {&x});
  if (!site.ok()) {
    return {};
  }
  const Parameter weight = inner.parameter(names.weight, {x.width()});
  return layerNorm(x, weight, inner.parameter(names.bias, {x.width()}), epsilon);
}

Tensor Scope::layerNorm(const Tensor &x, const Parameter &weight, const Parameter &bias,
                        double epsilon) const {
  OperationSite site(state, ownerOf(weight), {&x});
  if (!expectParameter(site, weight, "weight", 1) || !expectParameter(site, bias, "bias", 1)) {
    return {};
  }
  return site.make<Tensor, transformer::LayerNormOp>(
      typeOf(x), x.value(), FlatSymbolRefAttr::get(state->context, weight.symbol()),
      FlatSymbolRefAttr::get(state->context, bias.symbol()), site.f32(epsilon));
}

Tensor Scope::rmsNorm(std::string_view name, const Tensor &x, double epsilon) const {
  const Scope inner = scope(name);
  OperationSite site(state, inner.name(), {&x});
  if (!site.ok()) {
    return {};
  }
  return rmsNorm(x, inner.parameter("weight", {x.width()}), epsilon);
}

Tensor Scope::rmsNorm(const Tensor &x, const Parameter &weight, double epsilon) const {
  OperationSite site(state, ownerOf(weight), {&x});
  if (!expectParameter(site, weight, "weight", 1)) {
    return {};
  }
  return site.make<Tensor, transformer::RmsNormOp>(
      typeOf(x), x.value(), FlatSymbolRefAttr::get(state->context, weight.symbol()),
      site.f32(epsilon));
}

Tensor Scope::relativeBias(const Parameter &table, const Segments &queries,
                           const Segments &keys) const {
  OperationSite site(state, ownerOf(table), {&queries, &keys});
  if (!expectParameter(site, table, "table", 2)) {
    return {};
  }
  return site.make<Tensor, transformer::RelativeBiasOp>(
      site.tensorType({ShapedType::kDynamic, table.shape()[0], ShapedType::kDynamic}),
      FlatSymbolRefAttr::get(state->context, table.symbol()), queries.value(), keys.value());
}

/// Returns the sizes of the result's axes from the operands. Empty, with an error, if the letters
/// do not match.
static std::vector<int64_t> contractedShape(OperationSite &site, StringRef axes, const Tensor &left,
                                            const Tensor &right) {
  const auto [operands, result] = axes.split("->");
  const auto [leftAxes, rightAxes] = operands.split(',');
  const RankedTensorType leftType = typeOf(left);
  const RankedTensorType rightType = typeOf(right);
  if (axes.count("->") != 1 || axes.count(',') != 1 ||
      static_cast<int64_t>(leftAxes.size()) != leftType.getRank() ||
      static_cast<int64_t>(rightAxes.size()) != rightType.getRank()) {
    site.fail(fmt::format("the axes are {}, expected \"axes,axes->axes\" for shapes {} and {}",
                          quote(axes), printSizes(leftType.getShape()),
                          printSizes(rightType.getShape())));
    return {};
  }
  std::vector<int64_t> shape;
  for (char letter : result) {
    const size_t onLeft = leftAxes.find(letter);
    const size_t onRight = rightAxes.find(letter);
    if (onLeft == StringRef::npos && onRight == StringRef::npos) {
      site.fail(
          fmt::format("axis '{}' of the result of {} is on neither operand", letter, quote(axes)));
      return {};
    }
    shape.push_back(onLeft != StringRef::npos ? leftType.getDimSize(onLeft)
                                              : rightType.getDimSize(onRight));
  }
  return shape;
}

Tensor Scope::contract(std::string_view axes, const Tensor &left, const Tensor &right,
                       const Segments &queries, const Segments &keys) const {
  SmallVector<Value> segments;
  if (queries.valid() && keys.valid()) {
    segments = {queries.value(), keys.value()};
  }
  OperationSite site = segments.empty()
                           ? OperationSite(state, prefix, {&left, &right})
                           : OperationSite(state, prefix, {&left, &right, &queries, &keys});
  if (!site.ok()) {
    return {};
  }
  const std::vector<int64_t> shape = contractedShape(site, axes, left, right);
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::ContractOp>(site.tensorType(shape), axes, left.value(),
                                                    right.value(), segments);
}

Ids Scope::positions(const Segments &rows, int64_t offset) const {
  OperationSite site(state, prefix, {&rows});
  if (!site.ok()) {
    return {};
  }
  return site.make<Ids, transformer::PositionsOp>(rows.value(), static_cast<uint64_t>(offset));
}

Tensor Scope::angles(const Segments &rows, std::span<const float> frequencies, int64_t most) const {
  OperationSite site(state, prefix, {&rows});
  if (!site.ok()) {
    return {};
  }
  Builder builder(state->context);
  return site.make<Tensor, transformer::AnglesOp>(
      site.tensorType({ShapedType::kDynamic, static_cast<int64_t>(frequencies.size())}),
      rows.value(), builder.getDenseF32ArrayAttr({frequencies.data(), frequencies.size()}),
      builder.getI64IntegerAttr(most));
}

Mask Scope::mask(const transformer::Visibility &visibility, const Segments &queries,
                 const Segments &keys) const {
  OperationSite site(state, prefix, {&queries, &keys});
  if (!site.ok()) {
    return {};
  }
  if (const std::string problem = visibility.normalized().problem(); !problem.empty()) {
    site.fail("the mask expects " + problem);
    return {};
  }
  const auto attribute = transformer::VisibilityAttr::get(state->context, visibility);
  return site.make<Mask, transformer::MaskOp>(attribute, queries.value(), keys.value());
}

} // namespace heddle
