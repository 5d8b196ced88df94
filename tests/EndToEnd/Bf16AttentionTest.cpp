// SPDX-License-Identifier: Apache-2.0
///
/// Attention of bf16 over rows: --precision bf16. Every processor computes the description of
/// #dataflow.attention: queries, keys, values and weights rounded where they are multiplied, sums
/// and softmax in f32. A row has the same bits alone, in a batch and with any number of threads.
/// Tables are stored in bf16: queries, keys and values are sums of two, which need more bits.
#include "formats/Binary/Manifest_generated.h"
#include "runtime/Artifact/Artifact.h"
#include "runtime/Device/Device.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <span>

namespace heddle {
namespace {

struct AttentionCase {
  std::string name;
  int64_t heads, keyShare, valueShare, keySize, valueSize;
  /// What the operation says beside its sizes, and which keys a row sees.
  std::string attributes;
  std::function<bool(int64_t row, int64_t key)> sees = [](int64_t, int64_t) { return true; };
  /// Distances of a table of biases; 0: none.
  int64_t distance = 0;
  /// What is added to the scores of keys that a row does not see, if it sees them so.
  double hidden = -std::numeric_limits<double>::infinity();

  int64_t keyWidth() const { return heads / keyShare * keySize; }
  int64_t valueWidth() const { return heads / valueShare * valueSize; }
};

void PrintTo(const AttentionCase &c, std::ostream *stream) { *stream << c.name; }

/// The nearest bf16 number, ties to even.
float nearestBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000U);
}

const std::string all = "visibility = #transformer.visibility<all>";
const std::string causal = "visibility = #transformer.visibility<causal>";

/// Rows of the tests: one, more and fewer than tiles, more than two blocks of keys.
constexpr int lengths[] = {1, 17, 40, 600, 33};

class Bf16Attention : public testing::TestWithParam<AttentionCase> {
protected:
  Bf16Attention() : c(GetParam()), random(7), table(drawn("table", c.heads, 2 * c.distance + 1)) {
    for (auto [name, width] : {std::pair("q", c.heads * c.keySize), std::pair("k", c.keyWidth()),
                               std::pair("v", c.valueWidth())}) {
      for (const std::string part : {"1", "2"}) {
        Matrix &matrix = tables.emplace_back(drawn(name + part, vocabulary, width));
        for (float &value : matrix.values) {
          value = nearestBf16(part == "1" ? value : value / 300);
        }
      }
    }
  }

  Matrix drawn(const std::string &name, int64_t rows, int64_t columns) {
    Matrix matrix{name, rows, columns, std::vector<float>(rows * columns)};
    std::normal_distribution<float> normal(0, 1);
    std::ranges::generate(matrix.values, [&] { return normal(random); });
    return matrix;
  }

  float scale() const { return 2 / std::sqrt(static_cast<float>(c.keySize)); }

  std::string compile() const {
    std::string text;
    for (size_t i = 0; i < tables.size(); i += 2) {
      const std::string name = tables[i].name.substr(0, 1), type = rowsType(tables[i].columns);
      text += gatherText(name + "1", name + "1", tables[i].columns) +
              gatherText(name + "2", name + "2", tables[i].columns) + "  %" + name +
              " = transformer.add %" + name + "1, %" + name + "2 : " + type + ", " + type + "\n";
    }
    const std::string result = rowsType(c.heads * c.valueSize);
    text += "  %out = transformer.attention %q, %k, %v in(%rows, %rows) {" +
            (c.distance > 0 ? "bias = @table, " : std::string()) +
            "heads = " + std::to_string(c.heads) +
            " : i64, key_share = " + std::to_string(c.keyShare) +
            " : i64, scale = " + std::to_string(scale()) +
            " : f32, value_share = " + std::to_string(c.valueShare) + " : i64, " + c.attributes +
            "} : " + rowsType(c.heads * c.keySize) + ", " + rowsType(c.keyWidth()) + ", " +
            rowsType(c.valueWidth()) + " -> " + result + "\n";
    std::vector<Matrix> parameters = tables;
    if (c.distance > 0) {
      parameters.push_back(table);
    }
    return compileProgram(parameters, c.heads * c.valueSize, text,
                          {"--precision=bf16", presentTargets()});
  }

  /// An element of the queries, keys or values of an id.
  float element(size_t number, int32_t id, int64_t column) const {
    const int64_t place = id * tables[2 * number].columns + column;
    return tables[2 * number].values[place] + tables[2 * number + 1].values[place];
  }

  double scoreOf(std::span<const int32_t> ids, int64_t row, int64_t key, int64_t head,
                 bool isRounded) const {
    auto factor = [&](float value) { return isRounded ? nearestBf16(value) : value; };
    double product = 0;
    for (int64_t d = 0; d < c.keySize; ++d) {
      product += double(factor(element(0, ids[row], head * c.keySize + d))) *
                 factor(element(1, ids[key], head / c.keyShare * c.keySize + d));
    }
    double score = product * std::stof(std::to_string(scale()));
    if (c.distance > 0) {
      const int64_t distance = std::clamp(key - row, -c.distance, c.distance);
      score += table.at(head, distance + c.distance);
    }
    return c.sees(row, key) ? score : score + c.hidden;
  }

  /// An element of the result, and how far f32 may be off: weights that are near to the middle of
  /// two numbers of bf16 may be either.
  struct Expected {
    double value, error;
  };
  std::vector<Expected> rowOf(std::span<const int32_t> ids, int64_t row, bool isRounded) const {
    std::vector<Expected> result;
    for (int64_t head = 0; head < c.heads; ++head) {
      std::vector<double> scores;
      for (int64_t key = 0; key < std::ssize(ids); ++key) {
        scores.push_back(scoreOf(ids, row, key, head, isRounded) / std::log(2.0));
      }
      const double most = std::ceil(*std::ranges::max_element(scores));
      for (int64_t d = 0; d < c.valueSize; ++d) {
        double weights = 0, sum = 0, error = 0;
        for (int64_t key = 0; key < std::ssize(ids); ++key) {
          const double weight = std::exp2(scores[key] - most);
          const float value = element(2, ids[key], head / c.valueShare * c.valueSize + d);
          weights += weight;
          if (!isRounded) {
            sum += weight * value;
            continue;
          }
          const auto near = [&](double factor) {
            return nearestBf16(static_cast<float>(weight * factor));
          };
          sum += double(near(1)) * nearestBf16(value);
          error += (near(1 + 0x1p-16) - near(1 - 0x1p-16)) * std::abs(nearestBf16(value));
        }
        result.push_back({sum / weights, error / weights + 1e-5});
      }
    }
    return result;
  }

  std::vector<int32_t> idsOf(int length) const {
    std::vector<int32_t> ids(length);
    for (int i = 0; i < length; ++i) {
      ids[i] = (i * i * 7 + i + length) % vocabulary;
    }
    return ids;
  }

  AttentionCase c;
  std::mt19937 random;
  std::vector<Matrix> tables;
  Matrix table;
};

TEST_P(Bf16Attention, ComputesItsDescription) {
  const std::string binary = compile();
  ASSERT_FALSE(binary.empty());
  const int64_t width = c.heads * c.valueSize;
  for (const int length : lengths) {
    const std::vector<int32_t> ids = idsOf(length);
    Ragged batch;
    batch.append(ids);
    std::vector<std::string> targets = runnableTargets(binary);
    std::vector<std::vector<float>> results;
    for (const std::string &isa : targets) {
      results.push_back(runBinary(binary, batch, isa)["out"]);
      ASSERT_EQ(results.back().size(), size_t(length * width)) << isa;
    }
    double fromF32 = 0;
    // All rows of short sequences; of long ones some of each block of keys.
    for (int64_t row = 0; row < length; row += length > 100 ? 37 : 1) {
      const std::vector<Expected> expected = rowOf(ids, row, true), exact = rowOf(ids, row, false);
      for (int64_t i = 0; i < width; ++i) {
        for (size_t target = 0; target < targets.size(); ++target) {
          const float found = results[target][row * width + i];
          ASSERT_NEAR(found, expected[i].value, expected[i].error)
              << targets[target] << " row " << row << " of " << length << " column " << i;
          fromF32 = std::max(fromF32, std::abs(found - exact[i].value));
        }
      }
    }
    EXPECT_GT(fromF32, 1e-4) << "nothing was rounded";
  }
}

TEST_P(Bf16Attention, HasTheSameBitsInEveryBatch) {
  const std::string binary = compile();
  ASSERT_FALSE(binary.empty());
  Ragged together;
  for (const int length : lengths) {
    together.append(idsOf(length));
  }
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<float> alone;
    for (const int length : lengths) {
      Ragged batch;
      batch.append(idsOf(length));
      const std::vector<float> rows = runBinary(binary, batch, isa)["out"];
      alone.insert(alone.end(), rows.begin(), rows.end());
    }
    for (const int threads : {1, 2}) {
      const std::vector<float> rows = runBinary(binary, together, isa, threads)["out"];
      ASSERT_EQ(rows.size(), alone.size());
      EXPECT_EQ(std::memcmp(rows.data(), alone.data(), sizeof(float) * rows.size()), 0)
          << isa << " with " << threads << " threads";
    }
  }
}

bool isBefore(int64_t row, int64_t key) { return key <= row; }
bool isNear(int64_t row, int64_t key) { return key >= row - 70 && key < row + 40; }

INSTANTIATE_TEST_SUITE_P(
    Shapes, Bf16Attention,
    testing::Values(
        AttentionCase{"heads of 32", 3, 1, 1, 32, 32, all},
        AttentionCase{"odd heads", 2, 1, 1, 21, 13, all},
        AttentionCase{"the largest heads", 1, 1, 1, 128, 128, all},
        AttentionCase{"heads of one element", 3, 1, 1, 1, 1, all},
        AttentionCase{"keys that rows share", 6, 3, 3, 20, 40, all},
        AttentionCase{"other shares of keys", 6, 3, 2, 48, 17, all},
        AttentionCase{"other shares of values", 6, 2, 6, 16, 64, all},
        AttentionCase{"causal", 2, 1, 1, 32, 32, causal, isBefore},
        AttentionCase{"causal, shared", 4, 4, 4, 24, 24, causal, isBefore},
        AttentionCase{"a window", 2, 1, 1, 32, 20,
                      "visibility = #transformer.visibility<from i - 70 to i + 40>", isNear},
        AttentionCase{"biases", 2, 1, 1, 32, 32, all, [](int64_t, int64_t) { return true; }, 5},
        AttentionCase{"biases, shared and causal", 4, 2, 2, 20, 20, causal, isBefore, 9},
        AttentionCase{"a mask of a finite number", 2, 1, 1, 32, 32,
                      "hidden = #transformer.hidden<added -3.0 : f32>, " + causal, isBefore, 0,
                      -3}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::erase(name, ',');
      std::ranges::replace(name, ' ', '_');
      return name;
    });

// Threads share the rows of products and of attention at multiples of the rows of a tile.
TEST(Bf16Tiles, DivideRows) {
  const std::string binary =
      compileModel(HEDDLE_TEST_DATA "/oracles/bert-tiny",
                   {"--precision=bf16", "--target=x86-64-v3,x86-64-v4-bf16,x86-64-v4-amx"});
  const std::map<std::string, uint32_t> tiles = {
      {"x86-64-v3", 6}, {"x86-64-v4-bf16", 8}, {"x86-64-v4-amx", 16}};
  for (const std::string &isa : runnableTargets(binary)) {
    const auto artifact = Artifact::load(binary, {.isa = isa}, hostDevice());
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    const manifest::Manifest &manifest = (*artifact)->manifest();
    int found = 0;
    for (const manifest::Dispatch *dispatch : *manifest.entries()->Get(0)->dispatches()) {
      const std::string name = manifest.kernels()->Get(dispatch->kernel())->name()->str();
      const uint32_t tile = dispatch->grid()->columns()->Get((*artifact)->isaNumber())->row_tile();
      if (name.find("bf16") != std::string::npos) {
        EXPECT_EQ(tile, tiles.at(isa)) << isa << ": " << name;
        ++found;
      } else {
        EXPECT_LE(tile, 8U) << isa << ": " << name;
      }
    }
    EXPECT_GE(found, 4) << isa;
  }
}

} // namespace
} // namespace heddle
