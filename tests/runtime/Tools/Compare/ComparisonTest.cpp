// SPDX-License-Identifier: Apache-2.0
///
/// Differences of tokens, distributions and embeddings, compared with values computed by hand.
#include "runtime/Tools/Compare/Comparison.h"

#include "runtime/Tools/Models/TeacherForcing.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace heddle::tools {

using Numbers = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST(Comparison, TokensPositionByPosition) {
  TokenAgreement agreement;
  EXPECT_EQ(agreement.equalTokens(), 1);
  EXPECT_EQ(agreement.identicalLines(), 1);
  agreement.add(Numbers{1, 2, 3}, Numbers{1, 2, 3});
  agreement.add(Numbers{1, 2, 3, 4}, Numbers{1, 9, 3});
  agreement.add(Numbers{}, Numbers{5});
  agreement.add(Numbers{}, Numbers{});
  EXPECT_EQ(agreement.lines(), 4);
  // 3 and 2 of 3, 4 and 1 positions.
  EXPECT_DOUBLE_EQ(agreement.equalTokens(), 5.0 / 8);
  EXPECT_DOUBLE_EQ(agreement.identicalLines(), 0.5);
}

TEST(Comparison, DistributionsInBits) {
  DistributionDifference difference;
  EXPECT_EQ(difference.kullbackLeibler(), 0);
  // (1/2, 1/2) and (1/4, 3/4), not normalised.
  const auto ln3 = static_cast<float>(std::log(3.0));
  difference.add(Floats{5, 5}, Floats{-1, -1 + ln3});
  const double kl = 0.5 * std::log2(0.5 / 0.25) + 0.5 * std::log2(0.5 / 0.75);
  EXPECT_NEAR(difference.kullbackLeibler(), kl, 1e-6);
  // H(3/8, 5/8) - (1 + H(1/4, 3/4)) / 2.
  EXPECT_NEAR(difference.jensenShannon(), 0.954434002924965 - (1 + 0.8112781244591328) / 2, 1e-6);
  difference.add(Floats{1, 2}, Floats{1, 2});
  EXPECT_EQ(difference.positions(), 2);
  EXPECT_NEAR(difference.kullbackLeibler(), kl / 2, 1e-6);
  // A token that one model never generates costs nothing; one that the other never generates costs
  // everything.
  constexpr float never = -std::numeric_limits<float>::infinity();
  DistributionDifference certain;
  certain.add(Floats{0, never}, Floats{0, 0});
  EXPECT_NEAR(certain.kullbackLeibler(), 1, 1e-6);
  certain.add(Floats{0, 0}, Floats{0, never});
  EXPECT_TRUE(std::isinf(certain.kullbackLeibler()));
}

TEST(Comparison, CosinesOfVectors) {
  EXPECT_DOUBLE_EQ(cosineOf(Floats{1, 0}, Floats{0, 2}), 0);
  EXPECT_DOUBLE_EQ(cosineOf(Floats{3, 4}, Floats{6, 8}), 1);
  EXPECT_DOUBLE_EQ(cosineOf(Floats{3, 4}, Floats{-3, -4}), -1);
  EXPECT_EQ(cosineOf(Floats{0, 0}, Floats{0, 0}), 1);
  EXPECT_EQ(cosineOf(Floats{0, 0}, Floats{1, 0}), 0);
}

/// Unit vectors at angles.
EmbeddingDifference differenceOf(const Floats &a, const Floats &b) {
  EmbeddingDifference difference;
  for (size_t i = 0; i < a.size(); ++i) {
    difference.add({std::cos(a[i]), std::sin(a[i])}, {std::cos(b[i]), std::sin(b[i])});
  }
  return difference;
}

TEST(Comparison, EmbeddingsOfTexts) {
  const EmbeddingDifference turned = differenceOf({0, 0.25F, 1}, {0.5F, 0.75F, 1.5F});
  EXPECT_EQ(turned.texts(), 3);
  EXPECT_NEAR(turned.meanCosine(), std::cos(0.5), 1e-6);
  EXPECT_NEAR(turned.leastCosine(), std::cos(0.5), 1e-6);
  // Rotating all of them preserves the order of the pairs.
  EXPECT_NEAR(turned.rankCorrelation(), 1, 1e-12);
  // Distances 0.25, 1, 0.75 and 1, 0.25, 0.75: the first two pairs change places.
  EXPECT_NEAR(differenceOf({0, 0.25F, 1}, {0, 1, 0.25F}).rankCorrelation(), -1, 1e-12);
  EXPECT_NEAR(differenceOf({0, 0.25F, 1}, {1, 0, 0.25F}).rankCorrelation(), -0.5, 1e-12);
  // Equal pairs share their ranks; if all are equal, there is no order.
  EXPECT_NEAR(differenceOf({0, 0, 1}, {0, 0, 1}).rankCorrelation(), 1, 1e-12);
  EXPECT_EQ(differenceOf({0, 0, 0}, {1, 1, 1}).rankCorrelation(), 1);
  EXPECT_EQ(differenceOf({0, 0, 0}, {0, 1, 2}).rankCorrelation(), 0);
  EXPECT_EQ(differenceOf({0, 1}, {0, 2}).rankCorrelation(), 1);
  // NaN is propagated.
  const float none = std::numeric_limits<float>::quiet_NaN();
  const EmbeddingDifference broken = differenceOf({0, 1, 2}, {none, 1, 2});
  EXPECT_TRUE(std::isnan(broken.meanCosine()));
  EXPECT_TRUE(std::isnan(broken.leastCosine()));
  EXPECT_TRUE(std::isnan(broken.rankCorrelation()));
}

TEST(Comparison, ATableOfLogitsFromItsChunks) {
  LogitsTable table;
  constexpr int64_t vocabulary = logitsChunk + 5;
  table.begin(2, vocabulary, 1);
  Floats chunk(2 * 800);
  for (size_t i = 0; i < chunk.size(); ++i) {
    chunk[i] = static_cast<float>(i);
  }
  table.deliver(0, 1, 5, chunk.data(), 700);
  table.deliver(0, 0, logitsChunk, chunk.data(), 800);
  EXPECT_EQ(table.rows(), 2);
  ASSERT_EQ(table.row(1).size(), static_cast<size_t>(vocabulary));
  EXPECT_EQ(table.row(0)[0], 0);
  EXPECT_EQ(table.row(1)[767], 1567);
  EXPECT_EQ(table.row(1)[768], 700);
  EXPECT_EQ(table.row(0)[772], 4);
}

} // namespace heddle::tools
