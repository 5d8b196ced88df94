// SPDX-License-Identifier: Apache-2.0
///
/// The decoder of LLaMA as families have it that differ from it in one part or another: Touvron et
/// al., "LLaMA: open and efficient foundation language models", section 2.2. RMS norms before
/// sub-layers, rotary positions, gated feed-forward layers, heads that share keys.
#ifndef HEDDLE_FRONTEND_FAMILIES_LLAMA_H
#define HEDDLE_FRONTEND_FAMILIES_LLAMA_H

#include "frontend/Families/DecoderLayers.h"
#include "frontend/Families/Family.h"
#include "frontend/Families/Rotary.h"

#include <functional>

namespace heddle {

/// A model of the kind: its sizes, the options that families have, and its mathematics.
struct Llama : DecoderFrame {
  GroupedHeads heads;
  int64_t inner = 0;
  double epsilon = 0;
  transformer::Activation activation = transformer::Activation::Silu;
  Rotary rotary;
  /// One for each layer.
  Windows windows;
  /// Biases of the projections of queries, keys and values, of W^O, and of feed-forward layers.
  Bias projectionBias = Bias::No;
  Bias outputBias = Bias::No;
  Bias feedForwardBias = Bias::No;
  /// Heads of queries and keys have RMS norms.
  bool normalizesHeads = false;
  /// Projections that are spelt otherwise, and feed-forward layers that are others; none: those of
  /// LLaMA.
  std::function<Projections(const Scope &self, const Tensor &x)> project;
  std::function<Tensor(const Scope &layer, int64_t index, const Tensor &x, const Segments &rows)>
      feedForward;

  Projections projections(const Scope &self, const Tensor &x, const Segments &rows) const;
  Tensor attention(const Scope &self, int64_t layer, const Tensor &x, const Rotation &rotation,
                   Entry &entry) const;
  Tensor gated(const Scope &mlp, const Tensor &x) const;
  Tensor layer(const Scope &scope, int64_t index, const Tensor &x, const Rotation &rotation,
               Entry &entry) const;
  Tensor body(const Scope &model, const Tensor &embedded, Entry &entry) const;
};

/// What families of the kind have where config.json does not say it.
struct AbsentLlama {
  double epsilon = 1e-6;
  AbsentHeads heads = {};
  RotarySpelling rotary = {};
};

/// What families of the kind read alike.
Result<Llama> readLlama(const ModelSource &source, const AbsentLlama &absent = {});

/// Writes the model; `keys` are the family's.
Result<FamilyModel> buildLlamaModel(mlir::MLIRContext &context, std::string_view modelType,
                                    const Llama &llama, const ModelSource &source, ConfigKeys keys);

/// The keys of all such families: those of `family`, and `neutral` and `fixed` ones of its own.
ConfigKeys llamaKeys(std::string_view family, std::vector<std::string_view> neutral = {},
                     std::vector<FixedKey> fixed = {});

/// Heads that have a window of "sliding_window" keys in layers from "max_window_layers" on, where
/// "use_sliding_window" is true: Qwen.
Status readQwenWindows(const Config &config, Llama &model);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_LLAMA_H
