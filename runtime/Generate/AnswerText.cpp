// SPDX-License-Identifier: Apache-2.0
///
/// Decodes the tokens that were read last together with the new ones: what the text is longer by
/// belongs to the new ones. So a long answer costs no more for each token than a short one.
#include "runtime/Generate/AnswerText.h"

#include <algorithm>

namespace heddle {

/// What decoders write for bytes that are no character, or not yet.
static constexpr std::string_view incomplete = "\uFFFD";

/// Extends the text by that of the tokens not read, unless it ends within a character.
Status AnswerText::extend(bool last, const TextOf &textOf) {
  const std::span<const int32_t> all = ids;
  if (last) {
    // A decoder may have more to say about the end of a text.
    HEDDLE_ASSIGN(std::string whole, textOf(all));
    text = whole.starts_with(text) ? std::move(whole) : text;
    return {};
  }
  HEDDLE_ASSIGN(const std::string before, textOf(all.subspan(context, read - context)));
  HEDDLE_ASSIGN(const std::string after, textOf(all.subspan(context)));
  if (after.size() > before.size() && after.starts_with(before) && !after.ends_with(incomplete)) {
    text += std::string_view(after).substr(before.size());
    context = read;
    read = ids.size();
  }
  return {};
}

/// The longest end of `text` with which `stop` begins.
static size_t beginningOf(std::string_view stop, std::string_view text) {
  size_t count = std::min(stop.size() - 1, text.size());
  while (!text.ends_with(stop.substr(0, count))) {
    --count;
  }
  return count;
}

/// Looks for stop strings in what was not certain.
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

Status AnswerText::add(std::span<const int32_t> more, bool last, const TextOf &textOf,
                       std::span<const std::string> stops) {
  if (ended) {
    return {};
  }
  ids.insert(ids.end(), more.begin(), more.end());
  HEDDLE_TRY(extend(last, textOf));
  look(last, stops);
  return {};
}

} // namespace heddle
