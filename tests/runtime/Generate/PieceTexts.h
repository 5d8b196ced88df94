// SPDX-License-Identifier: Apache-2.0
///
/// A tokenizer without a model for tests of texts: every token is some bytes, and a character may
/// need several tokens.
#ifndef HEDDLE_TESTS_RUNTIME_GENERATE_PIECETEXTS_H
#define HEDDLE_TESTS_RUNTIME_GENERATE_PIECETEXTS_H

#include "runtime/Generate/AnswerText.h"
#include "runtime/Tokenizer/ByteCharacters.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Returns the bytes of a token: one or two letters, or one byte of a character of three or four.
inline std::string pieceOf(int32_t token) {
  static constexpr const char *pieces[] = {"a",    "b",    "ab",   "ba",   " a",   "\xE6", "\x9D",
                                           "\xB1", "\xF0", "\x9F", "\x98", "\x80", "\n",   "c"};
  return pieces[static_cast<size_t>(token) % std::size(pieces)];
}

/// Returns the text of tokens, in which invalid bytes become U+FFFD.
inline std::string textOfPieces(std::span<const int32_t> tokens) {
  std::string bytes, text;
  for (const int32_t token : tokens) {
    bytes += pieceOf(token);
  }
  appendAsUtf8(bytes, text);
  return text;
}

/// The same in pieces: an incomplete character waits for the next token.
class PieceStream final : public TextPieces {
public:
  Result<std::string> add(int32_t token) override {
    tokens.push_back(token);
    const std::string text = textOfPieces(tokens);
    return text.ends_with("\uFFFD") ? std::string() : rest(text);
  }
  Result<std::string> finish() override { return rest(textOfPieces(tokens)); }

private:
  std::string rest(const std::string &text) {
    std::string piece = text.substr(given);
    given = text.size();
    return piece;
  }

  std::vector<int32_t> tokens;
  size_t given = 0;
};

/// A tokenizer that lacks every third token.
class PaddedPieces final : public TextPieces {
public:
  static bool lacks(int32_t token) { return token % 3 == 0; }
  Result<std::string> add(int32_t token) override {
    return lacks(token) ? HEDDLE_ERROR(OutOfRange, "no token has the id")
                        : Result<std::string>(std::to_string(token) + " ");
  }
  Result<std::string> finish() override { return std::string(); }
};

/// A tokenizer that has none of the tokens.
class UnknownPieces final : public TextPieces {
public:
  Result<std::string> add(int32_t /*token*/) override {
    return HEDDLE_ERROR(OutOfRange, "no token has the id");
  }
  Result<std::string> finish() override { return std::string(); }
};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_GENERATE_PIECETEXTS_H
