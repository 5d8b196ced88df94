// SPDX-License-Identifier: Apache-2.0
///
/// One pass over the tokens that open, close, or name something, split as MLIR's lexer does.
#include "frontend/Import/TextCheck.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>
#include <vector>

namespace heddle {
namespace {

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNamePart(char c) { return isLetter(c) || isDigit(c) || c == '$' || c == '.' || c == '-'; }

/// Returns the opening bracket that matches a closing one.
char openingOf(char closing) {
  return closing == ')' ? '(' : closing == ']' ? '[' : closing == '}' ? '{' : '<';
}

class NestingScanner {
public:
  NestingScanner(std::string_view text, std::string_view path) : text(text), path(path) {}

  Status run() {
    while (at < text.size() && deepest <= deepestNesting) {
      next();
    }
    if (deepest <= deepestNesting) {
      return {};
    }
    const std::string_view before = text.substr(0, deepestAt);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t lineStart = before.rfind('\n') + 1;
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}:{}:{}: error: the text nests {} levels deep, expected at "
                                    "most {}",
                                    path, line, deepestAt - lineStart + 1, deepest,
                                    deepestNesting));
  }

private:
  /// An open bracket. In lists and affine maps, operators can nest without any bracket.
  struct Level {
    char bracket;
    unsigned operators = 0;
  };

  /// Returns the beginning of the next token, after what the lexer skips: blanks, line ends, zero
  /// bytes and comments.
  size_t behindSpace(size_t from) const {
    while (from < text.size()) {
      if (text.substr(from, 2) == "//") {
        from = std::min(text.find_first_of("\r\n", from), text.size());
      } else if (text[from] == '\0' ||
                 std::string_view(" \t\r\n").find(text[from]) != std::string_view::npos) {
        ++from;
      } else {
        break;
      }
    }
    return from;
  }

  char peek(size_t offset) const { return at + offset < text.size() ? text[at + offset] : '\0'; }

  void next() {
    const char c = text[at];
    if (const size_t after = behindSpace(at); after != at) {
      isLineStart = isLineStart || text.substr(at, after - at).find('\n') != std::string_view::npos;
      at = after;
      return;
    }
    // At the outermost level a new line starts the next item, unless it is the type of an
    // attribute.
    if (isLineStart && levels.empty() && hasValue && c != ':') {
      endAlias();
    }
    isLineStart = false;
    hasValue = hasValue || (!alias.empty() && c != '=');
    token(c);
  }

  void token(char c) {
    switch (c) {
    case '"':
      return skipString();
    case '(':
    case '[':
    case '{':
    case '<':
      // The `<` of `<=` is no bracket.
      if (c != '<' || peek(1) != '=') {
        levels.push_back({c});
        note(0, ++depth);
      }
      ++at;
      return;
    case ')':
    case ']':
    case '}':
      close(openingOf(c));
      ++at;
      return;
    case '>':
      // A `>` that closes nothing is a comparison.
      if (!levels.empty() && levels.back().bracket == '<') {
        close('<');
      }
      ++at;
      return;
    case ',':
      if (!levels.empty()) {
        depth -= levels.back().operators;
        levels.back().operators = 0;
      }
      ++at;
      return;
    case '-':
      if (peek(1) == '>') {
        at += 2;
        return;
      }
      [[fallthrough]];
    case '+':
    case '*':
      countOperator();
      ++at;
      return;
    default:
      return word(c);
    }
  }

  /// Names, numbers, and tokens that begin with a sigil.
  void word(char c) {
    const size_t begin = at++;
    const bool isSigil = c == '#' || c == '!' || c == '%' || c == '@' || c == '^';
    if (isDigit(c)) {
      skipNumber();
      return;
    }
    if (!isSigil && !isLetter(c)) {
      return;
    }
    // Only names after a sigil may contain a minus.
    while (at < text.size() && isNamePart(text[at]) && (isSigil || text[at] != '-')) {
      ++at;
    }
    const std::string_view name = text.substr(begin, at - begin);
    if (name == "mod" || name == "floordiv" || name == "ceildiv") {
      countOperator();
    } else if (c == '#' || c == '!') {
      meetAlias(name, begin);
    }
  }

  /// `12`, `1.5` or `1.5e-3`. Letters right after it are another word.
  void skipNumber() {
    const auto skipDigits = [&] {
      while (isDigit(peek(0))) {
        ++at;
      }
    };
    skipDigits();
    if (peek(0) != '.') {
      return;
    }
    ++at;
    skipDigits();
    const bool isSigned = peek(1) == '-' || peek(1) == '+';
    if ((peek(0) == 'e' || peek(0) == 'E') && isDigit(peek(isSigned ? 2 : 1))) {
      at += isSigned ? 2 : 1;
      skipDigits();
    }
  }

  /// Skips a string. The lexer reports an unterminated one.
  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) {
      at += text[at] == '\\' ? 1 : 0;
    }
    at = std::min(at + 1, text.size());
  }

  /// Operators nest without brackets only where there are no statements.
  void countOperator() {
    if (!levels.empty() && levels.back().bracket != '{') {
      ++levels.back().operators;
      note(0, ++depth);
    }
  }

  /// Closes the innermost bracket of this kind. Apparent opening brackets inside it were
  /// comparisons.
  void close(char bracket) {
    size_t kept = levels.size();
    while (kept > 0 && levels[kept - 1].bracket == '<' && bracket != '<') {
      --kept;
    }
    if (kept == 0 || levels[kept - 1].bracket != bracket) {
      // Not closed: the parser reports it.
      return;
    }
    while (levels.size() >= kept) {
      depth -= 1 + levels.back().operators;
      levels.pop_back();
    }
  }

  /// A name before an equals sign at the outermost level is a definition; any other is a use.
  void meetAlias(std::string_view name, size_t begin) {
    const size_t after = levels.empty() ? behindSpace(at) : text.size();
    if (after < text.size() && text[after] == '=' && text.substr(after, 2) != "==") {
      endAlias();
      alias = name;
      aliasDepth = 0;
      hasValue = false;
      return;
    }
    if (auto known = depths.find(name); known != depths.end()) {
      const size_t end = at;
      at = begin;
      note(known->second, depth);
      at = end;
    }
  }

  void endAlias() {
    if (!alias.empty()) {
      depths[alias] = aliasDepth;
    }
    alias = {};
    hasValue = false;
  }

  /// Records the depth here, including what an alias adds.
  void note(unsigned added, unsigned here) {
    aliasDepth = std::max(aliasDepth, here + added);
    if (here + added > deepest) {
      deepest = here + added;
      deepestAt = at;
    }
  }

  std::string_view text;
  std::string_view path;
  size_t at = 0;
  std::vector<Level> levels;
  unsigned depth = 0;
  unsigned deepest = 0;
  size_t deepestAt = 0;
  /// Whether the line has had only space so far.
  bool isLineStart = true;
  /// The alias being defined, its depth so far, and whether its value has begun.
  std::string_view alias;
  unsigned aliasDepth = 0;
  bool hasValue = false;
  std::unordered_map<std::string_view, unsigned> depths;
};

} // namespace

Status checkProgramText(std::string_view text, std::string_view path) {
  // MLIR would accept bytecode, whose reader recurses as well.
  if (text.starts_with("ML\xefR")) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: is MLIR bytecode, expected a program in text", path));
  }
  return NestingScanner(text, path).run();
}

} // namespace heddle
