// SPDX-License-Identifier: Apache-2.0
///
/// Reads the folder that sentence-transformers wraps around an encoder. modules.json lists the
/// modules that follow the encoder (a pooling, perhaps a normalisation), each with a small
/// configuration.
#ifndef HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
#define HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace heddle {

/// How the rows of a sentence are reduced to one.
enum class Pooling {
  /// The row of the first token.
  Cls,
  /// The mean over all rows of the sentence, special tokens included.
  Mean,
  /// The largest value of each column.
  Max,
};

/// The settings of a sentence-transformers folder beyond the encoder's config.json.
struct SentenceTransformers {
  /// The folder of the encoder (config.json, model.safetensors); often the folder itself.
  std::string encoderFolder;
  Pooling pooling = Pooling::Mean;
  /// The width the pooling was saved with, if given. It must equal the encoder's hidden size.
  std::optional<int64_t> width;
  /// Whether the embedding is divided by its Euclidean norm.
  bool normalize = false;
  /// The length at which texts are cut, in tokens, special ones included.
  std::optional<int64_t> maxSequenceLength;
  /// Whether text is converted to lower case before tokenization.
  bool lowerCase = false;
};

/// Reads modules.json and the files it names; nothing if `folder` has no modules.json.
Result<std::optional<SentenceTransformers>> readSentenceTransformers(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
