// SPDX-License-Identifier: Apache-2.0
///
/// Decoding of the test model, compared with a plain computation, and the same bits for every
/// division of the work.
#include "tests/runtime/Session/DecoderModel.h"

#include <cmath>

using namespace heddle;
using fixture::vocabulary;
using fixture::width;

namespace {
using Row = std::vector<double>;
} // namespace

/// Returns row `index` of a parameter of the model.
static Row parameterRow(size_t parameter, int64_t index, int64_t columns) {
  static const fixture::ModelSpec spec = fixture::generatingModel();
  const std::vector<float> &values = spec.parameters[parameter].values;
  return {values.begin() + index * columns, values.begin() + (index + 1) * columns};
}

static std::vector<Row> embed(size_t parameter, const Tokens &tokens) {
  std::vector<Row> rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    rows.push_back(parameterRow(parameter, tokens[i], width));
    for (double &value : rows.back()) {
      value *= 1 + static_cast<double>(i) / 100;
    }
  }
  return rows;
}

/// Returns the result of a query's attention to the first `seen` of these rows.
static Row attend(const Row &query, const std::vector<Row> &rows, size_t seen) {
  Row result(width);
  constexpr int head = width / fixture::heads;
  for (int first = 0; first < width; first += head) {
    double total = 0;
    for (size_t p = 0; p < seen; ++p) {
      double sum = 0;
      for (int c = first; c < first + head; ++c) {
        sum += query[c] * rows[p][c];
      }
      const double weight = 1 / (1 + sum * sum);
      total += weight;
      for (int c = first; c < first + head; ++c) {
        result[c] += weight * rows[p][c];
      }
    }
    for (int c = first; c < first + head; ++c) {
      result[c] /= total;
    }
  }
  return result;
}

TEST(PagedDecoder, AgreesWithAPlainComputation) {
  std::mt19937 random(1);
  const Tokens source = randomTokens(random, 37, fixture::words);
  const Tokens target = randomTokens(random, 35, vocabulary);
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder();
  const std::vector<float> logits = logitsOf(*decoder, source, target, {35});
  const std::vector<Row> memory = embed(0, source);
  const std::vector<Row> rows = embed(1, target);
  for (size_t r = 0; r < rows.size(); ++r) {
    const Row state = attend(attend(rows[r], rows, r + 1), memory, memory.size());
    Row expected(vocabulary);
    for (int64_t k = 0; k < width; ++k) {
      const Row weights = parameterRow(2, k, vocabulary);
      for (size_t c = 0; c < vocabulary; ++c) {
        expected[c] += state[static_cast<size_t>(k)] * weights[c];
      }
    }
    for (size_t c = 0; c < vocabulary; ++c) {
      ASSERT_NEAR(logits[r * vocabulary + c], expected[c], 1e-5) << r << ' ' << c;
    }
  }
  EXPECT_EQ(decoder->vocabulary(), vocabulary);
  EXPECT_EQ(decoder->longestSource(), fixture::longestSource);
  EXPECT_EQ(decoder->longestTarget(), fixture::longestTarget);
  EXPECT_EQ(decoder->historyBytesPerPosition(), 2u * width * sizeof(float));
  EXPECT_EQ(decoder->memoryBytesPerPosition(), 2u * width * sizeof(float));
}

TEST(PagedDecoder, ABatchGivesTheSameBitsAsEachAlone) {
  std::mt19937 random(3);
  for (const int threads : {1, 2}) {
    const std::unique_ptr<PagedDecoder> decoder =
        makeDecoder({.threads = threads, .schedule = Schedule::Cooperative});
    std::vector<Tokens> sources;
    std::vector<Tokens> targets;
    std::vector<SourceView> views;
    for (int i = 0; i < 60; ++i) {
      sources.push_back(randomTokens(random, random() % 40 + 1, fixture::words));
      targets.push_back(randomTokens(random, random() % 20 + 1, vocabulary));
    }
    views.assign(sources.begin(), sources.end());
    std::vector<SourceId> ids(views.size());
    ASSERT_EQ(decoder->encode(views, ids).message(), "");
    std::vector<Extension> extensions;
    for (size_t i = 0; i < ids.size(); ++i) {
      extensions.push_back({*decoder->start(ids[i]), targets[i]});
    }
    Recorder together;
    ASSERT_EQ(decoder->decode(extensions, together).message(), "");
    EXPECT_EQ(together.threads, testsCpu() ? threads : 1);
    int64_t row = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto count = static_cast<int64_t>(targets[i].size());
      EXPECT_EQ(together.rows(row, count),
                logitsOf(*decoder, sources[i], targets[i], {targets[i].size()}));
      row += count;
      decoder->release(extensions[i].hypothesis);
      decoder->release(ids[i]);
    }
    EXPECT_EQ(decoder->blocksInUse(), 0);
  }
}

/// Returns the weight that a row gives to a position, including the second head's columns.
static std::vector<float> attentionOf(PagedDecoder &decoder, const Tokens &source,
                                      const Tokens &target, AttentionWeights &weights,
                                      Recorder &recorder) {
  const SourceId id = encodeOne(decoder, source);
  const HypothesisId hypothesis = *decoder.start(id);
  const Extension extension{hypothesis, target};
  EXPECT_EQ(decoder.decode({&extension, 1}, recorder, &weights).message(), "");
  decoder.release(hypothesis);
  decoder.release(id);
  return weights.values;
}

TEST(PagedDecoder, GivesAttentionWeights) {
  std::mt19937 random(5);
  const Tokens longer = randomTokens(random, 21, fixture::words);
  const Tokens shorter = randomTokens(random, 4, fixture::words);
  const Tokens target = randomTokens(random, 30, vocabulary);
  for (const int threads : {1, 2}) {
    const std::unique_ptr<PagedDecoder> decoder =
        makeDecoder({.threads = threads, .schedule = Schedule::Cooperative});
    AttentionWeights alone;
    Recorder recorder;
    const std::vector<float> values = attentionOf(*decoder, longer, target, alone, recorder);
    EXPECT_EQ(alone.heads, fixture::heads);
    EXPECT_EQ(alone.pitch, 21);
    ASSERT_EQ(values.size(), 30u * 2 * 21);
    EXPECT_EQ(recorder.logits, logitsOf(*decoder, longer, target, {30}));
    const std::vector<float> other = attentionOf(*decoder, shorter, target, alone, recorder);
    EXPECT_EQ(alone.pitch, 4);
    // Together, rows of the shorter source end in zeros.
    const std::vector<SourceId> ids{encodeOne(*decoder, shorter), encodeOne(*decoder, longer)};
    const Extension extensions[] = {{*decoder->start(ids[0]), target},
                                    {*decoder->start(ids[1]), target}};
    AttentionWeights both;
    ASSERT_EQ(decoder->decode(extensions, recorder, &both).message(), "");
    ASSERT_EQ(both.values.size(), 60u * 2 * 21);
    for (size_t r = 0; r < 60; ++r) {
      for (size_t p = 0; p < 21; ++p) {
        const float found = both.values[r * 21 + p];
        EXPECT_EQ(found, p < 4 ? other[r * 4 + p] : 0.0f);
        EXPECT_EQ(both.values[(r + 60) * 21 + p], values[r * 21 + p]);
      }
    }
  }
}

/// Returns the test model with its attention weights as an observed output of the given kind.
static fixture::ModelSpec observedModel(manifest::Observed kind) {
  fixture::ModelSpec spec = fixture::generatingModel();
  fixture::EntrySpec &decode = spec.entries[1];
  std::swap(decode.outputs[0], decode.outputs[1]);
  std::swap(decode.buffers[10].index, decode.buffers[11].index);
  decode.outputs[1].observed = kind;
  return spec;
}

TEST(PagedDecoder, GivesWhatIsObserved) {
  std::mt19937 random(8);
  const Tokens longer = randomTokens(random, 21, fixture::words);
  const Tokens shorter = randomTokens(random, 4, fixture::words);
  const Tokens target = randomTokens(random, 30, vocabulary);
  const Model model = loadModel(observedModel(manifest::Observed::Cross), "observed.so");
  const EntryInfo &decode = model.entries()[1];
  ASSERT_EQ(decode.outputs.size(), 1u);
  ASSERT_EQ(decode.observed.size(), 1u);
  EXPECT_EQ(decode.observed[0].observed, Observed::Cross);
  EXPECT_EQ(decode.dispatches, 6);
  EXPECT_EQ(decode.observedDispatches, 1);
  const std::unique_ptr<PagedDecoder> usual = makeDecoder();
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder({.threads = 2}, model);
  const std::vector<SourceId> ids{encodeOne(*decoder, shorter), encodeOne(*decoder, longer)};
  const Extension extensions[] = {{*decoder->start(ids[0]), target},
                                  {*decoder->start(ids[1]), target}};
  Recorder recorder;
  std::vector<ObservedWeights> observed(1);
  ASSERT_EQ(decoder->decode(extensions, recorder, {.observed = observed}).message(), "");
  const std::vector<SourceId> others{encodeOne(*usual, shorter), encodeOne(*usual, longer)};
  const Extension same[] = {{*usual->start(others[0]), target}, {*usual->start(others[1]), target}};
  Recorder expectedLogits;
  AttentionWeights expected;
  ASSERT_EQ(usual->decode(same, expectedLogits, &expected).message(), "");
  EXPECT_EQ(recorder.logits, expectedLogits.logits);
  EXPECT_EQ(observed[0].weights.heads, fixture::heads);
  EXPECT_EQ(observed[0].weights.pitch, 21);
  EXPECT_EQ(observed[0].weights.values, expected.values);
  // A step without it has another plan, and a request for a missing output changes nothing.
  observed[0].number = 1;
  EXPECT_EQ(decoder->decode(extensions, recorder, {.observed = observed}).message(),
            "observed output 1 is asked for, entry \"decode\" has 1");
  EXPECT_EQ(decoder->length(extensions[0].hypothesis), 30);
}

TEST(PagedDecoder, HandsOutLogitsThatAreNotComputedLast) {
  fixture::ModelSpec spec = fixture::generatingModel();
  std::swap(spec.entries[1].dispatches[4], spec.entries[1].dispatches[5]);
  std::swap(spec.entries[1].dispatches[5], spec.entries[1].dispatches[6]);
  ASSERT_EQ(spec.entries[1].dispatches[5].name, "projection");
  const Model model = loadModel(spec, "attention-last.so");
  std::mt19937 random(6);
  const Tokens source = randomTokens(random, 9, fixture::words);
  const Tokens target = randomTokens(random, 40, vocabulary);
  for (const int threads : {1, 2}) {
    const std::unique_ptr<PagedDecoder> usual = makeDecoder();
    const std::unique_ptr<PagedDecoder> decoder =
        makeDecoder({.threads = threads, .schedule = Schedule::Cooperative}, model);
    AttentionWeights weights;
    AttentionWeights expected;
    Recorder recorder;
    Recorder expectedLogits;
    EXPECT_EQ(attentionOf(*decoder, source, target, weights, recorder),
              attentionOf(*usual, source, target, expected, expectedLogits));
    EXPECT_EQ(recorder.logits, expectedLogits.logits);
  }
}

/// Checks that the logits of a model are bitwise equal to those of the usual one.
static void expectUsualLogits(const fixture::ModelSpec &spec, const std::string &name) {
  const Model model = loadModel(spec, name);
  std::mt19937 random(8);
  const Tokens source = randomTokens(random, 9, fixture::words);
  const Tokens target = randomTokens(random, 40, vocabulary);
  const std::unique_ptr<PagedDecoder> usual = makeDecoder();
  for (const int threads : {1, 2}) {
    const std::unique_ptr<PagedDecoder> decoder = makeDecoder({.threads = threads}, model);
    EXPECT_EQ(logitsOf(*decoder, source, target, {30, 10}),
              logitsOf(*usual, source, target, {30, 10}));
  }
}

// A chunk of logits begins and ends inside columns of the grid.
TEST(PagedDecoder, ComputesLogitsOfGroups) {
  const fixture::ModelSpec spec = fixture::groupedModel();
  ASSERT_EQ(spec.entries[1].dispatches.back().name, "projection");
  expectUsualLogits(spec, "grouped.so");
}

// The columns for a chunk of logits are unknown: the projection runs as a whole.
TEST(PagedDecoder, HandsOutLogitsOfUnknownColumns) {
  fixture::ModelSpec spec = fixture::generatingModel();
  ASSERT_EQ(spec.entries[1].dispatches.back().name, "projection");
  spec.entries[1].dispatches.back().columnElements = 0;
  expectUsualLogits(spec, "unknown-columns.so");
}

TEST(PagedDecoder, DoesNotComputeChunksThatAreNotWanted) {
  std::mt19937 random(7);
  const Tokens source = randomTokens(random, 9, fixture::words);
  const Tokens target = randomTokens(random, 20, vocabulary);
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder();
  const SourceId id = encodeOne(*decoder, source);
  const Extension extension{*decoder->start(id), target};
  Recorder recorder;
  recorder.unwanted = 1;
  ASSERT_EQ(decoder->decode({&extension, 1}, recorder).message(), "");
  const std::vector<float> all = logitsOf(*decoder, source, target, {20});
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t token = i % vocabulary;
    const bool wanted = token / logitsChunk != 1;
    ASSERT_EQ(recorder.logits[i], wanted ? all[i] : -1.0f);
  }
}

TEST(PagedDecoder, EncodeAlsoGivesOutputs) {
  std::mt19937 random(8);
  const std::unique_ptr<PagedDecoder> decoder =
      makeDecoder({.threads = 2, .schedule = Schedule::Cooperative});
  const Tokens source = randomTokens(random, 30, fixture::words);
  const SourceView view = source;
  SourceId id{};
  std::vector<float> states(source.size() * width);
  const Output output{"encoder", states};
  ASSERT_EQ(decoder->encode({&view, 1}, {&id, 1}, {&output, 1}).message(), "");
  const std::vector<Row> expected = embed(0, source);
  for (size_t i = 0; i < states.size(); ++i) {
    EXPECT_NEAR(states[i], expected[i / width][i % width], 1e-6);
  }
}
