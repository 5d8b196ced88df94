// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates expressions and calls of macros.
#include "formats/Template/Renderer.h"

#include "base/Utf8.h"
#include "formats/Template/Operators.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::chat {

Result<Value> Renderer::evaluate(const Expression &expression, Scope &scope) {
  HEDDLE_TRY(placed(budget.charge(1), expression.place));
  HEDDLE_TRY(enter(expression.place));
  const Nesting nesting(depth);
  Result<Value> value = compute(expression, scope);
  return value.ok() ? std::move(value) : Result<Value>(placed(value.status(), expression.place));
}

Result<Value> Renderer::compute(const Expression &expression, Scope &scope) {
  using Part = Expression::Kind;
  switch (expression.kind) {
  case Part::Constant:
    return expression.constant;
  case Part::Variable:
    return variable(expression, scope);
  case Part::List:
  case Part::Tuple:
  case Part::Dict:
    return display(expression, scope);
  case Part::Slice:
    return sliceValue(expression, scope);
  case Part::Call:
    return callValue(expression, scope, nullptr);
  case Part::Filter:
  case Part::Test:
    return callable(expression, scope);
  case Part::Comparison:
    return comparison(expression, scope);
  case Part::Concatenation:
    return concatenation(expression, scope);
  case Part::Conditional:
    return conditional(expression, scope);
  default:
    break;
  }
  HEDDLE_ASSIGN(const Value first, evaluate(*expression.operands[0], scope));
  switch (expression.kind) {
  case Part::Attribute:
    return attributeOf(budget, first, expression.name);
  case Part::Not:
    return Value(!isTrue(first));
  case Part::Negative:
    return negated(first);
  case Part::Positive:
    return unchanged(first);
  case Part::And:
    return isTrue(first) ? evaluate(*expression.operands[1], scope) : Result<Value>(first);
  case Part::Or:
    return isTrue(first) ? Result<Value>(first) : evaluate(*expression.operands[1], scope);
  default:
    break;
  }
  HEDDLE_ASSIGN(const Value second, evaluate(*expression.operands[1], scope));
  return expression.kind == Part::Item ? itemOf(budget, first, second)
                                       : calculate(budget, expression.operators[0], first, second);
}

Result<Value> Renderer::variable(const Expression &expression, Scope &scope) {
  HEDDLE_ASSIGN(const Value *const local, scope.find(expression.name, budget));
  if (local != nullptr) {
    return *local;
  }
  if (const auto found = variables.find(expression.name); found != variables.end()) {
    return found->second;
  }
  if (const Callable *const global = findGlobal(expression.name)) {
    return Value(Kind::Function, std::make_shared<FunctionObject>(*global, std::nullopt));
  }
  return Value::undefined(fmt::format("{} is undefined", quote(expression.name, 60)));
}

/// Evaluates a list, tuple or dict display.
Result<Value> Renderer::display(const Expression &expression, Scope &scope) {
  std::vector<Value> items;
  for (const ExpressionPtr &each : expression.operands) {
    HEDDLE_ASSIGN(Value item, evaluate(*each, scope));
    items.push_back(std::move(item));
  }
  if (expression.kind != Expression::Kind::Dict) {
    return expression.kind == Expression::Kind::List ? budget.list(std::move(items))
                                                     : budget.tuple(std::move(items));
  }
  auto dict = std::make_shared<DictObject>();
  for (size_t i = 0; i < items.size(); i += 2) {
    HEDDLE_TRY(chargeKey(budget, items[i]));
    if (!isHashable(items[i])) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} cannot be the key of a dict", describeKind(items[i])));
    }
    dict->set(items[i], std::move(items[i + 1]));
  }
  return budget.dict(std::move(dict));
}

Result<Value> Renderer::sliceValue(const Expression &expression, Scope &scope) {
  std::vector<Value> parts(4);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (expression.operands[i]) {
      HEDDLE_ASSIGN(parts[i], evaluate(*expression.operands[i], scope));
    }
  }
  return sliceOf(budget, parts[0], parts[1], parts[2], parts[3]);
}

Result<Value> Renderer::comparison(const Expression &expression, Scope &scope) {
  HEDDLE_ASSIGN(Value left, evaluate(*expression.operands[0], scope));
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    HEDDLE_ASSIGN(Value right, evaluate(*expression.operands[i + 1], scope));
    HEDDLE_ASSIGN(const bool answer, compare(budget, expression.operators[i], left, right));
    if (!answer) {
      return Value(false);
    }
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Renderer::concatenation(const Expression &expression, Scope &scope) {
  TextWriter out(budget);
  for (const ExpressionPtr &each : expression.operands) {
    HEDDLE_ASSIGN(const Value value, evaluate(*each, scope));
    HEDDLE_TRY(writeString(out, value));
  }
  return Value(out.take());
}

Result<Value> Renderer::conditional(const Expression &expression, Scope &scope) {
  HEDDLE_ASSIGN(const Value condition, evaluate(*expression.operands[0], scope));
  if (isTrue(condition)) {
    return evaluate(*expression.operands[1], scope);
  }
  return expression.operands[2]
             ? evaluate(*expression.operands[2], scope)
             : Value::undefined("an \"if\" without \"else\" whose condition is false is undefined");
}

// --- calls -----------------------------------------------------------------------------------

Result<GivenArguments> Renderer::argumentsOf(const ArgumentList &list, Scope &scope) {
  GivenArguments given;
  for (const ExpressionPtr &each : list.positional) {
    HEDDLE_ASSIGN(Value value, evaluate(*each, scope));
    given.positional.push_back(std::move(value));
  }
  if (list.unpacked) {
    HEDDLE_ASSIGN(const Value value, evaluate(*list.unpacked, scope));
    HEDDLE_ASSIGN(const std::vector<Value> items, itemsOf(budget, value));
    given.positional.insert(given.positional.end(), items.begin(), items.end());
  }
  for (const auto &[name, expression] : list.named) {
    HEDDLE_ASSIGN(Value value, evaluate(*expression, scope));
    given.named.emplace_back(name, std::move(value));
  }
  if (list.unpackedNamed) {
    HEDDLE_ASSIGN(const Value value, evaluate(*list.unpackedNamed, scope));
    if (!value.is(Kind::Dict)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("\"**\" before {}, expected a dict", describeKind(value)));
    }
    for (const auto &[key, item] : value.dict().entries) {
      if (!key.is(Kind::String)) {
        return HEDDLE_ERROR(InvalidArgument, "\"**\" before a dict whose keys are no strings");
      }
      HEDDLE_TRY(budget.chargeBytes(key.text().size()));
      given.named.emplace_back(key.text(), item);
    }
  }
  return given;
}

/// Evaluates a filter or a test.
Result<Value> Renderer::callable(const Expression &expression, Scope &scope) {
  Value subject;
  if (expression.operands[0]) {
    HEDDLE_ASSIGN(subject, evaluate(*expression.operands[0], scope));
  } else {
    subject = *filtered;
  }
  HEDDLE_ASSIGN(GivenArguments arguments, argumentsOf(expression.arguments, scope));
  return callFunction(budget, *expression.callable, &subject, std::move(arguments));
}

Result<Value> Renderer::callValue(const Expression &expression, Scope &scope, const Value *caller) {
  HEDDLE_ASSIGN(const Value callee, evaluate(*expression.operands[0], scope));
  HEDDLE_ASSIGN(GivenArguments arguments, argumentsOf(expression.arguments, scope));
  if (callee.is(Kind::Undefined)) {
    return undefinedError(callee);
  }
  if (!callee.is(Kind::Function)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} cannot be called", describeKind(callee)));
  }
  if (caller != nullptr) {
    arguments.named.emplace_back("caller", *caller);
  }
  const auto &function = static_cast<const FunctionObject &>(*callee.object());
  if (function.macro != nullptr) {
    return callMacro(function, std::move(arguments));
  }
  return callFunction(budget, *function.callable, function.self ? &*function.self : nullptr,
                      std::move(arguments));
}

Status Renderer::bindAbsent(const MacroDefinition &macro, const std::vector<bool> &given,
                            Scope &scope) {
  for (size_t i = 0; i < given.size(); ++i) {
    const MacroParameter &parameter = macro.parameters[i];
    HEDDLE_TRY(budget.charge(given[i] ? 1 : stepsOfValue));
    if (!given[i] && parameter.absent) {
      HEDDLE_ASSIGN(Value value, evaluate(*parameter.absent, scope));
      scope.set(parameter.name, std::move(value));
    } else if (!given[i]) {
      scope.set(parameter.name,
                Value::undefined(fmt::format("parameter {} was not given", quote(parameter.name))));
    }
  }
  return {};
}

/// Binds arguments in the scope of a macro.
Status Renderer::bindMacro(const MacroDefinition &macro, GivenArguments arguments, Scope &scope) {
  const std::string title =
      macro.name.empty() ? "the block of \"call\"" : fmt::format("macro {}", quote(macro.name));
  std::vector<Value> rest;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < macro.parameters.size()) {
      scope.set(macro.parameters[i].name, arguments.positional[i]);
    } else if (macro.readsRest) {
      rest.push_back(arguments.positional[i]);
    } else {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} takes {} arguments at most, got {}", title,
                                      macro.parameters.size(), arguments.positional.size()));
    }
  }
  auto namedRest = std::make_shared<DictObject>();
  Value caller = Value::undefined("\"caller\" is undefined: the macro is not called by a block");
  // Each name is compared with those of the parameters.
  HEDDLE_TRY(budget.charge(arguments.named.size() * (macro.parameters.size() / 16 + 1)));
  std::vector<bool> given(macro.parameters.size());
  std::fill_n(given.begin(), std::min(given.size(), arguments.positional.size()), true);
  for (const auto &[name, value] : arguments.named) {
    const auto found =
        std::find_if(macro.parameters.begin(), macro.parameters.end(),
                     [&, &key = name](const MacroParameter &each) { return each.name == key; });
    const auto place = static_cast<size_t>(found - macro.parameters.begin());
    if (place < given.size() && !given[place]) {
      given[place] = true;
      scope.set(found->name, value);
    } else if (place < given.size()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} has the argument {} twice", title, quote(name)));
    } else if (name == "caller" && macro.readsCaller) {
      caller = value;
    } else if (macro.readsNamedRest) {
      namedRest->set(Value(name), value);
    } else {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} has no argument {}", title, quote(name)));
    }
  }
  if (macro.readsCaller) {
    scope.set("caller", std::move(caller));
  }
  if (macro.readsRest) {
    HEDDLE_ASSIGN(Value tuple, budget.tuple(std::move(rest)));
    scope.set("varargs", std::move(tuple));
  }
  if (macro.readsNamedRest) {
    HEDDLE_ASSIGN(Value dict, budget.dict(std::move(namedRest)));
    scope.set("kwargs", std::move(dict));
  }
  return bindAbsent(macro, given, scope);
}

Result<Value> Renderer::callMacro(const FunctionObject &function, GivenArguments arguments) {
  HEDDLE_TRY(budget.charge(1));
  auto inner = std::make_unique<Scope>(function.closure);
  HEDDLE_TRY(bindMacro(*function.macro, std::move(arguments), *inner));
  TextWriter out(budget);
  HEDDLE_TRY(run(function.macro->body, *inner, out).status());
  HEDDLE_TRY(leave(std::move(inner)));
  return Value(out.take());
}

} // namespace heddle::chat
