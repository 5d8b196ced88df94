// SPDX-License-Identifier: Apache-2.0
///
/// The vocabularies of a CTranslate2 folder: lists of tokens, as JSON or one per line.
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
  /// The file they were read from.
  std::string path;
  /// Always contains the unknown token: it is appended if the file lacks it.
  std::vector<std::string> tokens;

  /// Returns the id of a token; the lowest one if the token occurs twice.
  std::optional<int64_t> find(std::string_view token) const;
};

/// Both sides of a model; a shared vocabulary appears twice.
struct CTranslate2Vocabularies {
  CTranslate2Vocabulary source;
  CTranslate2Vocabulary target;
  bool isShared() const { return source.path == target.path; }
};

/// Returns the tokens of a text file, one per line. Windows line ends are removed.
Result<std::vector<std::string>> readTokenLines(const std::string &path);

/// Reads shared_vocabulary, or else target_vocabulary and source_vocabulary. A .json file takes
/// precedence over a .txt file.
Result<CTranslate2Vocabularies> readCTranslate2Vocabularies(const std::string &folder,
                                                            const std::string &unknownToken);

} // namespace heddle

#endif // HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VOCABULARY_H
