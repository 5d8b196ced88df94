// SPDX-License-Identifier: Apache-2.0
///
/// The vocabularies of a CTranslate2 folder: a list of tokens each, as JSON or one in a line.
#ifndef HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VOCABULARY_H
#define HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VOCABULARY_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Tokens in the order of their ids.
struct CTranslate2Vocabulary {
  /// The file they are from.
  std::string path;
  /// The unknown token is among them: at the end if the file does not have it.
  std::vector<std::string> tokens;

  /// The id of a token, the lowest if it is there twice.
  std::optional<int64_t> find(std::string_view token) const;
};

/// Both sides of a model; the same list twice where it is shared.
struct CTranslate2Vocabularies {
  CTranslate2Vocabulary source;
  CTranslate2Vocabulary target;
  bool isShared() const { return source.path == target.path; }
};

/// The lines of a text file of tokens, one a line; line ends of Windows are taken off.
Result<std::vector<std::string>> readTokenLines(const std::string &path);

/// Reads shared_vocabulary, or else target_vocabulary and source_vocabulary; of each .json before
/// .txt.
Result<CTranslate2Vocabularies> readCTranslate2Vocabularies(const std::string &folder,
                                                            const std::string &unknownToken);

} // namespace heddle

#endif // HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VOCABULARY_H
