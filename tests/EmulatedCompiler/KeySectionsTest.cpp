// SPDX-License-Identifier: Apache-2.0
///
/// Attention over more keys than a section has, on the emulated GPU: a row agrees with its
/// definition, and has the same bits whether one block computes all sections, or one block each.
#include "compiler/Target/Cuda/KeySections.h"
#include "tests/EmulatedCompiler/LaunchedAttention.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using transformer::Visibility;

struct SectionCase {
  const char *name;
  AttentionShape shape;
  const char *target = "sm_80";
  double tolerance = 4e-6;
};

/// Each kind of code, and what sections must not change.
const SectionCase cases[] = {
    {"F32",
     {.heads = 2,
      .keySize = 8,
      .valueSize = 20,
      .visibility = Visibility::causal(),
      .isCached = true}},
    {"F32OfSharedHeads",
     {.heads = 6,
      .keySize = 16,
      .valueSize = 16,
      .visibility = Visibility::causal(),
      .isCached = true,
      .keyShare = 3,
      .valueShare = 3}},
    // A row sees two sections, but not the first one.
    {"F32OfAWindow",
     {.heads = 2,
      .keySize = 8,
      .valueSize = 8,
      .visibility = Visibility::band(kSectionKeys + 70, 0),
      .isCached = true,
      .biasDistance = 9}},
    {"F32OfPairs",
     {.heads = 1,
      .keySize = 5,
      .valueSize = 8,
      .visibility = Visibility::causal(),
      .isCached = true,
      .hasPairs = true}},
    {"Bf16",
     {.heads = 2,
      .keySize = 16,
      .valueSize = 16,
      .visibility = Visibility::causal(),
      .products = FloatProducts::Bf16,
      .isCached = true},
     "sm_80",
     3e-2},
    {"Tf32",
     {.heads = 1,
      .keySize = 16,
      .valueSize = 24,
      .visibility = Visibility::causal(),
      .products = FloatProducts::Tf32,
      .isCached = true},
     "sm_80",
     4e-3},
    {"Bf16ByWarpgroups",
     {.heads = 2,
      .keySize = 32,
      .valueSize = 32,
      .visibility = Visibility::causal(),
      .products = FloatProducts::Bf16,
      .isCached = true},
     "sm_90a",
     3e-2},
    {"Bf16OfAWindowByWarpgroups",
     {.heads = 2,
      .keySize = 16,
      .valueSize = 40,
      .visibility = Visibility::band(kSectionKeys + 70, 0),
      .products = FloatProducts::Bf16,
      .isCached = true,
      .keyShare = 2,
      .valueShare = 2},
     "sm_90a",
     3e-2},
};

class KeySectionsOf : public testing::TestWithParam<SectionCase> {
protected:
  static constexpr int64_t length = 2 * kSectionKeys + 37;

  KernelOutcome run(const std::vector<AttentionPart> &batch, int64_t sections) const {
    KernelLaunch launch = attention.launchOf(batch);
    launch.sections = sections;
    KernelOutcome outcome = attention.run(batch, launch);
    EXPECT_EQ(outcome.report, "");
    return outcome;
  }
  void expectDefinition(const std::vector<float> &found, const AttentionPart &part) const {
    const int64_t width = shape.resultWidth();
    ASSERT_EQ(found.size(), size_t(part.rows * width));
    for (int64_t row = 0; row < part.rows; ++row) {
      const std::vector<double> expected = attention.expectedRow(*part.sequence, part.first + row);
      for (int64_t column = 0; column < width; ++column) {
        const double number = found[size_t(row * width + column)];
        // Not EXPECT_NEAR, which NaN would pass.
        ASSERT_TRUE(std::abs(number - expected[size_t(column)]) <= GetParam().tolerance)
            << "row " << row << ", column " << column << ": " << number << " and "
            << expected[size_t(column)];
      }
    }
  }
  /// Expects `rows` rows of `found` from `firstRow` on to be `expected`.
  void expectSameBits(const std::vector<float> &found, int64_t firstRow,
                      const std::vector<float> &expected) const {
    const auto before = size_t(firstRow * shape.resultWidth());
    ASSERT_LE(before + expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(found[before + i]), std::bit_cast<uint32_t>(expected[i]))
          << "number " << i << ": " << found[before + i] << " and " << expected[i];
    }
  }

  const AttentionShape &shape = GetParam().shape;
  const CompiledAttention attention{shape, GetParam().target};
  const AttentionSequence sequence{shape, length, 1}, other{shape, 90, 2};
};

TEST_P(KeySectionsOf, AgreeWithTheDefinition) {
  const AttentionPart last = {&sequence, length - 2, 2};
  expectDefinition(run({last}, 1).values, last);
  expectDefinition(run({last}, 3).values, last);
}

TEST_P(KeySectionsOf, HaveTheSameBitsInOneBlockAndInSeveral) {
  const AttentionPart last = {&sequence, length - 3, 3};
  const std::vector<float> expected = run({last}, 1).values;
  ASSERT_FALSE(expected.empty());
  expectSameBits(run({last}, 3).values, 0, expected);
  // A launch may have more sections than a sequence.
  expectSameBits(run({{&other, 70, 20}, last}, 4).values, 20, expected);
}

TEST_P(KeySectionsOf, HaveTheSameBitsInTilesOfManyRows) {
  // Rows of the tile see one section or two.
  const AttentionPart many = {&sequence, kSectionKeys - 40, 90},
                      some = {&sequence, kSectionKeys - 2, 5};
  const std::vector<float> expected = run({some}, 1).values;
  ASSERT_FALSE(expected.empty());
  expectSameBits(run({{&other, 0, 90}, many}, 1).values, 90 + 38, expected);
  expectSameBits(run({some}, 2).values, 0, expected);
}

/// More heads than a tile has rows share keys: each row has several tiles, whose queries are its
/// heads.
class ManySharedHeads : public KeySectionsOf {};

TEST_P(ManySharedHeads, AgreeAndHaveTheSameBits) {
  const AttentionPart last = {&sequence, length - 2, 2};
  const std::vector<float> expected = run({last}, 1).values;
  expectDefinition(expected, last);
  expectSameBits(run({last}, 3).values, 0, expected);
}

SectionCase manySharedHeads(const char *name, FloatProducts products, const char *target,
                            double tolerance) {
  constexpr int64_t heads = 130;
  return {name,
          {.heads = heads,
           .keySize = 8,
           .valueSize = 8,
           .visibility = Visibility::causal(),
           .products = products,
           .isCached = true,
           .keyShare = heads,
           .valueShare = heads},
          target,
          tolerance};
}
const SectionCase casesOfManyHeads[] = {
    manySharedHeads("F32", FloatProducts::Exact, "sm_80", 4e-6),
    manySharedHeads("Bf16", FloatProducts::Bf16, "sm_80", 3e-2),
    manySharedHeads("Tf32", FloatProducts::Tf32, "sm_80", 4e-3),
    manySharedHeads("Bf16ByWarpgroups", FloatProducts::Bf16, "sm_90a", 3e-2)};

constexpr auto nameOf = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Kinds, KeySectionsOf, testing::ValuesIn(cases), nameOf);
INSTANTIATE_TEST_SUITE_P(Kinds, ManySharedHeads, testing::ValuesIn(casesOfManyHeads), nameOf);

} // namespace
} // namespace heddle
