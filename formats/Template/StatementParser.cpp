// SPDX-License-Identifier: Apache-2.0
///
/// Parses statements, and implements the parser's token functions.
#include "formats/Template/Parser.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::chat {

// --- tokens ----------------------------------------------------------------------------------

bool Parser::takeOperator(std::string_view text) {
  const bool found = isOperator(text);
  if (found) {
    take();
  }
  return found;
}

bool Parser::takeName(std::string_view text) {
  const bool found = isName(text);
  if (found) {
    take();
  }
  return found;
}

Status Parser::unexpected(std::string_view expected) const {
  return failureAt(current().place,
                   fmt::format("{}, expected {}", describeToken(current()), expected));
}

Status Parser::expectOperator(std::string_view text) {
  return takeOperator(text) ? Status() : unexpected(quote(text));
}

Result<std::string> Parser::expectName(std::string_view what) {
  if (current().kind != TokenKind::Name) {
    return unexpected(what);
  }
  return take().text;
}

Status Parser::endBlock() {
  if (current().kind != TokenKind::BlockEnd) {
    return unexpected("\"%}\"");
  }
  take();
  return {};
}

Status Parser::enter() {
  if (depth == nestingLimit) {
    return failureAt(current().place,
                     fmt::format("more than {} brackets and blocks in each other", nestingLimit));
  }
  ++depth;
  return {};
}

// --- blocks ----------------------------------------------------------------------------------

static Statement begin(Statement::Kind kind, Place place) {
  Statement statement{};
  statement.kind = kind;
  statement.place = place;
  return statement;
}

static Statement &add(Block &block, Statement::Kind kind, Place place) {
  block.statements.push_back(begin(kind, place));
  return block.statements.back();
}

Result<Block> Parser::parseTemplate() {
  // Names that are assigned later are included.
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool isSet = tokens[i].kind == TokenKind::Name &&
                       (tokens[i].text == "set" || tokens[i].text == "macro" ||
                        tokens[i].text == "for" || tokens[i].text == "with");
    if (isSet && tokens[i + 1].kind == TokenKind::Name) {
      assigned.insert(tokens[i + 1].text);
    }
    if (isSet && i + 3 < tokens.size() && tokens[i + 2].text == "." &&
        tokens[i + 3].kind == TokenKind::Name) {
      attributes.insert(tokens[i + 3].text);
    }
  }
  return parseBlock({}, "", {});
}

Result<Block> Parser::parseBlock(std::initializer_list<std::string_view> ends,
                                 std::string_view opened, Place place) {
  HEDDLE_TRY(enter());
  const Nesting nesting(depth);
  Block block;
  for (;;) {
    switch (current().kind) {
    case TokenKind::Data: {
      Statement &text = add(block, Statement::Kind::Text, current().place);
      text.text = take().text;
      break;
    }
    case TokenKind::VariableBegin:
      HEDDLE_TRY(parseOutput(block));
      break;
    case TokenKind::BlockBegin: {
      const bool isEnd = std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
        return ahead().kind == TokenKind::Name && ahead().text == end;
      });
      if (isEnd) {
        return block;
      }
      HEDDLE_TRY(parseStatement(block));
      break;
    }
    default:
      if (ends.size() > 0) {
        return failureAt(
            place, fmt::format("block {} without {}", quote(opened), quote(*(ends.end() - 1))));
      }
      return block;
    }
  }
}

Result<Block> Parser::parseBody(std::string_view end, std::string_view opened, Place place) {
  HEDDLE_ASSIGN(Block body, parseBlock({end}, opened, place));
  take();
  take();
  HEDDLE_TRY(endBlock());
  return body;
}

Status Parser::parseOutput(Block &block) {
  const Place place = take().place;
  HEDDLE_ASSIGN(ExpressionPtr value, parseTuple(true, false));
  HEDDLE_TRY(checkEscaped(*value, true));
  if (current().kind != TokenKind::VariableEnd) {
    return unexpected("\"}}\"");
  }
  take();
  add(block, Statement::Kind::Output, place).expression = std::move(value);
  return {};
}

Status Parser::parseStatement(Block &block) {
  take();
  const Place place = current().place;
  HEDDLE_ASSIGN(const std::string name, expectName("the name of a block"));
  using Rule = Status (Parser::*)(Block &, Place);
  static constexpr std::pair<std::string_view, Rule> rules[] = {
      {"for", &Parser::parseFor},     {"if", &Parser::parseIf},
      {"set", &Parser::parseSet},     {"filter", &Parser::parseFilterBlock},
      {"with", &Parser::parseWith},   {"generation", &Parser::parseGeneration},
      {"macro", &Parser::parseMacro}, {"call", &Parser::parseCallBlock}};
  const auto *const found = std::find_if(std::begin(rules), std::end(rules),
                                         [&](const auto &each) { return each.first == name; });
  if (found != std::end(rules)) {
    return (this->*found->second)(block, place);
  }
  if (name == "break" || name == "continue") {
    return parseLoopControl(block, place, name == "break");
  }
  const bool isEnd = name.starts_with("end") || name == "else" || name == "elif";
  return failureAt(place, isEnd ? fmt::format("unexpected {}", quote(name))
                                : fmt::format("block {} is not supported", quote(name)));
}

Status Parser::parseLoopControl(Block &block, Place place, bool isBreak) {
  if (loops == 0) {
    return failureAt(place,
                     fmt::format("\"{}\" outside of a loop", isBreak ? "break" : "continue"));
  }
  add(block, isBreak ? Statement::Kind::Break : Statement::Kind::Continue, place);
  return endBlock();
}

// --- targets ---------------------------------------------------------------------------------

Result<std::string> Parser::parseTargetName() {
  const Place place = current().place;
  HEDDLE_ASSIGN(std::string name, expectName("a name to assign to"));
  for (const std::string_view word : {"true", "false", "none", "True", "False", "None"}) {
    if (name == word) {
      return failureAt(place, fmt::format("{} cannot be assigned to", quote(name)));
    }
  }
  assigned.insert(name);
  return name;
}

Result<Target> Parser::parseTarget(bool withNamespaces) {
  Target target;
  const bool inParentheses = takeOperator("(");
  for (;;) {
    HEDDLE_ASSIGN(std::string name, parseTargetName());
    target.names.push_back(std::move(name));
    if (withNamespaces && !inParentheses && target.names.size() == 1 && takeOperator(".")) {
      HEDDLE_ASSIGN(target.attribute, expectName("the name of an attribute"));
      attributes.insert(target.attribute);
      return target;
    }
    if (!takeOperator(",")) {
      break;
    }
    target.unpacks = true;
    if (current().kind != TokenKind::Name || isName("in")) {
      break;
    }
  }
  if (inParentheses) {
    HEDDLE_TRY(expectOperator(")"));
  }
  return target;
}

// --- each block ------------------------------------------------------------------------------

Status Parser::parseFor(Block &block, Place place) {
  Statement statement = begin(Statement::Kind::For, place);
  HEDDLE_ASSIGN(statement.target, parseTarget(false));
  if (!takeName("in")) {
    return unexpected("\"in\"");
  }
  HEDDLE_ASSIGN(statement.expression, parseTuple(false, false));
  HEDDLE_TRY(checkEscaped(*statement.expression, false));
  if (takeName("if")) {
    HEDDLE_ASSIGN(statement.condition, parseExpression());
    HEDDLE_TRY(checkEscaped(*statement.condition, false));
  }
  if (isName("recursive")) {
    return failureAt(current().place, "recursive loops are not supported");
  }
  HEDDLE_TRY(endBlock());
  ++loops;
  HEDDLE_ASSIGN(Block body, parseBlock({"else", "endfor"}, "for", place));
  --loops;
  statement.bodies.push_back(std::move(body));
  statement.bodies.emplace_back();
  take();
  if (take().text == "else") {
    HEDDLE_TRY(endBlock());
    HEDDLE_ASSIGN(statement.bodies[1], parseBody("endfor", "for", place));
  } else {
    HEDDLE_TRY(endBlock());
  }
  block.statements.push_back(std::move(statement));
  return {};
}

Status Parser::parseIf(Block &block, Place place) {
  Statement statement = begin(Statement::Kind::If, place);
  for (std::string word = "if"; word != "endif";) {
    ExpressionPtr condition;
    if (word != "else") {
      HEDDLE_ASSIGN(condition, parseTuple(false, false));
      HEDDLE_TRY(checkEscaped(*condition, false));
    }
    HEDDLE_TRY(endBlock());
    HEDDLE_ASSIGN(Block body, word == "else" ? parseBlock({"endif"}, "if", place)
                                             : parseBlock({"elif", "else", "endif"}, "if", place));
    statement.branches.push_back(std::move(condition));
    statement.bodies.push_back(std::move(body));
    take();
    word = take().text;
  }
  block.statements.push_back(std::move(statement));
  return endBlock();
}

Status Parser::parseSet(Block &block, Place place) {
  Statement statement = begin(Statement::Kind::Set, place);
  HEDDLE_ASSIGN(statement.target, parseTarget(true));
  if (takeOperator("=")) {
    HEDDLE_ASSIGN(statement.expression, parseTuple(true, false));
    HEDDLE_TRY(checkEscaped(*statement.expression, false));
    block.statements.push_back(std::move(statement));
    return endBlock();
  }
  statement.kind = Statement::Kind::SetText;
  if (statement.target.unpacks) {
    return unexpected("\"=\"");
  }
  while (takeOperator("|")) {
    HEDDLE_ASSIGN(statement.expression, parseFilter(std::move(statement.expression)));
    HEDDLE_TRY(checkEscaped(*statement.expression, false));
  }
  HEDDLE_TRY(endBlock());
  HEDDLE_ASSIGN(Block body, parseBody("endset", "set", place));
  statement.bodies.push_back(std::move(body));
  block.statements.push_back(std::move(statement));
  return {};
}

Status Parser::parseFilterBlock(Block &block, Place place) {
  Statement statement = begin(Statement::Kind::Filter, place);
  do {
    HEDDLE_ASSIGN(statement.expression, parseFilter(std::move(statement.expression)));
  } while (takeOperator("|"));
  HEDDLE_TRY(checkEscaped(*statement.expression, true));
  HEDDLE_TRY(endBlock());
  HEDDLE_ASSIGN(Block body, parseBody("endfilter", "filter", place));
  statement.bodies.push_back(std::move(body));
  block.statements.push_back(std::move(statement));
  return {};
}

Status Parser::parseWith(Block &block, Place place) {
  Statement statement = begin(Statement::Kind::Scope, place);
  while (current().kind != TokenKind::BlockEnd) {
    if (!statement.assignments.empty()) {
      HEDDLE_TRY(expectOperator(","));
    }
    Target target;
    HEDDLE_ASSIGN(std::string name, parseTargetName());
    target.names.push_back(std::move(name));
    HEDDLE_TRY(expectOperator("="));
    HEDDLE_ASSIGN(ExpressionPtr value, parseExpression());
    HEDDLE_TRY(checkEscaped(*value, false));
    statement.assignments.emplace_back(std::move(target), std::move(value));
  }
  HEDDLE_TRY(endBlock());
  HEDDLE_ASSIGN(Block body, parseBody("endwith", "with", place));
  statement.bodies.push_back(std::move(body));
  block.statements.push_back(std::move(statement));
  return {};
}

/// Parses a generation block, which marks an assistant's text for training and does not change the
/// text.
Status Parser::parseGeneration(Block &block, Place place) {
  Statement statement = begin(Statement::Kind::Scope, place);
  HEDDLE_TRY(endBlock());
  const int outside = std::exchange(loops, 0);
  HEDDLE_ASSIGN(Block body, parseBody("endgeneration", "generation", place));
  loops = outside;
  statement.bodies.push_back(std::move(body));
  block.statements.push_back(std::move(statement));
  return {};
}

Status Parser::parseParameters(MacroDefinition &macro) {
  HEDDLE_TRY(expectOperator("("));
  while (!isOperator(")")) {
    const Place place = current().place;
    MacroParameter parameter;
    HEDDLE_ASSIGN(parameter.name, parseTargetName());
    if (takeOperator("=")) {
      HEDDLE_ASSIGN(parameter.absent, parseExpression());
      HEDDLE_TRY(checkEscaped(*parameter.absent, false));
    } else if (!macro.parameters.empty() && macro.parameters.back().absent) {
      return failureAt(place, "a parameter without a default behind one with it");
    }
    const bool isRepeated =
        std::any_of(macro.parameters.begin(), macro.parameters.end(),
                    [&](const MacroParameter &each) { return each.name == parameter.name; });
    if (macro.parameters.size() == namesLimit) {
      return failureAt(place, fmt::format("a macro of more than {} parameters", namesLimit));
    }
    if (isRepeated) {
      return failureAt(place, fmt::format("parameter {} appears twice", quote(parameter.name)));
    }
    macro.parameters.push_back(std::move(parameter));
    if (!takeOperator(",")) {
      break;
    }
  }
  return expectOperator(")");
}

Status Parser::parseMacroBody(MacroDefinition &macro, std::string_view end, std::string_view opened,
                              Place place) {
  HEDDLE_TRY(endBlock());
  const int outside = std::exchange(loops, 0);
  const bool hadCaller = std::exchange(readsCaller, false);
  const bool hadRest = std::exchange(readsRest, false);
  const bool hadNamedRest = std::exchange(readsNamedRest, false);
  HEDDLE_ASSIGN(macro.body, parseBody(end, opened, place));
  loops = outside;
  macro.readsCaller = std::exchange(readsCaller, readsCaller || hadCaller);
  macro.readsRest = std::exchange(readsRest, readsRest || hadRest);
  macro.readsNamedRest = std::exchange(readsNamedRest, readsNamedRest || hadNamedRest);
  return {};
}

Status Parser::parseMacro(Block &block, Place place) {
  auto macro = std::make_unique<MacroDefinition>();
  HEDDLE_ASSIGN(macro->name, parseTargetName());
  HEDDLE_TRY(parseParameters(*macro));
  HEDDLE_TRY(parseMacroBody(*macro, "endmacro", "macro", place));
  add(block, Statement::Kind::Macro, place).macro = std::move(macro);
  return {};
}

Status Parser::parseCallBlock(Block &block, Place place) {
  auto macro = std::make_unique<MacroDefinition>();
  if (isOperator("(")) {
    HEDDLE_TRY(parseParameters(*macro));
  }
  const Place callPlace = current().place;
  HEDDLE_ASSIGN(ExpressionPtr call, parseExpression());
  if (call->kind != Expression::Kind::Call) {
    return failureAt(callPlace, "a block \"call\" without a call");
  }
  HEDDLE_TRY(checkEscaped(*call, false));
  HEDDLE_TRY(parseMacroBody(*macro, "endcall", "call", place));
  Statement &statement = add(block, Statement::Kind::CallBlock, place);
  statement.expression = std::move(call);
  statement.macro = std::move(macro);
  return {};
}

} // namespace heddle::chat
