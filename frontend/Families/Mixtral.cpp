// SPDX-License-Identifier: Apache-2.0
///
/// Decoders with mixtures of experts: Mixtral (Jiang et al., "Mixtral of experts", section 2) and
/// the mixtures of Qwen 3 (Yang et al., "Qwen3 technical report", section 2), some of whose layers
/// are dense.
#include "frontend/Families/Llama.h"

#include "formats/Config/Config.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

/// Reads "num_experts_per_tok" and the number of experts, under either key.
static Result<Experts> readExperts(const Config &config, int64_t absentCount,
                                   int64_t absentChosen) {
  Experts experts;
  constexpr int64_t most = 1 << 10;
  HEDDLE_ASSIGN(const int64_t count, config.integerOr("num_experts", 1, most, absentCount));
  HEDDLE_ASSIGN(experts.count, config.integerOr("num_local_experts", 1, most, count));
  HEDDLE_ASSIGN(experts.chosen, config.integerOr("num_experts_per_tok", 1, most, absentChosen));
  constexpr int64_t mostChosen = 255;
  if (experts.chosen > std::min(experts.count, mostChosen)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"num_experts_per_tok\" is {}, expected at most {}",
                                    config.where(), experts.chosen,
                                    std::min(experts.count, mostChosen)));
  }
  return experts;
}

/// Keys for training, and a result that is not computed.
static const std::vector<std::string_view> neutralKeys = {"output_router_logits",
                                                          "router_aux_loss_coef"};

Result<FamilyModel> buildMixtral(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Llama model, readLlama(source, {.epsilon = 1e-5,
                                                .heads = {.keyHeads = 8},
                                                .rotary = {.absentBase = 1e6}}));
  HEDDLE_ASSIGN(const int64_t window, readWindow(config, 0));
  model.windows.assign(static_cast<size_t>(model.layers), window);
  HEDDLE_ASSIGN(Experts experts, readExperts(config, 8, 2));
  experts.inner = model.inner;
  experts.names = {"w1", "w3", "w2"};
  model.feedForward = [experts, activation = model.activation](
                          const Scope &layer, int64_t, const Tensor &x, const Segments &rows) {
    return mixExperts(layer.scope("block_sparse_moe"), x, rows, experts, activation);
  };
  std::vector<std::string_view> neutral = neutralKeys;
  neutral.emplace_back("router_jitter_noise");
  return buildLlamaModel(context, "mixtral", model, source, llamaKeys("Mixtral", neutral));
}

Result<FamilyModel> buildQwen3Moe(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Llama model, readLlama(source, {.heads = {.keyHeads = 4}}));
  HEDDLE_ASSIGN(const bool bias, config.booleanOr("attention_bias", false));
  model.projectionBias = model.outputBias = bias ? Bias::Yes : Bias::No;
  model.normalizesHeads = true;
  HEDDLE_ASSIGN(const bool hasWindows, config.booleanOr("use_sliding_window", false));
  HEDDLE_ASSIGN(const int64_t window, readWindow(config, 4096));
  model.windows.assign(static_cast<size_t>(model.layers), hasWindows ? window : 0);
  HEDDLE_ASSIGN(Experts experts, readExperts(config, 128, 8));
  HEDDLE_ASSIGN(experts.inner, config.integerOr("moe_intermediate_size", 1, 4 * widthLimit, 768));
  HEDDLE_ASSIGN(experts.normalizes, config.booleanOr("norm_topk_prob", false));
  HEDDLE_ASSIGN(const int64_t step, config.integerOr("decoder_sparse_step", 1, layerLimit, 1));
  std::vector<int64_t> dense;
  if (config.has("mlp_only_layers")) {
    HEDDLE_ASSIGN(dense, config.integers("mlp_only_layers", 0, layerLimit));
  }
  const Llama plain = model;
  model.feedForward = [=](const Scope &layer, int64_t index, const Tensor &x,
                          const Segments &rows) {
    const bool isDense =
        std::find(dense.begin(), dense.end(), index) != dense.end() || (index + 1) % step != 0;
    return isDense ? plain.gated(layer.scope("mlp"), x)
                   : mixExperts(layer.scope("mlp"), x, rows, experts, plain.activation);
  };
  std::vector<std::string_view> neutral = neutralKeys;
  // Either all layers have windows or none: Transformers ignores the number.
  neutral.emplace_back("max_window_layers");
  return buildLlamaModel(context, "qwen3_moe", model, source, llamaKeys("Qwen3Moe", neutral));
}

} // namespace heddle
