// SPDX-License-Identifier: Apache-2.0
///
/// Writes a model.bin of any version, including malformed ones: it checks nothing.
#ifndef HEDDLE_TESTS_FORMATS_CTRANSLATE2_MODELBIN_H
#define HEDDLE_TESTS_FORMATS_CTRANSLATE2_MODELBIN_H

#include "heddle/ElementType.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Returns the bytes of a value.
template <typename T> std::string rawBytes(const T &value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof(T));
}
template <typename T> std::string rawBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

/// Returns a string preceded by its length, which includes the terminating NUL.
inline std::string rawString(std::string_view text) {
  return rawBytes(static_cast<uint16_t>(text.size() + 1)) + std::string(text) + '\0';
}

struct ModelBin {
  struct Variable {
    std::string name;
    std::vector<uint32_t> shape;
    ElementType dtype;
    std::string bytes;
  };

  uint32_t version = 6;
  std::string specification = "TransformerSpec";
  uint32_t revision = 7;
  std::vector<Variable> variables;
  std::vector<std::pair<std::string, std::string>> aliases;

  template <typename T>
  ModelBin &add(std::string name, std::vector<uint32_t> shape, ElementType dtype,
                const std::vector<T> &values) {
    variables.push_back({std::move(name), std::move(shape), dtype, rawBytes(values)});
    return *this;
  }
  ModelBin &addF32(std::string name, std::vector<uint32_t> shape,
                   const std::vector<float> &values) {
    return add(std::move(name), std::move(shape), ElementType::F32, values);
  }

  /// Returns the number of an item type or, up to version 3, its size in bytes.
  static char typeOf(uint32_t version, ElementType dtype) {
    if (version < 4) {
      return static_cast<char>(infoOf(dtype).bytes());
    }
    return static_cast<char>(infoOf(dtype).ctranslate2);
  }

  std::string file() const {
    std::string result = rawBytes(version) + rawString(specification) + rawBytes(revision) +
                         rawBytes(static_cast<uint32_t>(variables.size()));
    for (const Variable &variable : variables) {
      const size_t each = version < 4 ? infoOf(variable.dtype).bytes() : 1;
      result += rawString(variable.name) + static_cast<char>(variable.shape.size()) +
                rawBytes(variable.shape) + typeOf(version, variable.dtype) +
                rawBytes(static_cast<uint32_t>(variable.bytes.size() / each)) + variable.bytes;
    }
    if (version >= 3) {
      result += rawBytes(static_cast<uint32_t>(aliases.size()));
      for (const auto &[alias, name] : aliases) {
        result += rawString(alias) + rawString(name);
      }
    }
    return result;
  }
};

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_CTRANSLATE2_MODELBIN_H
