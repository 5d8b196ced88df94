// SPDX-License-Identifier: Apache-2.0
///
/// The lexer accepts anything: text that is not JSON becomes tokens too, so that a damaged document
/// can be damaged further.
#include "tests/Fuzzing/JsonMutation.h"

#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <vector>

namespace heddle::fuzzing {

namespace {

/// A piece of the text. `kind` is the character for brackets, commas and colons, 's' for a string,
/// 'n' for a number and 'w' for any other word.
struct Token {
  char kind;
  size_t begin;
  size_t end;
};

/// A value: tokens [first, last].
struct Value {
  size_t first;
  size_t last;
};

/// The document as tokens.
class Document {
public:
  Document(std::string &text, Choice &choice);

  void change();

private:
  size_t stringEnd(size_t begin) const;
  std::optional<Value> anyValue(char kind = 0);
  Value valueAt(size_t first) const;
  std::string textOf(const Value &value) const {
    return text.substr(tokens[value.first].begin,
                       tokens[value.last].end - tokens[value.first].begin);
  }
  void replace(const Value &value, const std::string &with) {
    text.replace(tokens[value.first].begin, tokens[value.last].end - tokens[value.first].begin,
                 with);
  }
  std::string unusualValue();
  void changeNumberText();
  void changeStringText();
  void changeMember();
  void nest();
  void swap();

  std::string &text;
  Choice &choice;
  std::vector<Token> tokens;
};

} // namespace

size_t Document::stringEnd(size_t begin) const {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

Document::Document(std::string &text, Choice &choice) : text(text), choice(choice) {
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      at = end;
      continue;
    }
    char kind = c;
    if (c == '"') {
      kind = 's';
      end = stringEnd(at);
    } else if (std::strchr("{}[],:", c) == nullptr || c == '\0') {
      while (end < text.size() && std::strchr("{}[],:\" \n", text[end]) == nullptr) {
        ++end;
      }
      kind = c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0 ? 'n' : 'w';
    }
    tokens.push_back({kind, at, end});
    at = end;
  }
}

/// Returns the value that begins with a token: up to its closing bracket, or that token.
Value Document::valueAt(size_t first) const {
  size_t depth = 0;
  for (size_t i = first; i < tokens.size(); ++i) {
    const char kind = tokens[i].kind;
    if (kind == '{' || kind == '[') {
      ++depth;
    } else if (kind == '}' || kind == ']') {
      depth -= depth > 0 ? 1 : 0;
    }
    if (depth == 0) {
      return {first, i};
    }
  }
  return {first, tokens.size() - 1};
}

/// Returns a random value of a kind, or of any; it may be a key.
std::optional<Value> Document::anyValue(char kind) {
  for (int attempt = 0; attempt < 16 && !tokens.empty(); ++attempt) {
    const size_t at = choice.below(tokens.size());
    const char found = tokens[at].kind;
    if (kind == 0 ? std::strchr("{[snw", found) != nullptr : found == kind) {
      return valueAt(at);
    }
  }
  return std::nullopt;
}

std::string Document::unusualValue() {
  static const std::array<std::string, 22> values = {"null",
                                                     "true",
                                                     "false",
                                                     "{}",
                                                     "[]",
                                                     "\"\"",
                                                     "0",
                                                     "-0",
                                                     "-1",
                                                     "1.5",
                                                     "1e-400",
                                                     "1e308",
                                                     "1e400",
                                                     "2147483648",
                                                     "-9223372036854775808",
                                                     "9223372036854775807",
                                                     "18446744073709551615",
                                                     "18446744073709551616",
                                                     "[[]]",
                                                     "{\"\":{}}",
                                                     "NaN",
                                                     "\"\\ud800\""};
  return choice.of(values);
}

void Document::changeNumberText() {
  const std::optional<Value> value = anyValue('n');
  if (!value) {
    return;
  }
  const uint64_t present = std::strtoull(textOf(*value).c_str(), nullptr, 10);
  // Another number of the document gives overlapping offsets and duplicate ids.
  const std::optional<Value> other = choice.oneIn(3) ? anyValue('n') : std::nullopt;
  const uint64_t base = other ? std::strtoull(textOf(*other).c_str(), nullptr, 10) : present;
  const uint64_t number = other && choice.oneIn(2) ? base : unusualNumber(base, present, choice);
  replace(*value,
          choice.oneIn(8) ? std::to_string(static_cast<int64_t>(number)) : std::to_string(number));
}

void Document::changeStringText() {
  const std::optional<Value> value = anyValue('s');
  if (!value) {
    return;
  }
  std::string inside = textOf(*value);
  if (inside.size() < 2) {
    return;
  }
  inside = inside.substr(1, inside.size() - 2);
  const std::optional<Value> other = anyValue('s');
  if (choice.oneIn(3) && other) {
    inside = textOf(*other).substr(1);
    inside = inside.empty() ? inside : inside.substr(0, inside.size() - 1);
  } else if (choice.oneIn(2)) {
    changeBytes(inside, choice);
  } else {
    static const std::array<std::string, 6> escapes = {
        "\\u0000", "\\ud83d\\ude42", "\\udc00", "\\\"", "\\q", "\\u12"};
    const size_t at = choice.below(inside.size() + 1);
    inside.insert(at, choice.oneIn(2) ? choice.of(escapes) : unusualText(choice));
  }
  replace(*value, "\"" + inside + "\"");
}

/// Duplicates or removes an element or a member with its key.
void Document::changeMember() {
  const std::optional<Value> value = anyValue();
  if (!value) {
    return;
  }
  Value member = *value;
  if (member.last + 2 < tokens.size() && tokens[member.last + 1].kind == ':') {
    member.last = valueAt(member.last + 2).last;
  } else if (member.first >= 2 && tokens[member.first - 1].kind == ':') {
    member.first -= 2;
  }
  const std::string whole = textOf(member);
  if (choice.oneIn(2)) {
    text.insert(tokens[member.last].end, "," + whole);
    return;
  }
  const bool hasComma = member.last + 1 < tokens.size() && tokens[member.last + 1].kind == ',';
  if (hasComma) {
    ++member.last;
  } else if (member.first > 0 && tokens[member.first - 1].kind == ',') {
    --member.first;
  }
  replace(member, "");
}

/// Wraps a value, occasionally deeper than any parser accepts.
void Document::nest() {
  const std::optional<Value> value = anyValue();
  if (!value) {
    return;
  }
  const size_t depth = choice.oneIn(20) ? choice.below(3000) : choice.below(3) + 1;
  const bool isList = choice.oneIn(2);
  std::string before;
  std::string after;
  for (size_t i = 0; i < depth; ++i) {
    before += isList ? "[" : "{\"a\":";
    after += isList ? "]" : "}";
  }
  replace(*value, before + textOf(*value) + after);
}

void Document::swap() {
  std::optional<Value> first = anyValue();
  std::optional<Value> second = anyValue();
  if (!first || !second) {
    return;
  }
  if (second->first < first->first) {
    std::swap(first, second);
  }
  const std::string one = textOf(*first);
  const std::string two = textOf(*second);
  if (first->last < second->first) {
    // The later one first: it does not move the earlier one.
    replace(*second, one);
    replace(*first, two);
  } else {
    replace(*first, two);
  }
}

void Document::change() {
  switch (choice.below(9)) {
  case 0:
    if (const std::optional<Value> value = anyValue()) {
      replace(*value, unusualValue());
    }
    return;
  case 1:
  case 2:
    return changeNumberText();
  case 3:
  case 4:
    return changeStringText();
  case 5:
  case 6:
    return changeMember();
  case 7:
    return nest();
  default:
    return swap();
  }
}

void mutateJson(std::string &text, Choice &choice) { Document(text, choice).change(); }

void mutateJsonDocuments(std::string &text, Choice &choice) {
  std::vector<size_t> borders = {0};
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\0') {
      borders.push_back(at + 1);
    }
  }
  borders.push_back(text.size() + 1);
  const size_t part = choice.below(borders.size() - 1);
  changePart(text, borders[part], borders[part + 1] - 1, mutateJson, choice);
}

void mutateSafetensors(std::string &file, Choice &choice) {
  uint64_t length = 0;
  if (file.size() < sizeof length) {
    return changeBytes(file, choice);
  }
  std::memcpy(&length, file.data(), sizeof length);
  const size_t rest = file.size() - sizeof length;
  if (length > rest || choice.oneIn(12)) {
    return changeNumber(file, 0, sizeof length, choice);
  }
  if (choice.oneIn(8)) {
    // The data: longer or shorter than the header specifies, or other values.
    return changePart(file, sizeof length + length, file.size(), changeBytes, choice);
  }
  std::string header = file.substr(sizeof length, length);
  mutateJson(header, choice);
  file.replace(sizeof length, length, header);
  length = header.size();
  std::memcpy(file.data(), &length, sizeof length);
}

} // namespace heddle::fuzzing
