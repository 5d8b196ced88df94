// SPDX-License-Identifier: Apache-2.0
///
/// Reads the parts of a tokenizer.json one after the other, then writes them.
#include "frontend/Tokenizer/TokenizerImport.h"

#include "frontend/Config/Config.h"
#include "frontend/Config/Json.h"
#include "frontend/Tokenizer/AddedTokenImport.h"
#include "frontend/Tokenizer/TemplateImport.h"
#include "frontend/Tokenizer/VocabularyTable.h"
#include "runtime/Base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace {

/// A member of a FlatBuffers union, with its kind.
template <typename Kind> struct Member {
  Kind kind = Kind::NONE;
  Offset<void> offset;
};

/// Where a text is cut.
struct Truncation {
  std::optional<int64_t> maxLength;
  bool left = false;
};

/// The scalars of the model.
struct WordPieceOptions {
  uint32_t unknownId = 0;
  std::string continuingPrefix;
  uint32_t maxWordCharacters = 0;
};

} // namespace

/// A part of the file that may be absent or null.
static Result<std::optional<Config>> optionalPart(const nlohmann::json &tokenizer,
                                                  std::string_view key, std::string_view where) {
  const auto part = tokenizer.find(key);
  if (part == tokenizer.end() || part->is_null()) {
    return std::optional<Config>();
  }
  HEDDLE_ASSIGN(Config config, Config::fromJson(*part, fmt::format("{}: \"{}\"", where, key)));
  return std::optional(std::move(config));
}

static Result<Member<manifest::Normalizer>> packNormalizer(FlatBufferBuilder &builder,
                                                           const nlohmann::json &tokenizer,
                                                           std::string_view where) {
  Member<manifest::Normalizer> member;
  HEDDLE_ASSIGN(const std::optional<Config> part, optionalPart(tokenizer, "normalizer", where));
  if (!part) {
    return member;
  }
  HEDDLE_TRY(part->oneOf("type", {"BertNormalizer"}).status());
  HEDDLE_ASSIGN(const bool cleanText, part->boolean("clean_text"));
  HEDDLE_ASSIGN(const bool handleChineseChars, part->boolean("handle_chinese_chars"));
  HEDDLE_ASSIGN(const bool lowercase, part->boolean("lowercase"));
  // Null: accents go when the case goes.
  HEDDLE_ASSIGN(const bool stripAccents, part->booleanOr("strip_accents", lowercase));
  member.kind = manifest::Normalizer::BertNormalizer;
  member.offset = manifest::CreateBertNormalizer(builder, cleanText, handleChineseChars,
                                                 stripAccents, lowercase)
                      .Union();
  return member;
}

static Result<Member<manifest::PreTokenizer>> packPreTokenizer(FlatBufferBuilder &builder,
                                                               const nlohmann::json &tokenizer,
                                                               std::string_view where) {
  Member<manifest::PreTokenizer> member;
  HEDDLE_ASSIGN(const std::optional<Config> part, optionalPart(tokenizer, "pre_tokenizer", where));
  if (!part) {
    return member;
  }
  HEDDLE_TRY(part->oneOf("type", {"BertPreTokenizer"}).status());
  member.kind = manifest::PreTokenizer::BertPreTokenizer;
  member.offset = manifest::CreateBertPreTokenizer(builder).Union();
  return member;
}

static Result<Member<manifest::Decoder>>
packDecoder(FlatBufferBuilder &builder, const nlohmann::json &tokenizer, std::string_view where) {
  Member<manifest::Decoder> member;
  HEDDLE_ASSIGN(const std::optional<Config> part, optionalPart(tokenizer, "decoder", where));
  if (!part) {
    return member;
  }
  HEDDLE_TRY(part->oneOf("type", {"WordPiece"}).status());
  HEDDLE_ASSIGN(const std::string prefix, part->string("prefix"));
  HEDDLE_ASSIGN(const bool cleanup, part->boolean("cleanup"));
  member.kind = manifest::Decoder::WordPieceDecoder;
  member.offset =
      manifest::CreateWordPieceDecoder(builder, builder.CreateString(prefix), cleanup).Union();
  return member;
}

static Result<WordPieceOptions> readOptions(const Config &model,
                                            const VocabularyTable &vocabulary) {
  // The most characters of a word that is looked into: a word costs their number squared.
  constexpr int64_t wordLimit = 10'000;
  WordPieceOptions options;
  HEDDLE_ASSIGN(const std::string unknown, model.string("unk_token"));
  const std::optional<uint32_t> unknownId = vocabulary.idOf(unknown);
  if (!unknownId) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"unk_token\" is {}, expected a token of the vocabulary",
                                    model.where(), quote(unknown)));
  }
  options.unknownId = *unknownId;
  HEDDLE_ASSIGN(options.continuingPrefix, model.string("continuing_subword_prefix"));
  HEDDLE_ASSIGN(const int64_t maxCharacters,
                model.integer("max_input_chars_per_word", 1, wordLimit));
  options.maxWordCharacters = static_cast<uint32_t>(maxCharacters);
  return options;
}

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

/// The limit that holds, 0 for none; `own` ids of it are the template's.
static Result<uint32_t> chooseLength(const Truncation &truncation, std::optional<int64_t> maxLength,
                                     std::optional<int64_t> modelLength, size_t own,
                                     std::string_view where) {
  std::optional<int64_t> length = maxLength;
  if (!length) {
    length = truncation.maxLength;
    if (modelLength) {
      length = std::min(length.value_or(*modelLength), *modelLength);
    }
  }
  const auto least = static_cast<int64_t>(std::max<size_t>(own, 1));
  if (length && (*length < least || *length > largestTokenId)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the most ids of a text is {}, expected {} to {} with the "
                                    "{} of the template",
                                    where, *length, least, largestTokenId, own));
  }
  return static_cast<uint32_t>(length.value_or(0));
}

/// The model without its vocabulary, which is too large to be copied.
static Result<Config> readModel(const nlohmann::json &tokenizer, std::string_view where) {
  const auto part = tokenizer.find("model");
  if (part == tokenizer.end() || !part->is_object()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"model\" is {}, expected an object", where,
                                    part == tokenizer.end() ? "missing" : describeJson(*part)));
  }
  nlohmann::json rest = nlohmann::json::object();
  for (const auto &[key, value] : part->items()) {
    if (key != "vocab") {
      rest[key] = value;
    }
  }
  HEDDLE_ASSIGN(Config model,
                Config::fromJson(std::move(rest), fmt::format("{}: \"model\"", where)));
  HEDDLE_TRY(model.oneOf("type", {"WordPiece"}).status());
  return model;
}

static Offset<flatbuffers::Vector<Offset<manifest::AddedToken>>>
packAddedTokens(FlatBufferBuilder &builder, const std::vector<ImportedToken> &tokens) {
  std::vector<Offset<manifest::AddedToken>> packed;
  for (const ImportedToken &token : tokens) {
    packed.push_back(manifest::CreateAddedToken(builder, builder.CreateString(token.content),
                                                token.id, token.singleWord, token.leftStrip,
                                                token.rightStrip, token.normalized, token.special));
  }
  return builder.CreateVector(packed);
}

Result<Offset<manifest::Tokenizer>>
packTokenizer(FlatBufferBuilder &builder, const nlohmann::json &tokenizer, std::string_view where,
              std::optional<int64_t> maxLength, std::optional<int64_t> modelLength) {
  if (!tokenizer.is_object()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: is {}, expected an object", where,
                                                     describeJson(tokenizer)));
  }
  HEDDLE_ASSIGN(const Config model, readModel(tokenizer, where));
  HEDDLE_ASSIGN(const VocabularyTable vocabulary,
                VocabularyTable::create(tokenizer["model"], model.where()));
  HEDDLE_ASSIGN(const WordPieceOptions options, readOptions(model, vocabulary));
  HEDDLE_ASSIGN(const std::vector<ImportedToken> added,
                readAddedTokens(tokenizer, vocabulary, where));
  HEDDLE_ASSIGN(const std::vector<manifest::TemplatePiece> pieces,
                readTemplate(tokenizer, vocabulary, added, where));
  HEDDLE_ASSIGN(const Truncation truncation, readTruncation(tokenizer, where));
  HEDDLE_ASSIGN(const uint32_t length,
                chooseLength(truncation, maxLength, modelLength, pieces.size() - 1, where));
  HEDDLE_ASSIGN(const auto normalizer, packNormalizer(builder, tokenizer, where));
  HEDDLE_ASSIGN(const auto preTokenizer, packPreTokenizer(builder, tokenizer, where));
  HEDDLE_ASSIGN(const auto decoder, packDecoder(builder, tokenizer, where));
  const auto packedVocabulary = vocabulary.pack(builder);
  const auto packedPrefix = builder.CreateString(options.continuingPrefix);
  const auto wordPiece = manifest::CreateWordPiece(builder, packedVocabulary, options.unknownId,
                                                   packedPrefix, options.maxWordCharacters);
  const auto packedAdded = packAddedTokens(builder, added);
  const auto packedTemplate = builder.CreateVectorOfStructs(pieces);
  return manifest::CreateTokenizer(
      builder, packedAdded, normalizer.kind, normalizer.offset, preTokenizer.kind,
      preTokenizer.offset, manifest::TokenizerModel::WordPiece, wordPiece.Union(), packedTemplate,
      decoder.kind, decoder.offset, length, truncation.left);
}

} // namespace heddle
