// SPDX-License-Identifier: Apache-2.0
///
/// The text of an answer that grows by tokens: which part of it is certain, and whether a stop
/// string has ended it. What may be the beginning of a stop string is held back until the next
/// tokens decide, as are characters of several tokens.
#ifndef HEDDLE_RUNTIME_GENERATE_ANSWERTEXT_H
#define HEDDLE_RUNTIME_GENERATE_ANSWERTEXT_H

#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The text of tokens that come one after the other, in pieces that are certain: whole characters.
class TextPieces {
public:
  virtual ~TextPieces() = default;
  /// What the text goes on with; often nothing.
  virtual Result<std::string> add(int32_t token) = 0;
  /// The rest of it; nothing comes after.
  virtual Result<std::string> finish() = 0;
};

/// Begins a text.
using NewText = std::function<std::unique_ptr<TextPieces>()>;

class AnswerText {
public:
  /// Adds the next tokens; `last`: none follow. Tokens without a text are left out, and the first
  /// failure is answered.
  Status add(std::span<const int32_t> more, bool last, const NewText &newText,
             std::span<const std::string> stops);

  /// How many tokens were added.
  size_t tokens() const { return count; }
  /// What cannot change any more: all of the text, once the last token is there.
  std::string_view certain() const { return std::string_view(text).substr(0, sure); }
  /// Whether there is a stop string, before which the text ends.
  bool stopped() const { return ended; }

private:
  void look(bool last, std::span<const std::string> stops);

  std::unique_ptr<TextPieces> pieces;
  size_t count = 0;
  std::string text;
  size_t sure = 0;
  bool ended = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_ANSWERTEXT_H
