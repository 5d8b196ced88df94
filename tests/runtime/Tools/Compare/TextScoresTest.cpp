// SPDX-License-Identifier: Apache-2.0
///
/// BLEU and chrF: values computed by hand, and SacreBLEU 2's for texts that are hard to tokenise.
#include "runtime/Tools/Compare/TextScores.h"

#include <cmath>
#include <gtest/gtest.h>

namespace heddle::tools {

using Words = std::vector<std::string>;

static TextScores scoresOf(std::string_view hypothesis, std::string_view reference) {
  TextScores scores;
  scores.add(hypothesis, reference);
  return scores;
}

TEST(TextScores, WordsAreThoseOfMteval) {
  EXPECT_EQ(
      wordsOf("Hello, world! It costs $3,000.50 (net)."),
      (Words{"Hello", ",", "world", "!", "It", "costs", "$", "3,000.50", "(", "net", ")", "."}));
  EXPECT_EQ(wordsOf("it's 5.5, not 5 .5; A-B c-3 3-c &amp; &lt;x&gt;"),
            (Words{"it's", "5.5", ",", "not", "5", ".", "5", ";", "A-B", "c-3", "3", "-", "c", "&",
                   "<", "x", ">"}));
  EXPECT_EQ(wordsOf("Ein B\u00e4r i\u00dft 1-2 \u00c4pfel\u2026"),
            (Words{"Ein", "B\u00e4r", "i\u00dft", "1", "-", "2", "\u00c4pfel\u2026"}));
  EXPECT_EQ(wordsOf("\u3000wide\u00a0space"), (Words{"wide", "space"}));
  EXPECT_EQ(wordsOf(""), Words());
  EXPECT_EQ(wordsOf("a<skipped>b -\nc\nd"), (Words{"ab", "c", "d"}));
  // Invalid bytes are preserved.
  EXPECT_EQ(wordsOf("a \xff\xe0\x80 b\xc3"), (Words{"a", "\xff\xe0\x80", "b\xc3"}));
}

TEST(TextScores, BleuByHand) {
  // the cat sat on the mat . / the cat is on the mat . : 6 of 7 words, 4 of 6 pairs, 2 of 5, 1
  // of 4.
  EXPECT_NEAR(scoresOf("the cat sat on the mat.", "the cat is on the mat.").bleu(),
              100 * std::pow(6.0 / 7 * 4 / 6 * 2 / 5 * 1 / 4, 0.25), 1e-9);
  // Shorter by half: 4 words instead of 8, and all n-grams found.
  EXPECT_NEAR(scoresOf("a b c d", "a b c d e f g h").bleu(), 100 * std::exp(1 - 8.0 / 4), 1e-9);
  // A word counts as often as the reference has it; orders without a match as a half and a quarter.
  EXPECT_NEAR(scoresOf("a a a a b", "a b c d e").bleu(),
              100 * std::pow(2.0 / 5 * 1 / 4 * (0.5 / 3) * (0.25 / 2), 0.25), 1e-9);
  EXPECT_NEAR(scoresOf("one two three four", "one two three four").bleu(), 100, 1e-9);
  EXPECT_EQ(scoresOf("a b c", "a b c").bleu(), 0) << "no four words in all of the corpus";
  EXPECT_EQ(scoresOf("", "a").bleu(), 0);
  EXPECT_EQ(scoresOf("a", "").bleu(), 0);
  EXPECT_EQ(TextScores().bleu(), 0);
}

TEST(TextScores, ChrfByHand) {
  // ab / abc: precision 1 of both orders, recall 2/3 and 1/2.
  EXPECT_NEAR(scoresOf("a b", "a b c").chrf(), 100 * 5 * (7.0 / 12) / (4 + 7.0 / 12), 1e-9);
  // The other way round recall is 1, which counts twice.
  EXPECT_NEAR(scoresOf("abc", "ab").chrf(), 100 * 5 * (7.0 / 12) / (4 * (7.0 / 12) + 1), 1e-9);
  EXPECT_NEAR(
      scoresOf("\u65e5\u672c\u8a9e \u3067\u3059\u3002", "\u65e5\u672c\u8a9e\u3067\u3059\u3002")
          .chrf(),
      100, 1e-9);
  EXPECT_EQ(scoresOf("abc", "xyz").chrf(), 0);
  EXPECT_EQ(scoresOf("", "a").chrf(), 0);
  EXPECT_EQ(TextScores().chrf(), 0);
}

TEST(TextScores, CorpusAsSacreBleuHasIt) {
  const std::pair<const char *, const char *> corpus[] = {
      {"the cat sat on the mat.", "the cat is on the mat."},
      {"Hello, world! It costs $3,000.50 (net).", "Hello world! It cost $3,000.50, net."},
      {"Ein B\u00e4r i\u00dft 1-2 \u00c4pfel\u2026", "Ein B\u00e4r isst 1-2 \u00c4pfel \u2026"},
      {"a b", "a b c"},
      {"", "nothing here"},
      {"x y z w v", "q r s t u"},
      {"it's 5.5, not 5 .5; A-B c-3 3-c &amp; &lt;x&gt;", "it's 5.5, not 5.5; A-B c-3 3-c & <x>"},
      {"\u65e5\u672c\u8a9e \u3067\u3059\u3002", "\u65e5\u672c\u8a9e\u3067\u3059\u3002"},
      {"\u3000wide\u00a0space here now ok", "wide space here now ok"}};
  const double bleu[] = {48.892302243490086,
                         18.360281349467954,
                         26.647313141084275,
                         0,
                         0,
                         0,
                         69.64705665515706,
                         0,
                         100};
  const double chrf[] = {67.17273492330233,
                         67.04453558082349,
                         72.20578755930772,
                         63.636363636363626,
                         0,
                         0,
                         82.30885785125629,
                         100,
                         100};
  TextScores all;
  for (size_t i = 0; i < std::size(corpus); ++i) {
    const auto &[hypothesis, reference] = corpus[i];
    EXPECT_NEAR(scoresOf(hypothesis, reference).bleu(), bleu[i], 1e-9) << hypothesis;
    EXPECT_NEAR(scoresOf(hypothesis, reference).chrf(), chrf[i], 1e-9) << hypothesis;
    all.add(hypothesis, reference);
  }
  EXPECT_NEAR(all.bleu(), 47.6723540326313, 1e-9);
  EXPECT_NEAR(all.chrf(), 71.06627428036212, 1e-9);
}

} // namespace heddle::tools
