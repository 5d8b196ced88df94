// SPDX-License-Identifier: Apache-2.0
///
/// Counts rows and computes the sizes of buffers.
#include "formats/Binary/SymbolicSize.h"

#include <algorithm>
#include <tuple>

namespace heddle {

// --- row spaces ------------------------------------------------------------------------------

std::optional<RowSpace> spaceOf(const manifest::RowSpace &space) {
  return RowSpace::of(static_cast<RowSpaceKind>(space.kind()), static_cast<int64_t>(space.size()));
}

std::vector<RowSpace> spacesOf(const manifest::Entry &entry) {
  std::vector<RowSpace> table;
  for (const manifest::RowSpace *const space : *entry.spaces()) {
    table.push_back(*spaceOf(*space));
  }
  return table;
}

void WorkSize::count(std::span<const RowSpace> table, const SequenceSizes &sequences,
                     int64_t longest) {
  spaces.assign(table.size(), RowCount());
  for (size_t i = 0; i < table.size(); ++i) {
    int64_t most = 0;
    for (size_t sequence = 0; sequence < sequences.lengths.size(); ++sequence) {
      const int64_t rows = sequences.rowsIn(table[i], sequence);
      spaces[i].rows += rows;
      most = std::max(most, rows);
    }
    // Among images of any width, the one with the most tokens need not have the most rows.
    spaces[i].longest = table[i].hasWidths() ? most : table[i].rowsOf(longest);
  }
}

// --- sums ------------------------------------------------------------------------------------

static bool precedes(const SymbolicSize::Term &left, const SymbolicSize::Term &right) {
  return std::tuple(left.rows, left.keys) < std::tuple(right.rows, right.keys);
}

static bool areAlike(const SymbolicSize::Term &left, const SymbolicSize::Term &right) {
  return left.rows == right.rows && left.keys == right.keys;
}

/// Merges the terms of both sizes, combining equal ones.
template <typename Combine>
static std::vector<SymbolicSize::Term> combine(std::span<const SymbolicSize::Term> left,
                                               std::span<const SymbolicSize::Term> right,
                                               const Combine &both) {
  std::vector<SymbolicSize::Term> list(left.begin(), left.end());
  for (const SymbolicSize::Term &term : right) {
    const auto place = std::lower_bound(list.begin(), list.end(), term, precedes);
    if (place != list.end() && areAlike(*place, term)) {
      place->bytes = both(place->bytes, term.bytes);
    } else {
      list.insert(place, term);
    }
  }
  return list;
}

SymbolicSize SymbolicSize::of(const flatbuffers::Vector<const manifest::SizeTerm *> *terms) {
  SymbolicSize size;
  for (uint32_t i = 0; terms != nullptr && i < terms->size(); ++i) {
    const manifest::SizeTerm &term = *terms->Get(i);
    size.list.push_back({term.rows(), term.keys(), term.bytes()});
  }
  std::sort(size.list.begin(), size.list.end(), precedes);
  return size;
}

SymbolicSize SymbolicSize::operator+(const SymbolicSize &other) const {
  SymbolicSize sum;
  sum.list = combine(list, other.list, [](uint64_t left, uint64_t right) { return left + right; });
  return sum;
}

SymbolicSize SymbolicSize::larger(const SymbolicSize &other) const {
  SymbolicSize size;
  size.list = combine(list, other.list,
                      [](uint64_t left, uint64_t right) { return std::max(left, right); });
  return size;
}

bool SymbolicSize::fitsIn(const SymbolicSize &other) const {
  return std::all_of(list.begin(), list.end(), [&](const Term &term) {
    const auto its = std::lower_bound(other.list.begin(), other.list.end(), term, precedes);
    const bool has = its != other.list.end() && areAlike(*its, term);
    return term.bytes <= (has ? its->bytes : 0);
  });
}

bool SymbolicSize::withinLimit() const {
  return std::all_of(list.begin(), list.end(),
                     [](const Term &term) { return term.bytes <= limit; });
}

bool SymbolicSize::isAligned(uint64_t alignment) const {
  return std::all_of(list.begin(), list.end(),
                     [&](const Term &term) { return term.bytes % alignment == 0; });
}

SymbolicSize SymbolicSize::alignedUp(uint64_t alignment) const {
  SymbolicSize size = *this;
  for (Term &term : size.list) {
    term.bytes = (term.bytes + alignment - 1) / alignment * alignment;
  }
  return size;
}

std::optional<uint64_t> SymbolicSize::evaluate(const WorkSize &work) const {
  using Wide = unsigned __int128;
  constexpr Wide most = Wide(1) << 62;
  Wide bytes = 0;
  for (const Term &term : list) {
    // A coefficient is a sum of at most 2^12 terms of at most 2^40 each, and sizes are below 2^31:
    // no term reaches 2^115.
    const auto rows = static_cast<uint64_t>(work.spaces[term.rows].rows);
    const uint64_t keys =
        term.keys == 0 ? 1 : static_cast<uint64_t>(work.spaces[term.keys - 1U].longest);
    bytes += Wide(rows) * keys * term.bytes;
    if (bytes > most) {
      return std::nullopt;
    }
  }
  return static_cast<uint64_t>(bytes);
}

// --- buffers ---------------------------------------------------------------------------------

std::optional<uint64_t> bytesOf(ElementType element, uint64_t count) {
  if (count > SymbolicSize::limit) {
    return std::nullopt;
  }
  const auto elements = static_cast<int64_t>(count);
  const std::optional<uint64_t> bytes = byteSize(element, {&elements, 1});
  return bytes && *bytes <= SymbolicSize::limit ? bytes : std::nullopt;
}

namespace {
/// The product of dimensions: the constants, and those that depend on the batch.
struct Product {
  uint64_t elements = 1;
  std::vector<const manifest::Dimension *> symbols = {};
};
} // namespace

/// Returns the product of the dimensions from `first` on; nullopt if the constants are too large.
static std::optional<Product> product(const manifest::Buffer &buffer, size_t first) {
  Product found;
  const auto *const shape = buffer.shape();
  for (size_t i = first; shape != nullptr && i < shape->size(); ++i) {
    const manifest::Dimension &dimension = *shape->Get(static_cast<uint32_t>(i));
    if (dimension.constant() == 0) {
      found.symbols.push_back(&dimension);
    } else if (__builtin_mul_overflow(found.elements, dimension.constant(), &found.elements) ||
               found.elements > SymbolicSize::limit) {
      return std::nullopt;
    }
  }
  return found;
}

std::optional<BufferSize> bufferSize(const manifest::Buffer &buffer) {
  const std::optional<Product> found = product(buffer, 0);
  const std::optional<uint64_t> bytes =
      found ? bytesOf(elementOf(buffer), found->elements) : std::nullopt;
  if (!bytes) {
    return std::nullopt;
  }
  if (found->symbols.empty()) {
    return BufferSize{{}, *bytes};
  }
  SymbolicSize::Term term;
  term.bytes = *bytes;
  unsigned rows = 0;
  unsigned keys = 0;
  for (const manifest::Dimension *const symbol : found->symbols) {
    if (symbol->longest()) {
      ++keys;
      term.keys = static_cast<uint8_t>(1 + symbol->space());
    } else {
      ++rows;
      term.rows = symbol->space();
    }
  }
  return rows == 1 && keys <= 1 ? std::optional(BufferSize{SymbolicSize(term), 0}) : std::nullopt;
}

std::optional<uint64_t> rowElements(const manifest::Buffer &buffer) {
  const std::optional<Product> found = product(buffer, 1);
  return found && found->symbols.empty() ? std::optional(found->elements) : std::nullopt;
}

std::optional<uint64_t> rowBytes(const manifest::Buffer &buffer) {
  const std::optional<uint64_t> elements = rowElements(buffer);
  return elements ? bytesOf(elementOf(buffer), *elements) : std::nullopt;
}

RowElements RowElements::of(const manifest::Buffer &buffer) {
  const std::optional<Product> found = product(buffer, 1);
  RowElements elements{found ? found->elements : 0};
  for (const manifest::Dimension *const symbol :
       found ? found->symbols : std::vector<const manifest::Dimension *>()) {
    (symbol->longest() ? elements.keys : elements.rows) = symbol->space();
  }
  return elements;
}

int64_t RowElements::evaluate(const WorkSize &work) const {
  return static_cast<int64_t>(constant) * (rows ? work.spaces[*rows].rows : 1) *
         (keys ? work.spaces[*keys].longest : 1);
}

} // namespace heddle
