// SPDX-License-Identifier: Apache-2.0
///
/// Norms and activations as exporters spell them, compiled and run at odd widths on every target.
/// With the passes that recognise them they have the bits of the named operations; without, they
/// agree within rounding.
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
#include <random>

namespace heddle {
namespace {

using transformer::Activation;
using transformer::Reduction;

constexpr int vocabulary = 37;
constexpr double epsilon = 1e-5;
const int64_t widths[] = {2, 17, 131};

/// Rows, their vectors as tensors and as parameters, and the scope of their names.
struct Given {
  const Scope &scope;
  Tensor x, weight, bias;
  Parameter weightParameter, biasParameter;
  int64_t width;

  Tensor mean(const Tensor &y) const { return y.reduce(Reduction::Mean); }
  Tensor root(const Tensor &squared, double power) const {
    return (mean(squared.power(2)) + epsilon).power(power);
  }
  Tensor centred() const { return x - mean(x); }
};

using Write = std::function<Tensor(const Given &)>;

/// The named operation, and its spellings.
struct Case {
  std::string name;
  Write named;
  std::vector<Write> spellings;
};

Tensor layerNorm(const Given &g) {
  return g.scope.layerNorm(g.x, g.weightParameter, g.biasParameter, epsilon);
}

Tensor rmsNorm(const Given &g) { return g.scope.rmsNorm(g.x, g.weightParameter, epsilon); }

Write activation(Activation function) {
  return [function](const Given &g) { return g.x.activate(function); };
}

std::vector<Case> norms() {
  return {
      {"layer_norm",
       layerNorm,
       {[](auto &g) {
          const Tensor c = g.centred();
          return c / g.root(c, 0.5) * g.weight + g.bias;
        },
        [](auto &g) { return g.centred() * g.weight * g.root(g.centred(), -0.5) + g.bias; },
        [](auto &g) {
          // Sums times the reciprocal of the number; the reciprocal of the root.
          const double each = 1 / double(g.width);
          const Tensor c = g.x - g.x.reduce(Reduction::Sum) * each;
          const Tensor variance = c.power(2).reduce(Reduction::Sum) * each;
          return c * (variance + epsilon).power(0.5).activate(Activation::Reciprocal) * g.weight +
                 g.bias;
        }}},
      {"rms_norm",
       rmsNorm,
       {[](auto &g) { return g.x * g.root(g.x, -0.5) * g.weight; },
        [](auto &g) { return g.x * g.weight / g.root(g.x, 0.5); }}},
      {"one_plus",
       [](auto &g) {
         const Parameter ones = g.scope.onesFrom(fmt::format("ones{}", g.width), 0, g.width, 1);
         const Parameter one = g.scope.reshape(fmt::format("one{}", g.width), ones, {g.width});
         const Parameter parts[] = {g.weightParameter, one};
         return g.scope.rmsNorm(g.x, g.scope.sum(fmt::format("sum{}", g.width), parts), 1e-4);
       },
       {[](auto &g) {
         // With another epsilon: a product that other norms share is left to these.
         const Tensor unit = g.x * (g.mean(g.x.power(2)) + 1e-4).power(-0.5);
         return unit + unit * g.weight;
       }}},
      {"normalize", [](auto &g) { return g.x.normalize(1e-9); }, {[](auto &g) {
         const Tensor squares = g.x.power(2).reduce(Reduction::Sum);
         return g.x / squares.power(0.5).clamp(1e-9, std::numeric_limits<double>::infinity());
       }}},
  };
}

std::vector<Case> activations() {
  static const double rootOfHalf = std::sqrt(0.5), rootOfTwoOverPi = std::sqrt(2 / M_PI);
  return {
      {"gelu",
       activation(Activation::Gelu),
       {[](auto &g) { return g.x * ((g.x * rootOfHalf).activate(Activation::Erf) + 1.0) * 0.5; },
        [](auto &g) {
          const Tensor half = g.x * 0.5;
          return half + half * (g.x * rootOfHalf).activate(Activation::Erf);
        }}},
      {"gelu_new",
       activation(Activation::GeluNew),
       {[](auto &g) {
          const Tensor inner = (g.x + g.x.power(3) * 0.044715) * rootOfTwoOverPi;
          return g.x * 0.5 * (inner.activate(Activation::Tanh) + 1.0);
        },
        [](auto &g) {
          const Tensor inner = g.x * (g.x * g.x * (0.044715 * rootOfTwoOverPi) + rootOfTwoOverPi);
          return g.x * (inner.activate(Activation::Tanh) * 0.5 + 0.5);
        }}},
      {"silu",
       activation(Activation::Silu),
       {[](auto &g) { return g.x.activate(Activation::Sigmoid) * g.x; },
        [](auto &g) { return g.x / ((g.x * -1).activate(Activation::Exp) + 1.0); }}},
      {"quick_gelu", activation(Activation::QuickGelu), {[](auto &g) {
         return g.x * (g.x * 1.702).activate(Activation::Sigmoid);
       }}},
      {"softplus", activation(Activation::Softplus), {[](auto &g) {
         return (g.x.activate(Activation::Exp) + 1.0).activate(Activation::Log);
       }}},
  };
}

const std::vector<Case> &cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> both = norms();
    std::ranges::move(activations(), std::back_inserter(both));
    return both;
  }();
  return all;
}

std::string outputOf(const Case &c, int64_t width, size_t spelling) {
  return fmt::format("{}{}_{}", c.name, width, spelling);
}

struct Tables {
  Tables() {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const int64_t width : widths) {
      for (const auto &[name, rows] : {std::pair("x", vocabulary), {"w", 1}, {"b", 1}}) {
        std::vector<float> &table = values[fmt::format("{}{}", name, width)];
        table.resize(size_t(rows * width));
        std::generate(table.begin(), table.end(), [&] { return normal(random); });
      }
    }
  }
  std::vector<TensorValues> tensors() const {
    std::vector<TensorValues> all;
    for (const int64_t width : widths) {
      const auto of = [&](const char *name) { return fmt::format("{}{}", name, width); };
      all.push_back({of("x") + ".weight", {vocabulary, width}, values.at(of("x"))});
      all.push_back({of("w"), {width}, values.at(of("w"))});
      all.push_back({of("b"), {width}, values.at(of("b"))});
    }
    return all;
  }
  std::map<std::string, std::vector<float>> values;
};

/// Compiles the named form and all spellings of all cases, as outputs of one entry.
std::string compileTo(const std::string &path, const Tables &tables,
                      const std::vector<std::string> &disabledPasses) {
  ModelBuilder model("test");
  const Scope scope = model.scope();
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  for (const int64_t width : widths) {
    const auto of = [&](const char *name) { return fmt::format("{}{}", name, width); };
    const Parameter weight = scope.parameter(of("w"), {width});
    const Parameter bias = scope.parameter(of("b"), {width});
    const Given given = {scope,
                         scope.gather(of("x"), ids, vocabulary, width),
                         entry.weight(weight),
                         entry.weight(bias),
                         weight,
                         bias,
                         width};
    for (const Case &c : cases()) {
      entry.output(outputOf(c, width, 0), c.named(given));
      for (size_t i = 0; i < c.spellings.size(); ++i) {
        entry.output(outputOf(c, width, i + 1), c.spellings[i](given));
      }
    }
  }
  return compileText(path, model.text(), tables.tensors(), disabledPasses);
}

TEST(SpellingsOfRows, AreWhatTheySpell) {
  const Tables tables;
  const TemporaryFolder folder;
  const std::string fused = compileTo(folder / "fused.so", tables, {});
  const std::string plain = compileTo(folder / "plain.so", tables, optionalPasses());
  const Ragged batch = randomSentences(4, 20, vocabulary, 3);
  for (const std::string &isa : runnableTargets(fused)) {
    auto all = runBinary(fused, batch, isa), unfused = runBinary(plain, batch, isa);
    for (const int64_t width : widths) {
      for (const Case &c : cases()) {
        const std::vector<float> &named = all[outputOf(c, width, 0)];
        ASSERT_EQ(named.size(), batch.ids.size() * size_t(width));
        EXPECT_LT(largestDifference(named, unfused[outputOf(c, width, 0)]), 1e-5F) << isa;
        for (size_t i = 1; i <= c.spellings.size(); ++i) {
          const std::string name = outputOf(c, width, i);
          EXPECT_EQ(all[name], named) << name << " on " << isa;
          // Rows of two may be almost constant, and lose digits in every form.
          EXPECT_LT(largestDifference(unfused[name], named), width == 2 ? 1e-3F : 1e-5F)
              << name << " on " << isa;
        }
      }
    }
  }
}

} // namespace
} // namespace heddle
