// SPDX-License-Identifier: Apache-2.0
///
/// Errors, names and locations of new operations.
#include "frontend/Builder/ModelState.h"

#include "base/Utf8.h"

#include <fmt/format.h>

using namespace mlir;

namespace heddle {

ModelValue::ModelValue(ModelState *state, Value content)
    : state(state), content(content.getAsOpaquePointer()) {}

Value ModelValue::value() const { return Value::getFromOpaquePointer(content); }

void ModelState::fail(std::string_view name, std::string_view message) {
  if (error.ok()) {
    error = HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {}", quote(name), message));
  }
}

Location ModelState::nameLocation(std::string_view name) const {
  return NameLoc::get(StringAttr::get(context, name));
}

/// Returns the checkpoint name in a value's location.
static std::string nameOf(Value value) {
  auto name = dyn_cast<NameLoc>(value.getLoc());
  return name ? name.getName().str() : std::string();
}

OperationSite::OperationSite(ModelState *state, std::string_view name,
                             std::initializer_list<const ModelValue *> operands)
    : state(state), name(name) {
  if (ok()) {
    check(operands);
  }
}

OperationSite::OperationSite(std::initializer_list<const ModelValue *> operands) {
  for (const ModelValue *operand : operands) {
    if (operand->model() != nullptr) {
      state = operand->model();
      break;
    }
  }
  if (!ok()) {
    return;
  }
  if ((*operands.begin())->valid()) {
    name = nameOf((*operands.begin())->value());
  }
  check(operands);
}

void OperationSite::check(std::initializer_list<const ModelValue *> operands) {
  for (const ModelValue *operand : operands) {
    if (!operand->valid()) {
      return fail("an operand is empty, expected a value of the model");
    }
    if (operand->model() != state) {
      return fail("an operand belongs to another model");
    }
    Block *home = operand->value().getParentBlock();
    if (block != nullptr && !state->isSeenIn(home, block) && !state->isSeenIn(block, home)) {
      return fail("the operands belong to different entries");
    }
    block = block != nullptr && state->isSeenIn(home, block) ? block : home;
  }
}

FloatAttr OperationSite::f32(double value) const {
  return FloatAttr::get(Float32Type::get(state->context), static_cast<float>(value));
}

RankedTensorType OperationSite::tensorType(ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, Float32Type::get(state->context));
}

std::string printSizes(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape) {
    text += text.size() > 1 ? ", " : "";
    text += ShapedType::isDynamic(size) ? "?" : std::to_string(size);
  }
  return text + "]";
}

} // namespace heddle
