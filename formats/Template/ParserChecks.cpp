// SPDX-License-Identifier: Apache-2.0
///
/// Checks of expressions beyond their syntax: all errors and unsupported features that can be
/// detected without running the template.
#include "formats/Template/Parser.h"

#include "base/Utf8.h"
#include "formats/Template/Callable.h"

#include <fmt/format.h>

namespace heddle::chat {

using Part = Expression::Kind;

Status Parser::checkCall(const Expression &call) {
  std::vector<std::string_view> names;
  for (const auto &[name, value] : call.arguments.named) {
    names.push_back(name);
  }
  const bool isComplete = !call.arguments.unpacked && !call.arguments.unpackedNamed;
  const Status checked =
      checkArguments(*call.callable, call.arguments.positional.size() + 1, names, isComplete);
  HEDDLE_TRY_WITH(checked, describePlace(call.place));
  return checkNamed(call);
}

/// Checks the filter or test that map('trim'), select('defined') and similar filters name.
Status Parser::checkNamed(const Expression &call) {
  if (call.kind != Part::Filter) {
    return {};
  }
  const bool isMap = call.name == "map";
  const bool isByAttribute = call.name == "selectattr" || call.name == "rejectattr";
  const bool isChoice = isByAttribute || call.name == "select" || call.name == "reject";
  const size_t place = isByAttribute ? 1 : 0;
  if (isMap && call.arguments.positional.empty()) {
    for (const auto &[name, value] : call.arguments.named) {
      if (name != "attribute" && name != "default") {
        return failureAt(call.place, fmt::format("\"map\" has no argument {}", quote(name)));
      }
    }
  }
  if ((!isMap && !isChoice) || call.arguments.positional.size() <= place) {
    return {};
  }
  const Expression &named = *call.arguments.positional[place];
  if (named.kind != Part::Constant || !named.constant.is(Kind::String)) {
    return {};
  }
  const std::string &name = named.constant.text();
  if (isMap ? findFilter(name) == nullptr : findTest(name) == nullptr) {
    return failureAt(named.place,
                     fmt::format("{} {} is not known", isMap ? "filter" : "test", quote(name)));
  }
  return isMap && (name == "escape" || name == "e" || name == "safe")
             ? failureAt(named.place, "escaped texts may only be written")
             : Status();
}

Status Parser::checkCallee(const Expression &callee) {
  if (callee.kind == Part::Variable && assigned.find(callee.name) == assigned.end()) {
    const Callable *const global = findGlobal(callee.name);
    if (global != nullptr && global->function == nullptr) {
      return failureAt(callee.place, fmt::format("{} {}", quote(callee.name), global->refusal));
    }
  }
  if (callee.kind == Part::Attribute && attributes.find(callee.name) == attributes.end()) {
    const std::string problem = describeUnknownMethod(callee.name);
    if (!problem.empty()) {
      return failureAt(callee.place, problem);
    }
  }
  return {};
}

Status Parser::checkEscaped(const Expression &expression, bool isWritten) {
  const bool isEscaped =
      expression.kind == Part::Filter &&
      (expression.name == "escape" || expression.name == "e" || expression.name == "safe");
  if (isEscaped && !isWritten) {
    return failureAt(expression.place,
                     fmt::format("filter {} is only supported where its text is written at once",
                                 quote(expression.name)));
  }
  for (size_t i = 0; i < expression.operands.size(); ++i) {
    const bool isBranch = expression.kind == Part::Conditional && i > 0;
    const bool staysWritten = isWritten && (isBranch || expression.kind == Part::Concatenation);
    if (expression.operands[i]) {
      HEDDLE_TRY(checkEscaped(*expression.operands[i], staysWritten));
    }
  }
  const ArgumentList &arguments = expression.arguments;
  for (const ExpressionPtr &each : arguments.positional) {
    HEDDLE_TRY(checkEscaped(*each, false));
  }
  for (const auto &[name, each] : arguments.named) {
    HEDDLE_TRY(checkEscaped(*each, false));
  }
  for (const ExpressionPtr *each : {&arguments.unpacked, &arguments.unpackedNamed}) {
    HEDDLE_TRY(*each ? checkEscaped(**each, false) : Status());
  }
  return {};
}

} // namespace heddle::chat
