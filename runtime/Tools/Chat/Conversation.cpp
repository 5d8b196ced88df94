// SPDX-License-Identifier: Apache-2.0
///
/// Formats the messages as JSON.
#include "runtime/Tools/Chat/Conversation.h"

#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"

namespace heddle::tools {

std::string Conversation::json() const {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!system.empty()) {
    messages.push_back({{"role", "system"}, {"content", system}});
  }
  for (const auto &message : said) {
    messages.push_back(message);
  }
  return jsonText({{"messages", std::move(messages)}});
}

Status Conversation::save(const std::string &path) const {
  HEDDLE_ASSIGN(OutputStream file, OutputStream::open(path));
  HEDDLE_TRY(file.write(json() + "\n"));
  return file.finish();
}

std::optional<Status> endOf(int64_t id, std::span<const TokenEvent> events,
                            std::span<const GenerationResult> results) {
  for (const TokenEvent &event : events) {
    if (event.id == id && event.finish != FinishReason::No) {
      return event.status;
    }
  }
  for (const GenerationResult &result : results) {
    if (result.id == id) {
      return result.status;
    }
  }
  return std::nullopt;
}

} // namespace heddle::tools
