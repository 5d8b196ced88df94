// SPDX-License-Identifier: Apache-2.0
///
/// Turns tokens into a text: runs the decoders of a tokenizer one after the other.
#ifndef HEDDLE_RUNTIME_TOKENIZER_TOKENDECODER_H
#define HEDDLE_RUNTIME_TOKENIZER_TOKENDECODER_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads. Refers to the table.
class TokenDecoder {
public:
  /// Checks the table's decoder. Without one, tokens are joined by spaces.
  static Result<TokenDecoder> load(const manifest::Tokenizer &table);

  /// The text of tokens.
  std::string decode(std::vector<std::string> tokens) const;

private:
  using Tokens = std::vector<std::string>;
  struct WordPiece {
    std::string_view prefix;
    bool cleanup;
  };
  struct ByteLevel {};
  struct Metaspace {
    std::string_view replacement;
    bool keepFirst;
  };
  struct Replace {
    std::string_view pattern;
    std::string_view content;
  };
  struct ByteFallback {};
  struct Fuse {};
  struct Strip {
    std::string_view content;
    size_t start;
    size_t stop;
  };
  struct Suffix {
    std::string_view suffix;
  };
  using Step =
      std::variant<WordPiece, ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip, Suffix>;

  static Result<Step> loadStep(manifest::Decoder kind, const void *table);
  static void apply(const WordPiece &step, Tokens &tokens);
  static void apply(const ByteLevel &step, Tokens &tokens);
  static void apply(const Metaspace &step, Tokens &tokens);
  static void apply(const Replace &step, Tokens &tokens);
  static void apply(const ByteFallback &step, Tokens &tokens);
  static void apply(const Fuse &step, Tokens &tokens);
  static void apply(const Strip &step, Tokens &tokens);
  static void apply(const Suffix &step, Tokens &tokens);

  bool joinsWithSpaces = true;
  std::vector<Step> steps;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_TOKENDECODER_H
