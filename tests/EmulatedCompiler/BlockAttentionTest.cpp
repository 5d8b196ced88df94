// SPDX-License-Identifier: Apache-2.0
///
/// Attention by blocks on the emulated GPU: every row agrees with the definition within the error
/// of its products, and has the same bits in every batch, division and chunk.
#include "tests/EmulatedCompiler/LaunchedAttention.h"

#include "compiler/Parameters/FloatProducts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace heddle {
namespace {

using transformer::PositionBound;
using transformer::Visibility;

/// Returns the largest permitted error of a result with values up to 1: scores are up to 8, and an
/// error of a score becomes a relative error of its weight.
double toleranceOf(FloatProducts products) {
  switch (products) {
  case FloatProducts::Exact:
    return 4e-6;
  case FloatProducts::Tf32x3:
    return 1e-5;
  case FloatProducts::Tf32:
    return 4e-3;
  case FloatProducts::Bf16:
    return 3e-2;
  }
  return 0;
}

/// Returns the largest error of a batch.
double errorOf(const AttentionShape &shape, const CompiledAttention &attention,
               const std::vector<AttentionPart> &batch) {
  const KernelOutcome outcome = attention.run(batch);
  EXPECT_EQ(outcome.report, "");
  double largest = 0;
  size_t place = 0;
  for (const AttentionPart &part : batch) {
    for (int64_t row = 0; row < part.rows; ++row) {
      for (const double expected : attention.expectedRow(*part.sequence, part.first + row)) {
        if (place == outcome.values.size()) {
          return largest;
        }
        const double error = std::abs(double(outcome.values[place++]) - expected);
        // Comparisons with NaN are false, so NaN becomes the largest error.
        largest = error <= largest ? largest : error;
      }
    }
  }
  return largest;
}

/// Sequences of given lengths, with all of their rows.
struct Batch {
  std::vector<AttentionSequence> sequences;

  Batch(const AttentionShape &shape, const std::vector<int64_t> &lengths) {
    uint32_t seed = 0;
    for (const int64_t length : lengths) {
      sequences.emplace_back(shape, length, ++seed);
    }
  }
  std::vector<AttentionPart> all() const {
    std::vector<AttentionPart> parts;
    for (const AttentionSequence &sequence : sequences) {
      parts.push_back({&sequence, 0, sequence.length});
    }
    return parts;
  }
};

AttentionShape with(FloatProducts products, AttentionShape shape) {
  shape.products = products;
  return shape;
}

std::string describe(const AttentionShape &shape) {
  return std::to_string(shape.heads) + " heads of " + std::to_string(shape.keySize) + " and " +
         std::to_string(shape.valueSize) + ", " + shape.visibility.text() +
         (!shape.isCached             ? ", "
          : shape.kept == Kept::Codes ? ", cached as codes, "
          : shape.kept == Kept::Bf16  ? ", cached in bf16, "
                                      : ", cached, ") +
         floatProductsName(shape.products).str() + " shares " + std::to_string(shape.keyShare) +
         " " + std::to_string(shape.valueShare) + " bias " + std::to_string(shape.biasDistance) +
         " before " + std::to_string(shape.before) + " " + shape.score + " " + shape.hidden +
         (shape.hasPairs ? " pairs, " : "") + std::to_string(shape.lines()) + " lines";
}

/// Sizes near those of tiles, and every feature of attention.
const AttentionShape kShapes[] = {
    {.heads = 2, .keySize = 32, .valueSize = 32},
    {.heads = 1, .keySize = 1, .valueSize = 3},
    {.heads = 2, .keySize = 64, .valueSize = 48, .visibility = Visibility::causal(), .before = 5},
    {.heads = 1, .keySize = 128, .valueSize = 128, .visibility = Visibility::band(9, 4)},
    {.heads = 1, .keySize = 20, .valueSize = 160, .before = 4},
    {.heads = 1, .keySize = 144, .valueSize = 130, .visibility = Visibility::causal()},
    {.heads = 1,
     .keySize = 100,
     .valueSize = 80,
     .visibility = Visibility::causal(),
     .isCached = true},
    {.heads = 4,
     .keySize = 16,
     .valueSize = 8,
     .visibility = Visibility::causal(),
     .isCached = true,
     .keyShare = 2,
     .valueShare = 4,
     .biasDistance = 5},
    {.heads = 2,
     .keySize = 40,
     .valueSize = 24,
     .visibility = Visibility::blocks(12, 3, 2),
     .score = "tanh"},
    {.heads = 1,
     .keySize = 16,
     .valueSize = 16,
     .visibility = Visibility::causal(),
     .biasDistance = 3,
     .hidden = "added"},
    {.heads = 1,
     .keySize = 16,
     .valueSize = 16,
     .visibility = Visibility::causal(),
     .hidden = "score"},
    {.heads = 1,
     .keySize = 16,
     .valueSize = 16,
     .visibility = Visibility::causal(),
     .biasDistance = 3,
     .hidden = "product"},
    {.heads = 2, .keySize = 16, .valueSize = 16, .biasDistance = 40, .score = "bias"},
    {.heads = 1, .keySize = 19, .valueSize = 40, .hasPairs = true},
    {.heads = 4,
     .keySize = 8,
     .valueSize = 8,
     .visibility = Visibility::causal(),
     .isCached = true,
     .keyShare = 2,
     .valueShare = 2,
     .biasDistance = 5,
     .before = 4,
     .hasPairs = true},
    {.heads = 1,
     .keySize = 7,
     .valueSize = 9,
     .hasPairs = true,
     .locationHeads = {1},
     .locationTaps = {7},
     .locationFilters = 5},
    {.heads = 2,
     .keySize = 0,
     .valueSize = 30,
     .visibility = Visibility::band(20, 5),
     .before = 4,
     .result = AttentionShape::Result::Sums},
    {.heads = 4,
     .keySize = 0,
     .valueSize = 12,
     .visibility = Visibility::causal(),
     .isCached = true,
     .valueShare = 2,
     .result = AttentionShape::Result::Sums},
    {.heads = 1, .keySize = 0, .valueSize = 140, .result = AttentionShape::Result::Sums}};

constexpr FloatProducts kAllProducts[] = {FloatProducts::Exact, FloatProducts::Bf16,
                                          FloatProducts::Tf32, FloatProducts::Tf32x3};

/// Every kind of code: each precision, and bf16 by warpgroups.
struct Kind {
  FloatProducts products;
  const char *target;
};
constexpr Kind kAllKinds[] = {{FloatProducts::Exact, "sm_80"},
                              {FloatProducts::Bf16, "sm_80"},
                              {FloatProducts::Tf32, "sm_80"},
                              {FloatProducts::Tf32x3, "sm_80"},
                              {FloatProducts::Bf16, "sm_90a"}};

/// Returns whether tensor cores may compute the products of an attention.
bool isOfProducts(const AttentionShape &shape) {
  return !shape.hasPairs && shape.result == AttentionShape::Result::Values;
}

/// Covers one tile and two, one span and two, and an empty sequence.
void expectDefinition(const AttentionShape &shape, const std::string &target = "sm_80") {
  SCOPED_TRACE(describe(shape));
  const int64_t two = target == "sm_80" ? 70 : 150;
  EXPECT_LE(
      errorOf(shape, CompiledAttention(shape, target), Batch(shape, {5, 1, two, 0, 33}).all()),
      toleranceOf(shape.products));
}

TEST(BlockAttention, AgreesWithItsDefinition) {
  for (const AttentionShape &shape : kShapes) {
    expectDefinition(shape);
  }
}
TEST(BlockAttention, AgreesWithItsDefinitionOnTensorCores) {
  size_t number = 0;
  for (const AttentionShape &shape : kShapes) {
    if (!isOfProducts(shape)) {
      continue;
    }
    // Each of the three precisions in turn, and all of them for the first shape.
    for (size_t i = 1; i < std::size(kAllProducts); ++i) {
      if (number == 0 || number % 3 == i - 1) {
        expectDefinition(with(kAllProducts[i], shape));
      }
    }
    ++number;
  }
}

TEST(BlockAttention, AgreesWithItsDefinitionByWarpgroups) {
  for (const AttentionShape &shape : kShapes) {
    if (isOfProducts(shape)) {
      expectDefinition(with(FloatProducts::Bf16, shape), "sm_90a");
    }
  }
}

/// Returns a random element of `choices`.
template <typename Choice> Choice any(std::mt19937 &random, std::initializer_list<Choice> choices) {
  return choices.begin()[random() % choices.size()];
}

AttentionShape randomShape(std::mt19937 &random, uint32_t most) {
  AttentionShape shape = {.heads = 0,
                          .keySize = 1 + int64_t(random() % most),
                          .valueSize = 1 + int64_t(random() % most)};
  shape.keyShare = any<int64_t>(random, {1, 1, 2, 4});
  shape.valueShare = any<int64_t>(random, {1, 1, 2, 4});
  shape.heads = 4;
  shape.visibility = any<Visibility>(
      random, {Visibility::all(), Visibility::causal(),
               Visibility::band(int64_t(random() % 90), int64_t(random() % 20)),
               Visibility{.from = PositionBound{.offset = -int64_t(random() % 40)}}});
  shape.products = any<FloatProducts>(random, {FloatProducts::Exact, FloatProducts::Bf16,
                                               FloatProducts::Tf32, FloatProducts::Tf32x3});
  shape.isCached = shape.visibility == Visibility::causal() && random() % 2 == 0;
  shape.biasDistance = any<int64_t>(random, {0, 0, 7});
  shape.before = any<int64_t>(random, {0, 0, 3, 8});
  return shape;
}

/// Tests sequences of up to `longest` rows.
void expectRandomBatch(const AttentionShape &shape, const std::string &target, std::mt19937 &random,
                       uint32_t longest) {
  SCOPED_TRACE(describe(shape));
  std::vector<int64_t> lengths;
  for (int i = 0; i < 3; ++i) {
    lengths.push_back(int64_t(random() % longest));
  }
  lengths.push_back(1 + int64_t(random() % longest));
  EXPECT_LE(errorOf(shape, CompiledAttention(shape, target), Batch(shape, lengths).all()),
            toleranceOf(shape.products));
}

TEST(BlockAttention, AgreesWithItsDefinitionForRandomShapes) {
  std::mt19937 random(2026);
  for (int number = 0; number < randomKernels(5); ++number) {
    expectRandomBatch(randomShape(random, /*most=*/70), "sm_80", random, /*longest=*/80);
  }
}
TEST(BlockAttention, AgreesWithItsDefinitionForRandomShapesByWarpgroups) {
  std::mt19937 random(2027);
  for (int number = 0; number < randomKernels(5); ++number) {
    const AttentionShape shape = with(FloatProducts::Bf16, randomShape(random, /*most=*/128));
    expectRandomBatch(shape, "sm_90a", random, /*longest=*/160);
  }
}

TEST(BlockAttention, ErrorsAreThoseOfThePrecision) {
  // Tests that the errors are not those of a higher precision.
  const AttentionShape shape = {.heads = 1, .keySize = 32, .valueSize = 32};
  double before = 0;
  for (const FloatProducts products :
       {FloatProducts::Tf32x3, FloatProducts::Tf32, FloatProducts::Bf16}) {
    const AttentionShape own = with(products, shape);
    const double error = errorOf(own, CompiledAttention(own), Batch(own, {70}).all());
    EXPECT_GE(error, 3 * before) << floatProductsName(products).str();
    before = error;
  }
  EXPECT_GE(before, 1e-4);
}

// --- bits --------------------------------------------------------------------------------------

/// Expects rows of one result to have the bits of rows of another.
void expectSameBits(const AttentionShape &shape, const std::vector<float> &found, int64_t foundRow,
                    const std::vector<float> &other, int64_t otherRow, int64_t rows) {
  ASSERT_FALSE(found.empty());
  ASSERT_FALSE(other.empty());
  const size_t width = size_t(shape.resultWidth());
  for (size_t i = 0; i < size_t(rows) * width; ++i) {
    const float a = found[size_t(foundRow) * width + i], b = other[size_t(otherRow) * width + i];
    ASSERT_EQ(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b))
        << "row " << i / width << ", column " << i % width << ": " << a << " and " << b;
  }
}

/// Expects rows of chunks, beside those of another text, to have the bits of the whole text.
void expectSameBitsInChunks(AttentionShape shape) {
  shape.visibility = Visibility::band(33, 0);
  shape.isCached = true;
  const CompiledAttention attention(shape);
  const Batch batch(shape, {60, 40});
  const AttentionSequence &own = batch.sequences.front(), &other = batch.sequences.back();
  const std::vector<float> whole = attention.run({{&own, 0, 60}}).values;
  for (const AttentionPart &chunk : {AttentionPart{&own, 0, 3}, {&own, 3, 50}, {&own, 59, 1}}) {
    SCOPED_TRACE("from row " + std::to_string(chunk.first));
    const std::vector<float> found = attention.run({{&other, 30, 10}, chunk}).values;
    expectSameBits(shape, found, 10, whole, chunk.first, chunk.rows);
  }
}

TEST(BlockAttention, SumsOverPairsHaveTheSameBitsInAnyChunks) {
  expectSameBitsInChunks({.heads = 2, .keySize = 20, .valueSize = 12, .hasPairs = true});
}
TEST(BlockAttention, SumsWithGivenWeightsHaveTheSameBitsInAnyChunks) {
  expectSameBitsInChunks(
      {.heads = 2, .keySize = 0, .valueSize = 20, .result = AttentionShape::Result::Sums});
}

TEST(BlockAttention, ASequenceHasTheSameBitsInAnyBatchAndDivision) {
  for (const auto &[products, target] : kAllKinds) {
    for (const Visibility &visibility : {Visibility::all(), Visibility::band(20, 0)}) {
      const AttentionShape shape = {.heads = 2,
                                    .keySize = 24,
                                    .valueSize = 32,
                                    .visibility = visibility,
                                    .products = products};
      SCOPED_TRACE(describe(shape) + " " + target);
      const CompiledAttention attention(shape, target);
      const Batch batch(shape, {50, 71, 20});
      const AttentionSequence &own = batch.sequences[1];
      const std::vector<float> alone = attention.run({{&own, 0, own.length}}).values;
      const std::vector<float> together = attention.run(batch.all()).values;
      expectSameBits(shape, together, 50, alone, 0, 71);
      // A launch writes only its own rows.
      KernelLaunch part = attention.launchOf(batch.all());
      part.rowBegin = 63;
      part.rowEnd = 100;
      part.blocks = 3;
      const std::vector<float> some = attention.run(batch.all(), part).values;
      expectSameBits(shape, some, 63, alone, 13, 37);
      ASSERT_FALSE(some.empty());
      EXPECT_TRUE(std::isnan(some[size_t(62 * shape.resultWidth())]));
      EXPECT_TRUE(std::isnan(some[size_t(100 * shape.resultWidth())]));
    }
  }
}

/// Heads that share keys, of which a division has a part.
void expectHeadsOfADivision(const Kind &kind) {
  const AttentionShape shape = {.heads = 6,
                                .keySize = 16,
                                .valueSize = 16,
                                .products = kind.products,
                                .keyShare = 3,
                                .valueShare = 3};
  SCOPED_TRACE(describe(shape) + " " + kind.target);
  const CompiledAttention attention(shape, kind.target);
  const Batch batch(shape, {30, 9});
  const std::vector<float> all = attention.run(batch.all()).values;
  KernelLaunch part = attention.launchOf(batch.all());
  part.columnBegin = 1;
  part.columnEnd = 5;
  const std::vector<float> some = attention.run(batch.all(), part).values;
  ASSERT_EQ(all.size(), some.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t head = i / size_t(shape.valueSize) % size_t(shape.heads);
    if (head >= 1 && head < 5) {
      ASSERT_EQ(all[i], some[i]) << i;
    } else {
      ASSERT_TRUE(std::isnan(some[i])) << i;
    }
  }
}

TEST(BlockAttention, HeadsOfADivisionHaveTheSameBits) {
  expectHeadsOfADivision({FloatProducts::Exact, "sm_80"});
  expectHeadsOfADivision({FloatProducts::Bf16, "sm_90a"});
}

TEST(BlockAttention, ATextHasTheSameBitsInAnyChunks) {
  for (const auto &[products, target] : kAllKinds) {
    for (const Visibility &visibility : {Visibility::causal(), Visibility::band(25, 0)}) {
      const AttentionShape shape = {.heads = 2,
                                    .keySize = 16,
                                    .valueSize = 32,
                                    .visibility = visibility,
                                    .products = products,
                                    .isCached = true,
                                    .biasDistance = 9};
      SCOPED_TRACE(describe(shape) + " " + target);
      const CompiledAttention attention(shape, target);
      const Batch batch(shape, {80, 40});
      const AttentionSequence &own = batch.sequences.front(), &other = batch.sequences.back();
      const std::vector<float> whole = attention.run({{&own, 0, 80}}).values;
      for (const AttentionPart &chunk :
           {AttentionPart{&own, 0, 3}, {&own, 3, 62}, {&own, 65, 14}, {&own, 79, 1}}) {
        SCOPED_TRACE("from row " + std::to_string(chunk.first));
        const std::vector<float> found = attention.run({{&other, 30, 10}, chunk}).values;
        expectSameBits(shape, found, 10, whole, chunk.first, chunk.rows);
      }
    }
  }
}

/// Expects the bits of a cache with other elements that have the same values.
void expectBitsOfNumbers(AttentionShape shape, const std::string &target) {
  shape.kept = Kept::F32;
  const CompiledAttention ofNumbers(shape, target);
  for (const Kept kept : {Kept::Bf16, Kept::Codes}) {
    shape.kept = kept;
    SCOPED_TRACE(describe(shape) + " " + target);
    const CompiledAttention compiled(shape, target);
    const Batch batch(shape, {70, 1, 33});
    const KernelOutcome found = compiled.run(batch.all());
    EXPECT_EQ(found.report, "");
    const std::vector<float> expected = ofNumbers.run(batch.all()).values;
    if (!shape.hasValues()) {
      ASSERT_FALSE(expected.empty());
      // Those of keys that a sequence does not have are not written.
      EXPECT_TRUE(std::ranges::equal(found.values, expected, [](float a, float b) {
        return a == b || (std::isnan(a) && std::isnan(b));
      }));
      continue;
    }
    expectSameBits(shape, found.values, 0, expected, 0, 104);
    // A step of one text, and a chunk of another one.
    const std::vector<AttentionPart> parts = {{&batch.sequences[0], 69, 1},
                                              {&batch.sequences[2], 20, 13}};
    const std::vector<float> some = compiled.run(parts).values;
    expectSameBits(shape, some, 0, expected, 69, 1);
    expectSameBits(shape, some, 1, expected, 91, 13);
  }
}

TEST(BlockAttention, NarrowCachesHaveTheBitsOfTheirNumbers) {
  const AttentionShape shapes[] = {
      {.heads = 2, .keySize = 64, .valueSize = 32},
      // Rows of values that are not aligned, and padding.
      {.heads = 2, .keySize = 33, .valueSize = 18},
      {.heads = 4, .keySize = 16, .valueSize = 20, .keyShare = 2, .valueShare = 4},
      {.heads = 1, .keySize = 100, .valueSize = 120},
  };
  // Warpgroups take all of them, each other kind of code every other one.
  size_t number = 0;
  for (const auto &[products, target] : kAllKinds) {
    const bool areAll = std::string_view(target) == "sm_90a";
    for (size_t i = areAll ? 0 : number++ % 2; i < std::size(shapes); i += areAll ? 1 : 2) {
      AttentionShape shape = with(products, shapes[i]);
      shape.visibility = Visibility::causal();
      shape.isCached = true;
      expectBitsOfNumbers(shape, target);
    }
  }
}

TEST(BlockAttention, NarrowCachesHaveTheBitsOfTheirNumbersInF32) {
  AttentionShape shape = {.heads = 2,
                          .keySize = 140,
                          .valueSize = 144,
                          .visibility = Visibility::band(20, 0),
                          .isCached = true};
  expectBitsOfNumbers(shape, "sm_90a");
  shape = {.heads = 2,
           .keySize = 12,
           .valueSize = 8,
           .visibility = Visibility::causal(),
           .isCached = true,
           .biasDistance = 3,
           .hasPairs = true};
  expectBitsOfNumbers(shape, "sm_80");
  shape = {.heads = 2,
           .keySize = 0,
           .valueSize = 20,
           .visibility = Visibility::causal(),
           .isCached = true,
           .result = AttentionShape::Result::Sums};
  expectBitsOfNumbers(shape, "sm_80");
  shape.keySize = 24;
  shape.result = AttentionShape::Result::Weights;
  expectBitsOfNumbers(shape, "sm_80");
}

TEST(BlockAttention, NarrowCachesAgreeWithTheDefinition) {
  const AttentionShape shape = {.heads = 4,
                                .keySize = 24,
                                .valueSize = 20,
                                .visibility = Visibility::causal(),
                                .isCached = true,
                                .keyShare = 2,
                                .valueShare = 2};
  for (const auto &[products, target] : kAllKinds) {
    for (const Kept kept : {Kept::Bf16, Kept::Codes}) {
      AttentionShape own = with(products, shape);
      own.kept = kept;
      expectDefinition(own, target);
    }
  }
}

TEST(BlockAttention, ALongTextHasTheSameBitsByWarpgroups) {
  // Several spans more than there are stages, and rows of both warpgroups of a tile.
  for (const int64_t size : {32, 64, 128}) {
    const AttentionShape shape = {.heads = 1,
                                  .keySize = size,
                                  .valueSize = size,
                                  .visibility = Visibility::causal(),
                                  .products = FloatProducts::Bf16,
                                  .isCached = true};
    SCOPED_TRACE(describe(shape));
    const CompiledAttention attention(shape, "sm_90a");
    const Batch batch(shape, {400, 90});
    const AttentionSequence &own = batch.sequences.front(), &other = batch.sequences.back();
    const std::vector<float> whole = attention.run({{&own, 0, 400}}).values;
    for (const AttentionPart &chunk :
         {AttentionPart{&own, 0, 130}, {&own, 130, 200}, {&own, 390, 2}, {&own, 399, 1}}) {
      SCOPED_TRACE("from row " + std::to_string(chunk.first));
      const std::vector<float> found = attention.run({{&other, 80, 10}, chunk}).values;
      expectSameBits(shape, found, 10, whole, chunk.first, chunk.rows);
    }
  }
}

TEST(BlockAttention, NothingDependsOnTheOrderOfThreads) {
  for (const FloatProducts products : {FloatProducts::Exact, FloatProducts::Bf16}) {
    const AttentionShape shape = {.heads = 1, .keySize = 32, .valueSize = 32, .products = products};
    const CompiledAttention attention(shape, "sm_90a");
    const Batch batch(shape, {70});
    std::vector<float> first;
    for (const char *const seed : {"1000", "2000"}) {
      ::setenv("HEDDLE_EMULATOR_SEED", seed, 1);
      const KernelOutcome outcome = attention.run(batch.all());
      ASSERT_EQ(outcome.report, "");
      if (first.empty()) {
        first = outcome.values;
      }
      expectSameBits(shape, outcome.values, 0, first, 0, 70);
    }
    ::unsetenv("HEDDLE_EMULATOR_SEED");
  }
}

/// Returns the share of passes over the banks of shared memory that conflicts cause.
double conflictsOf(const AttentionShape &shape, const std::string &target) {
  CompiledAttention attention(shape, target);
  return extraPassesOf([&] { EXPECT_EQ(attention.run(Batch(shape, {64}).all()).report, ""); });
}

TEST(BlockAttention, LanesWantDifferentBanks) {
  // Accesses to queries, keys and values have no bank conflicts, except that two rows of 16 words,
  // which are stored at once, share four banks.
  constexpr double most = 0.15, mostOfShortRows = 0.5;
  for (const FloatProducts products : kAllProducts) {
    for (const int64_t size : {32, 64, 128}) {
      const AttentionShape shape = {
          .heads = 1, .keySize = size, .valueSize = size, .products = products};
      EXPECT_LE(conflictsOf(shape, "sm_80"),
                products == FloatProducts::Bf16 && size == 32 ? mostOfShortRows : most)
          << describe(shape);
    }
  }
}
TEST(BlockAttention, ThreadsOfWarpgroupsWantDifferentBanks) {
  for (const bool isCached : {false, true}) {
    for (const int64_t size : {16, 32, 64, 128}) {
      const AttentionShape shape = {.heads = 1,
                                    .keySize = size,
                                    .valueSize = size,
                                    .visibility = Visibility::causal(),
                                    .products = FloatProducts::Bf16,
                                    .isCached = isCached};
      EXPECT_EQ(conflictsOf(shape, "sm_90a"), 0) << describe(shape);
    }
  }
}

} // namespace
} // namespace heddle
