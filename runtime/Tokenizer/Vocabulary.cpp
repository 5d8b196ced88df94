// SPDX-License-Identifier: Apache-2.0
///
/// The vocabulary may come from a damaged file. load() checks it in one pass over flat arrays, so
/// that later code need not.
#include "runtime/Tokenizer/Vocabulary.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/VocabularyHash.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>

namespace heddle {

static_assert(std::endian::native == std::endian::little, "FlatBuffers are read in place");

static Status checkIds(const flatbuffers::Vector<uint32_t> &ids) {
  for (uint32_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && ids.data()[i - 1] >= ids.data()[i]) {
      return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: id {} follows id {}, expected them "
                                                "in ascending order",
                                                ids.data()[i], ids.data()[i - 1]));
    }
  }
  if (ids.size() == 0) {
    return HEDDLE_ERROR(DataLoss, "vocabulary: no tokens, expected at least one");
  }
  constexpr uint32_t largest = std::numeric_limits<int32_t>::max();
  if (const uint32_t last = ids.data()[ids.size() - 1]; last > largest) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("vocabulary: id {}, expected at most {}", last, largest));
  }
  return {};
}

static Status checkText(std::string_view text, const flatbuffers::Vector<uint32_t> &offsets,
                        size_t count) {
  if (offsets.size() != count + 1) {
    return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: {} offsets for {} tokens, expected {}",
                                              offsets.size(), count, count + 1));
  }
  const uint32_t *const begins = offsets.data();
  if (begins[0] != 0 || begins[count] != text.size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("vocabulary: offsets from {} to {}, expected from 0 to {}",
                                    begins[0], begins[count], text.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    if (begins[i] > begins[i + 1] || begins[i + 1] > text.size()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: offset {} follows {}, expected them "
                                                "in ascending order up to {}",
                                                begins[i + 1], begins[i], text.size()));
    }
    if (begins[i] < text.size() && continuesCharacter(text[begins[i]])) {
      return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: token {} begins inside a character, "
                                                "at offset {}",
                                                i + 1, begins[i]));
    }
  }
  if (const size_t valid = validUtf8Prefix(text); valid != text.size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: text is not UTF-8 at offset {}", valid));
  }
  return {};
}

static Status checkSlots(const flatbuffers::Vector<const manifest::VocabularySlot *> &slots,
                         size_t count) {
  if (!std::has_single_bit(slots.size())) {
    return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: hash table of {} places, expected a "
                                              "power of two",
                                              slots.size()));
  }
  bool full = true;
  for (const manifest::VocabularySlot *const slot : slots) {
    full = full && slot->token() != 0;
    if (slot->token() > count) {
      return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: hash table names token {} of {}",
                                                slot->token(), count));
    }
  }
  // A search ends at a free slot.
  if (full) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("vocabulary: hash table of {} places has none free", slots.size()));
  }
  return {};
}

Result<Vocabulary> Vocabulary::load(const manifest::Vocabulary &table) {
  const std::string_view text(reinterpret_cast<const char *>(table.text()->data()),
                              table.text()->size());
  Vocabulary result;
  result.count = table.ids()->size();
  HEDDLE_TRY(checkIds(*table.ids()));
  HEDDLE_TRY(checkText(text, *table.offsets(), result.count));
  HEDDLE_TRY(checkSlots(*table.slots(), result.count));
  result.ids = table.ids()->data();
  result.bytes = text.data();
  result.offsets = table.offsets()->data();
  result.slots = reinterpret_cast<const manifest::VocabularySlot *>(table.slots()->Data());
  result.slotMask = table.slots()->size() - 1;
  for (size_t i = 0; i < result.count; ++i) {
    result.longestToken = std::max(result.longestToken, result.tokenAt(i).size());
  }
  return result;
}

int32_t Vocabulary::find(uint64_t hashState, std::string_view prefix, std::string_view rest) const {
  const VocabularyPlace place = vocabularyPlace(hashState);
  for (uint32_t slot = place.slot & slotMask; slots[slot].token() != 0;
       slot = (slot + 1) & slotMask) {
    if (slots[slot].tag() != place.tag) {
      continue;
    }
    const uint32_t index = slots[slot].token() - 1;
    const std::string_view token = tokenAt(index);
    if (token.size() == prefix.size() + rest.size() && token.starts_with(prefix) &&
        token.ends_with(rest)) {
      return static_cast<int32_t>(ids[index]);
    }
  }
  return -1;
}

int32_t Vocabulary::find(std::string_view token) const {
  return find(extendVocabularyHash(vocabularyHashSeed, token), token, {});
}

std::optional<size_t> Vocabulary::indexOf(int32_t id) const {
  const auto wanted = static_cast<uint32_t>(id);
  if (wanted < count && ids[wanted] == wanted) {
    // Fast path: most vocabularies have no gaps.
    return wanted;
  }
  const uint32_t *const place = std::lower_bound(ids, ids + count, wanted);
  if (id < 0 || place == ids + count || *place != wanted) {
    return std::nullopt;
  }
  return static_cast<size_t>(place - ids);
}

std::optional<std::string_view> Vocabulary::text(int32_t id) const {
  const std::optional<size_t> index = indexOf(id);
  return index ? std::optional(tokenAt(*index)) : std::nullopt;
}

} // namespace heddle
