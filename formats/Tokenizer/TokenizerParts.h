// SPDX-License-Identifier: Apache-2.0
///
/// Shared by the importers of formats other than tokenizer.json. These have a model, a template and
/// special tokens, but no normalizer, pre-tokenizer or decoder.
#ifndef HEDDLE_FORMATS_TOKENIZER_TOKENIZERPARTS_H
#define HEDDLE_FORMATS_TOKENIZER_TOKENIZERPARTS_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/TokenizerImport.h"
#include "heddle/Status.h"

#include <cstdint>
#include <flatbuffers/flatbuffers.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The limits on the ids of a text; packTokenizer() explains them.
struct LengthLimits {
  std::optional<int64_t> maxLength = std::nullopt;
  std::optional<int64_t> modelLength = std::nullopt;
};

/// The truncation of texts, from tokenizer.json.
struct Truncation {
  std::optional<int64_t> maxLength;
  bool left = false;
};

/// Returns the effective limit, 0 for none; `own` of these ids are the template's.
Result<uint32_t> chooseLength(const Truncation &truncation, const LengthLimits &limits, size_t own,
                              std::string_view where);

struct TokenizerParts {
  ModelMember model;
  std::vector<manifest::TemplatePiece> pieces;
  std::vector<ImportedToken> added;
};

/// Returns the template that puts tokens around a text.
Result<std::vector<manifest::TemplatePiece>> packTemplate(const std::vector<std::string> &before,
                                                          const std::vector<std::string> &after,
                                                          const VocabularyTable &vocabulary,
                                                          std::string_view where);

/// Returns the tokens that are in the vocabulary, marked as special and not searched for in texts.
std::vector<ImportedToken> specialTokens(const std::vector<std::string> &tokens,
                                         const VocabularyTable &vocabulary);

/// Writes the added tokens.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<manifest::AddedToken>>>
packAddedTokens(flatbuffers::FlatBufferBuilder &builder, const std::vector<ImportedToken> &tokens);

/// Writes the tokenizer; `where` begins every message.
Result<flatbuffers::Offset<manifest::Tokenizer>>
finishTokenizer(flatbuffers::FlatBufferBuilder &builder, const TokenizerParts &parts,
                const LengthLimits &limits, std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_TOKENIZERPARTS_H
