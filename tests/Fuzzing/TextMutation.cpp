// SPDX-License-Identifier: Apache-2.0
///
/// A word is an identifier of MLIR: letters, digits and the signs before and inside names.
#include "tests/Fuzzing/TextMutation.h"

#include <cctype>
#include <cstring>
#include <vector>

namespace heddle::fuzzing {

namespace {

enum class Kind { Word, Number, Sign };

struct Token {
  Kind kind;
  size_t begin;
  size_t end;
};

} // namespace

static bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         (c != '\0' && std::strchr("_.$%@#^!-", c) != nullptr);
}

static std::vector<Token> tokensOf(const std::string &text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      at = end;
      continue;
    }
    Kind kind = Kind::Sign;
    if (isWordCharacter(text[at])) {
      while (end < text.size() && isWordCharacter(text[end])) {
        ++end;
      }
      const bool isNumber = std::isdigit(static_cast<unsigned char>(text[at])) != 0 ||
                            (text[at] == '-' && end - at > 1 && text[at + 1] != '-');
      kind = isNumber ? Kind::Number : Kind::Word;
    }
    tokens.push_back({kind, at, end});
    at = end;
  }
  return tokens;
}

static std::string textOf(const std::string &text, const Token &token) {
  return text.substr(token.begin, token.end - token.begin);
}

/// Replaces a token by one of the same kind from another place.
static void replaceToken(std::string &text, const std::vector<Token> &tokens,
                         std::span<const std::string> dictionary, Choice &choice) {
  const Token &token = choice.of(tokens);
  std::string with = textOf(text, token);
  if (token.kind == Kind::Number && choice.oneIn(2)) {
    const uint64_t number = std::strtoull(with.c_str(), nullptr, 10);
    const uint64_t other = unusualNumber(number, number, choice);
    with = choice.oneIn(4) ? std::to_string(static_cast<int64_t>(other)) : std::to_string(other);
  } else if (token.kind == Kind::Word && !dictionary.empty() && choice.oneIn(4)) {
    with = choice.of(dictionary);
  } else {
    for (int attempt = 0; attempt < 16; ++attempt) {
      const Token &other = choice.of(tokens);
      if (other.kind == token.kind) {
        with = textOf(text, other);
        break;
      }
    }
  }
  text.replace(token.begin, token.end - token.begin, with);
}

/// Duplicates, removes or moves a line.
static void changeLine(std::string &text, Choice &choice) {
  const size_t somewhere = choice.below(text.size());
  const size_t before = text.rfind('\n', somewhere);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  const size_t after = text.find('\n', begin);
  const size_t end = after == std::string::npos ? text.size() : after + 1;
  const std::string line = text.substr(begin, end - begin);
  if (!choice.oneIn(3)) {
    text.erase(begin, end - begin);
  }
  if (!choice.oneIn(3) || text.empty()) {
    const size_t target = text.find('\n', choice.below(text.size() + 1));
    text.insert(target == std::string::npos ? text.size() : target + 1, line);
  }
}

/// Puts brackets around a token, occasionally deeper than any parser accepts.
static void nest(std::string &text, const Token &token, Choice &choice) {
  static constexpr std::string_view open = "([{<";
  static constexpr std::string_view close = ")]}>";
  const size_t kind = choice.below(open.size());
  const size_t depth = choice.oneIn(20) ? choice.below(3000) : choice.below(3) + 1;
  text.insert(token.end, std::string(depth, close[kind]));
  text.insert(token.begin, std::string(depth, open[kind]));
}

void mutateText(std::string &text, std::span<const std::string> dictionary, Choice &choice) {
  const std::vector<Token> tokens = tokensOf(text);
  if (tokens.empty()) {
    return changeBytes(text, choice);
  }
  const Token &token = choice.of(tokens);
  switch (choice.below(10)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return replaceToken(text, tokens, dictionary, choice);
  case 4:
    text.erase(token.begin, token.end - token.begin);
    return;
  case 5:
    text.insert(token.end, " " + textOf(text, choice.of(tokens)));
    return;
  case 6:
  case 7:
    return changeLine(text, choice);
  case 8:
    if (choice.oneIn(2)) {
      return nest(text, token, choice);
    }
    if (!dictionary.empty()) {
      text.insert(token.end, " " + choice.of(dictionary));
    }
    return;
  default:
    if (choice.oneIn(2)) {
      text.insert(choice.below(text.size() + 1), unusualText(choice));
      return;
    }
    return changeBytes(text, choice);
  }
}

} // namespace heddle::fuzzing
