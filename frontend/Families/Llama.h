// SPDX-License-Identifier: Apache-2.0
///
/// The decoder of LLaMA, for families that differ from it in some parts: Touvron et al., "LLaMA:
/// open and efficient foundation language models", section 2.2. RMS norms before sub-layers, rotary
/// positions, gated feed-forward layers, grouped heads.
#ifndef HEDDLE_FRONTEND_FAMILIES_LLAMA_H
#define HEDDLE_FRONTEND_FAMILIES_LLAMA_H

#include "frontend/Families/DecoderLayers.h"
#include "frontend/Families/Family.h"
#include "frontend/Families/Rotary.h"

#include <functional>

namespace heddle {

/// Such a model: its sizes, the options of families, and its layers.
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
  /// Whether heads of queries and keys have RMS norms.
  bool normalizesHeads = false;
  /// Replacements for projections with other tensor names, and for feed-forward layers; empty:
  /// those of LLaMA.
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

/// A family's defaults.
struct AbsentLlama {
  double epsilon = 1e-6;
  AbsentHeads heads = {};
  RotarySpelling rotary = {};
};

/// Reads the keys that these families share.
Result<Llama> readLlama(const ModelSource &source, const AbsentLlama &absent = {});

/// Builds the model; `keys` are the family's.
Result<FamilyModel> buildLlamaModel(mlir::MLIRContext &context, std::string_view modelType,
                                    const Llama &llama, const ModelSource &source, ConfigKeys keys);

/// Returns the keys of these families: the shared ones with those of `family`, and its own
/// `neutral` and `fixed` ones.
ConfigKeys llamaKeys(std::string_view family, std::vector<std::string_view> neutral = {},
                     std::vector<FixedKey> fixed = {});

/// Reads Qwen's windows: "sliding_window" keys in layers from "max_window_layers" on, if
/// "use_sliding_window" is true.
Status readQwenWindows(const Config &config, Llama &model);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_LLAMA_H
