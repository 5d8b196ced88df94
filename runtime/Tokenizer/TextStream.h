// SPDX-License-Identifier: Apache-2.0
///
/// Decodes ids one after another, to display an answer while it is generated: the pieces are whole
/// characters, and their concatenation is Tokenizer::decode() of all ids.
#ifndef HEDDLE_RUNTIME_TOKENIZER_TEXTSTREAM_H
#define HEDDLE_RUNTIME_TOKENIZER_TEXTSTREAM_H

#include "heddle/Status.h"
#include "runtime/Tokenizer/TokenStream.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

class Tokenizer;

/// One text. Refers to the tokenizer.
class TextStream {
public:
  explicit TextStream(const Tokenizer &tokenizer, bool skipSpecial = true);

  /// Returns the piece of text that is final after this id; often empty. OutOfRange for an id
  /// without a token, which changes nothing.
  Result<std::string> add(int32_t id);
  /// Returns the rest of the text. No id may follow.
  Result<std::string> finish();

private:
  Result<std::string> textOf(std::span<const int32_t> some, bool isWhole) const;
  Result<std::string> newText(bool isWhole);
  Status forget();

  const Tokenizer &tokenizer;
  bool skipSpecial;
  TokenStream tokens;
  // For a SentencePiece model, which decodes pieces together: the last id that has its own text and
  // the ids after it, and how much of their text was returned.
  std::vector<int32_t> ids;
  size_t given = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_TEXTSTREAM_H
