// SPDX-License-Identifier: Apache-2.0
///
/// The tensors of a model by name, wherever they are: one safetensors file, or several with an
/// index beside them. Files stay mapped; a tensor is converted when it is asked for, and its pages
/// can be given back afterwards, so that memory does not grow with the model.
#ifndef HEDDLE_FRONTEND_CHECKPOINT_CHECKPOINT_H
#define HEDDLE_FRONTEND_CHECKPOINT_CHECKPOINT_H

#include "frontend/Checkpoint/Safetensors.h"
#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Move-only; safe to read from several threads.
class Checkpoint {
public:
  /// Opens a .safetensors file, or a folder that holds model.safetensors or
  /// model.safetensors.index.json with the files it names (the first if both are there).
  static Result<Checkpoint> open(const std::string &path);

  /// The path given to open().
  const std::string &path() const { return place; }
  /// Every name, in the order of the header or of the index.
  const std::vector<std::string> &names() const { return order; }
  /// The files, in the order the index names them first.
  const std::vector<SafetensorsFile> &files() const { return shards; }

  /// The tensor of that name; null if there is none. Lives as long as this object.
  const SafetensorsTensor *find(std::string_view name) const;
  /// As find(), with an error that names the checkpoint and the tensor: NotFound.
  Result<const SafetensorsTensor *> tensor(std::string_view name) const;
  /// The path of the file that holds the tensor.
  Result<std::string> fileOf(std::string_view name) const;

  /// The values as f32, from F32, F16 or BF16; `destination` must have exactly their number.
  Status readF32(std::string_view name, std::span<float> destination) const;
  /// The values as i32, from I32 or I64; a value that does not fit is OutOfRange.
  Status readI32(std::string_view name, std::span<int32_t> destination) const;

  /// Lets go of the memory of a tensor's pages; unknown names are ignored. Reading it again is
  /// allowed, and slower.
  void releasePages(std::string_view name) const;

private:
  explicit Checkpoint(std::string path) : place(std::move(path)) {}
  static Result<Checkpoint> openIndex(const std::string &folder, const std::string &indexPath);

  /// Where a tensor is: its file's number, and its number there.
  struct Location {
    size_t shard;
    size_t tensor;
  };
  Result<Location> locate(std::string_view name) const;
  const SafetensorsTensor &at(Location location) const {
    return shards[location.shard].tensors()[location.tensor];
  }
  std::string describe(Location location) const;

  std::string place;
  std::vector<SafetensorsFile> shards;
  std::vector<std::string> order;
  std::map<std::string, Location, std::less<>> locations;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_CHECKPOINT_CHECKPOINT_H
