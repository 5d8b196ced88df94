// SPDX-License-Identifier: Apache-2.0
///
/// Rotary positions, built with the builder in two forms, compiled and run at odd sizes on every
/// target: against plain loops, with the pass that fuses them into one kernel and without, and bit
/// by bit in any batch.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace heddle {
namespace {

constexpr int vocabulary = 41;

/// Heads of a size of which 2 * pairs columns are rotated; `exchanges` selects Transformers' form.
struct Case {
  int64_t heads, size, pairs;
  bool exchanges;
  double factor = 1;

  int64_t width() const { return heads * size; }
  std::string name() const { return fmt::format("{}x{}by{}", heads, size, pairs); }
  std::vector<float> frequencies() const {
    std::vector<float> made;
    for (int64_t i = 0; i < pairs; ++i) {
      made.push_back(1 / std::pow(50.0F, float(i) / float(pairs)));
    }
    return made;
  }
};

const Case cases[] = {{3, 5, 2, false},
                      {1, 16, 8, true, 1.25},
                      {2, 34, 17, true},
                      {7, 6, 1, false},
                      {2, 40, 16, false, 0.75}};

using transformer::Activation;

Tensor rotated(const Scope &scope, const Case &c, const Tensor &x, const Segments &rows) {
  const Tensor angles = scope.angles(rows, c.frequencies());
  const Tensor cosine = angles.activate(Activation::Cos) * c.factor;
  const Tensor sine = angles.activate(Activation::Sin) * c.factor;
  const Segments heads = rows.choices(c.heads);
  const Tensor head = x.splitRows(heads);
  const Tensor near = head.columns(0, c.pairs), far = head.columns(c.pairs, c.pairs);
  const auto both = [&](const Tensor &t) { return scope.concat({t, t}).repeat(heads); };
  std::vector<Tensor> parts;
  if (c.exchanges) {
    const Tensor turned = head.columns(0, 2 * c.pairs);
    parts = {turned * both(cosine) + scope.concat({far * -1, near}) * both(sine)};
  } else {
    const Tensor s = sine.repeat(heads), k = cosine.repeat(heads);
    parts = {near * k + far * (s * -1), near * s + far * k};
  }
  if (c.size > 2 * c.pairs) {
    parts.push_back(head.columns(2 * c.pairs, c.size - 2 * c.pairs));
  }
  return scope.concat(std::move(parts)).joinRows(heads);
}

double expected(const Case &c, const float *x, int64_t column, int64_t position) {
  const int64_t place = column % c.size, pair = place % c.pairs;
  if (place >= 2 * c.pairs) {
    return x[column];
  }
  const double angle = double(float(position) * c.frequencies()[size_t(pair)]);
  const double other = place < c.pairs ? -x[column + c.pairs] : x[column - c.pairs];
  return c.factor * (x[column] * std::cos(angle) + other * std::sin(angle));
}

struct Tables {
  Tables() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (const Case &c : cases) {
      std::vector<float> &table = values.emplace_back(size_t(vocabulary * c.width()));
      std::generate(table.begin(), table.end(), [&] { return normal(random); });
    }
  }
  std::vector<TensorValues> tensors() const {
    std::vector<TensorValues> all;
    for (size_t i = 0; i < values.size(); ++i) {
      all.push_back({cases[i].name() + ".weight", {vocabulary, cases[i].width()}, values[i]});
    }
    return all;
  }
  std::vector<std::vector<float>> values;
};

/// Compiles all cases as outputs of one entry.
std::string compileTo(const std::string &path, const Tables &tables,
                      const std::vector<std::string> &disabledPasses) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  for (const Case &c : cases) {
    const Scope scope = model.scope(c.name());
    const Tensor x = model.scope().gather(c.name(), ids, vocabulary, c.width());
    entry.output(c.name(), rotated(scope, c, x, entry.segments()));
  }
  return compileText(path, model.text(), tables.tensors(), disabledPasses);
}

TEST(Rotary, IsThatOfPlainLoopsInAnyBatch) {
  const Tables tables;
  const TemporaryFolder folder;
  const std::string fused = compileTo(folder / "fused.so", tables, {});
  const std::string plain = compileTo(folder / "plain.so", tables, optionalPasses());
  Ragged batch = randomSentences(4, 30, vocabulary, 3);
  batch.append(std::vector<int32_t>(700, 5));
  for (const std::string &isa : runnableTargets(fused)) {
    auto all = runBinary(fused, batch, isa), unfused = runBinary(plain, batch, isa);
    EXPECT_EQ(runBinary(fused, batch, isa, 2), all) << isa;
    for (size_t number = 0; number < std::size(cases); ++number) {
      const Case &c = cases[number];
      SCOPED_TRACE(fmt::format("{} {}", c.name(), isa));
      size_t row = 0;
      for (const int32_t length : batch.lengths) {
        for (int64_t position = 0; position < length; ++position, ++row) {
          const float *const x = &tables.values[number][size_t(batch.ids[row] * c.width())];
          for (int64_t column = 0; column < c.width(); ++column) {
            const size_t at = row * size_t(c.width()) + size_t(column);
            ASSERT_NEAR(all[c.name()][at], expected(c, x, column, position), 3e-6) << position;
            ASSERT_NEAR(unfused[c.name()][at], expected(c, x, column, position), 3e-6) << position;
          }
        }
      }
    }
    // The last sequence alone.
    Ragged alone;
    alone.append(std::vector<int32_t>(700, 5));
    for (auto &[name, values] : runBinary(fused, alone, isa)) {
      const std::vector<float> &whole = all[name];
      EXPECT_TRUE(std::equal(values.begin(), values.end(),
                             whole.end() - static_cast<std::ptrdiff_t>(values.size())))
          << name << isa;
    }
  }
}

/// Rejects a length for which the frequencies are not valid.
TEST(Rotary, HoldsForSoManyRows) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const float frequency[] = {0.5F};
  entry.output("angles", model.scope().angles(entry.segments(), frequency, 6) +
                             model.scope().gather("table", ids, vocabulary, 1));
  const TemporaryFolder folder;
  std::vector<float> table(vocabulary);
  const Result<Model> loaded = Model::load(
      compileText(folder / "model.so", model.text(), {{"table.weight", {vocabulary, 1}, table}}));
  ASSERT_EQ(loaded.status().message(), "");
  ASSERT_EQ(loaded->entries().size(), 1U);
  EXPECT_EQ(loaded->entries().front().maxLength, 6);
}

} // namespace
} // namespace heddle
