// SPDX-License-Identifier: Apache-2.0
///
/// BERT's tokenizer, as formats that have no tokenizer.json describe it, in the form of one.
#ifndef HEDDLE_FORMATS_TOKENIZER_WORDPIECES_H
#define HEDDLE_FORMATS_TOKENIZER_WORDPIECES_H

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A list of word pieces, with the settings of Hugging Face Transformers' BertTokenizer.
struct WordPieces {
  /// In the order of their ids; of several equal ones the last counts, as in a Python dictionary.
  /// Those within a word begin with "##".
  std::vector<std::string> pieces;
  /// The tokens for unknown words, before and after a text. They are in the list.
  std::string unknown, begin, end;
  /// Further tokens that are found in texts and left out when ids become text, in the list too.
  std::vector<std::string> special = {};
  bool lowerCase = true;
  /// Without it accents are stripped where texts are put in lower case.
  std::optional<bool> stripAccents = std::nullopt;
  bool splitsChinese = true;
};

/// The equivalent tokenizer.json.
nlohmann::json wordPieceTokenizer(const WordPieces &words);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_WORDPIECES_H
