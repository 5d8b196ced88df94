// SPDX-License-Identifier: Apache-2.0
///
/// Kernels at odd sizes on every target, against their naive twins in double precision: widths that
/// are no multiple of a vector or panel, head sizes from 1 to 80, sequences from one token to
/// several blocks of keys.
#include "tests/EndToEnd/ActivationTwins.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heddle {
namespace {

// Returns layer_norm(gelu(x W^T + b)) of one row.
std::vector<double> twinOfRow(const Matrix &x, int32_t id, const Matrix &w, const Matrix &b,
                              const Matrix &gain, const Matrix &shift) {
  std::vector<double> row(w.rows);
  double mean = 0, variance = 0;
  for (int64_t n = 0; n < w.rows; ++n) {
    double sum = b.at(n);
    for (int64_t k = 0; k < w.columns; ++k) {
      sum += x.at(id, k) * w.at(n, k);
    }
    row[n] = sum * 0.5 * (1 + std::erf(sum / std::sqrt(2.0)));
    mean += row[n] / w.rows;
  }
  for (double value : row) {
    variance += (value - mean) * (value - mean) / w.rows;
  }
  for (int64_t n = 0; n < w.rows; ++n) {
    row[n] = (row[n] - mean) / std::sqrt(variance + 1e-3) * gain.at(n) + shift.at(n);
  }
  return row;
}

class Contract : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Contract, AgreesWithItsTwin) {
  auto [n, k] = GetParam();
  std::mt19937 random(n * 1000 + k);
  Matrix x = randomMatrix("x", vocabulary, k, random), w = randomMatrix("w", n, k, random);
  Matrix b = randomMatrix("b", n, 0, random), gain = randomMatrix("gain", n, 0, random);
  Matrix shift = randomMatrix("shift", n, 0, random);
  std::string type = rowsType(n);
  std::string binary = compileProgram(
      {x, w, b, gain, shift}, n,
      gatherText("x", "x", k) + "  %y = transformer.linear %x, @w, @b : " + rowsType(k) + " -> " +
          type + "\n  %g = transformer.activate gelu %y : " + type +
          "\n  %out = transformer.layer_norm %g, @gain, @shift {epsilon = 1.0e-3 : f32} : " + type +
          "\n");
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    // Every number of rows up to more than two tiles, around four tiles, then several blocks of
    // rows.
    for (int rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 24, 25, 32, 33, 400}) {
      Ragged batch = randomSentences(1, 1, vocabulary, rows);
      batch.ids.resize(rows);
      for (int i = 0; i < rows; ++i) {
        batch.ids[i] = static_cast<int32_t>((i * 7 + rows) % vocabulary);
      }
      batch.lengths = {rows};
      std::vector<float> out = runBinary(binary, batch, isa)["out"];
      ASSERT_EQ(out.size(), size_t(rows) * n);
      for (int row = 0; row < rows; ++row) {
        std::vector<double> twin = twinOfRow(x, batch.ids[row], w, b, gain, shift);
        for (int column = 0; column < n; ++column) {
          ASSERT_NEAR(out[size_t(row) * n + column], twin[column], 3e-5)
              << isa << " row " << row << " of " << rows << " column " << column;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Contract,
                         testing::Values(std::pair(2, 1), std::pair(15, 3), std::pair(47, 7),
                                         std::pair(48, 48), std::pair(49, 5), std::pair(97, 33),
                                         std::pair(145, 384), std::pair(64, 1537),
                                         // Rows that map to the same cache sets, which are copied.
                                         std::pair(400, 512)));

// An epilogue whose products could be contracted with its sums: whichever copy of the code computes
// a row (alone, in a pair, at the end of a tile), its bits are the same.
TEST(Kernels, RowsOfAnEpilogueHaveTheSameBits) {
  std::mt19937 random(5);
  Matrix x = randomMatrix("x", vocabulary, 48, random), w = randomMatrix("w", 48, 48, random);
  std::string type = rowsType(48);
  std::string binary =
      compileProgram({x, w}, 48,
                     gatherText("x", "x", 48) + "  %y = transformer.linear %x, @w : " + type +
                         " -> " + type + "\n  %a = transformer.scale %y, 7.3e-1 : " + type +
                         "\n  %b = transformer.add %a, %x : " + type + ", " + type +
                         "\n  %c = transformer.scale %b, 1.7e-1 : " + type +
                         "\n  %out = transformer.add %c, %x : " + type + ", " + type + "\n");
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<float> expected;
    for (int rows = 1; rows <= 19; ++rows) {
      Ragged batch;
      batch.append(std::vector<int32_t>(rows, 9));
      std::vector<float> out = runBinary(binary, batch, isa)["out"];
      expected = expected.empty() ? out : expected;
      for (int row = 0; row < rows; ++row) {
        std::vector<float> one(out.begin() + row * 48, out.begin() + (row + 1) * 48);
        EXPECT_EQ(one, expected) << isa << " row " << row << " of " << rows;
      }
    }
  }
}

// Tiles that process all of k, or a strip of it at a time: one tile, a few, or more; on any target
// this is from 1 to more than 32 rows. The last strip is short, the last panel narrow.
TEST(Kernels, RowsOfALongProductHaveTheSameBits) {
  constexpr int n = 97, k = 389;
  std::mt19937 random(8);
  Matrix x = randomMatrix("x", vocabulary, k, random), w = randomMatrix("w", n, k, random);
  std::string binary = compileProgram({x, w}, n,
                                      gatherText("x", "x", k) +
                                          "  %out = transformer.linear %x, @w : " + rowsType(k) +
                                          " -> " + rowsType(n) + "\n");
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<std::vector<float>> alone;
    for (int rows : {1, 7, 8, 9, 12, 13, 16, 17, 24, 25, 31, 32, 33, 40, 200}) {
      std::vector<int32_t> ids(rows);
      for (int row = 0; row < rows; ++row) {
        ids[row] = row % 5;
      }
      Ragged batch;
      batch.append(ids);
      std::vector<float> out = runBinary(binary, batch, isa)["out"];
      for (int row = 0; row < rows; ++row) {
        std::vector<float> one(out.begin() + row * n, out.begin() + (row + 1) * n);
        if (row < 5 && int(alone.size()) <= row) {
          alone.push_back(one);
        }
        ASSERT_EQ(one, alone[row % 5]) << isa << " row " << row << " of " << rows;
      }
    }
  }
}

class Activation : public testing::TestWithParam<ActivationTwin> {};

TEST_P(Activation, AgreesWithItsTwin) {
  constexpr int64_t width = 53;
  std::mt19937 random(6);
  Matrix x = randomMatrix("x", vocabulary, width, random);
  for (float &value : x.values) { // from where exp(-x) is infinite to where it is nothing
    value *= 150;
  }
  std::string binary =
      compileProgram({x}, width,
                     gatherText("x", "x", width) + "  %out = transformer.activate " +
                         std::string(GetParam().name) + " %x : " + rowsType(width) + "\n");
  ASSERT_FALSE(binary.empty());
  Ragged batch = randomSentences(5, 30, vocabulary, 6);
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<float> out = runBinary(binary, batch, isa)["out"];
    ASSERT_EQ(out.size(), batch.ids.size() * width);
    for (size_t i = 0; i < out.size(); ++i) {
      double value = x.at(batch.ids[i / width], int64_t(i % width));
      double twin = GetParam().value(value);
      if (std::isnan(twin) || std::isinf(static_cast<float>(twin))) {
        ASSERT_EQ(std::isnan(out[i]), std::isnan(twin)) << isa << " of " << value;
        ASSERT_TRUE(std::isnan(twin) || out[i] == static_cast<float>(twin))
            << isa << " of " << value;
        continue;
      }
      ASSERT_NEAR(out[i], twin, 2e-6 * std::max(1.0, std::abs(twin))) << isa << " of " << value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Activation, testing::ValuesIn(activationTwins),
                         [](const auto &info) { return std::string(info.param.name); });

/// The heads, their size in queries and keys, and whether queries see later keys.
struct AttentionCase {
  int heads, size;
  bool causal;
  /// The size of a head of values.
  int valueSize = size;
  /// Whether two values share the weights; the output is the sum of both results.
  bool shared = false;
  /// The distance up to which keys have separate biases; 0: there are no biases.
  int distance = 0;
};

/// The parameters of a program with attention.
struct AttentionParameters {
  Matrix q, k, v, w, bias;

  AttentionParameters(const AttentionCase &c, std::mt19937 &random)
      : q(randomMatrix("q", vocabulary, c.heads * c.size, random)),
        k(randomMatrix("k", vocabulary, c.heads * c.size, random)),
        v(randomMatrix("v", vocabulary, c.heads * c.valueSize, random)),
        w(randomMatrix("w", vocabulary, c.heads * c.valueSize, random)),
        bias(randomMatrix("bias", c.heads, 2 * c.distance + 1, random)) {}

  std::string compile(const AttentionCase &c) const;
};

// Returns the weights of one head of one query: softmax(q . k / sqrt(size) + bias) over the keys it
// sees.
std::vector<double> twinOfWeights(const AttentionCase &c, const AttentionParameters &of,
                                  std::span<const int32_t> ids, size_t query, int head) {
  size_t seen = c.causal ? query + 1 : ids.size();
  std::vector<double> weights(seen);
  double sum = 0, maximum = -HUGE_VAL;
  for (size_t j = 0; j < seen; ++j) {
    for (int d = head * c.size; d < (head + 1) * c.size; ++d) {
      weights[j] += of.q.at(ids[query], d) * of.k.at(ids[j], d);
    }
    weights[j] /= std::sqrt(double(c.size));
    if (c.distance > 0) {
      int distance = std::clamp(int(j) - int(query), -c.distance, c.distance);
      weights[j] += of.bias.at(head, distance + c.distance);
    }
    maximum = std::max(maximum, weights[j]);
  }
  for (double &weight : weights) {
    sum += weight = std::exp(weight - maximum);
  }
  for (double &weight : weights) {
    weight /= sum;
  }
  return weights;
}

// Returns one head of one query, summed over the values that share its weights.
std::vector<double> twinOfHead(const AttentionCase &c, const AttentionParameters &of,
                               std::span<const int32_t> ids, size_t query, int head) {
  std::vector<double> weights = twinOfWeights(c, of, ids, query, head), result(c.valueSize, 0);
  for (size_t j = 0; j < weights.size(); ++j) {
    for (int d = 0; d < c.valueSize; ++d) {
      int column = head * c.valueSize + d;
      result[d] +=
          weights[j] * (of.v.at(ids[j], column) + (c.shared ? of.w.at(ids[j], column) : 0));
    }
  }
  return result;
}

std::string AttentionParameters::compile(const AttentionCase &c) const {
  std::string h = std::to_string(c.heads), scores = tensorType("?x" + h + "x?");
  auto headsOf = [&](int size) { return tensorType("?x" + h + "x" + std::to_string(size)); };
  std::string keys = headsOf(c.size), values = headsOf(c.valueSize);
  std::string valueRows = rowsType(c.heads * c.valueSize), text;
  auto split = [&](const std::string &name, int size) {
    text += gatherText(name, name, c.heads * size) + "  %" + name +
            "h = transformer.split_heads %" + name + " : " + rowsType(c.heads * size) + " -> " +
            headsOf(size) + "\n";
  };
  auto sum = [&](const std::string &name, const std::string &result) {
    split(name, c.valueSize);
    text += "  %" + name + "c = transformer.contract \"thk,khd->thd\" %p, %" + name +
            "h in(%rows, %rows) : " + scores + ", " + values + " -> " + values + "\n  %" + result +
            " = transformer.merge_heads %" + name + "c : " + values + " -> " + valueRows + "\n";
  };
  split("q", c.size);
  split("k", c.size);
  text += "  %s = transformer.contract \"thd,khd->thk\" %qh, %kh in(%rows, %rows) : " + keys +
          ", " + keys + " -> " + scores + "\n";
  char factor[32];
  std::snprintf(factor, sizeof factor, "%.9e", 1.0 / std::sqrt(double(c.size)));
  text += std::string("  %z0 = transformer.scale %s, ") + factor + " : " + scores + "\n";
  std::string z = "%z0";
  if (c.distance > 0) {
    text += "  %r = transformer.relative_bias @bias in(%rows, %rows) : " + scores +
            "\n  %z1 = transformer.add %z0, %r : " + scores + ", " + scores + "\n";
    z = "%z1";
  }
  text += std::string("  %m = transformer.mask ") + (c.causal ? "causal" : "all") +
          " in(%rows, %rows)\n";
  text += "  %y = transformer.select %m, " + z + " {hidden = 0xFF800000 : f32} : " + scores + "\n";
  text += "  %p = transformer.softmax %y in(%rows) : " + scores + "\n";
  std::vector<Matrix> parameters = {q, k, v};
  if (c.distance > 0) {
    parameters.push_back(bias);
  }
  if (c.shared) {
    parameters.push_back(w);
    sum("v", "first");
    sum("w", "second");
    text += "  %out = transformer.add %first, %second : " + valueRows + ", " + valueRows + "\n";
  } else {
    sum("v", "out");
  }
  return compileProgram(parameters, c.heads * c.valueSize, text);
}

class Attention : public testing::TestWithParam<AttentionCase> {};

TEST_P(Attention, AgreesWithItsTwin) {
  AttentionCase c = GetParam();
  int64_t width = c.heads * c.valueSize;
  std::mt19937 random(c.heads * 100 + c.size);
  AttentionParameters parameters(c, random);
  for (Matrix *matrix : {&parameters.q, &parameters.k}) { // scores that make softmax uneven
    for (float &value : matrix->values) {
      value *= 2 * std::sqrt(float(c.heads * c.size));
    }
  }
  std::string binary = parameters.compile(c);
  ASSERT_FALSE(binary.empty());
  // Shorter than a tile, tails of every kind, and more than two blocks of keys.
  Ragged batch = randomSentences(12, 70, vocabulary, c.size);
  std::vector<int32_t> id = {3};
  batch.append(id);
  for (int length : {8, 256, 257, 600}) {
    std::vector<int32_t> sentence(length);
    std::generate(sentence.begin(), sentence.end(), [&] { return int(random() % vocabulary); });
    batch.append(sentence);
  }
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<float> out = runBinary(binary, batch, isa)["out"];
    ASSERT_EQ(out.size(), batch.ids.size() * width);
    size_t first = 0;
    for (int32_t length : batch.lengths) {
      auto ids = std::span(batch.ids).subspan(first, length);
      for (int32_t query = 0; query < length; query += length > 100 ? 37 : 1) {
        for (int head = 0; head < c.heads; ++head) {
          auto twin = twinOfHead(c, parameters, ids, query, head);
          for (int d = 0; d < c.valueSize; ++d) {
            ASSERT_NEAR(out[(first + query) * width + head * c.valueSize + d], twin[d], 2e-5)
                << isa << " length " << length << " query " << query << " head " << head;
          }
        }
      }
      first += length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Attention,
                         testing::Values(AttentionCase{1, 1, false}, AttentionCase{3, 7, false},
                                         AttentionCase{2, 16, true}, AttentionCase{3, 24, false},
                                         AttentionCase{2, 33, true}, AttentionCase{12, 32, false},
                                         AttentionCase{1, 64, false}, AttentionCase{2, 80, true},
                                         AttentionCase{2, 20, true, 9, false, 5}));

// Weights as a separate operation, and a sum for each of two values.
INSTANTIATE_TEST_SUITE_P(
    SharedWeights, Attention,
    testing::Values(AttentionCase{1, 1, false, 1, true}, AttentionCase{3, 7, true, 7, true},
                    AttentionCase{2, 16, true, 33, true}, AttentionCase{3, 24, false, 5, true, 7},
                    AttentionCase{2, 33, true, 80, true, 300}, AttentionCase{8, 64, true, 64, true},
                    AttentionCase{8, 64, false, 64, true}));

// A hidden key does not affect a row, whatever its value is.
TEST(CausalAttention, IsFiniteBeforeAnInfiniteValue) {
  const int32_t infinite = 5, length = 300, place = 267;
  for (const bool shared : {false, true}) {
    const AttentionCase c{2, 20, true, 20, shared};
    const int64_t width = c.heads * c.valueSize;
    std::mt19937 random(7);
    AttentionParameters parameters(c, random);
    std::fill_n(parameters.v.values.begin() + infinite * width, width, INFINITY);
    // Nor does one whose score is NaN.
    std::fill_n(parameters.k.values.begin() + infinite * width, width, NAN);
    std::string binary = parameters.compile(c);
    ASSERT_FALSE(binary.empty());
    std::vector<int32_t> ids(length);
    for (int32_t i = 0; i < length; ++i) {
      ids[i] = i == place ? infinite : static_cast<int32_t>(6 + i % (vocabulary - 6));
    }
    Ragged batch;
    batch.append(ids);
    for (const std::string &isa : runnableTargets(binary)) {
      std::vector<float> out = runBinary(binary, batch, isa)["out"];
      ASSERT_EQ(out.size(), static_cast<size_t>(length * width));
      for (int32_t row = 0; row < length; ++row) {
        for (int64_t column = 0; column < width; ++column) {
          ASSERT_EQ(std::isfinite(out[row * width + column]), row < place) << isa << " row " << row;
        }
      }
    }
  }
}

} // namespace
} // namespace heddle
