// SPDX-License-Identifier: Apache-2.0
///
/// The text of an answer that grows, in pieces that can be written at once: never a part of a
/// character, and nothing twice.
#ifndef HEDDLE_RUNTIME_TOOLS_CHAT_ANSWERTEXT_H
#define HEDDLE_RUNTIME_TOOLS_CHAT_ANSWERTEXT_H

#include <string>
#include <string_view>

namespace heddle::tools {

class AnswerText {
public:
  /// What `text`, all of the answer so far, adds to what was written. Bytes at its end that are no
  /// character yet, which decoders show as U+FFFD, wait for more unless the answer `isComplete`. A
  /// text that does not continue what was written, as when a search begins again, adds nothing
  /// until it does.
  std::string_view append(std::string_view text, bool isComplete);

  /// All that was written.
  const std::string &written() const { return whole; }

private:
  std::string whole;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_CHAT_ANSWERTEXT_H
