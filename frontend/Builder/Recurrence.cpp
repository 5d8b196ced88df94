// SPDX-License-Identifier: Apache-2.0
///
/// Recurrences: the region is written before the operation, because it determines the results.
#include "frontend/Builder/ModelState.h"

#include <fmt/format.h>

using namespace mlir;

namespace heddle {
namespace {

/// Checks that values are rows [t, w], or numbers [t, h, k] of keys if allowed, of this model and
/// of one block; returns that block, or null.
Block *checkRows(OperationSite &site, ModelState *state, std::string_view what,
                 std::span<const Tensor> values, bool mayHaveKeys = false) {
  Block *block = nullptr;
  for (const Tensor &value : values) {
    if (!site.ok()) {
      return nullptr;
    }
    if (!value.valid() || value.model() != state) {
      site.fail(
          fmt::format("{} is empty or of another model, expected a value of the model", what));
      return nullptr;
    }
    const RankedTensorType type = typeOf(value);
    const bool haveKeys = mayHaveKeys && type.getRank() == 3 && type.isDynamicDim(2);
    if ((type.getRank() != 2 && !haveKeys) || !type.isDynamicDim(0) || type.isDynamicDim(1)) {
      site.fail(fmt::format("{} has shape {}, expected rows [?, width]{}", what,
                            printSizes(type.getShape()),
                            mayHaveKeys ? " or numbers of keys [?, heads, ?]" : ""));
      return nullptr;
    }
    Block *const home = value.value().getParentBlock();
    if (block != nullptr && home != block) {
      site.fail(fmt::format("{} belongs to another entry or step than those before it", what));
      return nullptr;
    }
    block = home;
  }
  return block;
}

SmallVector<Value> valuesOf(std::span<const Tensor> tensors) {
  return llvm::map_to_vector(tensors, [](const Tensor &tensor) { return tensor.value(); });
}

/// Wraps `count` results or arguments from `first` on.
template <typename Range>
std::vector<Tensor> tensorsOf(ModelState *state, Range values, size_t first, size_t count) {
  std::vector<Tensor> tensors;
  for (size_t i = first; i < first + count; ++i) {
    tensors.emplace_back(state, Value(values[i]));
  }
  return tensors;
}

} // namespace

Recurrence Scope::recurrence(
    std::vector<Tensor> inputs, std::vector<int64_t> carried, const Segments &rows,
    const std::function<Recurrence(std::span<const Tensor>, std::span<const Tensor>)> &step,
    const RecurrenceOptions &options) const {
  OperationSite site(state, prefix, {&rows});
  Block *const home = checkRows(site, state, "an input of a recurrence", inputs);
  const bool areSizes = llvm::all_of(carried, [](int64_t width) { return width > 0; });
  if (site.ok() && (inputs.empty() || carried.empty() || !areSizes)) {
    site.fail(fmt::format("{} inputs and {} carried values, expected at least one of each, of "
                          "positive width",
                          inputs.size(), carried.size()));
  }
  if (site.ok() && home != rows.value().getParentBlock()) {
    site.fail("the rows and the inputs belong to different entries");
  }
  checkRows(site, state, "what a recurrence begins with", options.initial, /*mayHaveKeys=*/true);
  if (!site.ok()) {
    return {};
  }
  auto body = std::make_unique<Block>();
  const Location location = state->nameLocation(prefix);
  for (const Tensor &input : inputs) {
    body->addArgument(typeOf(input), location);
  }
  for (auto [number, width] : llvm::enumerate(carried)) {
    const bool haveKeys =
        number < options.initial.size() && typeOf(options.initial[number]).getRank() == 3;
    body->addArgument(haveKeys
                          ? site.tensorType({ShapedType::kDynamic, width, ShapedType::kDynamic})
                          : site.tensorType({ShapedType::kDynamic, width}),
                      location);
  }
  const std::vector<Tensor> now = tensorsOf(state, body->getArguments(), 0, inputs.size());
  const std::vector<Tensor> before =
      tensorsOf(state, body->getArguments(), inputs.size(), carried.size());
  state->steps.emplace_back(body.get(), home);
  Recurrence result = step(now, before);
  state->steps.pop_back();
  const size_t given = result.given.size();
  if (site.ok() && result.carried.size() != carried.size()) {
    site.fail(fmt::format("a step with {} carried values, expected {}", result.carried.size(),
                          carried.size()));
  }
  std::vector<Tensor> left = std::move(result.carried);
  left.insert(left.end(), result.given.begin(), result.given.end());
  Block *const inside = checkRows(site, state, "what a step gives", left, /*mayHaveKeys=*/true);
  if (site.ok() && inside != body.get()) {
    site.fail("what a step gives is from outside of it, expected values of the step");
  }
  if (!site.ok()) {
    return {};
  }
  OpBuilder builder(state->context);
  builder.setInsertionPointToEnd(body.get());
  const SmallVector<Value> values = valuesOf(left);
  transformer::NextOp::create(builder, location, values);
  builder.setInsertionPointToEnd(home);
  auto op = transformer::RecurrenceOp::create(builder, location, TypeRange(ValueRange(values)),
                                              valuesOf(inputs), valuesOf(options.initial),
                                              rows.value(), options.reversed);
  op.getBody().push_back(body.release());
  return {tensorsOf(state, op.getResults(), 0, carried.size()),
          tensorsOf(state, op.getResults(), carried.size(), given)};
}

Tensor Scope::concat(std::vector<Tensor> rows) const {
  OperationSite site(state, prefix, {});
  Block *const home = checkRows(site, state, "one of several rows", rows);
  if (site.ok() && rows.empty()) {
    site.fail("no rows to put side by side, expected some");
  }
  if (!site.ok()) {
    return {};
  }
  if (rows.size() == 1) {
    return rows.front();
  }
  int64_t width = 0;
  for (const Tensor &each : rows) {
    width += each.width();
  }
  OpBuilder builder(state->context);
  builder.setInsertionPointToEnd(home);
  return {state, transformer::ConcatOp::create(builder, state->nameLocation(prefix),
                                               site.tensorType({ShapedType::kDynamic, width}),
                                               valuesOf(rows))};
}

} // namespace heddle
