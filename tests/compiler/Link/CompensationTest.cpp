// SPDX-License-Identifier: Apache-2.0
///
/// Codes chosen by moments, compared with the loop of the paper, which factors the inverse of the
/// moments and distributes the error of a code over the elements after it.
#include "compiler/Link/Compensation.h"

#include "compiler/Link/CompensatedValues.h"
#include "compiler/Link/ParameterValues.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <sys/resource.h>

using namespace mlir;

namespace heddle {
namespace {

using Matrix = std::vector<double>;

MLIRContext &loadedContext() {
  static MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  return context;
}

transformer::QuantizedType quantizedType(unsigned bits, int64_t group) {
  MLIRContext *context = &loadedContext();
  return transformer::QuantizedType::get(context, IntegerType::get(context, bits), group,
                                         bits == 4 ? Type(BFloat16Type::get(context))
                                                   : Type(Float32Type::get(context)));
}

std::vector<float> randomNumbers(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  std::ranges::generate(numbers, [&] { return normal(generator); });
  return numbers;
}

/// Returns the moments [k, k] of random rows whose adjacent elements are correlated; some are
/// large.
std::vector<float> momentsOf(int64_t k, int64_t rows, uint32_t seed) {
  const std::vector<float> numbers = randomNumbers(static_cast<size_t>(rows * (k + 1)), seed);
  Matrix sums(static_cast<size_t>(k * k));
  for (int64_t row = 0; row < rows; ++row) {
    Matrix x(static_cast<size_t>(k));
    for (int64_t i = 0; i < k; ++i) {
      const float *from = numbers.data() + row * (k + 1) + i;
      x[i] = (from[0] + from[1]) * (i % 5 == 3 ? 4 : 1);
    }
    for (int64_t i = 0; i < k * k; ++i) {
      sums[i] += x[i / k] * x[i % k];
    }
  }
  return {sums.begin(), sums.end()};
}

/// Returns the matrix to be factored: the elements in descending order of the diagonal, with a
/// fraction of its mean added to the diagonal.
Matrix dampedMoments(std::span<const float> moments, int64_t k, std::vector<int64_t> &order) {
  order.resize(static_cast<size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t i) { return std::pair(-moments[i * k + i], i); });
  Matrix damped(moments.size());
  double trace = 0;
  for (int64_t i = 0; i < k; ++i) {
    trace += moments[i * k + i];
  }
  for (int64_t i = 0; i < k * k; ++i) {
    damped[i] = moments[order[i / k] * k + order[i % k]];
  }
  for (int64_t i = 0; i < k; ++i) {
    damped[i * k + i] += 0.05 * trace / static_cast<double>(k);
  }
  return damped;
}

/// Inverts a matrix by Gauss-Jordan elimination.
Matrix inverseOf(Matrix left, int64_t k) {
  Matrix right(left.size());
  for (int64_t i = 0; i < k; ++i) {
    right[i * k + i] = 1;
  }
  for (int64_t pivot = 0; pivot < k; ++pivot) {
    const double divisor = left[pivot * k + pivot];
    for (int64_t j = 0; j < k; ++j) {
      left[pivot * k + j] /= divisor;
      right[pivot * k + j] /= divisor;
    }
    for (int64_t i = 0; i < k; ++i) {
      const double factor = left[i * k + pivot];
      for (int64_t j = 0; i != pivot && j < k; ++j) {
        left[i * k + j] -= factor * left[pivot * k + j];
        right[i * k + j] -= factor * right[pivot * k + j];
      }
    }
  }
  return right;
}

/// Returns the upper triangular U with U^T U = `matrix` (Cholesky).
Matrix upperFactor(const Matrix &matrix, int64_t k) {
  Matrix upper(matrix.size());
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = i; j < k; ++j) {
      double rest = matrix[i * k + j];
      for (int64_t t = 0; t < i; ++t) {
        rest -= upper[t * k + i] * upper[t * k + j];
      }
      upper[i * k + j] = j == i ? std::sqrt(rest) : rest / upper[i * k + i];
    }
  }
  return upper;
}

/// Chooses the codes of rows `first` to `last` of a matrix as the paper does.
void chooseAsInPaper(std::span<const float> matrix, std::span<const float> moments, int64_t first,
                     int64_t last, QuantizedValues &codes) {
  const int64_t k = codes.columnCount();
  std::vector<int64_t> order;
  const Matrix upper = upperFactor(inverseOf(dampedMoments(moments, k, order), k), k);
  for (int64_t row = first; row < last; ++row) {
    Matrix weights(static_cast<size_t>(k));
    for (int64_t i = 0; i < k; ++i) {
      weights[i] = matrix[row * k + order[i]];
    }
    for (int64_t i = 0; i < k; ++i) {
      const double lost = (weights[i] - codes.round(row, order[i], weights[i])) / upper[i * k + i];
      for (int64_t j = i + 1; j < k; ++j) {
        weights[j] -= lost * upper[i * k + j];
      }
    }
  }
}

/// Returns the squared error of a row's products, D M D^T, with the damped moments M.
double errorOf(std::span<const float> matrix, std::span<const float> moments, int64_t row,
               const QuantizedValues &codes) {
  const int64_t k = codes.columnCount();
  std::vector<int64_t> order;
  const Matrix damped = dampedMoments(moments, k, order);
  double error = 0;
  for (int64_t i = 0; i < k * k; ++i) {
    const int64_t left = order[i / k], right = order[i % k];
    error += damped[i] * (matrix[row * k + left] - codes.valueOf(row, left)) *
             (matrix[row * k + right] - codes.valueOf(row, right));
  }
  return error;
}

struct Size {
  unsigned bits;
  int64_t n, k, group, groups;
};

class CompensationSizes : public testing::TestWithParam<Size> {};

TEST_P(CompensationSizes, AreThoseOfThePaper) {
  const auto [bits, n, k, group, groups] = GetParam();
  const std::vector<float> matrix = randomNumbers(static_cast<size_t>(groups * n * k), 1);
  std::vector<float> moments;
  for (int64_t each = 0; each < groups; ++each) {
    const std::vector<float> part = momentsOf(k, 3 * k, static_cast<uint32_t>(each) + 2);
    moments.insert(moments.end(), part.begin(), part.end());
  }
  const QuantizedValues nearest(matrix, quantizedType(bits, group), k);
  QuantizedValues chosen = nearest, expected = nearest;
  const Result<CompensationGain> gain = compensate(matrix, moments, chosen);
  ASSERT_TRUE(gain.ok()) << gain.status().message();
  double before = 0, after = 0;
  for (int64_t each = 0; each < groups; ++each) {
    const auto its = std::span<const float>(moments).subspan(static_cast<size_t>(each * k * k),
                                                             static_cast<size_t>(k * k));
    chooseAsInPaper(matrix, its, each * n, (each + 1) * n, expected);
    for (int64_t row = each * n; row < (each + 1) * n; ++row) {
      const double ofNearest = errorOf(matrix, its, row, nearest);
      if (errorOf(matrix, its, row, expected) >= ofNearest) {
        expected.copyRow(row, nearest);
      }
      before += ofNearest;
      after += errorOf(matrix, its, row, chosen);
    }
  }
  EXPECT_TRUE(std::ranges::equal(chosen.all().codes, expected.all().codes));
  EXPECT_FALSE(std::ranges::equal(chosen.all().codes, nearest.all().codes));
  EXPECT_TRUE(std::ranges::equal(chosen.all().scales, nearest.all().scales));
  EXPECT_TRUE(std::ranges::equal(chosen.all().zeros, nearest.all().zeros));
  EXPECT_NEAR(gain->nearest, before, 1e-6 * before);
  EXPECT_NEAR(gain->chosen, after, 1e-6 * before);
  EXPECT_LT(gain->remaining(), 0.8);
}

INSTANTIATE_TEST_SUITE_P(Compensation, CompensationSizes,
                         testing::Values(Size{4, 20, 64, 32, 1}, Size{4, 7, 40, 32, 1},
                                         Size{4, 9, 33, 0, 1}, Size{8, 8, 50, 0, 1},
                                         Size{8, 17, 48, 16, 1}, Size{4, 5, 24, 8, 3}));

TEST(CompensationTest, RowsThatAreNeverMultipliedAreRoundedToTheNearest) {
  const std::vector<float> matrix = randomNumbers(size_t(10) * 32, 3);
  const std::vector<float> moments(size_t(32) * 32);
  const QuantizedValues nearest(matrix, quantizedType(4, 8), 32);
  QuantizedValues chosen = nearest;
  const Result<CompensationGain> gain = compensate(matrix, moments, chosen);
  ASSERT_TRUE(gain.ok()) << gain.status().message();
  EXPECT_TRUE(std::ranges::equal(chosen.all().codes, nearest.all().codes));
  EXPECT_EQ(gain->remaining(), 1);
}

// Columns in which all activations are zero come last and do not affect the others.
TEST(CompensationTest, ColumnsOfZeros) {
  constexpr int64_t k = 24;
  const std::vector<float> matrix = randomNumbers(4 * k, 4);
  std::vector<float> moments = momentsOf(k, 100, 5);
  for (int64_t i = 0; i < k; ++i) {
    moments[7 * k + i] = moments[i * k + 7] = 0;
  }
  QuantizedValues chosen(matrix, quantizedType(4, 8), k), expected = chosen;
  ASSERT_TRUE(compensate(matrix, moments, chosen).ok());
  chooseAsInPaper(matrix, moments, 0, 4, expected);
  EXPECT_TRUE(std::ranges::equal(chosen.all().codes, expected.all().codes));
}

// An invalid element of the checkpoint affects only its row.
TEST(CompensationTest, RowsWithAnInfiniteElementStayAsTheyAre) {
  constexpr int64_t k = 32;
  std::vector<float> matrix = randomNumbers(3 * k, 6);
  const std::vector<float> moments = momentsOf(k, 100, 7);
  QuantizedValues sound(matrix, quantizedType(4, 8), k);
  ASSERT_TRUE(compensate(matrix, moments, sound).ok());
  matrix[k + 5] = std::numeric_limits<float>::infinity();
  const QuantizedValues nearest(matrix, quantizedType(4, 8), k);
  QuantizedValues chosen = nearest;
  const Result<CompensationGain> gain = compensate(matrix, moments, chosen);
  ASSERT_TRUE(gain.ok());
  EXPECT_TRUE(std::isfinite(gain->chosen));
  for (int64_t i = 0; i < 3 * k; ++i) {
    const QuantizedValues &expected = i / k == 1 ? nearest : sound;
    EXPECT_EQ(chosen.all().codes[i], expected.all().codes[i]) << i;
  }
}

TEST(CompensationTest, RefusesMomentsThatAreNone) {
  const std::vector<float> matrix(4);
  const auto messageFor = [&](std::vector<float> moments) {
    QuantizedValues codes(matrix, quantizedType(8, 0), 2);
    return std::string(compensate(matrix, moments, codes).status().message());
  };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(messageFor({1, 0, infinity, 1}), "moments have an element that is no finite number");
  EXPECT_EQ(messageFor({1, 0, std::nanf(""), 1}),
            "moments have an element that is no finite number");
  EXPECT_TRUE(messageFor({1, 0, 5, 1})
                  .starts_with("moments are not those of any rows: what remains of a "
                               "square is -"));
}

TEST(CompensationTest, IsAnExpressionOfParameters) {
  constexpr int64_t n = 6, k = 40;
  auto module = parseSourceString<ModuleOp>(
      "transformer.parameter @w : tensor<6x40xf32> from \"w\"\n"
      "transformer.parameter @m : tensor<40x40xf32> from \"m\"\n"
      "transformer.parameter @p : tensor<6x40x!transformer.quantized<i4, 8, bf16>> = "
      "compensate(@w, @m)\n",
      &loadedContext());
  ASSERT_TRUE(module);
  const std::vector<float> matrix = randomNumbers(n * k, 8), moments = momentsOf(k, 100, 9);
  int reads = 0;
  const auto read = [&](llvm::StringRef name, ElementType, std::span<std::byte> bytes) {
    ++reads;
    std::ranges::copy(std::as_bytes(std::span(name == "w" ? matrix : moments)), bytes.begin());
    return Status();
  };
  QuantizedValues expected(matrix, quantizedType(4, 8), k);
  ASSERT_TRUE(compensate(matrix, moments, expected).ok());
  auto parameter = module->lookupSymbol<transformer::ParameterOp>("p");
  const ParameterSource source(read);
  const Result<std::vector<float>> values = evaluateParameter(*module, parameter, source);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, expected.widen());
  EXPECT_EQ(reads, 2);

  // Codes that were chosen before are read back, and nothing else is read.
  Result<CompensatedValues> kept = CompensatedValues::create();
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  ASSERT_TRUE(kept->add("other", QuantizedValues(matrix, quantizedType(8, 0), k)).ok());
  ASSERT_TRUE(kept->add("p", expected).ok());
  const ParameterSource known(read, nullptr, &*kept);
  const Result<std::vector<float>> again = evaluateParameter(*module, parameter, known);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, expected.widen());
  EXPECT_EQ(reads, 2);
}

/// Sets a resource limit of this process and restores it at the end of the scope.
class ScopedLimit {
public:
  ScopedLimit(__rlimit_resource resource, rlim_t most) : resource(resource) {
    EXPECT_EQ(getrlimit(resource, &before), 0);
    const rlimit now = {most, before.rlim_max};
    EXPECT_EQ(setrlimit(resource, &now), 0);
  }
  ~ScopedLimit() { EXPECT_EQ(setrlimit(resource, &before), 0); }
  ScopedLimit(const ScopedLimit &) = delete;
  ScopedLimit &operator=(const ScopedLimit &) = delete;

private:
  __rlimit_resource resource;
  rlimit before = {};
};

TEST(CompensationTest, SaysWhyCodesCannotBeKept) {
  {
    const ScopedLimit files(RLIMIT_NOFILE, 0);
    EXPECT_EQ(CompensatedValues::create().status().message(),
              "a temporary file for compensated weights: cannot be made: Too many open files");
  }
  Result<CompensatedValues> kept = CompensatedValues::create();
  ASSERT_TRUE(kept.ok());
  // Without this, exceeding the limit would terminate the process.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    const ScopedLimit bytes(RLIMIT_FSIZE, 16);
    const QuantizedValues codes(randomNumbers(64, 10), quantizedType(8, 8), 8);
    EXPECT_EQ(kept->add("p", codes).message(),
              "a temporary file for compensated weights: cannot be written: File too large");
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(kept->contains("p"));
}

} // namespace
} // namespace heddle
