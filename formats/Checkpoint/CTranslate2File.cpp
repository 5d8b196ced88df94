// SPDX-License-Identifier: Apache-2.0
///
/// Access to the options and variables of an open model.bin.
#include "formats/Checkpoint/CTranslate2File.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"

#include <cstring>
#include <fmt/format.h>

namespace heddle {

Result<CTranslate2File> CTranslate2File::open(const std::string &path) {
  HEDDLE_ASSIGN(MappedFile file, MappedFile::open(path));
  HEDDLE_ASSIGN(CTranslate2Contents contents, parseCTranslate2(file.bytes(), path));
  return CTranslate2File(std::move(file), std::move(contents));
}

const StoredTensor *CTranslate2File::find(std::string_view name) const {
  const auto found = contents.places.find(name);
  return found == contents.places.end() ? nullptr : &contents.variables[found->second];
}

Result<const StoredTensor *> CTranslate2File::variable(std::string_view name) const {
  const StoredTensor *const found = find(name);
  if (found == nullptr) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: has no variable {} among its {}", path(),
                                              quote(name), contents.variables.size()));
  }
  return found;
}

/// Returns the only item of a variable, as a T.
template <typename T> static T onlyItem(const StoredTensor &variable) {
  T value;
  std::memcpy(&value, variable.bytes.data(), sizeof(T));
  return value;
}

Result<double> CTranslate2File::number(std::string_view name) const {
  HEDDLE_ASSIGN(const StoredTensor *const found, variable(name));
  if (found->bytes.size() != infoOf(found->dtype).bytes()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: variable {} has shape {}, expected a single value", path(),
                                    quote(name), formatShape(found->shape)));
  }
  switch (found->dtype) {
  case ElementType::I8:
    return onlyItem<int8_t>(*found);
  case ElementType::I16:
    return onlyItem<int16_t>(*found);
  case ElementType::I32:
    return onlyItem<int32_t>(*found);
  case ElementType::F16:
    return f16ToF32(onlyItem<uint16_t>(*found));
  case ElementType::BF16:
    return bf16ToF32(onlyItem<uint16_t>(*found));
  default:
    // The format has no other type.
    return onlyItem<float>(*found);
  }
}

Result<std::string> CTranslate2File::text(std::string_view name) const {
  HEDDLE_ASSIGN(const StoredTensor *const found, variable(name));
  if (found->dtype != ElementType::I8 || found->shape.size() != 1) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: variable {} is {} {}, expected text: a "
                                    "list of I8",
                                    path(), quote(name), infoOf(found->dtype).safetensors,
                                    formatShape(found->shape)));
  }
  std::string text(reinterpret_cast<const char *>(found->bytes.data()), found->bytes.size());
  if (validUtf8Prefix(text) != text.size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: variable {} is {}, which is not UTF-8", path(),
                                              quote(name), quote(text)));
  }
  return text;
}

} // namespace heddle
