// SPDX-License-Identifier: Apache-2.0
///
/// Compares what is there with what was written.
#include "runtime/Tools/Chat/AnswerText.h"

namespace heddle::tools {

std::string_view AnswerText::append(std::string_view text, bool isComplete) {
  constexpr std::string_view replacement = "\uFFFD";
  while (!isComplete && text.ends_with(replacement)) {
    text.remove_suffix(replacement.size());
  }
  if (!text.starts_with(whole)) {
    return {};
  }
  const size_t before = whole.size();
  whole = text;
  return std::string_view(whole).substr(before);
}

} // namespace heddle::tools
