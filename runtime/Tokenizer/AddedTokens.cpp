// SPDX-License-Identifier: Apache-2.0
///
/// Leftmost-longest search for added tokens, with their flags single_word, lstrip and rstrip.
#include "runtime/Tokenizer/AddedTokens.h"

#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <tuple>

namespace heddle {

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> added) : tokens(std::move(added)) {
  std::erase_if(tokens, [](const AddedToken &token) { return token.pattern.empty(); });
  std::sort(tokens.begin(), tokens.end(), [](const AddedToken &left, const AddedToken &right) {
    return std::tie(left.pattern, left.id) < std::tie(right.pattern, right.id);
  });
  const auto samePattern = [](const AddedToken &left, const AddedToken &right) {
    return left.pattern == right.pattern;
  };
  tokens.erase(std::unique(tokens.begin(), tokens.end(), samePattern), tokens.end());
  for (const AddedToken &token : tokens) {
    begins[static_cast<unsigned char>(token.pattern[0])] = true;
  }
}

/// Returns the longest token at the beginning of `text`, or null.
const AddedToken *AddedTokenFinder::longestAt(std::string_view text) const {
  const AddedToken *longest = nullptr;
  auto first = tokens.begin();
  auto last = tokens.end();
  // [first, last) are the tokens that share the first `depth` bytes of the text, and are longer.
  for (size_t depth = 0; depth < text.size() && first != last; ++depth) {
    const auto byteOf = [depth](const AddedToken &token) {
      return static_cast<unsigned char>(token.pattern[depth]);
    };
    const auto byte = static_cast<unsigned char>(text[depth]);
    first = std::partition_point(first, last,
                                 [&](const AddedToken &token) { return byteOf(token) < byte; });
    last = std::partition_point(first, last,
                                [&](const AddedToken &token) { return byteOf(token) == byte; });
    if (first != last && first->pattern.size() == depth + 1) {
      longest = &*first;
      ++first;
    }
  }
  return longest;
}

static bool standsAlone(std::string_view text, size_t begin, size_t end) {
  const bool wordBefore =
      begin > 0 && isWordCharacter(lastCharacter(text.substr(0, begin)).codePoint);
  const bool wordAfter =
      end < text.size() && isWordCharacter(firstCharacter(text.substr(end)).codePoint);
  return !wordBefore && !wordAfter;
}

/// Returns the start of the white space before `begin`, at `from` or later.
static size_t skipSpaceBefore(std::string_view text, size_t begin, size_t from) {
  while (begin > from) {
    const Character character = lastCharacter(text.substr(0, begin));
    if (!isWhiteSpace(character.codePoint)) {
      break;
    }
    begin -= std::min(character.bytes, begin);
  }
  return begin;
}

static size_t skipSpaceAfter(std::string_view text, size_t end) {
  while (end < text.size()) {
    const Character character = firstCharacter(text.substr(end));
    if (!isWhiteSpace(character.codePoint)) {
      break;
    }
    end += character.bytes;
  }
  return end;
}

void AddedTokenFinder::split(std::string_view text, std::vector<TextPiece> &pieces) const {
  // Everything before `done` is in a piece. It may exceed `at`, in white space that rstrip took;
  // tokens inside that are still found.
  size_t done = 0;
  size_t at = 0;
  while (at < text.size() && !tokens.empty()) {
    if (!begins[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const AddedToken *const token = longestAt(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->pattern.size();
    at = end;
    if (token->singleWord && !standsAlone(text, begin, end)) {
      continue;
    }
    if (token->leftStrip) {
      begin = std::max(skipSpaceBefore(text, begin, std::min(done, begin)), done);
    }
    if (token->rightStrip) {
      end = skipSpaceAfter(text, end);
    }
    if (done < begin) {
      pieces.push_back({text.substr(done, begin - done), -1});
    }
    pieces.push_back({{}, token->id});
    done = end;
  }
  if (done < text.size()) {
    pieces.push_back({text.substr(done), -1});
  }
}

} // namespace heddle
