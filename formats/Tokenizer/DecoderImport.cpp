// SPDX-License-Identifier: Apache-2.0
///
/// Packs "decoder" of a tokenizer.json. Each part becomes one step; several become a sequence.
#include "formats/Tokenizer/TokenizerImport.h"

#include "formats/Tokenizer/VocabularyTable.h"

#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;
using Kind = manifest::Decoder;

template <typename Table> static Member<Kind> member(Kind kind, flatbuffers::Offset<Table> table) {
  return {kind, table.Union()};
}

static Result<Member<Kind>> packReplace(FlatBufferBuilder &builder, const Config &part) {
  HEDDLE_ASSIGN(const TextPattern pattern, readPattern(part));
  if (pattern.least > 0) {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("{}: \"pattern\" matches runs, expected plain characters in a decoder",
                    part.where()));
  }
  HEDDLE_ASSIGN(const std::string content, part.string("content"));
  const auto packedText = builder.CreateString(pattern.text);
  const auto packedContent = builder.CreateString(content);
  return member(Kind::ReplaceDecoder,
                manifest::CreateReplaceDecoder(builder, packedText, packedContent));
}

static Result<Member<Kind>> packStep(FlatBufferBuilder &builder, const PartOfSequence &given) {
  HEDDLE_ASSIGN(const Config part, Config::fromJson(*given.value, given.where));
  HEDDLE_ASSIGN(const std::string type,
                part.oneOf("type", {"WordPiece", "ByteLevel", "Metaspace", "Replace",
                                    "ByteFallback", "Fuse", "Strip", "BPEDecoder", "Sequence"}));
  if (type == "WordPiece") {
    HEDDLE_ASSIGN(const std::string prefix, part.string("prefix"));
    HEDDLE_ASSIGN(const bool cleanup, part.boolean("cleanup"));
    return member(Kind::WordPieceDecoder,
                  manifest::CreateWordPieceDecoder(builder, builder.CreateString(prefix), cleanup));
  }
  if (type == "ByteLevel") {
    return member(Kind::ByteLevelDecoder, manifest::CreateByteLevelDecoder(builder));
  }
  if (type == "Metaspace") {
    HEDDLE_ASSIGN(const std::string replacement, readCharacter(part, "replacement"));
    HEDDLE_ASSIGN(const manifest::PrependScheme prepend, readPrependScheme(part));
    return member(Kind::MetaspaceDecoder,
                  manifest::CreateMetaspaceDecoder(builder, builder.CreateString(replacement),
                                                   prepend == manifest::PrependScheme::Never));
  }
  if (type == "Replace") {
    return packReplace(builder, part);
  }
  if (type == "ByteFallback") {
    return member(Kind::ByteFallbackDecoder, manifest::CreateByteFallbackDecoder(builder));
  }
  if (type == "Fuse") {
    return member(Kind::FuseDecoder, manifest::CreateFuseDecoder(builder));
  }
  if (type == "Strip") {
    HEDDLE_ASSIGN(const std::string content, nonEmptyString(part, "content"));
    HEDDLE_ASSIGN(const int64_t start, part.integer("start", 0, largestTokenId));
    HEDDLE_ASSIGN(const int64_t stop, part.integer("stop", 0, largestTokenId));
    return member(Kind::StripDecoder,
                  manifest::CreateStripDecoder(builder, builder.CreateString(content),
                                               static_cast<uint32_t>(start),
                                               static_cast<uint32_t>(stop)));
  }
  HEDDLE_ASSIGN(const std::string suffix, nonEmptyString(part, "suffix"));
  return member(Kind::SuffixDecoder,
                manifest::CreateSuffixDecoder(builder, builder.CreateString(suffix)));
}

Result<Member<Kind>> packDecoder(FlatBufferBuilder &builder, const nlohmann::json &tokenizer,
                                 std::string_view where) {
  HEDDLE_ASSIGN(const std::vector<PartOfSequence> parts,
                flattenParts(tokenizer, "decoder", "decoders", where));
  const auto part = tokenizer.find("decoder");
  if (part == tokenizer.end() || part->is_null()) {
    return Member<Kind>();
  }
  // An empty sequence differs from no decoder: tokens are joined without spaces.
  if (parts.size() == 1) {
    return packStep(builder, parts[0]);
  }
  std::vector<flatbuffers::Offset<manifest::DecoderStep>> steps;
  for (const PartOfSequence &part : parts) {
    HEDDLE_ASSIGN(const Member<Kind> step, packStep(builder, part));
    steps.push_back(manifest::CreateDecoderStep(builder, step.kind, step.offset));
  }
  const auto packed = builder.CreateVector(steps);
  return member(Kind::DecoderSequence, manifest::CreateDecoderSequence(builder, packed));
}

} // namespace heddle
