// SPDX-License-Identifier: Apache-2.0
///
/// Opening of model folders.
#include "frontend/Checkpoint/Checkpoint.h"

#include "frontend/Checkpoint/Convert.h"
#include "frontend/Config/Json.h"
#include "runtime/Base/Utf8.h"

#include <filesystem>
#include <fmt/format.h>
#include <system_error>

namespace heddle {

namespace fs = std::filesystem;

/// A file of an index lies beside it: a plain name cannot lead anywhere else.
static bool isPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

/// The "weight_map" of an index: tensor names and their files, checked for type only.
static Result<nlohmann::ordered_json> readWeightMap(const std::string &path) {
  HEDDLE_ASSIGN(nlohmann::ordered_json index, readOrderedJsonFile(path));
  if (!index.is_object()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: is {}, expected an object", path, describeJson(index)));
  }
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: \"weight_map\" is {}, expected an object", path,
                                              map == index.end() ? "missing" : describeJson(*map)));
  }
  for (const auto &[name, shard] : map->items()) {
    if (!shard.is_string() || !isPlainFileName(shard.get_ref<const std::string &>())) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{}: tensor {}: its file is {}, expected the plain "
                                                "name of a file beside the index",
                                                path, quote(name), describeJson(shard)));
    }
  }
  return std::move(*map);
}

Result<Checkpoint> Checkpoint::openIndex(const std::string &folder, const std::string &indexPath) {
  HEDDLE_ASSIGN(const nlohmann::ordered_json map, readWeightMap(indexPath));
  Checkpoint checkpoint(folder);
  std::map<std::string, size_t> numbers;
  // By file, where each name is in it.
  std::vector<std::map<std::string_view, size_t>> contents;
  for (const auto &[name, value] : map.items()) {
    const auto &shard = value.get_ref<const std::string &>();
    const auto [entry, isNew] = numbers.try_emplace(shard, checkpoint.shards.size());
    const size_t number = entry->second;
    if (isNew) {
      Result<SafetensorsFile> file = SafetensorsFile::open((fs::path(folder) / shard).string());
      HEDDLE_TRY_WITH(file.status(), indexPath);
      auto &names = contents.emplace_back();
      for (size_t i = 0; i < file->tensors().size(); ++i) {
        names.emplace(file->tensors()[i].name, i);
      }
      checkpoint.shards.push_back(*std::move(file));
    }
    const auto found = contents[number].find(name);
    if (found == contents[number].end()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{}: tensor {}: not in its file {}", indexPath,
                                                quote(name), quote(shard)));
    }
    checkpoint.order.push_back(name);
    checkpoint.locations.emplace(name, Location{number, found->second});
  }
  return checkpoint;
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  std::error_code ignored;
  std::string file = path;
  if (fs::is_directory(path, ignored)) {
    file = (fs::path(path) / "model.safetensors").string();
    const std::string index = (fs::path(path) / "model.safetensors.index.json").string();
    if (!fs::exists(file, ignored)) {
      if (fs::exists(index, ignored)) {
        return openIndex(path, index);
      }
      return HEDDLE_ERROR(NotFound, fmt::format("{}: holds neither model.safetensors nor "
                                                "model.safetensors.index.json",
                                                path));
    }
  }
  Checkpoint checkpoint(path);
  HEDDLE_ASSIGN(SafetensorsFile shard, SafetensorsFile::open(file));
  for (size_t i = 0; i < shard.tensors().size(); ++i) {
    const std::string &name = shard.tensors()[i].name;
    checkpoint.order.push_back(name);
    checkpoint.locations.emplace(name, Location{0, i});
  }
  checkpoint.shards.push_back(std::move(shard));
  return checkpoint;
}

const SafetensorsTensor *Checkpoint::find(std::string_view name) const {
  const auto found = locations.find(name);
  return found == locations.end() ? nullptr : &at(found->second);
}

Result<Checkpoint::Location> Checkpoint::locate(std::string_view name) const {
  const auto found = locations.find(name);
  if (found == locations.end()) {
    return HEDDLE_ERROR(
        NotFound, fmt::format("{}: no tensor {} among its {}", place, quote(name), order.size()));
  }
  return found->second;
}

std::string Checkpoint::describe(Location location) const {
  return fmt::format("{}: tensor {}", shards[location.shard].path(), quote(at(location).name));
}

Result<const SafetensorsTensor *> Checkpoint::tensor(std::string_view name) const {
  HEDDLE_ASSIGN(const Location location, locate(name));
  return &at(location);
}

Result<std::string> Checkpoint::fileOf(std::string_view name) const {
  HEDDLE_ASSIGN(const Location location, locate(name));
  return shards[location.shard].path();
}

Status Checkpoint::readF32(std::string_view name, std::span<float> destination) const {
  HEDDLE_ASSIGN(const Location location, locate(name));
  const SafetensorsTensor &tensor = at(location);
  HEDDLE_TRY_WITH(convertToF32(tensor.dtype, tensor.bytes, destination), describe(location));
  return {};
}

Status Checkpoint::readI32(std::string_view name, std::span<int32_t> destination) const {
  HEDDLE_ASSIGN(const Location location, locate(name));
  const SafetensorsTensor &tensor = at(location);
  HEDDLE_TRY_WITH(convertToI32(tensor.dtype, tensor.bytes, destination), describe(location));
  return {};
}

void Checkpoint::releasePages(std::string_view name) const {
  const auto found = locations.find(name);
  if (found != locations.end()) {
    shards[found->second.shard].releasePages(at(found->second));
  }
}

} // namespace heddle
