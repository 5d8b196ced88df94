// SPDX-License-Identifier: Apache-2.0
///
/// Tokens to a syntax tree, by recursive descent with the precedences of Jinja. The first thing
/// that is not understood ends it.
#ifndef HEDDLE_FORMATS_TEMPLATE_PARSER_H
#define HEDDLE_FORMATS_TEMPLATE_PARSER_H

#include "formats/Template/Syntax.h"
#include "formats/Template/Tokens.h"

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::chat {

/// How deep brackets and blocks may nest in a template, and how deep its syntax tree may be: a sum
/// of many terms is as deep as it has terms.
inline constexpr int nestingLimit = 100;
inline constexpr uint32_t treeDepthLimit = 400;

/// How many parameters a macro may have, and how many arguments with names a call: each name is
/// compared with the others.
inline constexpr size_t namesLimit = 256;

class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  Result<Block> parseTemplate();

private:
  // Expressions, in ExpressionParser.cpp.
  Result<ExpressionPtr> parseExpression();
  Result<ExpressionPtr> parseOr();
  Result<ExpressionPtr> parseAnd();
  Result<ExpressionPtr> parseNot();
  Result<ExpressionPtr> parseComparison();
  Result<ExpressionPtr> parseSum();
  Result<ExpressionPtr> parseConcatenation();
  Result<ExpressionPtr> parseProduct();
  Result<ExpressionPtr> parsePower();
  Result<ExpressionPtr> parseUnary(bool withFilters);
  Result<ExpressionPtr> parsePrimary();
  Result<ExpressionPtr> parseString();
  Result<ExpressionPtr> parseList();
  Result<ExpressionPtr> parseDict();
  /// Expressions with commas between them, or one alone. Without conditionals an "if" ends it.
  Result<ExpressionPtr> parseTuple(bool withConditionals, bool inParentheses);
  Result<ExpressionPtr> parsePostfix(ExpressionPtr base);
  Result<ExpressionPtr> parseFilters(ExpressionPtr base);
  Result<ExpressionPtr> parseFilter(ExpressionPtr base);
  Result<ExpressionPtr> parseTest(ExpressionPtr base);
  Result<ExpressionPtr> parseSubscript(ExpressionPtr base);
  Result<ExpressionPtr> parseAttribute(ExpressionPtr base);
  Result<ExpressionPtr> parseCall(ExpressionPtr base);
  Result<ArgumentList> parseArguments();
  Status parseArgument(ArgumentList &arguments);
  using Rule = Result<ExpressionPtr> (Parser::*)();
  Result<ExpressionPtr>
  parseChain(Rule operand, std::initializer_list<std::pair<std::string_view, Operator>> operators);
  /// Checks the depth of a new expression.
  static Result<ExpressionPtr> finish(std::unique_ptr<Expression> made);
  /// Checks a filter or test, or one that is named in its arguments.
  static Status checkCall(const Expression &call);
  static Status checkNamed(const Expression &call);
  /// Checks calls of functions and methods that are known to Python and not supported.
  Status checkCallee(const Expression &callee);
  /// Refuses escaped texts but where they are written: elsewhere Jinja escapes what they meet.
  static Status checkEscaped(const Expression &expression, bool isWritten);

  // Statements, in StatementParser.cpp.
  /// Statements up to a block with one of these names, which is not taken.
  Result<Block> parseBlock(std::initializer_list<std::string_view> ends, std::string_view opened,
                           Place place);
  /// The same with one end, which is taken.
  Result<Block> parseBody(std::string_view end, std::string_view opened, Place place);
  Status parseOutput(Block &block);
  Status parseStatement(Block &block);
  Status parseFor(Block &block, Place place);
  Status parseIf(Block &block, Place place);
  Status parseSet(Block &block, Place place);
  Status parseFilterBlock(Block &block, Place place);
  Status parseWith(Block &block, Place place);
  Status parseGeneration(Block &block, Place place);
  Status parseMacro(Block &block, Place place);
  Status parseCallBlock(Block &block, Place place);
  Status parseLoopControl(Block &block, Place place, bool isBreak);
  Result<Target> parseTarget(bool withNamespaces);
  Result<std::string> parseTargetName();
  Status parseParameters(MacroDefinition &macro);
  Status parseMacroBody(MacroDefinition &macro, std::string_view end, std::string_view opened,
                        Place place);
  Status endBlock();

  // Tokens.
  const Token &current() const { return tokens[at]; }
  const Token &ahead() const { return tokens[std::min(at + 1, tokens.size() - 1)]; }
  bool isOperator(std::string_view text) const {
    return current().kind == TokenKind::Operator && current().text == text;
  }
  bool isName(std::string_view text) const {
    return current().kind == TokenKind::Name && current().text == text;
  }
  Token take() { return tokens[at + 1 < tokens.size() ? at++ : at]; }
  bool takeOperator(std::string_view text);
  bool takeName(std::string_view text);
  Status expectOperator(std::string_view text);
  Result<std::string> expectName(std::string_view what);
  Status unexpected(std::string_view expected) const;
  Status enter();

  struct Nesting {
    explicit Nesting(int &depth) : depth(depth) {}
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;
    ~Nesting() { --depth; }
    int &depth;
  };

  std::vector<Token> tokens;
  size_t at = 0;
  int depth = 0;
  /// Loops around the statement, within its macro.
  int loops = 0;
  /// Names that the body of the macro has so far.
  bool readsCaller = false;
  bool readsRest = false;
  bool readsNamedRest = false;
  /// Names that are assigned anywhere, so that they need not mean the functions of Jinja, and
  /// attributes of namespaces.
  std::set<std::string, std::less<>> assigned;
  std::set<std::string, std::less<>> attributes;
};

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_PARSER_H
