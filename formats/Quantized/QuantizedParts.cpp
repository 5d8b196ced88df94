// SPDX-License-Identifier: Apache-2.0
///
/// Looks parts up, and reports errors in them.
#include "formats/Quantized/QuantizedParts.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

float realAt(const StoredTensor &tensor, int64_t index) {
  const std::byte *const from = tensor.bytes.data() + index * infoOf(tensor.dtype).bytes();
  if (tensor.dtype == ElementType::F32) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return tensor.dtype == ElementType::F16 ? f16ToF32(bits) : bf16ToF32(bits);
}

uint32_t wordAt(const StoredTensor &tensor, int64_t index) {
  uint32_t word;
  std::memcpy(&word, tensor.bytes.data() + index * int64_t(sizeof word), sizeof word);
  return word;
}

std::string LayerParts::where(std::string_view suffix) const {
  const std::string name = layer + std::string(suffix);
  const Result<std::string> file = checkpoint.fileOf(name);
  // A missing part would be in the only file, or in any of several.
  const std::string &place =
      checkpoint.files().size() == 1 ? checkpoint.files().front().path() : checkpoint.path();
  return fmt::format("{}: tensor {}", file.ok() ? *file : place, quote(name));
}

Result<const StoredTensor *>
LayerParts::optionalPart(std::string_view suffix, std::initializer_list<ElementType> types,
                         const std::optional<std::vector<int64_t>> &shape) {
  const StoredTensor *const tensor = checkpoint.find(layer + std::string(suffix));
  if (tensor == nullptr) {
    return tensor;
  }
  if (std::find(types.begin(), types.end(), tensor->dtype) == types.end()) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{} has type {}, expected {}", where(suffix),
                                                 infoOf(tensor->dtype).safetensors,
                                                 typeChoices({types.begin(), types.size()})));
  }
  if (shape && tensor->shape != *shape) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} has shape {}, expected {}", where(suffix),
                                              formatShape(tensor->shape), formatShape(*shape)));
  }
  taken.push_back(tensor->name);
  return tensor;
}

Result<const StoredTensor *> LayerParts::part(std::string_view suffix,
                                              std::initializer_list<ElementType> types,
                                              const std::optional<std::vector<int64_t>> &shape) {
  HEDDLE_ASSIGN(const StoredTensor *const tensor, optionalPart(suffix, types, shape));
  if (tensor == nullptr) {
    return HEDDLE_ERROR(NotFound, fmt::format("{} is missing, expected it beside the other parts "
                                              "of {}",
                                              where(suffix), quote(layer)));
  }
  return tensor;
}

Result<const StoredTensor *> LayerParts::matrix(std::string_view suffix,
                                                std::initializer_list<ElementType> types) {
  HEDDLE_ASSIGN(const StoredTensor *const tensor, part(suffix, types));
  if (tensor->shape.size() != 2 || tensor->shape[0] < 1 || tensor->shape[1] < 1) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} has shape {}, expected rows and columns",
                                              where(suffix), formatShape(tensor->shape)));
  }
  return tensor;
}

Status LayerParts::checkScales(const StoredTensor &scales) const {
  const auto count =
      static_cast<int64_t>(scales.bytes.size()) / int64_t(infoOf(scales.dtype).bytes());
  for (int64_t i = 0; i < count; ++i) {
    const float scale = realAt(scales, i);
    if (!std::isfinite(scale) || scale <= 0) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: scale {} is {}, expected a finite number above 0",
                                      where(scales.name.substr(layer.size())), i + 1, scale));
    }
  }
  return {};
}

Status LayerParts::checkOrder(std::string_view suffix, int64_t columns, int64_t group) {
  HEDDLE_ASSIGN(
      const StoredTensor *const order,
      optionalPart(suffix, {ElementType::I32, ElementType::I64}, std::vector<int64_t>{columns}));
  if (order == nullptr) {
    return {};
  }
  std::vector<int32_t> groups(static_cast<size_t>(columns));
  HEDDLE_TRY_WITH(convertToI32(order->dtype, order->bytes, groups), where(suffix));
  const bool isNone = std::all_of(groups.begin(), groups.end(), [](int32_t i) { return i == -1; });
  for (int64_t i = 0; i < columns && !isNone; ++i) {
    if (groups[static_cast<size_t>(i)] != i / group) {
      return HEDDLE_ERROR(
          Unsupported,
          fmt::format("{}: element {} is in group {}, expected {}: groups in the order of "
                      "activations (\"desc_act\", \"actorder\") are not supported",
                      where(suffix), i + 1, groups[static_cast<size_t>(i)] + 1, i / group + 1));
    }
  }
  return {};
}

CodedTensor LayerParts::finish(std::shared_ptr<const QuantizedTensor> codes) && {
  return {layer + ".weight", std::move(codes), std::move(taken)};
}

void warnOfUnreadKeys(const Config &config, std::initializer_list<std::string_view> neutral,
                      std::vector<std::string> &warnings) {
  for (const std::string &key : config.unreadKeys()) {
    if (config.json(key) != "null" &&
        std::find(neutral.begin(), neutral.end(), key) == neutral.end()) {
      warnings.push_back(fmt::format("{}: unknown key {}, its value {} is ignored", config.where(),
                                     quote(key), config.describe(key)));
    }
  }
}

} // namespace heddle
