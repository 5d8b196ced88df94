// SPDX-License-Identifier: Apache-2.0
///
/// Templates get the variables that transformers passes: the keys of the conversation, the special
/// tokens of the model, and none for tools and documents that a conversation lacks.
#include "runtime/Session/ChatTemplates.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

/// The template of conversations with tools, if a model has a separate one.
static constexpr std::string_view toolTemplate = "tool_use";

ChatTemplates::ChatTemplates(const manifest::Chat *table) {
  if (table == nullptr) {
    return;
  }
  for (const manifest::NamedText *each : *table->templates()) {
    titles.push_back(each->name()->str());
    templates.push_back(chat::Template::parse(each->text()->string_view()));
  }
  for (const manifest::NamedText *each : *table->tokens()) {
    tokens.emplace_back(each->name()->str(), each->text()->str());
  }
}

/// Returns the index of the template called `name` or, if that is empty, of the template for tools
/// or the default.
Result<size_t> ChatTemplates::choose(bool hasTools, std::string_view name) const {
  const auto find = [&](std::string_view wanted) {
    return static_cast<size_t>(std::find(titles.begin(), titles.end(), wanted) - titles.begin());
  };
  size_t found = find(name);
  if (name.empty()) {
    found = hasTools ? find(toolTemplate) : titles.size();
    found = found == titles.size() ? find("default") : found;
    found = found == titles.size() && titles.size() == 1 ? 0 : found;
  }
  if (found == titles.size()) {
    return HEDDLE_ERROR(NotFound, fmt::format("no chat template {}, expected one of {}",
                                              quote(name.empty() ? "default" : name),
                                              fmt::join(titles, ", ")));
  }
  return found;
}

Result<std::string> ChatTemplates::render(std::string_view conversation,
                                          std::string_view name) const {
  if (templates.empty()) {
    return HEDDLE_ERROR(Unsupported, "the model has no chat template");
  }
  HEDDLE_ASSIGN(nlohmann::ordered_json variables,
                parseOrderedJson(conversation, "conversation", LongIntegers::Refuse));
  const nlohmann::ordered_json &given = variables;
  if (given.is_object() && given.contains("messages") && !given["messages"].is_array()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("conversation: \"messages\" is {}, expected a list",
                                    describeJson(given["messages"])));
  }
  if (!given.is_object() || !given.contains("messages")) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("conversation: {}, expected an object with a list of "
                                    "\"messages\"",
                                    describeJson(given)));
  }
  if (given["messages"].empty()) {
    return HEDDLE_ERROR(InvalidArgument, "conversation: \"messages\" has no elements, expected at "
                                         "least one message");
  }
  for (const auto &message : given["messages"]) {
    if (!message.is_object()) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("conversation: {} in \"messages\", expected "
                                                       "objects",
                                                       describeJson(message)));
    }
  }
  // Only missing keys are added: the conversation takes precedence over the tokens. A look-up is
  // linear in the number of keys, so the given ones are not set one by one.
  for (const auto &[token, text] : tokens) {
    variables.emplace(token, text);
  }
  for (const char *const name : {"tools", "documents"}) {
    variables.emplace(name, nullptr);
  }
  variables.emplace("add_generation_prompt", true);
  HEDDLE_ASSIGN(const size_t chosen, choose(!variables["tools"].is_null(), name));
  const std::string place = fmt::format("chat template {}", quote(titles[chosen]));
  HEDDLE_TRY_WITH(templates[chosen].status(), place);
  Result<std::string> prompt = templates[chosen]->render(variables);
  HEDDLE_TRY_WITH(prompt.status(), place);
  return prompt;
}

} // namespace heddle
