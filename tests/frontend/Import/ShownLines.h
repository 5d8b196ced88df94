// SPDX-License-Identifier: Apache-2.0
///
/// Removes the quoted program lines from messages, for tests of their wording.
#ifndef HEDDLE_TESTS_FRONTEND_IMPORT_SHOWNLINES_H
#define HEDDLE_TESTS_FRONTEND_IMPORT_SHOWNLINES_H

#include <sstream>
#include <string>
#include <vector>

namespace heddle {

/// Removes every line that is followed by a line with only a caret, and that line.
inline std::string withoutShownLines(const std::string &message) {
  std::istringstream stream(message);
  std::vector<std::string> kept;
  for (std::string line; std::getline(stream, line);) {
    const bool isCaret = line.find_first_not_of(" \t") == line.size() - 1 && line.ends_with('^');
    if (isCaret && !kept.empty()) {
      kept.pop_back();
    } else {
      kept.push_back(line);
    }
  }
  std::string text;
  for (const std::string &line : kept) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text + (message.ends_with('\n') ? "\n" : "");
}

} // namespace heddle

#endif // HEDDLE_TESTS_FRONTEND_IMPORT_SHOWNLINES_H
