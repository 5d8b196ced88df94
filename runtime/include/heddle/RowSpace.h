// SPDX-License-Identifier: Apache-2.0
///
/// Row spaces: what the rows of an activation are, how many of them each sequence has, and how
/// dimensions of shapes name them. Compiler and runtime both use this one definition, which reads
/// the table heddle/RowSpaces.def.
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
/// `down`th row and every `right`th column is left. The tokens of a sequence are the pixels of an
/// image, row by row. With `anyWidth` across, the width of each image is a number of its sequence.
struct GridSize {
  static constexpr int64_t anyWidth = 0;
  static constexpr int64_t mostAcross = (int64_t{1} << 16) - 1;
  static constexpr int64_t mostStride = (int64_t{1} << 8) - 1;

  uint64_t across = 1, down = 1, right = 1;

  constexpr bool isOfAnyWidth() const { return across == anyWidth; }
  /// Pixels that are left of a row of an image whose rows have `width`, which counts where images
  /// have any.
  constexpr uint64_t rowPixels(uint64_t width = anyWidth) const {
    return ((isOfAnyWidth() ? width : across) + right - 1) / right;
  }
  constexpr uint64_t rows(uint64_t tokens, uint64_t width) const {
    if (isOfAnyWidth() && width == 0) {
      // No width leaves more.
      return tokens;
    }
    const uint64_t wide = isOfAnyWidth() ? width : across;
    const uint64_t height = (tokens + wide - 1) / wide;
    return (height + down - 1) / down * rowPixels(width);
  }
  /// One number, as RowSpace::size() has it.
  constexpr int64_t packed() const {
    return static_cast<int64_t>(across << 16 | down << 8 | right);
  }
  constexpr bool isValid() const {
    return across != 1 && across <= mostAcross && down > 0 && down <= mostStride && right > 0 &&
           right <= mostStride;
  }
};

constexpr GridSize gridOf(uint64_t size) { return {size >> 16, size >> 8 & 0xff, size & 0xff}; }

/// Where the number of rows comes from.
enum class RowSpaceOrigin : uint8_t { Given, Derived, Ordered, Split };

/// The size of a split space: a row of the space (`baseKind`, `baseSize`) becomes `parts` rows.
struct SplitSize {
  static constexpr int64_t mostParts = 0xff;

  int64_t parts, baseKind, baseSize;

  /// One number, as RowSpace::size() has it.
  constexpr int64_t packed() const { return parts | baseKind << 8 | baseSize << 12; }
  static constexpr SplitSize of(int64_t packed) {
    return {packed & mostParts, packed >> 8 & 0xf, packed >> 12};
  }
};

// What the table says of a split space: what it says of the other one, for each part.
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

/// One row space. Derived spaces derive from tokens: blocks of blocks are larger blocks of tokens,
/// and pixels that strides leave of others are pixels of tokens.
class RowSpace {
public:
  /// The least and the largest size of a derived space.
  static constexpr int64_t leastSize = 2;
  static constexpr int64_t largestSize = int64_t{1} << 20;

  static constexpr RowSpace tokens() { return {RowSpaceKind::Tokens, 0}; }
  static constexpr RowSpace sequences() { return {RowSpaceKind::Sequences, 0}; }
  /// The rows of tokens in the order of time, from the first of each sequence or from the last.
  static constexpr RowSpace steps(bool reversed) {
    return {reversed ? RowSpaceKind::StepsReversed : RowSpaceKind::Steps, 0};
  }
  /// Sequences in the order of each step.
  static constexpr RowSpace ranks() { return {RowSpaceKind::Ranks, 0}; }
  /// Nothing if there is no such space: only derived spaces have a size, which is within limits.
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
  /// The space that derives from the rows of this one; nothing if these are whole sequences or the
  /// size, in tokens, would be too large.
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

  /// What each of these rows chooses, `count` of something; nothing if they are choices themselves
  /// or the count is not 1 to SplitSize::mostParts.
  constexpr std::optional<RowSpace> choices(int64_t count) const {
    if (count < 1 || count > SplitSize::mostParts) {
      return std::nullopt;
    }
    return of(RowSpaceKind::Choices,
              SplitSize{count, static_cast<int64_t>(itsKind), itsSize}.packed());
  }

  /// What is left of these rows, `across` of which are side by side, or GridSize::anyWidth, if
  /// every `down`th and, of those side by side, every `right`th stays. Rows that are not side by
  /// side, `across` 1, are left as blocks. Nothing if there is no such space, or if rows of an
  /// image are of another width.
  constexpr std::optional<RowSpace> strided(int64_t across, int64_t down, int64_t right) const {
    const bool isInRange = across >= 0 && across <= GridSize::mostAcross && down > 0 &&
                           down <= GridSize::mostStride && right > 0 &&
                           right <= GridSize::mostStride;
    if (!isInRange || isOrdered() || unit() == 0 || (across == 1 && right > 1)) {
      return std::nullopt;
    }
    // An image of which one column is left is a line.
    const bool isColumn = itsKind == RowSpaceKind::Grid && gridOf(argument()).rowPixels() == 1;
    if (across == 1 && !isColumn) {
      return down == 1 ? std::optional(*this) : blocks(down);
    }
    GridSize grid{static_cast<uint64_t>(across), 1, 1};
    if (itsKind == RowSpaceKind::Grid) {
      grid = gridOf(argument());
    }
    // Of images of any width any number of pixels is left.
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
  /// What the tokens of every sequence are a multiple of, beside its own width.
  constexpr int64_t tokenMultiple() const {
    return itsKind == RowSpaceKind::Grid && !hasWidths()
               ? static_cast<int64_t>(gridOf(argument()).across)
               : 1;
  }
  /// Whether the rows of a sequence follow from its width too: images of any width.
  constexpr bool hasWidths() const {
    const RowSpace rows = base();
    return rows.itsKind == RowSpaceKind::Grid && gridOf(rows.argument()).isOfAnyWidth();
  }
  /// The rows side by side here of an image whose rows have `width` pixels.
  constexpr int64_t rowPixels(int64_t width) const {
    return itsKind == RowSpaceKind::Grid
               ? static_cast<int64_t>(gridOf(argument()).rowPixels(static_cast<uint64_t>(width)))
               : width;
  }
  /// The size of a derived space; else 0.
  constexpr int64_t size() const { return itsSize; }
  constexpr bool isDerived() const { return info().origin == RowSpaceOrigin::Derived || isSplit(); }
  /// Whether its rows are those of tokens or of sequences in the order of time: rows of a sequence
  /// do not lie side by side.
  constexpr bool isOrdered() const { return info().origin == RowSpaceOrigin::Ordered; }
  /// Whether its rows are those of tokens, step by step.
  constexpr bool isOfSteps() const { return isOrdered() && unit() != 0; }
  /// Whether each row of base() has parts() rows side by side here: those of row r, of all
  /// sequences, begin at r * parts(), also where a run continues its sequences.
  constexpr bool isSplit() const { return info().origin == RowSpaceOrigin::Split; }
  constexpr int64_t parts() const { return isSplit() ? SplitSize::of(itsSize).parts : 1; }
  /// Whether a cache may have a position for each row: the rows of a sequence lie side by side, in
  /// their order, and are those of the sequence alone.
  constexpr bool arePositions() const { return unit() != 0 && !isOrdered() && !isSplit(); }
  constexpr std::string_view name() const { return info().name; }
  constexpr RowSpace base() const {
    const SplitSize size = SplitSize::of(itsSize);
    return isSplit() ? RowSpace(static_cast<RowSpaceKind>(size.baseKind), size.baseSize) : *this;
  }
  constexpr bool operator==(const RowSpace &) const = default;

  /// The rows of a sequence of so many tokens, which are above 0. Where hasWidths() `width` is the
  /// pixels of a row of its image; 0 answers the most rows that any has.
  constexpr int64_t rowsOf(int64_t tokens, int64_t width = 0) const {
    return static_cast<int64_t>(
        info().rows(static_cast<uint64_t>(tokens), argument(), static_cast<uint64_t>(width)));
  }
  /// How many tokens become one row; 0: all of a sequence.
  constexpr uint64_t unit() const { return info().unit(argument()); }
  /// The most tokens of a sequence that has at most `rows` rows, or the most that any may have.
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
  /// How many rows of `finer` become one row of this space, 0 for all of a sequence; nothing if
  /// these rows are not made of whole rows of that space.
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
  /// A bound: something of so many bytes for each row is in all at most this for each token ...
  constexpr uint64_t perToken(uint64_t bytes) const { return info().perToken(bytes, argument()); }
  /// ... and this for each sequence.
  constexpr uint64_t perSequence(uint64_t bytes) const {
    return info().perSequence(bytes, argument());
  }
  /// "tokens", "blocks(tokens, 2)", "grid(tokens, 29, 2, 2)", "grid(tokens, ?, 2, 2)"
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

/// How many tokens each sequence of a batch has and, where they are images of any width, how many
/// pixels a row of it.
struct SequenceSizes {
  std::span<const int32_t> lengths;
  /// Empty: no sequence has one.
  std::span<const int32_t> widths = {};

  constexpr int64_t widthOf(size_t sequence) const { return widths.empty() ? 0 : widths[sequence]; }
  /// The rows of a sequence.
  constexpr int64_t rowsIn(RowSpace space, size_t sequence) const {
    return space.rowsOf(lengths[sequence], widthOf(sequence));
  }
  /// Those of all of them.
  constexpr int64_t rowsIn(RowSpace space) const {
    int64_t rows = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      rows += rowsIn(space, i);
    }
    return rows;
  }
  /// Consecutive sequences.
  constexpr SequenceSizes part(size_t first, size_t count) const {
    return {lengths.subspan(first, count), widths.empty() ? widths : widths.subspan(first, count)};
  }
};

/// A dimension of a shape that depends on the batch: the rows of a space, or the most rows that one
/// sequence has in it, which is the stride between the key lists of consecutive rows. In shapes it
/// is a negative number.
struct RowDimension {
  RowSpace space;
  bool isLongest = false;

  constexpr bool operator==(const RowDimension &) const = default;

  /// The number: the kind's lowest bit, isLongest, the kind's other bits, the size. So packed, the
  /// dimensions that need no size are -1, -2 and -3, as the C interface names them.
  constexpr int64_t number() const {
    const auto kind = static_cast<int64_t>(space.kind());
    return -1 - ((kind & 1) | (isLongest ? 2 : 0) | (kind >> 1) << 2 | space.size() << 8);
  }
  /// Nothing for constants, and for numbers that stand for no dimension.
  static constexpr std::optional<RowDimension> of(int64_t number) {
    if (number >= 0) {
      return std::nullopt;
    }
    const int64_t bits = -1 - number;
    const int64_t kind = (bits & 1) | (bits >> 2 & 0x3f) << 1;
    const std::optional<RowSpace> space = RowSpace::of(static_cast<RowSpaceKind>(kind), bits >> 8);
    const bool isLongest = (bits & 2) != 0;
    // One row for each sequence, or rows of several sequences by turns: there is no list of them.
    if (!space || (isLongest && (space->unit() == 0 || space->isOrdered()))) {
      return std::nullopt;
    }
    return RowDimension{*space, isLongest};
  }
  /// "tokens", "longest" (of tokens), "longest(blocks(tokens, 2))"
  std::string text() const {
    if (!isLongest) {
      return space.text();
    }
    return space == RowSpace::tokens() ? "longest" : "longest(" + space.text() + ")";
  }
};

/// A bound in the sizes that a caller knows: `perToken` * tokens + `perSequence` * sequences +
/// `perTokenAndLongest` * tokens * longest sequence.
struct BatchBound {
  uint64_t perToken = 0, perSequence = 0, perTokenAndLongest = 0;

  /// Adds `bytes` for each of the rows.
  constexpr void addRows(uint64_t bytes, RowSpace rows) {
    perToken += rows.perToken(bytes);
    perSequence += rows.perSequence(bytes);
  }
  /// Adds `bytes` for each of the rows and, of each, the most keys that a sequence has.
  constexpr void addPairs(uint64_t bytes, RowSpace rows, RowSpace keys) {
    const uint64_t ofTokens = rows.perToken(bytes);
    const uint64_t ofSequences = rows.perSequence(bytes);
    // There are no more sequences than tokens.
    perTokenAndLongest += keys.perToken(ofTokens) + keys.perToken(ofSequences);
    perToken += keys.perSequence(ofTokens);
    perSequence += keys.perSequence(ofSequences);
  }
};

/// The space whose rows a dimension counts; nothing for other dimensions.
constexpr std::optional<RowSpace> rowSpaceOf(int64_t dimension) {
  const std::optional<RowDimension> found = RowDimension::of(dimension);
  return found && !found->isLongest ? std::optional(found->space) : std::nullopt;
}

/// Whether a dimension is the most rows that a sequence has in a space.
constexpr bool isLongest(int64_t dimension) {
  const std::optional<RowDimension> found = RowDimension::of(dimension);
  return found && found->isLongest;
}

/// A dimension of a shape as its text: "384", "tokens", "blocks(tokens, 2)".
inline std::string dimensionText(int64_t dimension) {
  const std::optional<RowDimension> rows = RowDimension::of(dimension);
  return rows ? rows->text() : std::to_string(dimension);
}

/// The space that a dimension is about; nothing for constants.
constexpr std::optional<RowSpace> spaceOfDimension(int64_t dimension) {
  const std::optional<RowDimension> found = RowDimension::of(dimension);
  return found ? std::optional(found->space) : std::nullopt;
}

/// Dimensions that the caller's lengths say.
inline constexpr int64_t tokensDimension = RowDimension{RowSpace::tokens(), false}.number();
inline constexpr int64_t sequencesDimension = RowDimension{RowSpace::sequences(), false}.number();
inline constexpr int64_t longestDimension = RowDimension{RowSpace::tokens(), true}.number();

} // namespace heddle

#endif // HEDDLE_ROWSPACE_H
