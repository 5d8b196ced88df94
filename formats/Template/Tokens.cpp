// SPDX-License-Identifier: Apache-2.0
///
/// The lexer: text up to a tag, then the tokens of the tag up to its end.
#include "formats/Template/Tokens.h"

#include "base/Utf8.h"
#include "formats/Template/Strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace heddle::chat {

std::string describePlace(Place place) {
  return fmt::format("line {}, column {}", place.line, place.column);
}

Status failureAt(Place place, std::string_view message) {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {}", describePlace(place), message));
}

std::string describeToken(const Token &token) {
  switch (token.kind) {
  case TokenKind::Data:
    return "text";
  case TokenKind::VariableBegin:
    return "\"{{\"";
  case TokenKind::VariableEnd:
    return "\"}}\"";
  case TokenKind::BlockBegin:
    return "\"{%\"";
  case TokenKind::BlockEnd:
    return "\"%}\"";
  case TokenKind::Name:
  case TokenKind::Operator:
    return quote(token.text, 40);
  case TokenKind::String:
    return fmt::format("the string {}", quote(token.text, 40));
  case TokenKind::Integer:
    return fmt::format("the number {}", token.integer);
  case TokenKind::Real:
    return fmt::format("the number {}", token.real);
  case TokenKind::End:
    break;
  }
  return "the end of the template";
}

/// The maximum size of a name in bytes: a step looks it up, so it must not take longer than others.
static constexpr size_t nameLimit = 256;

namespace {

/// Longer operators first.
constexpr std::array<std::string_view, 26> operatorTexts = {
    "==", "!=", ">=", "<=", "//", "**", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

/// Converts all line breaks to "
/// ", and removes the last one.
std::string normalized(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\r') {
      out += '\n';
      at += at + 1 < text.size() && text[at + 1] == '\n' ? 1 : 0;
    } else {
      out += text[at];
    }
  }
  if (out.ends_with('\n')) {
    out.pop_back();
  }
  return out;
}

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(normalized(text)) {}

  Result<std::vector<Token>> run();

private:
  Status lexData();
  Status lexComment(size_t begin);
  Result<bool> lexRaw(size_t begin);
  Status lexTag(bool isBlock);
  Status lexWord();
  Status lexNumber();
  Status lexString();
  Status lexEscape(size_t end, std::string &out);
  Status lexHexadecimal(size_t digits, size_t end, std::string &out);
  Status lexOperator();
  /// Adds the text before a tag that begins at `end`, whose sign follows two characters.
  void addData(size_t end, bool isVariable);
  /// Skips the end of a tag, which may begin with a sign, and the white space that it strips.
  bool skipTagEnd(std::string_view end, bool trims);
  void skipSpace();
  /// Advances, counting lines and columns.
  void advance(size_t to);
  std::string_view rest() const { return std::string_view(text).substr(at); }
  void add(TokenKind kind, Place place, std::string content = {}) {
    tokens.push_back({.kind = kind, .place = place, .text = std::move(content)});
  }

  std::string text;
  size_t at = 0;
  Place place;
  /// Whether the current position begins a line.
  bool lineStarts = true;
  /// The open brackets in a tag.
  std::string brackets;
  std::vector<Token> tokens;
};

} // namespace

void Lexer::advance(size_t to) {
  lineStarts = to > at ? text[to - 1] == '\n' : lineStarts;
  for (; at < to; ++at) {
    if (text[at] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (isFirstByte(text[at])) {
      ++place.column;
    }
  }
}

void Lexer::skipSpace() {
  size_t end = at;
  while (end < text.size()) {
    const Character next = characterAt(text, end);
    if (!isSpace(next.codePoint)) {
      break;
    }
    end += next.bytes;
  }
  advance(end);
}

void Lexer::addData(size_t end, bool isVariable) {
  std::string_view data = std::string_view(text).substr(at, end - at);
  const char sign = end + 2 < text.size() ? text[end + 2] : ' ';
  if (sign == '-') {
    data = stripEnd(data);
  } else if (sign != '+' && !isVariable) {
    const size_t begin = data.rfind('\n') + 1;
    if ((begin > 0 || lineStarts) && stripEnd(data.substr(begin)).empty()) {
      data = data.substr(0, begin);
    }
  }
  if (!data.empty()) {
    add(TokenKind::Data, place, std::string(data));
  }
  advance(end);
}

bool Lexer::skipTagEnd(std::string_view end, bool trims) {
  const bool keeps = rest().starts_with("+" + std::string(end)) && trims;
  const bool strips = rest().starts_with("-" + std::string(end));
  if (!keeps && !strips && !rest().starts_with(end)) {
    return false;
  }
  advance(at + end.size() + (keeps || strips ? 1 : 0));
  if (strips) {
    skipSpace();
  } else if (trims && !keeps && rest().starts_with('\n')) {
    advance(at + 1);
  }
  return true;
}

Status Lexer::lexComment(size_t begin) {
  addData(begin, false);
  const Place open = place;
  for (size_t end = text.find("#}", at + 2);;) {
    if (end == std::string::npos) {
      return failureAt(open, "a comment without \"#}\"");
    }
    // The sign belongs to the end of the tag.
    const bool hasSign = end > at + 2 && (text[end - 1] == '-' || text[end - 1] == '+');
    advance(end - (hasSign ? 1 : 0));
    (void)skipTagEnd("#}", true);
    return {};
  }
}

/// Reads `{% raw %}`, whose content is text up to `{% endraw %}`. Returns false for other blocks.
Result<bool> Lexer::lexRaw(size_t begin) {
  const auto wordAfter = [&](size_t from, std::string_view word) -> size_t {
    from += from < text.size() && (text[from] == '-' || text[from] == '+') ? 1 : 0;
    from += lengthOfSpace(std::string_view(text).substr(from));
    if (!std::string_view(text).substr(from).starts_with(word)) {
      return 0;
    }
    from += word.size();
    return from + lengthOfSpace(std::string_view(text).substr(from));
  };
  const auto endsAt = [&](size_t from) {
    const std::string_view left = std::string_view(text).substr(from);
    return left.starts_with("%}") || left.starts_with("-%}");
  };
  const size_t content = wordAfter(begin + 2, "raw");
  if (content == 0 || !endsAt(content)) {
    return false;
  }
  addData(begin, false);
  const Place open = place;
  advance(content);
  (void)skipTagEnd("%}", false);
  for (size_t close = at;; close += 2) {
    close = text.find("{%", close);
    if (close == std::string::npos) {
      return failureAt(open, "a raw block without \"endraw\"");
    }
    const size_t after = wordAfter(close + 2, "endraw");
    if (after == 0 || !(endsAt(after) || std::string_view(text).substr(after).starts_with("+%}"))) {
      continue;
    }
    addData(close, false);
    advance(after);
    (void)skipTagEnd("%}", true);
    return true;
  }
}

Status Lexer::lexData() {
  size_t begin = at;
  for (;; ++begin) {
    begin = text.find('{', begin);
    if (begin == std::string::npos || begin + 1 == text.size()) {
      if (at < text.size()) {
        add(TokenKind::Data, place, text.substr(at));
        advance(text.size());
      }
      return {};
    }
    const char next = text[begin + 1];
    if (next == '#') {
      return lexComment(begin);
    }
    if (next == '{' || next == '%') {
      break;
    }
  }
  const bool isBlock = text[begin + 1] == '%';
  if (isBlock) {
    HEDDLE_ASSIGN(const bool isRaw, lexRaw(begin));
    if (isRaw) {
      return {};
    }
  }
  addData(begin, !isBlock);
  return lexTag(isBlock);
}

Status Lexer::lexTag(bool isBlock) {
  const Place open = place;
  add(isBlock ? TokenKind::BlockBegin : TokenKind::VariableBegin, place);
  const bool hasSign = at + 2 < text.size() && (text[at + 2] == '-' || text[at + 2] == '+');
  advance(at + 2 + (hasSign ? 1 : 0));
  brackets.clear();
  for (;;) {
    const Place end = place;
    if (brackets.empty() && skipTagEnd(isBlock ? "%}" : "}}", isBlock)) {
      add(isBlock ? TokenKind::BlockEnd : TokenKind::VariableEnd, end);
      return {};
    }
    if (at == text.size()) {
      return failureAt(
          open, fmt::format("\"{}\" without \"{}\"", isBlock ? "{%" : "{{", isBlock ? "%}" : "}}"));
    }
    HEDDLE_TRY(lexWord());
  }
}

Status Lexer::lexWord() {
  const Character next = characterAt(text, at);
  if (isSpace(next.codePoint)) {
    skipSpace();
    return {};
  }
  if (isDigit(text[at])) {
    return lexNumber();
  }
  if (text[at] == '"' || text[at] == '\'') {
    return lexString();
  }
  if (text[at] != '_' && !isNameCharacter(next.codePoint)) {
    return lexOperator();
  }
  size_t end = at;
  while (end < text.size() && isNameCharacter(characterAt(text, end).codePoint)) {
    end += characterAt(text, end).bytes;
  }
  if (end - at > nameLimit) {
    return failureAt(place,
                     fmt::format("a name of {} bytes, expected {} at most", end - at, nameLimit));
  }
  add(TokenKind::Name, place, text.substr(at, end - at));
  advance(end);
  return {};
}

Status Lexer::lexOperator() {
  const auto *const found =
      std::find_if(operatorTexts.begin(), operatorTexts.end(),
                   [&](std::string_view each) { return rest().starts_with(each); });
  if (found == operatorTexts.end()) {
    const size_t bytes = characterAt(text, at).bytes;
    return failureAt(place,
                     fmt::format("{} cannot stand in a tag", quote(rest().substr(0, bytes))));
  }
  const char first = found->front();
  if (found->size() == 1 && (first == '(' || first == '[' || first == '{')) {
    brackets += first == '(' ? ')' : first == '[' ? ']' : '}';
  } else if (first == ')' || first == ']' || first == '}') {
    if (brackets.empty() || brackets.back() != first) {
      return failureAt(place, brackets.empty() ? fmt::format("unexpected \"{}\"", first)
                                               : fmt::format("unexpected \"{}\", expected \"{}\"",
                                                             first, brackets.back()));
    }
    brackets.pop_back();
  }
  add(TokenKind::Operator, place, std::string(*found));
  advance(at + found->size());
  return {};
}

/// Reads a decimal number with "_" between digits, a hexadecimal, octal or binary one; or a float,
/// which no "." precedes.
Status Lexer::lexNumber() {
  size_t end = at;
  const auto takeDigits = [&](auto isOne) {
    while (end < text.size() && (isOne(text[end]) || (text[end] == '_' && end + 1 < text.size() &&
                                                      isOne(text[end + 1])))) {
      ++end;
    }
  };
  const auto isHexadecimal = [](char c) { return hexadecimalDigit(c) >= 0; };
  const char kind = at + 1 < text.size() && text[at] == '0' ? asciiLower(text[at + 1]) : ' ';
  const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
  if (base != 10) {
    end += 2;
    takeDigits(isHexadecimal);
  } else {
    takeDigits(isDigit);
    const bool afterDot = at > 0 && text[at - 1] == '.';
    const auto digitAt = [&](size_t place) { return place < text.size() && isDigit(text[place]); };
    if (!afterDot && end < text.size() && text[end] == '.' && digitAt(end + 1)) {
      ++end;
      takeDigits(isDigit);
    }
    if (!afterDot && end < text.size() && asciiLower(text[end]) == 'e') {
      const bool sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
      if (digitAt(end + (sign ? 2 : 1))) {
        end += sign ? 2 : 1;
        takeDigits(isDigit);
      }
    }
  }
  std::string digits = text.substr(at, end - at);
  std::erase(digits, '_');
  Token token{.kind = TokenKind::Integer, .place = place, .text = digits};
  const bool isReal = base == 10 && digits.find_first_of(".eE") != std::string::npos;
  const char *const first = digits.data() + (base == 10 ? 0 : 2);
  const char *const last = digits.data() + digits.size();
  const std::from_chars_result read = isReal ? std::from_chars(first, last, token.real)
                                             : std::from_chars(first, last, token.integer, base);
  const bool startsWithZeros = base == 10 && !isReal && digits.size() > 1 && digits[0] == '0' &&
                               digits.find_first_not_of('0') != std::string::npos;
  if (read.ec != std::errc() || read.ptr != last || startsWithZeros) {
    return failureAt(place, fmt::format("{} is no number of 64 bits", quote(digits, 40)));
  }
  token.kind = isReal ? TokenKind::Real : TokenKind::Integer;
  tokens.push_back(std::move(token));
  advance(end);
  return {};
}

Status Lexer::lexString() {
  const Place open = place;
  const char delimiter = text[at];
  size_t end = at + 1;
  while (end < text.size() && text[end] != delimiter) {
    end += text[end] == '\\' ? 2 : 1;
  }
  if (end >= text.size()) {
    return failureAt(open, "a string without its end");
  }
  std::string content;
  advance(at + 1);
  while (at < end) {
    if (text[at] == '\\') {
      HEDDLE_TRY(lexEscape(end, content));
    } else {
      content += text[at];
      advance(at + 1);
    }
  }
  advance(end + 1);
  add(TokenKind::String, open, std::move(content));
  return {};
}

Status Lexer::lexHexadecimal(size_t digits, size_t end, std::string &out) {
  uint32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const int digit = at + 2 + i < end ? hexadecimalDigit(text[at + 2 + i]) : -1;
    if (digit < 0) {
      return failureAt(place,
                       fmt::format("\"\\{}\" without {} hexadecimal digits", text[at + 1], digits));
    }
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    return failureAt(place, fmt::format("{:x} is no character", value));
  }
  appendCharacter(static_cast<int32_t>(value), out);
  advance(at + 2 + digits);
  return {};
}

/// Reads an escape sequence, as in Python: an unknown one stands for itself.
Status Lexer::lexEscape(size_t end, std::string &out) {
  const char next = text[at + 1];
  constexpr std::string_view letters = "abfnrtv\\'\"";
  constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\'\"";
  if (const size_t index = letters.find(next); index != std::string_view::npos) {
    out += meanings[index];
    advance(at + 2);
    return {};
  }
  switch (next) {
  case '\n':
    advance(at + 2);
    return {};
  case 'x':
    return lexHexadecimal(2, end, out);
  case 'u':
    return lexHexadecimal(4, end, out);
  case 'U':
    return lexHexadecimal(8, end, out);
  case 'N':
    return failureAt(place, "characters by name (\"\\N\") are not supported");
  default:
    break;
  }
  int32_t value = 0;
  size_t digits = 0;
  while (digits < 3 && at + 1 + digits < end && text[at + 1 + digits] >= '0' &&
         text[at + 1 + digits] <= '7') {
    value = value * 8 + (text[at + 1 + digits] - '0');
    ++digits;
  }
  if (digits > 0) {
    appendCharacter(value, out);
    advance(at + 1 + digits);
    return {};
  }
  out += '\\';
  advance(at + 1);
  return {};
}

Result<std::vector<Token>> Lexer::run() {
  while (at < text.size()) {
    HEDDLE_TRY(lexData());
  }
  add(TokenKind::End, place);
  return std::move(tokens);
}

Result<std::vector<Token>> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace heddle::chat
