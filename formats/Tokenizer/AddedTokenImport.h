// SPDX-License-Identifier: Apache-2.0
///
/// Reads the added tokens of a tokenizer.json and checks them against its vocabulary.
#ifndef HEDDLE_FORMATS_TOKENIZER_ADDEDTOKENIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_ADDEDTOKENIMPORT_H

#include "formats/Tokenizer/VocabularyTable.h"
#include "heddle/Status.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One item of "added_tokens". manifest::AddedToken has the flags under their names in the file.
struct ImportedToken {
  std::string content;
  uint32_t id;
  bool singleWord;
  bool leftStrip;
  bool rightStrip;
  bool normalized;
  bool special;
  bool decodeOnly = false;
};

/// Reads the list "added_tokens"; empty if it is absent or null.
Result<std::vector<ImportedToken>> readAddedTokens(const nlohmann::json &tokenizer,
                                                   const VocabularyTable &vocabulary,
                                                   std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_ADDEDTOKENIMPORT_H
