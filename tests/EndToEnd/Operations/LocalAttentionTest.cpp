// SPDX-License-Identifier: Apache-2.0
///
/// Attention to the keys that a predicate on positions selects: windows, bands, blocks and unnamed
/// bounds, compiled and run on every target, over sequences of several pieces and blocks of keys.
/// It is compared with a plain loop, and has the same bits in any batch, with any number of threads
/// and for any division of a decoder's rows into pieces.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "heddle/Abi.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {
namespace {

using transformer::PositionBound;
using transformer::Visibility;

constexpr int vocabulary = 61;

struct Case {
  const char *name;
  Visibility visibility;
  /// The same, by its formula.
  bool (*sees)(int64_t row, int64_t key);
  int64_t heads = 2, keyHeads = 2, size = 16;
  /// Whether the weights are used with two kinds of values, so that they are computed separately.
  bool hasTwoSums = false;

  int64_t keyWidth() const { return keyHeads * size; }
  int64_t width() const { return heads * size; }
};

const Case cases[] = {
    {"OddWindow", Visibility::window(5),
     [](int64_t i, int64_t j) { return i - 2 <= j && j < i + 3; }},
    {"EvenWindow", Visibility::window(256),
     [](int64_t i, int64_t j) { return i - 128 <= j && j < i + 128; }, 2, 1, 24},
    {"OneKey", Visibility::window(1), [](int64_t i, int64_t j) { return i == j; }},
    {"Band", Visibility::band(0, 33), [](int64_t i, int64_t j) { return i <= j && j <= i + 33; }},
    {"Chunks", Visibility::blocks(100, 0, 0),
     [](int64_t i, int64_t j) { return i / 100 == j / 100; }},
    {"BlocksWithMargins", Visibility::blocks(7, 9, 5),
     [](int64_t i, int64_t j) { return i / 7 * 7 - 9 <= j && j < i / 7 * 7 + 12; }, 3, 1, 20, true},
    {"WeightsOfAWindow", Visibility::window(40),
     [](int64_t i, int64_t j) { return i - 20 <= j && j < i + 20; }, 4, 2, 8, true},
    {"EverythingFrom",
     {.from = PositionBound{.offset = -40}},
     [](int64_t i, int64_t j) { return i - 40 <= j; }},
    {"BoundsOfNoName",
     {PositionBound{2, 5, 3, 0}, PositionBound{.step = 2, .offset = 3}},
     [](int64_t i, int64_t j) { return (i + 2) / 5 * 3 <= j && j < 2 * i + 3; }},
};

/// Tables of the rows of queries, keys and values.
struct Tables {
  explicit Tables(const Case &c) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.7F);
    for (const auto &[name, width] : {std::pair("q", c.width()), std::pair("k", c.keyWidth()),
                                      std::pair("v", c.keyWidth()), std::pair("u", c.keyWidth())}) {
      std::vector<float> &values = of[name];
      values.resize(static_cast<size_t>(vocabulary * width));
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
    }
  }

  std::map<std::string, std::vector<float>> of;
};

/// Writes attention for the rows of an entry; `lookUp` returns keys or values as they are attended
/// to.
template <typename LookUp>
Tensor attend(const Scope &scope, const Case &c, const Tensor &query, const Segments &rows,
              const Segments &keys, const std::vector<Visibility> &masks, const LookUp &lookUp) {
  const auto split = [&](const char *name) {
    const Tensor heads = lookUp(name).splitHeads(c.keyHeads);
    return c.heads == c.keyHeads ? heads : heads.repeatHeads(c.heads / c.keyHeads);
  };
  Tensor scores = scope.contract("thd,khd->thk", query.splitHeads(c.heads), split("k"), rows, keys);
  scores = scores * 0.25;
  for (const Visibility &mask : masks) {
    scores = scores.select(scope.mask(mask, rows, keys), -std::numeric_limits<double>::infinity());
  }
  const Tensor weights = scores.softmax(keys);
  const auto sum = [&](const char *name) {
    return scope.contract("thk,khd->thd", weights, split(name), rows, keys).mergeHeads();
  };
  return c.hasTwoSums ? sum("v") + sum("u") : sum("v");
}

void compileTo(const std::string &path, ModelBuilder &model, const Case &c, const Tables &tables) {
  CompileRequest request = requestFor(path, model.text());
  for (const auto &[name, values] : tables.of) {
    const auto width = static_cast<int64_t>(values.size()) / vocabulary;
    if (name != "u" || c.hasTwoSums) {
      request.tensors.push_back({name + ".weight", {vocabulary, width}, values});
    }
  }
  ASSERT_EQ(compile(request).status.message(), "");
}

/// Computes one sequence, element by element.
std::vector<double> define(const Case &c, const Tables &tables, std::span<const int32_t> ids,
                           bool isCausal) {
  const auto at = [&](const char *name, int64_t row, int64_t column) {
    const std::vector<float> &table = tables.of.at(name);
    const int64_t width = static_cast<int64_t>(table.size()) / vocabulary;
    return static_cast<double>(table[static_cast<size_t>(ids[size_t(row)] * width + column)]);
  };
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<double> result;
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t head = 0; head < c.heads; ++head) {
      const int64_t first = head / (c.heads / c.keyHeads) * c.size;
      std::vector<double> sums(static_cast<size_t>(c.size), 0);
      double total = 0;
      for (int64_t key = 0; key < count; ++key) {
        if (!c.sees(row, key) || (isCausal && key > row)) {
          continue;
        }
        double score = 0;
        for (int64_t d = 0; d < c.size; ++d) {
          score += at("q", row, head * c.size + d) * at("k", key, first + d);
        }
        const double weight = std::exp(score * 0.25);
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

class LocalAttention : public testing::TestWithParam<Case> {};

TEST_P(LocalAttention, IsThatOfAPlainLoopInAnyBatch) {
  const Case c = GetParam();
  const Tables tables(c);
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const auto lookUp = [&](const char *name) {
    return model.scope().gather(name, ids, vocabulary, name[0] == 'q' ? c.width() : c.keyWidth());
  };
  const Segments rows = entry.segments();
  entry.output("y", attend(model.scope(), c, lookUp("q"), rows, rows, {c.visibility}, lookUp));
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileTo(path, model, c, tables);
  // Within one vector of keys, within a block of them, and over several pieces.
  Ragged batch = randomSentences(4, 40, vocabulary, 3);
  for (const int length : {1, 257, 700}) {
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
      expectNear(part, define(c, tables, sentence, false), c);
      Ragged alone;
      alone.append(sentence);
      EXPECT_EQ(runBinary(path, alone, isa)["y"], std::vector<float>(part.begin(), part.end()))
          << isa << ", a sequence of " << length;
      first += sentence.size();
    }
  }
}

/// Writes and compiles a decoder with one attention.
void compileDecoder(const std::string &path, const Case &c, const Tables &tables) {
  ModelBuilder model("test");
  Entry encode = model.entry("encode");
  Entry decode = model.entry("decode");
  const auto tableOf = [&](const Ids &ids, const char *name) {
    return model.scope().gather(name, ids, vocabulary, name[0] == 'q' ? c.width() : c.keyWidth());
  };
  encode.output("encoder", tableOf(encode.input("source"), "v"));
  const Ids ids = decode.input("target");
  const Segments rows = decode.segments();
  const Segments seen = rows.history();
  const auto lookUp = [&](const char *name) {
    return decode.cache(name, c.keyWidth()).append(tableOf(ids, name), rows).rows(seen);
  };
  decode.output("logits", attend(model.scope(), c, tableOf(ids, "q"), rows, seen,
                                 {Visibility::causal(), c.visibility}, lookUp));
  compileTo(path, model, c, tables);
}

TEST_P(LocalAttention, ReadsTheRowsBeforeARunFromACache) {
  const Case c = GetParam();
  const Tables tables(c);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileDecoder(path, c, tables);
  std::mt19937 random(5);
  const Tokens target = randomTokens(random, 330, vocabulary);
  for (const std::string &isa : runnableTargets(path)) {
    const Result<Model> loaded = Model::load(path, {.isa = isa});
    ASSERT_EQ(loaded.status().message(), "");
    for (const int threads : {1, 2}) {
      const auto decoder =
          PagedDecoder::create(*loaded, {.threads = threads, .schedule = Schedule::Cooperative});
      ASSERT_EQ(decoder.status().message(), "");
      const std::vector<float> whole = logitsOf(**decoder, {1}, target, {target.size()});
      expectNear(whole, define(c, tables, target, true), c);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, std::vector<size_t>(target.size(), 1)), whole);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, {1, 16, 2, 31, 9, 17, 200, 54}), whole);
    }
  }
}

/// Whatever the length of a target, its cache only has the blocks that later rows can see.
TEST(LocalDecoding, GivesBackWhatNoLaterRowSees) {
  const Case c = {"Window", Visibility::window(64),
                  [](int64_t i, int64_t j) { return i - 32 <= j && j < i + 32; }};
  const Tables tables(c);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileDecoder(path, c, tables);
  const Result<Model> loaded = Model::load(path);
  ASSERT_EQ(loaded.status().message(), "");
  // Room for 20 blocks of keys and values, far fewer than the positions need.
  const uint64_t room = 20 * HEDDLE_BLOCK * 2 * static_cast<uint64_t>(c.keyWidth()) * sizeof(float);
  const auto decoder = PagedDecoder::create(*loaded, {.cacheBytes = room});
  ASSERT_EQ(decoder.status().message(), "");
  std::mt19937 random(6);
  const Tokens target = randomTokens(random, 3000, vocabulary);
  const std::vector<double> expected =
      define(c, tables, std::span(target).last(200), /*isCausal=*/true);
  const SourceId source = encodeOne(**decoder, {1});
  HypothesisId hypothesis = *(*decoder)->start(source);
  const int64_t ofSource = (*decoder)->blocksInUse();
  std::vector<float> last;
  for (size_t done = 0; done < target.size(); ++done) {
    const Extension extension{hypothesis, std::span(target).subspan(done, 1)};
    Recorder recorder;
    ASSERT_EQ((*decoder)->decode({&extension, 1}, recorder).message(), "") << done;
    // 33 positions are in at most four blocks of 16.
    ASSERT_LE((*decoder)->blocksInUse() - ofSource, 4) << done;
    last = recorder.logits;
    if (done % 100 == 50) {
      // A fork shares the remaining blocks, and continues.
      const HypothesisId fork = *(*decoder)->fork(hypothesis);
      (*decoder)->release(hypothesis);
      hypothesis = fork;
    }
  }
  expectNear(last, std::span(expected).last(last.size()), c);
  (*decoder)->release(hypothesis);
  (*decoder)->release(source);
  EXPECT_EQ((*decoder)->blocksInUse(), 0);
}

INSTANTIATE_TEST_SUITE_P(Forms, LocalAttention, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace heddle
