// SPDX-License-Identifier: Apache-2.0
///
/// Random blocks of the quantised types: any codes, with scales in a range.
#ifndef HEDDLE_TESTS_FORMATS_GGUF_GGUFBLOCKS_H
#define HEDDLE_TESTS_FORMATS_GGUF_GGUFBLOCKS_H

#include "formats/Gguf/GgufTypes.h"
#include "tests/formats/Checkpoint/ModelBin.h"

#include <random>
#include <string>

namespace heddle {

/// Returns blocks of random bytes with f16 scales of either sign and magnitude < 2^(1 - `shift`).
inline std::string randomGgufBlocks(const GgufType &type, size_t blocks, std::mt19937 &random,
                                    unsigned shift = 4) {
  std::string bytes(blocks * type.bytes, '\0');
  for (char &byte : bytes) {
    byte = static_cast<char>(random());
  }
  // The offset of the scales: at the end of Q6_K. Types with minimums have two halves at the start.
  const size_t first = type.number == 14 ? 208 : 0;
  for (size_t block = 0; block < blocks; ++block) {
    for (size_t i = 0; i < (type.hasMinimums ? 2 : 1); ++i) {
      const unsigned exponent = 15 - shift - random() % 3;
      const unsigned half = (random() & 0x83FFU) | exponent << 10;
      const size_t at = block * type.bytes + first + 2 * i;
      bytes[at] = static_cast<char>(half);
      bytes[at + 1] = static_cast<char>(half >> 8);
    }
  }
  return bytes;
}

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_GGUF_GGUFBLOCKS_H
