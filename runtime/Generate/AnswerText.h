// SPDX-License-Identifier: Apache-2.0
///
/// The text of an answer that grows by tokens: which part of it is certain, and whether a stop
/// string has ended it. A character of several tokens and what may be the beginning of a stop
/// string are held back until the next tokens decide.
#ifndef HEDDLE_RUNTIME_GENERATE_ANSWERTEXT_H
#define HEDDLE_RUNTIME_GENERATE_ANSWERTEXT_H

#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The text of tokens. Depends on what is before a token only through the token right before it.
using TextOf = std::function<Result<std::string>(std::span<const int32_t>)>;

class AnswerText {
public:
  /// Adds the next tokens; `last`: none follow. After a failure, the text lacks them.
  Status add(std::span<const int32_t> more, bool last, const TextOf &textOf,
             std::span<const std::string> stops);

  /// How many tokens were added.
  size_t tokens() const { return ids.size(); }
  /// What cannot change any more: all of the text, once the last token is there.
  std::string_view certain() const { return std::string_view(text).substr(0, sure); }
  /// Whether there is a stop string, before which the text ends.
  bool stopped() const { return ended; }

private:
  Status extend(bool last, const TextOf &textOf);
  void look(bool last, std::span<const std::string> stops);

  std::vector<int32_t> ids;
  /// Tokens before `read` have their text in `text`; the last of them begin at `context`.
  size_t context = 0;
  size_t read = 0;
  std::string text;
  size_t sure = 0;
  bool ended = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_ANSWERTEXT_H
