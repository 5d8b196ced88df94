// SPDX-License-Identifier: Apache-2.0
///
/// Writes safetensors files.
#include "formats/Checkpoint/Safetensors.h"

#include "base/AtomicFile.h"
#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace heddle {

/// Returns a JSON string; the caller has checked that `text` is UTF-8.
static std::string jsonString(const std::string &text) { return nlohmann::json(text).dump(); }

static Status checkText(const std::string &path, const char *what, const std::string &text) {
  if (validUtf8Prefix(text) != text.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the {} {} is not UTF-8", path, what, quote(text)));
  }
  return {};
}

static Status checkTensor(const std::string &path, const SafetensorsTensor &tensor) {
  HEDDLE_TRY(checkText(path, "tensor name", tensor.name));
  if (tensor.name == "__metadata__") {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: a tensor is named \"__metadata__\", a name that the format reserves",
                    path));
  }
  if (infoOf(tensor.dtype).safetensors.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {}: has type {}, which the format cannot store",
                                    path, quote(tensor.name), infoOf(tensor.dtype).name));
  }
  const std::optional<uint64_t> size = byteSize(tensor.dtype, tensor.shape);
  const std::string type =
      fmt::format("{} {}", infoOf(tensor.dtype).safetensors, formatShape(tensor.shape));
  if (!size) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {}: {} has a negative size or takes 2^63 bytes or "
                                    "more",
                                    path, quote(tensor.name), type));
  }
  if (*size != tensor.bytes.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {}: {} bytes given, expected {} for {}", path,
                                    quote(tensor.name), tensor.bytes.size(), *size, type));
  }
  return {};
}

static Status checkNamesDiffer(const std::string &path,
                               std::span<const SafetensorsTensor> tensors) {
  std::vector<std::string_view> names;
  for (const SafetensorsTensor &tensor : tensors) {
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {} appears twice", path, quote(*twice)));
  }
  return {};
}

/// Returns the header's text, padded with spaces so that the data after it begins at a multiple of
/// eight.
static std::string makeHeader(const std::vector<const SafetensorsTensor *> &tensors,
                              const SafetensorsMetadata &metadata) {
  std::string header = "{";
  auto separate = [&] { header += header.size() == 1 || header.ends_with('{') ? "" : ","; };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto &[key, text] : metadata) {
      separate();
      header += jsonString(key) + ":" + jsonString(text);
    }
    header += '}';
  }
  size_t begin = 0;
  for (const SafetensorsTensor *tensor : tensors) {
    separate();
    const size_t end = begin + tensor->bytes.size();
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                          jsonString(tensor->name), infoOf(tensor->dtype).safetensors,
                          nlohmann::json(tensor->shape).dump(), begin, end);
    begin = end;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

Status writeSafetensors(const std::string &path, std::span<const SafetensorsTensor> tensors,
                        const SafetensorsMetadata &metadata) {
  std::vector<const SafetensorsTensor *> byWidth;
  for (const SafetensorsTensor &tensor : tensors) {
    HEDDLE_TRY(checkTensor(path, tensor));
    byWidth.push_back(&tensor);
  }
  HEDDLE_TRY(checkNamesDiffer(path, tensors));
  for (const auto &[key, text] : metadata) {
    HEDDLE_TRY(checkText(path, "metadata key", key));
    HEDDLE_TRY(checkText(path, "metadata text", text));
  }
  // Comparing addresses keeps the given order.
  std::sort(
      byWidth.begin(), byWidth.end(), [](const SafetensorsTensor *a, const SafetensorsTensor *b) {
        return std::tuple(infoOf(b->dtype).bytes(), a) < std::tuple(infoOf(a->dtype).bytes(), b);
      });
  const std::string header = makeHeader(byWidth, metadata);
  if (header.size() > safetensorsHeaderLimit) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the header has {} bytes, expected at most {}", path,
                                    header.size(), safetensorsHeaderLimit));
  }
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::open(path));
  const uint64_t length = header.size();
  HEDDLE_TRY(file.write(std::as_bytes(std::span(&length, 1))));
  HEDDLE_TRY(file.write(header));
  for (const SafetensorsTensor *tensor : byWidth) {
    HEDDLE_TRY(file.write(tensor->bytes));
  }
  return file.commit();
}

} // namespace heddle
