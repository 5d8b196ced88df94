// SPDX-License-Identifier: Apache-2.0
///
/// Computes the sizes of buffers.
#include "formats/Binary/SymbolicSize.h"

namespace heddle {

std::optional<uint64_t> SymbolicSize::evaluate(const WorkSize &work) const {
  using Wide = unsigned __int128;
  const Wide t = static_cast<uint64_t>(work.tokens);
  const Wide s = static_cast<uint64_t>(work.sequences);
  const Wide l = static_cast<uint64_t>(work.longest);
  // Coefficients are below 2^42 and sizes below 2^31: no term reaches 2^105.
  const Wide bytes = t * tokens + s * sequences + t * l * tokensLongest;
  if (bytes > (Wide(1) << 62)) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

/// Multiplies the constant dimensions from `first` on and counts the symbolic ones.
static std::optional<uint64_t> product(const manifest::Buffer &buffer, size_t first,
                                       unsigned (&symbols)[3]) {
  uint64_t elements = 1;
  const auto *const shape = buffer.shape();
  for (size_t i = first; shape != nullptr && i < shape->size(); ++i) {
    const manifest::Dimension &dimension = *shape->Get(static_cast<uint32_t>(i));
    if (dimension.constant() == 0) {
      ++symbols[static_cast<unsigned>(dimension.symbol()) % 3];
    } else if (__builtin_mul_overflow(elements, dimension.constant(), &elements) ||
               elements > SymbolicSize::limit) {
      return std::nullopt;
    }
  }
  return elements;
}

std::optional<uint64_t> bytesOf(ElementType element, uint64_t count) {
  if (count > SymbolicSize::limit) {
    return std::nullopt;
  }
  const auto elements = static_cast<int64_t>(count);
  const std::optional<uint64_t> bytes = byteSize(element, {&elements, 1});
  return bytes && *bytes <= SymbolicSize::limit ? bytes : std::nullopt;
}

std::optional<BufferSize> bufferSize(const manifest::Buffer &buffer) {
  unsigned symbols[3] = {};
  const std::optional<uint64_t> elements = product(buffer, 0, symbols);
  const std::optional<uint64_t> bytes =
      elements ? bytesOf(elementOf(buffer), *elements) : std::nullopt;
  if (!bytes) {
    return std::nullopt;
  }
  const unsigned tokens = symbols[static_cast<unsigned>(manifest::Symbol::Tokens)];
  const unsigned sequences = symbols[static_cast<unsigned>(manifest::Symbol::Sequences)];
  const unsigned longest = symbols[static_cast<unsigned>(manifest::Symbol::Longest)];
  if (tokens + sequences + longest == 0) {
    return BufferSize{{}, *bytes};
  }
  if (tokens == 1 && sequences == 0 && longest <= 1) {
    return BufferSize{longest == 0 ? SymbolicSize{*bytes, 0, 0} : SymbolicSize{0, 0, *bytes}, 0};
  }
  if (tokens == 0 && sequences == 1 && longest == 0) {
    return BufferSize{{0, *bytes, 0}, 0};
  }
  return std::nullopt;
}

std::optional<uint64_t> rowElements(const manifest::Buffer &buffer) {
  unsigned symbols[3] = {};
  const std::optional<uint64_t> elements = product(buffer, 1, symbols);
  return symbols[0] + symbols[1] + symbols[2] == 0 ? elements : std::nullopt;
}

std::optional<uint64_t> rowBytes(const manifest::Buffer &buffer) {
  const std::optional<uint64_t> elements = rowElements(buffer);
  return elements ? bytesOf(elementOf(buffer), *elements) : std::nullopt;
}

RowElements RowElements::of(const manifest::Buffer &buffer) {
  unsigned symbols[3] = {};
  const std::optional<uint64_t> elements = product(buffer, 1, symbols);
  return {elements.value_or(0), symbols[static_cast<unsigned>(manifest::Symbol::Tokens)] != 0,
          symbols[static_cast<unsigned>(manifest::Symbol::Sequences)] != 0,
          symbols[static_cast<unsigned>(manifest::Symbol::Longest)] != 0};
}

} // namespace heddle
