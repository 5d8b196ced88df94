// SPDX-License-Identifier: Apache-2.0
///
/// Texts that grow by tokens, compared with the text of all of them.
#include "runtime/Generate/AnswerText.h"

#include "base/Utf8.h"
#include "tests/runtime/Generate/PieceTexts.h"

#include <gtest/gtest.h>
#include <random>

using namespace heddle;

static std::unique_ptr<TextPieces> newText() { return std::make_unique<PieceStream>(); }

/// Returns the final text after each token, and at the end.
static std::vector<std::string> certainties(const std::vector<int32_t> &tokens,
                                            const std::vector<std::string> &stops) {
  AnswerText text;
  std::vector<std::string> list;
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_TRUE(text.add({&tokens[i], 1}, i + 1 == tokens.size(), newText, stops).ok());
    list.emplace_back(text.certain());
  }
  return list;
}

TEST(AnswerText, HoldsBackWhatIsNoCharacterYet) {
  // a, three bytes of a character, and one of another that is never completed.
  EXPECT_EQ(certainties({0, 5, 6, 7, 8}, {}),
            (std::vector<std::string>{"a", "a", "a", "a東", "a東\uFFFD"}));
  EXPECT_EQ(certainties({8, 9, 10, 11, 1}, {}),
            (std::vector<std::string>{"", "", "", "😀", "😀b"}));
  // An extra byte is known to be invalid when another character follows.
  EXPECT_EQ(certainties({5, 0, 1}, {}), (std::vector<std::string>{"", "\uFFFDa", "\uFFFDab"}));
}

TEST(AnswerText, EndsBeforeAStopStringOfSeveralTokens) {
  EXPECT_EQ(certainties({0, 2, 1, 13}, {"abb"}), (std::vector<std::string>{"", "a", "a", "a"}));
  EXPECT_EQ(certainties({13, 0, 1, 13}, {"abb"}),
            (std::vector<std::string>{"c", "c", "c", "cabc"}));
  // The held-back rest belongs to the text at the end.
  EXPECT_EQ(certainties({13, 0}, {"abb"}), (std::vector<std::string>{"c", "ca"}));
  // The first in the text, whatever the order of the stop strings.
  EXPECT_EQ(certainties({13, 0, 1, 1}, {"bb", "ab"}),
            (std::vector<std::string>{"c", "c", "c", "c"}));
  EXPECT_EQ(certainties({13, 5, 6, 7, 0}, {"東a"}),
            (std::vector<std::string>{"c", "c", "c", "c", "c"}));
}

TEST(AnswerText, SaysWhatADecoderRefuses) {
  const NewText refuses = [] { return std::make_unique<UnknownPieces>(); };
  AnswerText text;
  const int32_t token = 3;
  EXPECT_EQ(text.add({&token, 1}, false, refuses, {}).message(), "no token has the id");
  EXPECT_EQ(text.certain(), "");
}

/// Computes the text of all tokens until one completes a stop string; returns whether one does.
static bool naiveText(const std::vector<int32_t> &tokens, const std::vector<std::string> &stops,
                      std::string &text) {
  for (size_t count = 1; count <= tokens.size(); ++count) {
    std::string so = textOfPieces(std::span(tokens).first(count));
    if (count < tokens.size() && so.ends_with("\uFFFD")) {
      continue;
    }
    size_t first = std::string::npos;
    for (const std::string &stop : stops) {
      first = std::min(first, so.find(stop));
    }
    if (first != std::string::npos) {
      text = so.substr(0, first);
      return true;
    }
    text = std::move(so);
  }
  return false;
}

TEST(AnswerText, IsThatOfAllTokensUpToTheFirstStopString) {
  std::mt19937 random(4);
  int stopped = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<int32_t> tokens(1 + random() % 30);
    for (int32_t &token : tokens) {
      token = static_cast<int32_t>(random() % 14);
    }
    std::vector<std::string> stops(random() % 3);
    for (std::string &stop : stops) {
      static constexpr const char *parts[] = {"a", "b", "ab", "東", " ", "\n", "c"};
      for (size_t count = 1 + random() % 4; count > 0; --count) {
        stop += parts[random() % std::size(parts)];
      }
    }
    std::string expected;
    stopped += naiveText(tokens, stops, expected) ? 1 : 0;
    const std::vector<std::string> known = certainties(tokens, stops);
    ASSERT_EQ(known.back(), expected);
    for (size_t i = 0; i < known.size(); ++i) {
      ASSERT_TRUE(expected.starts_with(known[i])) << i;
      ASSERT_EQ(describeInvalidUtf8(known[i]), "") << "a character was cut";
      ASSERT_TRUE(i == 0 || known[i].starts_with(known[i - 1]));
    }
  }
  EXPECT_GT(stopped, 500);
}
