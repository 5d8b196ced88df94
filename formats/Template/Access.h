// SPDX-License-Identifier: Apache-2.0
///
/// Attributes and items of values, and the kinds of values with attributes of their own: functions,
/// namespaces and loops.
#ifndef HEDDLE_FORMATS_TEMPLATE_ACCESS_H
#define HEDDLE_FORMATS_TEMPLATE_ACCESS_H

#include "formats/Template/Callable.h"
#include "formats/Template/Syntax.h"

#include <optional>
#include <string_view>
#include <vector>

namespace heddle::chat {

class Scope;

/// A global function, the method of a value, or a macro with the scope in which it was defined.
struct FunctionObject : Object {
  FunctionObject(const Callable &callable, std::optional<Value> self)
      : callable(&callable), self(std::move(self)) {
    depth = this->self ? this->self->depth() + 1 : 1;
  }
  FunctionObject(const MacroDefinition &macro, Scope &closure) : macro(&macro), closure(&closure) {}

  const Callable *callable = nullptr;
  std::optional<Value> self;
  const MacroDefinition *macro = nullptr;
  Scope *closure = nullptr;
};

/// The value of namespace(). The budget owns it, since it may contain itself.
struct NamespaceObject : Object {
  DictObject values;
};

/// The value of "loop".
struct LoopObject : Object {
  std::vector<Value> items;
  size_t index = 0;
  /// The number of enclosing loops.
  int64_t outer = 0;
  /// The last arguments of changed().
  std::optional<std::vector<Value>> last;
};

/// Returns value.name: a method, or else the item of a dict. Undefined if there is neither.
Result<Value> attributeOf(Budget &budget, const Value &value, std::string_view name);
/// Returns value[key]: an item or, for a string, a method.
Result<Value> itemOf(Budget &budget, const Value &value, const Value &key);
/// Returns the value at a path: "function.name", "0", or a number.
Result<Value> pathOf(Budget &budget, Value value, const Value &path);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_ACCESS_H
