// SPDX-License-Identifier: Apache-2.0
///
/// Sizes that depend on the batch: the row spaces of an entry, the number of rows of a batch in
/// each, and the schema's sums of such sizes with checked arithmetic.
#ifndef HEDDLE_FORMATS_BINARY_SYMBOLICSIZE_H
#define HEDDLE_FORMATS_BINARY_SYMBOLICSIZE_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/ElementType.h"
#include "heddle/Limits.h"
#include "heddle/RowSpace.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// Every entry's table of spaces begins with these.
inline constexpr uint8_t tokensSpace = 0;
inline constexpr uint8_t sequencesSpace = 1;

/// Returns the table of a checked entry.
std::vector<RowSpace> spacesOf(const manifest::Entry &entry);
/// Returns one line of the table; nullopt if it is no valid space.
std::optional<RowSpace> spaceOf(const manifest::RowSpace &space);

/// The sizes of a batch in one row space.
struct RowCount {
  int64_t rows = 0;
  /// The maximum number of rows of a sequence.
  int64_t longest = 0;

  bool operator==(const RowCount &) const = default;
};

/// The sizes of a batch, by the number of the space.
struct WorkSize {
  std::vector<RowCount> spaces;

  /// Counts the rows of sequences. `longest` is at least the maximum number of tokens of one.
  void count(std::span<const RowSpace> table, const SequenceSizes &sequences, int64_t longest);
};

/// A sum of products: bytes * rows of a space, or bytes * rows * longest of a space.
class SymbolicSize {
public:
  struct Term {
    uint8_t rows = 0;
    /// 1 + the space; 0: none.
    uint8_t keys = 0;
    uint64_t bytes = 0;
  };

  SymbolicSize() = default;
  explicit SymbolicSize(Term term) : list{term} {}
  static SymbolicSize of(const flatbuffers::Vector<const manifest::SizeTerm *> *terms);

  /// Larger coefficients are rejected in manifests, so that sums of two never overflow.
  static constexpr uint64_t limit = largestCoefficient;

  /// Returns the terms, ordered by space, without duplicates.
  std::span<const Term> terms() const { return list; }
  SymbolicSize operator+(const SymbolicSize &other) const;
  /// Returns the maximum of each coefficient.
  SymbolicSize larger(const SymbolicSize &other) const;
  /// Returns whether each coefficient is at most that of `other`, so that this fits for every
  /// batch.
  bool fitsIn(const SymbolicSize &other) const;
  bool withinLimit() const;
  /// Returns whether all coefficients are multiples of `alignment`.
  bool isAligned(uint64_t alignment) const;
  /// Rounds every coefficient up, so that the following data is aligned.
  SymbolicSize alignedUp(uint64_t alignment) const;
  /// Returns the bytes for a batch; nullopt if they exceed 2^62.
  std::optional<uint64_t> evaluate(const WorkSize &work) const;

private:
  std::vector<Term> list;
};

/// Returns the element type of a buffer, port, cache or parameter that has been checked.
template <typename Table> ElementType elementOf(const Table &table) {
  return static_cast<ElementType>(table.element());
}

/// Returns the bytes of `count` contiguous elements; nullopt if they exceed SymbolicSize::limit.
std::optional<uint64_t> bytesOf(ElementType element, uint64_t count);

/// Returns the bytes of a buffer whose shape has one dimension of rows and whose element type is
/// valid; nullopt for other shapes and if it is too large. `constant` is the size of a shape of
/// constants only, otherwise 0.
struct BufferSize {
  SymbolicSize symbolic;
  uint64_t constant = 0;
};
std::optional<BufferSize> bufferSize(const manifest::Buffer &buffer);

/// Returns whether the elements of a vector, which may be absent, are aligned for their type.
/// FlatBuffers verifies the alignment of everything else.
template <typename Vector> bool isAligned(const Vector *vector) {
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % alignof(uint64_t) == 0;
}

/// Returns the bytes and the number of elements of one row, that is, of all dimensions but the
/// first; nullopt if one of those is symbolic.
std::optional<uint64_t> rowBytes(const manifest::Buffer &buffer);
std::optional<uint64_t> rowElements(const manifest::Buffer &buffer);

/// Returns the elements of one row of a checked buffer, for a batch.
struct RowElements {
  uint64_t constant = 1;
  /// The space of a dimension of rows, and of a dimension of the maximum rows of a sequence.
  std::optional<uint8_t> rows = std::nullopt;
  std::optional<uint8_t> keys = std::nullopt;

  static RowElements of(const manifest::Buffer &buffer);
  int64_t evaluate(const WorkSize &work) const;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_SYMBOLICSIZE_H
