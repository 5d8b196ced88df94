// SPDX-License-Identifier: Apache-2.0
///
/// The syntax tree of a template. The parser has checked it: names of filters and tests are known,
/// their arguments match, and its depth is bounded, so that code may walk it recursively.
#ifndef HEDDLE_FORMATS_TEMPLATE_SYNTAX_H
#define HEDDLE_FORMATS_TEMPLATE_SYNTAX_H

#include "formats/Template/Tokens.h"
#include "formats/Template/Value.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::chat {

struct Callable;
struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

/// The arguments of a call as written.
struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  /// *ARGUMENTS and **ARGUMENTS; null: none.
  ExpressionPtr unpacked;
  ExpressionPtr unpackedNamed;
};

enum class Operator : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
};

struct Expression {
  enum class Kind : uint8_t {
    /// `constant`.
    Constant,
    /// `name`.
    Variable,
    /// `operands` are the items, or alternating keys and values.
    List,
    Tuple,
    Dict,
    /// operands[0].name, operands[0][operands[1]].
    Attribute,
    Item,
    /// operands[0][operands[1]:operands[2]:operands[3]]; omitted operands are null.
    Slice,
    /// operands[0](arguments), or the result of `callable` for operands[0] and arguments. Without
    /// an operand, a filter applies to the text of its block.
    Call,
    Filter,
    Test,
    Not,
    Negative,
    Positive,
    /// operands[0] operators[0] operands[1].
    Arithmetic,
    /// operands[0] operators[0] operands[1] operators[1] ...: each operator compares its
    /// neighbours.
    Comparison,
    And,
    Or,
    /// The operands joined by ~.
    Concatenation,
    /// operands[1] if operands[0] else operands[2], which may be null.
    Conditional,
  };

  Kind kind;
  Place place;
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> operands;
  std::vector<Operator> operators;
  ArgumentList arguments;
  const Callable *callable = nullptr;
  /// 1 without operands.
  uint32_t depth = 1;
};

struct Statement;

/// A sequence of statements.
struct Block {
  std::vector<Statement> statements;
};

/// A parameter of a macro, and its default; null: undefined.
struct MacroParameter {
  std::string name;
  ExpressionPtr absent;
};

/// A macro, or the body of a call block.
struct MacroDefinition {
  /// Empty for a call block.
  std::string name;
  std::vector<MacroParameter> parameters;
  Block body;
  /// Whether its body uses these names, which are then defined.
  bool readsCaller = false;
  bool readsRest = false;
  bool readsNamedRest = false;
};

/// The target of an assignment: names, or the attribute of a namespace.
struct Target {
  std::vector<std::string> names;
  /// Whether a value is unpacked to the names.
  bool unpacks = false;
  /// If not empty, the attribute of the namespace that `names` begins with.
  std::string attribute;
};

struct Statement {
  enum class Kind : uint8_t {
    /// `text`, or `expression`.
    Text,
    Output,
    /// For each `target` in `expression` for which `condition` is null or true: bodies[0]; if there
    /// is none, bodies[1].
    For,
    /// The bodies of `branches`, whose condition is null for "else".
    If,
    /// `target` = `expression`, or the text of bodies[0], to which filters in `expression` may be
    /// applied.
    Set,
    SetText,
    /// Writes the text of bodies[0] after the filters in `expression`.
    Filter,
    /// `assignments`, then bodies[0] in a new scope.
    Scope,
    Macro,
    /// Calls `expression` with `macro` as "caller".
    CallBlock,
    Break,
    Continue,
  };

  Kind kind;
  Place place;
  std::string text;
  ExpressionPtr expression;
  ExpressionPtr condition;
  Target target;
  std::vector<Block> bodies;
  std::vector<ExpressionPtr> branches;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  std::unique_ptr<const MacroDefinition> macro;
};

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_SYNTAX_H
