// SPDX-License-Identifier: Apache-2.0
///
/// GGUF, the file format of llama.cpp: metadata by key, and tensors in plain or quantised types.
/// Little-endian; strings and arrays are preceded by their length:
///
///     "GGUF", u32 version, u64 tensors, u64 keys
///     each key:    string key, u32 type, value
///     each tensor: string name, u32 rank, u64 sizes[rank] (the row's length first), u32 type,
///                  u64 offset
///     padding to a multiple of general.alignment (32 without it), then the tensors at their
///     offsets, each a multiple of the alignment
///
/// The file is untrusted. After open() every span is inside the mapping and has the size that its
/// shape requires, no two tensors overlap, names and keys are unique and all text is UTF-8.
#ifndef HEDDLE_FORMATS_GGUF_GGUFFILE_H
#define HEDDLE_FORMATS_GGUF_GGUFFILE_H

#include "base/MappedFile.h"
#include "formats/Gguf/GgufTypes.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The supported versions. Version 1 has 32-bit lengths.
inline constexpr uint32_t ggufFirstVersion = 2;
inline constexpr uint32_t ggufLastVersion = 3;
/// Limits of the format: bytes of a key and of a tensor's name, dimensions of a tensor.
inline constexpr size_t ggufKeyLimit = 65535;
inline constexpr size_t ggufNameLimit = 64;
inline constexpr uint32_t ggufRankLimit = 4;
/// The maximum alignment, and the maximum nesting depth of arrays; files use 32 and 1.
inline constexpr uint32_t ggufAlignmentLimit = 1 << 16;
inline constexpr uint32_t ggufNestingLimit = 4;

/// The types of metadata, by their numbers in files.
enum class GgufKind : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64
};

/// The value of a key. It belongs to the file.
struct GgufValue {
  GgufKind kind = GgufKind::U8;
  /// An array: the kind of its items, and their number.
  GgufKind itemKind = GgufKind::U8;
  uint64_t count = 1;
  /// A number, a boolean or an array of these: unaligned. Nested arrays: as in the file.
  std::span<const std::byte> bytes;
  /// A string, or the items of an array of strings.
  std::vector<std::string_view> texts;
};

/// A tensor. `bytes` belongs to the file.
struct GgufTensor {
  std::string name;
  /// A type that can be read.
  const GgufType *type = nullptr;
  /// Outermost dimension first, as everywhere in this project. The last one is a multiple of the
  /// block size.
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// The contents of a file.
struct GgufContents {
  uint32_t version = 0;
  std::map<std::string, GgufValue, std::less<>> metadata;
  /// In the order of the file.
  std::vector<GgufTensor> tensors;
};

/// Reads a file that is already in memory and checks everything but the values of the tensors. The
/// result points into `bytes`; `where` begins every message.
Result<GgufContents> parseGguf(std::span<const std::byte> bytes, std::string_view where);

/// A file, mapped. Move-only; safe to read from several threads.
class GgufFile {
public:
  static Result<GgufFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  uint32_t version() const { return contents.version; }
  const std::map<std::string, GgufValue, std::less<>> &metadata() const {
    return contents.metadata;
  }
  /// Returns the tensors, which live as long as this object, even if it is moved.
  const std::vector<GgufTensor> &tensors() const { return contents.tensors; }

  /// Returns the items of an array of strings. NotFound if the key is missing, InvalidArgument if
  /// it has another type.
  Result<std::span<const std::string_view>> strings(std::string_view key) const;
  /// Returns the items of an array of integers of any width, each as i64; errors as above, and
  /// OutOfRange for an item above INT64_MAX.
  Result<std::vector<int64_t>> integers(std::string_view key) const;

  /// Releases the memory of bytes of the file. They can still be read, but more slowly.
  void releasePages(std::span<const std::byte> bytes) const { file.releasePages(bytes); }

private:
  GgufFile(MappedFile file, GgufContents contents)
      : file(std::move(file)), contents(std::move(contents)) {}
  Result<const GgufValue *> array(std::string_view key, std::string_view expected) const;

  MappedFile file;
  GgufContents contents;
};

/// Describes a value for messages: "an array of 3 strings", "a u32".
std::string describeGguf(const GgufValue &value);

/// Returns whether a file begins with the GGUF magic; false if it is not a regular file or cannot
/// be read.
bool isGgufFile(const std::string &path);

/// Returns the integer at `index` of a value whose (item's) kind is an integer; nullopt if it
/// exceeds INT64_MAX, or the kind is another one.
std::optional<int64_t> ggufInteger(const GgufValue &value, size_t index);

} // namespace heddle

#endif // HEDDLE_FORMATS_GGUF_GGUFFILE_H
