// SPDX-License-Identifier: Apache-2.0
///
/// Opens model folders.
#include "formats/Checkpoint/Checkpoint.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"
#include "formats/Checkpoint/RowCodes.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <set>
#include <system_error>

namespace heddle {

namespace fs = std::filesystem;

/// Returns whether a name in an index is that of a file in the same folder, so that no path leads
/// elsewhere.
static bool isPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

/// Reads the "weight_map" of an index: tensor names and their files, checked for type only.
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
      return HEDDLE_ERROR(
          DataLoss,
          fmt::format("{}: tensor {}: its file is {}, expected the name of a file beside the index",
                      path, quote(name), describeJson(shard)));
    }
  }
  return std::move(*map);
}

Result<Checkpoint> Checkpoint::openIndex(const std::string &folder, const std::string &indexPath) {
  HEDDLE_ASSIGN(const nlohmann::ordered_json map, readWeightMap(indexPath));
  Checkpoint checkpoint(folder);
  std::map<std::string, size_t> numbers;
  // For each file, the index of each name in it.
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
    const std::vector<SafetensorsTensor> &tensors = checkpoint.shards[number].tensors();
    const auto found = contents[number].find(name);
    if (found == contents[number].end()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: tensor {}: is not in {}, the file that the index names",
                                      indexPath, quote(name), quote(shard)));
    }
    checkpoint.add({tensors[found->second]}, number);
  }
  return checkpoint;
}

Result<Checkpoint> Checkpoint::openSafetensors(const std::string &path, const std::string &file) {
  Checkpoint checkpoint(path);
  HEDDLE_ASSIGN(SafetensorsFile shard, SafetensorsFile::open(file));
  for (const SafetensorsTensor &tensor : shard.tensors()) {
    checkpoint.add({tensor}, 0);
  }
  checkpoint.shards.push_back(std::move(shard));
  return checkpoint;
}

/// Adds the kind of a tensor's codes, if it has any, to the kinds of a file.
static void addKind(const StoredTensor &tensor, std::vector<std::string> &kinds) {
  if (tensor.codes && std::find(kinds.begin(), kinds.end(), tensor.codes->kind()) == kinds.end()) {
    kinds.push_back(tensor.codes->kind());
  }
}

Result<Checkpoint> Checkpoint::openCTranslate2(const std::string &path, const std::string &file) {
  Checkpoint checkpoint(path);
  HEDDLE_ASSIGN(checkpoint.binary, CTranslate2File::open(file));
  std::vector<std::string> kinds;
  for (StoredTensor variable : checkpoint.binary->variables()) {
    variable.codes = codesOfCTranslate2(variable);
    addKind(variable, kinds);
    checkpoint.add(std::move(variable), 0);
  }
  if (!kinds.empty()) {
    checkpoint.coded = Quantization{.format = CodeFormat::CTranslate2, .kinds = std::move(kinds)};
  }
  return checkpoint;
}

Result<Checkpoint> Checkpoint::openGguf(const std::string &path) {
  Checkpoint checkpoint(path);
  HEDDLE_ASSIGN(checkpoint.blocks, GgufFile::open(path));
  std::vector<std::string> kinds;
  for (const GgufTensor &tensor : checkpoint.blocks->tensors()) {
    StoredTensor stored;
    stored.name = tensor.name;
    stored.dtype = tensor.type->plain.value_or(ElementType::F32);
    stored.shape = tensor.shape;
    stored.bytes = tensor.bytes;
    stored.blocks = tensor.type->plain ? nullptr : tensor.type;
    stored.codes = codesOfGguf(*tensor.type, stored.shape, stored.bytes);
    addKind(stored, kinds);
    checkpoint.add(std::move(stored), 0);
  }
  if (!kinds.empty()) {
    checkpoint.coded = Quantization{.format = CodeFormat::Gguf, .kinds = std::move(kinds)};
  }
  return checkpoint;
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (fs::path(path).extension() == ".gguf" || isGgufFile(path)) {
      return openGguf(path);
    }
    return fs::path(path).extension() == ".bin" ? openCTranslate2(path, path)
                                                : openSafetensors(path, path);
  }
  const std::string whole = (fs::path(path) / "model.safetensors").string();
  const std::string index = (fs::path(path) / "model.safetensors.index.json").string();
  const std::string binary = (fs::path(path) / "model.bin").string();
  if (fs::exists(whole, ignored)) {
    return openSafetensors(path, whole);
  }
  if (fs::exists(index, ignored)) {
    return openIndex(path, index);
  }
  if (fs::exists(binary, ignored)) {
    return openCTranslate2(path, binary);
  }
  return HEDDLE_ERROR(
      NotFound,
      fmt::format("{}: has neither model.safetensors nor model.safetensors.index.json", path));
}

Result<Checkpoint> Checkpoint::ofTensors(std::span<const SafetensorsTensor> tensors,
                                         std::string where) {
  Checkpoint checkpoint(std::move(where));
  for (const SafetensorsTensor &tensor : tensors) {
    const std::optional<uint64_t> expected = byteSize(tensor.dtype, tensor.shape);
    if (expected != tensor.bytes.size()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: tensor {}: {} bytes, expected {} items of {}",
                                      checkpoint.place, quote(tensor.name), tensor.bytes.size(),
                                      formatShape(tensor.shape), infoOf(tensor.dtype).name));
    }
    if (!checkpoint.add({tensor}, 0)) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: tensor {} appears twice",
                                                       checkpoint.place, quote(tensor.name)));
    }
  }
  return checkpoint;
}

Result<Checkpoint> Checkpoint::ofFiles(std::span<const SafetensorsTensor> tensors, std::string path,
                                       std::vector<std::shared_ptr<const MappedFile>> files,
                                       std::shared_ptr<const void> owner) {
  HEDDLE_ASSIGN(Checkpoint checkpoint, ofTensors(tensors, std::move(path)));
  checkpoint.mapped = std::move(files);
  checkpoint.owner = std::move(owner);
  return checkpoint;
}

bool Checkpoint::add(StoredTensor tensor, size_t file, std::vector<Entry> parts) {
  const auto [entry, isNew] = places.try_emplace(tensor.name, entries.size());
  if (isNew) {
    order.push_back(tensor.name);
    entries.push_back({std::move(tensor), file, std::move(parts)});
  }
  return isNew;
}

/// Returns some rows of a stored tensor, under the name of the view.
Result<StoredTensor> Checkpoint::view(const TensorView &view) const {
  HEDDLE_ASSIGN(const StoredTensor *const source, tensor(view.source));
  StoredTensor result = *source;
  result.name = view.name;
  if (source->shape.empty() && view.firstRow == 0 && !view.rows) {
    return result;
  }
  const int64_t available = source->shape.empty() ? 0 : source->shape.front();
  const bool begins = view.firstRow >= 0 && view.firstRow <= available;
  const int64_t rest = begins ? available - view.firstRow : 0;
  const int64_t rows = view.rows.value_or(rest);
  if (!begins || rows < 0 || rows > rest || source->shape.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {}: is {} rows from row {} of {}, which has shape "
                                    "{}",
                                    place, quote(view.name), rows, view.firstRow,
                                    quote(view.source), formatShape(source->shape)));
  }
  result.shape.front() = rows;
  result.firstRow += view.firstRow;
  const auto select = [&](std::span<const std::byte> bytes) {
    const size_t each = available == 0 ? 0 : bytes.size() / static_cast<size_t>(available);
    return bytes.subspan(each * static_cast<size_t>(view.firstRow),
                         each * static_cast<size_t>(rows));
  };
  result.bytes = select(source->bytes);
  // A single scale applies to all rows.
  if (source->scales.size() > sizeof(float)) {
    result.scales = select(source->scales);
  }
  return result;
}

Result<Checkpoint> Checkpoint::withViews(std::span<const TensorView> views) && {
  Checkpoint result(place);
  for (const TensorView &one : views) {
    HEDDLE_ASSIGN(StoredTensor tensor, view(one));
    if (!result.add(std::move(tensor), entries[places.find(one.source)->second].file)) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: two tensors would be called {}", place,
                                                       quote(one.name)));
    }
  }
  // Views share the mapped bytes.
  result.shards = std::move(shards);
  result.binary = std::move(binary);
  result.blocks = std::move(blocks);
  result.coded = std::move(coded);
  return result;
}

Result<Checkpoint> Checkpoint::withCodes(std::vector<CodedTensor> tensors,
                                         Quantization quantization) && {
  Checkpoint result(place);
  std::set<std::string_view> consumed;
  for (const CodedTensor &each : tensors) {
    consumed.insert(each.parts.begin(), each.parts.end());
  }
  for (Entry &entry : entries) {
    if (!consumed.contains(entry.tensor.name)) {
      result.add(entry.tensor, entry.file);
    }
  }
  for (CodedTensor &each : tensors) {
    std::vector<Entry> parts;
    for (const std::string &part : each.parts) {
      HEDDLE_ASSIGN(const Entry *const entry, locate(part));
      parts.push_back(*entry);
    }
    StoredTensor tensor;
    tensor.name = each.name;
    tensor.shape = {each.codes->rows(), each.codes->columns()};
    tensor.codes = std::move(each.codes);
    const size_t file = parts.empty() ? 0 : parts.front().file;
    if (!result.add(std::move(tensor), file, std::move(parts))) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: tensor {}: is there as numbers and as codes, expected "
                                      "one of both",
                                      place, quote(each.name)));
    }
  }
  result.shards = std::move(shards);
  result.coded = std::move(quantization);
  return result;
}

Result<Checkpoint> Checkpoint::withPart(std::string_view prefix, Checkpoint part) && {
  for (const Checkpoint *const each : {this, &part}) {
    if (each->binary || each->blocks) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: is of another format than safetensors, expected that of "
                                      "the weights of several modules",
                                      each->place));
    }
  }
  for (Entry &entry : part.entries) {
    StoredTensor tensor = std::move(entry.tensor);
    tensor.name = fmt::format("{}.{}", prefix, tensor.name);
    const std::string name = tensor.name;
    if (!add(std::move(tensor), shards.size() + entry.file)) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: two tensors would be called {}",
                                                       part.place, quote(name)));
    }
  }
  std::move(part.shards.begin(), part.shards.end(), std::back_inserter(shards));
  return std::move(*this);
}

std::vector<std::string> Checkpoint::filePaths() const {
  std::vector<std::string> paths;
  for (const SafetensorsFile &shard : shards) {
    paths.push_back(shard.path());
  }
  if (binary) {
    paths.push_back(binary->path());
  }
  if (blocks) {
    paths.push_back(blocks->path());
  }
  for (const auto &file : mapped) {
    paths.push_back(file->path());
  }
  return paths;
}

const StoredTensor *Checkpoint::find(std::string_view name) const {
  const auto found = places.find(name);
  return found == places.end() ? nullptr : &entries[found->second].tensor;
}

Result<const Checkpoint::Entry *> Checkpoint::locate(std::string_view name) const {
  const auto found = places.find(name);
  if (found == places.end()) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: has no tensor {} among its {}", place,
                                              quote(name), order.size()));
  }
  return &entries[found->second];
}

const std::string &Checkpoint::pathOf(const Entry &entry) const {
  if (binary) {
    return binary->path();
  }
  if (blocks) {
    return blocks->path();
  }
  return shards.empty() ? place : shards[entry.file].path();
}

std::string Checkpoint::describe(const Entry &entry) const {
  return fmt::format("{}: tensor {}", pathOf(entry), quote(entry.tensor.name));
}

Result<const StoredTensor *> Checkpoint::tensor(std::string_view name) const {
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  return &entry->tensor;
}

Result<std::string> Checkpoint::fileOf(std::string_view name) const {
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  return pathOf(*entry);
}

Status Checkpoint::readF32(std::string_view name, std::span<float> destination) const {
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  const StoredTensor &tensor = entry->tensor;
  if (tensor.blocks != nullptr) {
    HEDDLE_TRY_WITH(convertGgufToF32(*tensor.blocks, tensor.bytes, destination), describe(*entry));
    return {};
  }
  if (tensor.codes && tensor.scales.empty()) {
    const int64_t rows = tensor.shape.front();
    if (static_cast<int64_t>(destination.size()) != rows * tensor.codes->columns()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: holds {} values, the destination {}", describe(*entry),
                                      rows * tensor.codes->columns(), destination.size()));
    }
    tensor.codes->widen(tensor.firstRow, rows, destination);
    return {};
  }
  HEDDLE_TRY_WITH(tensor.scales.empty()
                      ? convertToF32(tensor.dtype, tensor.bytes, destination)
                      : convertScaledToF32(tensor.dtype, tensor.bytes, tensor.scales, destination),
                  describe(*entry));
  return {};
}

Status Checkpoint::read(std::string_view name, ElementType type,
                        std::span<std::byte> destination) const {
  if (type == ElementType::F32) {
    return readF32(
        name, {reinterpret_cast<float *>(destination.data()), destination.size() / sizeof(float)});
  }
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  const StoredTensor &tensor = entry->tensor;
  if (tensor.dtype != type || !tensor.scales.empty() || tensor.bytes.size() != destination.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has {} bytes of type {}, expected {} of {}",
                                    describe(*entry), tensor.bytes.size(),
                                    infoOf(tensor.dtype).name, destination.size(),
                                    infoOf(type).name));
  }
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), destination.begin());
  return {};
}

bool Checkpoint::hasParts(std::string_view name) const {
  const StoredTensor *const tensor = find(name);
  return tensor != nullptr && tensor->blocks == nullptr && !tensor->codes && tensor->scales.empty();
}

Status Checkpoint::readPart(std::string_view name, ElementType type, int64_t first,
                            std::span<std::byte> destination) const {
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  const StoredTensor &tensor = entry->tensor;
  const bool converts = type == ElementType::F32;
  if (!hasParts(name) || (!converts && tensor.dtype != type)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: parts of type {} cannot be read",
                                                     describe(*entry), infoOf(type).name));
  }
  const uint64_t width = infoOf(tensor.dtype).bytes();
  const uint64_t count = destination.size() / infoOf(type).bytes();
  const uint64_t all = tensor.bytes.size() / width;
  const auto begin = static_cast<uint64_t>(first);
  if (first < 0 || begin > all || count > all - begin) {
    return HEDDLE_ERROR(OutOfRange, fmt::format("{}: has {} values, {} from {} on are asked for",
                                                describe(*entry), all, count, first));
  }
  const std::span<const std::byte> part = tensor.bytes.subspan(begin * width, count * width);
  if (!converts) {
    std::copy(part.begin(), part.end(), destination.begin());
    return {};
  }
  HEDDLE_TRY_WITH(
      convertToF32(tensor.dtype, part, {reinterpret_cast<float *>(destination.data()), count}),
      describe(*entry));
  return {};
}

Result<CodeRows> Checkpoint::readCodes(std::string_view name, const CodeLayout &layout,
                                       bool hasLeastCode) const {
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  const StoredTensor &tensor = entry->tensor;
  if (!tensor.codes || tensor.codes->layout() != layout) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: has {}, expected codes of {} bits in groups of {}", describe(*entry),
                    tensor.codes ? tensor.codes->kind() : "no codes", layout.bits, layout.group));
  }
  CodeRows rows = tensor.codes->read(tensor.firstRow, tensor.shape.front());
  if (layout.bits == 8 && !hasLeastCode &&
      std::find(rows.codes.begin(), rows.codes.end(), std::numeric_limits<int8_t>::min()) !=
          rows.codes.end()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: has the code -128, expected codes from -127 to 127", describe(*entry)));
  }
  return rows;
}

Status Checkpoint::readI32(std::string_view name, std::span<int32_t> destination) const {
  HEDDLE_ASSIGN(const Entry *const entry, locate(name));
  HEDDLE_TRY_WITH(convertToI32(entry->tensor.dtype, entry->tensor.bytes, destination),
                  describe(*entry));
  return {};
}

void Checkpoint::releasePages(const Entry &entry) const {
  for (const Entry &part : entry.parts) {
    releasePages(part);
  }
  if (binary) {
    binary->releasePages(entry.tensor);
  } else if (blocks) {
    blocks->releasePages(entry.tensor.bytes);
  } else if (!shards.empty()) {
    shards[entry.file].releasePages(entry.tensor);
  }
  const std::span<const std::byte> bytes = entry.tensor.bytes;
  for (const auto &file : mapped) {
    const std::span<const std::byte> all = file->bytes();
    // Bytes that are in no file, which the owner holds, are kept.
    if (std::less_equal<>()(all.data(), bytes.data()) &&
        std::less_equal<>()(bytes.data() + bytes.size(), all.data() + all.size())) {
      file->releasePages(bytes);
    }
  }
}

void Checkpoint::releasePages(std::string_view name) const {
  const auto found = places.find(name);
  if (found != places.end()) {
    releasePages(entries[found->second]);
  }
}

} // namespace heddle
