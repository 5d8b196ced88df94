// SPDX-License-Identifier: Apache-2.0
///
/// Reads the folder that sentence-transformers wraps around an encoder. modules.json lists the
/// modules that follow the encoder (a pooling, then perhaps linear layers and norms), each with a
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
  /// The largest value of each column.
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
  /// What its tensors' names begin with, and the folder of its weights; empty without any.
  std::string name = {};
  std::string folder = {};
  /// Its configuration, as messages begin with it.
  std::string where = {};
  /// The width of a row before and after it; 0: any, and it stays the same.
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool hasBias = true;
  /// As config.json of Hugging Face Transformers spells it; empty: none.
  std::string activation = {};

  bool hasWeights() const { return !name.empty(); }
};

/// The settings of a sentence-transformers folder beyond the encoder's config.json.
struct SentenceTransformers {
  /// The folder of the encoder (config.json, model.safetensors); often the folder itself.
  std::string encoderFolder;
  Pooling pooling = Pooling::Mean;
  /// The width the pooling was saved with, if given. It must equal the encoder's hidden size.
  std::optional<int64_t> width;
  /// What follows the pooling, in this order.
  std::vector<SentenceModule> modules = {};
  /// The length at which texts are cut, in tokens, special ones included.
  std::optional<int64_t> maxSequenceLength;
  /// Whether text is converted to lower case before tokenization.
  bool lowerCase = false;
  /// Keys of modules that are not understood, one line each.
  std::vector<std::string> warnings = {};
};

/// Reads modules.json and the files it names; nothing if `folder` has no modules.json.
Result<std::optional<SentenceTransformers>> readSentenceTransformers(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_SENTENCETRANSFORMERS_H
