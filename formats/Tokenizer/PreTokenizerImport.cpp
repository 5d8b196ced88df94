// SPDX-License-Identifier: Apache-2.0
///
/// Packs "pre_tokenizer" of a tokenizer.json. Each part becomes one step; several become a
/// sequence.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/CharacterSet.h"
#include "formats/Tokenizer/Characters.h"
#include "formats/Tokenizer/PatternImport.h"
#include "formats/Tokenizer/PreTokenizerLimits.h"
#include "formats/Tokenizer/SplitPattern.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

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

Result<std::string> readCharacter(const Config &part, std::string_view key) {
  HEDDLE_ASSIGN(std::string text, part.string(key));
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
  if (characters != 1) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {} is {}, expected one character",
                                                     part.where(), quote(key), quote(text)));
  }
  return text;
}

static Result<manifest::SplitBehavior> readBehavior(const Config &part, const char *absent) {
  // In the order of the schema's enumeration.
  static constexpr const char *names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                          "MergedWithNext", "Contiguous"};
  HEDDLE_ASSIGN(const std::string name, part.oneOfOr("behavior",
                                                     {"Contiguous", "Isolated", "MergedWithNext",
                                                      "MergedWithPrevious", "Removed"},
                                                     absent));
  const auto place = std::find(std::begin(names), std::end(names), name);
  return static_cast<manifest::SplitBehavior>(place - std::begin(names));
}

static Member<Kind> packBranches(FlatBufferBuilder &builder, const std::vector<SplitBranch> &given,
                                 manifest::SplitBehavior behavior, bool invert = false) {
  std::vector<flatbuffers::Offset<manifest::SplitBranch>> branches;
  for (const SplitBranch &branch : given) {
    branches.push_back(manifest::CreateSplitBranch(builder, builder.CreateString(branch.expression),
                                                   branch.least));
  }
  const auto packed = builder.CreateVector(branches);
  return member(Kind::SplitPreTokenizer,
                manifest::CreateSplitPreTokenizer(builder, packed, behavior, invert));
}

static Result<Member<Kind>> packSplit(FlatBufferBuilder &builder, const Config &part) {
  HEDDLE_ASSIGN(const Config pattern, part.object("pattern"));
  HEDDLE_ASSIGN(const bool invert, part.booleanOr("invert", false));
  if (!part.has("behavior")) {
    HEDDLE_TRY(part.string("behavior").status());
  }
  HEDDLE_ASSIGN(const manifest::SplitBehavior behavior, readBehavior(part, "Isolated"));
  if (!pattern.has("Regex")) {
    HEDDLE_ASSIGN(const std::string text, nonEmptyString(pattern, "String"));
    std::vector<SplitBranch> branches = literalPattern(text);
    HEDDLE_TRY_WITH(SplitPattern::load(branches).status(), pattern.where());
    return packBranches(builder, branches, behavior, invert);
  }
  HEDDLE_ASSIGN(const std::string regex, nonEmptyString(pattern, "Regex"));
  Result<std::vector<SplitBranch>> branches = translatePattern(regex);
  HEDDLE_TRY_WITH(branches.status(), pattern.where());
  return packBranches(builder, *branches, behavior, invert);
}

/// Packs pre-tokenizers that split at a kind of characters.
static Result<Member<Kind>> packCharacterSplit(FlatBufferBuilder &builder, const Config &part,
                                               std::string_view type) {
  using Behavior = manifest::SplitBehavior;
  if (type == "Digits") {
    HEDDLE_ASSIGN(const bool individual, part.booleanOr("individual_digits", false));
    return packBranches(builder, characterPattern(CharacterSet::where(isNumber)),
                        individual ? Behavior::Isolated : Behavior::Contiguous);
  }
  if (type == "Punctuation") {
    HEDDLE_ASSIGN(const Behavior behavior, readBehavior(part, "Isolated"));
    return packBranches(builder, characterPattern(CharacterSet::where(isPunctuation)), behavior);
  }
  if (type == "CharDelimiterSplit") {
    HEDDLE_ASSIGN(const std::string delimiter, readCharacter(part, "delimiter"));
    return packBranches(builder, literalPattern(delimiter), Behavior::Removed);
  }
  // Whitespace: words, and runs of what is neither word nor white space.
  const CharacterSet words = CharacterSet::where(isWordCharacter);
  CharacterSet others = words;
  others.add(CharacterSet::where(isWhiteSpace));
  return packBranches(builder,
                      {{words.expression() + "+|" + others.complement().expression() + "+", 0}},
                      Behavior::Removed, true);
}

static Result<Member<Kind>> packStep(FlatBufferBuilder &builder, const PartOfSequence &given) {
  HEDDLE_ASSIGN(const Config part, Config::fromJson(*given.value, given.where));
  HEDDLE_ASSIGN(const std::string type,
                part.oneOf("type", {"BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits",
                                    "Metaspace", "Punctuation", "Split", "Whitespace",
                                    "WhitespaceSplit", "Sequence"}));
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
  if (type == "Split") {
    return packSplit(builder, part);
  }
  if (type != "Metaspace") {
    return packCharacterSplit(builder, part, type);
  }
  HEDDLE_ASSIGN(const std::string replacement, readCharacter(part, "replacement"));
  HEDDLE_ASSIGN(const manifest::PrependScheme prepend, readPrependScheme(part));
  HEDDLE_ASSIGN(const bool split, part.booleanOr("split", true));
  return member(Kind::MetaspacePreTokenizer,
                manifest::CreateMetaspacePreTokenizer(builder, builder.CreateString(replacement),
                                                      prepend, split));
}

Result<Member<Kind>> packPreTokenizer(FlatBufferBuilder &builder, const nlohmann::json &tokenizer,
                                      std::string_view where) {
  HEDDLE_ASSIGN(const std::vector<PartOfSequence> parts,
                flattenParts(tokenizer, "pre_tokenizer", "pretokenizers", where));
  if (parts.size() > preTokenizerSteps) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {} pre-tokenizers, expected at most {}",
                                                     where, parts.size(), preTokenizerSteps));
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
