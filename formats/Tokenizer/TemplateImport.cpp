// SPDX-License-Identifier: Apache-2.0
///
/// Reads "post_processor" of a tokenizer.json. Every kind becomes two lists: fixed tokens with the
/// text among them, and with the two texts of a pair.
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

  Result<ImportedTemplate> readTemplates(const nlohmann::json &processor);
  Result<ImportedTemplate> readBert(const nlohmann::json &processor, bool isRoberta) const;

private:
  Result<std::vector<TemplatePiece>> readPieces(const nlohmann::json &processor, const char *key);
  Status addPiece(const nlohmann::json &piece, const nlohmann::json &specials,
                  std::string_view place, bool isPair);
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

/// Adds a special token of the template, which may stand for several ids.
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
                                std::string_view place, bool isPair) {
  const bool known = piece.is_object() && piece.size() == 1 &&
                     (piece.contains("SpecialToken") || piece.contains("Sequence"));
  if (!known) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{} is {}, expected a SpecialToken or a Sequence", place, describeJson(piece)));
  }
  HEDDLE_ASSIGN(const Config item, Config::fromJson(piece, std::string(place)));
  if (item.has("SpecialToken")) {
    HEDDLE_ASSIGN(const Config special, item.object("SpecialToken"));
    return addSpecial(special, specials);
  }
  HEDDLE_ASSIGN(const Config sequence, item.object("Sequence"));
  // B is the second text of a pair.
  HEDDLE_ASSIGN(const std::string id,
                isPair ? sequence.oneOf("id", {"A", "B"}) : sequence.oneOf("id", {"A"}));
  HEDDLE_ASSIGN(const int64_t typeId, sequence.integerOr("type_id", 0, largestTokenId, 0));
  pieces.emplace_back(id == "A" ? TemplatePieceKind::Text : TemplatePieceKind::SecondText, 0,
                      static_cast<uint32_t>(typeId));
  return {};
}

/// Reads the list of a key: "single", or "pair" with two texts.
Result<std::vector<TemplatePiece>> TemplateReader::readPieces(const nlohmann::json &processor,
                                                              const char *key) {
  const auto list = processor.find(key);
  if (list == processor.end() || !list->is_array()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" is {}, expected a list", where, key,
                                    list == processor.end() ? "missing" : describeJson(*list)));
  }
  const auto specials = processor.find("special_tokens");
  if (specials == processor.end() || !specials->is_object()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"special_tokens\" is {}, expected an object", where,
                    specials == processor.end() ? "missing" : describeJson(*specials)));
  }
  pieces.clear();
  const bool isPair = std::string_view(key) == "pair";
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string place = fmt::format("{}: item {} of \"{}\"", where, i + 1, key);
    HEDDLE_TRY(addPiece((*list)[i], *specials, place, isPair));
  }
  for (const auto kind : {TemplatePieceKind::Text, TemplatePieceKind::SecondText}) {
    if (kind == TemplatePieceKind::SecondText && !isPair) {
      continue;
    }
    const auto texts =
        std::count_if(pieces.begin(), pieces.end(),
                      [kind](const TemplatePiece &piece) { return piece.kind() == kind; });
    if (texts != 1) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: the template{} contains {} {} times, expected once", where,
                      isPair ? " of pairs" : "",
                      isPair ? (kind == TemplatePieceKind::Text ? "A" : "B") : "the text", texts));
    }
  }
  return std::move(pieces);
}

Result<ImportedTemplate> TemplateReader::readTemplates(const nlohmann::json &processor) {
  ImportedTemplate result;
  HEDDLE_ASSIGN(result.single, readPieces(processor, "single"));
  const auto pair = processor.find("pair");
  if (pair != processor.end() && !pair->empty()) {
    HEDDLE_ASSIGN(result.pair, readPieces(processor, "pair"));
  }
  return result;
}

/// Reads BERT's template, [CLS] A [SEP] B [SEP], where the second text and its [SEP] have type 1.
/// RoBERTa has one type, and two separators between the texts.
Result<ImportedTemplate> TemplateReader::readBert(const nlohmann::json &processor,
                                                  bool isRoberta) const {
  std::vector<uint32_t> ids;
  for (const char *const key : {"cls", "sep"}) {
    const auto token = processor.find(key);
    if (token == processor.end() || !token->is_array() || token->size() != 2) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"{}\" is {}, expected a list of a token and its id",
                                      where, key,
                                      token == processor.end() ? "missing" : describeJson(*token)));
    }
    HEDDLE_ASSIGN(const uint32_t id, knownId((*token)[1], quote(key)));
    ids.push_back(id);
  }
  using Kind = TemplatePieceKind;
  const uint32_t second = isRoberta ? 0 : 1;
  ImportedTemplate result;
  result.single = {{Kind::Token, ids[0], 0}, {Kind::Text, 0, 0}, {Kind::Token, ids[1], 0}};
  result.pair = result.single;
  if (isRoberta) {
    result.pair.emplace_back(Kind::Token, ids[1], 0);
  }
  result.pair.emplace_back(Kind::SecondText, 0, second);
  result.pair.emplace_back(Kind::Token, ids[1], second);
  return result;
}

static ImportedTemplate textAlone() { return {{TemplatePiece(TemplatePieceKind::Text, 0, 0)}, {}}; }

static Result<ImportedTemplate> readProcessor(const nlohmann::json &processor,
                                              TemplateReader reader, std::string_view place);

/// Reads a sequence of post-processors, of which at most one adds tokens.
static Result<ImportedTemplate> readSequence(const nlohmann::json &sequence,
                                             const TemplateReader &reader, std::string_view place) {
  const auto processors = sequence.find("processors");
  if (processors == sequence.end() || !processors->is_array()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"processors\" is {}, expected a list", place,
                    processors == sequence.end() ? "missing" : describeJson(*processors)));
  }
  ImportedTemplate result = textAlone();
  for (const nlohmann::json &processor : *processors) {
    HEDDLE_ASSIGN(ImportedTemplate pieces, readProcessor(processor, reader, place));
    if (pieces.single.size() > 1 && result.single.size() > 1) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: two of \"processors\" add tokens, expected at most one", place));
    }
    if (pieces.single.size() > 1 || (result.single.size() == 1 && !pieces.pair.empty())) {
      result = std::move(pieces);
    }
  }
  return result;
}

static Result<ImportedTemplate> readProcessor(const nlohmann::json &processor,
                                              TemplateReader reader, std::string_view place) {
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
  return type == "TemplateProcessing" ? reader.readTemplates(processor)
                                      : reader.readBert(processor, type == "RobertaProcessing");
}

Result<ImportedTemplate> readTemplate(const nlohmann::json &tokenizer,
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
