// SPDX-License-Identifier: Apache-2.0
///
/// Parts that decoder-only families share: the frame around their layers, attention to the past
/// with grouped heads and windows, gated feed-forward layers, and mixtures of experts. Each is
/// written once, with the names of tensors as arguments.
#ifndef HEDDLE_FRONTEND_FAMILIES_DECODERLAYERS_H
#define HEDDLE_FRONTEND_FAMILIES_DECODERLAYERS_H

#include "dialects/Transformer/Transformer.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/DotProductAttention.h"
#include "frontend/Families/Family.h"
#include "frontend/Families/Rotary.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace heddle {

/// The names of a family's sizes in config.json and of the tensors around its layers.
struct DecoderNames {
  std::string_view width = "hidden_size", layers = "num_hidden_layers";
  /// The prefix of all tensors except the output's, in a model with a head.
  std::string_view prefix = "model";
  std::string_view embeddings = "embed_tokens", output = "lm_head";
  /// The name of the layers, and the tensors in each layer of some folders that are no parameters.
  std::string_view layer = "layers";
  std::vector<std::string_view> buffers = {};
};

/// The frame of decoder-only models: a table of embeddings, and an output that may use it. A
/// family's model derives from it.
struct DecoderFrame {
  DecoderNames names;
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  /// Whether the output uses the table of the embeddings.
  bool tied = false;
  /// A soft cap of the logits; 0: none.
  double logitCap = 0;

  /// Reads the sizes, and "tie_word_embeddings", with the default `absentTied`.
  Status readFrame(const Config &config, DecoderNames spelling, bool absentTied);
};

/// Computes the layers and the norm after them: maps embeddings [t, width] of an entry's rows to
/// rows of the same shape, from which the output computes logits.
using DecoderBody = std::function<Tensor(const Scope &model, const Tensor &embedded, Entry &entry)>;

/// Builds the model, whose only entry is `decode`. Notes of `rotaries` become the model's.
Result<FamilyModel> buildDecoder(mlir::MLIRContext &context, std::string_view modelType,
                                 const DecoderFrame &frame, const ModelSource &source,
                                 ConfigKeys keys, const DecoderBody &body,
                                 std::initializer_list<const Rotary *> rotaries = {});

/// Heads of queries, and heads of keys and values that groups of adjacent query heads share:
/// Ainslie et al., "GQA: training generalized multi-query Transformer models from multi-head
/// checkpoints".
struct GroupedHeads {
  int64_t heads = 0;
  int64_t keyHeads = 0;
  /// The size of one head. The heads together need not be as wide as the model.
  int64_t size = 0;

  int64_t queryWidth() const { return heads * size; }
  int64_t keyWidth() const { return keyHeads * size; }
};

/// A family's defaults; 0: as many key heads as heads, and heads that together are as wide as the
/// model. Null in config.json means as many key heads as heads in all families.
struct AbsentHeads {
  int64_t keyHeads = 0;
  int64_t size = 0;
};

/// Reads "num_attention_heads", "num_key_value_heads" and "head_dim".
Result<GroupedHeads> readGroupedHeads(const Config &config, int64_t width,
                                      const AbsentHeads &absent = {});

/// For each layer, the number of keys that a query sees, including its own; 0: all.
using Windows = std::vector<int64_t>;

/// Reads "sliding_window": null means none, and a missing key means `absent`.
Result<int64_t> readWindow(const Config &config, int64_t absent);

/// Reads "layer_types"; `isLocal` is the default for which layers have a window. Rejects a layer
/// with a window if `window` is 0.
Result<Windows> readWindows(const Config &config, int64_t layers, int64_t window,
                            const std::function<bool(int64_t layer)> &isLocal);

/// Queries, keys and values of an entry's rows, with heads side by side.
struct Projections {
  Tensor query, key, value;
};

/// The self-attention of a decoder to the current and past rows, without W^O: rotates queries and
/// keys if there is a rotation, and appends keys and values to caches "key" and "value".
Tensor attendToPast(const Scope &self, Entry &entry, const Projections &of,
                    const GroupedHeads &heads, const Rotation *rotation, int64_t window,
                    Scoring scoring);

/// Applies an RMS norm to every head of queries or keys, with one weight for all heads.
Tensor normalizeHeads(const Tensor &x, const Segments &rows, int64_t heads,
                      const std::function<Tensor(const Tensor &head)> &norm);

/// Shazeer, "GLU variants improve Transformer": (f(W_gate x) * W_up x) W_down. A map takes its
/// name, its operand `x` and its output width `made`.
using LinearMap = std::function<Tensor(std::string_view name, const Tensor &x, int64_t made)>;
struct GatedNames {
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
};
Tensor gatedFeedForward(const Tensor &x, int64_t inner, transformer::Activation activation,
                        const LinearMap &map, const GatedNames &names = {});

/// Mixtures of experts: gated feed-forward layers of which each row chooses some. Shazeer et al.,
/// "Outrageously large neural networks: the sparsely-gated mixture-of-experts layer".
struct Experts {
  int64_t count = 0;
  /// The number of experts that a row chooses.
  int64_t chosen = 0;
  int64_t inner = 0;
  /// Whether the weights of the chosen experts are normalised to sum to one.
  bool normalizes = true;
  GatedNames names;
};

/// The sum of the chosen experts' results, weighted by the softmax of a gate: `block` has "gate"
/// and "experts".
Tensor mixExperts(const Scope &block, const Tensor &x, const Segments &rows, const Experts &experts,
                  transformer::Activation activation);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_DECODERLAYERS_H
