// SPDX-License-Identifier: Apache-2.0
///
/// The text of an answer that grows by tokens: determines which part of it is final, and whether a
/// stop string has ended it. Text that may be the beginning of a stop string, and incomplete
/// characters of several tokens, are held back until the next tokens decide.
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

/// Decodes tokens one after another into pieces of final text: whole characters.
class TextPieces {
public:
  virtual ~TextPieces() = default;
  /// Returns the continuation of the text after a token; often empty.
  virtual Result<std::string> add(int32_t token) = 0;
  /// Returns the rest of the text. No token may follow.
  virtual Result<std::string> finish() = 0;
};

/// Creates the decoder of a new text.
using NewText = std::function<std::unique_ptr<TextPieces>()>;

class AnswerText {
public:
  /// Adds the next tokens; `last` means that none follow. Tokens without a text are skipped, and
  /// the first failure is returned.
  Status add(std::span<const int32_t> more, bool last, const NewText &newText,
             std::span<const std::string> stops);

  /// Returns the number of tokens that were added.
  size_t tokens() const { return count; }
  /// Returns the text that cannot change any more: all of it, once the last token was added.
  std::string_view certain() const { return std::string_view(text).substr(0, sure); }
  /// Returns whether a stop string was found, before which the text ends.
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
