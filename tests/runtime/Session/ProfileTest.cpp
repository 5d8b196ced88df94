// SPDX-License-Identifier: Apache-2.0
///
/// The profile of a session's dispatches: single runs, weights, cached positions.
#include "runtime/Session/Profile.h"
#include "heddle/Session.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Session/TestDevice.h"

#include <array>
#include <gtest/gtest.h>

using namespace heddle;

namespace {
/// Sixteen sentences of 1 to 40 tokens.
struct Ragged {
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;

  Ragged() {
    for (int32_t i = 0; i < 16; ++i) {
      lengths.push_back(1 + i * 13 % 40);
      ids.insert(ids.end(), static_cast<size_t>(lengths.back()), i % fixture::words);
    }
  }
};
} // namespace

static Session sessionWith(const SessionOptions &options) {
  static const std::string path = [] {
    std::string name = fixture::temporaryPath("profile.so");
    EXPECT_EQ(fixture::write(fixture::withDevice(fixture::model()), name).message(), "");
    return name;
  }();
  const Result<Model> model = Model::load(path, onTestDevice());
  EXPECT_TRUE(model.ok()) << model.status().message();
  Result<Session> session = Session::create(*model, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

static void encode(Session &session, const Ragged &batch) {
  std::vector<float> hidden(batch.ids.size() * fixture::width);
  std::vector<float> pooled(batch.lengths.size() * fixture::width);
  const Input input{"input_ids", batch.ids};
  const std::array<Output, 2> outputs{{{"last_hidden_state", hidden}, {"pooler_output", pooled}}};
  EXPECT_EQ(session.run("encode", batch.lengths, {&input, 1}, outputs).message(), "");
}

TEST(Profile, TracesEveryRunOfADispatch) {
  for (const Schedule schedule : {Schedule::Chunked, Schedule::Cooperative}) {
    Session session =
        sessionWith({.threads = 2, .schedule = schedule, .profile = true, .traceRuns = 1000});
    const Ragged batch;
    encode(session, batch);
    const std::vector<DispatchProfile> profile = session.profile();
    const std::vector<DispatchRun> runs = session.trace();
    std::vector<double> seconds(profile.size());
    std::array<double, 2> end{};
    for (const DispatchRun &run : runs) {
      ASSERT_LT(run.dispatch, profile.size());
      ASSERT_LT(run.thread, 2);
      seconds[run.dispatch] += run.seconds;
      // In order of time, without overlaps within a thread.
      EXPECT_GE(run.start, end[static_cast<size_t>(run.thread)]);
      end[static_cast<size_t>(run.thread)] = run.start + run.seconds;
    }
    for (size_t i = 0; i < profile.size(); ++i) {
      EXPECT_NEAR(seconds[i], profile[i].seconds, 1e-9);
    }
    session.resetProfile();
    EXPECT_TRUE(session.trace().empty());
    encode(session, batch);
    ASSERT_FALSE(session.trace().empty());
    EXPECT_LT(session.trace().front().start, end[0] + end[1] + 1);
  }
}

TEST(Profile, TracesNoMoreThanIsAskedFor) {
  const Ragged batch;
  Session few = sessionWith({.profile = true, .traceRuns = 2});
  encode(few, batch);
  EXPECT_EQ(few.trace().size(), 2u);
  EXPECT_GT(few.profile().size(), 2u);
  for (const SessionOptions &options :
       {SessionOptions{.profile = true}, SessionOptions{.traceRuns = 5}}) {
    Session none = sessionWith(options);
    encode(none, batch);
    EXPECT_TRUE(none.trace().empty());
  }
}

TEST(Profile, CountsTheWeightsItReads) {
  fixture::ModelSpec spec = fixture::model();
  fixture::EntrySpec &entry = spec.entries[0];
  ASSERT_EQ(entry.name, "encode");
  entry.dispatches[0].weightBytesPerRow = 256;
  entry.dispatches[1].weightBytes = 4096;
  const std::string path = fixture::temporaryPath("weights.so");
  ASSERT_EQ(fixture::write(fixture::withDevice(spec), path).message(), "");
  const Result<Model> model = Model::load(path, onTestDevice());
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Session> session = Session::create(
      *model, {.threads = 2, .schedule = Schedule::Cooperative, .profile = true, .traceRuns = 99});
  ASSERT_TRUE(session.ok());
  const Ragged batch;
  encode(*session, batch);
  encode(*session, batch);
  const std::vector<DispatchProfile> profile = session->profile();
  // Once per call, however many threads share it.
  EXPECT_EQ(profile[0].weightBytes, 2.0 * 256 * static_cast<double>(batch.ids.size()));
  EXPECT_EQ(profile[1].weightBytes, 2.0 * 4096);
  EXPECT_EQ(profile[2].weightBytes, 0);
  for (const DispatchRun &run : session->trace()) {
    EXPECT_EQ(run.weightBytes * 2, profile[run.dispatch].weightBytes);
    EXPECT_EQ(run.flops * 2, profile[run.dispatch].flops);
  }
}

TEST(Profile, CountsThePositionsThatSegmentsSee) {
  const std::array<int32_t, 4> offsets{0, 1, 4, 6};
  const std::array<int32_t, 3> lengths{5, 7, 20};
  CacheRows cache;
  cache.offsets = offsets.data();
  cache.lengths = lengths.data();
  cache.segments = 3;
  const CachedWork work = cachedWork(cache, {}, {.positionBytes = 8 * sizeof(float)});
  EXPECT_EQ(work.bytes, (5 + 7 + 20) * 8 * sizeof(float));
  EXPECT_EQ(work.pairs, 1 * 5 + 3 * 7 + 2 * 20);
  // Each row sees six positions, two rows seven in all.
  const CachedWork bounded = cachedWork(cache, {}, {8 * sizeof(float), /*mostKeys=*/6});
  EXPECT_EQ(bounded.bytes, (5 + 7 + 7) * 8 * sizeof(float));
  EXPECT_EQ(bounded.pairs, 1 * 5 + 3 * 6 + 2 * 6);
  // Of the rows 2 to 4 two are of the second segment, and one of the third.
  const CachedWork part = cachedWork(cache, {}, {8 * sizeof(float), 0, {2, 5}});
  EXPECT_EQ(part.bytes, (7 + 20) * 8 * sizeof(float));
  EXPECT_EQ(part.pairs, 2 * 7 + 1 * 20);
  // Without offsets each sequence is a segment.
  cache.offsets = nullptr;
  const std::array<int32_t, 3> rows{2, 1, 3};
  EXPECT_EQ(cachedWork(cache, rows, {8 * sizeof(float)}).pairs, 2 * 5 + 1 * 7 + 3 * 20);
}
