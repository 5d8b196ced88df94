// SPDX-License-Identifier: Apache-2.0
///
/// The hash of a vocabulary's table, known to the compiler, which builds the table, and to the
/// runtime, which looks tokens up in it. It grows byte by byte, so one pass over a word gives the
/// hash of each of its beginnings.
#ifndef HEDDLE_FORMATS_TOKENIZER_VOCABULARYHASH_H
#define HEDDLE_FORMATS_TOKENIZER_VOCABULARYHASH_H

#include <cstdint>
#include <string_view>

namespace heddle {

/// The state before the first byte.
inline constexpr uint64_t vocabularyHashSeed = 0xCBF29CE484222325U;

/// The state after one more byte.
constexpr uint64_t extendVocabularyHash(uint64_t state, char byte) {
  return (state ^ static_cast<unsigned char>(byte)) * 0x9E3779B97F4A7C15U;
}

constexpr uint64_t extendVocabularyHash(uint64_t state, std::string_view bytes) {
  for (const char byte : bytes) {
    state = extendVocabularyHash(state, byte);
  }
  return state;
}

/// Where a token is sought first (masked to the table's size), and its tag. A product carries
/// differences upwards only, so the state's upper half is folded down before it is used.
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
