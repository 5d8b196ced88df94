// SPDX-License-Identifier: Apache-2.0
///
/// The folder sentence-transformers puts around an encoder: modules.json lists what follows it (a
/// pooling, perhaps a normalisation), each with a small configuration of its own.
#ifndef HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
#define HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace heddle {

/// How the rows of a sentence become one row.
enum class Pooling {
  /// The row of the first token.
  Cls,
  /// The mean over all rows of the sentence, special tokens included.
  Mean,
  /// The largest value of each column.
  Max,
};

/// What a sentence-transformers folder says beside the encoder's own config.json.
struct SentenceTransformers {
  /// The folder of the encoder (config.json, model.safetensors); often the folder itself.
  std::string encoderFolder;
  Pooling pooling = Pooling::Mean;
  /// The width the pooling was saved for, where it says so; must be the encoder's hidden size.
  std::optional<int64_t> width;
  /// Whether the embedding is divided by its Euclidean norm.
  bool normalize = false;
  /// Where texts are cut, in tokens, special ones included.
  std::optional<int64_t> maxSequenceLength;
  /// Whether text is put in lower case before the tokenizer sees it.
  bool lowerCase = false;
};

/// Reads modules.json and what it names; nothing where `folder` has no modules.json.
Result<std::optional<SentenceTransformers>> readSentenceTransformers(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
