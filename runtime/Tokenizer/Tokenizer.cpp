// SPDX-License-Identifier: Apache-2.0
///
/// Added tokens are cut out of the text as given; what lies between them is normalised, cut at the
/// added tokens that are sought there, split into words, and the words into pieces. Long text goes
/// through in chunks, so that a text is read only as far as the limit needs it.
#include "runtime/Tokenizer/Tokenizer.h"

#include "runtime/Base/Utf8.h"
#include "runtime/Tokenizer/Characters.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>

namespace heddle {

/// Memory that one call of encode() works in.
struct Tokenizer::Scratch {
  std::string normal;
  std::vector<TextPiece> pieces;
  std::vector<uint64_t> hashes;
};

static constexpr uint32_t largestId = std::numeric_limits<int32_t>::max();

// --- Loading ---------------------------------------------------------------------------------

template <typename Kind> static Status unknownKind(std::string_view what, Kind kind, Kind known) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("tokenizer: {} of kind {}, expected at most {}", what,
                                  static_cast<int>(kind), static_cast<int>(known)));
}

static Status missingPart(std::string_view what) {
  return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the {} is missing", what));
}

Status Tokenizer::loadParts(const manifest::Tokenizer &table) {
  if (table.normalizer_type() > manifest::Normalizer::MAX) {
    return unknownKind("a normalizer", table.normalizer_type(), manifest::Normalizer::MAX);
  }
  if (table.normalizer_type() == manifest::Normalizer::BertNormalizer) {
    const manifest::BertNormalizer *const bert = table.normalizer_as_BertNormalizer();
    if (bert == nullptr) {
      return missingPart("normalizer");
    }
    normalizer.emplace(BertNormalizer::Options{.cleanText = bert->clean_text(),
                                               .handleChineseChars = bert->handle_chinese_chars(),
                                               .stripAccents = bert->strip_accents(),
                                               .lowercase = bert->lowercase()});
  }
  if (table.pre_tokenizer_type() > manifest::PreTokenizer::MAX) {
    return unknownKind("a pre-tokenizer", table.pre_tokenizer_type(), manifest::PreTokenizer::MAX);
  }
  splitsWords = table.pre_tokenizer_type() == manifest::PreTokenizer::BertPreTokenizer;
  if (table.decoder_type() > manifest::Decoder::MAX) {
    return unknownKind("a decoder", table.decoder_type(), manifest::Decoder::MAX);
  }
  decoder = table.decoder_as_WordPieceDecoder();
  if (decoder == nullptr && table.decoder_type() != manifest::Decoder::NONE) {
    return missingPart("decoder");
  }
  if (table.model_type() > manifest::TokenizerModel::MAX) {
    return unknownKind("a model", table.model_type(), manifest::TokenizerModel::MAX);
  }
  if (table.model_type() == manifest::TokenizerModel::NONE) {
    return missingPart("model");
  }
  HEDDLE_ASSIGN(model, WordPiece::load(*table.model_as_WordPiece()));
  return {};
}

Status Tokenizer::loadAddedTokens(const manifest::Tokenizer &table) {
  std::vector<AddedToken> given;
  std::vector<AddedToken> normalized;
  const uint32_t count = table.added_tokens() == nullptr ? 0 : table.added_tokens()->size();
  for (uint32_t i = 0; i < count; ++i) {
    const manifest::AddedToken &token = *table.added_tokens()->Get(i);
    const std::string_view content = token.content()->string_view();
    if (token.id() > largestId) {
      return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: added token {} has id {}, expected at "
                                                "most {}",
                                                quote(content), token.id(), largestId));
    }
    if (validUtf8Prefix(content) != content.size()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("tokenizer: added token {} is not UTF-8", quote(content)));
    }
    const auto id = static_cast<int32_t>(token.id());
    AddedToken found{.pattern = std::string(content),
                     .id = id,
                     .singleWord = token.single_word(),
                     .leftStrip = token.left_strip(),
                     .rightStrip = token.right_strip()};
    if (token.normalized() && normalizer) {
      found.pattern.clear();
      normalizer->append(content, found.pattern);
    }
    (token.normalized() ? normalized : given).push_back(std::move(found));
    addedTexts.push_back({id, content, token.special()});
  }
  givenTokens = AddedTokenFinder(std::move(given));
  normalizedTokens = AddedTokenFinder(std::move(normalized));
  std::sort(addedTexts.begin(), addedTexts.end(),
            [](const AddedText &left, const AddedText &right) { return left.id < right.id; });
  return {};
}

Status Tokenizer::loadTemplate(const manifest::Tokenizer &table) {
  size_t texts = 0;
  for (const manifest::TemplatePiece *const piece : *table.template_()) {
    if (piece->kind() > manifest::TemplatePieceKind::MAX) {
      return unknownKind("a template piece", piece->kind(), manifest::TemplatePieceKind::MAX);
    }
    const auto typeId = static_cast<int32_t>(std::min(piece->type_id(), largestId));
    if (piece->kind() == manifest::TemplatePieceKind::Text) {
      ++texts;
      textTypeId = typeId;
      continue;
    }
    const auto id = static_cast<int32_t>(std::min(piece->id(), largestId));
    if (!token(id)) {
      return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the template has id {}, which is no "
                                                "token's",
                                                piece->id()));
    }
    (texts == 0 ? before : after).push_back({id, typeId});
  }
  if (texts != 1) {
    return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the template has the text {} times, "
                                              "expected once",
                                              texts));
  }
  lengthLimit = table.max_length();
  truncatesLeft = table.truncate_left();
  if (const size_t own = before.size() + after.size(); lengthLimit != 0 && lengthLimit < own) {
    return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: at most {} ids for a text, expected at "
                                              "least the {} of the template",
                                              lengthLimit, own));
  }
  return {};
}

Result<Tokenizer> Tokenizer::load(const manifest::Tokenizer *table) {
  Tokenizer result;
  HEDDLE_TRY(result.loadParts(*table));
  HEDDLE_TRY(result.loadAddedTokens(*table));
  HEDDLE_TRY(result.loadTemplate(*table));
  return result;
}

// --- Text to ids -----------------------------------------------------------------------------

namespace {
/// What an ASCII byte is to the splitting of words; Other: the first byte of another character.
enum class ByteKind : uint8_t { Word, Space, Punctuation, Other };
} // namespace

static std::array<ByteKind, 256> makeByteKinds() {
  std::array<ByteKind, 256> kinds{};
  for (int32_t byte = 0; byte < 256; ++byte) {
    kinds[static_cast<size_t>(byte)] = byte >= 0x80          ? ByteKind::Other
                                       : isWhiteSpace(byte)  ? ByteKind::Space
                                       : isPunctuation(byte) ? ByteKind::Punctuation
                                                             : ByteKind::Word;
  }
  return kinds;
}

static ByteKind kindOf(int32_t codePoint) {
  return isWhiteSpace(codePoint)    ? ByteKind::Space
         : isPunctuation(codePoint) ? ByteKind::Punctuation
                                    : ByteKind::Word;
}

/// Appends the ids of normalised text, at least until there are `limit`.
void Tokenizer::appendWords(std::string_view text, size_t limit, Scratch &scratch,
                            std::vector<int32_t> &ids) const {
  if (!splitsWords) {
    if (!text.empty()) {
      model.appendWord(text, ids, scratch.hashes);
    }
    return;
  }
  static const std::array<ByteKind, 256> byteKinds = makeByteKinds();
  size_t wordBegin = 0;
  size_t at = 0;
  while (at < text.size()) {
    ByteKind kind = byteKinds[static_cast<unsigned char>(text[at])];
    size_t bytes = 1;
    if (kind == ByteKind::Other) {
      const Character character = firstCharacter(text.substr(at));
      kind = kindOf(character.codePoint);
      bytes = character.bytes;
    }
    if (kind == ByteKind::Word) {
      at += bytes;
      continue;
    }
    if (wordBegin < at) {
      model.appendWord(text.substr(wordBegin, at - wordBegin), ids, scratch.hashes);
    }
    if (kind == ByteKind::Punctuation) {
      model.appendWord(text.substr(at, bytes), ids, scratch.hashes);
    }
    at += bytes;
    wordBegin = at;
    if (ids.size() >= limit) {
      return;
    }
  }
  if (wordBegin < at) {
    model.appendWord(text.substr(wordBegin), ids, scratch.hashes);
  }
}

/// Appends the ids of text without tokens that are sought in it as given.
void Tokenizer::appendText(std::string_view text, size_t limit, Scratch &scratch,
                           std::vector<int32_t> &ids) const {
  // After white space neither a word nor a letter's marks go on, so there a text may be cut; but an
  // added token may have spaces in it.
  constexpr size_t chunk = 4096;
  const bool whole = !splitsWords || !normalizedTokens.empty();
  while (!text.empty() && ids.size() < limit) {
    const size_t cut = whole ? std::string_view::npos : text.find_first_of(" \n", chunk);
    const std::string_view head = text.substr(0, cut == std::string_view::npos ? cut : cut + 1);
    text.remove_prefix(head.size());
    std::string_view normal = head;
    if (normalizer) {
      scratch.normal.clear();
      normalizer->append(head, scratch.normal);
      normal = scratch.normal;
    }
    if (normalizedTokens.empty()) {
      appendWords(normal, limit, scratch, ids);
      continue;
    }
    std::vector<TextPiece> pieces;
    normalizedTokens.split(normal, pieces);
    for (const TextPiece &piece : pieces) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
      } else {
        appendWords(piece.text, limit, scratch, ids);
      }
    }
  }
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text) const {
  if (const size_t valid = validUtf8Prefix(text); valid != text.size()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("text is not UTF-8 at byte {}", valid));
  }
  const size_t own = before.size() + after.size();
  const size_t room =
      lengthLimit == 0 ? std::numeric_limits<size_t>::max() - own : lengthLimit - own;
  // Where the end of the text is kept all of it is read.
  const size_t limit = truncatesLeft ? std::numeric_limits<size_t>::max() : before.size() + room;
  std::vector<int32_t> ids;
  ids.reserve(own + std::min(room, text.size() / 4 + 1));
  for (const TemplateToken &token : before) {
    ids.push_back(token.id);
  }
  Scratch scratch;
  givenTokens.split(text, scratch.pieces);
  for (const TextPiece &piece : scratch.pieces) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      appendText(piece.text, limit, scratch, ids);
    }
    if (ids.size() >= limit) {
      break;
    }
  }
  const auto content = ids.begin() + static_cast<ptrdiff_t>(before.size());
  if (const size_t count = ids.size() - before.size(); count > room) {
    const auto surplus = static_cast<ptrdiff_t>(count - room);
    ids.erase(truncatesLeft ? content : ids.end() - surplus,
              truncatesLeft ? content + surplus : ids.end());
  }
  for (const TemplateToken &token : after) {
    ids.push_back(token.id);
  }
  return ids;
}

std::vector<int32_t> Tokenizer::typeIds(size_t count) const {
  const size_t own = before.size() + after.size();
  std::vector<int32_t> result;
  result.reserve(count);
  for (const TemplateToken &token : before) {
    result.push_back(token.typeId);
  }
  result.insert(result.end(), count - std::min(count, own), textTypeId);
  for (const TemplateToken &token : after) {
    result.push_back(token.typeId);
  }
  return result;
}

// --- Ids to text -----------------------------------------------------------------------------

const Tokenizer::AddedText *Tokenizer::findAdded(int32_t id) const {
  const auto place =
      std::lower_bound(addedTexts.begin(), addedTexts.end(), id,
                       [](const AddedText &added, int32_t wanted) { return added.id < wanted; });
  return place != addedTexts.end() && place->id == id ? &*place : nullptr;
}

std::optional<std::string_view> Tokenizer::token(int32_t id) const {
  const AddedText *const added = findAdded(id);
  return added != nullptr ? added->text : model.vocabulary().text(id);
}

/// Undoes, within one token, the spaces that splitting at punctuation has brought. One after the
/// other: an earlier replacement can make a later one possible.
static void cleanUp(std::string &token) {
  static constexpr auto replacements =
      std::to_array<std::pair<std::string_view, std::string_view>>({
          {" .", "."},
          {" ?", "?"},
          {" !", "!"},
          {" ,", ","},
          {" ' ", "'"},
          {" n't", "n't"},
          {" 'm", "'m"},
          {" do not", " don't"},
          {" 's", "'s"},
          {" 've", "'ve"},
          {" 're", "'re"},
      });
  for (const auto &[from, to] : replacements) {
    for (size_t at = token.find(from); at != std::string::npos; at = token.find(from, at)) {
      token.replace(at, from.size(), to);
      at += to.size();
    }
  }
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  std::string result;
  std::string word;
  bool first = true;
  for (const int32_t id : ids) {
    const std::optional<std::string_view> text = token(id);
    if (!text) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("id {} is no token's, in a vocabulary of {}", id,
                                                  model.vocabulary().size()));
    }
    const AddedText *const added = findAdded(id);
    if (skipSpecial && added != nullptr && added->special) {
      continue;
    }
    const std::string_view prefix =
        decoder == nullptr ? std::string_view() : decoder->prefix()->string_view();
    const bool continues = decoder != nullptr && text->starts_with(prefix);
    word = first || continues ? "" : " ";
    word += continues && !first ? text->substr(prefix.size()) : *text;
    if (decoder != nullptr && decoder->cleanup()) {
      cleanUp(word);
    }
    result += word;
    first = false;
  }
  return result;
}

} // namespace heddle
