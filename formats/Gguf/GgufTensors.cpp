// SPDX-License-Identifier: Apache-2.0
///
/// Maps the names of a BERT's tensors in GGUF files to Hugging Face's.
#include "formats/Gguf/GgufModel.h"

#include "base/Utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace heddle {

namespace {

/// Collects the views of a file's tensors.
class TensorNames {
public:
  explicit TensorNames(const GgufFile &file) : file(file) {
    for (const GgufTensor &tensor : file.tensors()) {
      places.emplace(tensor.name, &tensor);
    }
  }

  /// Adds a tensor that the model has.
  Status add(const std::string &source, const std::string &name, std::vector<int64_t> shape);
  /// Adds `source`.weight [rows, columns] and `source`.bias [rows].
  Status addLinear(const std::string &source, const std::string &name, int64_t rows,
                   int64_t columns);
  /// Adds `source`.weight and `source`.bias [width].
  Status addNorm(const std::string &source, const std::string &name, int64_t width);
  /// Returns all tensors; those that were not named keep their names.
  std::vector<TensorView> finish() &&;

private:
  const GgufFile &file;
  std::map<std::string_view, const GgufTensor *> places;
  std::vector<TensorView> views;
  std::set<std::string_view> used;
};

} // namespace

Status TensorNames::add(const std::string &source, const std::string &name,
                        std::vector<int64_t> shape) {
  const auto found = places.find(source);
  if (found == places.end()) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: tensor {} is missing, expected one of shape {}",
                                              file.path(), quote(source), formatShape(shape)));
  }
  if (found->second->shape != shape) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {} has shape {}, expected {}", file.path(),
                                    quote(source), formatShape(found->second->shape),
                                    formatShape(shape)));
  }
  used.insert(found->first);
  views.push_back({.name = name, .source = source});
  return {};
}

Status TensorNames::addLinear(const std::string &source, const std::string &name, int64_t rows,
                              int64_t columns) {
  HEDDLE_TRY(add(source + ".weight", name + ".weight", {rows, columns}));
  return add(source + ".bias", name + ".bias", {rows});
}

Status TensorNames::addNorm(const std::string &source, const std::string &name, int64_t width) {
  HEDDLE_TRY(add(source + ".weight", name + ".weight", {width}));
  return add(source + ".bias", name + ".bias", {width});
}

std::vector<TensorView> TensorNames::finish() && {
  for (const GgufTensor &tensor : file.tensors()) {
    if (!used.contains(tensor.name)) {
      views.push_back({.name = tensor.name, .source = tensor.name});
    }
  }
  return std::move(views);
}

Result<std::vector<TensorView>> nameGgufTensors(const GgufFile &file, const GgufSizes &sizes) {
  const auto &[words, width, layers, heads, inner, positions, tokenTypes] = sizes;
  TensorNames names(file);
  const std::string table = "embeddings.";
  HEDDLE_TRY(names.add("token_embd.weight", table + "word_embeddings.weight", {words, width}));
  HEDDLE_TRY(
      names.add("token_types.weight", table + "token_type_embeddings.weight", {tokenTypes, width}));
  HEDDLE_TRY(
      names.add("position_embd.weight", table + "position_embeddings.weight", {positions, width}));
  HEDDLE_TRY(names.addNorm("token_embd_norm", table + "LayerNorm", width));
  for (int64_t i = 0; i < layers; ++i) {
    const std::string block = fmt::format("blk.{}.", i);
    const std::string layer = fmt::format("encoder.layer.{}.", i);
    const std::string attention = layer + "attention.";
    HEDDLE_TRY(names.addLinear(block + "attn_q", attention + "self.query", width, width));
    HEDDLE_TRY(names.addLinear(block + "attn_k", attention + "self.key", width, width));
    HEDDLE_TRY(names.addLinear(block + "attn_v", attention + "self.value", width, width));
    HEDDLE_TRY(names.addLinear(block + "attn_output", attention + "output.dense", width, width));
    HEDDLE_TRY(names.addNorm(block + "attn_output_norm", attention + "output.LayerNorm", width));
    HEDDLE_TRY(names.addLinear(block + "ffn_up", layer + "intermediate.dense", inner, width));
    HEDDLE_TRY(names.addLinear(block + "ffn_down", layer + "output.dense", width, inner));
    HEDDLE_TRY(names.addNorm(block + "layer_output_norm", layer + "output.LayerNorm", width));
  }
  return std::move(names).finish();
}

} // namespace heddle
