// SPDX-License-Identifier: Apache-2.0
///
/// model.bin, the file of a CTranslate2 model: variables by name (weights, and options as single
/// values), and from version 3 on further names of the same variables. Little-endian; strings have
/// a 16-bit length, which includes their terminating NUL:
///
///     u32 version, string specification, u32 revision
///     u32 variables, each: string name, u8 rank, u32 sizes[rank],
///                          to version 3: u8 bytes per item, u32 items; later: u8 type, u32 bytes
///                          then the items
///     from version 3: u32 aliases, each: string alias, string name
///
/// The file is untrusted. After open() every span is inside the mapping and has the size that its
/// shape requires, names are unique, and quantised weights have scales that fit.
#ifndef HEDDLE_FORMATS_CHECKPOINT_CTRANSLATE2FILE_H
#define HEDDLE_FORMATS_CHECKPOINT_CTRANSLATE2FILE_H

#include "base/MappedFile.h"
#include "formats/Checkpoint/Convert.h"
#include "formats/Checkpoint/QuantizedTensor.h"
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct GgufType;

/// A tensor as in safetensors files, with the scales that CTranslate2 stores with quantised
/// weights; in the blocks of a GGUF file; or composed of several tensors of codes and scales.
struct StoredTensor : SafetensorsTensor {
  /// Unaligned f32: one scale for all items, or one for each row (index of the first dimension). A
  /// value is its item divided by its scale. Without scales, the items are the values.
  std::span<const std::byte> scales = {};
  /// The quantised GGUF type of the blocks in `bytes`; `dtype` is then F32, the type of the values.
  /// Null for all other tensors.
  const GgufType *blocks = nullptr;
  /// The codes of a quantised matrix, whose rows from `firstRow` on are the tensor. Null for all
  /// others. For a tensor of several parts, `bytes` is empty and `dtype` is F32.
  std::shared_ptr<const QuantizedTensor> codes = nullptr;
  int64_t firstRow = 0;

  /// Returns whether Checkpoint::readF32() can read the values.
  bool isReal() const {
    return !scales.empty() || codes ||
           std::find(std::begin(realTypes), std::end(realTypes), dtype) != std::end(realTypes);
  }
};

/// The supported versions of the format. Version 1 has no specification and uses the names of
/// another program.
inline constexpr uint32_t ctranslate2FirstVersion = 2;
inline constexpr uint32_t ctranslate2LastVersion = 6;
/// Limits that only damaged files exceed: bytes of a name, dimensions of a variable.
inline constexpr size_t ctranslate2NameLimit = 1024;
inline constexpr size_t ctranslate2RankLimit = 8;

/// The contents of a file.
struct CTranslate2Contents {
  uint32_t version = 0;
  /// The kind of model, for example "TransformerSpec", and the revision of its variable names.
  std::string specification;
  uint32_t revision = 0;
  /// In the order of the file, then aliases, which share the bytes of their originals. A weight of
  /// type I8 or I16 has its scales; they are also separate variables.
  std::vector<StoredTensor> variables;
  /// The index into `variables` by name.
  std::map<std::string, size_t, std::less<>> places;
};

/// Reads a file that is already in memory and checks everything but the values of the weights. The
/// result points into `bytes`; `where` begins every message.
Result<CTranslate2Contents> parseCTranslate2(std::span<const std::byte> bytes,
                                             std::string_view where);

/// A file, mapped. Move-only; safe to read from several threads.
class CTranslate2File {
public:
  static Result<CTranslate2File> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  uint32_t version() const { return contents.version; }
  const std::string &specification() const { return contents.specification; }
  uint32_t revision() const { return contents.revision; }
  /// Returns the variables, which live as long as this object, even if it is moved.
  const std::vector<StoredTensor> &variables() const { return contents.variables; }

  /// Returns the variable of that name, or null.
  const StoredTensor *find(std::string_view name) const;
  /// Returns the only value of a variable of any type. Options are stored this way.
  Result<double> number(std::string_view name) const;
  /// Returns a list of I8 as text.
  Result<std::string> text(std::string_view name) const;

  /// Releases the memory of a variable. It can still be read, but more slowly.
  void releasePages(const StoredTensor &variable) const { file.releasePages(variable.bytes); }

private:
  CTranslate2File(MappedFile file, CTranslate2Contents contents)
      : file(std::move(file)), contents(std::move(contents)) {}
  Result<const StoredTensor *> variable(std::string_view name) const;

  MappedFile file;
  CTranslate2Contents contents;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_CTRANSLATE2FILE_H
