// SPDX-License-Identifier: Apache-2.0
///
/// The safetensors format: eight bytes with the header's length, a JSON header (name, type, shape
/// and place of every tensor), then the tensors' bytes without a gap. Nothing of a file is
/// believed: after open() every span is inside the mapping, has the size its shape needs and shares
/// no byte with another one.
#ifndef HEDDLE_FORMATS_CHECKPOINT_SAFETENSORS_H
#define HEDDLE_FORMATS_CHECKPOINT_SAFETENSORS_H

#include "base/MappedFile.h"
#include "formats/Checkpoint/Dtype.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The longest header that is read or written, in bytes: the limit of the format's own library.
inline constexpr uint64_t safetensorsHeaderLimit = 100'000'000;

/// A tensor in a file or on its way to one. `bytes` belongs to whoever made it: a SafetensorsFile,
/// or the caller of writeSafetensors(). Little endian, rows last, at any alignment.
struct SafetensorsTensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  /// Outermost dimension first; empty for a single value.
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Free text beside the tensors.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// What a file holds.
struct SafetensorsContents {
  /// In the order of the header.
  std::vector<SafetensorsTensor> tensors;
  SafetensorsMetadata metadata;
};

/// Reads a file that is already in memory, and checks all of it but the tensors' values. The result
/// points into `bytes`; `where` begins every message.
Result<SafetensorsContents> parseSafetensors(std::span<const std::byte> bytes,
                                             std::string_view where);

/// A file, mapped. Move-only; safe to read from several threads.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  /// In the order of the header; they live as long as this object, also after it is moved.
  const std::vector<SafetensorsTensor> &tensors() const { return contents.tensors; }
  const SafetensorsMetadata &metadata() const { return contents.metadata; }

  /// Lets go of the memory of a tensor of this file; reading it again is allowed, and slower.
  void releasePages(const SafetensorsTensor &tensor) const { file.releasePages(tensor.bytes); }

private:
  SafetensorsFile(MappedFile file, SafetensorsContents contents)
      : file(std::move(file)), contents(std::move(contents)) {}

  MappedFile file;
  SafetensorsContents contents;
};

/// Writes a file beside `path` and renames it: afterwards `path` is the whole new file, or an error
/// is returned and it is what it was before. Tensors with wider items come first, so that all of
/// them are aligned; those of one width keep the given order.
Status writeSafetensors(const std::string &path, std::span<const SafetensorsTensor> tensors,
                        const SafetensorsMetadata &metadata = {});

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_SAFETENSORS_H
