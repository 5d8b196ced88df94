// SPDX-License-Identifier: Apache-2.0
///
/// Element-wise mathematics and reductions of rows, built with the builder, compiled and run at odd
/// widths on every target: against plain loops, with all passes and without, and bit by bit in any
/// batch.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace heddle {
namespace {

using transformer::Activation;
using transformer::Combination;
using transformer::Reduction;

constexpr int vocabulary = 37;
const int64_t widths[] = {1, 5, 17, 48, 131};

/// A row, a vector, and a number, as the plain loops read them.
struct Given {
  std::vector<double> x, y, vector;
  double number;

  double mean() const { return sum() / static_cast<double>(x.size()); }
  double sum() const { return std::accumulate(x.begin(), x.end(), 0.0); }
  double most() const { return *std::max_element(x.begin(), x.end()); }
  double least() const { return *std::min_element(x.begin(), x.end()); }
};

/// The same as tensors.
struct Operands {
  Tensor x, y, vector, number;
};

/// An operation, and its element at a column.
struct Case {
  std::string name;
  std::function<Tensor(const Operands &)> write;
  std::function<double(const Given &, size_t)> expected;
  /// Whether the result is one number per row.
  bool isColumn = false;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"difference", [](auto &o) { return o.x - o.y; },
       [](auto &g, size_t i) { return g.x[i] - g.y[i]; }},
      {"quotient", [](auto &o) { return o.x / (o.y.activate(Activation::Abs) + 0.5); },
       [](auto &g, size_t i) { return g.x[i] / (std::abs(g.y[i]) + 0.5); }},
      {"smaller", [](auto &o) { return o.x.combine(Combination::Minimum, o.vector); },
       [](auto &g, size_t i) { return std::min(g.x[i], g.vector[i]); }},
      {"larger", [](auto &o) { return o.x.combine(Combination::Maximum, o.number); },
       [](auto &g, size_t i) { return std::max(g.x[i], g.number); }},
      {"centred", [](auto &o) { return o.x - o.x.reduce(Reduction::Mean); },
       [](auto &g, size_t i) { return g.x[i] - g.mean(); }},
      {"share",
       [](auto &o) {
         const Tensor e = o.x.activate(Activation::Exp);
         return e / e.reduce(Reduction::Sum);
       },
       [](auto &g, size_t i) {
         double sum = 0;
         std::for_each(g.x.begin(), g.x.end(), [&](double x) { sum += std::exp(x); });
         return std::exp(g.x[i]) / sum;
       }},
      {"bounded", [](auto &o) { return o.x.clamp(-0.25, 0.5); },
       [](auto &g, size_t i) { return std::clamp(g.x[i], -0.25, 0.5); }},
      {"half_bounded",
       [](auto &o) { return o.x.clamp(-0.25, std::numeric_limits<double>::infinity()); },
       [](auto &g, size_t i) { return std::max(g.x[i], -0.25); }},
      {"seventh", [](auto &o) { return o.x.power(7); },
       [](auto &g, size_t i) { return std::pow(g.x[i], 7); }},
      {"twentieth", [](auto &o) { return o.x.activate(Activation::Tanh).power(20); },
       [](auto &g, size_t i) { return std::pow(std::tanh(g.x[i]), 20); }},
      {"large_odd",
       [](auto &o) { return (o.x.activate(Activation::Floor) * -0x1p-10 + -1.0).power(1031); },
       [](auto &g, size_t i) { return std::pow(std::floor(g.x[i]) * -0x1p-10 - 1, 1031); }},
      {"inverse_square", [](auto &o) { return (o.x.activate(Activation::Abs) + 1.0).power(-2); },
       [](auto &g, size_t i) { return std::pow(std::abs(g.x[i]) + 1, -2); }},
      {"root", [](auto &o) { return (o.x.activate(Activation::Abs) + 1.0).power(0.5); },
       [](auto &g, size_t i) { return std::sqrt(std::abs(g.x[i]) + 1); }},
      {"inverse_root", [](auto &o) { return (o.x.activate(Activation::Abs) + 1.0).power(-0.5); },
       [](auto &g, size_t i) { return 1 / std::sqrt(std::abs(g.x[i]) + 1); }},
      {"some_power", [](auto &o) { return (o.x.activate(Activation::Abs) + 1.0).power(1.7); },
       [](auto &g, size_t i) { return std::pow(std::abs(g.x[i]) + 1, 1.7); }},
      {"one", [](auto &o) { return o.x.power(0); }, [](auto &, size_t) { return 1.0; }},
      {"mean", [](auto &o) { return o.x.reduce(Reduction::Mean); },
       [](auto &g, size_t) { return g.mean(); }, true},
      {"sum", [](auto &o) { return o.x.reduce(Reduction::Sum); },
       [](auto &g, size_t) { return g.sum(); }, true},
      {"most", [](auto &o) { return o.x.reduce(Reduction::Max); },
       [](auto &g, size_t) { return g.most(); }, true},
      {"least", [](auto &o) { return o.x.reduce(Reduction::Min) + 2.0; },
       [](auto &g, size_t) { return g.least() + 2; }, true},
  };
  return all;
}

/// Tables with the elements of each row of a width, and vectors.
struct Tables {
  Tables() {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const int64_t width : widths) {
      for (const auto &[name, rows] : {std::pair("x", vocabulary), {"y", vocabulary}, {"v", 1}}) {
        std::vector<float> &table = values[fmt::format("{}{}", name, width)];
        table.resize(size_t(rows * width));
        std::generate(table.begin(), table.end(), [&] { return normal(random); });
      }
    }
    values["number"] = {0.375F};
  }
  std::vector<TensorValues> tensors() const {
    std::vector<TensorValues> all = {{"number", {1}, values.at("number")}};
    for (const int64_t width : widths) {
      const auto of = [&](const char *name) { return fmt::format("{}{}", name, width); };
      all.push_back({of("x") + ".weight", {vocabulary, width}, values.at(of("x"))});
      all.push_back({of("y") + ".weight", {vocabulary, width}, values.at(of("y"))});
      all.push_back({of("v"), {width}, values.at(of("v"))});
    }
    return all;
  }
  Given given(int32_t id, int64_t width) const {
    const auto row = [&](const char *name, int64_t number) {
      const std::vector<float> &table = values.at(fmt::format("{}{}", name, width));
      return std::vector<double>(table.begin() + number * width,
                                 table.begin() + (number + 1) * width);
    };
    return {row("x", id), row("y", id), row("v", 0), values.at("number")[0]};
  }
  std::map<std::string, std::vector<float>> values;
};

std::string outputOf(const Case &c, int64_t width) { return fmt::format("{}{}", c.name, width); }

/// Compiles all cases at all widths as outputs of one entry.
std::string compileTo(const std::string &path, const Tables &tables,
                      const std::vector<std::string> &disabledPasses) {
  ModelBuilder model("test");
  const Scope scope = model.scope();
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const Tensor number = entry.weight(scope.parameter("number", {1}));
  for (const int64_t width : widths) {
    const auto of = [&](const char *name) { return fmt::format("{}{}", name, width); };
    const Operands operands = {scope.gather(of("x"), ids, vocabulary, width),
                               scope.gather(of("y"), ids, vocabulary, width),
                               entry.weight(scope.parameter(of("v"), {width})), number};
    for (const Case &c : cases()) {
      entry.output(outputOf(c, width), c.write(operands));
    }
  }
  return compileText(path, model.text(), tables.tensors(), disabledPasses);
}

TEST(Elementwise, IsThatOfPlainLoopsInAnyBatch) {
  const Tables tables;
  const TemporaryFolder folder;
  const std::string fused = compileTo(folder / "fused.so", tables, {});
  const std::string plain = compileTo(folder / "plain.so", tables, optionalPasses());
  Ragged batch = randomSentences(4, 20, vocabulary, 3);
  batch.append(std::vector<int32_t>(3, 5));
  for (const std::string &isa : runnableTargets(fused)) {
    auto all = runBinary(fused, batch, isa), unfused = runBinary(plain, batch, isa);
    EXPECT_EQ(runBinary(fused, batch, isa, 2), all) << isa;
    for (const int64_t width : widths) {
      for (size_t row = 0; row < batch.ids.size(); ++row) {
        const Given given = tables.given(batch.ids[row], width);
        for (const Case &c : cases()) {
          const std::string name = outputOf(c, width);
          const size_t columns = c.isColumn ? 1 : size_t(width);
          for (size_t column = 0; column < columns; ++column) {
            const double expected = c.expected(given, column);
            const double bound = 4e-6 * std::max(1.0, std::abs(expected));
            const size_t at = row * columns + column;
            ASSERT_NEAR(all[name][at], expected, bound) << name << " on " << isa;
            ASSERT_NEAR(unfused[name][at], expected, bound) << name << " on " << isa;
          }
        }
      }
    }
    // The last sequence alone.
    Ragged alone;
    alone.append(std::vector<int32_t>(3, 5));
    for (auto &[name, values] : runBinary(fused, alone, isa)) {
      const std::vector<float> &whole = all[name];
      EXPECT_TRUE(std::equal(values.begin(), values.end(),
                             whole.end() - static_cast<std::ptrdiff_t>(values.size())))
          << name << isa;
    }
  }
}

/// NaN, infinities and the limits of f32, in rows whose other elements are ordinary.
TEST(Elementwise, KeepsWhatIsNoNumber) {
  constexpr int64_t width = 19;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> table(3 * width, 0.5F);
  table[7] = nan;
  table[width + 18] = infinity;
  table[2 * width] = -infinity;
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Tensor x = model.scope().gather("x", entry.input("input_ids"), 3, width);
  entry.output("most", x.reduce(Reduction::Max));
  entry.output("least", x.reduce(Reduction::Min));
  entry.output("sum", x.reduce(Reduction::Sum));
  entry.output("clamped", x.clamp(-1, 1));
  entry.output("guarded", x.activate(Activation::NanToZero));
  entry.output("larger", x.combine(Combination::Maximum, x.reduce(Reduction::Mean)));
  const TemporaryFolder folder;
  const std::string path =
      compileText(folder / "model.so", model.text(), {{"x.weight", {3, width}, table}});
  Ragged batch;
  batch.append(std::vector<int32_t>{0, 1, 2});
  for (const std::string &isa : runnableTargets(path)) {
    auto out = runBinary(path, batch, isa);
    for (const char *name : {"most", "least", "sum"}) {
      EXPECT_TRUE(std::isnan(out[name][0])) << name << isa;
    }
    EXPECT_EQ(out["most"][1], infinity) << isa;
    EXPECT_EQ(out["least"][1], 0.5F) << isa;
    EXPECT_EQ(out["most"][2], 0.5F) << isa;
    EXPECT_EQ(out["least"][2], -infinity) << isa;
    EXPECT_TRUE(std::isnan(out["clamped"][7])) << isa;
    EXPECT_EQ(out["clamped"][width + 18], 1) << isa;
    EXPECT_EQ(out["clamped"][2 * width], -1) << isa;
    EXPECT_EQ(out["guarded"][7], 0) << isa;
    EXPECT_EQ(out["guarded"][8], 0.5F) << isa;
    EXPECT_EQ(out["guarded"][width + 18], infinity) << isa;
    EXPECT_TRUE(std::isnan(out["larger"][8])) << isa;
    EXPECT_EQ(out["larger"][2 * width + 1], 0.5F) << isa;
  }
}

} // namespace
} // namespace heddle
