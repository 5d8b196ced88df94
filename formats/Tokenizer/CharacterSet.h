// SPDX-License-Identifier: Apache-2.0
///
/// Sets of characters as ranges of code points, for the classes of regular expressions. They are
/// written out when a tokenizer is packed, so that a compiled model splits texts in the same way,
/// whatever version of Unicode the libraries of a machine have.
#ifndef HEDDLE_FORMATS_TOKENIZER_CHARACTERSET_H
#define HEDDLE_FORMATS_TOKENIZER_CHARACTERSET_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A set of code points. Cheap to move.
class CharacterSet {
public:
  CharacterSet() = default;
  /// Creates the set of code points from `first` to `last`.
  CharacterSet(int32_t first, int32_t last) : ranges{{first, last}} {}
  /// Returns the set of the given code points, in any order.
  static CharacterSet of(std::vector<int32_t> codePoints);
  /// Returns the set of code points with a property.
  static CharacterSet where(const std::function<bool(int32_t)> &holds);
  /// Returns the set of a general category of Unicode: "L", "Lu"; nullopt if there is no such
  /// category.
  static std::optional<CharacterSet> category(std::string_view name);

  bool empty() const { return ranges.empty(); }
  bool contains(int32_t codePoint) const;
  /// Returns the number of code points.
  int64_t size() const;
  CharacterSet complement() const;
  CharacterSet intersection(const CharacterSet &other) const;
  /// Adds all of `other`.
  void add(const CharacterSet &other);
  bool overlaps(const CharacterSet &other) const { return !intersection(other).empty(); }
  bool operator==(const CharacterSet &other) const = default;

  /// Calls a function for each code point.
  void each(const std::function<void(int32_t)> &function) const;
  /// Returns the set in RE2's syntax: [\x{61}-\x{7A}].
  std::string expression() const;

private:
  struct Range {
    int32_t first;
    int32_t last;
    bool operator==(const Range &other) const = default;
  };
  // In ascending order, with gaps between them.
  std::vector<Range> ranges;
};

/// Characters that are equal under case folding.
class CaseFolding {
public:
  CaseFolding();
  /// Returns all characters that are equal to one of the set.
  CharacterSet closure(const CharacterSet &set) const;
  /// Returns whether the character is equal to a sequence of several others, as sharp s is to "ss".
  bool isSeveral(int32_t codePoint) const;
  /// Returns whether the characters contain such a sequence.
  bool spellsOne(const std::vector<int32_t> &characters) const;

private:
  static std::vector<int32_t> fold(int32_t codePoint);

  // Characters that fold to another one, by that one.
  std::vector<std::pair<int32_t, int32_t>> sources;
  // The foldings to several characters.
  std::vector<std::vector<int32_t>> sequences;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_CHARACTERSET_H
