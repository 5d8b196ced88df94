// SPDX-License-Identifier: Apache-2.0
///
/// The character rules that SentencePiece compiles into its models ("precompiled_charsmap"): the
/// size of a double array, the array, and the NUL-terminated texts that its values point to.
#ifndef HEDDLE_FORMATS_TOKENIZER_CHARSMAP_H
#define HEDDLE_FORMATS_TOKENIZER_CHARSMAP_H

#include "formats/Tokenizer/DoubleArray.h"
#include "heddle/Status.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// Immutable. Refers to the bytes it was loaded from.
class CharsMap {
public:
  /// Checks the bytes, so that no input text causes accesses outside them. InvalidArgument if they
  /// are damaged.
  static Result<CharsMap> load(std::string_view bytes);

  /// Appends the normal form of `text`, which is UTF-8, as the Hugging Face tokenizers library
  /// computes it. Graphemes of less than six bytes are replaced as a whole, by the rule of their
  /// shortest prefix with a rule; longer ones character by character.
  void append(std::string_view text, std::string &out) const;

private:
  std::optional<std::string_view> replacement(std::string_view text) const;
  void appendGrapheme(std::string_view grapheme, std::string &out) const;

  DoubleArray rules;
  std::string_view texts;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_CHARSMAP_H
