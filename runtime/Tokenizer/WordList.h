// SPDX-License-Identifier: Apache-2.0
///
/// The simplest model: every word between spaces is a token or unknown.
#ifndef HEDDLE_RUNTIME_TOKENIZER_WORDLIST_H
#define HEDDLE_RUNTIME_TOKENIZER_WORDLIST_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/Vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads.
class WordList {
public:
  /// Checks the table; the table must outlive the object.
  static Result<WordList> load(const manifest::WordList &table);

  /// Appends the ids of a text's words and stops at `limit`. Words are separated by ASCII spaces,
  /// tabs and line ends; other spaces may be part of tokens.
  void appendText(std::string_view text, size_t limit, std::vector<int32_t> &ids) const;
  const Vocabulary &vocabulary() const { return tokens; }

private:
  Vocabulary tokens;
  int32_t unknownId = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_WORDLIST_H
