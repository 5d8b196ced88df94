// SPDX-License-Identifier: Apache-2.0
///
/// The normal forms NFC, NFD, NFKC and NFKD of Unicode 9, which the tokenizers used in training
/// implement. The time does not depend on the number of marks on one letter.
#ifndef HEDDLE_RUNTIME_TOKENIZER_UNICODEFORM_H
#define HEDDLE_RUNTIME_TOKENIZER_UNICODEFORM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads.
class UnicodeForm {
public:
  /// compatible: also use compatibility decompositions (NFKC, NFKD); composed: compose letters and
  /// marks again (NFC, NFKC).
  UnicodeForm(bool compatible, bool composed) : compatible(compatible), composed(composed) {}

  /// Appends the normal form of `text`, which is UTF-8.
  void append(std::string_view text, std::string &out) const;

private:
  void decompose(int32_t codePoint, std::vector<int32_t> &out) const;

  bool compatible;
  bool composed;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_UNICODEFORM_H
