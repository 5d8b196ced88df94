// SPDX-License-Identifier: Apache-2.0
///
/// Attention whose scores are functions of the products (soft caps and others), or sums over pairs
/// of a row and a key as in additive attention, with tables of distances and masks, and with
/// convolutions over the weights of another attention: fused, and run on every target against a
/// plain loop; the same bits in any batch, with any number of threads and for any division of a
/// decoder's rows into pieces.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace heddle {
namespace {

using transformer::Activation;
using transformer::Visibility;

constexpr int vocabulary = 61;
/// The maximum distance in the table of biases.
constexpr int64_t distance = 5;
constexpr double minusInfinity = -std::numeric_limits<double>::infinity();

struct Case {
  const char *name;
  /// Writes the scores from the products and the biases by distance, and computes them by formula.
  Tensor (*write)(const Tensor &product, const Tensor &bias);
  double (*score)(double product, double bias);
  bool hasBias;
  Visibility visibility = Visibility::all();
  /// The number that masks write over hidden scores.
  double hidden = minusInfinity;
  int64_t heads = 2, keyHeads = 2, size = 16;
  /// Whether the weights are used with two kinds of values, so that they are computed separately.
  bool hasTwoSums = false;
  /// In place of the product of queries and keys: the function of the sum of each column of both
  /// that is summed with weights, and its formula. The rows of queries are those of all heads.
  Tensor (*pair)(const Tensor &sum) = nullptr;
  double (*pairOf)(double sum) = nullptr;
  /// Added to that sum: convolutions of this many elements each over softmax(q . k / 4), of several
  /// heads. With `filters`, each is the map of that many filters, all by one map.
  std::vector<int64_t> taps = {};
  int64_t filters = 0, locationHeads = 1;

  /// Returns the number of neighbours of a key in the first convolutions.
  int64_t nearOf(size_t convolutions) const {
    return locationHeads * std::accumulate(taps.begin(), taps.begin() + long(convolutions), 0L);
  }
  int64_t queryWidth() const { return pair ? size : width(); }
  int64_t keyWidth() const { return keyHeads * size; }
  int64_t width() const { return heads * size; }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Tensor itself(const Tensor &s, const Tensor & /*bias*/) { return s; }
double itselfOf(double s, double /*bias*/) { return s; }
Tensor tanhOf(const Tensor &sum) { return sum.activate(Activation::Tanh); }

const Case cases[] = {
    {"SoftCap",
     [](const Tensor &s, const Tensor &) { return (s * 0.5).activate(Activation::Tanh) * 2; },
     [](double s, double) { return 2 * std::tanh(s / 2); }, false},
    {"CapOfABiasInAWindow",
     [](const Tensor &s, const Tensor &b) {
       return ((s + b) * 0.8).activate(Activation::Tanh) * 3;
     },
     [](double s, double b) { return 3 * std::tanh((s + b) * 0.8); }, true, Visibility::window(40)},
    {"BiasAfterACap",
     [](const Tensor &s, const Tensor &b) { return s.activate(Activation::Tanh) + b * 2; },
     [](double s, double b) { return std::tanh(s) + 2 * b; }, true, Visibility::all(),
     minusInfinity, 4, 2, 8},
    {"GateUnderAMaskOfANumber",
     [](const Tensor &s, const Tensor &) { return (s * 1.5).activate(Activation::Sigmoid) * s; },
     [](double s, double) { return sigmoid(1.5 * s) * s; }, false, Visibility::causal(), -1e4},
    {"WeightsOfABiasBetween",
     [](const Tensor &s, const Tensor &b) {
       return (s.activate(Activation::Softplus) + b).activate(Activation::Silu);
     },
     [](double s, double b) {
       const double x = std::log1p(std::exp(s)) + b;
       return x * sigmoid(x);
     },
     true, Visibility::blocks(7, 9, 5), minusInfinity, 3, 1, 20, true},
    {"PairsOfOneColumn", itself, itselfOf, false, Visibility::all(), minusInfinity, 1, 1, 1, false,
     tanhOf, [](double x) { return std::tanh(x); }},
    {"PairsOfFiveColumnsInAWindow", itself, itselfOf, false, Visibility::window(40), minusInfinity,
     1, 1, 5, false, [](const Tensor &x) { return (x * 1.5).activate(Activation::Relu); },
     [](double x) { return std::max(1.5 * x, 0.0); }},
    {"CapOfPairsOfTwoHeads",
     [](const Tensor &s, const Tensor &b) { return s.activate(Activation::Tanh) * 2 + b; },
     [](double s, double b) { return 2 * std::tanh(s) + b; }, true, Visibility::causal(),
     minusInfinity, 2, 1, 20, false, tanhOf, [](double x) { return std::tanh(x); }},
    {"WeightsOfPairs", itself, itselfOf, false, Visibility::all(), minusInfinity, 1, 1, 33, true,
     [](const Tensor &x) { return x.activate(Activation::Sigmoid) * x; },
     [](double x) { return sigmoid(x) * x; }},
    {"PairsUnderAMaskOfANumber", itself, itselfOf, false, Visibility::causal(), -1e4, 3, 1, 16,
     false, [](const Tensor &x) { return x; }, [](double x) { return x; }},
    {"PairsWithLocationsOfThreeKeys",
     itself,
     itselfOf,
     false,
     Visibility::all(),
     minusInfinity,
     1,
     1,
     20,
     false,
     tanhOf,
     [](double x) { return std::tanh(x); },
     {3}},
    {"PairsWithLocationsOfManyKeysOfTwoHeads",
     itself,
     itselfOf,
     true,
     Visibility::causal(),
     minusInfinity,
     2,
     1,
     12,
     true,
     tanhOf,
     [](double x) { return std::tanh(x); },
     {1, 37},
     0,
     2},
    {"PairsWithLocationsByFilters",
     itself,
     itselfOf,
     false,
     Visibility::window(40),
     minusInfinity,
     1,
     1,
     32,
     false,
     tanhOf,
     [](double x) { return std::tanh(x); },
     {9, 5},
     5},
    {"WeightsOfPairsWithLocationsByManyFilters",
     itself,
     itselfOf,
     false,
     Visibility::all(),
     minusInfinity,
     2,
     1,
     24,
     true,
     tanhOf,
     [](double x) { return std::tanh(x); },
     {67},
     18,
     2},
};

/// Tables of the rows of queries, keys and values.
struct Tables {
  explicit Tables(const Case &c) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.7F);
    const auto draw = [&](const char *name, int64_t count) {
      std::vector<float> &values = of[name];
      values.resize(static_cast<size_t>(count));
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
    };
    draw("q", vocabulary * c.queryWidth());
    for (const char *name : {"k", "v", "u"}) {
      draw(name, vocabulary * c.keyWidth());
    }
    draw("near", c.heads * (2 * distance + 1));
    draw("pairs", c.heads * c.size);
    draw("map", c.size * c.filters);
    draw("filters", (c.filters > 0 ? c.filters : c.size) * c.nearOf(c.taps.size()));
  }

  std::map<std::string, std::vector<float>> of;
};

/// Returns softmax(q . k / 4) over keys that are not after the row, if it is causal.
Tensor locationsAt(const Scope &scope, const Case &c, const Tensor &query, const Tensor &key,
                   const Segments &rows, const Segments &keys, bool isCausal) {
  const Tensor product = scope.contract("thd,khd->thk", query.splitHeads(c.locationHeads),
                                        key.splitHeads(c.locationHeads), rows, keys) *
                         0.25;
  const Visibility visibility = isCausal ? Visibility::causal() : Visibility::all();
  return product.select(scope.mask(visibility, rows, keys), minusInfinity).softmax(keys);
}

/// Returns the sum of rows and keys and of convolutions over `locations`, whose weights are one
/// parameter.
Tensor convolved(const Scope &scope, const Case &c, Tensor sum, const Tensor &locations,
                 const Segments &rows, const Segments &keys) {
  const int64_t near = c.nearOf(c.taps.size());
  const int64_t lines = c.filters > 0 ? c.filters : c.size;
  Parameter all = scope.parameter("filters", {lines, near});
  if (c.filters > 0) {
    all = scope.product("looks", scope.parameter("map", {c.size, c.filters}), all);
  }
  for (size_t i = 0; i < c.taps.size(); ++i) {
    const std::string name = "looks." + std::to_string(i);
    const Parameter columns = scope.columns(name, all, c.nearOf(i), c.locationHeads * c.taps[i]);
    const Parameter weight =
        scope.reshape(name + ".keys", columns, {c.size, c.locationHeads, c.taps[i]});
    // On either side of the sum.
    const Tensor beside = scope.convolveKeys(locations, weight, rows, keys);
    sum = i % 2 == 0 ? sum + beside : beside + sum;
  }
  return sum;
}

/// Writes attention for the rows of an entry; `lookUp` returns keys or values as they are attended
/// to.
template <typename LookUp>
Tensor attend(const Scope &scope, const Case &c, Entry &entry, const Tensor &query,
              const Segments &rows, const Segments &keys, bool isCausal, const LookUp &lookUp) {
  const Tensor pairWeights =
      c.pair ? entry.weight(scope.parameter("pairs", {c.heads, c.size})) : Tensor();
  const auto split = [&](const char *name) {
    const Tensor heads = lookUp(name).splitHeads(c.keyHeads);
    return c.heads == c.keyHeads ? heads : heads.repeatHeads(c.heads / c.keyHeads);
  };
  Tensor product;
  if (c.pair) {
    const Tensor key = lookUp("k");
    Tensor sum = query.pairSum(key, rows, keys);
    if (!c.taps.empty()) {
      const Tensor locations = locationsAt(scope, c, query, key, rows, keys, isCausal);
      sum = convolved(scope, c, sum, locations, rows, keys);
    }
    const Tensor pairs = c.pair(sum);
    product = scope.contract("tkw,hw->thk", pairs, pairWeights, rows, keys);
  } else {
    product = scope.contract("thd,khd->thk", query.splitHeads(c.heads), split("k"), rows, keys);
  }
  Tensor bias;
  if (c.hasBias) {
    const Parameter near = scope.parameter("near", {c.heads, 2 * distance + 1});
    bias = scope.relativeBias(near, rows, keys);
  }
  Tensor scores = c.write(product * 0.25, bias);
  scores = scores.select(scope.mask(c.visibility, rows, keys), c.hidden);
  if (isCausal) {
    scores = scores.select(scope.mask(Visibility::causal(), rows, keys), minusInfinity);
  }
  const Tensor weights = scores.softmax(keys);
  const auto sum = [&](const char *name) {
    return scope.contract("thk,khd->thd", weights, split(name), rows, keys).mergeHeads();
  };
  return c.hasTwoSums ? sum("v") + sum("u") : sum("v");
}

/// Compiles, and checks that the scores are in an attention kernel.
void compileTo(const std::string &path, ModelBuilder &model, const Case &c, const Tables &tables) {
  CompileRequest request = requestFor(path, model.text());
  for (const auto &[name, values] : tables.of) {
    if (values.empty()) {
      continue;
    }
    const bool isFilters = name == "filters", isMap = name == "map";
    const bool isTable = name == "near" || name == "pairs" || isFilters || isMap;
    const int64_t lines = isFilters && c.filters > 0 ? c.filters : c.size;
    const int64_t rows = isFilters || isMap ? lines : isTable ? c.heads : vocabulary;
    const auto width = static_cast<int64_t>(values.size()) / rows;
    if ((name != "u" || c.hasTwoSums) && (name != "near" || c.hasBias) &&
        (name != "pairs" || c.pair)) {
      request.tensors.push_back({isTable ? name : name + ".weight", {rows, width}, values});
    }
  }
  request.texts = {Phase::Fused};
  const CompileResult result = compile(request);
  ASSERT_EQ(result.status.message(), "");
  const std::string &fused = result.texts.front().second;
  EXPECT_NE(fused.find("#transformer.score<"), std::string::npos) << fused;
  EXPECT_EQ(fused.find("transformer.softmax"), std::string::npos) << fused;
  EXPECT_EQ(fused.find("transformer.pair_sum"), std::string::npos) << fused;
  EXPECT_EQ(fused.find("transformer.convolve_keys"), std::string::npos) << fused;
  EXPECT_EQ(fused.find("location_filters") != std::string::npos, c.filters > 0) << fused;
}

/// Returns the contribution of the neighbours of each key to each column: [keys][size], by the
/// weights of a row for each head, [locationHeads][keys].
std::vector<std::vector<double>> locationsOf(const Case &c, const Tables &tables,
                                             const std::vector<std::vector<double>> &locations) {
  const std::vector<float> &filters = tables.of.at("filters"), &map = tables.of.at("map");
  const auto count = static_cast<int64_t>(locations.front().size());
  const int64_t all = c.nearOf(c.taps.size());
  std::vector<std::vector<double>> result;
  for (int64_t key = 0; key < count; ++key) {
    std::vector<double> near;
    for (const int64_t taps : c.taps) {
      for (const std::vector<double> &head : locations) {
        for (int64_t place = key - taps / 2; place <= key + taps / 2; ++place) {
          near.push_back(place >= 0 && place < count ? head[static_cast<size_t>(place)] : 0);
        }
      }
    }
    const auto dot = [&](const std::vector<float> &matrix, int64_t row,
                         const std::vector<double> &x) {
      return std::inner_product(x.begin(), x.end(), matrix.begin() + row * std::ssize(x), 0.0);
    };
    std::vector<double> lines, sums;
    for (int64_t f = 0; f < static_cast<int64_t>(filters.size()) / all; ++f) {
      lines.push_back(dot(filters, f, near));
    }
    for (int64_t d = 0; d < c.size && c.filters > 0; ++d) {
      sums.push_back(dot(map, d, lines));
    }
    result.push_back(c.filters > 0 ? sums : lines);
  }
  return result;
}

/// Returns the element of a table for a row of a sentence.
double elementOf(const Tables &tables, std::span<const int32_t> ids, const char *name, int64_t row,
                 int64_t column) {
  const std::vector<float> &table = tables.of.at(name);
  const int64_t width = static_cast<int64_t>(table.size()) / vocabulary;
  return table[static_cast<size_t>(ids[size_t(row)] * width + column)];
}

/// Returns softmax(q . k / 4) of a row, for each head that is convolved.
std::vector<std::vector<double>> locationsFrom(const Case &c, const Tables &tables,
                                               std::span<const int32_t> ids, int64_t row,
                                               bool isCausal) {
  std::vector<std::vector<double>> locations;
  const int64_t size = c.size / c.locationHeads;
  for (int64_t head = 0; head < c.locationHeads; ++head) {
    std::vector<double> &weights = locations.emplace_back();
    double total = 0;
    for (int64_t key = 0; key < std::ssize(ids); ++key) {
      double product = 0;
      for (int64_t d = head * size; d < (head + 1) * size; ++d) {
        product += elementOf(tables, ids, "q", row, d) * elementOf(tables, ids, "k", key, d);
      }
      weights.push_back(isCausal && key > row ? 0 : std::exp(product / 4));
      total += weights.back();
    }
    for (double &weight : weights) {
      weight /= total;
    }
  }
  return locations;
}

/// Computes one sequence, element by element.
std::vector<double> define(const Case &c, const Tables &tables, std::span<const int32_t> ids,
                           bool isCausal) {
  const auto at = [&](const char *name, int64_t row, int64_t column) {
    return elementOf(tables, ids, name, row, column);
  };
  const std::vector<float> &near = tables.of.at("near"), &weights = tables.of.at("pairs");
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<double> result;
  for (int64_t row = 0; row < count; ++row) {
    std::vector<std::vector<double>> locations(size_t(count), std::vector<double>(size_t(c.size)));
    if (!c.taps.empty()) {
      locations = locationsOf(c, tables, locationsFrom(c, tables, ids, row, isCausal));
    }
    for (int64_t head = 0; head < c.heads; ++head) {
      const int64_t first = head / (c.heads / c.keyHeads) * c.size;
      std::vector<double> sums(static_cast<size_t>(c.size), 0);
      double total = 0;
      for (int64_t key = 0; key < count; ++key) {
        if (!c.visibility.sees(row, key)) {
          continue;
        }
        double product = 0;
        for (int64_t d = 0; d < c.size; ++d) {
          product += c.pair ? weights[static_cast<size_t>(head * c.size + d)] *
                                  c.pairOf(at("q", row, d) + at("k", key, d) +
                                           locations[size_t(key)][size_t(d)])
                            : at("q", row, head * c.size + d) * at("k", key, first + d);
        }
        const int64_t place = std::clamp(key - row, -distance, distance) + distance;
        const double bias = near[static_cast<size_t>(head * (2 * distance + 1) + place)];
        const double weight = std::exp(c.score(product * 0.25, bias));
        total += weight;
        for (int64_t d = 0; d < c.size; ++d) {
          const double other = c.hasTwoSums ? at("u", key, first + d) : 0;
          sums[static_cast<size_t>(d)] += weight * (at("v", key, first + d) + other);
        }
      }
      for (const double sum : sums) {
        result.push_back(sum / total);
      }
    }
  }
  return result;
}

void expectNear(std::span<const float> found, std::span<const double> expected, const Case &c) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-5)
        << "row " << i / size_t(c.width()) << " column " << i % size_t(c.width());
  }
}

class ScoreMaths : public testing::TestWithParam<Case> {};

TEST_P(ScoreMaths, IsThatOfAPlainLoopInAnyBatch) {
  const Case c = GetParam();
  const Tables tables(c);
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const auto lookUp = [&](const char *name) {
    return model.scope().gather(name, ids, vocabulary,
                                name[0] == 'q' ? c.queryWidth() : c.keyWidth());
  };
  const Segments rows = entry.segments();
  entry.output(
      "y", attend(model.scope(), c, entry, lookUp("q"), rows, rows, /*isCausal=*/false, lookUp));
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileTo(path, model, c, tables);
  // Within one vector of keys, within a block of them, and over several blocks.
  Ragged batch = randomSentences(4, 40, vocabulary, 3);
  for (const int length : {1, 257, 300}) {
    std::mt19937 random(static_cast<unsigned>(length));
    batch.append(randomTokens(random, static_cast<size_t>(length), vocabulary));
  }
  for (const std::string &isa : runnableTargets(path)) {
    const std::vector<float> all = runBinary(path, batch, isa)["y"];
    const Result<Model> loaded = Model::load(path, {.isa = isa});
    ASSERT_EQ(loaded.status().message(), "");
    auto two = Session::create(*loaded, {.threads = 2, .schedule = Schedule::Cooperative});
    ASSERT_EQ(two.status().message(), "");
    EXPECT_EQ(runModel(*two, "encode", batch)["y"], all) << isa;
    size_t first = 0;
    for (const int32_t length : batch.lengths) {
      const auto sentence = std::span(batch.ids).subspan(first, size_t(length));
      const auto part =
          std::span(all).subspan(first * size_t(c.width()), sentence.size() * size_t(c.width()));
      expectNear(part, define(c, tables, sentence, /*isCausal=*/false), c);
      Ragged alone;
      alone.append(sentence);
      EXPECT_EQ(runBinary(path, alone, isa)["y"], std::vector<float>(part.begin(), part.end()))
          << isa << ", a sequence of " << length;
      first += sentence.size();
    }
  }
}

TEST_P(ScoreMaths, ReadsTheRowsBeforeARunFromACache) {
  Case c = GetParam();
  const Tables tables(c);
  ModelBuilder model("test");
  Entry encode = model.entry("encode");
  Entry decode = model.entry("decode");
  const auto tableOf = [&](const Ids &ids, const char *name) {
    return model.scope().gather(name, ids, vocabulary,
                                name[0] == 'q' ? c.queryWidth() : c.keyWidth());
  };
  encode.output("encoder", tableOf(encode.input("source"), "v"));
  const Ids ids = decode.input("target");
  const Segments rows = decode.segments();
  const Segments seen = rows.history();
  const auto lookUp = [&](const char *name) {
    return decode.cache(name, c.keyWidth()).append(tableOf(ids, name), rows).rows(seen);
  };
  // No row of a decoder has a score for a later key.
  c.hidden = minusInfinity;
  decode.output("logits", attend(model.scope(), c, decode, tableOf(ids, "q"), rows, seen,
                                 /*isCausal=*/true, lookUp));
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileTo(path, model, c, tables);
  c.visibility = *c.visibility.intersect(Visibility::causal());
  std::mt19937 random(5);
  const Tokens target = randomTokens(random, 150, vocabulary);
  for (const std::string &isa : runnableTargets(path)) {
    const Result<Model> loaded = Model::load(path, {.isa = isa});
    ASSERT_EQ(loaded.status().message(), "");
    for (const int threads : {1, 2}) {
      const auto decoder =
          PagedDecoder::create(*loaded, {.threads = threads, .schedule = Schedule::Cooperative});
      ASSERT_EQ(decoder.status().message(), "");
      const std::vector<float> whole = logitsOf(**decoder, {1}, target, {target.size()});
      expectNear(whole, define(c, tables, target, /*isCausal=*/true), c);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, std::vector<size_t>(target.size(), 1)), whole);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, {1, 16, 2, 31, 9, 17, 20, 54}), whole);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ScoreMaths, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace heddle
