// SPDX-License-Identifier: Apache-2.0
///
/// A number is finite unless all bits of its exponent are set.
#include "compiler/Driver/NonFiniteWeights.h"

#include "base/Utf8.h"

#include <cstdint>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

/// Branch-free, so that the loop is memory-bound.
template <typename Bits>
static bool hasNonFinite(std::span<const std::byte> values, Bits exponent) {
  Bits found = 0;
  for (size_t i = 0; i + sizeof(Bits) <= values.size(); i += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, values.data() + i, sizeof(Bits));
    found |= static_cast<Bits>((bits & exponent) == exponent ? 1 : 0);
  }
  return found != 0;
}

static bool hasNonFinite(ElementType element, std::span<const std::byte> values) {
  switch (element) {
  case ElementType::F32:
    return hasNonFinite<uint32_t>(values, 0x7F800000);
  case ElementType::BF16:
    return hasNonFinite<uint16_t>(values, 0x7F80);
  case ElementType::F16:
    return hasNonFinite<uint16_t>(values, 0x7C00);
  default:
    return false;
  }
}

void NonFiniteWeights::see(std::string_view name, ElementType element,
                           std::span<const std::byte> values, int64_t first) {
  if (!seen.emplace(name, first).second || !hasNonFinite(element, values)) {
    return;
  }
  if (found.empty()) {
    firstFound = name;
  }
  found.emplace(name);
}

void NonFiniteWeights::see(std::string_view name, std::span<const float> scales) {
  see(name, ElementType::F32, std::as_bytes(scales));
}

std::string NonFiniteWeights::text() const {
  const size_t count = found.size();
  if (count == 0) {
    return {};
  }
  const std::string others =
      count == 1 ? "" : fmt::format(", and so {} {} more", count == 2 ? "has" : "have", count - 1);
  return fmt::format("tensor {} has numbers that are NaN or infinite{}, expected finite ones: "
                     "results may be NaN",
                     quote(firstFound), others);
}

} // namespace heddle
