// SPDX-License-Identifier: Apache-2.0
///
/// Packs a BPE model. Merges become a hash table by pair. A token that its own characters merge to
/// is marked, because most words of a text are such tokens.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/PairMerging.h"

#include <bit>
#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;

namespace {

/// The scalar settings of a BPE model.
struct BpeSettings {
  std::optional<uint32_t> unknownId;
  bool fuseUnknown = false;
  bool byteFallback = false;
  bool ignoreMerges = false;
  std::string prefix;
  std::string suffix;
};

/// One merge: two tokens and their result.
struct ImportedMerge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
};

} // namespace

static Result<BpeSettings> readSettings(const ImportedModelPart &model) {
  const Config &settings = model.settings;
  BpeSettings result;
  HEDDLE_ASSIGN(const double dropout, settings.numberOr("dropout", 0, 1, 0));
  if (dropout != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"dropout\" is {}, expected none: ids would be random",
                                    settings.where(), dropout));
  }
  HEDDLE_ASSIGN(result.unknownId, readTokenId(settings, "unk_token", model.vocabulary));
  HEDDLE_ASSIGN(result.fuseUnknown, settings.booleanOr("fuse_unk", false));
  HEDDLE_ASSIGN(result.byteFallback, settings.booleanOr("byte_fallback", false));
  HEDDLE_ASSIGN(result.ignoreMerges, settings.booleanOr("ignore_merges", false));
  HEDDLE_ASSIGN(result.prefix, settings.stringOr("continuing_subword_prefix", ""));
  HEDDLE_ASSIGN(result.suffix, settings.stringOr("end_of_word_suffix", ""));
  return result;
}

/// Returns the two tokens of an item of "merges", which is a string with a space or a list.
static std::optional<std::pair<std::string_view, std::string_view>>
splitMerge(const nlohmann::json &item) {
  if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
    return std::pair<std::string_view, std::string_view>(item[0].get_ref<const std::string &>(),
                                                         item[1].get_ref<const std::string &>());
  }
  if (!item.is_string()) {
    return std::nullopt;
  }
  const std::string_view text = item.get_ref<const std::string &>();
  const size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

static Result<ImportedMerge> readMerge(const nlohmann::json &item, size_t index,
                                       const ImportedModelPart &model, std::string_view prefix) {
  const auto pair = splitMerge(item);
  const std::string place =
      fmt::format("{}: item {} of \"merges\"", model.settings.where(), index + 1);
  if (!pair) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} is {}, expected two tokens", place, describeJson(item)));
  }
  // A continuing token loses its prefix inside a longer token.
  const std::string_view rest = pair->second.substr(std::min(prefix.size(), pair->second.size()));
  const std::string whole = std::string(pair->first) + std::string(rest);
  ImportedMerge merge{};
  for (const auto &[text, id] : {std::pair<std::string_view, uint32_t *>{pair->first, &merge.left},
                                 {pair->second, &merge.right},
                                 {whole, &merge.result}}) {
    const std::optional<uint32_t> known = model.vocabulary.idOf(text);
    if (!known) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{} needs {}, which is not a token of the vocabulary", place, quote(text)));
    }
    *id = *known;
  }
  return merge;
}

static Result<std::vector<manifest::MergeSlot>> readMerges(const ImportedModelPart &model,
                                                           std::string_view prefix) {
  // One merge for each token of the largest vocabulary, and some tokens result from several merges.
  constexpr size_t mergeLimit = 4 * vocabularyLimit;
  const auto list = model.json->find("merges");
  if (list == model.json->end() || !list->is_array() || list->size() > mergeLimit) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"merges\" is {}, expected a list of at most {}", model.settings.where(),
                    list == model.json->end() ? "missing" : describeJson(*list), mergeLimit));
  }
  std::vector<manifest::MergeSlot> slots(std::bit_ceil(2 * list->size() + 1));
  const auto mask = static_cast<uint32_t>(slots.size() - 1);
  for (size_t i = 0; i < list->size(); ++i) {
    HEDDLE_ASSIGN(const ImportedMerge merge, readMerge((*list)[i], i, model, prefix));
    uint32_t at = mergePlace(merge.left, merge.right) & mask;
    // If a pair has several merges, the last one is used, as in the reference.
    while (slots[at].result() != 0 &&
           !(slots[at].left() == merge.left && slots[at].right() == merge.right)) {
      at = (at + 1) & mask;
    }
    slots[at] =
        manifest::MergeSlot(merge.left, merge.right, static_cast<uint32_t>(i), merge.result + 1);
  }
  return slots;
}

/// Returns the ids of a token's characters; empty if one of them is not a token.
static std::vector<uint32_t> charactersOf(std::string_view token,
                                          const VocabularyTable &vocabulary) {
  std::vector<uint32_t> ids;
  for (size_t begin = 0; begin < token.size();) {
    size_t end = begin + 1;
    while (end < token.size() && continuesCharacter(token[end])) {
      ++end;
    }
    const std::optional<uint32_t> id = vocabulary.idOf(token.substr(begin, end - begin));
    if (!id) {
      return {};
    }
    ids.push_back(*id);
    begin = end;
  }
  return ids;
}

/// Returns one bit for each token: whether its own characters merge to it. With a prefix or suffix,
/// words are not looked up verbatim, so no bit is set.
static std::vector<uint8_t> findWhole(const VocabularyTable &vocabulary, const MergeTable &merges,
                                      const BpeSettings &settings) {
  std::vector<uint8_t> whole((vocabulary.size() + 7) / 8);
  if (!settings.prefix.empty() || !settings.suffix.empty()) {
    return whole;
  }
  PairMerger merger;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    std::vector<uint32_t> ids = charactersOf(vocabulary.tokenAt(i), vocabulary);
    merger.merge(merges, ids);
    if (ids.size() == 1 && ids[0] == vocabulary.idAt(i)) {
      whole[i / 8] = static_cast<uint8_t>(whole[i / 8] | 1U << (i % 8));
    }
  }
  return whole;
}

Result<ModelMember> packBpe(FlatBufferBuilder &builder, const ImportedModelPart &model) {
  HEDDLE_ASSIGN(const BpeSettings settings, readSettings(model));
  HEDDLE_ASSIGN(const std::vector<manifest::MergeSlot> slots, readMerges(model, settings.prefix));
  const std::vector<uint8_t> whole = findWhole(model.vocabulary, MergeTable(slots), settings);
  const auto vocabulary = model.vocabulary.pack(builder);
  const auto packedSlots = builder.CreateVectorOfStructs(slots);
  const auto packedWhole = builder.CreateVector(whole);
  const auto packedPrefix = builder.CreateString(settings.prefix);
  const auto packedSuffix = builder.CreateString(settings.suffix);
  const int64_t unknown = settings.unknownId ? int64_t(*settings.unknownId) : -1;
  const auto packed = manifest::CreateBpe(builder, vocabulary, packedSlots, packedWhole, unknown,
                                          settings.fuseUnknown, settings.byteFallback,
                                          settings.ignoreMerges, packedPrefix, packedSuffix);
  return ModelMember{manifest::TokenizerModel::Bpe, packed.Union()};
}

} // namespace heddle
