// SPDX-License-Identifier: Apache-2.0
///
/// Reads the parts of a tokenizer.json one after another, then packs them; also has the functions
/// that parts share.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/TokenizerParts.h"
#include "formats/Tokenizer/VocabularyTable.h"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>

namespace heddle {

Result<std::optional<Config>> optionalPart(const nlohmann::json &tokenizer, std::string_view key,
                                           std::string_view where) {
  const auto part = tokenizer.find(key);
  if (part == tokenizer.end() || part->is_null()) {
    return std::optional<Config>();
  }
  HEDDLE_ASSIGN(Config config, Config::fromJson(*part, fmt::format("{}: \"{}\"", where, key)));
  return std::optional(std::move(config));
}

static Status flatten(const nlohmann::json &part, const char *list, std::string where,
                      std::vector<PartOfSequence> &parts) {
  // Real tokenizers have a handful of parts, and each becomes a pass over every text.
  constexpr size_t partLimit = 64;
  if (!part.is_object() || part.value("type", nlohmann::json()) != "Sequence") {
    if (parts.size() == partLimit) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: has more than {} parts, which is the limit", where, partLimit));
    }
    parts.push_back({&part, std::move(where)});
    return {};
  }
  const auto items = part.find(list);
  if (items == part.end() || !items->is_array()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" is {}, expected a list", where, list,
                                    items == part.end() ? "missing" : describeJson(*items)));
  }
  for (size_t i = 0; i < items->size(); ++i) {
    HEDDLE_TRY(flatten((*items)[i], list, fmt::format("{}: item {} of \"{}\"", where, i + 1, list),
                       parts));
  }
  return {};
}

Result<std::vector<PartOfSequence>> flattenParts(const nlohmann::json &tokenizer,
                                                 std::string_view key, const char *list,
                                                 std::string_view where) {
  std::vector<PartOfSequence> parts;
  const auto part = tokenizer.find(key);
  if (part != tokenizer.end() && !part->is_null()) {
    HEDDLE_TRY(flatten(*part, list, fmt::format("{}: \"{}\"", where, key), parts));
  }
  return parts;
}

Result<std::string> nonEmptyString(const Config &part, std::string_view key) {
  HEDDLE_ASSIGN(std::string text, part.string(key));
  if (text.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" is empty, expected a text", part.where(), key));
  }
  return text;
}

/// Parses an expression without operators, or a single character with a count.
static std::optional<TextPattern> parseRegex(std::string_view regex) {
  constexpr std::string_view operators = "\\^$.|?*+()[]{}";
  const size_t plain = std::min(regex.find_first_of(operators), regex.size());
  TextPattern pattern{std::string(regex.substr(0, plain)), 0};
  std::string_view count = regex.substr(plain);
  if (count.empty()) {
    return pattern;
  }
  // A count applies to one character only.
  const bool single = plain == 1 || (plain > 1 && continuesCharacter(regex[1]) &&
                                     validUtf8Prefix(regex.substr(0, plain - 1)) == 0);
  if (!single) {
    return std::nullopt;
  }
  if (count == "+") {
    pattern.least = 1;
    return pattern;
  }
  if (!count.starts_with('{') || !count.ends_with(",}")) {
    return std::nullopt;
  }
  const char *const last = count.data() + count.size() - 2;
  const auto [end, error] = std::from_chars(count.data() + 1, last, pattern.least);
  return error == std::errc() && end == last && pattern.least > 0 ? std::optional(pattern)
                                                                  : std::nullopt;
}

Result<TextPattern> readPattern(const Config &part) {
  HEDDLE_ASSIGN(const Config pattern, part.object("pattern"));
  if (pattern.has("Regex")) {
    HEDDLE_ASSIGN(const std::string regex, nonEmptyString(pattern, "Regex"));
    if (std::optional<TextPattern> known = parseRegex(regex)) {
      return *std::move(known);
    }
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: the regular expression {} is not supported, expected "
                                    "plain characters, or a single one followed by + or {{n,}}",
                                    pattern.where(), quote(regex)));
  }
  HEDDLE_ASSIGN(std::string text, nonEmptyString(pattern, "String"));
  return TextPattern{std::move(text), 0};
}

std::optional<std::string> decodeBase64(std::string_view text) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  for (int i = 0; i < 2 && text.ends_with('='); ++i) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char character : text) {
    const size_t digit = alphabet.find(character);
    if (digit == alphabet.npos) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return bytes;
}

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
  HEDDLE_ASSIGN(const ImportedTemplate pieces,
                readTemplate(tokenizer, model.vocabulary, added, where));
  HEDDLE_ASSIGN(const Truncation truncation, readTruncation(tokenizer, where));
  HEDDLE_ASSIGN(const uint32_t length, chooseLength(truncation, {maxLength, modelLength},
                                                    pieces.single.size() - 1, where));
  HEDDLE_ASSIGN(const auto normalizer, packNormalizer(builder, tokenizer, where));
  HEDDLE_ASSIGN(const auto preTokenizer, packPreTokenizer(builder, tokenizer, where));
  HEDDLE_ASSIGN(const auto decoder, packDecoder(builder, tokenizer, where));
  const auto packedAdded = packAddedTokens(builder, added);
  const auto packedTemplate = builder.CreateVectorOfStructs(pieces.single);
  const auto packedPair =
      pieces.pair.empty()
          ? flatbuffers::Offset<flatbuffers::Vector<const manifest::TemplatePiece *>>()
          : builder.CreateVectorOfStructs(pieces.pair);
  return manifest::CreateTokenizer(builder, packedAdded, normalizer.kind, normalizer.offset,
                                   preTokenizer.kind, preTokenizer.offset, packedModel.kind,
                                   packedModel.offset, packedTemplate, decoder.kind, decoder.offset,
                                   length, truncation.left, packedPair);
}

} // namespace heddle
