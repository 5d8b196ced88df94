// SPDX-License-Identifier: Apache-2.0
///
/// Sizes and names. In model.bin the projections of one input are stacked: query, key and value of
/// self-attention in linear_0; key and value of cross-attention in linear_1.
#include "formats/CTranslate2/CTranslate2Names.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>

namespace heddle {

static std::string layerOf(const std::string &stack, int64_t layer) {
  return fmt::format("{}/layer_{}", stack, layer);
}

std::string ctranslate2Embeddings(const CTranslate2Variables &variables, const std::string &stack) {
  const std::string numbered = stack + "/embeddings_0/weight";
  return variables.has(numbered) ? numbered : stack + "/embeddings/weight";
}

static Result<int64_t> countLayers(const CTranslate2Variables &variables,
                                   const std::string &stack) {
  int64_t layers = 0;
  while (variables.has(layerOf(stack, layers) + "/ffn/linear_0/weight")) {
    ++layers;
  }
  if (layers == 0) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: variable {} is missing, expected at least one "
                                              "layer",
                                              variables.path(),
                                              quote(layerOf(stack, 0) + "/ffn/linear_0/weight")));
  }
  return layers;
}

/// Returns whether both stacks have the variable.
static Result<bool> inBoth(const CTranslate2Variables &variables, const std::string &name) {
  const bool inEncoder = variables.has("encoder/" + name);
  const bool inDecoder = variables.has("decoder/" + name);
  if (inEncoder != inDecoder) {
    const std::string present = (inEncoder ? "encoder/" : "decoder/") + name;
    const std::string absent = (inEncoder ? "decoder/" : "encoder/") + name;
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("{}: variable {} is present, {} is missing, expected both or neither",
                    variables.path(), quote(present), quote(absent)));
  }
  return inEncoder;
}

static bool isSame(const StoredTensor &a, const StoredTensor &b) {
  return a.bytes.data() == b.bytes.data() && a.shape == b.shape;
}

Result<CTranslate2Sizes> readCTranslate2Sizes(CTranslate2Variables &variables) {
  CTranslate2Sizes sizes;
  HEDDLE_ASSIGN(sizes.encoderLayers, countLayers(variables, "encoder"));
  HEDDLE_ASSIGN(sizes.decoderLayers, countLayers(variables, "decoder"));
  HEDDLE_ASSIGN(const StoredTensor *const source,
                variables.tensor(ctranslate2Embeddings(variables, "encoder"), {-1, -1}));
  sizes.sourceWords = source->shape[0];
  sizes.width = source->shape[1];
  HEDDLE_ASSIGN(const StoredTensor *const target,
                variables.tensor(ctranslate2Embeddings(variables, "decoder"), {-1, sizes.width}));
  sizes.targetWords = target->shape[0];
  HEDDLE_ASSIGN(const StoredTensor *const output,
                variables.tensor("decoder/projection/weight", {sizes.targetWords, sizes.width}));
  sizes.isTied = isSame(*source, *target) && isSame(*target, *output);
  sizes.hasOutputBias = variables.has("decoder/projection/bias");
  HEDDLE_ASSIGN(const StoredTensor *const inner,
                variables.tensor("encoder/layer_0/ffn/linear_0/weight", {-1, sizes.width}));
  sizes.inner = inner->shape[0];
  HEDDLE_ASSIGN(sizes.hasFinalNorm, inBoth(variables, "layer_norm/gamma"));
  HEDDLE_ASSIGN(sizes.hasEmbeddingNorm, inBoth(variables, "layernorm_embedding/gamma"));
  HEDDLE_ASSIGN(const bool hasPositions, inBoth(variables, "position_encodings/encodings"));
  if (hasPositions) {
    HEDDLE_ASSIGN(const StoredTensor *const first,
                  variables.tensor("encoder/position_encodings/encodings", {-1, sizes.width}));
    HEDDLE_ASSIGN(const StoredTensor *const second,
                  variables.tensor("decoder/position_encodings/encodings", {-1, sizes.width}));
    sizes.positions = std::min(first->shape[0], second->shape[0]);
  }
  return sizes;
}

namespace {

/// Takes variables one after another and assigns their parts the names of our format.
class Naming {
public:
  Naming(CTranslate2Variables &variables, const CTranslate2Sizes &sizes)
      : variables(variables), sizes(sizes) {}

  Status linear(const std::string &variable, const std::string &prefix,
                std::initializer_list<std::string_view> parts, int64_t rows, int64_t columns);
  Status norm(const std::string &variable, const std::string &name);
  Status layer(const std::string &stack, int64_t number, bool isDecoder);
  Status stack(const std::string &stack, int64_t layers, bool isDecoder);
  Status embeddings();

  std::vector<TensorView> views;

private:
  CTranslate2Variables &variables;
  const CTranslate2Sizes &sizes;
};

} // namespace

/// Names projections stacked in one variable, each from `columns` to `rows`.
Status Naming::linear(const std::string &variable, const std::string &prefix,
                      std::initializer_list<std::string_view> parts, int64_t rows,
                      int64_t columns) {
  const auto all = static_cast<int64_t>(parts.size()) * rows;
  HEDDLE_TRY(variables.tensor(variable + "/weight", {all, columns}).status());
  HEDDLE_TRY(variables.tensor(variable + "/bias", {all}).status());
  int64_t row = 0;
  for (const std::string_view part : parts) {
    views.push_back({fmt::format("{}{}.weight", prefix, part), variable + "/weight", row, rows});
    views.push_back({fmt::format("{}{}.bias", prefix, part), variable + "/bias", row, rows});
    row += rows;
  }
  return {};
}

Status Naming::norm(const std::string &variable, const std::string &name) {
  HEDDLE_TRY(variables.tensor(variable + "/gamma", {sizes.width}).status());
  HEDDLE_TRY(variables.tensor(variable + "/beta", {sizes.width}).status());
  views.push_back({name + ".weight", variable + "/gamma"});
  views.push_back({name + ".bias", variable + "/beta"});
  return {};
}

Status Naming::layer(const std::string &stack, int64_t number, bool isDecoder) {
  const std::string from = layerOf(stack, number) + "/";
  const std::string to = fmt::format("{}.layers.{}.", stack, number);
  const int64_t width = sizes.width;
  const std::string self = from + "self_attention/";
  HEDDLE_TRY(
      linear(self + "linear_0", to + "self_attention.", {"query", "key", "value"}, width, width));
  HEDDLE_TRY(linear(self + "linear_1", to + "self_attention.", {"output"}, width, width));
  HEDDLE_TRY(norm(self + "layer_norm", to + "self_attention_norm"));
  if (isDecoder) {
    const std::string cross = from + "attention/";
    HEDDLE_TRY(linear(cross + "linear_0", to + "cross_attention.", {"query"}, width, width));
    HEDDLE_TRY(linear(cross + "linear_1", to + "cross_attention.", {"key", "value"}, width, width));
    HEDDLE_TRY(linear(cross + "linear_2", to + "cross_attention.", {"output"}, width, width));
    HEDDLE_TRY(norm(cross + "layer_norm", to + "cross_attention_norm"));
  }
  HEDDLE_TRY(linear(from + "ffn/linear_0", to + "ffn.", {"inner"}, sizes.inner, width));
  HEDDLE_TRY(linear(from + "ffn/linear_1", to + "ffn.", {"outer"}, width, sizes.inner));
  return norm(from + "ffn/layer_norm", to + "ffn_norm");
}

Status Naming::stack(const std::string &stack, int64_t layers, bool isDecoder) {
  if (sizes.positions > 0) {
    // Taken with the sizes; the shorter of the two lengths is used.
    views.push_back(
        {stack + ".positions.weight", stack + "/position_encodings/encodings", 0, sizes.positions});
  }
  if (sizes.hasEmbeddingNorm) {
    HEDDLE_TRY(norm(stack + "/layernorm_embedding", stack + ".embedding_norm"));
  }
  for (int64_t number = 0; number < layers; ++number) {
    HEDDLE_TRY(layer(stack, number, isDecoder));
  }
  return sizes.hasFinalNorm ? norm(stack + "/layer_norm", stack + ".norm") : Status();
}

/// Names the tables, which were taken with the sizes.
Status Naming::embeddings() {
  const std::string source = ctranslate2Embeddings(variables, "encoder");
  if (sizes.isTied) {
    views.push_back({"shared.weight", source});
  } else {
    views.push_back({"encoder.embed.weight", source});
    views.push_back({"decoder.embed.weight", ctranslate2Embeddings(variables, "decoder")});
    views.push_back({"output.weight", "decoder/projection/weight"});
  }
  if (sizes.hasOutputBias) {
    HEDDLE_TRY(variables.tensor("decoder/projection/bias", {sizes.targetWords}).status());
    views.push_back({"output.bias", "decoder/projection/bias"});
  }
  return {};
}

Result<std::vector<TensorView>> nameCTranslate2Tensors(CTranslate2Variables &variables,
                                                       const CTranslate2Sizes &sizes) {
  Naming naming(variables, sizes);
  HEDDLE_TRY(naming.embeddings());
  HEDDLE_TRY(naming.stack("encoder", sizes.encoderLayers, false));
  HEDDLE_TRY(naming.stack("decoder", sizes.decoderLayers, true));
  return std::move(naming.views);
}

} // namespace heddle
