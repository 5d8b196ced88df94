// SPDX-License-Identifier: Apache-2.0
///
/// The decoders of a tokenizer, which convert tokens to a text one after another.
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

  /// Returns the text of tokens.
  std::string decode(const std::vector<std::string> &tokens) const;

  /// Checks that a text is the concatenation of its tokens' texts, except for spaces at its
  /// beginning; otherwise Unsupported.
  Status checkJoins() const;
  /// Returns the bytes of a token, which may be incomplete characters; requires checkJoins().
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
