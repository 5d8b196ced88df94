// SPDX-License-Identifier: Apache-2.0
///
/// Ranges are kept sorted and disjoint, so that operations are merges and sets compare by value.
#include "formats/Tokenizer/CharacterSet.h"

#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <utf8proc.h>

namespace heddle {

static constexpr int32_t largestCodePoint = 0x10FFFF;

CharacterSet CharacterSet::of(std::vector<int32_t> codePoints) {
  std::sort(codePoints.begin(), codePoints.end());
  CharacterSet result;
  for (const int32_t codePoint : codePoints) {
    if (!result.ranges.empty() && codePoint <= result.ranges.back().last + 1) {
      result.ranges.back().last = codePoint;
    } else {
      result.ranges.push_back({codePoint, codePoint});
    }
  }
  return result;
}

CharacterSet CharacterSet::where(const std::function<bool(int32_t)> &holds) {
  std::vector<int32_t> codePoints;
  for (int32_t codePoint = 0; codePoint <= largestCodePoint; ++codePoint) {
    if (holds(codePoint)) {
      codePoints.push_back(codePoint);
    }
  }
  return of(std::move(codePoints));
}

std::optional<CharacterSet> CharacterSet::category(std::string_view name) {
  // Computed in one pass over all code points when the first pattern needs it.
  static const std::map<std::string_view, CharacterSet> categories = [] {
    std::map<std::string_view, std::vector<int32_t>> members;
    for (int32_t codePoint = 0; codePoint <= largestCodePoint; ++codePoint) {
      members[generalCategory(codePoint)].push_back(codePoint);
    }
    std::map<std::string_view, CharacterSet> result;
    for (auto &[each, codePoints] : members) {
      result[each] = of(std::move(codePoints));
    }
    return result;
  }();
  CharacterSet result;
  for (const auto &[each, set] : categories) {
    if (!name.empty() && each.starts_with(name)) {
      result.add(set);
    }
  }
  return result.empty() ? std::nullopt : std::optional(std::move(result));
}

bool CharacterSet::contains(int32_t codePoint) const {
  const auto range =
      std::lower_bound(ranges.begin(), ranges.end(), codePoint,
                       [](Range range, int32_t value) { return range.last < value; });
  return range != ranges.end() && range->first <= codePoint;
}

int64_t CharacterSet::size() const {
  int64_t count = 0;
  for (const Range range : ranges) {
    count += range.last - range.first + 1;
  }
  return count;
}

CharacterSet CharacterSet::complement() const {
  CharacterSet result;
  int32_t next = 0;
  for (const Range range : ranges) {
    if (range.first > next) {
      result.ranges.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= largestCodePoint) {
    result.ranges.push_back({next, largestCodePoint});
  }
  return result;
}

CharacterSet CharacterSet::intersection(const CharacterSet &other) const {
  CharacterSet result;
  auto left = ranges.begin();
  auto right = other.ranges.begin();
  while (left != ranges.end() && right != other.ranges.end()) {
    const Range both{std::max(left->first, right->first), std::min(left->last, right->last)};
    if (both.first <= both.last) {
      result.ranges.push_back(both);
    }
    (left->last < right->last ? left : right) += 1;
  }
  return result;
}

void CharacterSet::add(const CharacterSet &other) {
  std::vector<Range> all;
  std::merge(ranges.begin(), ranges.end(), other.ranges.begin(), other.ranges.end(),
             std::back_inserter(all),
             [](Range left, Range right) { return left.first < right.first; });
  ranges.clear();
  for (const Range range : all) {
    if (!ranges.empty() && range.first <= ranges.back().last + 1) {
      ranges.back().last = std::max(ranges.back().last, range.last);
    } else {
      ranges.push_back(range);
    }
  }
}

void CharacterSet::each(const std::function<void(int32_t)> &function) const {
  for (const Range range : ranges) {
    for (int32_t codePoint = range.first; codePoint <= range.last; ++codePoint) {
      function(codePoint);
    }
  }
}

std::string CharacterSet::expression() const {
  // The syntax has no empty class; the complement of all characters is empty.
  if (ranges.empty()) {
    return fmt::format("[^\\x{{0}}-\\x{{{:X}}}]", largestCodePoint);
  }
  std::string text = "[";
  for (const Range range : ranges) {
    fmt::format_to(std::back_inserter(text), "\\x{{{:X}}}", range.first);
    if (range.last > range.first) {
      fmt::format_to(std::back_inserter(text), "-\\x{{{:X}}}", range.last);
    }
  }
  return text + "]";
}

// --- Case ------------------------------------------------------------------------------------

std::vector<int32_t> CaseFolding::fold(int32_t codePoint) {
  std::array<utf8proc_int32_t, 8> folded{};
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(codePoint, folded.data(), folded.size(),
                                                         UTF8PROC_CASEFOLD, &boundary);
  if (count <= 0 || count > utf8proc_ssize_t(folded.size())) {
    return {codePoint};
  }
  return {folded.begin(), folded.begin() + count};
}

CaseFolding::CaseFolding() {
  // Cased letters are all below this.
  constexpr int32_t end = 0x20000;
  for (int32_t codePoint = 0; codePoint < end; ++codePoint) {
    std::vector<int32_t> folded = fold(codePoint);
    if (folded.size() > 1) {
      sequences.push_back(std::move(folded));
    } else if (folded[0] != codePoint) {
      sources.emplace_back(folded[0], codePoint);
    }
  }
  std::sort(sources.begin(), sources.end());
}

CharacterSet CaseFolding::closure(const CharacterSet &set) const {
  std::vector<int32_t> all;
  set.each([&](int32_t codePoint) {
    all.push_back(codePoint);
    const std::vector<int32_t> folded = fold(codePoint);
    if (folded.size() > 1) {
      return;
    }
    all.push_back(folded[0]);
    for (auto source = std::lower_bound(sources.begin(), sources.end(), std::pair(folded[0], 0));
         source != sources.end() && source->first == folded[0]; ++source) {
      all.push_back(source->second);
    }
  });
  return CharacterSet::of(std::move(all));
}

bool CaseFolding::isSeveral(int32_t codePoint) const { return fold(codePoint).size() > 1; }

bool CaseFolding::spellsOne(const std::vector<int32_t> &characters) const {
  std::vector<int32_t> folded;
  for (const int32_t codePoint : characters) {
    const std::vector<int32_t> each = fold(codePoint);
    folded.insert(folded.end(), each.begin(), each.end());
  }
  return std::any_of(sequences.begin(), sequences.end(), [&](const std::vector<int32_t> &sought) {
    return std::search(folded.begin(), folded.end(), sought.begin(), sought.end()) != folded.end();
  });
}

} // namespace heddle
