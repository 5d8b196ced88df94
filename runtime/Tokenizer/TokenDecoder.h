// SPDX-License-Identifier: Apache-2.0
///
/// The decoders of a tokenizer, which turn tokens into a text one after the other.
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
  std::string decode(const std::vector<std::string> &tokens) const;

  /// Unsupported unless a text is that of its tokens, end to end, but for spaces at its beginning.
  Status checkJoins() const;
  /// Then, the bytes of a token, which may be parts of characters.
  std::string bytesOf(std::string_view token) const;

private:
  friend class TokenStream;
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

  bool joinsWithSpaces = true;
  std::vector<Step> steps;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_TOKENDECODER_H
