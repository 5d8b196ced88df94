// SPDX-License-Identifier: Apache-2.0
///
/// Describes BERT's tokenizer, for formats without a tokenizer.json, in the form of one.
#ifndef HEDDLE_FORMATS_TOKENIZER_WORDPIECES_H
#define HEDDLE_FORMATS_TOKENIZER_WORDPIECES_H

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A list of word pieces, with the settings of Hugging Face Transformers' BertTokenizer.
struct WordPieces {
  /// In the order of their ids; of several equal ones the last is used, as in a Python dictionary.
  /// Pieces within a word begin with "##".
  std::vector<std::string> pieces;
  /// The tokens for unknown words, before and after a text. They are in the list.
  std::string unknown, begin, end;
  /// Further tokens that are searched for in texts and omitted when ids become text, also in the
  /// list.
  std::vector<std::string> special = {};
  bool lowerCase = true;
  /// If unset, accents are stripped if texts are converted to lower case.
  std::optional<bool> stripAccents = std::nullopt;
  bool splitsChinese = true;
};

/// Returns the equivalent tokenizer.json.
nlohmann::json wordPieceTokenizer(const WordPieces &words);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_WORDPIECES_H
