// SPDX-License-Identifier: Apache-2.0
///
/// Packs a tokenizer from a plain list of tokens: texts are tokens separated by spaces.
#ifndef HEDDLE_FORMATS_TOKENIZER_WORDLISTIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_WORDLISTIMPORT_H

#include "formats/Tokenizer/TokenizerParts.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Settings that a list does not contain.
struct WordListSettings {
  /// The token for unknown words; appended to the list if it is missing.
  std::string unknown = "<unk>";
  /// Tokens before and after those of a text.
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
  /// Tokens that are left out when ids become text. The list need not contain them.
  std::vector<std::string> special = {"<s>", "</s>", "<blank>", "<pad>"};
};

/// Packs a tokenizer whose ids are positions in the list, the lowest one for a repeated token;
/// `where` begins every message.
Result<flatbuffers::Offset<manifest::Tokenizer>>
packWordList(flatbuffers::FlatBufferBuilder &builder, std::vector<std::string> tokens,
             const WordListSettings &settings, const LengthLimits &limits, std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_WORDLISTIMPORT_H
