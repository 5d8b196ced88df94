// SPDX-License-Identifier: Apache-2.0
///
/// A tokenizer from a plain list of tokens: texts are tokens with spaces between them.
#ifndef HEDDLE_FORMATS_TOKENIZER_WORDLISTIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_WORDLISTIMPORT_H

#include "formats/Tokenizer/TokenizerParts.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// What a list does not say.
struct WordListSettings {
  /// What words become that are no token; put after the last token if it is not among them.
  std::string unknown = "<unk>";
  /// Tokens before and after those of a text.
  std::vector<std::string> before = {};
  std::vector<std::string> after = {};
  /// Tokens that are left out when ids become text; those the list lacks do not matter.
  std::vector<std::string> special = {"<s>", "</s>", "<blank>", "<pad>"};
};

/// Packs a tokenizer whose ids are the positions in the list, the lowest for a token that is there
/// twice; `where` begins every message.
Result<flatbuffers::Offset<manifest::Tokenizer>>
packWordList(flatbuffers::FlatBufferBuilder &builder, std::vector<std::string> tokens,
             const WordListSettings &settings, const LengthLimits &limits, std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_WORDLISTIMPORT_H
