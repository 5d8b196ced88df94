// SPDX-License-Identifier: Apache-2.0
///
/// Item types by name, and sizes that cannot overflow.
#include "formats/Checkpoint/Dtype.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace heddle {

static constexpr Dtype allDtypes[] = {
#define HEDDLE_DTYPE(Name, text, bytes) Dtype::Name,
#include "formats/Checkpoint/Dtype.def"
};

std::optional<Dtype> parseDtype(std::string_view name) {
  for (const Dtype dtype : allDtypes) {
    if (dtypeName(dtype) == name) {
      return dtype;
    }
  }
  return std::nullopt;
}

std::string knownDtypes() {
  std::string result;
  for (const Dtype dtype : allDtypes) {
    result += result.empty() ? "" : ", ";
    result += dtypeName(dtype);
  }
  return result;
}

std::optional<uint64_t> byteSize(Dtype dtype, std::span<const int64_t> shape) {
  uint64_t size = dtypeSize(dtype);
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(size, static_cast<uint64_t>(dimension), &size) ||
        size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return std::nullopt;
    }
  }
  return size;
}

std::string formatShape(std::span<const int64_t> shape) {
  constexpr size_t shown = 16;
  return fmt::format("[{}{}]", fmt::join(shape.first(std::min(shape.size(), shown)), ", "),
                     shape.size() > shown ? ", ..." : "");
}

} // namespace heddle
