// SPDX-License-Identifier: Apache-2.0
///
/// Phi-3: Abdin et al., "Phi-3 technical report: a highly capable language model locally on your
/// phone", section 2: the blocks of LLaMA with fused projection tensors, for queries, keys and
/// values, and for gates and their factors. Only part of a head may be rotated.
#include "frontend/Families/Llama.h"

#include "formats/Config/Config.h"

namespace heddle {

/// Returns queries, keys and values, sliced from one projection.
static Projections project(const Scope &self, const Tensor &x, const GroupedHeads &heads) {
  const int64_t queries = heads.queryWidth(), keys = heads.keyWidth();
  const Tensor all = self.linear("qkv_proj", x, queries + 2 * keys, Bias::No);
  return {all.columns(0, queries), all.columns(queries, keys), all.columns(queries + keys, keys)};
}

/// The rows of the gate come first in the tensor.
static Tensor feedForward(const Scope &mlp, const Tensor &x, int64_t inner,
                          transformer::Activation activation) {
  const Parameter both = mlp.parameter("gate_up_proj.weight", {2 * inner, x.width()});
  const GatedNames names = {"gate", "up", "down_proj"};
  const auto map = [&](std::string_view name, const Tensor &in, int64_t made) {
    if (name == names.down) {
      return mlp.linear(name, in, made, Bias::No);
    }
    const int64_t first = name == names.gate ? 0 : inner;
    return mlp.linear(in, mlp.scope("gate_up_proj").rows(name, both, first, inner));
  };
  return gatedFeedForward(x, inner, activation, map, names);
}

Result<FamilyModel> buildPhi3(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Llama model,
                readLlama(source, {.epsilon = 1e-5,
                                   .rotary = {.absentOriginal = 4096, .hasOldNames = true}}));
  HEDDLE_ASSIGN(const int64_t window, readWindow(config, 0));
  model.windows.assign(static_cast<size_t>(model.layers), window);
  model.project = [heads = model.heads](const Scope &self, const Tensor &x) {
    return project(self, x, heads);
  };
  model.feedForward = [inner = model.inner, activation = model.activation](
                          const Scope &layer, int64_t, const Tensor &x, const Segments &) {
    return feedForward(layer.scope("mlp"), x, inner, activation);
  };
  return buildLlamaModel(
      context, "phi3", model, source,
      llamaKeys(
          "Phi3", {"embd_pdrop", "original_max_position_embeddings", "resid_pdrop"},
          {{"attention_bias", {"false"}}, {"lm_head_bias", {"false"}}, {"mlp_bias", {"false"}}}));
}

} // namespace heddle
