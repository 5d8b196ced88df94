// SPDX-License-Identifier: Apache-2.0
///
/// Sizes that depend on the batch: the schema's SizeExpression with checked arithmetic.
#ifndef HEDDLE_FORMATS_BINARY_SYMBOLICSIZE_H
#define HEDDLE_FORMATS_BINARY_SYMBOLICSIZE_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/ElementType.h"
#include "heddle/Limits.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>

namespace heddle {

/// The sizes of a batch.
struct WorkSize {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t longest = 0;
};

/// tokens * t + sequences * s + tokens * longest * l.
struct SymbolicSize {
  uint64_t tokens = 0;
  uint64_t sequences = 0;
  uint64_t tokensLongest = 0;

  /// Larger coefficients are refused in manifests, so that sums of two never overflow.
  static constexpr uint64_t limit = largestCoefficient;

  static SymbolicSize of(const manifest::SizeExpression &size) {
    return {size.tokens(), size.sequences(), size.tokens_longest()};
  }
  SymbolicSize operator+(const SymbolicSize &other) const {
    return {tokens + other.tokens, sequences + other.sequences,
            tokensLongest + other.tokensLongest};
  }
  /// Whether this is at most `other` for every batch, coefficient by coefficient.
  bool fitsIn(const SymbolicSize &other) const {
    return tokens <= other.tokens && sequences <= other.sequences &&
           tokensLongest <= other.tokensLongest;
  }
  bool withinLimit() const {
    return tokens <= limit && sequences <= limit && tokensLongest <= limit;
  }
  /// Rounds every coefficient up, so that whatever follows is aligned.
  SymbolicSize alignedUp(uint64_t alignment) const {
    auto up = [&](uint64_t value) { return (value + alignment - 1) / alignment * alignment; };
    return {up(tokens), up(sequences), up(tokensLongest)};
  }
  /// The bytes for a batch; nothing if they exceed 2^62.
  std::optional<uint64_t> evaluate(const WorkSize &work) const;
};

/// The element type of a buffer, port, cache or parameter that has been checked.
template <typename Table> ElementType elementOf(const Table &table) {
  return static_cast<ElementType>(table.element());
}

/// The bytes of so many elements side by side; nothing if they are more than SymbolicSize::limit.
std::optional<uint64_t> bytesOf(ElementType element, uint64_t count);

/// The bytes of a buffer whose shape has one symbolic row dimension and whose element type is one
/// of the table; nothing if the shape is of another kind or too large. `constant` is the size of a
/// shape of constants only, else 0.
struct BufferSize {
  SymbolicSize symbolic;
  uint64_t constant = 0;
};
std::optional<BufferSize> bufferSize(const manifest::Buffer &buffer);

/// Whether the elements of a vector, which may be absent, are aligned for their type. FlatBuffers
/// verifies the alignment of everything else.
template <typename Vector> bool isAligned(const Vector *vector) {
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % alignof(uint64_t) == 0;
}

/// The bytes and the elements of one row, that is, of all dimensions but the first; nothing if one
/// of those is symbolic.
std::optional<uint64_t> rowBytes(const manifest::Buffer &buffer);
std::optional<uint64_t> rowElements(const manifest::Buffer &buffer);

/// The elements of one row of a checked buffer, for a batch.
struct RowElements {
  uint64_t constant = 1;
  bool timesTokens = false;
  bool timesSequences = false;
  bool timesLongest = false;

  static RowElements of(const manifest::Buffer &buffer);
  int64_t evaluate(const WorkSize &work) const {
    return static_cast<int64_t>(constant) * (timesTokens ? work.tokens : 1) *
           (timesSequences ? work.sequences : 1) * (timesLongest ? work.longest : 1);
  }
};

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_SYMBOLICSIZE_H
