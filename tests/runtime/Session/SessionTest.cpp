// SPDX-License-Identifier: Apache-2.0
///
/// Runs of the test model, compared with a naive twin, the same bits for every division of the
/// work, and every misuse.
#include "heddle/Session.h"

#include "heddle/Abi.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Session/TestDevice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace heddle;
using fixture::width;

static Model loadFixture() {
  static const std::string path = [] {
    std::string name = fixture::temporaryPath("session.so");
    EXPECT_EQ(fixture::write(fixture::withDevice(fixture::model()), name).message(), "");
    return name;
  }();
  Result<Model> model = Model::load(path, onTestDevice());
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

static Session makeSession(const SessionOptions &options = {}) {
  Result<Session> session = Session::create(loadFixture(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

namespace {
/// A random batch.
struct Work {
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;
  std::vector<int32_t> typeIds;

  Work(unsigned seed, size_t sequences, int32_t longest) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < sequences; ++i) {
      lengths.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(longest) + 1));
    }
    for (int32_t i = std::accumulate(lengths.begin(), lengths.end(), 0); i > 0; --i) {
      ids.push_back(static_cast<int32_t>(random() % fixture::words));
      typeIds.push_back(static_cast<int32_t>(random() % fixture::types));
    }
  }
  size_t tokens() const { return ids.size(); }
};

/// Both outputs of "encode".
struct Outputs {
  std::vector<float> hidden;
  std::vector<float> pooled;
  bool operator==(const Outputs &) const = default;
};
} // namespace

static Outputs encode(Session &session, const Work &work, bool withTypes = true) {
  Outputs result{std::vector<float>(work.tokens() * width),
                 std::vector<float>(work.lengths.size() * width)};
  std::vector<Input> inputs{{"input_ids", work.ids}};
  if (withTypes) {
    inputs.push_back({"token_type_ids", work.typeIds});
  }
  const std::array<Output, 2> outputs{
      {{"last_hidden_state", result.hidden}, {"pooler_output", result.pooled}}};
  const Status status = session.run("encode", work.lengths, inputs, outputs);
  EXPECT_EQ(status.message(), "");
  return result;
}

/// Computes one row of the dense layer minus its mean, in double precision.
static std::vector<double> dense(const std::vector<double> &row) {
  const fixture::ModelSpec spec = fixture::model();
  std::vector<double> result(width);
  double mean = 0;
  for (size_t c = 0; c < width; ++c) {
    result[c] = spec.parameters[3].values[c];
    for (size_t k = 0; k < width; ++k) {
      result[c] += row[k] * spec.parameters[2].values[k * width + c];
    }
    mean += result[c] / width;
  }
  for (double &value : result) {
    value -= mean;
  }
  return result;
}

/// Computes the kernels' results in double precision, one loop after another.
static Outputs reference(const Work &work) {
  const fixture::ModelSpec spec = fixture::model();
  Outputs result;
  size_t begin = 0;
  for (const int32_t signedLength : work.lengths) {
    const auto length = static_cast<size_t>(signedLength);
    std::vector<double> pooled(width);
    for (size_t r = 0; r < length; ++r) {
      std::vector<double> mixed(width);
      for (size_t k = 0; k < length; ++k) {
        const size_t word = static_cast<size_t>(work.ids[begin + k]) * width;
        const size_t type = static_cast<size_t>(work.typeIds[begin + k]) * width;
        const double factor = 1.0 / static_cast<double>(1 + (k > r ? k - r : r - k));
        for (size_t c = 0; c < width; ++c) {
          mixed[c] += factor * (double(spec.parameters[0].values[word + c]) +
                                double(spec.parameters[1].values[type + c]));
        }
      }
      const std::vector<double> row = dense(mixed);
      for (size_t c = 0; c < width; ++c) {
        result.hidden.push_back(static_cast<float>(row[c]));
        pooled[c] += row[c] / static_cast<double>(length);
      }
    }
    result.pooled.insert(result.pooled.end(), pooled.begin(), pooled.end());
    begin += length;
  }
  return result;
}

static void expectNear(const std::vector<float> &actual, const std::vector<float> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
  }
}

TEST(Session, ComputesWhatTheGraphSays) {
  Session session = makeSession();
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Work work(seed, seed * 3 + 1, 40);
    const Outputs actual = encode(session, work);
    const Outputs expected = reference(work);
    expectNear(actual.hidden, expected.hidden);
    expectNear(actual.pooled, expected.pooled);
  }
}

TEST(Session, EveryDivisionGivesTheSameBits) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Work work(seed, std::array<size_t, 6>{1, 2, 3, 9, 30, 70}[seed], 1 + 50 * int(seed));
    Session single = makeSession({.schedule = Schedule::Cooperative});
    const Outputs expected = encode(single, work);
    for (int threads = 1; threads <= 4; ++threads) {
      for (const Schedule schedule :
           {Schedule::Automatic, Schedule::Chunked, Schedule::Cooperative}) {
        for (const int64_t chunkTokens : {0, 1, 50}) {
          Session session =
              makeSession({.threads = threads, .chunkTokens = chunkTokens, .schedule = schedule});
          EXPECT_EQ(encode(session, work), expected)
              << seed << ' ' << threads << ' ' << int(schedule) << ' ' << chunkTokens;
        }
      }
    }
  }
}

TEST(Session, ASequenceAloneGivesTheSameBits) {
  Session session = makeSession({.threads = 2});
  const Work work(5, 20, 60);
  const Outputs together = encode(session, work);
  size_t begin = 0;
  for (size_t i = 0; i < work.lengths.size(); ++i) {
    const auto length = static_cast<size_t>(work.lengths[i]);
    Work alone(0, 0, 1);
    alone.lengths = {work.lengths[i]};
    alone.ids.assign(work.ids.begin() + long(begin), work.ids.begin() + long(begin + length));
    alone.typeIds.assign(work.typeIds.begin() + long(begin),
                         work.typeIds.begin() + long(begin + length));
    const Outputs result = encode(session, alone);
    EXPECT_TRUE(std::equal(result.hidden.begin(), result.hidden.end(),
                           together.hidden.begin() + long(begin * width)));
    EXPECT_TRUE(std::equal(result.pooled.begin(), result.pooled.end(),
                           together.pooled.begin() + long(i * width)));
    begin += length;
  }
}

TEST(Session, AbsentInputsAreZero) {
  Session session = makeSession();
  Work work(3, 4, 10);
  const Outputs absent = encode(session, work, false);
  work.typeIds.assign(work.tokens(), 0);
  EXPECT_EQ(encode(session, work), absent);
}

/// Consecutive runs that differ in one respect: the layout of one must not be reused for the next
/// if it depends on that.
TEST(Session, EveryRunHasItsOwnPlaces) {
  Session session = makeSession();
  const Work work(21, 5, 20);
  const Outputs expected = encode(session, work);
  const size_t count = expected.hidden.size();
  const std::array<Input, 2> inputs{{{"input_ids", work.ids}, {"token_type_ids", work.typeIds}}};
  // Aligned, so that rows are computed in the caller's memory, and off by one float.
  constexpr size_t alignment = HEDDLE_ALIGNMENT / sizeof(float);
  std::vector<float> memory(4 * (count + 2 * alignment), -1.0F);
  const size_t past = reinterpret_cast<uintptr_t>(memory.data()) / sizeof(float) % alignment;
  const size_t pitch = (count + 2 * alignment - 1) / alignment * alignment;
  const size_t first = alignment - past;
  for (const size_t place : {first, first + pitch, first + 2 * pitch + 1, first}) {
    std::fill(memory.begin(), memory.end(), -1.0F);
    const Output output{"last_hidden_state", std::span(memory).subspan(place, count)};
    ASSERT_EQ(session.run("encode", work.lengths, inputs, {&output, 1}).message(), "");
    EXPECT_EQ(std::vector<float>(output.values.begin(), output.values.end()), expected.hidden);
    // Nothing else is written, in particular not the memory of the previous run.
    EXPECT_EQ(static_cast<size_t>(std::count(memory.begin(), memory.end(), -1.0F)),
              memory.size() - count);
  }
  // The same numbers of tokens and sequences, with another maximum length.
  Work even = work;
  const auto tokens = static_cast<int32_t>(work.tokens());
  even.lengths.assign(5, tokens / 5);
  even.lengths.back() += tokens % 5;
  Session fresh = makeSession();
  EXPECT_EQ(encode(session, even), encode(fresh, even));
  // Fewer sequences, and the first batch again.
  even.lengths = {tokens - 1, 1};
  EXPECT_EQ(encode(session, even), encode(fresh, even));
  EXPECT_EQ(encode(session, work), expected);
}

TEST(Session, ComputesOnlyWhatIsAskedFor) {
  Session session = makeSession({.profile = true});
  const Work work(9, 12, 30);
  const Outputs both = encode(session, work);
  EXPECT_EQ(session.profile().size(), 4u);
  for (const int offset : {0, 1}) {
    session.resetProfile();
    EXPECT_TRUE(session.profile().empty());
    // One float off, so that the rows are not aligned.
    std::vector<float> hidden(both.hidden.size() + 1);
    const Input input{"input_ids", work.ids};
    const Output output{"last_hidden_state",
                        std::span(hidden).subspan(size_t(offset), both.hidden.size())};
    const std::array<Input, 2> inputs{{input, {"token_type_ids", work.typeIds}}};
    ASSERT_EQ(session.run("encode", work.lengths, inputs, {&output, 1}).message(), "");
    EXPECT_TRUE(std::equal(both.hidden.begin(), both.hidden.end(), output.values.begin()));
    EXPECT_EQ(session.profile().size(), 3u);
  }
  std::vector<float> pooled(both.pooled.size());
  const Output output{"pooler_output", pooled};
  const std::array<Input, 2> inputs{{{"input_ids", work.ids}, {"token_type_ids", work.typeIds}}};
  ASSERT_EQ(session.run("encode", work.lengths, inputs, {&output, 1}).message(), "");
  EXPECT_EQ(pooled, both.pooled);
}

TEST(Session, Profiles) {
  for (const Schedule schedule : {Schedule::Chunked, Schedule::Cooperative}) {
    Session session = makeSession({.threads = 2, .schedule = schedule, .profile = true});
    const Work work(1, 16, 40);
    encode(session, work);
    const std::vector<DispatchProfile> profile = session.profile();
    ASSERT_EQ(profile.size(), 4u);
    EXPECT_EQ(profile[1].entry, "encode");
    EXPECT_EQ(profile[1].name, "mixture");
    EXPECT_EQ(profile[1].kernel, "mix");
    EXPECT_GE(profile[1].calls, 1u);
    EXPECT_GT(profile[1].seconds, 0);
    double total = 0;
    for (const DispatchProfile &each : profile) {
      total += each.flops;
    }
    EXPECT_NEAR(total, session.model().findEntry("encode")->flops(work.lengths), 1);
  }
}

TEST(Session, EmptyBatchesDoNothing) {
  Session session = makeSession({.threads = 2});
  const std::array<Input, 1> inputs{{{"input_ids", std::span<const int32_t>()}}};
  const std::array<Output, 1> outputs{{{"pooler_output", {}}}};
  EXPECT_EQ(session.run("encode", {}, inputs, outputs).message(), "");
  const Work work(1, 2, 5);
  const Input input{"input_ids", work.ids};
  EXPECT_EQ(session.run("encode", work.lengths, {&input, 1}, {}).message(), "");
}

TEST(Session, DescribesEntries) {
  const Model model = loadFixture();
  ASSERT_EQ(model.entries().size(), 2u);
  const EntryInfo &entry = *model.findEntry("encode");
  EXPECT_EQ(entry.inputs[1].name, "token_type_ids");
  EXPECT_TRUE(entry.inputs[1].optional);
  EXPECT_EQ(entry.inputs[0].limit, fixture::words);
  EXPECT_EQ(entry.inputs[0].element, ElementType::I32);
  EXPECT_EQ(entry.outputs[0].shape, (std::vector<int64_t>{tokensDimension, width}));
  EXPECT_EQ(entry.outputs[1].shape, (std::vector<int64_t>{sequencesDimension, width}));
  EXPECT_EQ(entry.maxLength, fixture::longest);
  EXPECT_EQ(entry.arenaBytesPerToken, 2 * width * sizeof(float));
  EXPECT_EQ(model.parameters()[0].name, "words");
  EXPECT_EQ(model.parameters()[0].shape, (std::vector<int64_t>{fixture::words, width}));
  EXPECT_EQ(model.precision(), "f32");
  EXPECT_EQ(model.cachePrecision(), "none");
  EXPECT_TRUE(model.keptLayers().empty());
  EXPECT_EQ(model.modelType(), "test");
  EXPECT_EQ(model.producer(), "fixture");
  EXPECT_EQ(model.sourceHash().size(), 32u);
  EXPECT_EQ(model.reportSummary(), std::vector<std::string>{"nothing to optimise"});
  EXPECT_EQ(model.verifyWeights().message(), "");
  EXPECT_GT(model.fileSize(), model.weightsSize());
  EXPECT_EQ(model.findEntry("decode"), nullptr);
}

TEST(Session, SaysWhatWasKept) {
  fixture::ModelSpec spec = fixture::model();
  spec.precision = "int4";
  spec.kept = {{"attention.self", "int8", 18, 1269504}, {"layer.4", "bf16", 6, 12}};
  const std::string path = fixture::temporaryPath("kept.so");
  ASSERT_EQ(fixture::write(spec, path).message(), "");
  const Model model = *Model::load(path);
  EXPECT_EQ(model.precision(), "int4");
  ASSERT_EQ(model.keptLayers().size(), 2u);
  EXPECT_EQ(model.keptLayers()[0].layers, "attention.self");
  EXPECT_EQ(model.keptLayers()[0].precision, "int8");
  EXPECT_EQ(model.keptLayers()[0].tensors, 18);
  EXPECT_EQ(model.keptLayers()[0].bytes, 1269504);
  EXPECT_EQ(model.keptLayers()[1].layers, "layer.4");
}

namespace {
/// An invalid call of run() and the expected error.
struct Misuse {
  const char *entry;
  std::vector<int32_t> lengths;
  std::vector<std::pair<const char *, std::vector<int32_t>>> inputs;
  std::vector<std::pair<const char *, size_t>> outputs;
  StatusCode code;
  const char *message;
};
} // namespace

static const Misuse misuses[] = {
    {"decode",
     {1},
     {},
     {},
     StatusCode::NotFound,
     "session.so: no entry \"decode\", there are \"encode\", \"embed\""},
    {"encode",
     {2, 0},
     {{"input_ids", {1, 2}}},
     {},
     StatusCode::InvalidArgument,
     "entry \"encode\": sequence 2 has 0 tokens, expected at least 1"},
    {"encode",
     {-3},
     {},
     {},
     StatusCode::InvalidArgument,
     "entry \"encode\": sequence 1 has -3 tokens, expected at least 1"},
    {"encode",
     {1, 301},
     {},
     {},
     StatusCode::OutOfRange,
     "entry \"encode\": sequence 2 has 301 tokens, the model allows at most 300"},
    {"encode",
     {2, 1},
     {{"input_ids", {1, 2}}},
     {},
     StatusCode::InvalidArgument,
     "entry \"encode\": input \"input_ids\" has 2 values, the lengths add up to 3"},
    {"encode",
     {2, 3},
     {{"input_ids", {1, 2, 3, 50, 4}}},
     {},
     StatusCode::OutOfRange,
     "entry \"encode\": input \"input_ids\" has the value 50 at position 4 (sequence 2, token 2), "
     "expected 0 to 49"},
    {"encode",
     {1},
     {{"input_ids", {-1}}},
     {},
     StatusCode::OutOfRange,
     "has the value -1 at position 1 (sequence 1, token 1), expected 0 to 49"},
    {"encode",
     {1},
     {{"input_ids", {1}}, {"token_type_ids", {2}}},
     {},
     StatusCode::OutOfRange,
     "input \"token_type_ids\" has the value 2"},
    {"encode",
     {1},
     {{"ids", {1}}},
     {},
     StatusCode::NotFound,
     "entry \"encode\": no input \"ids\", there are \"input_ids\", \"token_type_ids\""},
    {"encode",
     {1},
     {},
     {},
     StatusCode::InvalidArgument,
     "entry \"encode\": input \"input_ids\" is missing"},
    {"encode",
     {1},
     {{"input_ids", {1}}, {"input_ids", {1}}},
     {},
     StatusCode::InvalidArgument,
     "input \"input_ids\" is given twice"},
    {"encode",
     {1},
     {{"input_ids", {1}}},
     {{"logits", 1}},
     StatusCode::NotFound,
     "entry \"encode\": no output \"logits\", there are \"last_hidden_state\", \"pooler_output\""},
    {"encode",
     {2},
     {{"input_ids", {1, 2}}},
     {{"last_hidden_state", 65}},
     StatusCode::InvalidArgument,
     "output \"last_hidden_state\" has room for 65 floats, expected 2 rows of 32"},
    {"encode",
     {2},
     {{"input_ids", {1, 2}}},
     {{"pooler_output", 32}, {"pooler_output", 32}},
     StatusCode::InvalidArgument,
     "output \"pooler_output\" is given twice"},
};

TEST(Session, AnswersEveryMisuse) {
  Session session = makeSession();
  for (const Misuse &misuse : misuses) {
    std::vector<Input> inputs;
    for (const auto &[name, values] : misuse.inputs) {
      inputs.push_back({name, values});
    }
    std::vector<std::vector<float>> memory;
    std::vector<Output> outputs;
    for (const auto &[name, size] : misuse.outputs) {
      memory.emplace_back(size);
      outputs.push_back({name, memory.back()});
    }
    const Status status = session.run(misuse.entry, misuse.lengths, inputs, outputs);
    EXPECT_EQ(status.code(), misuse.code) << misuse.message;
    EXPECT_NE(status.message().find(misuse.message), std::string::npos) << status.message();
  }
}

/// Returns a session of the test model with a change.
static Session makeChanged(const std::string &name,
                           const std::function<void(fixture::ModelSpec &)> &change) {
  fixture::ModelSpec spec = fixture::model();
  change(spec);
  const std::string path = fixture::temporaryPath(name);
  EXPECT_EQ(fixture::write(fixture::withDevice(spec), path).message(), "");
  Result<Model> model = Model::load(path, onTestDevice());
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *Session::create(*model);
}

TEST(Session, AnswersTooLargeBatches) {
  Session session = makeChanged("unlimited.so", [](auto &spec) { spec.entries[0].maxLength = 0; });
  const std::vector<int32_t> lengths(3, 1 << 30);
  EXPECT_EQ(session.run("encode", lengths, {}, {}).message(),
            "entry \"encode\": sequences 1 to 2 have 2147483648 tokens, expected at most "
            "2147483583 in a batch");
}

TEST(Session, AnswersWantOfMemory) {
  const Work work(2, 1, 20);
  std::vector<float> pooled(width);
  const Input input{"input_ids", work.ids};
  const Output output{"pooler_output", pooled};
  Session session = makeChanged("large.so", [](auto &spec) {
    // Memory that no dispatch uses is not reserved: one has a result at a very large offset.
    spec.entries[0].arena = fixture::sizeTerms(uint64_t(1) << 40, 0, uint64_t(1) << 40);
    for (fixture::BufferSpec &buffer : spec.entries[0].buffers) {
      if (buffer.location == manifest::Location::Arena) {
        buffer.offset = fixture::sizeTerms(uint64_t(1) << 39, 0, uint64_t(1) << 40);
        break;
      }
    }
  });
  const Status status = session.run("encode", work.lengths, {&input, 1}, {&output, 1});
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  const char *const wanted = testsCpu() ? "bytes of working memory" : "bytes for the batch failed";
  EXPECT_NE(status.message().find(wanted), std::string::npos) << status.message();
}

TEST(Session, RefusesOptions) {
  const Model model = loadFixture();
  EXPECT_EQ(Session::create(model, {.threads = 0}).status().message(),
            "0 threads, expected 1 to 1024");
  EXPECT_EQ(Session::create(model, {.threads = 5000}).status().message(),
            "5000 threads, expected 1 to 1024");
  EXPECT_EQ(Session::create(model, {.chunkTokens = -1}).status().message(),
            "chunks of -1 tokens, expected at least 1, or 0 for the usual");
  for (const int64_t runs : {int64_t(-1), (int64_t(1) << 26) + 1}) {
    EXPECT_EQ(Session::create(model, {.traceRuns = runs}).status().message(),
              "a trace of " + std::to_string(runs) + " runs, expected 0 to 67108864");
  }
  const Result<Model> described = Model::load(model.path(), {.describeOnly = true});
  ASSERT_TRUE(described.ok());
  EXPECT_NE(Session::create(*described)
                .status()
                .message()
                .find("loaded with describeOnly, expected a model with code"),
            std::string::npos);
}
