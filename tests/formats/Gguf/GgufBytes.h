// SPDX-License-Identifier: Apache-2.0
///
/// Writes GGUF files, including malformed ones: it checks nothing.
#ifndef HEDDLE_TESTS_FORMATS_GGUF_GGUFBYTES_H
#define HEDDLE_TESTS_FORMATS_GGUF_GGUFBYTES_H

#include "formats/Gguf/GgufFile.h"
#include "tests/formats/Checkpoint/ModelBin.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Returns a string preceded by its length.
inline std::string ggufText(std::string_view text) {
  return rawBytes(uint64_t(text.size())) + std::string(text);
}

/// The fields of a file to be written.
struct GgufBytes {
  struct Key {
    std::string name;
    /// The type followed by the value.
    std::string bytes;
  };
  struct Tensor {
    std::string name;
    /// In storage order: the length of a row comes first.
    std::vector<uint64_t> sizes;
    uint32_t type = 0;
    std::string bytes;
    /// The stated offset; nullopt for the actual one.
    std::optional<uint64_t> offset = std::nullopt;
  };

  std::string magic = "GGUF";
  uint32_t version = 3;
  /// The stated counts; nullopt for the actual ones.
  std::optional<uint64_t> tensorCount;
  std::optional<uint64_t> keyCount;
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  /// The alignment of the written data; the key "general.alignment" is independent of it.
  uint64_t alignment = 32;

  template <typename T> GgufBytes &add(std::string name, GgufKind kind, const T &value) {
    return addRaw(std::move(name), kind, rawBytes(value));
  }
  GgufBytes &addRaw(std::string name, GgufKind kind, std::string_view bytes) {
    keys.push_back({std::move(name), rawBytes(static_cast<uint32_t>(kind)) + std::string(bytes)});
    return *this;
  }
  GgufBytes &addText(std::string name, std::string_view text) {
    return addRaw(std::move(name), GgufKind::String, ggufText(text));
  }
  GgufBytes &addTexts(std::string name, const std::vector<std::string> &texts) {
    std::string bytes = arrayStart(GgufKind::String, texts.size());
    for (const std::string &text : texts) {
      bytes += ggufText(text);
    }
    return addRaw(std::move(name), GgufKind::Array, bytes);
  }
  template <typename T>
  GgufBytes &addList(std::string name, GgufKind kind, const std::vector<T> &values) {
    return addRaw(std::move(name), GgufKind::Array,
                  arrayStart(kind, values.size()) + rawBytes(values));
  }
  static std::string arrayStart(GgufKind kind, uint64_t count) {
    return rawBytes(static_cast<uint32_t>(kind)) + rawBytes(count);
  }

  /// Removes the key with this name, for example to add another value.
  GgufBytes &without(std::string_view name) {
    std::erase_if(keys, [&](const Key &key) { return key.name == name; });
    return *this;
  }

  /// Returns the whole file.
  std::string file() const {
    std::string bytes = magic + rawBytes(version) + rawBytes(tensorCount.value_or(tensors.size())) +
                        rawBytes(keyCount.value_or(keys.size()));
    for (const Key &key : keys) {
      bytes += ggufText(key.name) + key.bytes;
    }
    uint64_t next = 0;
    for (const Tensor &tensor : tensors) {
      bytes += ggufText(tensor.name) + rawBytes(static_cast<uint32_t>(tensor.sizes.size())) +
               rawBytes(tensor.sizes) + rawBytes(tensor.type) +
               rawBytes(tensor.offset.value_or(next));
      next = padded(next + tensor.bytes.size());
    }
    bytes.resize(padded(bytes.size()));
    for (const Tensor &tensor : tensors) {
      bytes += tensor.bytes;
      bytes.resize(padded(bytes.size()));
    }
    return bytes;
  }

private:
  uint64_t padded(uint64_t size) const { return (size + alignment - 1) / alignment * alignment; }
};

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_GGUF_GGUFBYTES_H
