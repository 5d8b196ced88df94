// SPDX-License-Identifier: Apache-2.0
///
/// The tensors of a model by name, in one safetensors file, in several with an index, in
/// CTranslate2's model.bin, in a GGUF file, in files that are mapped already, or in memory. Files
/// stay mapped. A tensor is converted on request and its pages can be released afterwards, so that
/// memory does not grow with the model.
#ifndef HEDDLE_FORMATS_CHECKPOINT_CHECKPOINT_H
#define HEDDLE_FORMATS_CHECKPOINT_CHECKPOINT_H

#include "formats/Checkpoint/CTranslate2File.h"
#include "formats/Checkpoint/Safetensors.h"
#include "formats/Gguf/GgufFile.h"
#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A tensor of a model as rows of a stored one: files may stack tensors that the model separates.
struct TensorView {
  /// Its name in the model.
  std::string name;
  /// The name in the file of the tensor that holds the rows.
  std::string source;
  /// The range of rows, along the first dimension. All rows if `rows` is unset.
  int64_t firstRow = 0;
  std::optional<int64_t> rows = std::nullopt;
};

/// A matrix whose codes, scales and zero points are tensors of the file.
struct CodedTensor {
  /// Its name in the model.
  std::string name;
  std::shared_ptr<const QuantizedTensor> codes;
  /// The names of the tensors that it is made of.
  std::vector<std::string> parts;
};

/// Move-only; safe to read from several threads.
class Checkpoint {
public:
  /// Opens a .safetensors file, the .bin file of a CTranslate2 model, a file with the GGUF magic or
  /// the extension .gguf, or a folder. In a folder it opens the first of model.safetensors,
  /// model.safetensors.index.json with the files that it names, and model.bin.
  static Result<Checkpoint> open(const std::string &path);

  /// Makes a checkpoint of tensors in memory, which must outlive it; `where` begins every message
  /// about them. InvalidArgument if two have the same name, or the bytes of one do not fit its
  /// shape.
  static Result<Checkpoint> ofTensors(std::span<const SafetensorsTensor> tensors,
                                      std::string where);

  /// Makes a checkpoint of tensors in files of any format that are mapped already. `owner` keeps
  /// bytes alive that are in no file. InvalidArgument as above.
  static Result<Checkpoint> ofFiles(std::span<const SafetensorsTensor> tensors, std::string path,
                                    std::vector<std::shared_ptr<const MappedFile>> files,
                                    std::shared_ptr<const void> owner);

  /// Returns the same files, showing only the tensors of `views`, in that order.
  Result<Checkpoint> withViews(std::span<const TensorView> views) &&;

  /// Returns the same files with matrices in place of the tensors that they are composed of.
  Result<Checkpoint> withCodes(std::vector<CodedTensor> tensors, Quantization quantization) &&;

  /// Returns these files and those of another checkpoint, whose tensors are named `prefix`.NAME.
  /// InvalidArgument if a name is taken, or either has another format than safetensors.
  Result<Checkpoint> withPart(std::string_view prefix, Checkpoint part) &&;

  /// Returns the path given to open(), or the name that replaces it in messages.
  const std::string &path() const { return place; }
  /// Returns every name, in the order of the header or of the index.
  const std::vector<std::string> &names() const { return order; }
  /// Returns the safetensors files, in the order of their first use in the index; empty for other
  /// formats.
  const std::vector<SafetensorsFile> &files() const { return shards; }
  /// Returns the model.bin; null for other formats.
  const CTranslate2File *ctranslate2() const { return binary ? &*binary : nullptr; }
  /// Returns the GGUF file; null for other formats.
  const GgufFile *gguf() const { return blocks ? &*blocks : nullptr; }
  /// Returns the file's description of its codes; null if no tensor has any.
  const Quantization *quantization() const { return coded ? &*coded : nullptr; }
  /// Returns the paths of all files, whatever their format.
  std::vector<std::string> filePaths() const;

  /// Returns the tensor of that name, or null. It lives as long as this object.
  const StoredTensor *find(std::string_view name) const;
  /// As find(), but a missing tensor is NotFound, with the names of checkpoint and tensor.
  Result<const StoredTensor *> tensor(std::string_view name) const;
  /// Returns the path of the file that holds the tensor.
  Result<std::string> fileOf(std::string_view name) const;

  /// Converts F32, F16, BF16 or quantised values to f32; GGUF values get the same bits as in ggml.
  /// `destination` must have exactly their number of elements.
  Status readF32(std::string_view name, std::span<float> destination) const;
  /// Reads all values as `type`: F32, converted as by readF32(), or the type in the file,
  /// unconverted; InvalidArgument for another type.
  Status read(std::string_view name, ElementType type, std::span<std::byte> destination) const;
  /// As read(), for values from `first` on, of a tensor for which hasParts() returns true: its
  /// values are stored one by one in the file. OutOfRange beyond its end.
  Status readPart(std::string_view name, ElementType type, int64_t first,
                  std::span<std::byte> destination) const;
  bool hasParts(std::string_view name) const;
  /// Returns the codes of a quantised tensor, which must have `layout`, with one scale for every
  /// group. InvalidArgument for a tensor without codes or with another layout, and for a code -128
  /// if `hasLeastCode` says that there is none.
  Result<CodeRows> readCodes(std::string_view name, const CodeLayout &layout,
                             bool hasLeastCode) const;
  /// Converts I32 or I64 values to i32. A value that does not fit is OutOfRange.
  Status readI32(std::string_view name, std::span<int32_t> destination) const;

  /// Releases the memory of a tensor's pages; unknown names are ignored. The tensor can still be
  /// read, but more slowly.
  void releasePages(std::string_view name) const;

private:
  explicit Checkpoint(std::string path) : place(std::move(path)) {}
  static Result<Checkpoint> openIndex(const std::string &folder, const std::string &indexPath);
  static Result<Checkpoint> openSafetensors(const std::string &path, const std::string &file);
  static Result<Checkpoint> openCTranslate2(const std::string &path, const std::string &file);
  static Result<Checkpoint> openGguf(const std::string &path);

  /// A tensor and the index of its file.
  struct Entry {
    StoredTensor tensor;
    size_t file;
    /// The tensors that it is composed of, and where they are.
    std::vector<Entry> parts = {};
  };
  /// Adds a tensor. Returns false if the name is taken.
  bool add(StoredTensor tensor, size_t file, std::vector<Entry> parts = {});
  Result<StoredTensor> view(const TensorView &view) const;
  Result<const Entry *> locate(std::string_view name) const;
  const std::string &pathOf(const Entry &entry) const;
  std::string describe(const Entry &entry) const;
  void releasePages(const Entry &entry) const;

  std::string place;
  std::vector<SafetensorsFile> shards;
  std::optional<CTranslate2File> binary;
  std::optional<GgufFile> blocks;
  std::vector<std::shared_ptr<const MappedFile>> mapped;
  std::shared_ptr<const void> owner;
  std::optional<Quantization> coded;
  std::vector<std::string> order;
  std::vector<Entry> entries;
  std::map<std::string, size_t, std::less<>> places;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_CHECKPOINT_H
