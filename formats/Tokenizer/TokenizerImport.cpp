// SPDX-License-Identifier: Apache-2.0
///
/// Reads the parts of a tokenizer.json one after the other, then packs them.
#include "formats/Tokenizer/TokenizerImport.h"

#include "formats/Config/Config.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/AddedTokenImport.h"
#include "formats/Tokenizer/ModelImport.h"
#include "formats/Tokenizer/PartImport.h"
#include "formats/Tokenizer/TokenizerParts.h"
#include "formats/Tokenizer/VocabularyTable.h"

#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

static Result<Truncation> readTruncation(const nlohmann::json &tokenizer, std::string_view where) {
  Truncation truncation;
  HEDDLE_ASSIGN(const std::optional<Config> part, optionalPart(tokenizer, "truncation", where));
  if (part) {
    HEDDLE_ASSIGN(truncation.maxLength, part->integer("max_length", 1, largestTokenId));
    HEDDLE_ASSIGN(const std::string side, part->oneOfOr("direction", {"Left", "Right"}, "Right"));
    truncation.left = side == "Left";
  }
  return truncation;
}

Result<Offset<manifest::Tokenizer>>
packTokenizer(FlatBufferBuilder &builder, const nlohmann::json &tokenizer, std::string_view where,
              std::optional<int64_t> maxLength, std::optional<int64_t> modelLength) {
  if (!tokenizer.is_object()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: is {}, expected an object", where,
                                                     describeJson(tokenizer)));
  }
  HEDDLE_ASSIGN(const ImportedModelPart model, readModel(tokenizer, where));
  HEDDLE_ASSIGN(const auto packedModel, packModel(builder, model));
  HEDDLE_ASSIGN(const std::vector<ImportedToken> added,
                readAddedTokens(tokenizer, model.vocabulary, where));
  HEDDLE_ASSIGN(const std::vector<manifest::TemplatePiece> pieces,
                readTemplate(tokenizer, model.vocabulary, added, where));
  HEDDLE_ASSIGN(const Truncation truncation, readTruncation(tokenizer, where));
  HEDDLE_ASSIGN(const uint32_t length,
                chooseLength(truncation, {maxLength, modelLength}, pieces.size() - 1, where));
  HEDDLE_ASSIGN(const auto normalizer, packNormalizer(builder, tokenizer, where));
  HEDDLE_ASSIGN(const auto preTokenizer, packPreTokenizer(builder, tokenizer, where));
  HEDDLE_ASSIGN(const auto decoder, packDecoder(builder, tokenizer, where));
  const auto packedAdded = packAddedTokens(builder, added);
  const auto packedTemplate = builder.CreateVectorOfStructs(pieces);
  return manifest::CreateTokenizer(builder, packedAdded, normalizer.kind, normalizer.offset,
                                   preTokenizer.kind, preTokenizer.offset, packedModel.kind,
                                   packedModel.offset, packedTemplate, decoder.kind, decoder.offset,
                                   length, truncation.left);
}

} // namespace heddle
