// SPDX-License-Identifier: Apache-2.0
///
/// A model of the project's own format: its numbers, and its mathematics in the order of the
/// papers.
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

/// How tokens know where they are.
enum class Positions { Sinusoidal, SinusoidalSplit, Learned };

/// What a layer of the Weighted Transformer has in place of attention's W^O and the feed-forward
/// layer.
struct Branches {
  /// 0: a model without. Attention before the branches has as many heads.
  int64_t count = 0;
  /// One feed-forward layer for all of them, else each has its own share of the inner width.
  bool shared = false;
};

/// A model of the family: its numbers and its mathematics.
struct Transformer {
  int64_t sourceVocabulary = 0;
  int64_t targetVocabulary = 0;
  int64_t width = 0;
  int64_t encoderLayers = 0;
  int64_t decoderLayers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  /// A norm before each sub-layer, else after its residual connection.
  bool preNorm = false;
  /// A norm after the last layer of each stack.
  bool finalNorm = false;
  /// A norm after the sum of embedding and position.
  bool embeddingNorm = false;
  double epsilon = 1e-6;
  transformer::Activation activation = {};
  Positions positions = Positions::Sinusoidal;
  int64_t maxPositions = 0;
  /// The sinusoid of the first token.
  int64_t firstPosition = 0;
  /// One table for both embeddings and the output.
  bool tied = true;
  bool scaleEmbeddings = true;
  /// The first token of a target, whichever it is, has zeros for its embedding.
  bool startFromZero = false;
  bool outputBias = false;
  /// Sizes of the blocks of decoder layers that share the weights of their first layer's attention
  /// to the target, and the result of that to the source; none: every layer has its own.
  std::vector<int64_t> selfBlocks;
  std::vector<int64_t> crossBlocks;
  /// Averages in place of the decoder's attention to the target.
  bool averages = false;
  /// The decoder layer whose attention to the source is an output.
  int64_t alignmentLayer = 0;
  Branches branches;

  /// The numbers of a configuration.
  static Result<Transformer> read(const Config &config);
  /// The two entries of the model.
  void encode(const Scope &model, Entry entry) const;
  void decode(const Scope &model, Entry entry) const;

private:
  template <typename Function>
  Tensor subLayer(const Scope &layer, std::string_view name, const Tensor &x, Function f) const;
  Attended attention(const Scope &scope, const Tensor &x, const Segments &rows,
                     const Memory &memory, transformer::Visibility visibility, int64_t count) const;
  Tensor average(const Scope &scope, const Tensor &x, const Segments &rows, Entry &entry) const;
  Tensor feedForward(const Scope &scope, const Tensor &x, int64_t inner) const;
  Tensor sumBranches(const Scope &scope, Entry &entry, const Tensor &heads) const;
  Tensor embed(const Scope &model, std::string_view stack, const Ids &tokens, int64_t vocabulary,
               const Segments &rows) const;
  Tensor endStack(const Scope &stack, const Tensor &x) const;
  Scope crossAttention(const Scope &model, int64_t layer) const;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_TRANSFORMER_H
