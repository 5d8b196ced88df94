// SPDX-License-Identifier: Apache-2.0
///
/// Decodes tokens one after another. Its output is final: it is a prefix of the text whatever
/// tokens follow, so a character of several tokens is never cut, and the concatenated pieces are
/// the text of all tokens.
#ifndef HEDDLE_RUNTIME_TOKENIZER_TOKENSTREAM_H
#define HEDDLE_RUNTIME_TOKENIZER_TOKENSTREAM_H

#include "runtime/Tokenizer/TokenDecoder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Replaces every occurrence.
void replaceAll(std::string &text, std::string_view from, std::string_view to);

/// Returns the byte of a token <0x00> to <0xFF>; nullopt for other tokens.
std::optional<char> byteOfToken(std::string_view token);

/// One text that is being decoded. Refers to the decoder.
class TokenStream {
public:
  explicit TokenStream(const TokenDecoder &decoder)
      : decoder(decoder), states(decoder.steps.size()) {}

  /// Appends the text that is final after one more token.
  void add(std::string_view token, std::string &out);
  /// Appends the rest. No token may follow.
  void finish(std::string &out);

private:
  /// The state of a step between tokens.
  struct State {
    /// A token that has not ended or is not final yet.
    std::string held;
    /// Bytes that are an incomplete character or not final yet.
    std::string bytes;
    /// Whether a token has begun or was held.
    bool any = false;
    /// The number of times that the beginning of the token was stripped.
    size_t stripped = 0;
  };
  /// A part of a token. Steps that join tokens emit one token in many parts.
  struct Part {
    std::string_view text;
    bool begins = true;
    bool ends = true;
  };

  void push(size_t step, Part part, std::string &out);
  void end(size_t step, std::string &out);
  /// Passes a part to the step after this one.
  void next(size_t step, Part part, std::string &out) { push(step + 1, part, out); }

  void apply(const TokenDecoder::WordPiece &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::ByteLevel &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::Metaspace &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::Replace &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::ByteFallback &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::Fuse &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::Strip &step, size_t at, Part part, std::string &out);
  void apply(const TokenDecoder::Suffix &step, size_t at, Part part, std::string &out);
  void flush(const TokenDecoder::ByteLevel &step, size_t at, std::string &out);
  void flush(const TokenDecoder::ByteFallback &step, size_t at, std::string &out);
  void flush(const TokenDecoder::Fuse &step, size_t at, std::string &out);
  void flush(const TokenDecoder::Suffix &step, size_t at, std::string &out);
  template <typename Other> void flush(const Other &step, size_t at, std::string &out) {}
  bool collect(size_t at, Part &part, std::string &whole);

  const TokenDecoder &decoder;
  std::vector<State> states;
  // Whether a token has reached the text.
  bool hasText = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_TOKENSTREAM_H
