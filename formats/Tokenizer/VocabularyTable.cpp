// SPDX-License-Identifier: Apache-2.0
///
/// Checks a vocabulary and lays out its hash table.
#include "formats/Tokenizer/VocabularyTable.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/VocabularyHash.h"
#include "formats/Tokenizer/WriteOnce.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace heddle {

static Result<uint32_t> tokenId(const std::string &token, const nlohmann::json &id,
                                std::string_view where) {
  const bool fits = id.is_number_unsigned() ? id.get<uint64_t>() <= uint64_t(largestTokenId)
                                            : id.is_number_integer() && id.get<int64_t>() >= 0 &&
                                                  id.get<int64_t>() <= largestTokenId;
  if (!fits) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the id of {} is {}, expected an integer from 0 to {}",
                                    where, quote(token), describeJson(id), largestTokenId));
  }
  return id.get<uint32_t>();
}

static Status checkSize(size_t size, std::string_view what, std::string_view where) {
  if (size == 0 || size > vocabularyLimit) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {} has {} tokens, expected 1 to {}",
                                                     where, what, size, vocabularyLimit));
  }
  return {};
}

Result<VocabularyTable> VocabularyTable::create(const nlohmann::json &model,
                                                std::string_view where) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"vocab\" is missing, expected an object of ids by token", where));
  }
  return fromObject(*vocab, "\"vocab\"", where);
}

Result<VocabularyTable> VocabularyTable::fromObject(const nlohmann::json &vocab,
                                                    std::string_view what, std::string_view where) {
  if (!vocab.is_object()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} is {}, expected an object of ids by token", where, what,
                                    describeJson(vocab)));
  }
  HEDDLE_TRY(checkSize(vocab.size(), what, where));
  VocabularyTable result;
  result.tokens.reserve(vocab.size());
  for (const auto &[token, value] : vocab.get_ref<const nlohmann::json::object_t &>()) {
    HEDDLE_ASSIGN(const uint32_t id, tokenId(token, value, where));
    result.tokens.push_back({id, token});
    result.byText.emplace(token, id);
  }
  std::sort(result.tokens.begin(), result.tokens.end(), [](const Token &left, const Token &right) {
    return left.id != right.id ? left.id < right.id : left.text < right.text;
  });
  const auto twice =
      std::adjacent_find(result.tokens.begin(), result.tokens.end(),
                         [](const Token &left, const Token &right) { return left.id == right.id; });
  if (twice != result.tokens.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} and {} have the same id {}", where, quote(twice->text),
                                    quote((twice + 1)->text), twice->id));
  }
  return result;
}

Result<VocabularyTable> VocabularyTable::fromTokens(std::vector<std::string> tokens, bool unique,
                                                    std::string_view where) {
  HEDDLE_TRY(checkSize(tokens.size(), "the vocabulary", where));
  VocabularyTable result;
  result.owned = std::make_shared<const std::vector<std::string>>(std::move(tokens));
  result.tokens.reserve(result.owned->size());
  for (const std::string &token : *result.owned) {
    const auto id = static_cast<uint32_t>(result.tokens.size());
    if (validUtf8Prefix(token) != token.size()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: the token with id {} is {}, which is not UTF-8", where,
                                      id, quote(token)));
    }
    if (const auto [first, isNew] = result.byText.emplace(token, id); !isNew && unique) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: the tokens with ids {} and {} are both {}", where,
                                      first->second, id, quote(token)));
    }
    result.tokens.push_back({id, token});
  }
  return result;
}

std::optional<uint32_t> VocabularyTable::idOf(std::string_view token) const {
  const auto entry = byText.find(token);
  return entry == byText.end() ? std::nullopt : std::optional(entry->second);
}

std::optional<std::string_view> VocabularyTable::tokenOf(uint32_t id) const {
  const auto place =
      std::lower_bound(tokens.begin(), tokens.end(), id,
                       [](const Token &token, uint32_t wanted) { return token.id < wanted; });
  return place != tokens.end() && place->id == id ? std::optional(place->text) : std::nullopt;
}

flatbuffers::Offset<manifest::Vocabulary>
VocabularyTable::pack(flatbuffers::FlatBufferBuilder &builder) const {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> offsets = {0};
  std::string text;
  // At most half full, so that most unknown tokens are rejected at the first slot.
  std::vector<manifest::VocabularySlot> slots(std::bit_ceil(2 * tokens.size()));
  const auto mask = static_cast<uint32_t>(slots.size() - 1);
  for (const Token &token : tokens) {
    ids.push_back(token.id);
    text += token.text;
    offsets.push_back(static_cast<uint32_t>(text.size()));
    const VocabularyPlace place =
        vocabularyPlace(extendVocabularyHash(vocabularyHashSeed, token.text));
    uint32_t slot = place.slot & mask;
    while (slots[slot].token() != 0) {
      slot = (slot + 1) & mask;
    }
    slots[slot] = manifest::VocabularySlot(place.tag, static_cast<uint32_t>(ids.size()));
  }
  const auto packedIds = writeOnce<uint32_t>(builder, ids);
  const auto packedText = writeOnce<uint8_t>(builder, text);
  const auto packedOffsets = writeOnce<uint32_t>(builder, offsets);
  const auto packedSlots = writeOnce<const manifest::VocabularySlot *>(builder, slots);
  return manifest::CreateVocabulary(builder, packedIds, packedText, packedOffsets, packedSlots);
}

} // namespace heddle
