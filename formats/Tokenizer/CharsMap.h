// SPDX-License-Identifier: Apache-2.0
///
/// The rules for characters that SentencePiece compiles into its models ("precompiled_charsmap"):
/// the size of a double array, the array, and the texts that its values point into, each ended by a
/// NUL.
#ifndef HEDDLE_FORMATS_TOKENIZER_CHARSMAP_H
#define HEDDLE_FORMATS_TOKENIZER_CHARSMAP_H

#include "formats/Tokenizer/DoubleArray.h"
#include "heddle/Status.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// Immutable; refers to the bytes it was loaded from.
class CharsMap {
public:
  /// Checks the bytes, so that no text leads out of them. InvalidArgument if they are damaged.
  static Result<CharsMap> load(std::string_view bytes);

  /// Appends the normal form of `text`, which is UTF-8, as the Hugging Face tokenizers library
  /// finds it: graphemes of less than six bytes are replaced as a whole, by the rule of the
  /// shortest beginning that has one, longer ones character by character.
  void append(std::string_view text, std::string &out) const;

private:
  std::optional<std::string_view> replacement(std::string_view text) const;
  void appendGrapheme(std::string_view grapheme, std::string &out) const;

  DoubleArray rules;
  std::string_view texts;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_CHARSMAP_H
