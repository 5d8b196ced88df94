// SPDX-License-Identifier: Apache-2.0
///
/// Attributes and items. As in Jinja, a.b means the item if there is no such attribute, and a['b']
/// the attribute if there is no such item.
#include "formats/Template/Access.h"

#include "base/Utf8.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Operators.h"
#include "formats/Template/Strings.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace heddle::chat {

static Value functionOf(const Callable &callable, std::optional<Value> self) {
  return {Kind::Function, std::make_shared<FunctionObject>(callable, std::move(self))};
}

// --- loops -----------------------------------------------------------------------------------

static LoopObject &loopOf(const Value &value) {
  // Loops are created mutable, and only the loop itself and changed() modify them.
  return const_cast<LoopObject &>(static_cast<const LoopObject &>(*value.object()));
}

static Result<Value> cycle(const BoundCall &call) {
  if (call.rest.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "\"cycle\" without items");
  }
  return call.rest[loopOf(call[0]).index % call.rest.size()];
}

static Result<Value> changed(const BoundCall &call) {
  LoopObject &loop = loopOf(call[0]);
  bool same = loop.last && loop.last->size() == call.rest.size();
  for (size_t i = 0; same && i < call.rest.size(); ++i) {
    HEDDLE_ASSIGN(same, areEqual(call.budget, (*loop.last)[i], call.rest[i]));
  }
  if (!same) {
    loop.last = call.rest;
  }
  return Value(!same);
}

static std::optional<Value> loopAttribute(const Value &value, std::string_view name) {
  static const Callable cycleMethod = {"cycle", {"-loop"}, 1, cycle, true};
  static const Callable changedMethod = {"changed", {"-loop"}, 1, changed, true};
  const LoopObject &loop = loopOf(value);
  const auto index = static_cast<int64_t>(loop.index);
  const auto length = static_cast<int64_t>(loop.items.size());
  if (name == "index" || name == "index0") {
    return Value(index + (name == "index" ? 1 : 0));
  }
  if (name == "revindex" || name == "revindex0") {
    return Value(length - index - (name == "revindex" ? 0 : 1));
  }
  if (name == "first" || name == "last") {
    return Value(name == "first" ? index == 0 : index + 1 == length);
  }
  if (name == "length") {
    return Value(length);
  }
  if (name == "depth" || name == "depth0") {
    return Value(int64_t(name == "depth" ? 1 : 0));
  }
  if (name == "previtem") {
    return index == 0 ? Value::undefined("there is no previous item")
                      : loop.items[static_cast<size_t>(index - 1)];
  }
  if (name == "nextitem") {
    return index + 1 >= length ? Value::undefined("there is no next item")
                               : loop.items[static_cast<size_t>(index + 1)];
  }
  if (name == "cycle" || name == "changed") {
    return functionOf(name == "cycle" ? cycleMethod : changedMethod, value);
  }
  return std::nullopt;
}

// --- all values ------------------------------------------------------------------------------

static Value absent(const Value &value, std::string_view name) {
  return Value::undefined(fmt::format("{} has no {}", describeKind(value), quote(name, 60)));
}

/// Returns methods, and attributes of namespaces and loops.
static std::optional<Value> ownAttribute(const Value &value, std::string_view name) {
  if (value.is(Kind::Loop)) {
    return loopAttribute(value, name);
  }
  if (value.is(Kind::Namespace)) {
    const Value *const found =
        static_cast<const NamespaceObject &>(*value.object()).values.find(name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const Callable *const method = findMethod(value.kind(), name);
  return method == nullptr ? std::nullopt : std::optional(functionOf(*method, value));
}

Result<Value> attributeOf(Budget &budget, const Value &value, std::string_view name) {
  HEDDLE_TRY(budget.chargeBytes(name.size()));
  if (value.is(Kind::Undefined)) {
    return undefinedError(value);
  }
  if (std::optional<Value> own = ownAttribute(value, name)) {
    return *std::move(own);
  }
  const Value *const found = value.is(Kind::Dict) ? value.dict().find(name) : nullptr;
  return found == nullptr ? absent(value, name) : *found;
}

Result<Value> itemOf(Budget &budget, const Value &value, const Value &key) {
  HEDDLE_TRY(key.is(Kind::String) ? chargeKey(budget, key) : budget.charge(1));
  HEDDLE_ASSIGN(const std::optional<Value> found, findItem(budget, value, key));
  if (found) {
    return *found;
  }
  if (key.is(Kind::String)) {
    if (std::optional<Value> own = ownAttribute(value, key.text())) {
      return *std::move(own);
    }
    return absent(value, key.text());
  }
  return key.isNumber()
             ? Value::undefined(fmt::format("{} has no item {}", describeKind(value),
                                            key.is(Kind::Real) ? describeReal(key.real())
                                                               : std::to_string(key.integer())))
             : Value::undefined(
                   fmt::format("{} has no item at {}", describeKind(value), describeKind(key)));
}

Result<Value> pathOf(Budget &budget, Value value, const Value &path) {
  if (!path.is(Kind::String)) {
    return itemOf(budget, value, path);
  }
  HEDDLE_TRY(budget.charge(path.text().size() / 4 + 1));
  for (const std::string_view part : splitAt(path.text(), ".", SIZE_MAX, false)) {
    int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool isIndex =
        !part.empty() && std::all_of(part.begin(), part.end(), isDigit) && read.ec == std::errc();
    HEDDLE_ASSIGN(value, itemOf(budget, value, isIndex ? Value(index) : Value(std::string(part))));
  }
  return value;
}

} // namespace heddle::chat
