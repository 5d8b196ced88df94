// SPDX-License-Identifier: Apache-2.0
///
/// Parses tokens to a syntax tree, by recursive descent with Jinja's precedences. Stops at the
/// first error.
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

/// The maximum nesting of brackets and blocks in a template, and the maximum depth of its syntax
/// tree: a sum of n terms has depth n.
inline constexpr int nestingLimit = 100;
inline constexpr uint32_t treeDepthLimit = 400;

/// The maximum number of parameters of a macro, and of named arguments of a call: each name is
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
  /// Parses expressions separated by commas, or a single one. Without conditionals, an "if" ends
  /// it.
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
  /// Checks a call of a filter or test, or of one that its arguments name.
  static Status checkCall(const Expression &call);
  static Status checkNamed(const Expression &call);
  /// Rejects calls of functions and methods that Python has and this project does not support.
  Status checkCallee(const Expression &callee);
  /// Rejects escaped texts except where they are written: elsewhere Jinja escapes the operands they
  /// meet.
  static Status checkEscaped(const Expression &expression, bool isWritten);

  // Statements, in StatementParser.cpp.
  /// Parses statements up to a block with one of these names, which is not consumed.
  Result<Block> parseBlock(std::initializer_list<std::string_view> ends, std::string_view opened,
                           Place place);
  /// As parseBlock() with one end, which is consumed.
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
  /// The number of loops around the statement, within its macro.
  int loops = 0;
  /// The names that the body of the macro uses so far.
  bool readsCaller = false;
  bool readsRest = false;
  bool readsNamedRest = false;
  /// Names that are assigned anywhere, which may therefore hide Jinja's functions, and attributes
  /// of namespaces.
  std::set<std::string, std::less<>> assigned;
  std::set<std::string, std::less<>> attributes;
};

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_PARSER_H
