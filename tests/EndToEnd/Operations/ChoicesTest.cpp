// SPDX-License-Identifier: Apache-2.0
///
/// Mixtures of experts, built from choices and chosen linear maps, compiled and run at odd sizes on
/// every target: against plain loops, and with the same bits in any batch, with any number of
/// threads and for any division of a decoder's rows into pieces.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <ostream>
#include <random>
#include <span>

namespace heddle {
namespace {

constexpr int vocabulary = 61;

/// The softmax that weighs the experts.
enum class Gate { OfChosen, OfAll, OfAllNormalised };

struct Case {
  int64_t width, experts, active, hidden;
  Gate gate = Gate::OfChosen;
  /// Whether it computes silu(W1 x) * W3 x instead of relu(W1 x).
  bool isGated = false;
  Bias bias = Bias::No;

  friend void PrintTo(const Case &c, std::ostream *out) {
    *out << c.active << " of " << c.experts << ", " << c.width << " by " << c.hidden;
  }
};

struct Weights {
  explicit Weights(const Case &c) {
    std::mt19937 random(static_cast<unsigned>(c.width * 100 + c.experts));
    auto fill = [&](std::vector<float> &values, int64_t count, double scale) {
      std::normal_distribution<float> normal(0, static_cast<float>(scale));
      values.resize(static_cast<size_t>(count));
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
    };
    const double ofWidth = 1 / std::sqrt(double(c.width));
    fill(table, vocabulary * c.width, 1);
    fill(gate, c.experts * c.width, ofWidth);
    fill(inner, c.experts * c.hidden * c.width, ofWidth);
    fill(up, c.experts * c.hidden * c.width, ofWidth);
    fill(outer, c.experts * c.width * c.hidden, 1 / std::sqrt(double(c.hidden)));
    fill(innerBias, c.experts * c.hidden, 1);
    fill(outerBias, c.experts * c.width, 1);
  }

  /// Returns separate tensors for each expert, as checkpoints have them.
  std::vector<TensorValues> tensors(const Case &c) const {
    std::vector<TensorValues> all = {{"table.weight", {vocabulary, c.width}, table},
                                     {"gate.weight", {c.experts, c.width}, gate}};
    auto add = [&](const std::string &name, std::vector<int64_t> shape,
                   const std::vector<float> &values) {
      const int64_t each =
          std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
      for (int64_t e = 0; e < c.experts; ++e) {
        all.emplace_back("experts." + std::to_string(e) + "." + name, shape,
                         std::span(values).subspan(size_t(e * each), size_t(each)));
      }
    };
    add("inner.weight", {c.hidden, c.width}, inner);
    add("outer.weight", {c.width, c.hidden}, outer);
    if (c.isGated) {
      add("up.weight", {c.hidden, c.width}, up);
    }
    if (c.bias == Bias::Yes) {
      add("inner.bias", {c.hidden}, innerBias);
      add("outer.bias", {c.width}, outerBias);
    }
    return all;
  }

  std::vector<float> table, gate, inner, up, outer, innerBias, outerBias;
};

/// Returns the parameters of that name of all experts, concatenated.
Parameter ofExperts(const Scope &scope, const Case &c, const std::string &name,
                    std::initializer_list<int64_t> shape) {
  std::vector<Parameter> parts;
  for (int64_t e = 0; e < c.experts; ++e) {
    parts.push_back(scope.scope("experts", e).parameter(name, shape));
  }
  return scope.concat("experts." + name, parts);
}

/// Returns the weights of all experts, and the weighted sum of the active ones for x.
std::pair<Tensor, Tensor> experts(const Scope &scope, const Case &c, const Tensor &x,
                                  const Segments &rows) {
  const Segments choices = rows.choices(c.active);
  Tensor logits = scope.linear("gate", x, c.experts, Bias::No);
  if (c.gate != Gate::OfChosen) {
    logits = logits.rowSoftmax();
  }
  const Chosen chosen = logits.topK(choices);
  Tensor gates = chosen.value;
  if (c.gate == Gate::OfChosen) {
    gates = gates.rowSoftmax();
  } else if (c.gate == Gate::OfAllNormalised) {
    // p / sum(p) is the softmax of log p, the logits of the chosen experts.
    const Tensor own = scope.linear("gate", x, c.experts, Bias::No).topK(choices).value;
    gates = own.rowSoftmax();
  }
  auto map = [&](const Tensor &from, const std::string &name, int64_t out, int64_t in, Bias bias) {
    return scope.chosenLinear(
        from, chosen.column, c.experts, ofExperts(scope, c, name + ".weight", {out, in}),
        bias == Bias::Yes ? ofExperts(scope, c, name + ".bias", {out}) : Parameter());
  };
  const Tensor in = x.repeat(choices);
  Tensor h = map(in, "inner", c.hidden, c.width, c.bias);
  h = c.isGated
          ? h.activate(transformer::Activation::Silu) * map(in, "up", c.hidden, c.width, Bias::No)
          : h.activate(transformer::Activation::Relu);
  const Tensor y = map(h, "outer", c.width, c.hidden, c.bias) * gates.splitRows(choices);
  return {gates.placeColumns(chosen.column, c.experts),
          x + y.pool(transformer::Pooling::Sum, choices, rows)};
}

/// Computes one row by definition: the weights of all experts, and the result.
std::pair<std::vector<double>, std::vector<double>> byDefinition(const Case &c, const Weights &w,
                                                                 int32_t id) {
  const float *x = &w.table[size_t(id * c.width)];
  auto dot = [](const float *weight, auto *row, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += double(weight[i]) * double(row[i]);
    }
    return sum;
  };
  std::vector<double> logits, gates(size_t(c.experts), 0.0), y(x, x + c.width);
  for (int64_t e = 0; e < c.experts; ++e) {
    logits.push_back(dot(&w.gate[size_t(e * c.width)], x, c.width));
  }
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::greater(), [&](size_t e) { return logits[e]; });
  double all = 0, chosen = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    all += std::exp(logits[order[i]]);
    chosen += i < size_t(c.active) ? std::exp(logits[order[i]]) : 0;
  }
  for (size_t i = 0; i < size_t(c.active); ++i) {
    const auto e = int64_t(order[i]);
    const double gate = std::exp(logits[size_t(e)]) / (c.gate == Gate::OfAll ? all : chosen);
    gates[size_t(e)] = gate;
    std::vector<double> h;
    for (int64_t n = e * c.hidden; n < (e + 1) * c.hidden; ++n) {
      double value = dot(&w.inner[size_t(n * c.width)], x, c.width);
      value += c.bias == Bias::Yes ? double(w.innerBias[size_t(n)]) : 0;
      const double up = dot(&w.up[size_t(n * c.width)], x, c.width);
      h.push_back(c.isGated ? value / (1 + std::exp(-value)) * up : std::max(value, 0.0));
    }
    for (int64_t n = 0; n < c.width; ++n) {
      const int64_t row = e * c.width + n;
      const double bias = c.bias == Bias::Yes ? double(w.outerBias[size_t(row)]) : 0;
      y[size_t(n)] += gate * (dot(&w.outer[size_t(row * c.hidden)], h.data(), c.hidden) + bias);
    }
  }
  return {gates, y};
}

class Choices : public testing::TestWithParam<Case> {};

TEST_P(Choices, AreThoseOfPlainLoopsInAnyBatch) {
  const Case c = GetParam();
  const Weights weights(c);
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Tensor x = model.scope().gather("table", entry.input("input_ids"), vocabulary, c.width);
  const auto [gates, y] = experts(model.scope(), c, x, entry.segments());
  entry.output("y", y);
  entry.output("gates", gates);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so", plain = folder / "plain.so";
  const Result<std::string> text = model.text();
  compileText(path, text, weights.tensors(c));
  compileText(plain, text, weights.tensors(c), optionalPasses());
  Ragged batch = randomSentences(5, 40, vocabulary, 3);
  batch.append(std::vector<int32_t>{5});
  for (const std::string &isa : runnableTargets(path)) {
    auto all = runBinary(path, batch, isa);
    EXPECT_EQ(runBinary(path, batch, isa, 2), all) << isa;
    auto unfused = runBinary(plain, batch, isa);
    for (size_t row = 0; row < batch.ids.size(); ++row) {
      const auto [wantedGates, wanted] = byDefinition(c, weights, batch.ids[row]);
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(all["y"][row * wanted.size() + i], wanted[i], 2e-5) << isa << " row " << row;
        ASSERT_NEAR(unfused["y"][row * wanted.size() + i], wanted[i], 2e-5) << isa;
      }
      for (size_t e = 0; e < wantedGates.size(); ++e) {
        ASSERT_NEAR(all["gates"][row * wantedGates.size() + e], wantedGates[e], 1e-5) << isa;
      }
    }
    size_t first = 0;
    for (const int32_t length : batch.lengths) {
      Ragged alone;
      alone.append(std::span(batch.ids).subspan(first, size_t(length)));
      const auto begin = all["y"].begin() + std::ptrdiff_t(first * size_t(c.width));
      EXPECT_EQ(runBinary(path, alone, isa)["y"],
                std::vector<float>(begin, begin + length * c.width))
          << isa << ", a sequence of " << length;
      first += size_t(length);
    }
  }
}

TEST_P(Choices, AreTheSameInWhateverPiecesADecoderIsGivenItsRows) {
  const Case c = GetParam();
  const Weights weights(c);
  ModelBuilder model("test");
  Entry encode = model.entry("encode"), decode = model.entry("decode");
  const auto lookUp = [&](Entry &entry, std::string_view input) {
    return model.scope().gather("table", entry.input(input), vocabulary, c.width);
  };
  encode.output("encoder", lookUp(encode, "source"));
  const Segments rows = decode.segments();
  const Tensor x = lookUp(decode, "target");
  const State sum = decode.state("sum", c.width);
  const Tensor y = experts(model.scope(), c, sum.prefixMean(x, rows), rows).second;
  decode.output("logits", y);
  sum.accumulate(x, rows);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileText(path, model.text(), weights.tensors(c));
  std::mt19937 random(5);
  for (const std::string &isa : runnableTargets(path)) {
    const Result<Model> loaded = Model::load(path, {.isa = isa});
    ASSERT_EQ(loaded.status().message(), "");
    const Tokens target = randomTokens(random, 75, vocabulary);
    std::vector<float> whole;
    for (const int threads : {1, 2}) {
      const auto decoder =
          PagedDecoder::create(*loaded, {.threads = threads, .schedule = Schedule::Cooperative});
      ASSERT_EQ(decoder.status().message(), "");
      const std::vector<float> atOnce = logitsOf(**decoder, {1}, target, {target.size()});
      whole = whole.empty() ? atOnce : whole;
      EXPECT_EQ(atOnce, whole) << isa;
      EXPECT_EQ(logitsOf(**decoder, {1}, target, std::vector<size_t>(target.size(), 1)), whole);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, {1, 16, 2, 31, 9, 16}), whole);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Choices,
                         testing::Values(Case{16, 4, 2, 48}, Case{7, 5, 1, 3}, Case{49, 3, 3, 97},
                                         Case{24, 9, 2, 50, Gate::OfAll, true},
                                         Case{33, 7, 3, 65, Gate::OfAllNormalised, true},
                                         Case{48, 40, 4, 31, Gate::OfChosen, false, Bias::Yes}));

// --- Ties and NaN ----------------------------------------------------------------------------

/// Returns the choices of the given rows, and their softmax.
std::map<std::string, std::vector<float>> choose(const std::vector<float> &rows, int64_t width,
                                                 int64_t count) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const auto words = static_cast<int64_t>(rows.size()) / width;
  const Segments choices = entry.segments().choices(count);
  const Chosen chosen = model.scope().gather("table", ids, words, width).topK(choices);
  // The column itself, as a number: column c of a table has the value c.
  std::vector<float> numbers(static_cast<size_t>(width));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const Tensor one = model.scope().gather("one", ids, words, 1).repeat(choices);
  const Parameter number = model.scope().parameter("number", {width, 1});
  entry.output("column", model.scope().chosenLinear(one, chosen.column, width, number));
  entry.output("value", chosen.value);
  entry.output("softmax", chosen.value.rowSoftmax());
  const TemporaryFolder folder;
  const std::vector<float> ones(static_cast<size_t>(words), 1.0F);
  compileText(folder / "model.so", model.text(),
              {{"table.weight", {words, width}, rows},
               {"one.weight", {words, 1}, ones},
               {"number", {width, 1}, numbers}});
  Ragged batch;
  std::vector<int32_t> all(static_cast<size_t>(words));
  std::iota(all.begin(), all.end(), 0);
  batch.append(all);
  std::map<std::string, std::vector<float>> first;
  for (const std::string &isa : runnableTargets(folder / "model.so")) {
    auto found = runBinary(folder / "model.so", batch, isa);
    for (auto &[name, values] : found) {
      first.try_emplace(name, values);
    }
    EXPECT_EQ(found["column"], first["column"]) << isa;
  }
  return first;
}

TEST(TopK, TakesTheLowerColumnOfEqualOnes) {
  auto found = choose({1, 3, 3, 2, /**/ 0, 0, 0, 0, /**/ -1, -0.0F, 0, -2, /**/ 5, 6, 7, 8}, 4, 3);
  EXPECT_EQ(found["column"], (std::vector<float>{1, 2, 3, 0, 1, 2, 1, 2, 0, 3, 2, 1}));
  EXPECT_EQ(found["value"], (std::vector<float>{3, 3, 2, 0, 0, 0, 0, 0, -1, 8, 7, 6}));
}

TEST(TopK, TakesNaNForLargerThanAnyNumber) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  auto found =
      choose({1, infinity, nan, 2, /**/ -nan, 9, nan, 8, /**/ -infinity, -infinity, 0, 1}, 4, 3);
  EXPECT_EQ(found["column"], (std::vector<float>{2, 1, 3, 0, 2, 1, 3, 2, 0}));
  // Their results are NaN, and those of no other row.
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(std::isnan(found["softmax"][i])) << i;
  }
  EXPECT_NEAR(found["softmax"][6], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(found["softmax"][8], 0);
}

TEST(Choices, AreRefusedWhereThereAreMoreRowsThanNumbers) {
  const std::string program = R"(
transformer.parameter @words : tensor<2x255xf32> from "words"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x255xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x255xf32>
  %all = transformer.choices %rows, 255
  %e, %v = transformer.top_k %x to(%all) : tensor<?x255xf32> -> tensor<?x255xf32>
  %y = transformer.pool mean %v in(%rows) : tensor<?x255xf32>
  return %y : tensor<?x255xf32>
})";
  const std::vector<float> words(2 * 255);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileText(path, program, {{"words", {2, 255}, words}});
  auto model = Model::load(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto session = Session::create(*model);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<int32_t> lengths = {8'421'505};
  const std::vector<int32_t> ids(8'421'505);
  std::vector<float> y(255);
  const Input input{"ids", ids};
  const Output output{"y", y};
  const Status status = session->run("encode", lengths, {&input, 1}, {&output, 1});
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("8421505 tokens in 1 sequences have 2147483775 rows of "
                                  "choices(tokens, 255), expected at most 2^31 - 1"),
            std::string_view::npos)
      << status.message();
}

} // namespace
} // namespace heddle
