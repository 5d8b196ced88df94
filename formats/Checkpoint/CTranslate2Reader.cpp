// SPDX-License-Identifier: Apache-2.0
///
/// Reads model.bin and checks every field.
#include "formats/Checkpoint/CTranslate2File.h"

#include "base/Utf8.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace heddle {

/// The scale of I16 weights that were written without one.
static constexpr float unstatedI16Scale = 1000.0F;

namespace {

/// Reads a file sequentially, never past its end. `what` names the current item in messages.
class Cursor {
public:
  Cursor(std::span<const std::byte> bytes, std::string_view where) : bytes(bytes), where(where) {}

  size_t rest() const { return bytes.size() - position; }
  Result<std::span<const std::byte>> take(uint64_t count, const std::string &what);
  Result<std::string> string(const std::string &what);

  template <typename T> Result<T> number(const std::string &what) {
    HEDDLE_ASSIGN(const std::span<const std::byte> source, take(sizeof(T), what));
    T value;
    std::memcpy(&value, source.data(), sizeof(T));
    return value;
  }

private:
  std::span<const std::byte> bytes;
  std::string_view where;
  size_t position = 0;
};

} // namespace

Result<std::span<const std::byte>> Cursor::take(uint64_t count, const std::string &what) {
  if (count > rest()) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("{}: {}: the file ends at byte {}, expected {} more bytes from byte {} on",
                    where, what, bytes.size(), count, position));
  }
  const std::span<const std::byte> taken = bytes.subspan(position, count);
  position += count;
  return taken;
}

Result<std::string> Cursor::string(const std::string &what) {
  HEDDLE_ASSIGN(const uint16_t length, number<uint16_t>(what));
  if (length == 0 || length > ctranslate2NameLimit) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: {}: {} bytes long, expected 1 to {} with the closing NUL",
                                    where, what, length, ctranslate2NameLimit));
  }
  HEDDLE_ASSIGN(const std::span<const std::byte> source, take(length, what));
  const std::string text(reinterpret_cast<const char *>(source.data()), length);
  if (text.find('\0') != length - 1U) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {}: is {}, expected a single NUL, at the end",
                                              where, what, quote(text)));
  }
  if (validUtf8Prefix(text) != text.size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: {}: is {}, which is not UTF-8", where, what, quote(text)));
  }
  return text.substr(0, length - 1U);
}

/// Returns the type of a variable up to version 3, from the size of its items.
static Result<ElementType> typeOfSize(uint8_t size, std::string_view where) {
  for (const ElementType type : {ElementType::I8, ElementType::I16, ElementType::F32}) {
    if (infoOf(type).bytes() == size) {
      return type;
    }
  }
  return HEDDLE_ERROR(DataLoss,
                      fmt::format("{}: {} bytes per item, expected 1, 2 or 4", where, size));
}

/// Returns the type of a variable from version 4 on.
static Result<ElementType> typeOfNumber(uint8_t number, std::string_view where) {
  std::map<int32_t, ElementType> known;
  for (const ElementType type : allElementTypes) {
    if (infoOf(type).ctranslate2 >= 0) {
      known.emplace(infoOf(type).ctranslate2, type);
    }
  }
  if (const auto found = known.find(number); found != known.end()) {
    return found->second;
  }
  std::vector<std::string> listed;
  for (const auto &[value, type] : known) {
    listed.push_back(fmt::format("{} ({})", value, infoOf(type).safetensors));
  }
  return HEDDLE_ERROR(Unsupported, fmt::format("{}: has type {}, expected one of {}", where, number,
                                               fmt::join(listed, ", ")));
}

/// Reads one variable, except its scales; `number` counts from zero.
static Result<StoredTensor> readVariable(Cursor &cursor, uint32_t version, uint32_t number,
                                         std::string_view file) {
  StoredTensor variable;
  HEDDLE_ASSIGN(variable.name, cursor.string(fmt::format("name of variable {}", number + 1)));
  const std::string inside = fmt::format("variable {}", quote(variable.name));
  const std::string where = fmt::format("{}: {}", file, inside);
  HEDDLE_ASSIGN(const uint8_t rank, cursor.number<uint8_t>(inside));
  if (rank > ctranslate2RankLimit) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: has {} dimensions, expected at most {}", where,
                                              rank, ctranslate2RankLimit));
  }
  for (uint8_t i = 0; i < rank; ++i) {
    HEDDLE_ASSIGN(const uint32_t size, cursor.number<uint32_t>(inside));
    variable.shape.push_back(size);
  }
  const bool hasTypes = version >= 4;
  HEDDLE_ASSIGN(const uint8_t type, cursor.number<uint8_t>(inside));
  HEDDLE_ASSIGN(variable.dtype, hasTypes ? typeOfNumber(type, where) : typeOfSize(type, where));
  HEDDLE_ASSIGN(const uint32_t count, cursor.number<uint32_t>(inside));
  const uint64_t given = hasTypes ? count : uint64_t(count) * infoOf(variable.dtype).bytes();
  const std::optional<uint64_t> size = byteSize(variable.dtype, variable.shape);
  const std::string shown =
      fmt::format("{} {}", infoOf(variable.dtype).safetensors, formatShape(variable.shape));
  if (!size) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} takes 2^63 bytes or more", where, shown));
  }
  if (*size != given) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} bytes given, expected {} for {}", where,
                                              given, *size, shown));
  }
  HEDDLE_ASSIGN(variable.bytes, cursor.take(*size, inside));
  return variable;
}

static Status addVariable(CTranslate2Contents &contents, StoredTensor variable,
                          std::string_view where) {
  if (!contents.places.try_emplace(variable.name, contents.variables.size()).second) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: variable {} appears twice", where, quote(variable.name)));
  }
  contents.variables.push_back(std::move(variable));
  return {};
}

/// Attaches the scales of a quantised weight, which are in another variable.
static Status attachScales(CTranslate2Contents &contents, StoredTensor &weight,
                           std::string_view file) {
  const std::string where = fmt::format("{}: variable {}", file, quote(weight.name));
  const auto found = contents.places.find(weight.name + "_scale");
  if (found == contents.places.end()) {
    if (weight.dtype == ElementType::I16) {
      weight.scales = std::as_bytes(std::span(&unstatedI16Scale, 1));
      return {};
    }
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: is {}, but there is no variable {}", where,
                                              infoOf(weight.dtype).safetensors,
                                              quote(weight.name + "_scale")));
  }
  const StoredTensor &scale = contents.variables[found->second];
  const bool isOne = scale.bytes.size() == sizeof(float);
  const bool isPerRow =
      !weight.shape.empty() && scale.shape == std::vector<int64_t>{weight.shape.front()};
  if (scale.dtype != ElementType::F32 || (!isOne && !isPerRow)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: its scale is {} {}, expected one F32, or one for each row "
                                    "of {}",
                                    where, infoOf(scale.dtype).safetensors,
                                    formatShape(scale.shape), formatShape(weight.shape)));
  }
  for (size_t i = 0; i < scale.bytes.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, scale.bytes.data() + i, sizeof(value));
    if (!std::isfinite(value) || value <= 0) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{}: scale {} is {}, expected a number above 0",
                                                where, i / sizeof(float) + 1, value));
    }
  }
  weight.scales = scale.bytes;
  return {};
}

static Status readAliases(Cursor &cursor, CTranslate2Contents &contents, std::string_view where) {
  HEDDLE_ASSIGN(const uint32_t count, cursor.number<uint32_t>("number of aliases"));
  for (uint32_t i = 0; i < count; ++i) {
    HEDDLE_ASSIGN(std::string alias, cursor.string(fmt::format("name of alias {}", i + 1)));
    HEDDLE_ASSIGN(const std::string name, cursor.string(fmt::format("alias {}", quote(alias))));
    const auto found = contents.places.find(name);
    if (found == contents.places.end()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: alias {}: stands for {}, which is not a variable", where,
                                      quote(alias), quote(name)));
    }
    StoredTensor variable = contents.variables[found->second];
    variable.name = std::move(alias);
    HEDDLE_TRY(addVariable(contents, std::move(variable), where));
  }
  return {};
}

static Status readHeader(Cursor &cursor, CTranslate2Contents &contents, std::string_view where) {
  HEDDLE_ASSIGN(contents.version, cursor.number<uint32_t>("version"));
  if (contents.version < ctranslate2FirstVersion || contents.version > ctranslate2LastVersion) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: version {}, expected a CTranslate2 model of version {} to "
                                    "{}",
                                    where, contents.version, ctranslate2FirstVersion,
                                    ctranslate2LastVersion));
  }
  HEDDLE_ASSIGN(contents.specification, cursor.string("specification"));
  HEDDLE_ASSIGN(contents.revision, cursor.number<uint32_t>("revision"));
  return {};
}

Result<CTranslate2Contents> parseCTranslate2(std::span<const std::byte> bytes,
                                             std::string_view where) {
  Cursor cursor(bytes, where);
  CTranslate2Contents contents;
  HEDDLE_TRY(readHeader(cursor, contents, where));
  HEDDLE_ASSIGN(const uint32_t count, cursor.number<uint32_t>("number of variables"));
  for (uint32_t i = 0; i < count; ++i) {
    HEDDLE_ASSIGN(StoredTensor variable, readVariable(cursor, contents.version, i, where));
    HEDDLE_TRY(addVariable(contents, std::move(variable), where));
  }
  // Options are stored as integers too, but only weights are quantised.
  for (StoredTensor &variable : contents.variables) {
    if (variable.name.ends_with("weight") &&
        (variable.dtype == ElementType::I8 || variable.dtype == ElementType::I16)) {
      HEDDLE_TRY(attachScales(contents, variable, where));
    }
  }
  if (contents.version >= 3) {
    HEDDLE_TRY(readAliases(cursor, contents, where));
  }
  if (cursor.rest() > 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} bytes follow the last variable, expected the "
                                              "end of the file",
                                              where, cursor.rest()));
  }
  return contents;
}

} // namespace heddle
