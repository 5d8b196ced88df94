// SPDX-License-Identifier: Apache-2.0
///
/// Characters that are no token are handled as in the Hugging Face tokenizers library, down to the
/// order of unknown characters and bytes.
#include "runtime/Tokenizer/Bpe.h"

#include "formats/Tokenizer/Characters.h"
#include "formats/Tokenizer/VocabularyHash.h"

#include <bit>
#include <fmt/format.h>

namespace heddle {

ByteTokens findByteTokens(const Vocabulary &vocabulary) {
  ByteTokens result{};
  for (size_t byte = 0; byte < result.size(); ++byte) {
    result[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
  }
  return result;
}

bool appendByteTokens(const ByteTokens &tokens, std::string_view text, std::vector<uint32_t> &ids) {
  const size_t before = ids.size();
  for (const char byte : text) {
    const int32_t id = tokens[static_cast<unsigned char>(byte)];
    if (id < 0) {
      ids.resize(before);
      return false;
    }
    ids.push_back(static_cast<uint32_t>(id));
  }
  return true;
}

Status Bpe::loadMerges(const manifest::Bpe &table) {
  const auto &slots = *table.merges();
  if (!std::has_single_bit(slots.size())) {
    return HEDDLE_ERROR(DataLoss, fmt::format("merges: hash table of {} places, expected a power "
                                              "of two",
                                              slots.size()));
  }
  bool full = true;
  for (const manifest::MergeSlot *const slot : slots) {
    full = full && slot->result() != 0;
    if (slot->result() != 0 && !tokens.indexOf(static_cast<int32_t>(slot->result() - 1))) {
      return HEDDLE_ERROR(DataLoss, fmt::format("merges: a merge gives id {}, which no token has",
                                                slot->result() - 1));
    }
  }
  if (full) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("merges: hash table of {} places has none free", slots.size()));
  }
  if (table.whole()->size() != (tokens.size() + 7) / 8) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("merges: {} bytes of flags for {} tokens, expected "
                                    "{}",
                                    table.whole()->size(), tokens.size(), (tokens.size() + 7) / 8));
  }
  merges = MergeTable({reinterpret_cast<const manifest::MergeSlot *>(slots.Data()), slots.size()});
  whole = table.whole()->data();
  return {};
}

Result<Bpe> Bpe::load(const manifest::Bpe &table) {
  Bpe result;
  HEDDLE_ASSIGN(result.tokens, Vocabulary::load(*table.vocabulary()));
  HEDDLE_TRY(result.loadMerges(table));
  if (const int64_t unknown = table.unknown_id(); unknown != -1) {
    result.unknownId = static_cast<int32_t>(unknown);
    if (result.unknownId != unknown || !result.tokens.indexOf(result.unknownId)) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("vocabulary: no token has the unknown id {}", unknown));
    }
  }
  result.fusesUnknown = table.fuse_unknown();
  result.ignoresMerges = table.ignore_merges();
  if (table.continuing_prefix() != nullptr) {
    result.prefix = table.continuing_prefix()->string_view();
  }
  if (table.end_suffix() != nullptr) {
    result.suffix = table.end_suffix()->string_view();
  }
  if (table.byte_fallback()) {
    result.byteTokens = findByteTokens(result.tokens);
  }
  std::string character;
  for (size_t i = 0; i < result.firstIds.size(); ++i) {
    character.clear();
    appendCharacter(static_cast<int32_t>(i), character);
    result.firstIds[i] = result.tokens.find(character);
  }
  return result;
}

/// Returns the form in which a character is looked up: with the prefix unless it is the first, with
/// the suffix if it is the last.
std::string_view Bpe::decorate(std::string_view word, size_t at, size_t bytes,
                               std::string &out) const {
  out = at > 0 ? prefix : "";
  out += word.substr(at, bytes);
  out += at + bytes == word.size() ? suffix : "";
  return out;
}

/// Appends the ids of a word's characters.
void Bpe::appendCharacters(std::string_view word, Scratch &scratch) const {
  const bool plain = prefix.empty() && suffix.empty();
  bool unknown = false;
  size_t bytes = 0;
  for (size_t at = 0; at < word.size(); at += bytes) {
    const Character character = firstCharacter(word.substr(at));
    bytes = character.bytes;
    const std::string_view sought =
        plain ? word.substr(at, bytes) : decorate(word, at, bytes, scratch.character);
    const auto codePoint = static_cast<size_t>(character.codePoint);
    const int32_t id =
        plain && codePoint < firstIds.size() ? firstIds[codePoint] : tokens.find(sought);
    if (id >= 0) {
      if (unknown) {
        scratch.ids.push_back(static_cast<uint32_t>(unknownId));
        unknown = false;
      }
      scratch.ids.push_back(static_cast<uint32_t>(id));
      continue;
    }
    if (byteTokens && appendByteTokens(*byteTokens, sought, scratch.ids)) {
      continue;
    }
    if (unknownId >= 0) {
      if (unknown && !fusesUnknown) {
        scratch.ids.push_back(static_cast<uint32_t>(unknownId));
      }
      unknown = true;
    }
  }
  if (unknown) {
    scratch.ids.push_back(static_cast<uint32_t>(unknownId));
  }
}

void Bpe::appendWord(std::string_view word, std::vector<int32_t> &ids, Scratch &scratch) const {
  if (const int32_t id = tokens.find(word); id >= 0) {
    const size_t index = *tokens.indexOf(id);
    if (ignoresMerges || (whole[index / 8] >> (index % 8) & 1) != 0) {
      ids.push_back(id);
      return;
    }
  }
  scratch.ids.clear();
  appendCharacters(word, scratch);
  scratch.merger.merge(merges, scratch.ids);
  for (const uint32_t id : scratch.ids) {
    ids.push_back(static_cast<int32_t>(id));
  }
}

} // namespace heddle
