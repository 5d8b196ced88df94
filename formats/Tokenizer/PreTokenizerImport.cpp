// SPDX-License-Identifier: Apache-2.0
///
/// Packs "pre_tokenizer" of a tokenizer.json. Each part becomes one step; several become a
/// sequence.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;
using Kind = manifest::PreTokenizer;

template <typename Table> static Member<Kind> member(Kind kind, flatbuffers::Offset<Table> table) {
  return {kind, table.Union()};
}

Result<manifest::PrependScheme> readPrependScheme(const Config &part) {
  // Older files have a flag instead.
  HEDDLE_ASSIGN(const bool prepends, part.booleanOr("add_prefix_space", true));
  HEDDLE_ASSIGN(
      const std::string scheme,
      part.oneOfOr("prepend_scheme", {"always", "first", "never"}, prepends ? "always" : "never"));
  if (!prepends && scheme != "never") {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"prepend_scheme\" is {} and \"add_prefix_space\" false, "
                                    "expected them to agree",
                                    part.where(), quote(scheme)));
  }
  return scheme == "always"  ? manifest::PrependScheme::Always
         : scheme == "first" ? manifest::PrependScheme::First
                             : manifest::PrependScheme::Never;
}

Result<std::string> readReplacement(const Config &part) {
  HEDDLE_ASSIGN(std::string replacement, part.string("replacement"));
  const auto characters = std::count_if(replacement.begin(), replacement.end(),
                                        [](char byte) { return (byte & 0xC0) != 0x80; });
  if (characters != 1) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"replacement\" is {}, expected one character",
                                    part.where(), quote(replacement)));
  }
  return replacement;
}

/// Names the pattern of a Split, which the reader of the message will look for.
static Status refuseSplit(const Config &part) {
  std::string pattern = "none";
  if (part.has("pattern")) {
    HEDDLE_ASSIGN(const Config value, part.object("pattern"));
    HEDDLE_ASSIGN(const std::string regex, value.stringOr("Regex", ""));
    HEDDLE_ASSIGN(const std::string text, value.stringOr("String", ""));
    pattern = quote(regex.empty() ? text : regex);
  }
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format(
          "{}: splitting at the pattern {} is not supported, expected ByteLevel or Metaspace",
          part.where(), pattern));
}

static Result<Member<Kind>> packStep(FlatBufferBuilder &builder, const PartOfSequence &given) {
  HEDDLE_ASSIGN(const Config part, Config::fromJson(*given.value, given.where));
  HEDDLE_ASSIGN(const std::string type, part.string("type"));
  if (type == "Split") {
    return refuseSplit(part);
  }
  HEDDLE_TRY(part.oneOf("type", {"BertPreTokenizer", "ByteLevel", "Metaspace", "WhitespaceSplit",
                                 "Sequence"})
                 .status());
  if (type == "BertPreTokenizer") {
    return member(Kind::BertPreTokenizer, manifest::CreateBertPreTokenizer(builder));
  }
  if (type == "WhitespaceSplit") {
    return member(Kind::WhiteSpacePreTokenizer, manifest::CreateWhiteSpacePreTokenizer(builder));
  }
  if (type == "ByteLevel") {
    HEDDLE_ASSIGN(const bool addPrefixSpace, part.boolean("add_prefix_space"));
    HEDDLE_ASSIGN(const bool split, part.booleanOr("use_regex", true));
    return member(Kind::ByteLevelPreTokenizer,
                  manifest::CreateByteLevelPreTokenizer(builder, addPrefixSpace, split));
  }
  HEDDLE_ASSIGN(const std::string replacement, readReplacement(part));
  HEDDLE_ASSIGN(const manifest::PrependScheme prepend, readPrependScheme(part));
  HEDDLE_ASSIGN(const bool split, part.booleanOr("split", true));
  return member(Kind::MetaspacePreTokenizer,
                manifest::CreateMetaspacePreTokenizer(builder, builder.CreateString(replacement),
                                                      prepend, split));
}

Result<Member<Kind>> packPreTokenizer(FlatBufferBuilder &builder, const nlohmann::json &tokenizer,
                                      std::string_view where) {
  // The limit of runtime/Tokenizer.
  constexpr size_t stepLimit = 8;
  HEDDLE_ASSIGN(const std::vector<PartOfSequence> parts,
                flattenParts(tokenizer, "pre_tokenizer", "pretokenizers", where));
  if (parts.size() > stepLimit) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {} pre-tokenizers, expected at most {}",
                                                     where, parts.size(), stepLimit));
  }
  if (parts.empty()) {
    return Member<Kind>();
  }
  if (parts.size() == 1) {
    return packStep(builder, parts[0]);
  }
  std::vector<flatbuffers::Offset<manifest::PreTokenizerStep>> steps;
  for (const PartOfSequence &part : parts) {
    HEDDLE_ASSIGN(const Member<Kind> step, packStep(builder, part));
    steps.push_back(manifest::CreatePreTokenizerStep(builder, step.kind, step.offset));
  }
  const auto packed = builder.CreateVector(steps);
  return member(Kind::PreTokenizerSequence, manifest::CreatePreTokenizerSequence(builder, packed));
}

} // namespace heddle
