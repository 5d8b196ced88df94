// SPDX-License-Identifier: Apache-2.0
///
/// Reads a GGUF file sequentially and checks every field before it is used.
#include "formats/Gguf/GgufFile.h"

#include "base/Utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <tuple>

namespace heddle {

static constexpr uint64_t largestSize = std::numeric_limits<int64_t>::max();
static constexpr std::string_view alignmentKey = "general.alignment";
static constexpr uint32_t defaultAlignment = 32;

namespace {

/// The position of the reader, never past the end. `what` names the current item in messages.
class Cursor {
public:
  Cursor(std::span<const std::byte> bytes, std::string_view where) : bytes(bytes), file(where) {}

  size_t at() const { return position; }
  size_t rest() const { return bytes.size() - position; }
  std::string_view where() const { return file; }
  std::span<const std::byte> since(size_t begin) const {
    return bytes.subspan(begin, position - begin);
  }

  Result<std::span<const std::byte>> take(uint64_t count, std::string_view what);
  /// Reads a length and that many bytes of UTF-8, at most `limit`.
  Result<std::string_view> string(size_t limit, std::string_view what);
  /// Reads a number of items of which each takes at least `least` bytes.
  Result<uint64_t> count(uint64_t least, std::string_view what);

  template <typename T> Result<T> number(std::string_view what) {
    HEDDLE_ASSIGN(const std::span<const std::byte> source, take(sizeof(T), what));
    T value;
    std::memcpy(&value, source.data(), sizeof(T));
    return value;
  }

private:
  std::span<const std::byte> bytes;
  std::string_view file;
  size_t position = 0;
};

} // namespace

Result<std::span<const std::byte>> Cursor::take(uint64_t count, std::string_view what) {
  if (count > rest()) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("{}: {}: the file ends at byte {}, expected {} more bytes from byte {} on",
                    file, what, bytes.size(), count, position));
  }
  const std::span<const std::byte> taken = bytes.subspan(position, count);
  position += count;
  return taken;
}

Result<std::string_view> Cursor::string(size_t limit, std::string_view what) {
  HEDDLE_ASSIGN(const uint64_t length, number<uint64_t>(what));
  if (length > limit) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {}: {} bytes long, expected at most {}", file,
                                              what, length, limit));
  }
  HEDDLE_ASSIGN(const std::span<const std::byte> source, take(length, what));
  const std::string_view text(reinterpret_cast<const char *>(source.data()), source.size());
  if (validUtf8Prefix(text) != text.size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: {}: is {}, which is not UTF-8", file, what, quote(text)));
  }
  return text;
}

Result<uint64_t> Cursor::count(uint64_t least, std::string_view what) {
  HEDDLE_ASSIGN(const uint64_t count, number<uint64_t>(what));
  if (count > rest() / least) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: {}: is {}, but only {} bytes follow, expected at least "
                                    "{} for each",
                                    file, what, count, rest(), least));
  }
  return count;
}

// --- metadata --------------------------------------------------------------------------------

/// Returns the size in bytes of a value of that kind; nullopt if it varies.
static std::optional<uint64_t> sizeOf(GgufKind kind) {
  switch (kind) {
  case GgufKind::U8:
  case GgufKind::I8:
  case GgufKind::Bool:
    return 1;
  case GgufKind::U16:
  case GgufKind::I16:
    return 2;
  case GgufKind::U32:
  case GgufKind::I32:
  case GgufKind::F32:
    return 4;
  case GgufKind::U64:
  case GgufKind::I64:
  case GgufKind::F64:
    return 8;
  case GgufKind::String:
  case GgufKind::Array:
    return std::nullopt;
  }
  return std::nullopt;
}

static Result<GgufKind> readKind(Cursor &cursor, std::string_view what) {
  HEDDLE_ASSIGN(const uint32_t kind, cursor.number<uint32_t>(what));
  if (kind > static_cast<uint32_t>(GgufKind::F64)) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{}: {}: has the type of values {}, expected 0 to {}",
                                 cursor.where(), what, kind, static_cast<uint32_t>(GgufKind::F64)));
  }
  return static_cast<GgufKind>(kind);
}

static Status checkBooleans(std::span<const std::byte> bytes, const Cursor &cursor,
                            std::string_view what) {
  for (const std::byte byte : bytes) {
    if (std::to_integer<unsigned>(byte) > 1) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: {}: has a bool of {}, expected 0 or 1", cursor.where(),
                                      what, std::to_integer<unsigned>(byte)));
    }
  }
  return {};
}

/// Reads the kind of an array's items, their number, and the items; `depth` counts the enclosing
/// arrays.
static Status readArray(Cursor &cursor, GgufValue &value, uint32_t depth, std::string_view what) {
  if (depth == ggufNestingLimit) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: {}: has arrays nested deeper than {}",
                                                 cursor.where(), what, ggufNestingLimit));
  }
  HEDDLE_ASSIGN(value.itemKind, readKind(cursor, what));
  // A string has an 8-byte length, an array the kind and number of its items.
  const bool isText = value.itemKind == GgufKind::String;
  const std::optional<uint64_t> size = sizeOf(value.itemKind);
  HEDDLE_ASSIGN(value.count, cursor.count(size.value_or(isText ? 8 : 12), what));
  const size_t begin = cursor.at();
  if (size) {
    HEDDLE_ASSIGN(value.bytes, cursor.take(value.count * *size, what));
    return value.itemKind == GgufKind::Bool ? checkBooleans(value.bytes, cursor, what) : Status();
  }
  for (uint64_t i = 0; i < value.count; ++i) {
    if (isText) {
      HEDDLE_ASSIGN(const std::string_view text, cursor.string(largestSize, what));
      value.texts.push_back(text);
    } else {
      GgufValue inner;
      HEDDLE_TRY(readArray(cursor, inner, depth + 1, what));
    }
  }
  value.bytes = cursor.since(begin);
  return {};
}

static Result<GgufValue> readValue(Cursor &cursor, std::string_view what) {
  GgufValue value;
  HEDDLE_ASSIGN(value.kind, readKind(cursor, what));
  if (value.kind == GgufKind::Array) {
    HEDDLE_TRY(readArray(cursor, value, 0, what));
  } else if (value.kind == GgufKind::String) {
    HEDDLE_ASSIGN(const std::string_view text, cursor.string(largestSize, what));
    value.texts.push_back(text);
  } else {
    HEDDLE_ASSIGN(value.bytes, cursor.take(sizeOf(value.kind).value_or(0), what));
    if (value.kind == GgufKind::Bool) {
      HEDDLE_TRY(checkBooleans(value.bytes, cursor, what));
    }
  }
  return value;
}

static Status readMetadata(Cursor &cursor, uint64_t count, GgufContents &contents) {
  for (uint64_t i = 0; i < count; ++i) {
    HEDDLE_ASSIGN(const std::string_view key,
                  cursor.string(ggufKeyLimit, fmt::format("name of key {}", i + 1)));
    const std::string what = fmt::format("key {}", quote(key));
    HEDDLE_ASSIGN(GgufValue value, readValue(cursor, what));
    if (!contents.metadata.try_emplace(std::string(key), std::move(value)).second) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{}: {} appears twice", cursor.where(), what));
    }
  }
  return {};
}

static Result<uint32_t> readAlignment(const GgufContents &contents, std::string_view where) {
  const auto found = contents.metadata.find(alignmentKey);
  if (found == contents.metadata.end()) {
    return defaultAlignment;
  }
  const GgufValue &value = found->second;
  if (value.kind != GgufKind::U32) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: key {} is {}, expected a u32", where,
                                              quote(alignmentKey), describeGguf(value)));
  }
  const auto alignment = static_cast<uint32_t>(ggufInteger(value, 0).value_or(0));
  if (!std::has_single_bit(alignment) || alignment > ggufAlignmentLimit) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: key {} is {}, expected a power of two up to {}", where,
                                    quote(alignmentKey), alignment, ggufAlignmentLimit));
  }
  return alignment;
}

// --- tensors ---------------------------------------------------------------------------------

namespace {

/// A tensor whose place is not known yet.
struct TensorHeader {
  GgufTensor tensor;
  uint64_t size = 0;
  uint64_t offset = 0;
};

} // namespace

static std::string showShape(const GgufTensor &tensor) {
  return fmt::format("{} [{}]", tensor.type->name, fmt::join(tensor.shape, ", "));
}

static Result<const GgufType *> readType(Cursor &cursor, std::string_view what) {
  HEDDLE_ASSIGN(const uint32_t number, cursor.number<uint32_t>(what));
  const GgufType *const type = findGgufType(number);
  if (type == nullptr || !type->isRead()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: {}: has type {}, which is not supported, expected one of "
                                    "{}",
                                    cursor.where(), what,
                                    type == nullptr ? fmt::format("{}", number)
                                                    : fmt::format("{} ({})", type->name, number),
                                    ggufTypeChoices()));
  }
  return type;
}

/// Reads the sizes, which are stored with the innermost one first.
static Status readShape(Cursor &cursor, GgufTensor &tensor, std::string_view what) {
  HEDDLE_ASSIGN(const uint32_t rank, cursor.number<uint32_t>(what));
  if (rank > ggufRankLimit) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {}: has {} dimensions, expected at most {}",
                                              cursor.where(), what, rank, ggufRankLimit));
  }
  for (uint32_t i = 0; i < rank; ++i) {
    HEDDLE_ASSIGN(const uint64_t size, cursor.number<uint64_t>(what));
    if (size > largestSize) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{}: {}: has a dimension of {}, expected at most "
                                                "2^63 - 1",
                                                cursor.where(), what, size));
    }
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
  }
  return {};
}

/// Returns the bytes of a tensor, which has whole blocks in every row.
static Result<uint64_t> sizeOf(const GgufTensor &tensor, std::string_view where) {
  const uint64_t row = tensor.shape.empty() ? 1 : static_cast<uint64_t>(tensor.shape.back());
  if (row % tensor.type->elements != 0) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: rows of {} have {} elements, expected a "
                                    "multiple of {}, its block",
                                    where, showShape(tensor), row, tensor.type->elements));
  }
  uint64_t size = tensor.type->bytes;
  bool overflows = __builtin_mul_overflow(size, row / tensor.type->elements, &size);
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) {
    overflows |= __builtin_mul_overflow(size, static_cast<uint64_t>(tensor.shape[i]), &size);
  }
  if (overflows || size > largestSize) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: {} takes 2^63 bytes or more", where, showShape(tensor)));
  }
  return size;
}

static Result<TensorHeader> readTensor(Cursor &cursor, uint64_t number, uint32_t alignment) {
  TensorHeader header;
  HEDDLE_ASSIGN(const std::string_view name,
                cursor.string(ggufNameLimit, fmt::format("name of tensor {}", number)));
  header.tensor.name = name;
  const std::string what = fmt::format("tensor {}", quote(name));
  const std::string where = fmt::format("{}: {}", cursor.where(), what);
  HEDDLE_TRY(readShape(cursor, header.tensor, what));
  HEDDLE_ASSIGN(header.tensor.type, readType(cursor, what));
  HEDDLE_ASSIGN(header.size, sizeOf(header.tensor, where));
  HEDDLE_ASSIGN(header.offset, cursor.number<uint64_t>(what));
  if (header.offset % alignment != 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: has offset {}, expected a multiple of {}, the "
                                              "alignment",
                                              where, header.offset, alignment));
  }
  return header;
}

/// Checks that no byte belongs to two tensors.
static Status checkOverlaps(const std::vector<TensorHeader> &headers, std::string_view where) {
  std::vector<const TensorHeader *> byPlace;
  for (const TensorHeader &header : headers) {
    if (header.size > 0) {
      byPlace.push_back(&header);
    }
  }
  std::sort(byPlace.begin(), byPlace.end(), [](const TensorHeader *a, const TensorHeader *b) {
    return std::tuple(a->offset, a) < std::tuple(b->offset, b);
  });
  for (size_t i = 1; i < byPlace.size(); ++i) {
    const TensorHeader &previous = *byPlace[i - 1];
    const TensorHeader &next = *byPlace[i];
    if (next.offset < previous.offset + previous.size) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("{}: tensor {}: begins at offset {}, inside tensor {}, which "
                                "ends at offset {}",
                                where, quote(next.tensor.name), next.offset,
                                quote(previous.tensor.name), previous.offset + previous.size));
    }
  }
  return {};
}

/// Sets the bytes of every tensor, once the beginning of the data is known.
static Status placeTensors(std::vector<TensorHeader> headers, std::span<const std::byte> data,
                           GgufContents &contents, std::string_view where) {
  for (TensorHeader &header : headers) {
    if (header.size > data.size() || header.offset > data.size() - header.size) {
      return HEDDLE_ERROR(
          DataLoss,
          fmt::format("{}: tensor {}: {} at offset {} takes {} bytes, but the file has {} "
                      "bytes of data",
                      where, quote(header.tensor.name), showShape(header.tensor), header.offset,
                      header.size, data.size()));
    }
    header.tensor.bytes = data.subspan(header.offset, header.size);
  }
  HEDDLE_TRY(checkOverlaps(headers, where));
  std::map<std::string_view, bool> names;
  for (const TensorHeader &header : headers) {
    if (!names.try_emplace(header.tensor.name, true).second) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("{}: tensor {} appears twice", where, quote(header.tensor.name)));
    }
  }
  for (TensorHeader &header : headers) {
    contents.tensors.push_back(std::move(header.tensor));
  }
  return {};
}

// --- the file --------------------------------------------------------------------------------

static Status readHeader(Cursor &cursor, GgufContents &contents) {
  HEDDLE_ASSIGN(const std::span<const std::byte> magic, cursor.take(4, "magic number"));
  const std::string_view text(reinterpret_cast<const char *>(magic.data()), magic.size());
  if (text != "GGUF") {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: begins with {}, expected \"GGUF\"",
                                              cursor.where(), quote(text)));
  }
  HEDDLE_ASSIGN(contents.version, cursor.number<uint32_t>("version"));
  if (contents.version >= ggufFirstVersion && contents.version <= ggufLastVersion) {
    return {};
  }
  // Versions are small numbers: one that is small when byte-swapped reveals big-endian order.
  if ((contents.version & 0xFFFFU) == 0 && contents.version != 0) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: is big endian, expected a little-endian file",
                                                 cursor.where()));
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: version {}, expected {} or {}", cursor.where(),
                                  contents.version, ggufFirstVersion, ggufLastVersion));
}

Result<GgufContents> parseGguf(std::span<const std::byte> bytes, std::string_view where) {
  // The minimum sizes: length, type and one byte; length, rank, type and offset.
  constexpr uint64_t leastKey = 13;
  constexpr uint64_t leastTensor = 24;
  Cursor cursor(bytes, where);
  GgufContents contents;
  HEDDLE_TRY(readHeader(cursor, contents));
  HEDDLE_ASSIGN(const uint64_t tensors, cursor.count(leastTensor, "number of tensors"));
  HEDDLE_ASSIGN(const uint64_t keys, cursor.count(leastKey, "number of keys"));
  HEDDLE_TRY(readMetadata(cursor, keys, contents));
  HEDDLE_ASSIGN(const uint32_t alignment, readAlignment(contents, where));
  std::vector<TensorHeader> headers;
  for (uint64_t i = 0; i < tensors; ++i) {
    HEDDLE_ASSIGN(TensorHeader header, readTensor(cursor, i + 1, alignment));
    headers.push_back(std::move(header));
  }
  // A file without data need not be padded.
  const uint64_t padding = (alignment - cursor.at() % alignment) % alignment;
  const size_t begin = std::min<uint64_t>(cursor.at() + padding, bytes.size());
  HEDDLE_TRY(placeTensors(std::move(headers), bytes.subspan(begin), contents, where));
  return contents;
}

} // namespace heddle
