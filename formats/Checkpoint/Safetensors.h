// SPDX-License-Identifier: Apache-2.0
///
/// The safetensors format: eight bytes with the header's length, a JSON header (name, type, shape
/// and place of every tensor), then the tensors' bytes without gaps. The file is untrusted. After
/// open() every span is inside the mapping, has the size that its shape requires and overlaps no
/// other.
#ifndef HEDDLE_FORMATS_CHECKPOINT_SAFETENSORS_H
#define HEDDLE_FORMATS_CHECKPOINT_SAFETENSORS_H

#include "base/MappedFile.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The maximum size of a header that is read or written, in bytes. The format's own library has the
/// same limit.
inline constexpr uint64_t safetensorsHeaderLimit = 100'000'000;

/// A tensor that was read or will be written. `bytes` belongs to the SafetensorsFile, or to the
/// caller of writeSafetensors(). Little-endian, row-major, unaligned.
struct SafetensorsTensor {
  std::string name;
  ElementType dtype = ElementType::F32;
  /// Outermost dimension first; empty for a single value.
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Formats a shape for messages: [2, 3], or [] for a single value. Truncated after 16 dimensions.
std::string formatShape(std::span<const int64_t> shape);

/// Free text stored with the tensors.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// The contents of a file.
struct SafetensorsContents {
  /// In the order of the header.
  std::vector<SafetensorsTensor> tensors;
  SafetensorsMetadata metadata;
};

/// Reads a file that is already in memory and checks everything but the tensors' values. The result
/// points into `bytes`; `where` begins every message.
Result<SafetensorsContents> parseSafetensors(std::span<const std::byte> bytes,
                                             std::string_view where);

/// A file, mapped. Move-only; safe to read from several threads.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  /// Returns the tensors in the order of the header. The spans stay valid as long as this object
  /// lives, even if it is moved.
  const std::vector<SafetensorsTensor> &tensors() const { return contents.tensors; }
  const SafetensorsMetadata &metadata() const { return contents.metadata; }

  /// Releases the memory of a tensor of this file. It can still be read, but more slowly.
  void releasePages(const SafetensorsTensor &tensor) const { file.releasePages(tensor.bytes); }

private:
  SafetensorsFile(MappedFile file, SafetensorsContents contents)
      : file(std::move(file)), contents(std::move(contents)) {}

  MappedFile file;
  SafetensorsContents contents;
};

/// Writes a temporary file next to `path` and renames it. On error `path` is unchanged. Tensors
/// with wider items come first, so that all are aligned; tensors of one width keep the given order.
Status writeSafetensors(const std::string &path, std::span<const SafetensorsTensor> tensors,
                        const SafetensorsMetadata &metadata = {});

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_SAFETENSORS_H
