// SPDX-License-Identifier: Apache-2.0
///
/// Packs lists of tokens into the manifest's form.
#include "formats/Tokenizer/TokenizerParts.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Result<uint32_t> chooseLength(const Truncation &truncation, const LengthLimits &limits, size_t own,
                              std::string_view where) {
  std::optional<int64_t> length = limits.maxLength;
  if (!length) {
    length = truncation.maxLength;
    if (limits.modelLength) {
      length = std::min(length.value_or(*limits.modelLength), *limits.modelLength);
    }
  }
  const auto least = static_cast<int64_t>(std::max<size_t>(own, 1));
  if (length && (*length < least || *length > largestTokenId)) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format(
            "{}: the longest text has {} ids, expected {} to {}, the {} of the template included",
            where, *length, least, largestTokenId, own));
  }
  return static_cast<uint32_t>(length.value_or(0));
}

Result<std::vector<manifest::TemplatePiece>> packTemplate(const std::vector<std::string> &before,
                                                          const std::vector<std::string> &after,
                                                          const VocabularyTable &vocabulary,
                                                          std::string_view where) {
  using Kind = manifest::TemplatePieceKind;
  std::vector<manifest::TemplatePiece> pieces;
  for (const std::vector<std::string> *const side : {&before, &after}) {
    if (side == &after) {
      pieces.emplace_back(Kind::Text, 0, 0);
    }
    for (const std::string &token : *side) {
      const std::optional<uint32_t> id = vocabulary.idOf(token);
      if (!id) {
        return HEDDLE_ERROR(
            InvalidArgument,
            fmt::format("{}: {} is put around every text, but is not a token of the vocabulary",
                        where, quote(token)));
      }
      pieces.emplace_back(Kind::Token, *id, 0);
    }
  }
  return pieces;
}

std::vector<ImportedToken> specialTokens(const std::vector<std::string> &tokens,
                                         const VocabularyTable &vocabulary) {
  std::vector<ImportedToken> result;
  for (const std::string &token : tokens) {
    const std::optional<uint32_t> id = vocabulary.idOf(token);
    const bool known = std::any_of(result.begin(), result.end(), [&](const ImportedToken &other) {
      return other.content == token;
    });
    if (id && !known) {
      ImportedToken special{};
      special.content = token;
      special.id = *id;
      special.special = true;
      special.decodeOnly = true;
      result.push_back(std::move(special));
    }
  }
  return result;
}

Offset<flatbuffers::Vector<Offset<manifest::AddedToken>>>
packAddedTokens(FlatBufferBuilder &builder, const std::vector<ImportedToken> &tokens) {
  std::vector<Offset<manifest::AddedToken>> packed;
  for (const ImportedToken &token : tokens) {
    packed.push_back(manifest::CreateAddedToken(
        builder, builder.CreateString(token.content), token.id, token.singleWord, token.leftStrip,
        token.rightStrip, token.normalized, token.special, token.decodeOnly));
  }
  return builder.CreateVector(packed);
}

Result<Offset<manifest::Tokenizer>> finishTokenizer(FlatBufferBuilder &builder,
                                                    const TokenizerParts &parts,
                                                    const LengthLimits &limits,
                                                    std::string_view where) {
  HEDDLE_ASSIGN(const uint32_t length, chooseLength({}, limits, parts.pieces.size() - 1, where));
  const auto packedAdded = packAddedTokens(builder, parts.added);
  const auto packedTemplate = builder.CreateVectorOfStructs(parts.pieces);
  manifest::TokenizerBuilder table(builder);
  table.add_added_tokens(packedAdded);
  table.add_model_type(parts.model.kind);
  table.add_model(parts.model.offset);
  table.add_template_(packedTemplate);
  table.add_max_length(length);
  return table.Finish();
}

} // namespace heddle
