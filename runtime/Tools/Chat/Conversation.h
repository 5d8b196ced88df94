// SPDX-License-Identifier: Apache-2.0
///
/// The conversation so far: the messages that a chat template renders to a prompt.
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

/// The maximum number of tokens of an answer if there is no other limit.
inline constexpr int64_t usualAnswer = 1024;

/// Returns the default maximum number of tokens of an answer: the positions of the model (0:
/// unlimited) that remain after the prompt, but at most usualAnswer.
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
  /// Removes the last message.
  void removeLast() { said.erase(said.size() - 1); }
  /// Removes all messages except the system message.
  void reset() { said.clear(); }
  /// Replaces the system message; an empty text removes it.
  void setSystem(std::string text) { system = std::move(text); }
  bool hasSystem() const { return !system.empty(); }

  /// Returns the messages in the format of templates, on one line, as `heddle generate --chat`
  /// reads them.
  std::string json() const;
  /// Writes json() to a file, which appears under its name once it is complete.
  Status save(const std::string &path) const;

private:
  void add(std::string_view role, std::string_view text) {
    said.push_back({{"role", role}, {"content", text}});
  }

  std::string system;
  nlohmann::ordered_json said = nlohmann::ordered_json::array();
};

/// Returns the status with which a request has ended according to one step; nullopt if it
/// continues. A failure may be reported in the results alone if there was no memory for its event.
std::optional<Status> endOf(int64_t id, std::span<const TokenEvent> events,
                            std::span<const GenerationResult> results);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_CHAT_CONVERSATION_H
