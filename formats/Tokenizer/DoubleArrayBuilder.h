// SPDX-License-Identifier: Apache-2.0
///
/// Builds the trie that formats/Tokenizer/DoubleArray.h reads.
#ifndef HEDDLE_FORMATS_TOKENIZER_DOUBLEARRAYBUILDER_H
#define HEDDLE_FORMATS_TOKENIZER_DOUBLEARRAYBUILDER_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

/// A key and its value, which is less than 2^31.
struct DoubleArrayKey {
  std::string_view text;
  uint32_t value;
};

/// Builds the units of a trie. Keys that are empty or contain a NUL are omitted; the others must be
/// distinct. The same keys give the same units.
std::vector<uint32_t> buildDoubleArray(std::vector<DoubleArrayKey> keys);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_DOUBLEARRAYBUILDER_H
