// SPDX-License-Identifier: Apache-2.0
///
/// Properties of every line of the table of row spaces: a new line is tested without being named
/// here.
#include "heddle/RowSpace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

/// Returns some spaces of every kind.
std::vector<RowSpace> someSpaces() {
  std::vector<RowSpace> spaces;
  for (size_t kind = 0; kind < rowSpaceKinds; ++kind) {
    for (const int64_t size :
         {int64_t{0}, int64_t{2}, int64_t{3}, int64_t{64}, RowSpace::largestSize}) {
      if (const auto space = RowSpace::of(static_cast<RowSpaceKind>(kind), size)) {
        spaces.push_back(*space);
      }
    }
  }
  for (const GridSize grid :
       {GridSize{2, 1, 1}, GridSize{29, 2, 2}, GridSize{7, 3, 1},
        GridSize{GridSize::mostAcross, 255, 255}, GridSize{GridSize::anyWidth, 2, 3}}) {
    spaces.push_back(*RowSpace::of(RowSpaceKind::Grid, grid.packed()));
  }
  return spaces;
}

TEST(RowSpace, EveryKindHasSpaces) {
  std::vector<bool> found(rowSpaceKinds);
  for (const RowSpace space : someSpaces()) {
    found[static_cast<size_t>(space.kind())] = true;
  }
  EXPECT_EQ(found, std::vector<bool>(rowSpaceKinds, true));
}

TEST(RowSpace, SizesHaveLimits) {
  EXPECT_FALSE(RowSpace::of(static_cast<RowSpaceKind>(rowSpaceKinds), 0));
  EXPECT_FALSE(RowSpace::of(RowSpaceKind::Tokens, 2));
  EXPECT_FALSE(RowSpace::of(RowSpaceKind::Blocks, 0));
  EXPECT_FALSE(RowSpace::tokens().blocks(RowSpace::leastSize - 1));
  EXPECT_TRUE(RowSpace::tokens().blocks(RowSpace::largestSize));
  EXPECT_FALSE(RowSpace::tokens().blocks(RowSpace::largestSize + 1));
  EXPECT_FALSE(RowSpace::sequences().blocks(2));
  EXPECT_FALSE(RowSpace::steps(/*reversed=*/false).blocks(2));
  EXPECT_FALSE(RowSpace::sequences().rowsFrom(RowSpace::steps(/*reversed=*/true)));
  const RowSpace pairs = *RowSpace::tokens().blocks(2);
  EXPECT_EQ(pairs.blocks(3), RowSpace::tokens().blocks(6));
  EXPECT_FALSE(pairs.blocks(RowSpace::largestSize));
}

TEST(RowSpace, StridesLeaveRowsAndPixels) {
  const RowSpace tokens = RowSpace::tokens();
  EXPECT_EQ(tokens.strided(1, 1, 1), tokens);
  EXPECT_EQ(tokens.strided(1, 4, 1), tokens.blocks(4));
  EXPECT_EQ(tokens.strided(1, 4, 1)->strided(1, 2, 1), tokens.blocks(8));
  EXPECT_FALSE(tokens.strided(1, 1, 2));
  EXPECT_FALSE(tokens.strided(-1, 1, 1));
  EXPECT_FALSE(tokens.strided(3, 256, 1));
  EXPECT_FALSE(tokens.strided(GridSize::mostAcross + 1, 1, 1));
  EXPECT_FALSE(RowSpace::sequences().strided(3, 1, 1));
  EXPECT_FALSE(tokens.blocks(2)->strided(3, 1, 1));
  // 33 rows of 29 pixels: 17 of 15, 9 of 8.
  const RowSpace half = *tokens.strided(29, 2, 2);
  EXPECT_EQ(half.text(), "grid(tokens, 29, 2, 2)");
  EXPECT_EQ(half.rowsOf(33 * 29), 17 * 15);
  EXPECT_EQ(half.tokenMultiple(), 29);
  EXPECT_EQ(half.strided(1, 1, 1), half);
  EXPECT_EQ(half.strided(15, 1, 1), half);
  EXPECT_FALSE(half.strided(1, 2, 1));
  EXPECT_FALSE(half.strided(14, 2, 2));
  EXPECT_FALSE(half.blocks(2));
  EXPECT_EQ(half.strided(15, 2, 2)->rowsOf(33 * 29), 9 * 8);
  EXPECT_FALSE(half.strided(15, 128, 1));
  // An image of which one column is kept is a line, whose rows can be strided like others.
  const RowSpace column = *tokens.strided(3, 2, 4);
  EXPECT_EQ(column.rowsOf(5 * 3), 3);
  EXPECT_EQ(column.strided(1, 1, 1), column);
  EXPECT_EQ(column.strided(1, 2, 1)->text(), "grid(tokens, 3, 4, 4)");
  EXPECT_EQ(column.strided(1, 2, 1)->rowsOf(5 * 3), 2);
  EXPECT_FALSE(column.strided(1, 128, 1));
  EXPECT_FALSE(half.rowsFrom(tokens));
  EXPECT_EQ(RowSpace::sequences().rowsFrom(half), 0);
}

TEST(RowSpace, ImagesMayHaveAnyWidth) {
  const RowSpace tokens = RowSpace::tokens();
  const RowSpace half = *tokens.strided(GridSize::anyWidth, 2, 2);
  EXPECT_EQ(half.text(), "grid(tokens, ?, 2, 2)");
  EXPECT_TRUE(half.hasWidths());
  EXPECT_TRUE(half.choices(3)->hasWidths());
  EXPECT_FALSE(tokens.strided(29, 2, 2)->hasWidths());
  EXPECT_FALSE(tokens.hasWidths());
  // 33 rows of 29 pixels, and 29 rows of 33.
  EXPECT_EQ(half.rowsOf(33 * 29, 29), 17 * 15);
  EXPECT_EQ(half.strided(0, 3, 2)->rowsOf(33 * 29, 29), 6 * 8);
  EXPECT_EQ(half.strided(0, 3, 2)->rowsOf(33 * 29, 33), 5 * 9);
  EXPECT_EQ(half.choices(3)->rowsOf(33 * 29, 29), 3 * 17 * 15);
  EXPECT_EQ(half.rowPixels(29), 15);
  EXPECT_EQ(tokens.rowPixels(29), 29);
  // The maximum over all widths.
  EXPECT_EQ(half.rowsOf(33 * 29), 33 * 29);
  EXPECT_EQ(half.tokenMultiple(), 1);
  EXPECT_EQ(half.strided(1, 1, 1), half);
  EXPECT_FALSE(half.strided(15, 2, 2));
  EXPECT_FALSE(half.strided(1, 2, 1));
  EXPECT_FALSE(tokens.strided(29, 2, 2)->strided(GridSize::anyWidth, 2, 2));
  EXPECT_TRUE(half.arePositions());
  EXPECT_EQ(half.rowsFrom(half), 1);
  const std::vector<int32_t> lengths = {6, 20, 1}, widths = {3, 4, 1};
  const SequenceSizes sizes = {lengths, widths};
  EXPECT_EQ(sizes.rowsIn(half), 2 + 6 + 1);
  EXPECT_EQ(sizes.part(1, 2).rowsIn(half), 6 + 1);
  EXPECT_EQ(SequenceSizes{lengths}.rowsIn(*tokens.blocks(2)), 3 + 10 + 1);
}

TEST(RowSpace, PositionsOfACacheAreRowsSideBySide) {
  EXPECT_TRUE(RowSpace::tokens().arePositions());
  EXPECT_TRUE(RowSpace::tokens().blocks(3)->arePositions());
  EXPECT_TRUE(RowSpace::tokens().strided(29, 2, 2)->arePositions());
  EXPECT_FALSE(RowSpace::sequences().arePositions());
  EXPECT_FALSE(RowSpace::steps(true).arePositions());
  EXPECT_FALSE(RowSpace::ranks().arePositions());
  EXPECT_FALSE(RowSpace::tokens().choices(2)->arePositions());
}

TEST(RowSpace, RowsStayWithinTheBoundsForPlanning) {
  constexpr uint64_t bytes = 12;
  for (const RowSpace space : someSpaces()) {
    for (const int64_t tokens : {1, 2, 3, 5, 64, 1000}) {
      const auto most =
          space.perToken(bytes) * static_cast<uint64_t>(tokens) + space.perSequence(bytes);
      EXPECT_GE(space.rowsOf(tokens), 1) << space.text();
      EXPECT_LE(static_cast<uint64_t>(space.rowsOf(tokens)) * bytes, most)
          << space.text() << ", " << tokens << " tokens";
      EXPECT_LE(space.rowsOf(tokens), space.rowsOf(tokens + 1)) << space.text();
    }
  }
}

TEST(RowSpace, TokensWithinRowsAreTheMost) {
  constexpr int64_t longest = std::numeric_limits<int32_t>::max();
  for (const RowSpace space : someSpaces()) {
    for (const int64_t rows : {1, 2, 7, 4096}) {
      const int64_t tokens = space.tokensWithin(rows);
      EXPECT_LE(tokens, longest);
      EXPECT_LE(space.rowsOf(tokens), rows) << space.text();
      EXPECT_TRUE(tokens == longest || space.rowsOf(tokens + space.tokenMultiple()) > rows)
          << space.text();
    }
  }
}

TEST(RowSpace, RowsAreMadeOfWholeRowsOfFinerSpaces) {
  for (const RowSpace space : someSpaces()) {
    for (const RowSpace finer : someSpaces()) {
      const std::optional<int64_t> group = space.rowsFrom(finer);
      if (group && *group > 0) {
        EXPECT_EQ(space.rowsOf(1000), (finer.rowsOf(1000) + *group - 1) / *group)
            << space.text() << " from " << finer.text();
      }
    }
  }
  EXPECT_EQ(RowSpace::sequences().rowsFrom(RowSpace::tokens()), 0);
  EXPECT_FALSE(RowSpace::tokens().rowsFrom(RowSpace::sequences()));
  EXPECT_FALSE(RowSpace::tokens().blocks(3)->rowsFrom(*RowSpace::tokens().blocks(2)));
}

TEST(BatchBound, HoldsForRowsAndForTheirKeys) {
  constexpr uint64_t bytes = 12;
  for (const RowSpace rows : someSpaces()) {
    for (const RowSpace keys : someSpaces()) {
      if (!RowDimension::of(RowDimension{keys, /*isLongest=*/true}.number())) {
        continue;
      }
      BatchBound bound;
      bound.addRows(bytes, rows);
      bound.addPairs(bytes, rows, keys);
      for (const std::vector<int64_t> &lengths :
           {std::vector<int64_t>{1}, {1, 1, 1}, {2, 7, 1}, {64, 1, 65}}) {
        uint64_t tokens = 0, ofRows = 0, longest = 0, mostKeys = 0;
        for (const int64_t length : lengths) {
          tokens += static_cast<uint64_t>(length);
          ofRows += static_cast<uint64_t>(rows.rowsOf(length));
          longest = std::max(longest, static_cast<uint64_t>(length));
          mostKeys = std::max(mostKeys, static_cast<uint64_t>(keys.rowsOf(length)));
        }
        EXPECT_LE(bytes * ofRows * (1 + mostKeys), bound.perToken * tokens +
                                                       bound.perSequence * lengths.size() +
                                                       bound.perTokenAndLongest * tokens * longest)
            << rows.text() << ", keys " << keys.text() << ", " << tokens << " tokens";
      }
    }
  }
}

TEST(RowDimension, NumbersAreNegativeAndReadBack) {
  for (const RowSpace space : someSpaces()) {
    for (const bool isLongest : {false, true}) {
      const RowDimension dimension{space, isLongest};
      EXPECT_LT(dimension.number(), 0);
      // There is no key list of sequences, nor of rows that are not contiguous.
      const bool exists = !isLongest || (space.unit() != 0 && !space.isOrdered());
      EXPECT_EQ(RowDimension::of(dimension.number()),
                exists ? std::optional(dimension) : std::nullopt)
          << dimension.text();
    }
  }
  EXPECT_FALSE(RowDimension::of(0));
  EXPECT_FALSE(RowDimension::of(384));
  EXPECT_FALSE(RowDimension::of(std::numeric_limits<int64_t>::min()));
}

} // namespace
} // namespace heddle
