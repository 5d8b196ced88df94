// SPDX-License-Identifier: Apache-2.0
///
/// The hash function of vocabulary tables, shared by the compiler, which builds them, and the
/// runtime, which reads them. It is incremental, so that one pass over a word gives the hash of
/// each prefix.
#ifndef HEDDLE_FORMATS_TOKENIZER_VOCABULARYHASH_H
#define HEDDLE_FORMATS_TOKENIZER_VOCABULARYHASH_H

#include <cstdint>
#include <string_view>

namespace heddle {

/// The state before the first byte.
inline constexpr uint64_t vocabularyHashSeed = 0xCBF29CE484222325U;

/// Returns the state after one more byte.
constexpr uint64_t extendVocabularyHash(uint64_t state, char byte) {
  return (state ^ static_cast<unsigned char>(byte)) * 0x9E3779B97F4A7C15U;
}

constexpr uint64_t extendVocabularyHash(uint64_t state, std::string_view bytes) {
  for (const char byte : bytes) {
    state = extendVocabularyHash(state, byte);
  }
  return state;
}

/// The first slot to search for a token (before masking to the table's size), and its tag.
/// Multiplication only propagates differences upwards, so the upper half of the state is folded
/// down first.
struct VocabularyPlace {
  uint32_t slot;
  uint32_t tag;
};

constexpr VocabularyPlace vocabularyPlace(uint64_t state) {
  state = (state ^ (state >> 32)) * 0xD6E8FEB86659FD93U;
  state ^= state >> 32;
  return {static_cast<uint32_t>(state), static_cast<uint32_t>(state >> 32)};
}

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_VOCABULARYHASH_H
