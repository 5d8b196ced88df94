// SPDX-License-Identifier: Apache-2.0
///
/// The history of a hypothesis's tokens, compared with a scan of all of them.
#include "runtime/Generate/TokenHistory.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace heddle;

using Tokens = std::vector<int32_t>;

/// Returns the tokens that would repeat an n-gram, by definition.
static std::multiset<int32_t> repeated(const Tokens &tokens, size_t size) {
  std::multiset<int32_t> found;
  for (size_t begin = 0; begin + size <= tokens.size(); ++begin) {
    const bool isThere = std::equal(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                                    tokens.begin() + static_cast<std::ptrdiff_t>(begin + size - 1),
                                    tokens.end() - static_cast<std::ptrdiff_t>(size - 1));
    if (isThere) {
      found.insert(tokens[begin + size - 1]);
    }
  }
  return found;
}

TEST(TokenHistory, IsWhatAWalkThroughTheTokensFinds) {
  std::mt19937 random(5);
  size_t groups = 0;
  for (int number = 0; number < 300; ++number) {
    const size_t words = 1 + random() % 5;
    Tokens tokens(random() % 40);
    std::generate(tokens.begin(), tokens.end(), [&] { return int32_t(random() % words) * 7 - 3; });
    TokenHistory history(tokens);
    for (int step = 0; step < 30; ++step) {
      Tokens distinct = tokens;
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      ASSERT_EQ(Tokens(history.distinct().begin(), history.distinct().end()), distinct);
      for (size_t size = 1; size < 7; ++size) {
        Tokens found;
        history.findRepeated(size, found);
        const std::multiset<int32_t> expected = repeated(tokens, size);
        groups += expected.size();
        if (size == 1) {
          ASSERT_EQ(found, distinct);
        } else {
          ASSERT_EQ(std::multiset<int32_t>(found.begin(), found.end()), expected) << size;
        }
      }
      // A copy continues independently, as in a hypothesis that another one continues.
      TokenHistory other = history;
      other.add(1000);
      const auto token = int32_t(random() % words) * 7 - 3;
      history.add(token);
      tokens.push_back(token);
    }
  }
  EXPECT_GT(groups, 10000U);
}

TEST(TokenHistory, OfNothingHasNothing) {
  TokenHistory history;
  Tokens found;
  for (size_t size = 1; size < 4; ++size) {
    history.findRepeated(size, found);
  }
  EXPECT_TRUE(found.empty());
  EXPECT_TRUE(history.distinct().empty());
}
