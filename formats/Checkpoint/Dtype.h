// SPDX-License-Identifier: Apache-2.0
///
/// The item types of stored tensors, their names and sizes; all of them from one list.
#ifndef HEDDLE_FORMATS_CHECKPOINT_DTYPE_H
#define HEDDLE_FORMATS_CHECKPOINT_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// The type of a stored item.
enum class Dtype {
#define HEDDLE_DTYPE(Name, text, bytes) Name,
#include "formats/Checkpoint/Dtype.def"
};

/// The name a safetensors header uses, for example "BF16".
constexpr std::string_view dtypeName(Dtype dtype) {
  switch (dtype) {
#define HEDDLE_DTYPE(Name, text, bytes)                                                            \
  case Dtype::Name:                                                                                \
    return text;
#include "formats/Checkpoint/Dtype.def"
  }
  return "unknown";
}

/// Bytes per item.
constexpr size_t dtypeSize(Dtype dtype) {
  switch (dtype) {
#define HEDDLE_DTYPE(Name, text, bytes)                                                            \
  case Dtype::Name:                                                                                \
    return bytes;
#include "formats/Checkpoint/Dtype.def"
  }
  return 0;
}

/// The type with this name; nothing for a name that is not in the list.
std::optional<Dtype> parseDtype(std::string_view name);

/// All names, separated by commas, for messages.
std::string knownDtypes();

/// Bytes of a tensor; nothing if a size is negative or the product is above INT64_MAX.
std::optional<uint64_t> byteSize(Dtype dtype, std::span<const int64_t> shape);

/// A shape as messages show it: [2, 3], and [] for a single value; cut after 16 dimensions.
std::string formatShape(std::span<const int64_t> shape);

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_DTYPE_H
