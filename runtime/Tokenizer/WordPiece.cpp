// SPDX-License-Identifier: Apache-2.0
///
/// One look-up for each word of a list; for WordPiece, one for every prefix of a word, with an
/// incremental hash.
#include "runtime/Tokenizer/WordPiece.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/VocabularyHash.h"

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

Result<WordPiece> WordPiece::load(const manifest::WordPiece &table) {
  WordPiece result;
  HEDDLE_ASSIGN(result.tokens, Vocabulary::load(*table.vocabulary()));
  result.prefix = table.continuing_prefix()->string_view();
  result.prefixHash = extendVocabularyHash(vocabularyHashSeed, result.prefix);
  result.maxWordCharacters = table.max_word_characters();
  result.unknownId = static_cast<int32_t>(table.unknown_id());
  if (!result.tokens.text(result.unknownId)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("vocabulary: no token has the unknown id {}", table.unknown_id()));
  }
  return result;
}

static bool hasMoreCharactersThan(std::string_view word, size_t limit) {
  // A text has at most as many characters as bytes, and most words are short.
  return word.size() > limit &&
         word.size() -
                 static_cast<size_t>(std::count_if(word.begin(), word.end(), continuesCharacter)) >
             limit;
}

/// Returns the length and id of the longest token at the beginning of `word`; length 0 if there is
/// none.
size_t WordPiece::longestMatch(std::string_view word, bool continues, int32_t &id,
                               std::vector<uint64_t> &hashes) const {
  const std::string_view before = continues ? prefix : std::string_view();
  const size_t room = tokens.longest() - std::min(tokens.longest(), before.size());
  const size_t limit = std::min(word.size(), room);
  if (hashes.size() <= limit) {
    hashes.resize(limit + 1);
  }
  hashes[0] = continues ? prefixHash : vocabularyHashSeed;
  for (size_t i = 0; i < limit; ++i) {
    hashes[i + 1] = extendVocabularyHash(hashes[i], word[i]);
  }
  for (size_t length = limit; length > 0; --length) {
    if (length < word.size() && continuesCharacter(word[length])) {
      continue;
    }
    id = tokens.find(hashes[length], before, word.substr(0, length));
    if (id >= 0) {
      return length;
    }
  }
  return 0;
}

void WordPiece::appendWord(std::string_view word, std::vector<int32_t> &ids,
                           std::vector<uint64_t> &hashes) const {
  const size_t before = ids.size();
  bool known = !hasMoreCharactersThan(word, maxWordCharacters);
  for (size_t begin = 0; known && begin < word.size();) {
    int32_t id = 0;
    const size_t length = longestMatch(word.substr(begin), begin > 0, id, hashes);
    known = length > 0;
    begin += length;
    ids.push_back(id);
  }
  if (!known) {
    ids.resize(before);
    ids.push_back(unknownId);
  }
}

} // namespace heddle
