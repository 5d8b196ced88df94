// SPDX-License-Identifier: Apache-2.0
///
/// A model of the project's own format: its sizes, and its layers in the order of the papers.
#ifndef HEDDLE_FRONTEND_FAMILIES_TRANSFORMER_H
#define HEDDLE_FRONTEND_FAMILIES_TRANSFORMER_H

#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/DotProductAttention.h"
#include "heddle/Status.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

class Config;

/// How positions are encoded.
enum class Positions { Sinusoidal, SinusoidalSplit, Learned };

/// Branches of the Weighted Transformer. They replace attention's W^O and the feed-forward layer.
struct Branches {
  /// 0 for a model without branches. Equals the number of heads of the attention before the
  /// branches.
  int64_t count = 0;
  /// Whether all branches use one feed-forward layer. Otherwise each has its own share of the inner
  /// width.
  bool shared = false;
};

/// Self-attention of one layer.
struct SelfAttention {
  /// The keys that a row sees, in addition to the limits of the stack.
  transformer::Visibility visibility = transformer::Visibility::all();
  /// Whether an average of all rows so far replaces it.
  bool averages = false;
  friend bool operator==(const SelfAttention &, const SelfAttention &) = default;
};

/// A model of the family: its sizes and its layers.
struct Transformer {
  int64_t sourceVocabulary = 0;
  int64_t targetVocabulary = 0;
  int64_t width = 0;
  int64_t encoderLayers = 0;
  int64_t decoderLayers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  /// Norms are before each sub-layer instead of after its residual connection.
  bool preNorm = false;
  /// A norm after the last layer of each stack.
  bool finalNorm = false;
  /// A norm after the sum of embedding and position.
  bool embeddingNorm = false;
  double epsilon = 1e-6;
  transformer::Activation activation = {};
  Positions positions = Positions::Sinusoidal;
  int64_t maxPositions = 0;
  /// The position of the first token.
  int64_t firstPosition = 0;
  /// One table for both embeddings and the output.
  bool tied = true;
  bool scaleEmbeddings = true;
  /// The embedding of the first target token is zero, whichever token it is.
  bool startFromZero = false;
  bool outputBias = false;
  /// Sizes of the blocks of decoder layers that share the weights of the first layer's
  /// self-attention, or the result of its cross-attention. Empty if every layer has its own.
  std::vector<int64_t> selfBlocks;
  std::vector<int64_t> crossBlocks;
  /// One for each layer.
  std::vector<SelfAttention> encoderAttention;
  std::vector<SelfAttention> decoderAttention;
  /// The decoder layer whose cross-attention is an output.
  int64_t alignmentLayer = 0;
  Branches branches;

  /// Reads the sizes from a configuration.
  static Result<Transformer> read(const Config &config);
  /// The two entries of the model.
  void encode(const Scope &model, Entry entry) const;
  void decode(const Scope &model, Entry entry) const;

private:
  template <typename Function>
  Tensor subLayer(const Scope &layer, std::string_view name, const Tensor &x, Function f) const;
  Attended attention(const Scope &scope, const Tensor &x, const Segments &rows,
                     const Memory &memory, Scoring scoring, int64_t count) const;
  Tensor average(const Scope &scope, const Tensor &x, const Segments &rows, Entry &entry) const;
  Tensor feedForward(const Scope &scope, const Tensor &x, int64_t inner) const;
  Tensor sumBranches(const Scope &scope, Entry &entry, const Tensor &heads) const;
  Tensor embed(const Scope &model, std::string_view stack, const Ids &tokens, int64_t vocabulary,
               const Segments &rows) const;
  Tensor endStack(const Scope &stack, const Tensor &x) const;
  Tensor logits(const Scope &model, const Tensor &x) const;
  Scope crossAttention(const Scope &model, int64_t layer) const;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_TRANSFORMER_H
