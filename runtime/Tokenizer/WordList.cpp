// SPDX-License-Identifier: Apache-2.0
///
/// Splits at white space; one look-up for each word.
#include "runtime/Tokenizer/WordList.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

Result<WordList> WordList::load(const manifest::WordList &table) {
  WordList result;
  HEDDLE_ASSIGN(result.tokens, Vocabulary::load(*table.vocabulary()));
  result.unknownId = static_cast<int32_t>(table.unknown_id());
  if (!result.tokens.indexOf(result.unknownId)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("vocabulary: no token has the unknown id {}", table.unknown_id()));
  }
  return result;
}

void WordList::appendText(std::string_view text, size_t limit, std::vector<int32_t> &ids) const {
  constexpr std::string_view spaces = " \t\r\n";
  while (ids.size() < limit) {
    text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
    if (text.empty()) {
      return;
    }
    const std::string_view word = text.substr(0, text.find_first_of(spaces));
    const int32_t id = tokens.find(word);
    ids.push_back(id < 0 ? unknownId : id);
    text.remove_prefix(word.size());
  }
}

} // namespace heddle
