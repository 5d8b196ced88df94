// SPDX-License-Identifier: Apache-2.0
///
/// First, added tokens are cut out of the text as given. The text between them is normalised, cut
/// at the added tokens of normalised text, and split into words, then pieces. Long text is
/// processed in chunks, so that it is read only as far as the limit requires.
#include "runtime/Tokenizer/Tokenizer.h"

#include "base/Utf8.h"
#include "runtime/Tokenizer/PartErrors.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

namespace heddle {

/// Scratch memory of one call of encode().
struct Tokenizer::Scratch {
  std::string normal;
  std::vector<TextPiece> pieces;
  PreTokenizer::Scratch words;
  std::vector<uint64_t> hashes;
  Bpe::Scratch bpe;
  Unigram::Scratch unigram;
};

static constexpr uint32_t largestId = std::numeric_limits<int32_t>::max();

// --- Loading ---------------------------------------------------------------------------------

Status Tokenizer::loadModel(const manifest::Tokenizer &table) {
  using Kind = manifest::TokenizerModel;
  const Kind kind = table.model_type();
  if (kind > Kind::MAX) {
    return unknownKind("a model", kind, Kind::MAX);
  }
  if (kind == Kind::NONE) {
    return missingPart("model");
  }
  if (const auto *const words = table.model_as_WordPiece()) {
    HEDDLE_ASSIGN(model, WordPiece::load(*words));
  } else if (const auto *const pairs = table.model_as_Bpe()) {
    HEDDLE_ASSIGN(model, Bpe::load(*pairs));
  } else if (const auto *const unigram = table.model_as_Unigram()) {
    HEDDLE_ASSIGN(model, Unigram::load(*unigram));
  } else if (const auto *const pieces = table.model_as_SentencePiece()) {
    HEDDLE_ASSIGN(model, SentencePieceText::load(*pieces));
  } else if (const auto *const list = table.model_as_WordList()) {
    HEDDLE_ASSIGN(model, WordList::load(*list));
  }
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
    addedTexts.push_back({id, content, token.special()});
    if (token.decode_only()) {
      continue;
    }
    AddedToken found{.pattern = std::string(content),
                     .id = id,
                     .singleWord = token.single_word(),
                     .leftStrip = token.left_strip(),
                     .rightStrip = token.right_strip()};
    if (token.normalized()) {
      found.pattern.clear();
      normalizer.append(content, found.pattern);
    }
    (token.normalized() ? normalized : given).push_back(std::move(found));
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
    if (piece->kind() >= manifest::TemplatePieceKind::SecondText) {
      return unknownKind("a template piece", piece->kind(), manifest::TemplatePieceKind::Text);
    }
    const auto typeId = static_cast<int32_t>(std::min(piece->type_id(), largestId));
    if (piece->kind() == manifest::TemplatePieceKind::Text) {
      ++texts;
      textTypeId = typeId;
      continue;
    }
    const auto id = static_cast<int32_t>(std::min(piece->id(), largestId));
    if (!token(id)) {
      return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the template has id {}, which no "
                                                "token has",
                                                piece->id()));
    }
    (texts == 0 ? before : after).push_back({id, typeId});
  }
  if (texts != 1) {
    return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the template contains the text {} times, "
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

Status Tokenizer::loadPairTemplate(const manifest::Tokenizer &table) {
  if (table.pair_template() == nullptr) {
    return {};
  }
  std::array<int, 2> texts{};
  for (const manifest::TemplatePiece *const piece : *table.pair_template()) {
    if (piece->kind() > manifest::TemplatePieceKind::MAX) {
      return unknownKind("a template piece", piece->kind(), manifest::TemplatePieceKind::MAX);
    }
    if (piece->kind() != manifest::TemplatePieceKind::Token) {
      ++texts[piece->kind() == manifest::TemplatePieceKind::Text ? 0 : 1];
    } else if (piece->id() > largestId || !token(static_cast<int32_t>(piece->id()))) {
      return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the template of pairs has id {}, which "
                                                "no token has",
                                                piece->id()));
    }
    pairTemplate.push_back(*piece);
  }
  if (texts != std::array{1, 1}) {
    return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the template of pairs contains its texts "
                                              "{} and {} times, expected once",
                                              texts[0], texts[1]));
  }
  return {};
}

Result<Tokenizer> Tokenizer::load(const manifest::Tokenizer *table) {
  Tokenizer result;
  HEDDLE_ASSIGN(result.normalizer, Normalizer::load(*table));
  HEDDLE_ASSIGN(result.preTokenizer, PreTokenizer::load(*table));
  HEDDLE_ASSIGN(result.decoder, TokenDecoder::load(*table));
  HEDDLE_TRY(result.loadModel(*table));
  HEDDLE_TRY(result.loadAddedTokens(*table));
  HEDDLE_TRY(result.loadTemplate(*table));
  HEDDLE_TRY(result.loadPairTemplate(*table));
  return result;
}

// --- Text to ids -----------------------------------------------------------------------------

/// Appends ids of normalised text until there are at least `limit`, or the text ends.
void Tokenizer::appendWords(std::string_view text, bool first, size_t limit, Scratch &scratch,
                            std::vector<int32_t> &ids) const {
  preTokenizer.split(text, first, scratch.words, [&](std::string_view word) {
    if (const auto *const pairs = std::get_if<Bpe>(&model)) {
      pairs->appendWord(word, ids, scratch.bpe);
    } else if (const auto *const words = std::get_if<WordPiece>(&model)) {
      words->appendWord(word, ids, scratch.hashes);
    } else if (const auto *const unigram = std::get_if<Unigram>(&model)) {
      unigram->appendWord(word, ids, scratch.unigram);
    }
    return ids.size() < limit;
  });
}

/// Appends the ids of text without given tokens. `first` means that it is the beginning of the
/// whole text.
Status Tokenizer::appendText(std::string_view text, bool first, size_t limit, Scratch &scratch,
                             std::vector<int32_t> &ids) const {
  if (const auto *const pieces = std::get_if<SentencePieceText>(&model)) {
    return pieces->appendText(text, ids);
  }
  if (const auto *const list = std::get_if<WordList>(&model)) {
    list->appendText(text, limit, ids);
    return {};
  }
  // No word and no letter's marks continue after white space, so a text may be cut there, unless
  // added tokens contain spaces.
  constexpr size_t chunk = 4096;
  const bool whole =
      !normalizer.worksByWords() || !preTokenizer.worksByWords() || !normalizedTokens.empty();
  while (!text.empty() && ids.size() < limit) {
    const size_t cut = whole ? std::string_view::npos : text.find_first_of(" \n", chunk);
    const std::string_view head = text.substr(0, cut == std::string_view::npos ? cut : cut + 1);
    text.remove_prefix(head.size());
    std::string_view normal = head;
    if (!normalizer.empty()) {
      scratch.normal.clear();
      normalizer.append(head, scratch.normal);
      normal = scratch.normal;
    }
    if (normalizedTokens.empty()) {
      appendWords(normal, first, limit, scratch, ids);
      continue;
    }
    std::vector<TextPiece> pieces;
    normalizedTokens.split(normal, pieces);
    for (const TextPiece &piece : pieces) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
      } else {
        appendWords(piece.text, first && piece.text.data() == normal.data(), limit, scratch, ids);
      }
    }
  }
  return {};
}

/// Returns the maximum number of ids in addition to the `own` ids of a template.
Result<size_t> Tokenizer::roomFor(size_t own, size_t most) const {
  constexpr size_t any = std::numeric_limits<size_t>::max();
  const size_t length = std::min(lengthLimit == 0 ? any : lengthLimit, most == 0 ? any : most);
  if (length < own) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("at most {} ids for a text, expected at least "
                                                     "the {} of the template",
                                                     length, own));
  }
  return length - own;
}

/// Appends the ids of a text until there are at least `limit`, or the text ends.
Status Tokenizer::appendContent(std::string_view text, size_t limit, Scratch &scratch,
                                std::vector<int32_t> &ids) const {
  scratch.pieces.clear();
  givenTokens.split(text, scratch.pieces);
  for (const TextPiece &piece : scratch.pieces) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      const bool first = piece.text.data() == text.data();
      HEDDLE_TRY(appendText(piece.text, first, limit, scratch, ids));
    }
    if (ids.size() >= limit) {
      break;
    }
  }
  return {};
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool addTemplate,
                                               size_t most) const {
  if (const std::string problem = describeInvalidUtf8(text); !problem.empty()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("text: {}", problem));
  }
  const std::span<const TemplateToken> head(before.data(), addTemplate ? before.size() : 0);
  const std::span<const TemplateToken> tail(after.data(), addTemplate ? after.size() : 0);
  const size_t own = head.size() + tail.size();
  HEDDLE_ASSIGN(const size_t room, roomFor(own, most));
  // To keep the end of a text, all of it must be read.
  const size_t limit = truncatesLeft ? std::numeric_limits<size_t>::max() : head.size() + room;
  std::vector<int32_t> ids;
  ids.reserve(own + std::min(room, text.size() / 4 + 1));
  for (const TemplateToken &token : head) {
    ids.push_back(token.id);
  }
  Scratch scratch;
  HEDDLE_TRY(appendContent(text, limit, scratch, ids));
  const auto content = ids.begin() + static_cast<ptrdiff_t>(head.size());
  if (const size_t count = ids.size() - head.size(); count > room) {
    const auto surplus = static_cast<ptrdiff_t>(count - room);
    ids.erase(truncatesLeft ? content : ids.end() - surplus,
              truncatesLeft ? content + surplus : ids.end());
  }
  for (const TemplateToken &token : tail) {
    ids.push_back(token.id);
  }
  return ids;
}

/// Returns how many ids of two texts are kept: the longer text loses ids until both are equally
/// long, then both do; the second gets the odd one if it was at least as long.
static std::array<size_t, 2> sharedRoom(size_t first, size_t second, size_t room) {
  if (first <= room && second <= room - first) {
    return {first, second};
  }
  const size_t shorter = std::min(first, second);
  std::array<size_t, 2> kept = {shorter, room - std::min(room, shorter)};
  if (kept[1] < shorter) {
    kept = {room / 2, room / 2 + room % 2};
  }
  return first > second ? std::array{kept[1], kept[0]} : kept;
}

Result<Tokenizer::Pair> Tokenizer::encodePair(std::string_view first, std::string_view second,
                                              size_t most) const {
  if (!hasPairs()) {
    return HEDDLE_ERROR(InvalidArgument,
                        "the tokenizer has no template for pairs of texts, expected one");
  }
  HEDDLE_ASSIGN(const size_t room, roomFor(pairTemplate.size() - 2, most));
  Scratch scratch;
  std::array<std::vector<int32_t>, 2> ids;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = i == 0 ? first : second;
    if (const std::string problem = describeInvalidUtf8(text); !problem.empty()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} text: {}", i == 0 ? "first" : "second", problem));
    }
    // Both texts must be read to the end to find the longer one.
    HEDDLE_TRY(appendContent(text, std::numeric_limits<size_t>::max(), scratch, ids[i]));
  }
  const std::array<size_t, 2> kept = sharedRoom(ids[0].size(), ids[1].size(), room);
  Pair pair;
  for (const manifest::TemplatePiece &piece : pairTemplate) {
    const auto typeId = static_cast<int32_t>(std::min(piece.type_id(), largestId));
    if (piece.kind() == manifest::TemplatePieceKind::Token) {
      pair.ids.push_back(static_cast<int32_t>(piece.id()));
    } else {
      const size_t which = piece.kind() == manifest::TemplatePieceKind::Text ? 0 : 1;
      const std::vector<int32_t> &all = ids[which];
      const auto begin =
          all.begin() + static_cast<ptrdiff_t>(truncatesLeft ? all.size() - kept[which] : 0);
      pair.ids.insert(pair.ids.end(), begin, begin + static_cast<ptrdiff_t>(kept[which]));
    }
    pair.typeIds.resize(pair.ids.size(), typeId);
  }
  return pair;
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
  if (const AddedText *const added = findAdded(id)) {
    return added->text;
  }
  return std::visit(
      [id](const auto &known) {
        if constexpr (std::is_same_v<decltype(known), const SentencePieceText &>) {
          return known.text(id);
        } else {
          return known.vocabulary().text(id);
        }
      },
      model);
}

std::optional<int32_t> Tokenizer::idOf(std::string_view token) const {
  const auto added =
      std::find_if(addedTexts.begin(), addedTexts.end(),
                   [token](const AddedText &candidate) { return candidate.text == token; });
  if (added != addedTexts.end()) {
    return added->id;
  }
  const int32_t id = std::visit(
      [token](const auto &known) {
        if constexpr (std::is_same_v<decltype(known), const SentencePieceText &>) {
          return known.find(token);
        } else {
          return known.vocabulary().find(token);
        }
      },
      model);
  return id < 0 ? std::nullopt : std::optional(id);
}

size_t Tokenizer::vocabularySize() const {
  return std::visit(
      [](const auto &known) {
        if constexpr (std::is_same_v<decltype(known), const SentencePieceText &>) {
          return known.size();
        } else {
          return known.vocabulary().size();
        }
      },
      model);
}

Result<std::string_view> Tokenizer::knownToken(int32_t id) const {
  const std::optional<std::string_view> text = token(id);
  if (!text) {
    return HEDDLE_ERROR(OutOfRange, fmt::format("id {} belongs to no token in a vocabulary of {}",
                                                id, vocabularySize()));
  }
  return *text;
}

/// Passes the pieces between added tokens to the library together.
Result<std::string> Tokenizer::decodePieces(std::span<const int32_t> ids,
                                            const SentencePieceText &pieces) const {
  std::string text;
  for (size_t begin = 0; begin < ids.size();) {
    text += begin > 0 ? " " : "";
    if (const AddedText *const added = findAdded(ids[begin])) {
      text += added->text;
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < ids.size() && findAdded(ids[end]) == nullptr) {
      ++end;
    }
    HEDDLE_ASSIGN(const std::string part, pieces.decode(ids.subspan(begin, end - begin)));
    text += part;
    begin = end;
  }
  return text;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  std::vector<std::string> texts;
  std::vector<int32_t> kept;
  for (const int32_t id : ids) {
    HEDDLE_ASSIGN(const std::string_view text, knownToken(id));
    const AddedText *const added = findAdded(id);
    if (!skipSpecial || added == nullptr || !added->special) {
      kept.push_back(id);
      texts.emplace_back(text);
    }
  }
  if (const auto *const pieces = std::get_if<SentencePieceText>(&model)) {
    return decodePieces(kept, *pieces);
  }
  return decoder.decode(texts);
}

Result<std::vector<std::string>> Tokenizer::tokens(std::span<const int32_t> ids) const {
  std::vector<std::string> texts;
  for (const int32_t id : ids) {
    HEDDLE_ASSIGN(const std::string_view text, knownToken(id));
    texts.emplace_back(text);
  }
  return texts;
}

} // namespace heddle
