// SPDX-License-Identifier: Apache-2.0
///
/// Executes a syntax tree. Variables are in a chain of scopes, which every macro, loop and scoped
/// block extends.
#ifndef HEDDLE_FORMATS_TEMPLATE_RENDERER_H
#define HEDDLE_FORMATS_TEMPLATE_RENDERER_H

#include "formats/Template/Access.h"
#include "formats/Template/Budget.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Syntax.h"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::chat {

/// Variables, and the enclosing scope.
class Scope {
public:
  explicit Scope(Scope *parent) : parent(parent) {}

  /// Returns the variable; null if neither this scope nor an enclosing one has the name. Each
  /// searched scope is charged.
  Result<const Value *> find(std::string_view name, Budget &budget) const;
  void set(std::string_view name, Value value);
  /// Marks this scope and its enclosing scopes as captured by a macro, which may be called later.
  void capture();
  bool isCaptured() const { return captured; }
  size_t size() const { return variables.size(); }

private:
  Scope *parent;
  std::unordered_map<std::string_view, Value> variables;
  bool captured = false;
};

class Renderer {
public:
  Renderer(std::map<std::string, Value, std::less<>> variables, const RenderOptions &options)
      : variables(std::move(variables)), budget(options) {}

  Result<std::string> render(const Block &root);

private:
  /// How a block ended.
  enum class Flow : uint8_t { Next, Break, Continue };

  // Statements, in Renderer.cpp.
  Result<Flow> run(const Block &block, Scope &scope, TextWriter &out);
  Result<Flow> runStatement(const Statement &statement, Scope &scope, TextWriter &out);
  Result<Flow> runFor(const Statement &statement, Scope &scope, TextWriter &out);
  Result<Flow> runIteration(const Statement &statement, Scope &scope, const Value &loop,
                            TextWriter &out);
  Result<Flow> runIf(const Statement &statement, Scope &scope, TextWriter &out);
  Result<Flow> runScope(const Statement &statement, Scope &scope, TextWriter &out);
  /// Renders the only body in a new scope, and applies filters to its text.
  Result<Flow> textOfBody(const Statement &statement, Scope &scope, Value &text);
  Status runCallBlock(const Statement &statement, Scope &scope, TextWriter &out);
  Status assign(const Target &target, const Value &value, Scope &scope);
  Result<std::vector<Value>> itemsOfLoop(const Statement &statement, Scope &scope);
  /// Leaves a scope, which is kept if a macro has captured it.
  Status leave(std::unique_ptr<Scope> scope);
  Value macroOf(const MacroDefinition &macro, Scope &scope);

  // Expressions, in Evaluation.cpp.
  Result<Value> evaluate(const Expression &expression, Scope &scope);
  Result<Value> compute(const Expression &expression, Scope &scope);
  Result<Value> variable(const Expression &expression, Scope &scope);
  Result<Value> display(const Expression &expression, Scope &scope);
  Result<Value> sliceValue(const Expression &expression, Scope &scope);
  Result<Value> comparison(const Expression &expression, Scope &scope);
  Result<Value> concatenation(const Expression &expression, Scope &scope);
  Result<Value> conditional(const Expression &expression, Scope &scope);
  Result<Value> callable(const Expression &expression, Scope &scope);
  Result<Value> callValue(const Expression &expression, Scope &scope, const Value *caller);
  Result<GivenArguments> argumentsOf(const ArgumentList &list, Scope &scope);
  Result<Value> callMacro(const FunctionObject &function, GivenArguments arguments);
  Status bindMacro(const MacroDefinition &macro, GivenArguments arguments, Scope &scope);
  /// Binds parameters without arguments to their defaults, or to undefined.
  Status bindAbsent(const MacroDefinition &macro, const std::vector<bool> &given, Scope &scope);
  /// Enters a nesting level, which a Nesting leaves.
  Status enter(Place place);
  struct Nesting {
    explicit Nesting(int &depth) : depth(depth) {}
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;
    ~Nesting() { --depth; }
    int &depth;
  };
  /// Adds the place to a failure that has none yet.
  Status placed(Status failure, Place place);

  std::map<std::string, Value, std::less<>> variables;
  Budget budget;
  std::vector<std::unique_ptr<Scope>> keptScopes;
  /// The text that a filter block or set block passes to its filters.
  const Value *filtered = nullptr;
  int depth = 0;
  bool isPlaced = false;
};

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_RENDERER_H
