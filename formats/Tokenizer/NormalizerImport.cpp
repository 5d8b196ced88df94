// SPDX-License-Identifier: Apache-2.0
///
/// Packs "normalizer" of a tokenizer.json. Each part becomes one step; several become a sequence.
#include "formats/Tokenizer/TokenizerImport.h"

#include "formats/Tokenizer/CharsMap.h"

#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;
using Kind = manifest::Normalizer;

template <typename Table> static Member<Kind> member(Kind kind, flatbuffers::Offset<Table> table) {
  return {kind, table.Union()};
}

static Result<Member<Kind>> packBert(FlatBufferBuilder &builder, const Config &part) {
  HEDDLE_ASSIGN(const bool cleanText, part.boolean("clean_text"));
  HEDDLE_ASSIGN(const bool handleChineseChars, part.boolean("handle_chinese_chars"));
  HEDDLE_ASSIGN(const bool lowercase, part.boolean("lowercase"));
  // Null means the same setting as for lower case.
  HEDDLE_ASSIGN(const bool stripAccents, part.booleanOr("strip_accents", lowercase));
  return member(Kind::BertNormalizer,
                manifest::CreateBertNormalizer(builder, cleanText, handleChineseChars, stripAccents,
                                               lowercase));
}

static Result<Member<Kind>> packCharsMap(FlatBufferBuilder &builder, const Config &part) {
  HEDDLE_ASSIGN(const std::string text, part.string("precompiled_charsmap"));
  const std::optional<std::string> bytes = decodeBase64(text);
  if (!bytes) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"precompiled_charsmap\" is text of {}, which is not base64", part.where(),
                    text.size()));
  }
  HEDDLE_TRY_WITH(CharsMap::load(*bytes).status(), part.where());
  const auto packed =
      builder.CreateVector(reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size());
  return member(Kind::CharsMapNormalizer, manifest::CreateCharsMapNormalizer(builder, packed));
}

static Result<Member<Kind>> packReplace(FlatBufferBuilder &builder, const Config &part) {
  HEDDLE_ASSIGN(const TextPattern pattern, readPattern(part));
  HEDDLE_ASSIGN(const std::string content, part.string("content"));
  const auto packedText = builder.CreateString(pattern.text);
  const auto packedContent = builder.CreateString(content);
  return member(Kind::ReplaceNormalizer, manifest::CreateReplaceNormalizer(
                                             builder, packedText, packedContent, pattern.least));
}

static Member<Kind> packForm(FlatBufferBuilder &builder, manifest::UnicodeForm form) {
  return member(Kind::UnicodeNormalizer, manifest::CreateUnicodeNormalizer(builder, form));
}

static Result<Member<Kind>> packStep(FlatBufferBuilder &builder, const PartOfSequence &given) {
  HEDDLE_ASSIGN(const Config part, Config::fromJson(*given.value, given.where));
  HEDDLE_ASSIGN(const std::string type,
                part.oneOf("type", {"BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase",
                                    "StripAccents", "Nmt", "Strip", "Replace", "Prepend",
                                    "Precompiled", "Sequence"}));
  if (type == "BertNormalizer") {
    return packBert(builder, part);
  }
  if (type == "NFC") {
    return packForm(builder, manifest::UnicodeForm::Nfc);
  }
  if (type == "NFD") {
    return packForm(builder, manifest::UnicodeForm::Nfd);
  }
  if (type == "NFKC") {
    return packForm(builder, manifest::UnicodeForm::Nfkc);
  }
  if (type == "NFKD") {
    return packForm(builder, manifest::UnicodeForm::Nfkd);
  }
  if (type == "Lowercase") {
    return member(Kind::LowercaseNormalizer, manifest::CreateLowercaseNormalizer(builder));
  }
  if (type == "StripAccents") {
    return member(Kind::StripAccentsNormalizer, manifest::CreateStripAccentsNormalizer(builder));
  }
  if (type == "Nmt") {
    return member(Kind::NmtNormalizer, manifest::CreateNmtNormalizer(builder));
  }
  if (type == "Strip") {
    HEDDLE_ASSIGN(const bool left, part.boolean("strip_left"));
    HEDDLE_ASSIGN(const bool right, part.boolean("strip_right"));
    return member(Kind::StripNormalizer, manifest::CreateStripNormalizer(builder, left, right));
  }
  if (type == "Replace") {
    return packReplace(builder, part);
  }
  if (type == "Prepend") {
    HEDDLE_ASSIGN(const std::string content, part.string("prepend"));
    return member(Kind::PrependNormalizer,
                  manifest::CreatePrependNormalizer(builder, builder.CreateString(content)));
  }
  return packCharsMap(builder, part);
}

Result<Member<Kind>> packNormalizer(FlatBufferBuilder &builder, const nlohmann::json &tokenizer,
                                    std::string_view where) {
  HEDDLE_ASSIGN(const std::vector<PartOfSequence> parts,
                flattenParts(tokenizer, "normalizer", "normalizers", where));
  if (parts.empty()) {
    return Member<Kind>();
  }
  if (parts.size() == 1) {
    return packStep(builder, parts[0]);
  }
  std::vector<flatbuffers::Offset<manifest::NormalizerStep>> steps;
  for (const PartOfSequence &part : parts) {
    HEDDLE_ASSIGN(const Member<Kind> step, packStep(builder, part));
    steps.push_back(manifest::CreateNormalizerStep(builder, step.kind, step.offset));
  }
  const auto packed = builder.CreateVector(steps);
  return member(Kind::NormalizerSequence, manifest::CreateNormalizerSequence(builder, packed));
}

} // namespace heddle
