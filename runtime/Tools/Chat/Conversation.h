// SPDX-License-Identifier: Apache-2.0
///
/// What was said so far: the messages that a chat template makes a prompt of.
#ifndef HEDDLE_RUNTIME_TOOLS_CHAT_CONVERSATION_H
#define HEDDLE_RUNTIME_TOOLS_CHAT_CONVERSATION_H

#include "heddle/Generation.h"
#include "heddle/Status.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle::tools {

/// The most tokens of an answer where nothing else limits it.
inline constexpr int64_t usualAnswer = 1024;

/// How many tokens an answer may have unless somebody says so: what the model has positions for (0:
/// any number) after a prompt of so many, and not more than usual.
inline int32_t answerLength(int64_t positions, int64_t promptTokens) {
  return static_cast<int32_t>(
      positions == 0 ? usualAnswer : std::clamp<int64_t>(positions - promptTokens, 1, usualAnswer));
}

class Conversation {
public:
  /// Begins with a system message, unless that is empty.
  explicit Conversation(std::string system) : system(std::move(system)) {}

  void addQuestion(std::string_view text) { add("user", text); }
  void addAnswer(std::string_view text) { add("assistant", text); }
  /// Takes the last message back.
  void removeLast() { said.erase(said.size() - 1); }
  /// Forgets everything but the system message.
  void reset() { said.clear(); }
  /// Takes another system message, or none if it is empty.
  void setSystem(std::string text) { system = std::move(text); }
  bool hasSystem() const { return !system.empty(); }

  /// The messages as templates take them, on one line: what `heddle generate --chat` reads.
  std::string json() const;
  /// Writes that to a file, which appears under its name once it is complete.
  Status save(const std::string &path) const;

private:
  void add(std::string_view role, std::string_view text) {
    said.push_back({{"role", role}, {"content", text}});
  }

  std::string system;
  nlohmann::ordered_json said = nlohmann::ordered_json::array();
};

/// The status with which a request has ended, by what one step told of it; nothing while it goes
/// on. A failure may be in the results alone: for its event there may have been no memory.
std::optional<Status> endOf(int64_t id, std::span<const TokenEvent> events,
                            std::span<const GenerationResult> results);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_CHAT_CONVERSATION_H
