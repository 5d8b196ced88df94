// SPDX-License-Identifier: Apache-2.0
///
/// Parses expressions. Each rule is named after its operator of lowest precedence.
#include "formats/Template/Parser.h"

#include "base/Utf8.h"
#include "formats/Template/Callable.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::chat {

using Part = Expression::Kind;

static std::unique_ptr<Expression> make(Part kind, Place place) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->place = place;
  return made;
}

static std::unique_ptr<Expression> makeConstant(Value value, Place place) {
  std::unique_ptr<Expression> made = make(Part::Constant, place);
  made->constant = std::move(value);
  return made;
}

Result<ExpressionPtr> Parser::finish(std::unique_ptr<Expression> made) {
  uint32_t deepest = 0;
  const auto add = [&](const ExpressionPtr &each) {
    deepest = std::max(deepest, each ? each->depth : 0);
  };
  std::for_each(made->operands.begin(), made->operands.end(), add);
  std::for_each(made->arguments.positional.begin(), made->arguments.positional.end(), add);
  for (const auto &[name, value] : made->arguments.named) {
    add(value);
  }
  add(made->arguments.unpacked);
  add(made->arguments.unpackedNamed);
  made->depth = deepest + 1;
  if (made->depth > treeDepthLimit) {
    return failureAt(made->place, fmt::format("an expression of more than {} parts in each other",
                                              treeDepthLimit));
  }
  return ExpressionPtr(std::move(made));
}

// --- operators -------------------------------------------------------------------------------

Result<ExpressionPtr> Parser::parseExpression() {
  HEDDLE_TRY(enter());
  const Nesting nesting(depth);
  HEDDLE_ASSIGN(ExpressionPtr value, parseOr());
  while (isName("if")) {
    const Place place = take().place;
    HEDDLE_ASSIGN(ExpressionPtr condition, parseOr());
    ExpressionPtr otherwise;
    if (takeName("else")) {
      HEDDLE_ASSIGN(otherwise, parseExpression());
    }
    std::unique_ptr<Expression> made = make(Part::Conditional, place);
    made->operands.push_back(std::move(condition));
    made->operands.push_back(std::move(value));
    made->operands.push_back(std::move(otherwise));
    HEDDLE_ASSIGN(value, finish(std::move(made)));
  }
  return value;
}

/// Parses operands separated by keywords.
Result<ExpressionPtr> Parser::parseOr() {
  HEDDLE_ASSIGN(ExpressionPtr left, parseAnd());
  while (isName("or")) {
    std::unique_ptr<Expression> made = make(Part::Or, take().place);
    HEDDLE_ASSIGN(ExpressionPtr right, parseAnd());
    made->operands.push_back(std::move(left));
    made->operands.push_back(std::move(right));
    HEDDLE_ASSIGN(left, finish(std::move(made)));
  }
  return left;
}

Result<ExpressionPtr> Parser::parseAnd() {
  HEDDLE_ASSIGN(ExpressionPtr left, parseNot());
  while (isName("and")) {
    std::unique_ptr<Expression> made = make(Part::And, take().place);
    HEDDLE_ASSIGN(ExpressionPtr right, parseNot());
    made->operands.push_back(std::move(left));
    made->operands.push_back(std::move(right));
    HEDDLE_ASSIGN(left, finish(std::move(made)));
  }
  return left;
}

Result<ExpressionPtr> Parser::parseNot() {
  if (!isName("not")) {
    return parseComparison();
  }
  HEDDLE_TRY(enter());
  const Nesting nesting(depth);
  std::unique_ptr<Expression> made = make(Part::Not, take().place);
  HEDDLE_ASSIGN(ExpressionPtr operand, parseNot());
  made->operands.push_back(std::move(operand));
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseComparison() {
  static constexpr std::pair<std::string_view, Operator> operators[] = {
      {"==", Operator::Equal},     {"!=", Operator::NotEqual}, {"<", Operator::Less},
      {"<=", Operator::LessEqual}, {">", Operator::Greater},   {">=", Operator::GreaterEqual}};
  HEDDLE_ASSIGN(ExpressionPtr first, parseSum());
  std::unique_ptr<Expression> made = make(Part::Comparison, current().place);
  made->operands.push_back(std::move(first));
  for (;;) {
    const auto *const found =
        std::find_if(std::begin(operators), std::end(operators),
                     [&](const auto &each) { return isOperator(each.first); });
    const bool isNotIn = isName("not") && ahead().kind == TokenKind::Name && ahead().text == "in";
    if (found != std::end(operators)) {
      take();
      made->operators.push_back(found->second);
    } else if (isNotIn || isName("in")) {
      take();
      if (isNotIn) {
        take();
      }
      made->operators.push_back(isNotIn ? Operator::NotIn : Operator::In);
    } else if (made->operators.empty()) {
      return std::move(made->operands[0]);
    } else {
      return finish(std::move(made));
    }
    HEDDLE_ASSIGN(ExpressionPtr operand, parseSum());
    made->operands.push_back(std::move(operand));
  }
}

Result<ExpressionPtr>
Parser::parseChain(Rule operand,
                   std::initializer_list<std::pair<std::string_view, Operator>> operators) {
  HEDDLE_ASSIGN(ExpressionPtr left, (this->*operand)());
  for (;;) {
    const auto *const found =
        std::find_if(operators.begin(), operators.end(),
                     [&](const auto &each) { return isOperator(each.first); });
    if (found == operators.end()) {
      return left;
    }
    std::unique_ptr<Expression> made = make(Part::Arithmetic, take().place);
    made->operators.push_back(found->second);
    HEDDLE_ASSIGN(ExpressionPtr right, (this->*operand)());
    made->operands.push_back(std::move(left));
    made->operands.push_back(std::move(right));
    HEDDLE_ASSIGN(left, finish(std::move(made)));
  }
}

Result<ExpressionPtr> Parser::parseSum() {
  return parseChain(&Parser::parseConcatenation, {{"+", Operator::Add}, {"-", Operator::Subtract}});
}

Result<ExpressionPtr> Parser::parseConcatenation() {
  const Place place = current().place;
  HEDDLE_ASSIGN(ExpressionPtr first, parseProduct());
  if (!isOperator("~")) {
    return first;
  }
  std::unique_ptr<Expression> made = make(Part::Concatenation, place);
  made->operands.push_back(std::move(first));
  while (takeOperator("~")) {
    HEDDLE_ASSIGN(ExpressionPtr next, parseProduct());
    made->operands.push_back(std::move(next));
  }
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseProduct() {
  return parseChain(&Parser::parsePower, {{"*", Operator::Multiply},
                                          {"/", Operator::Divide},
                                          {"//", Operator::FloorDivide},
                                          {"%", Operator::Modulo}});
}

Result<ExpressionPtr> Parser::parsePower() {
  HEDDLE_ASSIGN(ExpressionPtr left, parseUnary(true));
  while (isOperator("**")) {
    std::unique_ptr<Expression> made = make(Part::Arithmetic, take().place);
    made->operators.push_back(Operator::Power);
    HEDDLE_ASSIGN(ExpressionPtr right, parseUnary(true));
    made->operands.push_back(std::move(left));
    made->operands.push_back(std::move(right));
    HEDDLE_ASSIGN(left, finish(std::move(made)));
  }
  return left;
}

/// Parses a sign, which binds more tightly than a filter: -3 | abs is 3.
Result<ExpressionPtr> Parser::parseUnary(bool withFilters) {
  ExpressionPtr value;
  if (isOperator("-") || isOperator("+")) {
    HEDDLE_TRY(enter());
    const Nesting nesting(depth);
    std::unique_ptr<Expression> made =
        make(isOperator("-") ? Part::Negative : Part::Positive, current().place);
    take();
    HEDDLE_ASSIGN(ExpressionPtr operand, parseUnary(false));
    made->operands.push_back(std::move(operand));
    HEDDLE_ASSIGN(value, finish(std::move(made)));
  } else {
    HEDDLE_ASSIGN(value, parsePrimary());
  }
  HEDDLE_ASSIGN(value, parsePostfix(std::move(value)));
  return withFilters ? parseFilters(std::move(value)) : Result<ExpressionPtr>(std::move(value));
}

// --- values ----------------------------------------------------------------------------------

Result<ExpressionPtr> Parser::parseString() {
  const Place place = current().place;
  std::string text;
  while (current().kind == TokenKind::String) {
    text += take().text;
  }
  return ExpressionPtr(makeConstant(Value(std::move(text)), place));
}

Result<ExpressionPtr> Parser::parsePrimary() {
  const Place place = current().place;
  switch (current().kind) {
  case TokenKind::String:
    return parseString();
  case TokenKind::Integer:
    return ExpressionPtr(makeConstant(Value(take().integer), place));
  case TokenKind::Real:
    return ExpressionPtr(makeConstant(Value(take().real), place));
  case TokenKind::Name: {
    const std::string name = take().text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      return ExpressionPtr(makeConstant(Value(name == "true" || name == "True"), place));
    }
    if (name == "none" || name == "None") {
      return ExpressionPtr(makeConstant(Value(), place));
    }
    readsCaller = readsCaller || name == "caller";
    readsRest = readsRest || name == "varargs";
    readsNamedRest = readsNamedRest || name == "kwargs";
    std::unique_ptr<Expression> made = make(Part::Variable, place);
    made->name = name;
    return ExpressionPtr(std::move(made));
  }
  default:
    break;
  }
  if (isOperator("[")) {
    return parseList();
  }
  if (isOperator("{")) {
    return parseDict();
  }
  if (takeOperator("(")) {
    HEDDLE_ASSIGN(ExpressionPtr value, parseTuple(true, true));
    HEDDLE_TRY(expectOperator(")"));
    return value;
  }
  return unexpected("a value");
}

Result<ExpressionPtr> Parser::parseTuple(bool withConditionals, bool inParentheses) {
  std::unique_ptr<Expression> made = make(Part::Tuple, current().place);
  bool hasComma = false;
  while (!(inParentheses && isOperator(")")) && current().kind != TokenKind::BlockEnd &&
         current().kind != TokenKind::VariableEnd) {
    HEDDLE_ASSIGN(ExpressionPtr item, withConditionals ? parseExpression() : parseOr());
    made->operands.push_back(std::move(item));
    if (!takeOperator(",")) {
      break;
    }
    hasComma = true;
  }
  if (made->operands.size() == 1 && !hasComma) {
    return std::move(made->operands[0]);
  }
  if (made->operands.empty() && !inParentheses) {
    return unexpected("an expression");
  }
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseList() {
  std::unique_ptr<Expression> made = make(Part::List, take().place);
  while (!isOperator("]")) {
    HEDDLE_ASSIGN(ExpressionPtr item, parseExpression());
    made->operands.push_back(std::move(item));
    if (!takeOperator(",")) {
      break;
    }
  }
  HEDDLE_TRY(expectOperator("]"));
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseDict() {
  std::unique_ptr<Expression> made = make(Part::Dict, take().place);
  while (!isOperator("}")) {
    HEDDLE_ASSIGN(ExpressionPtr key, parseExpression());
    HEDDLE_TRY(expectOperator(":"));
    HEDDLE_ASSIGN(ExpressionPtr value, parseExpression());
    made->operands.push_back(std::move(key));
    made->operands.push_back(std::move(value));
    if (!takeOperator(",")) {
      break;
    }
  }
  HEDDLE_TRY(expectOperator("}"));
  return finish(std::move(made));
}

// --- what stands behind a value --------------------------------------------------------------

Result<ExpressionPtr> Parser::parsePostfix(ExpressionPtr base) {
  for (;;) {
    if (isOperator(".")) {
      HEDDLE_ASSIGN(base, parseAttribute(std::move(base)));
    } else if (isOperator("[")) {
      HEDDLE_ASSIGN(base, parseSubscript(std::move(base)));
    } else if (isOperator("(")) {
      HEDDLE_ASSIGN(base, parseCall(std::move(base)));
    } else {
      return base;
    }
  }
}

Result<ExpressionPtr> Parser::parseFilters(ExpressionPtr base) {
  for (;;) {
    if (takeOperator("|")) {
      HEDDLE_ASSIGN(base, parseFilter(std::move(base)));
    } else if (isName("is")) {
      HEDDLE_ASSIGN(base, parseTest(std::move(base)));
    } else if (isOperator("(")) {
      HEDDLE_ASSIGN(base, parseCall(std::move(base)));
    } else {
      return base;
    }
  }
}

Result<ExpressionPtr> Parser::parseAttribute(ExpressionPtr base) {
  const Place place = take().place;
  std::unique_ptr<Expression> made = make(Part::Attribute, place);
  made->operands.push_back(std::move(base));
  if (current().kind == TokenKind::Integer) {
    made->kind = Part::Item;
    made->operands.push_back(makeConstant(Value(take().integer), place));
  } else {
    HEDDLE_ASSIGN(made->name, expectName("the name of an attribute"));
  }
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseSubscript(ExpressionPtr base) {
  std::unique_ptr<Expression> made = make(Part::Item, take().place);
  made->operands.push_back(std::move(base));
  ExpressionPtr first;
  if (!isOperator(":")) {
    HEDDLE_ASSIGN(first, parseExpression());
  }
  const bool isSlice = isOperator(":");
  made->operands.push_back(std::move(first));
  if (isSlice) {
    made->kind = Part::Slice;
    for (int i = 0; i < 2; ++i) {
      ExpressionPtr bound;
      if (takeOperator(":") && !isOperator(":") && !isOperator("]")) {
        HEDDLE_ASSIGN(bound, parseExpression());
      }
      made->operands.push_back(std::move(bound));
    }
  }
  HEDDLE_TRY(expectOperator("]"));
  return finish(std::move(made));
}

Status Parser::parseArgument(ArgumentList &arguments) {
  const Place place = current().place;
  if (takeOperator("*")) {
    if (arguments.unpacked || arguments.unpackedNamed) {
      return failureAt(place, "a second list of arguments");
    }
    HEDDLE_ASSIGN(arguments.unpacked, parseExpression());
    return {};
  }
  if (takeOperator("**")) {
    if (arguments.unpackedNamed) {
      return failureAt(place, "a second dict of arguments");
    }
    HEDDLE_ASSIGN(arguments.unpackedNamed, parseExpression());
    return {};
  }
  const bool isNamed = current().kind == TokenKind::Name && ahead().kind == TokenKind::Operator &&
                       ahead().text == "=";
  if (arguments.unpackedNamed || (!isNamed && (arguments.unpacked || !arguments.named.empty()))) {
    return failureAt(place, "an argument behind those with names");
  }
  if (!isNamed) {
    HEDDLE_ASSIGN(ExpressionPtr value, parseExpression());
    arguments.positional.push_back(std::move(value));
    return {};
  }
  if (arguments.named.size() == namesLimit) {
    return failureAt(place, fmt::format("a call of more than {} arguments with names", namesLimit));
  }
  std::string name = take().text;
  take();
  HEDDLE_ASSIGN(ExpressionPtr value, parseExpression());
  arguments.named.emplace_back(std::move(name), std::move(value));
  return {};
}

Result<ArgumentList> Parser::parseArguments() {
  ArgumentList arguments;
  HEDDLE_TRY(expectOperator("("));
  while (!isOperator(")")) {
    HEDDLE_TRY(parseArgument(arguments));
    if (!takeOperator(",")) {
      break;
    }
  }
  HEDDLE_TRY(expectOperator(")"));
  return arguments;
}

Result<ExpressionPtr> Parser::parseCall(ExpressionPtr base) {
  std::unique_ptr<Expression> made = make(Part::Call, current().place);
  HEDDLE_TRY(checkCallee(*base));
  // Attributes of namespaces may be functions.
  HEDDLE_ASSIGN(made->arguments, parseArguments());
  for (const auto &[name, value] : made->arguments.named) {
    attributes.insert(name);
  }
  made->operands.push_back(std::move(base));
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseFilter(ExpressionPtr base) {
  std::unique_ptr<Expression> made = make(Part::Filter, current().place);
  HEDDLE_ASSIGN(made->name, expectName("the name of a filter"));
  made->callable = findFilter(made->name);
  if (made->callable == nullptr) {
    return failureAt(made->place, fmt::format("filter {} is not known", quote(made->name)));
  }
  if (isOperator("(")) {
    HEDDLE_ASSIGN(made->arguments, parseArguments());
  }
  made->operands.push_back(std::move(base));
  HEDDLE_TRY(checkCall(*made));
  return finish(std::move(made));
}

Result<ExpressionPtr> Parser::parseTest(ExpressionPtr base) {
  take();
  const Place place = current().place;
  const bool isNegated = takeName("not");
  std::unique_ptr<Expression> made = make(Part::Test, current().place);
  HEDDLE_ASSIGN(made->name, expectName("the name of a test"));
  made->callable = findTest(made->name);
  if (made->callable == nullptr) {
    return failureAt(made->place, fmt::format("test {} is not known", quote(made->name)));
  }
  const TokenKind next = current().kind;
  const bool isValue =
      next == TokenKind::String || next == TokenKind::Integer || next == TokenKind::Real ||
      isOperator("[") || isOperator("{") ||
      (next == TokenKind::Name && !isName("else") && !isName("or") && !isName("and") &&
       !isName("is") && !isName("if") && !isName("not") && !isName("in"));
  if (isOperator("(")) {
    HEDDLE_ASSIGN(made->arguments, parseArguments());
  } else if (isValue) {
    HEDDLE_ASSIGN(ExpressionPtr value, parsePrimary());
    HEDDLE_ASSIGN(value, parsePostfix(std::move(value)));
    made->arguments.positional.push_back(std::move(value));
  }
  made->operands.push_back(std::move(base));
  HEDDLE_TRY(checkCall(*made));
  HEDDLE_ASSIGN(ExpressionPtr test, finish(std::move(made)));
  if (!isNegated) {
    return test;
  }
  std::unique_ptr<Expression> negated = make(Part::Not, place);
  negated->operands.push_back(std::move(test));
  return finish(std::move(negated));
}

} // namespace heddle::chat
