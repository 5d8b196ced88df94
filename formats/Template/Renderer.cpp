// SPDX-License-Identifier: Apache-2.0
///
/// Executes statements, and implements the scopes of variables.
#include "formats/Template/Renderer.h"

#include "base/Utf8.h"
#include "formats/Template/Operators.h"
#include "formats/Template/Parser.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::chat {

/// Kept scopes take memory until the end.
static constexpr uint64_t scopeSteps = 20;
/// The maximum nesting of expressions, blocks and calls at run time, for which a thread's stack of
/// a few megabytes has room.
static constexpr int runDepthLimit = 600;

Result<const Value *> Scope::find(std::string_view name, Budget &budget) const {
  for (const Scope *scope = this; scope != nullptr; scope = scope->parent) {
    HEDDLE_TRY(budget.charge(1));
    if (const auto found = scope->variables.find(name); found != scope->variables.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  variables.insert_or_assign(name, std::move(value));
}

void Scope::capture() {
  for (Scope *scope = this; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
  }
}

Status Renderer::leave(std::unique_ptr<Scope> scope) {
  if (!scope->isCaptured()) {
    return {};
  }
  HEDDLE_TRY(budget.charge(scopeSteps + stepsOfValue * scope->size()));
  keptScopes.push_back(std::move(scope));
  return {};
}

Status Renderer::placed(Status failure, Place place) {
  if (failure.ok() || std::exchange(isPlaced, true)) {
    return failure;
  }
  return failure.annotate(describePlace(place));
}

Status Renderer::enter(Place place) {
  if (depth == runDepthLimit) {
    return placed(HEDDLE_ERROR(ResourceExhausted,
                               fmt::format("the template nests calls, blocks and expressions more "
                                           "than {} deep",
                                           runDepthLimit)),
                  place);
  }
  ++depth;
  return {};
}

Value Renderer::macroOf(const MacroDefinition &macro, Scope &scope) {
  scope.capture();
  return {Kind::Function, std::make_shared<FunctionObject>(macro, scope)};
}

// --- statements ------------------------------------------------------------------------------

Result<Renderer::Flow> Renderer::run(const Block &block, Scope &scope, TextWriter &out) {
  HEDDLE_TRY(enter(block.statements.empty() ? Place() : block.statements[0].place));
  const Nesting nesting(depth);
  for (const Statement &statement : block.statements) {
    HEDDLE_TRY(placed(budget.charge(1), statement.place));
    Result<Flow> flow = runStatement(statement, scope, out);
    if (!flow.ok()) {
      return placed(flow.status(), statement.place);
    }
    if (*flow != Flow::Next) {
      return *flow;
    }
  }
  return Flow::Next;
}

Result<Renderer::Flow> Renderer::runStatement(const Statement &statement, Scope &scope,
                                              TextWriter &out) {
  switch (statement.kind) {
  case Statement::Kind::Text:
    HEDDLE_TRY(out.add(statement.text));
    return Flow::Next;
  case Statement::Kind::Output: {
    HEDDLE_ASSIGN(const Value value, evaluate(*statement.expression, scope));
    HEDDLE_TRY(writeString(out, value));
    return Flow::Next;
  }
  case Statement::Kind::For:
    return runFor(statement, scope, out);
  case Statement::Kind::If:
    return runIf(statement, scope, out);
  case Statement::Kind::Set: {
    HEDDLE_ASSIGN(const Value value, evaluate(*statement.expression, scope));
    HEDDLE_TRY(assign(statement.target, value, scope));
    return Flow::Next;
  }
  case Statement::Kind::SetText: {
    Value text;
    HEDDLE_ASSIGN(const Flow flow, textOfBody(statement, scope, text));
    HEDDLE_TRY(flow == Flow::Next ? assign(statement.target, text, scope) : Status());
    return flow;
  }
  case Statement::Kind::Filter: {
    Value text;
    HEDDLE_ASSIGN(const Flow flow, textOfBody(statement, scope, text));
    if (flow == Flow::Next && !text.is(Kind::String)) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("a block \"filter\" that makes {}, expected "
                                                       "a string",
                                                       describeKind(text)));
    }
    HEDDLE_TRY(flow == Flow::Next ? writeString(out, text) : Status());
    return flow;
  }
  case Statement::Kind::Scope:
    return runScope(statement, scope, out);
  case Statement::Kind::Macro:
    scope.set(statement.macro->name, macroOf(*statement.macro, scope));
    return Flow::Next;
  case Statement::Kind::CallBlock:
    HEDDLE_TRY(runCallBlock(statement, scope, out));
    return Flow::Next;
  case Statement::Kind::Break:
    return Flow::Break;
  case Statement::Kind::Continue:
    break;
  }
  return Flow::Continue;
}

Status Renderer::assign(const Target &target, const Value &value, Scope &scope) {
  if (!target.attribute.empty()) {
    HEDDLE_ASSIGN(const Value *const found, scope.find(target.names[0], budget));
    if (found == nullptr || !found->is(Kind::Namespace)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} is no namespace, so its attributes cannot be set",
                                      quote(target.names[0])));
    }
    // The budget created it mutable.
    const auto &object = static_cast<const NamespaceObject &>(*found->object());
    const_cast<NamespaceObject &>(object).values.set(Value(target.attribute), value);
    return {};
  }
  if (!target.unpacks) {
    scope.set(target.names[0], value);
    return {};
  }
  HEDDLE_ASSIGN(const std::vector<Value> items, itemsOf(budget, value));
  if (items.size() != target.names.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} values for {} names", items.size(), target.names.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    scope.set(target.names[i], items[i]);
  }
  return {};
}

/// Returns the items of a loop, filtered by its condition.
Result<std::vector<Value>> Renderer::itemsOfLoop(const Statement &statement, Scope &scope) {
  HEDDLE_ASSIGN(const Value iterated, evaluate(*statement.expression, scope));
  HEDDLE_ASSIGN(std::vector<Value> items, itemsOf(budget, iterated));
  if (!statement.condition) {
    return items;
  }
  std::vector<Value> chosen;
  for (const Value &item : items) {
    auto inner = std::make_unique<Scope>(&scope);
    HEDDLE_TRY(assign(statement.target, item, *inner));
    inner->set("loop", Value::undefined("\"loop\" is undefined in the condition of a loop"));
    HEDDLE_ASSIGN(const Value condition, evaluate(*statement.condition, *inner));
    HEDDLE_TRY(leave(std::move(inner)));
    if (isTrue(condition)) {
      chosen.push_back(item);
    }
  }
  return chosen;
}

Result<Renderer::Flow> Renderer::runIteration(const Statement &statement, Scope &scope,
                                              const Value &loop, TextWriter &out) {
  const auto &state = static_cast<const LoopObject &>(*loop.object());
  auto inner = std::make_unique<Scope>(&scope);
  HEDDLE_TRY(assign(statement.target, state.items[state.index], *inner));
  inner->set("loop", loop);
  HEDDLE_ASSIGN(const Flow flow, run(statement.bodies[0], *inner, out));
  HEDDLE_TRY(leave(std::move(inner)));
  return flow;
}

Result<Renderer::Flow> Renderer::runFor(const Statement &statement, Scope &scope, TextWriter &out) {
  HEDDLE_ASSIGN(std::vector<Value> items, itemsOfLoop(statement, scope));
  if (items.empty()) {
    auto inner = std::make_unique<Scope>(&scope);
    HEDDLE_ASSIGN(const Flow flow, run(statement.bodies[1], *inner, out));
    HEDDLE_TRY(leave(std::move(inner)));
    return flow;
  }
  // Owned by the budget, because a namespace may hold it, or changed() its own loop.
  auto made = std::make_unique<LoopObject>();
  LoopObject &state = *made;
  state.items = std::move(items);
  HEDDLE_ASSIGN(const Value loop, budget.keep(Kind::Loop, std::move(made)));
  for (; state.index < state.items.size(); ++state.index) {
    HEDDLE_TRY(budget.charge(1));
    HEDDLE_ASSIGN(const Flow flow, runIteration(statement, scope, loop, out));
    if (flow == Flow::Break) {
      break;
    }
  }
  // A namespace may still hold it: it becomes a loop without items.
  state.items = {};
  state.index = 0;
  state.last.reset();
  return Flow::Next;
}

Result<Renderer::Flow> Renderer::runIf(const Statement &statement, Scope &scope, TextWriter &out) {
  for (size_t i = 0; i < statement.branches.size(); ++i) {
    if (statement.branches[i]) {
      HEDDLE_ASSIGN(const Value condition, evaluate(*statement.branches[i], scope));
      if (!isTrue(condition)) {
        continue;
      }
    }
    return run(statement.bodies[i], scope, out);
  }
  return Flow::Next;
}

Result<Renderer::Flow> Renderer::runScope(const Statement &statement, Scope &scope,
                                          TextWriter &out) {
  auto inner = std::make_unique<Scope>(&scope);
  for (const auto &[target, expression] : statement.assignments) {
    // The values are evaluated in the outer scope and do not see each other.
    HEDDLE_ASSIGN(const Value value, evaluate(*expression, scope));
    HEDDLE_TRY(assign(target, value, *inner));
  }
  HEDDLE_ASSIGN(const Flow flow, run(statement.bodies[0], *inner, out));
  HEDDLE_TRY(leave(std::move(inner)));
  return flow;
}

Result<Renderer::Flow> Renderer::textOfBody(const Statement &statement, Scope &scope, Value &text) {
  TextWriter out(budget);
  auto inner = std::make_unique<Scope>(&scope);
  HEDDLE_ASSIGN(const Flow flow, run(statement.bodies[0], *inner, out));
  text = Value(out.take());
  if (statement.expression && flow == Flow::Next) {
    const Value *const outer = std::exchange(filtered, &text);
    Result<Value> result = evaluate(*statement.expression, *inner);
    filtered = outer;
    HEDDLE_TRY(result.status());
    text = *std::move(result);
  }
  HEDDLE_TRY(leave(std::move(inner)));
  return flow;
}

Status Renderer::runCallBlock(const Statement &statement, Scope &scope, TextWriter &out) {
  const Value caller = macroOf(*statement.macro, scope);
  Result<Value> text = callValue(*statement.expression, scope, &caller);
  HEDDLE_TRY(placed(text.status(), statement.expression->place));
  return writeString(out, *text);
}

Result<std::string> Renderer::render(const Block &root) {
  TextWriter out(budget);
  Scope scope(nullptr);
  HEDDLE_TRY(run(root, scope, out).status());
  return out.take();
}

// --- the public class ------------------------------------------------------------------------

Result<Template> Template::parse(std::string_view text) {
  if (text.size() > templateLimit) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} bytes, expected {} at most", text.size(), templateLimit));
  }
  const std::string invalid = describeInvalidUtf8(text);
  if (!invalid.empty()) {
    return HEDDLE_ERROR(InvalidArgument, invalid);
  }
  HEDDLE_ASSIGN(std::vector<Token> tokens, tokenize(text));
  HEDDLE_ASSIGN(Block root, Parser(std::move(tokens)).parseTemplate());
  return Template(std::make_shared<const Block>(std::move(root)));
}

Result<std::string> Template::render(const nlohmann::ordered_json &variables,
                                     const RenderOptions &options) const {
  if (!variables.is_object()) {
    return HEDDLE_ERROR(InvalidArgument, "variables of a template that are no object");
  }
  std::map<std::string, Value, std::less<>> values;
  for (const auto &[name, json] : variables.items()) {
    Result<Value> value = valueOf(json);
    HEDDLE_TRY_WITH(value.status(), quote(name));
    values.insert_or_assign(name, *std::move(value));
  }
  return Renderer(std::move(values), options).render(*root);
}

} // namespace heddle::chat
