// SPDX-License-Identifier: Apache-2.0
///
/// Parts that decoder-only families share: what is around their layers, attention to the past whose
/// heads share keys, windows, gated feed-forward layers, and experts. Each is written once, with
/// the names of tensors as its arguments.
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

/// How a family spells its sizes in config.json and the tensors around its layers.
struct DecoderNames {
  std::string_view width = "hidden_size", layers = "num_hidden_layers";
  /// What the names of all tensors but the output's begin with in a model that has a head.
  std::string_view prefix = "model";
  std::string_view embeddings = "embed_tokens", output = "lm_head";
  /// Where its layers are, and what some folders have in each of them that is not a parameter.
  std::string_view layer = "layers";
  std::vector<std::string_view> buffers = {};
};

/// What decoder-only families have around their layers: a table of embeddings, and an output that
/// may use it. A family's model is one of these.
struct DecoderFrame {
  DecoderNames names;
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  /// The output uses the table of the embeddings.
  bool tied = false;
  /// A soft cap of the logits; 0: none.
  double logitCap = 0;

  /// Reads the sizes, and "tie_word_embeddings", which is `absentTied` where it is absent.
  Status readFrame(const Config &config, DecoderNames spelling, bool absentTied);
};

/// The layers and the norm after them: embeddings [t, width] of the rows of an entry to as many
/// rows, from which the output makes logits.
using DecoderBody = std::function<Tensor(const Scope &model, const Tensor &embedded, Entry &entry)>;

/// Writes the model, whose only entry is `decode`. Notes of `rotaries` become the model's.
Result<FamilyModel> buildDecoder(mlir::MLIRContext &context, std::string_view modelType,
                                 const DecoderFrame &frame, const ModelSource &source,
                                 ConfigKeys keys, const DecoderBody &body,
                                 std::initializer_list<const Rotary *> rotaries = {});

/// Heads of queries, and heads of keys and values that neighbours of them share: Ainslie et al.,
/// "GQA: training generalized multi-query Transformer models from multi-head checkpoints".
struct GroupedHeads {
  int64_t heads = 0;
  int64_t keyHeads = 0;
  /// The size of one head: all together need not be as wide as the model.
  int64_t size = 0;

  int64_t queryWidth() const { return heads * size; }
  int64_t keyWidth() const { return keyHeads * size; }
};

/// What a family has where config.json does not say it; 0: as many key heads as heads, and heads
/// that are as wide as the model, together. Null means as many key heads as heads in all families.
struct AbsentHeads {
  int64_t keyHeads = 0;
  int64_t size = 0;
};

/// "num_attention_heads", "num_key_value_heads" and "head_dim".
Result<GroupedHeads> readGroupedHeads(const Config &config, int64_t width,
                                      const AbsentHeads &absent = {});

/// For each layer how many keys a query sees, itself and those before it; 0: all.
using Windows = std::vector<int64_t>;

/// "sliding_window": null means none, and a missing key means `absent`.
Result<int64_t> readWindow(const Config &config, int64_t absent);

/// Reads "layer_types"; `isLocal` says which layers have a window where that is absent. Refuses a
/// layer with a window if that is 0.
Result<Windows> readWindows(const Config &config, int64_t layers, int64_t window,
                            const std::function<bool(int64_t layer)> &isLocal);

/// Queries, keys and values of the rows of an entry, heads side by side.
struct Projections {
  Tensor query, key, value;
};

/// The attention of a decoder to itself and what came before, without W^O: queries and keys are
/// turned where there is a rotation, and keys and values kept in caches "key" and "value".
Tensor attendToPast(const Scope &self, Entry &entry, const Projections &of,
                    const GroupedHeads &heads, const Rotation *rotation, int64_t window,
                    Scoring scoring);

/// An RMS norm of every head of queries or keys, with one weight for all.
Tensor normalizeHeads(const Tensor &x, const Segments &rows, int64_t heads,
                      const std::function<Tensor(const Tensor &head)> &norm);

/// Shazeer, "GLU variants improve Transformer": (f(W_gate x) * W_up x) W_down. `x` is what is
/// mapped, and `made` how wide a map is.
using LinearMap = std::function<Tensor(std::string_view name, const Tensor &x, int64_t made)>;
struct GatedNames {
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
};
Tensor gatedFeedForward(const Tensor &x, int64_t inner, transformer::Activation activation,
                        const LinearMap &map, const GatedNames &names = {});

/// Experts: gated feed-forward layers of which each row chooses some. Shazeer et al.,
/// "Outrageously large neural networks: the sparsely-gated mixture-of-experts layer".
struct Experts {
  int64_t count = 0;
  /// How many a row chooses.
  int64_t chosen = 0;
  int64_t inner = 0;
  /// The weights of those chosen add up to one.
  bool normalizes = true;
  GatedNames names;
};

/// The sum of what the chosen experts give, with the softmax of a gate as weights: `block` has
/// "gate" and "experts".
Tensor mixExperts(const Scope &block, const Tensor &x, const Segments &rows, const Experts &experts,
                  transformer::Activation activation);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_DECODERLAYERS_H
