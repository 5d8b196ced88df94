// SPDX-License-Identifier: Apache-2.0
///
/// Weights of keys other than a softmax: sigmoids divided by their sum, and convolutions over keys,
/// with passes and without, on every target against plain loops; the same bits in every batch.
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace heddle {
namespace {

using transformer::Activation;

constexpr int vocabulary = 31;
constexpr int64_t heads = 2, size = 6, columns = 5, elements = 7;

std::vector<float> randomValues(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.7F);
  std::vector<float> values(static_cast<size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

const std::vector<float> table = randomValues(vocabulary * heads * size, 1);
const std::vector<float> filters = randomValues(columns * heads * elements, 2);

/// Compiles the sums, over heads and keys, of weights times their convolution.
std::string compileTo(const std::string &path, const std::vector<std::string> &withoutPasses) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Segments rows = entry.segments();
  const Scope scope = model.scope();
  const Tensor x =
      scope.gather("x", entry.input("input_ids"), vocabulary, heads * size).splitHeads(heads);
  const Tensor weights =
      scope.contract("thd,khd->thk", x, x, rows).activate(Activation::Sigmoid).divideBySum(rows);
  const Parameter filter = scope.parameter("filters", {columns, heads, elements});
  const Tensor beside = scope.convolveKeys(weights, filter, rows, rows);
  entry.output("y", scope.contract("thk,tkw->tw", weights, beside, rows));
  return compileText(path, model.text(),
                     {{"x.weight", {vocabulary, heads * size}, table},
                      {"filters", {columns, heads, elements}, filters}},
                     withoutPasses);
}

/// Computes one sequence, element by element.
std::vector<double> define(std::span<const int32_t> ids) {
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<double> result;
  for (int64_t row = 0; row < count; ++row) {
    std::vector<std::vector<double>> weights(heads);
    for (int64_t head = 0; head < heads; ++head) {
      double total = 0;
      for (int64_t key = 0; key < count; ++key) {
        double product = 0;
        for (int64_t d = head * size; d < (head + 1) * size; ++d) {
          product += double(table[size_t(ids[size_t(row)] * heads * size + d)]) *
                     double(table[size_t(ids[size_t(key)] * heads * size + d)]);
        }
        weights[size_t(head)].push_back(1 / (1 + std::exp(-product)));
        total += weights[size_t(head)].back();
      }
      for (double &weight : weights[size_t(head)]) {
        weight /= total;
      }
    }
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (int64_t key = 0; key < count; ++key) {
        double beside = 0;
        for (int64_t head = 0; head < heads; ++head) {
          for (int64_t j = 0; j < elements; ++j) {
            const int64_t other = key + j - elements / 2;
            if (other >= 0 && other < count) {
              beside += double(filters[size_t((column * heads + head) * elements + j)]) *
                        weights[size_t(head)][size_t(other)];
            }
          }
        }
        sum += beside * (weights[0][size_t(key)] + weights[1][size_t(key)]);
      }
      result.push_back(sum);
    }
  }
  return result;
}

TEST(Keys, AreDividedByTheirSumAndConvolvedAsInPlainLoops) {
  const TemporaryFolder folder;
  // Shorter than the window, and longer than a block of keys.
  Ragged batch;
  for (const size_t length : {1U, 2U, 3U, 40U, 17U}) {
    std::mt19937 random(static_cast<unsigned>(length));
    batch.append(randomTokens(random, length, vocabulary));
  }
  for (const std::vector<std::string> &passes :
       {std::vector<std::string>(),
        std::vector<std::string>{"fold-epilogues", "plan-memory", "merge-kernels"}}) {
    const std::string path = folder / "model.so";
    compileTo(path, passes);
    for (const std::string &isa : runnableTargets(path)) {
      const std::vector<float> all = runBinary(path, batch, isa)["y"];
      size_t first = 0;
      for (const int32_t length : batch.lengths) {
        const auto sentence = std::span(batch.ids).subspan(first, size_t(length));
        const auto part = std::span(all).subspan(first * columns, sentence.size() * columns);
        const std::vector<double> expected = define(sentence);
        for (size_t i = 0; i < part.size(); ++i) {
          ASSERT_NEAR(part[i], expected[i], 1e-6) << isa << ", " << length << " rows, value " << i;
        }
        Ragged alone;
        alone.append(sentence);
        EXPECT_EQ(runBinary(path, alone, isa)["y"], std::vector<float>(part.begin(), part.end()))
            << isa << ", a sequence of " << length;
        first += sentence.size();
      }
    }
  }
}

} // namespace
} // namespace heddle
