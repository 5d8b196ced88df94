// SPDX-License-Identifier: Apache-2.0
///
/// Reads safetensors files and checks every field.
#include "formats/Checkpoint/Safetensors.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <tuple>

namespace heddle {

using nlohmann::ordered_json;

/// Returns the header's text; the tensors' bytes follow it.
static Result<std::string_view> headerText(std::span<const std::byte> bytes,
                                           std::string_view where) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} bytes long, expected at least 8 for the "
                                              "length of the header: not a safetensors file",
                                              where, bytes.size()));
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  const uint64_t rest = bytes.size() - sizeof(length);
  if (length > safetensorsHeaderLimit) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} bytes long, the first 8 say that the header "
                                              "has {}, expected at most {}: not a safetensors file",
                                              where, bytes.size(), length, safetensorsHeaderLimit));
  }
  if (length > rest) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: the header's length is {}, but only {} bytes follow",
                                    where, length, rest));
  }
  const std::string_view text(reinterpret_cast<const char *>(bytes.data() + sizeof(length)),
                              length);
  // The format requires a brace, without leading white space.
  if (!text.starts_with('{')) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: the header begins with {}, expected \"{{\"",
                                              where, quote(text.substr(0, 1))));
  }
  return text;
}

static Result<SafetensorsMetadata> readMetadata(const ordered_json &value, std::string_view where) {
  if (!value.is_object()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"__metadata__\" is {}, expected an object",
                                              where, describeJson(value)));
  }
  SafetensorsMetadata metadata;
  for (const auto &[key, text] : value.items()) {
    if (!text.is_string()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: \"__metadata__\" has {} for {}, expected a string",
                                      where, quote(key), describeJson(text)));
    }
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

/// Describes the member's value for messages, or returns "missing".
static std::string describeMember(const ordered_json &entry, const char *key) {
  return entry.contains(key) ? describeJson(entry[key]) : "missing";
}

std::string formatShape(std::span<const int64_t> shape) {
  constexpr size_t shown = 16;
  return fmt::format("[{}{}]", fmt::join(shape.first(std::min(shape.size(), shown)), ", "),
                     shape.size() > shown ? ", ..." : "");
}

/// Returns the names of all types of the format, for messages.
static std::string knownTypes() {
  std::vector<std::string_view> names;
  for (const ElementType type : allElementTypes) {
    if (!infoOf(type).safetensors.empty()) {
      names.push_back(infoOf(type).safetensors);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

static Result<ElementType> readType(const ordered_json &entry, std::string_view where) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"dtype\" is {}, expected a string", where,
                                              describeMember(entry, "dtype")));
  }
  const std::optional<ElementType> type =
      findElementType(&ElementTypeInfo::safetensors, found->get_ref<const std::string &>());
  if (!type) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: \"dtype\" is {}, expected one of {}", where,
                                                 describeJson(*found), knownTypes()));
  }
  return *type;
}

/// Reads a list of non-negative integers.
static Result<std::vector<int64_t>> readSizes(const ordered_json &entry, const char *key,
                                              std::string_view where) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"{}\" is {}, expected a list of integers",
                                              where, key, describeMember(entry, key)));
  }
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> sizes;
  for (const ordered_json &item : *found) {
    // The library stores every non-negative integer as unsigned.
    if (!item.is_number_unsigned() || item.get<uint64_t>() > static_cast<uint64_t>(most)) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: item {} of \"{}\" is {}, expected an integer from 0 to "
                                      "{}",
                                      where, sizes.size() + 1, key, describeJson(item), most));
    }
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

/// Reads one entry of the header; `where` names the tensor, `data` is everything after the header.
static Result<SafetensorsTensor> readTensor(const std::string &name, const ordered_json &entry,
                                            std::span<const std::byte> data,
                                            std::string_view where) {
  if (!entry.is_object()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: is {}, expected an object", where, describeJson(entry)));
  }
  SafetensorsTensor tensor;
  tensor.name = name;
  HEDDLE_ASSIGN(tensor.dtype, readType(entry, where));
  HEDDLE_ASSIGN(tensor.shape, readSizes(entry, "shape", where));
  HEDDLE_ASSIGN(const std::vector<int64_t> offsets, readSizes(entry, "data_offsets", where));
  if (offsets.size() != 2) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"data_offsets\" has {} items, expected 2",
                                              where, offsets.size()));
  }
  const auto begin = static_cast<uint64_t>(offsets[0]);
  const auto end = static_cast<uint64_t>(offsets[1]);
  if (begin > end) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: \"data_offsets\" is [{}, {}], which ends before it begins",
                                    where, begin, end));
  }
  if (end > data.size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"data_offsets\" is [{}, {}], but the file has "
                                              "{} bytes of data",
                                              where, begin, end, data.size()));
  }
  const std::optional<uint64_t> size = byteSize(tensor.dtype, tensor.shape);
  const std::string type =
      fmt::format("{} {}", infoOf(tensor.dtype).safetensors, formatShape(tensor.shape));
  if (!size) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} takes 2^63 bytes or more", where, type));
  }
  if (*size != end - begin) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"data_offsets\" is [{}, {}], {} bytes, "
                                              "expected {} for {}",
                                              where, begin, end, end - begin, *size, type));
  }
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

/// Checks that the tensors cover the data without overlaps or gaps.
static Status checkCoverage(const std::vector<SafetensorsTensor> &tensors,
                            std::span<const std::byte> data, std::string_view where) {
  std::vector<const SafetensorsTensor *> byPlace;
  byPlace.reserve(tensors.size());
  for (const SafetensorsTensor &tensor : tensors) {
    byPlace.push_back(&tensor);
  }
  // An empty tensor takes no space, so it sorts before one that begins at the same byte.
  std::sort(byPlace.begin(), byPlace.end(),
            [](const SafetensorsTensor *a, const SafetensorsTensor *b) {
              return std::tuple(a->bytes.data(), a->bytes.size(), a) <
                     std::tuple(b->bytes.data(), b->bytes.size(), b);
            });
  size_t covered = 0;
  const SafetensorsTensor *previous = nullptr;
  for (const SafetensorsTensor *tensor : byPlace) {
    const auto begin = static_cast<size_t>(tensor->bytes.data() - data.data());
    if (begin < covered) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("{}: tensor {}: begins at byte {}, inside tensor {}, which "
                                "ends at byte {}",
                                where, quote(tensor->name), begin, quote(previous->name), covered));
    }
    if (begin > covered) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: tensor {}: begins at byte {}, expected {}: the bytes "
                                      "between belong to no tensor",
                                      where, quote(tensor->name), begin, covered));
    }
    covered = begin + tensor->bytes.size();
    previous = tensor;
  }
  if (covered != data.size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} bytes of data, but the tensors end at byte "
                                              "{}",
                                              where, data.size(), covered));
  }
  return {};
}

Result<SafetensorsContents> parseSafetensors(std::span<const std::byte> bytes,
                                             std::string_view where) {
  HEDDLE_ASSIGN(const std::string_view text, headerText(bytes, where));
  HEDDLE_ASSIGN(const ordered_json header,
                parseOrderedJson(text, fmt::format("{}: header", where)));
  const std::span<const std::byte> data = bytes.subspan(sizeof(uint64_t) + text.size());
  SafetensorsContents contents;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      HEDDLE_ASSIGN(contents.metadata, readMetadata(entry, where));
      continue;
    }
    HEDDLE_ASSIGN(SafetensorsTensor tensor,
                  readTensor(name, entry, data, fmt::format("{}: tensor {}", where, quote(name))));
    contents.tensors.push_back(std::move(tensor));
  }
  HEDDLE_TRY(checkCoverage(contents.tensors, data, where));
  return contents;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  HEDDLE_ASSIGN(MappedFile file, MappedFile::open(path));
  HEDDLE_ASSIGN(SafetensorsContents contents, parseSafetensors(file.bytes(), path));
  return SafetensorsFile(std::move(file), std::move(contents));
}

} // namespace heddle
