// SPDX-License-Identifier: Apache-2.0
///
/// Searches for stop strings in added text, and before it as far as one may begin.
#include "runtime/Generate/AnswerText.h"

#include <algorithm>

namespace heddle {

/// Returns the length of the longest suffix of `text` that is a prefix of `stop`.
static size_t beginningOf(std::string_view stop, std::string_view text) {
  size_t count = std::min(stop.size() - 1, text.size());
  while (!text.ends_with(stop.substr(0, count))) {
    --count;
  }
  return count;
}

/// Searches for stop strings in the text that was not final.
void AnswerText::look(bool last, std::span<const std::string> stops) {
  size_t first = std::string::npos;
  size_t held = 0;
  for (const std::string &stop : stops) {
    first = std::min(first, text.find(stop, sure));
    held = std::max(held, beginningOf(stop, std::string_view(text).substr(sure)));
  }
  ended = first != std::string::npos;
  if (ended) {
    text.resize(first);
  }
  sure = text.size() - (ended || last ? 0 : held);
}

Status AnswerText::add(std::span<const int32_t> more, bool last, const NewText &newText,
                       std::span<const std::string> stops) {
  count += more.size();
  if (ended) {
    return {};
  }
  if (pieces == nullptr) {
    pieces = newText();
  }
  Status status;
  const auto append = [&](const Result<std::string> &piece) {
    text += piece.ok() ? *piece : std::string();
    status = status.ok() ? piece.status() : status;
  };
  for (const int32_t token : more) {
    append(pieces->add(token));
  }
  if (last) {
    append(pieces->finish());
  }
  look(last, stops);
  return status;
}

} // namespace heddle
