// SPDX-License-Identifier: Apache-2.0
///
/// Row spaces: what the rows of an activation are, how many of them each sequence has, and how
/// dimensions of shapes name them. Compiler and runtime use this one definition, which includes the
/// table heddle/RowSpaces.def.
#ifndef HEDDLE_ROWSPACE_H
#define HEDDLE_ROWSPACE_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

enum class RowSpaceKind : uint8_t {
#define HEDDLE_ROW_SPACE(Name, name, Origin, rows, unit, perToken, perSequence) Name,
#include "heddle/RowSpaces.def"
};

/// The size of a space of pixels: rows of an image have `across` pixels each, of which every
/// `down`th row and every `right`th column is kept. The tokens of a sequence are the pixels of an
/// image in row-major order. If `across` is `anyWidth`, each sequence has its own width.
struct GridSize {
  static constexpr int64_t anyWidth = 0;
  static constexpr int64_t mostAcross = (int64_t{1} << 16) - 1;
  static constexpr int64_t mostStride = (int64_t{1} << 8) - 1;

  uint64_t across = 1, down = 1, right = 1;

  constexpr bool isOfAnyWidth() const { return across == anyWidth; }
  /// Returns the number of pixels kept of an image row; `width` is the width of the image, which is
  /// used only if images may have any width.
  constexpr uint64_t rowPixels(uint64_t width = anyWidth) const {
    return ((isOfAnyWidth() ? width : across) + right - 1) / right;
  }
  constexpr uint64_t rows(uint64_t tokens, uint64_t width) const {
    if (isOfAnyWidth() && width == 0) {
      // No width keeps more rows.
      return tokens;
    }
    const uint64_t wide = isOfAnyWidth() ? width : across;
    const uint64_t height = (tokens + wide - 1) / wide;
    return (height + down - 1) / down * rowPixels(width);
  }
  /// Packs the size into one number, as RowSpace::size() returns it.
  constexpr int64_t packed() const {
    return static_cast<int64_t>(across << 16 | down << 8 | right);
  }
  constexpr bool isValid() const {
    return across != 1 && across <= mostAcross && down > 0 && down <= mostStride && right > 0 &&
           right <= mostStride;
  }
};

constexpr GridSize gridOf(uint64_t size) { return {size >> 16, size >> 8 & 0xff, size & 0xff}; }

/// How the number of rows is determined.
enum class RowSpaceOrigin : uint8_t { Given, Derived, Ordered, Split };

/// The size of a split space: a row of the space (`baseKind`, `baseSize`) becomes `parts` rows.
struct SplitSize {
  static constexpr int64_t mostParts = 0xff;

  int64_t parts, baseKind, baseSize;

  /// Packs the size into one number, as RowSpace::size() returns it.
  constexpr int64_t packed() const { return parts | baseKind << 8 | baseSize << 12; }
  static constexpr SplitSize of(int64_t packed) {
    return {packed & mostParts, packed >> 8 & 0xf, packed >> 12};
  }
};

// The table's functions for a split space: those of its base space, for each part.
constexpr uint64_t splitRows(uint64_t n, uint64_t size, uint64_t width);
constexpr uint64_t splitPerToken(uint64_t bytes, uint64_t size);
constexpr uint64_t splitPerSequence(uint64_t bytes, uint64_t size);

/// One line of the table.
struct RowSpaceInfo {
  std::string_view name;
  RowSpaceOrigin origin;
  uint64_t (*rows)(uint64_t n, uint64_t size, uint64_t width);
  uint64_t (*unit)(uint64_t size);
  uint64_t (*perToken)(uint64_t bytes, uint64_t size);
  uint64_t (*perSequence)(uint64_t bytes, uint64_t size);
};

/// The table, in the order of the enumerators.
inline constexpr RowSpaceInfo rowSpaceTable[] = {
#define HEDDLE_ROW_SPACE(Name, name, Origin, rows, unit, perToken, perSequence)                    \
  {name,                                                                                           \
   RowSpaceOrigin::Origin,                                                                         \
   []([[maybe_unused]] uint64_t n, [[maybe_unused]] uint64_t size,                                 \
      [[maybe_unused]] uint64_t width) -> uint64_t { return rows; },                               \
   []([[maybe_unused]] uint64_t size) -> uint64_t { return unit; },                                \
   []([[maybe_unused]] uint64_t bytes, [[maybe_unused]] uint64_t size) -> uint64_t {               \
     return perToken;                                                                              \
   },                                                                                              \
   []([[maybe_unused]] uint64_t bytes, [[maybe_unused]] uint64_t size) -> uint64_t {               \
     return perSequence;                                                                           \
   }},
#include "heddle/RowSpaces.def"
};

inline constexpr size_t rowSpaceKinds = sizeof(rowSpaceTable) / sizeof(rowSpaceTable[0]);

/// A row space. Derived spaces are derived from tokens: blocks of blocks are larger blocks of
/// tokens, and strided pixels of strided pixels are strided pixels of tokens.
class RowSpace {
public:
  /// The minimum and maximum size of a derived space.
  static constexpr int64_t leastSize = 2;
  static constexpr int64_t largestSize = int64_t{1} << 20;

  static constexpr RowSpace tokens() { return {RowSpaceKind::Tokens, 0}; }
  static constexpr RowSpace sequences() { return {RowSpaceKind::Sequences, 0}; }
  /// The rows of tokens in time order, from the first or the last token of each sequence.
  static constexpr RowSpace steps(bool reversed) {
    return {reversed ? RowSpaceKind::StepsReversed : RowSpaceKind::Steps, 0};
  }
  /// The sequences in the order in which each step lists them.
  static constexpr RowSpace ranks() { return {RowSpaceKind::Ranks, 0}; }
  /// Returns the space of that kind and size; nullopt if it does not exist: only derived spaces
  /// have a size, which is limited.
  static constexpr std::optional<RowSpace> of(RowSpaceKind kind, int64_t size) {
    if (static_cast<size_t>(kind) >= rowSpaceKinds) {
      return std::nullopt;
    }
    const RowSpaceOrigin origin = rowSpaceTable[static_cast<size_t>(kind)].origin;
    const bool fits = kind == RowSpaceKind::Grid
                          ? size >= 0 && gridOf(static_cast<uint64_t>(size)).isValid()
                      : origin == RowSpaceOrigin::Split   ? isSplitSize(size)
                      : origin == RowSpaceOrigin::Derived ? size >= leastSize && size <= largestSize
                                                          : size == 0;
    return fits ? std::optional(RowSpace(kind, size)) : std::nullopt;
  }
  /// Returns the space derived from the rows of this one; nullopt if these are whole sequences or
  /// the size, in tokens, would be too large.
  constexpr std::optional<RowSpace> derive(RowSpaceKind kind, int64_t size) const {
    const auto own = static_cast<int64_t>(unit());
    if (own == 0 || isOrdered() || isSplit() || itsKind == RowSpaceKind::Grid || size < leastSize ||
        size > largestSize) {
      return std::nullopt;
    }
    return of(kind, own * size);
  }
  constexpr std::optional<RowSpace> blocks(int64_t size) const {
    return derive(RowSpaceKind::Blocks, size);
  }

  /// Returns the space of the choices of each row, `count` of them; nullopt if these rows are
  /// choices themselves or the count is not in 1 to SplitSize::mostParts.
  constexpr std::optional<RowSpace> choices(int64_t count) const {
    if (count < 1 || count > SplitSize::mostParts) {
      return std::nullopt;
    }
    return of(RowSpaceKind::Choices,
              SplitSize{count, static_cast<int64_t>(itsKind), itsSize}.packed());
  }

  /// Returns the space that keeps every `down`th of these rows and, of those side by side, every
  /// `right`th; `across` rows lie side by side, or GridSize::anyWidth. Rows that are not side by
  /// side (`across` is 1) become blocks. Nullopt if there is no such space, or if the rows belong
  /// to an image of another width.
  constexpr std::optional<RowSpace> strided(int64_t across, int64_t down, int64_t right) const {
    const bool isInRange = across >= 0 && across <= GridSize::mostAcross && down > 0 &&
                           down <= GridSize::mostStride && right > 0 &&
                           right <= GridSize::mostStride;
    if (!isInRange || isOrdered() || unit() == 0 || (across == 1 && right > 1)) {
      return std::nullopt;
    }
    // An image of which one column is kept is a line.
    const bool isColumn = itsKind == RowSpaceKind::Grid && gridOf(argument()).rowPixels() == 1;
    if (across == 1 && !isColumn) {
      return down == 1 ? std::optional(*this) : blocks(down);
    }
    GridSize grid{static_cast<uint64_t>(across), 1, 1};
    if (itsKind == RowSpaceKind::Grid) {
      grid = gridOf(argument());
    }
    // Images of any width keep any number of pixels.
    if ((itsKind != RowSpaceKind::Grid && itsKind != RowSpaceKind::Tokens) ||
        (across == GridSize::anyWidth) != grid.isOfAnyWidth() ||
        (!grid.isOfAnyWidth() && grid.rowPixels() != static_cast<uint64_t>(across))) {
      return std::nullopt;
    }
    grid.down *= static_cast<uint64_t>(down);
    grid.right *= static_cast<uint64_t>(right);
    return grid.isValid() ? of(RowSpaceKind::Grid, grid.packed()) : std::nullopt;
  }

  constexpr RowSpaceKind kind() const { return itsKind; }
  /// Returns the number that the length of every sequence is a multiple of, unless images have any
  /// width.
  constexpr int64_t tokenMultiple() const {
    return itsKind == RowSpaceKind::Grid && !hasWidths()
               ? static_cast<int64_t>(gridOf(argument()).across)
               : 1;
  }
  /// Returns whether the number of rows also depends on the width of each sequence (images of any
  /// width).
  constexpr bool hasWidths() const {
    const RowSpace rows = base();
    return rows.itsKind == RowSpaceKind::Grid && gridOf(rows.argument()).isOfAnyWidth();
  }
  /// Returns the width here, in rows, of an image that is `width` pixels wide.
  constexpr int64_t rowPixels(int64_t width) const {
    return itsKind == RowSpaceKind::Grid
               ? static_cast<int64_t>(gridOf(argument()).rowPixels(static_cast<uint64_t>(width)))
               : width;
  }
  /// Returns the size of a derived space; otherwise 0.
  constexpr int64_t size() const { return itsSize; }
  constexpr bool isDerived() const { return info().origin == RowSpaceOrigin::Derived || isSplit(); }
  /// Returns whether the rows are those of tokens or of sequences in time order, so that the rows
  /// of a sequence are not contiguous.
  constexpr bool isOrdered() const { return info().origin == RowSpaceOrigin::Ordered; }
  /// Returns whether the rows are those of tokens, step by step.
  constexpr bool isOfSteps() const { return isOrdered() && unit() != 0; }
  /// Returns whether each row of base() has parts() consecutive rows here: those of row r, over all
  /// sequences, begin at r * parts(), even if a run continues its sequences.
  constexpr bool isSplit() const { return info().origin == RowSpaceOrigin::Split; }
  constexpr int64_t parts() const { return isSplit() ? SplitSize::of(itsSize).parts : 1; }
  /// Returns whether a cache may have a position for each row: the rows of a sequence are
  /// contiguous, in order, and belong to that sequence alone.
  constexpr bool arePositions() const { return unit() != 0 && !isOrdered() && !isSplit(); }
  constexpr std::string_view name() const { return info().name; }
  constexpr RowSpace base() const {
    const SplitSize size = SplitSize::of(itsSize);
    return isSplit() ? RowSpace(static_cast<RowSpaceKind>(size.baseKind), size.baseSize) : *this;
  }
  constexpr bool operator==(const RowSpace &) const = default;

  /// Returns the number of rows of a sequence of `tokens` > 0 tokens. If hasWidths(), `width` is
  /// the width of its image in pixels; 0 returns the maximum over all widths.
  constexpr int64_t rowsOf(int64_t tokens, int64_t width = 0) const {
    return static_cast<int64_t>(
        info().rows(static_cast<uint64_t>(tokens), argument(), static_cast<uint64_t>(width)));
  }
  /// Returns the number of tokens that become one row; 0: all tokens of a sequence.
  constexpr uint64_t unit() const { return info().unit(argument()); }
  /// Returns the maximum number of tokens of a sequence with at most `rows` rows, limited to
  /// INT32_MAX.
  constexpr int64_t tokensWithin(int64_t rows) const {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (isSplit()) {
      return base().tokensWithin(rows / parts());
    }
    if (hasWidths()) {
      return rows;
    }
    if (itsKind == RowSpaceKind::Grid) {
      const GridSize grid = gridOf(argument());
      const auto lines = static_cast<int64_t>(static_cast<uint64_t>(rows) / grid.rowPixels());
      const auto line = static_cast<int64_t>(grid.down * grid.across);
      return lines > most / line ? most : lines * line;
    }
    const auto tokens = static_cast<int64_t>(unit());
    return tokens == 0 || rows > most / tokens ? most : rows * tokens;
  }
  /// Returns the number of rows of `finer` that become one row of this space, 0 for all rows of a
  /// sequence; nullopt if these rows do not consist of whole rows of that space.
  constexpr std::optional<int64_t> rowsFrom(RowSpace finer) const {
    if (isOrdered() || finer.isOrdered()) {
      return std::nullopt;
    }
    if (isSplit() || finer.isSplit()) {
      return *this == finer          ? std::optional<int64_t>(1)
             : *this == finer.base() ? std::optional(finer.parts())
             : *this == sequences()  ? std::optional<int64_t>(0)
                                     : std::nullopt;
    }
    if (unit() == 0 || finer.unit() == 0) {
      return unit() == 0 && finer.unit() != 0 ? std::optional<int64_t>(0) : std::nullopt;
    }
    if (itsKind == RowSpaceKind::Grid || finer.kind() == RowSpaceKind::Grid) {
      return *this == finer ? std::optional<int64_t>(1) : std::nullopt;
    }
    return unit() % finer.unit() == 0 ? std::optional(static_cast<int64_t>(unit() / finer.unit()))
                                      : std::nullopt;
  }
  /// Returns the first term of a bound: `bytes` for each row total at most perToken(bytes) for each
  /// token ...
  constexpr uint64_t perToken(uint64_t bytes) const { return info().perToken(bytes, argument()); }
  /// ... plus perSequence(bytes) for each sequence.
  constexpr uint64_t perSequence(uint64_t bytes) const {
    return info().perSequence(bytes, argument());
  }
  /// Returns "tokens", "blocks(tokens, 2)", "grid(tokens, 29, 2, 2)", "grid(tokens, ?, 2, 2)", ...
  std::string text() const {
    std::string text(info().name);
    if (isSplit()) {
      return text + "(" + base().text() + ", " + std::to_string(parts()) + ")";
    }
    if (itsKind == RowSpaceKind::Grid) {
      const GridSize grid = gridOf(argument());
      return text + "(" + std::string(tokens().info().name) + ", " +
             (grid.isOfAnyWidth() ? "?" : std::to_string(grid.across)) + ", " +
             std::to_string(grid.down) + ", " + std::to_string(grid.right) + ")";
    }
    return isDerived() ? text + "(" + std::string(tokens().info().name) + ", " +
                             std::to_string(itsSize) + ")"
                       : text;
  }

private:
  constexpr RowSpace(RowSpaceKind kind, int64_t size) : itsKind(kind), itsSize(size) {}
  static constexpr bool isSplitSize(int64_t packed) {
    const SplitSize size = SplitSize::of(packed);
    const std::optional<RowSpace> base =
        size.parts > 0 && packed > 0 ? of(static_cast<RowSpaceKind>(size.baseKind), size.baseSize)
                                     : std::nullopt;
    return base && !base->isSplit() && !base->isOrdered();
  }
  constexpr const RowSpaceInfo &info() const { return rowSpaceTable[static_cast<size_t>(itsKind)]; }
  constexpr uint64_t argument() const { return static_cast<uint64_t>(itsSize); }

  RowSpaceKind itsKind;
  int64_t itsSize;
};

constexpr RowSpace splitBase(uint64_t size) {
  return RowSpace::of(RowSpaceKind::Choices, static_cast<int64_t>(size))->base();
}
constexpr uint64_t splitRows(uint64_t n, uint64_t size, uint64_t width) {
  const auto parts = static_cast<uint64_t>(SplitSize::of(static_cast<int64_t>(size)).parts);
  return parts * static_cast<uint64_t>(
                     splitBase(size).rowsOf(static_cast<int64_t>(n), static_cast<int64_t>(width)));
}
constexpr uint64_t splitPerToken(uint64_t bytes, uint64_t size) {
  const auto parts = static_cast<uint64_t>(SplitSize::of(static_cast<int64_t>(size)).parts);
  return splitBase(size).perToken(parts * bytes);
}
constexpr uint64_t splitPerSequence(uint64_t bytes, uint64_t size) {
  const auto parts = static_cast<uint64_t>(SplitSize::of(static_cast<int64_t>(size)).parts);
  return splitBase(size).perSequence(parts * bytes);
}

/// The number of tokens of each sequence of a batch and, for images of any width, the width of each
/// in pixels.
struct SequenceSizes {
  std::span<const int32_t> lengths;
  /// Empty if no sequence has a width.
  std::span<const int32_t> widths = {};

  constexpr int64_t widthOf(size_t sequence) const { return widths.empty() ? 0 : widths[sequence]; }
  /// Returns the number of rows of a sequence.
  constexpr int64_t rowsIn(RowSpace space, size_t sequence) const {
    return space.rowsOf(lengths[sequence], widthOf(sequence));
  }
  /// Returns the number of rows of all sequences.
  constexpr int64_t rowsIn(RowSpace space) const {
    int64_t rows = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      rows += rowsIn(space, i);
    }
    return rows;
  }
  /// Returns the sizes of `count` consecutive sequences.
  constexpr SequenceSizes part(size_t first, size_t count) const {
    return {lengths.subspan(first, count), widths.empty() ? widths : widths.subspan(first, count)};
  }
};

/// A dimension of a shape that depends on the batch: the number of rows of a space, or the maximum
/// number of rows of a sequence in it, which is the stride between the key lists of consecutive
/// rows. Shapes represent it by a negative number.
struct RowDimension {
  RowSpace space;
  bool isLongest = false;

  constexpr bool operator==(const RowDimension &) const = default;

  /// Returns the number: the kind's lowest bit, isLongest, the kind's other bits, the size. In this
  /// packing the dimensions without a size are -1, -2 and -3, as the C interface names them.
  constexpr int64_t number() const {
    const auto kind = static_cast<int64_t>(space.kind());
    return -1 - ((kind & 1) | (isLongest ? 2 : 0) | (kind >> 1) << 2 | space.size() << 8);
  }
  /// Returns the dimension that `number` represents; nullopt for constants and invalid numbers.
  static constexpr std::optional<RowDimension> of(int64_t number) {
    if (number >= 0) {
      return std::nullopt;
    }
    const int64_t bits = -1 - number;
    const int64_t kind = (bits & 1) | (bits >> 2 & 0x3f) << 1;
    const std::optional<RowSpace> space = RowSpace::of(static_cast<RowSpaceKind>(kind), bits >> 8);
    const bool isLongest = (bits & 2) != 0;
    // No key lists exist for spaces of one row per sequence and for ordered spaces.
    if (!space || (isLongest && (space->unit() == 0 || space->isOrdered()))) {
      return std::nullopt;
    }
    return RowDimension{*space, isLongest};
  }
  /// Returns "tokens", "longest" (of tokens), "longest(blocks(tokens, 2))", ...
  std::string text() const {
    if (!isLongest) {
      return space.text();
    }
    return space == RowSpace::tokens() ? "longest" : "longest(" + space.text() + ")";
  }
};

/// A bound in terms of sizes that a caller knows: `perToken` * tokens + `perSequence` * sequences +
/// `perTokenAndLongest` * tokens * longest sequence.
struct BatchBound {
  uint64_t perToken = 0, perSequence = 0, perTokenAndLongest = 0;

  /// Adds `bytes` for each row of `rows`.
  constexpr void addRows(uint64_t bytes, RowSpace rows) {
    perToken += rows.perToken(bytes);
    perSequence += rows.perSequence(bytes);
  }
  /// Adds `bytes` for each row of `rows` times the maximum number of `keys` of a sequence.
  constexpr void addPairs(uint64_t bytes, RowSpace rows, RowSpace keys) {
    const uint64_t ofTokens = rows.perToken(bytes);
    const uint64_t ofSequences = rows.perSequence(bytes);
    // There are at most as many sequences as tokens.
    perTokenAndLongest += keys.perToken(ofTokens) + keys.perToken(ofSequences);
    perToken += keys.perSequence(ofTokens);
    perSequence += keys.perSequence(ofSequences);
  }
};

/// Returns the space whose rows a dimension counts; nullopt for other dimensions.
constexpr std::optional<RowSpace> rowSpaceOf(int64_t dimension) {
  const std::optional<RowDimension> found = RowDimension::of(dimension);
  return found && !found->isLongest ? std::optional(found->space) : std::nullopt;
}

/// Returns whether a dimension is the maximum number of rows of a sequence in a space.
constexpr bool isLongest(int64_t dimension) {
  const std::optional<RowDimension> found = RowDimension::of(dimension);
  return found && found->isLongest;
}

/// Returns the text of a dimension: "384", "tokens", "blocks(tokens, 2)".
inline std::string dimensionText(int64_t dimension) {
  const std::optional<RowDimension> rows = RowDimension::of(dimension);
  return rows ? rows->text() : std::to_string(dimension);
}

/// Returns the space that a dimension refers to; nullopt for constants.
constexpr std::optional<RowSpace> spaceOfDimension(int64_t dimension) {
  const std::optional<RowDimension> found = RowDimension::of(dimension);
  return found ? std::optional(found->space) : std::nullopt;
}

/// The dimensions that follow from the caller's lengths alone.
inline constexpr int64_t tokensDimension = RowDimension{RowSpace::tokens(), false}.number();
inline constexpr int64_t sequencesDimension = RowDimension{RowSpace::sequences(), false}.number();
inline constexpr int64_t longestDimension = RowDimension{RowSpace::tokens(), true}.number();

} // namespace heddle

#endif // HEDDLE_ROWSPACE_H
