// SPDX-License-Identifier: Apache-2.0
///
/// Splits the text of a template into tokens. Whitespace is handled here, as in Jinja with
/// trim_blocks and lstrip_blocks: a line break directly after a block or comment is removed, and so
/// is the indentation of a block or comment that is first in its line; "-" inside a tag strips
/// more, "+" less.
#ifndef HEDDLE_FORMATS_TEMPLATE_TOKENS_H
#define HEDDLE_FORMATS_TEMPLATE_TOKENS_H

#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::chat {

/// A place in the text. Both count from 1; columns are characters.
struct Place {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Returns "line 3, column 8".
std::string describePlace(Place place);

/// Returns a failure at a place of the template.
Status failureAt(Place place, std::string_view message);

enum class TokenKind : uint8_t {
  /// Text between tags.
  Data,
  VariableBegin,
  VariableEnd,
  BlockBegin,
  BlockEnd,
  Name,
  String,
  Integer,
  Real,
  Operator,
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  Place place;
  /// Data, a name, an operator, or the content of a string.
  std::string text;
  int64_t integer = 0;
  double real = 0;
};

/// Returns the tokens of a template, the last of which is End. `text` is UTF-8.
Result<std::vector<Token>> tokenize(std::string_view text);

/// Returns the name of a token in messages.
std::string describeToken(const Token &token);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_TOKENS_H
