// SPDX-License-Identifier: Apache-2.0
///
/// Recurrences: the encoders of the recurrent oracles with and without passes, and an artificial
/// cell against plain loops; the same bits in any batch, in any chunks and with any number of
/// threads.
#include "compiler/Compile.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/recurrent/";

/// A tensor of an oracle's expected outputs, with its shape.
struct Expected {
  Expected(const std::string &oracle, const std::string &name) {
    const auto file = Checkpoint::open(oracles + oracle + "/expected.safetensors");
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok() || file->find(name) == nullptr) {
      return;
    }
    const auto &sizes = file->find(name)->shape;
    shape.assign(sizes.begin(), sizes.end());
    size_t count = 1;
    for (const size_t size : shape) {
      count *= size;
    }
    if (name == "source") {
      ids.resize(count);
      EXPECT_TRUE(file->readI32(name, ids).ok());
    } else {
      values.resize(count);
      EXPECT_TRUE(file->readF32(name, values).ok());
    }
  }

  std::vector<size_t> shape;
  std::vector<float> values;
  std::vector<int32_t> ids;
};

/// Returns the sentences of an oracle, without the padding.
Ragged sentencesOf(const std::string &oracle) {
  const Expected source(oracle, "source");
  Ragged batch;
  for (size_t i = 0; i < source.shape[0]; ++i) {
    const auto row = std::span(source.ids).subspan(i * source.shape[1], source.shape[1]);
    batch.append(row.first(size_t(std::find(row.begin(), row.end(), 0) - row.begin())));
  }
  return batch;
}

/// Returns rows [batch, longest, width] without the padding.
std::vector<float> withoutPadding(const Expected &rows, const Ragged &batch) {
  std::vector<float> result;
  for (size_t i = 0; i < batch.lengths.size(); ++i) {
    const auto begin = rows.values.begin() + std::ptrdiff_t(i * rows.shape[1] * rows.shape[2]);
    result.insert(result.end(), begin, begin + batch.lengths[i] * std::ptrdiff_t(rows.shape[2]));
  }
  return result;
}

/// Compares the initial states of the decoder's layers, [layers, batch, width], with outputs by
/// layer.
void expectStart(const std::string &oracle, const std::string &name,
                 const std::map<std::string, std::vector<float>> &outputs) {
  const Expected expected(oracle, "start." + name);
  for (size_t layer = 0; !expected.shape.empty() && layer < expected.shape[0]; ++layer) {
    const auto found = outputs.find("start." + name + "." + std::to_string(layer));
    const size_t size = expected.shape[1] * expected.shape[2];
    const auto part = std::span(expected.values).subspan(layer * size, size);
    // An initial state of zeros is not an output.
    const bool areZeros = std::all_of(part.begin(), part.end(), [](float x) { return x == 0; });
    if (found == outputs.end()) {
      EXPECT_TRUE(areZeros) << oracle << " gives no start." << name << " of layer " << layer;
      continue;
    }
    EXPECT_LE(largestDifference(found->second, part), 2e-4F) << oracle << " start." << name;
  }
}

class RecurrentOracle : public testing::TestWithParam<const char *> {};

TEST_P(RecurrentOracle, EncodesAsTheDefinitionDoes) {
  const std::string oracle = GetParam();
  const Ragged batch = sentencesOf(oracle);
  const std::vector<float> expected = withoutPadding(Expected(oracle, "encoder"), batch);
  for (const std::vector<std::string> &passes :
       {std::vector<std::string>(), std::vector<std::string>{"--disable-pass=hoist-from-loops"},
        std::vector<std::string>{"--disable-pass=hoist-from-loops", "--disable-pass=fold-epilogues",
                                 "--disable-pass=plan-memory"}}) {
    const std::string path = compileModel(oracles + oracle, passes);
    ASSERT_FALSE(path.empty());
    for (const std::string &isa : runnableTargets(path)) {
      for (const int threads : {1, 2}) {
        const auto outputs = runBinary(path, batch, isa, threads);
        ASSERT_TRUE(outputs.contains("encoder"));
        EXPECT_LE(largestDifference(outputs.at("encoder"), expected), 2e-4F)
            << oracle << " on " << isa << ", " << threads << " threads";
        expectStart(oracle, "hidden", outputs);
        expectStart(oracle, "cell", outputs);
      }
    }
  }
}

/// Returns sentences with equal and different lengths, more than a chunk has.
Ragged longerBatch(int vocabulary) {
  Ragged batch = randomSentences(17, 23, vocabulary, 5);
  batch.append(std::vector<int32_t>{3});
  batch.append(std::vector<int32_t>(40, 4));
  batch.append(std::vector<int32_t>(40, 5));
  return batch;
}

TEST_P(RecurrentOracle, ASentenceHasTheSameBitsInEveryBatch) {
  const std::string path = compileModel(oracles + GetParam());
  ASSERT_FALSE(path.empty());
  const Ragged batch = longerBatch(26);
  const auto model = Model::load(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto one = Session::create(*model);
  ASSERT_TRUE(one.ok());
  std::map<std::string, std::vector<float>> expected;
  std::span<const int32_t> rest = batch.ids;
  for (const int32_t length : batch.lengths) {
    Ragged alone;
    alone.append(rest.first(size_t(length)));
    for (const auto &[name, values] : runModel(*one, "encode", alone)) {
      expected[name].insert(expected[name].end(), values.begin(), values.end());
    }
    rest = rest.subspan(size_t(length));
  }
  for (const int threads : {1, 2}) {
    for (const int64_t chunk : {0, 1, 50}) {
      for (const Schedule schedule :
           {Schedule::Automatic, Schedule::Chunked, Schedule::Cooperative}) {
        for (const bool profile : {false, true}) {
          auto session = Session::create(
              *model,
              {.threads = threads, .chunkTokens = chunk, .schedule = schedule, .profile = profile});
          ASSERT_TRUE(session.ok());
          EXPECT_EQ(runModel(*session, "encode", batch), expected)
              << threads << " threads, chunks of " << chunk;
        }
      }
    }
  }
}

TEST_P(RecurrentOracle, HasTheSameBitsWithLoopsSideBySideOrNot) {
  const std::string together = compileModel(oracles + GetParam());
  const std::string apart = compileModel(oracles + GetParam(), {"--disable-pass=group-loops"});
  ASSERT_FALSE(together.empty() || apart.empty());
  const Ragged batch = longerBatch(26);
  const auto expected = runBinary(apart, batch);
  ASSERT_FALSE(expected.empty());
  for (const std::string &path : {together, apart}) {
    for (const int threads : {1, 2, 3}) {
      EXPECT_EQ(runBinary(path, batch, "", threads), expected) << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, RecurrentOracle,
                         testing::Values("gnmt-like", "gru-additive", "gru-concat-local-p",
                                         "gru-last", "lstm-dot-local-m", "lstm-general",
                                         "lstm-none", "tanh-additive"));

// --- an artificial cell ----------------------------------------------------------------------

constexpr int vocabulary = 31;
constexpr int64_t width = 7;

/// Appends the results of the recurrence below for a sentence to the outputs by name.
static void appendCarried(std::span<const int32_t> ids, std::span<const float> table,
                          std::span<const float> hidden,
                          std::map<std::string, std::vector<float>> &expected) {
  const size_t n = ids.size();
  std::vector<double> mean(width);
  for (size_t row = 0; row < n; ++row) {
    for (size_t c = 0; c < width; ++c) {
      mean[c] += double(table[size_t(ids[row]) * width + c]) / double(n);
    }
  }
  for (const bool reversed : {false, true}) {
    const std::string suffix = reversed ? ".reversed" : "";
    std::vector<double> h = mean, sum = mean;
    std::vector<double> hs(n * width), xs(n * width), befores(n * width);
    for (size_t step = 0; step < n; ++step) {
      const size_t row = reversed ? n - 1 - step : step;
      std::vector<double> next(width);
      for (size_t c = 0; c < width; ++c) {
        const double now = double(table[size_t(ids[row]) * width + c]);
        double total = now;
        for (size_t k = 0; k < width; ++k) {
          total += h[k] * double(hidden[c * width + k]);
        }
        next[c] = std::tanh(total);
        befores[row * width + c] = sum[c];
        xs[row * width + c] = now;
        hs[row * width + c] = next[c];
        sum[c] += now;
      }
      h = next;
    }
    const auto append = [&](const std::string &name, const std::vector<double> &values) {
      expected[name + suffix].insert(expected[name + suffix].end(), values.begin(), values.end());
    };
    append("last", h);
    append("sum", sum);
    append("h", hs);
    append("x", xs);
    append("before", befores);
  }
}

/// h = tanh(x + U h), with the mean of the rows as its initial value; a sum of all x so far; steps
/// return h, x unchanged and the sum before the step.
TEST(Recurrence, CarriesWhatItsRegionSays) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 0.6F);
  std::vector<float> table(vocabulary * width), hidden(width * width);
  for (std::vector<float> *values : {&table, &hidden}) {
    std::generate(values->begin(), values->end(), [&] { return normal(random); });
  }
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Scope scope = model.scope();
  const Tensor x = scope.gather("table", entry.input("input_ids"), vocabulary, width);
  const Segments rows = entry.segments();
  const auto run = [&](bool reversed) {
    const Tensor mean = x.pool(transformer::Pooling::Mean, rows);
    return scope.recurrence({x}, {width, width}, rows,
                            [&](std::span<const Tensor> now, std::span<const Tensor> before) {
                              const Tensor h =
                                  (now[0] + scope.linear("hidden", before[0], width, Bias::No))
                                      .activate(transformer::Activation::Tanh);
                              return Recurrence{{h, before[1] + now[0]}, {h, now[0], before[1]}};
                            },
                            {.reversed = reversed, .initial = {mean, mean}});
  };
  for (const bool reversed : {false, true}) {
    const Recurrence result = run(reversed);
    const std::string suffix = reversed ? ".reversed" : "";
    entry.output("last" + suffix, result.carried[0]);
    entry.output("sum" + suffix, result.carried[1]);
    entry.output("h" + suffix, result.given[0]);
    entry.output("x" + suffix, result.given[1]);
    entry.output("before" + suffix, result.given[2]);
  }
  const TemporaryFolder folder;
  const std::string path = compileText(
      folder / "model.so", model.text(),
      {{"table.weight", {vocabulary, width}, table}, {"hidden.weight", {width, width}, hidden}});

  const Ragged batch = longerBatch(vocabulary);
  std::map<std::string, std::vector<float>> expected;
  std::span<const int32_t> rest = batch.ids;
  for (const int32_t length : batch.lengths) {
    appendCarried(rest.first(size_t(length)), table, hidden, expected);
    rest = rest.subspan(size_t(length));
  }
  for (const std::string &isa : runnableTargets(path)) {
    for (const int threads : {1, 2}) {
      const auto found = runBinary(path, batch, isa, threads);
      ASSERT_EQ(found.size(), expected.size());
      for (const auto &[name, values] : expected) {
        EXPECT_LT(largestDifference(found.at(name), values), 1e-4F) << name << " on " << isa;
      }
    }
  }
}

// --- concurrent loops ------------------------------------------------------------------------

/// Two recurrences over the same rows from both ends, and a third over the results of the first.
class SideBySide : public testing::Test {
protected:
  static constexpr int ids = 13;

  Result<Model> compiled(int64_t size, const std::vector<std::string> &disabled = {}) {
    ModelBuilder model("test");
    Entry entry = model.entry("encode");
    const Tensor x = model.scope().gather("table", entry.input("input_ids"), ids, size);
    const auto over = [&](const char *name, Tensor rows, bool reversed) {
      const Scope scope = model.scope(name);
      return scope
          .recurrence({rows}, {size}, entry.segments(),
                      [&](std::span<const Tensor> now, std::span<const Tensor> before) {
                        const Tensor h =
                            (now[0] + scope.linear("hidden", before[0], size, Bias::No))
                                .activate(transformer::Activation::Tanh);
                        return Recurrence{{h}, {h}};
                      },
                      {.reversed = reversed})
          .given[0];
    };
    const Tensor forwards = over("forwards", x, false);
    entry.output("a", forwards);
    entry.output("b", over("backwards", x, true));
    entry.output("c", over("again", forwards, false));
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 1 / std::sqrt(float(size)));
    std::vector<float> table(size_t(ids * size));
    std::vector<std::vector<float>> hidden(3, std::vector<float>(size_t(size * size)));
    std::generate(table.begin(), table.end(), [&] { return normal(random); });
    CompileRequest request = requestFor(folder / "model.so", model.text());
    request.tensors = {{"table.weight", {ids, size}, table}};
    for (size_t i = 0; i < hidden.size(); ++i) {
      std::generate(hidden[i].begin(), hidden[i].end(), [&] { return normal(random); });
      request.tensors.push_back(
          {std::array{"forwards", "backwards", "again"}[i] + std::string(".hidden.weight"),
           {size, size},
           hidden[i]});
    }
    request.disabledPasses = disabled;
    HEDDLE_TRY(compile(request).status);
    return Model::load(request.output);
  }

  /// Returns the threads on which the dispatches of a layer's loop ran.
  static std::set<int> threadsOf(const Session &session, const std::string &layer) {
    const std::vector<DispatchProfile> profile = session.profile();
    std::set<int> threads;
    for (const DispatchRun &run : session.trace()) {
      const DispatchProfile &dispatch = profile[run.dispatch];
      // A dispatch that runs once is before or after the loop.
      if (dispatch.calls > 1 && dispatch.name.starts_with(layer)) {
        threads.insert(run.thread);
      }
    }
    return threads;
  }

  static Session traced(const Model &model, int threads) {
    auto session =
        Session::create(model, {.threads = threads, .profile = true, .traceRuns = 10000});
    EXPECT_TRUE(session.ok()) << session.status().message();
    return *std::move(session);
  }

  const TemporaryFolder folder;
};

TEST_F(SideBySide, EachLoopHasAThread) {
  const auto model = compiled(128);
  ASSERT_TRUE(model.ok()) << model.status().message();
  Ragged batch = randomSentences(2, 20, ids, 3);
  batch.append(std::vector<int32_t>(31, 4));
  auto one = Session::create(*model);
  ASSERT_TRUE(one.ok());
  const auto expected = runModel(*one, "encode", batch);
  Session two = traced(*model, 2);
  EXPECT_EQ(runModel(two, "encode", batch), expected);
  const std::set<int> forwards = threadsOf(two, "forwards");
  const std::set<int> backwards = threadsOf(two, "backwards");
  EXPECT_EQ(forwards.size(), 1U);
  EXPECT_EQ(backwards.size(), 1U);
  EXPECT_NE(forwards, backwards);
  // It reads the first.
  EXPECT_EQ(threadsOf(two, "again").size(), 2U);
  // A third thread has no loop: two threads are faster than three that synchronise at every step.
  Session three = traced(*model, 3);
  EXPECT_EQ(runModel(three, "encode", batch), expected);
  EXPECT_EQ(threadsOf(three, "forwards").size(), 1U);
}

TEST_F(SideBySide, AllThreadsShareStepsThatAreLarge) {
  const auto model = compiled(1024);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Ragged batch = randomSentences(2, 6, ids, 3);
  auto one = Session::create(*model);
  ASSERT_TRUE(one.ok());
  const auto expected = runModel(*one, "encode", batch);
  // One of three threads would be idle.
  Session three = traced(*model, 3);
  EXPECT_EQ(runModel(three, "encode", batch), expected);
  EXPECT_EQ(threadsOf(three, "forwards").size(), 3U);
  Session two = traced(*model, 2);
  EXPECT_EQ(runModel(two, "encode", batch), expected);
  EXPECT_EQ(threadsOf(two, "forwards").size(), 1U);
}

TEST_F(SideBySide, ManySequencesAreChunks) {
  const auto model = compiled(128);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Ragged batch = randomSentences(40, 20, ids, 3);
  auto one = Session::create(*model);
  ASSERT_TRUE(one.ok());
  const auto expected = runModel(*one, "encode", batch);
  Session two = traced(*model, 2);
  EXPECT_EQ(runModel(two, "encode", batch), expected);
  // Each thread has its own chunks, with all loops, unless one of them was late and got none.
  EXPECT_EQ(threadsOf(two, "forwards"), threadsOf(two, "backwards"));
}

TEST_F(SideBySide, WhatNobodyAsksForIsLeftOut) {
  const auto model = compiled(128);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Ragged batch = randomSentences(3, 20, ids, 3);
  auto one = Session::create(*model);
  ASSERT_TRUE(one.ok());
  for (const auto &[name, expected] : runModel(*one, "encode", batch)) {
    Session two = traced(*model, 2);
    std::vector<float> values(expected.size());
    const Input input{"input_ids", batch.ids};
    const Output output{name, values};
    ASSERT_EQ(two.run("encode", batch.lengths, {&input, 1}, {&output, 1}).message(), "");
    EXPECT_EQ(values, expected) << name;
    EXPECT_EQ(threadsOf(two, "forwards").empty(), name == "b");
    EXPECT_EQ(threadsOf(two, "backwards").empty(), name != "b");
    EXPECT_EQ(threadsOf(two, "again").empty(), name != "c");
  }
}

TEST_F(SideBySide, WithoutThePassStepsAreShared) {
  const auto model = compiled(1024, {"group-loops"});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Ragged batch = randomSentences(2, 6, ids, 3);
  Session two = traced(*model, 2);
  runModel(two, "encode", batch);
  EXPECT_EQ(threadsOf(two, "forwards"), threadsOf(two, "backwards"));
}

// --- misuse of the builder -------------------------------------------------------------------

using Step = std::function<Recurrence(std::span<const Tensor>, std::span<const Tensor>)>;

/// Returns the builder's error for a recurrence over x [t, 4] with such a step.
std::string errorOf(std::vector<int64_t> carried, const std::function<Step(Entry &, Tensor)> &make,
                    bool hasInput = true) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Tensor x = entry.input("x", 4);
  std::vector<Tensor> inputs;
  if (hasInput) {
    inputs.push_back(x);
  }
  const Recurrence result =
      model.scope("cell").recurrence(inputs, std::move(carried), entry.segments(), make(entry, x));
  EXPECT_TRUE(result.carried.empty());
  EXPECT_TRUE(result.given.empty());
  return std::string(model.status().message());
}

TEST(Recurrence, SaysWhatIsWrongWithAStep) {
  const auto identity = [](Entry &, Tensor) -> Step {
    return [](auto, auto before) { return Recurrence{{before[0]}, {}}; };
  };
  EXPECT_NE(errorOf({4}, identity, false).find("0 inputs and 1 carried values, expected at least"),
            std::string::npos);
  EXPECT_NE(errorOf({}, identity).find("1 inputs and 0 carried values, expected at least one"),
            std::string::npos);
  EXPECT_NE(errorOf({0}, identity).find("expected at least one of each, of positive width"),
            std::string::npos);
  const auto nothing = [](Entry &, Tensor) -> Step {
    return [](auto, auto) { return Recurrence(); };
  };
  EXPECT_NE(errorOf({4}, nothing).find("a step with 0 carried values, expected 1"),
            std::string::npos);
  const auto outside = [](Entry &, Tensor x) -> Step {
    return [x](auto, auto) { return Recurrence{{x}, {}}; };
  };
  EXPECT_NE(errorOf({4}, outside).find("what a step gives is from outside of it"),
            std::string::npos);
  const auto empty = [](Entry &, Tensor) -> Step {
    return [](auto, auto) { return Recurrence{{Tensor()}, {}}; };
  };
  EXPECT_NE(errorOf({4}, empty).find("what a step gives is empty or of another model"),
            std::string::npos);
  // The verifier checks rows from outside, because it knows memories.
  ModelBuilder mixed("test");
  Entry outer = mixed.entry("encode");
  const Tensor x = outer.input("x", 4);
  outer.output("y",
               mixed.scope("cell")
                   .recurrence({x}, {4}, outer.segments(),
                               [&](auto, auto before) { return Recurrence{{before[0] + x}, {}}; })
                   .carried[0]);
  EXPECT_NE(mixed.text().status().message().find("in a recurrence: expects values of the step"),
            std::string::npos);
  // So is another width than the carried value's.
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Recurrence result =
      model.scope("cell").recurrence({entry.input("x", 4)}, {5}, entry.segments(),
                                     [](auto now, auto) { return Recurrence{{now[0]}, {}}; });
  entry.output("y", result.carried[0]);
  EXPECT_NE(model.text().status().message().find("expects the types of the carried values"),
            std::string::npos);
}

TEST(Concat, SaysWhatIsWrongWithItsRows) {
  ModelBuilder none("test");
  none.entry("encode");
  EXPECT_FALSE(none.scope("both").concat({}).valid());
  EXPECT_NE(none.status().message().find("no rows to put side by side, expected some"),
            std::string::npos);
  ModelBuilder heads("test");
  Entry entry = heads.entry("encode");
  EXPECT_FALSE(heads.scope("both").concat({entry.input("x", 4).splitHeads(2)}).valid());
  EXPECT_NE(heads.status().message().find("one of several rows has shape [?, 2, 2], expected rows"),
            std::string::npos);
}

} // namespace
} // namespace heddle
