// SPDX-License-Identifier: Apache-2.0
///
/// Access to the metadata of an open file.
#include "formats/Gguf/GgufFile.h"

#include "base/Utf8.h"

#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

namespace heddle {

Result<GgufFile> GgufFile::open(const std::string &path) {
  HEDDLE_ASSIGN(MappedFile file, MappedFile::open(path));
  HEDDLE_ASSIGN(GgufContents contents, parseGguf(file.bytes(), path));
  return GgufFile(std::move(file), std::move(contents));
}

bool isGgufFile(const std::string &path) {
  // Opening a pipe would wait for its other end.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return false;
  }
  char start[4] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(start, sizeof start) && std::string_view(start, sizeof start) == "GGUF";
}

std::string describeGguf(const GgufValue &value) {
  static constexpr std::string_view names[] = {"a u8",   "an i8",  "a u16",  "an i16",   "a u32",
                                               "an i32", "an f32", "a bool", "a string", "an array",
                                               "a u64",  "an i64", "an f64"};
  static constexpr std::string_view items[] = {"u8",  "i8",  "u16",   "i16",     "u32",
                                               "i32", "f32", "bools", "strings", "arrays",
                                               "u64", "i64", "f64"};
  if (value.kind != GgufKind::Array) {
    return std::string(names[static_cast<size_t>(value.kind)]);
  }
  return fmt::format("an array of {} {}", value.count, items[static_cast<size_t>(value.itemKind)]);
}

/// Returns item `index` of little-endian, unaligned numbers; nullopt if it does not fit i64.
template <typename T>
static std::optional<int64_t> itemAt(std::span<const std::byte> bytes, size_t index) {
  T item;
  std::memcpy(&item, bytes.data() + index * sizeof(T), sizeof(T));
  if (sizeof(T) == sizeof(uint64_t) && std::numeric_limits<T>::lowest() == 0 &&
      static_cast<uint64_t>(item) > uint64_t(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<int64_t>(item);
}

std::optional<int64_t> ggufInteger(const GgufValue &value, size_t index) {
  switch (value.kind == GgufKind::Array ? value.itemKind : value.kind) {
  case GgufKind::U8:
    return itemAt<uint8_t>(value.bytes, index);
  case GgufKind::I8:
    return itemAt<int8_t>(value.bytes, index);
  case GgufKind::U16:
    return itemAt<uint16_t>(value.bytes, index);
  case GgufKind::I16:
    return itemAt<int16_t>(value.bytes, index);
  case GgufKind::U32:
    return itemAt<uint32_t>(value.bytes, index);
  case GgufKind::I32:
    return itemAt<int32_t>(value.bytes, index);
  case GgufKind::U64:
    return itemAt<uint64_t>(value.bytes, index);
  case GgufKind::I64:
    return itemAt<int64_t>(value.bytes, index);
  default:
    return std::nullopt;
  }
}

Result<const GgufValue *> GgufFile::array(std::string_view key, std::string_view expected) const {
  const auto found = contents.metadata.find(key);
  if (found == contents.metadata.end()) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: key {} is missing, expected an array of {}",
                                              path(), quote(key), expected));
  }
  const GgufValue &value = found->second;
  const bool fits = value.kind == GgufKind::Array &&
                    (expected == "strings" ? value.itemKind == GgufKind::String
                                           : value.count == 0 || ggufInteger(value, 0).has_value());
  if (!fits) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: key {} is {}, expected an array of {}", path(), quote(key),
                                    describeGguf(value), expected));
  }
  return &value;
}

Result<std::span<const std::string_view>> GgufFile::strings(std::string_view key) const {
  HEDDLE_ASSIGN(const GgufValue *const value, array(key, "strings"));
  return std::span<const std::string_view>(value->texts);
}

Result<std::vector<int64_t>> GgufFile::integers(std::string_view key) const {
  HEDDLE_ASSIGN(const GgufValue *const value, array(key, "integers"));
  std::vector<int64_t> result;
  result.reserve(value->count);
  for (size_t i = 0; i < value->count; ++i) {
    const std::optional<int64_t> item = ggufInteger(*value, i);
    if (!item) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("{}: key {}: item {} exceeds 2^63 - 1", path(),
                                                  quote(key), i + 1));
    }
    result.push_back(*item);
  }
  return result;
}

} // namespace heddle
