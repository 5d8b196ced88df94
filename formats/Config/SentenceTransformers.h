// SPDX-License-Identifier: Apache-2.0
///
/// Reads the folder in which sentence-transformers stores an encoder. modules.json lists the
/// modules after the encoder (a pooling, then optionally linear layers and norms), each with a
/// small configuration.
#ifndef HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
#define HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// How the rows of a sentence are reduced to one.
enum class Pooling {
  /// The row of the first token.
  Cls,
  /// The mean over all rows of the sentence, special tokens included.
  Mean,
  /// The maximum of each column.
  Max,
};

/// A module after the pooling, which maps one row to one row.
struct SentenceModule {
  enum class Kind {
    /// A linear layer with an activation: `name`.linear.weight, `name`.linear.bias.
    Dense,
    /// `name`.norm.weight, `name`.norm.bias.
    LayerNorm,
    /// Division by the Euclidean norm.
    Normalize,
  };
  Kind kind = Kind::Normalize;
  /// The prefix of its tensors' names, and the folder of its weights; empty without any.
  std::string name = {};
  std::string folder = {};
  /// Its configuration, with which messages begin.
  std::string where = {};
  /// The width of a row before and after it; 0: any width, which stays the same.
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool hasBias = true;
  /// The name in config.json of Hugging Face Transformers; empty: none.
  std::string activation = {};

  bool hasWeights() const { return !name.empty(); }
};

/// The settings of a sentence-transformers folder beyond the encoder's config.json.
struct SentenceTransformers {
  /// The folder of the encoder (config.json, model.safetensors); often the folder itself.
  std::string encoderFolder;
  Pooling pooling = Pooling::Mean;
  /// The width that the pooling was saved with, if given. It must equal the encoder's hidden size.
  std::optional<int64_t> width;
  /// The modules after the pooling, in order.
  std::vector<SentenceModule> modules = {};
  /// The length at which texts are truncated, in tokens, including special ones.
  std::optional<int64_t> maxSequenceLength;
  /// Whether text is converted to lower case before tokenization.
  bool lowerCase = false;
  /// Keys of modules that are not understood, one line each.
  std::vector<std::string> warnings = {};
};

/// Reads modules.json and the files that it names; nullopt if `folder` has no modules.json.
Result<std::optional<SentenceTransformers>> readSentenceTransformers(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
