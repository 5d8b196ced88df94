// SPDX-License-Identifier: Apache-2.0
///
/// Charges, and charged values.
#include "formats/Template/Budget.h"

#include <fmt/format.h>

namespace heddle::chat {

static constexpr size_t bytesOfStep = 16;
/// Kept values take memory until the end.
static constexpr uint64_t keptSteps = 20;

Status Budget::charge(uint64_t count) {
  if (count > steps) {
    steps = 0;
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("the template takes more than {} steps", options.steps));
  }
  steps -= count;
  return {};
}

Status Budget::chargeBytes(size_t bytes) {
  if (bytes > options.bytes) {
    return HEDDLE_ERROR(
        ResourceExhausted,
        fmt::format("the template makes a text of more than {} bytes", options.bytes));
  }
  return charge(bytes / bytesOfStep + 1);
}

Status Budget::chargeBytes(size_t bytes, size_t count) {
  return chargeBytes(count > 0 && bytes > options.bytes / count ? SIZE_MAX : bytes * count);
}

Result<Value> Budget::text(std::string text) {
  HEDDLE_TRY(chargeBytes(text.size()));
  return Value(std::move(text));
}

Result<Value> Budget::checked(Value value, size_t items) {
  if (value.depth() > valueDepthLimit) {
    return HEDDLE_ERROR(
        ResourceExhausted,
        fmt::format("the template nests values more than {} deep", valueDepthLimit));
  }
  HEDDLE_TRY(charge(items + 1));
  return value;
}

Result<Value> Budget::list(std::vector<Value> items) {
  const size_t count = items.size();
  return checked(Value::list(std::move(items)), count);
}

Result<Value> Budget::tuple(std::vector<Value> items) {
  const size_t count = items.size();
  return checked(Value::tuple(std::move(items)), count);
}

Result<Value> Budget::iterator(std::vector<Value> items) {
  const size_t count = items.size();
  return checked(Value::iterator(std::move(items)), count);
}

Result<Value> Budget::dict(std::shared_ptr<DictObject> dict) {
  const size_t count = dict->entries.size();
  return checked(Value(Kind::Dict, std::move(dict)), 4 * count);
}

Result<Value> Budget::keep(Kind kind, std::unique_ptr<const Object> object) {
  HEDDLE_TRY(charge(keptSteps));
  kept.push_back(std::move(object));
  return Value(kind,
               std::shared_ptr<const Object>(std::shared_ptr<const Object>(), kept.back().get()));
}

Status chargeSet(Budget &budget, std::string_view text, std::string_view set) {
  return budget.charge((text.size() / 16 + 1) * (set.size() / 64 + 1));
}

Status chargeKey(Budget &budget, const Value &key) {
  if (key.is(Kind::String)) {
    return budget.chargeBytes(key.text().size());
  }
  if (key.is(Kind::Tuple)) {
    // Each item counts as often as it is part of the key, for its text too.
    HEDDLE_TRY(budget.charge((key.depth() + 1) * (key.items().size() + 1)));
    for (const Value &item : key.items()) {
      HEDDLE_TRY(chargeKey(budget, item));
    }
  }
  return {};
}

} // namespace heddle::chat
