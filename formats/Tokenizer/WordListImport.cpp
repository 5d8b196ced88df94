// SPDX-License-Identifier: Apache-2.0
///
/// Turns the list into a vocabulary and adds the template.
#include "formats/Tokenizer/WordListImport.h"

#include <algorithm>

namespace heddle {

using flatbuffers::FlatBufferBuilder;

Result<flatbuffers::Offset<manifest::Tokenizer>>
packWordList(FlatBufferBuilder &builder, std::vector<std::string> tokens,
             const WordListSettings &settings, const LengthLimits &limits, std::string_view where) {
  if (std::find(tokens.begin(), tokens.end(), settings.unknown) == tokens.end()) {
    tokens.push_back(settings.unknown);
  }
  HEDDLE_ASSIGN(const VocabularyTable vocabulary,
                VocabularyTable::fromTokens(std::move(tokens), false, where));
  TokenizerParts parts;
  HEDDLE_ASSIGN(parts.pieces, packTemplate(settings.before, settings.after, vocabulary, where));
  parts.added = specialTokens(settings.special, vocabulary);
  const auto packed = manifest::CreateWordList(builder, vocabulary.pack(builder),
                                               *vocabulary.idOf(settings.unknown));
  parts.model = {manifest::TokenizerModel::WordList, packed.Union()};
  return finishTokenizer(builder, parts, limits, where);
}

} // namespace heddle
