// SPDX-License-Identifier: Apache-2.0
///
/// Reads "post_processor" of a tokenizer.json. Every kind becomes one list: fixed tokens, with the
/// text among them.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

using manifest::TemplatePiece;
using manifest::TemplatePieceKind;

namespace {

/// Reads one template and keeps the context for its messages.
class TemplateReader {
public:
  TemplateReader(const VocabularyTable &vocabulary, const std::vector<ImportedToken> &addedTokens,
                 std::string_view where)
      : vocabulary(vocabulary), addedTokens(addedTokens), where(where) {}

  Result<std::vector<TemplatePiece>> readPieces(const nlohmann::json &processor);
  Result<std::vector<TemplatePiece>> readBert(const nlohmann::json &processor) const;

private:
  Status addPiece(const nlohmann::json &piece, const nlohmann::json &specials, size_t index);
  Status addSpecial(const Config &piece, const nlohmann::json &specials);
  Result<uint32_t> knownId(const nlohmann::json &id, std::string_view what) const;

  const VocabularyTable &vocabulary;
  const std::vector<ImportedToken> &addedTokens;
  std::string_view where;
  std::vector<TemplatePiece> pieces;
};

} // namespace

/// Checks that an id belongs to a token; `what` names it in messages.
Result<uint32_t> TemplateReader::knownId(const nlohmann::json &id, std::string_view what) const {
  const bool fits = id.is_number_integer() && id >= 0 && id <= largestTokenId;
  const uint32_t value = fits ? id.get<uint32_t>() : 0;
  const bool added = std::any_of(addedTokens.begin(), addedTokens.end(),
                                 [value](const ImportedToken &token) { return token.id == value; });
  if (!fits || (!added && !vocabulary.tokenOf(value))) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the id of {} is {}, expected the id of a token", where,
                                    what, describeJson(id)));
  }
  return value;
}

/// A special token of the template may stand for several ids.
Status TemplateReader::addSpecial(const Config &piece, const nlohmann::json &specials) {
  HEDDLE_ASSIGN(const std::string name, piece.string("id"));
  HEDDLE_ASSIGN(const int64_t typeId, piece.integerOr("type_id", 0, largestTokenId, 0));
  const auto special = specials.find(name);
  if (special == specials.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the template names {}, which is not in \"special_tokens\"",
                                    where, quote(name)));
  }
  const auto ids = special->is_object() ? special->find("ids") : special->end();
  if (!special->is_object() || ids == special->end() || !ids->is_array() || ids->empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} in \"special_tokens\" is {}, expected an object with a "
                                    "list \"ids\"",
                                    where, quote(name), describeJson(*special)));
  }
  for (const nlohmann::json &id : *ids) {
    HEDDLE_ASSIGN(const uint32_t value, knownId(id, quote(name)));
    pieces.emplace_back(TemplatePieceKind::Token, value, static_cast<uint32_t>(typeId));
  }
  return {};
}

Status TemplateReader::addPiece(const nlohmann::json &piece, const nlohmann::json &specials,
                                size_t index) {
  const std::string place = fmt::format("{}: item {} of \"single\"", where, index + 1);
  const bool known = piece.is_object() && piece.size() == 1 &&
                     (piece.contains("SpecialToken") || piece.contains("Sequence"));
  if (!known) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{} is {}, expected a SpecialToken or a Sequence", place, describeJson(piece)));
  }
  HEDDLE_ASSIGN(const Config item, Config::fromJson(piece, place));
  if (item.has("SpecialToken")) {
    HEDDLE_ASSIGN(const Config special, item.object("SpecialToken"));
    return addSpecial(special, specials);
  }
  HEDDLE_ASSIGN(const Config sequence, item.object("Sequence"));
  // B is the second text of a pair.
  HEDDLE_ASSIGN(const std::string id, sequence.oneOf("id", {"A"}));
  HEDDLE_ASSIGN(const int64_t typeId, sequence.integerOr("type_id", 0, largestTokenId, 0));
  pieces.emplace_back(TemplatePieceKind::Text, 0, static_cast<uint32_t>(typeId));
  return {};
}

Result<std::vector<TemplatePiece>> TemplateReader::readPieces(const nlohmann::json &processor) {
  const nlohmann::json none;
  const auto single = processor.find("single");
  if (single == processor.end() || !single->is_array()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"single\" is {}, expected a list", where,
                                    single == processor.end() ? "missing" : describeJson(*single)));
  }
  const auto specials = processor.find("special_tokens");
  if (specials == processor.end() || !specials->is_object()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"special_tokens\" is {}, expected an object", where,
                    specials == processor.end() ? "missing" : describeJson(*specials)));
  }
  for (size_t i = 0; i < single->size(); ++i) {
    HEDDLE_TRY(addPiece((*single)[i], *specials, i));
  }
  const auto texts = std::count_if(pieces.begin(), pieces.end(), [](const TemplatePiece &piece) {
    return piece.kind() == TemplatePieceKind::Text;
  });
  if (texts != 1) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: the template contains the text {} times, expected once", where, texts));
  }
  return std::move(pieces);
}

Result<std::vector<TemplatePiece>> TemplateReader::readBert(const nlohmann::json &processor) const {
  std::vector<TemplatePiece> result;
  for (const char *const key : {"cls", "sep"}) {
    const auto token = processor.find(key);
    if (token == processor.end() || !token->is_array() || token->size() != 2) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"{}\" is {}, expected a list of a token and its id",
                                      where, key,
                                      token == processor.end() ? "missing" : describeJson(*token)));
    }
    HEDDLE_ASSIGN(const uint32_t id, knownId((*token)[1], quote(key)));
    result.emplace_back(TemplatePieceKind::Token, id, 0);
  }
  result.insert(result.begin() + 1, TemplatePiece(TemplatePieceKind::Text, 0, 0));
  return result;
}

static std::vector<TemplatePiece> textAlone() {
  return {TemplatePiece(TemplatePieceKind::Text, 0, 0)};
}

static Result<std::vector<TemplatePiece>>
readProcessor(const nlohmann::json &processor, TemplateReader reader, std::string_view place);

/// A sequence of post-processors, of which at most one adds tokens.
static Result<std::vector<TemplatePiece>>
readSequence(const nlohmann::json &sequence, const TemplateReader &reader, std::string_view place) {
  const auto processors = sequence.find("processors");
  if (processors == sequence.end() || !processors->is_array()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"processors\" is {}, expected a list", place,
                    processors == sequence.end() ? "missing" : describeJson(*processors)));
  }
  std::vector<TemplatePiece> result = textAlone();
  for (const nlohmann::json &processor : *processors) {
    HEDDLE_ASSIGN(std::vector<TemplatePiece> pieces, readProcessor(processor, reader, place));
    if (pieces.size() > 1 && result.size() > 1) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: two of \"processors\" add tokens, expected at most one", place));
    }
    result = pieces.size() > 1 ? std::move(pieces) : std::move(result);
  }
  return result;
}

static Result<std::vector<TemplatePiece>>
readProcessor(const nlohmann::json &processor, TemplateReader reader, std::string_view place) {
  HEDDLE_ASSIGN(const Config config, Config::fromJson(processor, std::string(place)));
  HEDDLE_ASSIGN(const std::string type,
                config.oneOf("type", {"BertProcessing", "RobertaProcessing", "TemplateProcessing",
                                      "ByteLevel", "Sequence"}));
  if (type == "ByteLevel") {
    // ByteLevel only adjusts offsets, which are not kept here.
    return textAlone();
  }
  if (type == "Sequence") {
    return readSequence(processor, reader, place);
  }
  return type == "TemplateProcessing" ? reader.readPieces(processor) : reader.readBert(processor);
}

Result<std::vector<TemplatePiece>> readTemplate(const nlohmann::json &tokenizer,
                                                const VocabularyTable &vocabulary,
                                                const std::vector<ImportedToken> &addedTokens,
                                                std::string_view where) {
  const auto processor = tokenizer.find("post_processor");
  if (processor == tokenizer.end() || processor->is_null()) {
    return textAlone();
  }
  const std::string place = fmt::format("{}: \"post_processor\"", where);
  return readProcessor(*processor, TemplateReader(vocabulary, addedTokens, place), place);
}

} // namespace heddle
