// SPDX-License-Identifier: Apache-2.0
///
/// Policies for published divergences (the decoder of Xiao et al., "Sharing attention weights for
/// fast Transformer", arXiv 1906.11024, as printed in Zhu and Xiao's "Machine Translation"), and
/// corner cases.
#include "formats/Analysis/AttentionAnalysis.h"

#include <gtest/gtest.h>

using namespace heddle;

using Policy = std::vector<int64_t>;

/// Builds a symmetric matrix from the divergences right of its diagonal.
static SimilarityMatrix similar(const std::vector<std::vector<double>> &rows) {
  const size_t layers = rows.size() + 1;
  SimilarityMatrix matrix(layers, std::vector<double>(layers, 1.0));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) {
      matrix[i][i + 1 + j] = matrix[i + 1 + j][i] = 1 - rows[i][j];
    }
  }
  return matrix;
}

static const SimilarityMatrix selfAttention = similar({{.5429, .5138, .4650, .5005, .5531},
                                                       {.0606, .0630, .0703, .0332},
                                                       {.0671, .0472, .0296},
                                                       {.0176, .0552},
                                                       {.0389}});
static const SimilarityMatrix crossAttention = similar({{.0175, .2239, .3933, .7986, .3603},
                                                        {.1442, .3029, .7295, .3324},
                                                        {.0971, .6270, .4163},
                                                        {.2385, .2022},
                                                        {.0658}});

TEST(SharingPolicy, SimilaritiesThatWerePublished) {
  EXPECT_NEAR(similarityOfBlock(selfAttention, 0, 2), 0.4571, 5e-5);
  EXPECT_NEAR(similarityOfBlock(selfAttention, 0, 6), 0.7961, 5e-5);
  EXPECT_NEAR(similarityOfBlock(selfAttention, 1, 5), 0.9517, 5e-5);
  EXPECT_NEAR(similarityOfBlock(crossAttention, 0, 4), 0.8035, 5e-5);
  EXPECT_NEAR(similarityOfBlock(crossAttention, 4, 2), 0.9342, 5e-5);
  // A single layer has no pair to compare.
  EXPECT_EQ(similarityOfBlock(crossAttention, 3, 1), 1);
}

TEST(SharingPolicy, PoliciesThatFollow) {
  struct Case {
    double theta;
    Policy largest;
    Policy extend;
    Policy cross;
  };
  const Case cases[] = {
      {0.40, {6}, {6}, {6}},
      {0.60, {6}, {1, 5}, {6}},
      {0.70, {6}, {1, 5}, {4, 2}},
      {0.80, {1, 5}, {1, 5}, {4, 2}},
      {0.85, {1, 5}, {1, 5}, {3, 1, 2}},
      {0.90, {1, 5}, {1, 5}, {2, 2, 2}},
      {0.95, {1, 5}, {1, 1, 1, 3}, {2, 1, 1, 1, 1}},
      {0.98, {1, 1, 1, 2, 1}, {1, 1, 1, 2, 1}, {2, 1, 1, 1, 1}},
  };
  for (const Case &each : cases) {
    EXPECT_EQ(sharingPolicy(selfAttention, each.theta), each.largest) << each.theta;
    EXPECT_EQ(sharingPolicy(selfAttention, each.theta, BlockRule::Extend), each.extend)
        << each.theta;
    EXPECT_EQ(sharingPolicy(crossAttention, each.theta), each.cross) << each.theta;
    EXPECT_EQ(sharingPolicy(crossAttention, each.theta, BlockRule::Extend), each.cross)
        << each.theta;
  }
}

TEST(SharingPolicy, CornerCases) {
  EXPECT_EQ(sharingPolicy({}, 0.5), Policy{});
  EXPECT_EQ(sharingPolicy({{1}}, 0.5), Policy{1});
  // The similarity must exceed the threshold.
  const SimilarityMatrix half = similar({{0.5}});
  EXPECT_EQ(sharingPolicy(half, 0.5), (Policy{1, 1}));
  EXPECT_EQ(sharingPolicy(half, 0.4999), Policy{2});
  // Equal layers share under every threshold below 1.
  const SimilarityMatrix equal(4, std::vector<double>(4, 1.0));
  EXPECT_EQ(sharingPolicy(equal, 0.9999), Policy{4});
  EXPECT_EQ(sharingPolicy(equal, 1), (Policy{1, 1, 1, 1}));
}
