// SPDX-License-Identifier: Apache-2.0
///
/// Which sequences of launches become graphs, and when graphs are released.
#include "runtime/Device/Cuda/LaunchGraphs.h"

#include "tests/runtime/Device/Cuda/EmulatedGpu.h"

#include <gtest/gtest.h>
#include <optional>

using namespace heddle;

namespace {
/// A stream of the emulated GPU, without the runtime's own streams.
class LaunchGraphsTest : public testing::Test {
protected:
  void SetUp() override {
    const Result<const Driver *> driver = Driver::ofMachine();
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    const Result<GpuFacts> facts = factsOf(**driver, 0);
    ASSERT_TRUE(facts.ok()) << facts.status().message();
    Result<std::shared_ptr<CudaContext>> opened = CudaContext::open(**driver, *facts);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    context = std::move(*opened);
    current.emplace(*context);
    ASSERT_TRUE(context->call(context->driver().cuStreamCreate, &stream, 0U).ok());
  }
  void TearDown() override {
    graphs.clear();
    context->giveBack(context->driver().cuStreamDestroy_v2, stream);
    current.reset();
    context.reset();
    EXPECT_EQ(EmulatedGpu::get().leaks(), "");
  }
  /// Returns the graph of a sequence of one launch, whose record is at `offset`.
  Result<void *> graphOf(uint64_t offset, const Status &told = Status()) {
    const GraphLaunch launch = {nullptr, nullptr, nullptr, 1, 0, 0, offset};
    return graphs.graphOf({&launch, 1}, *context, stream, [&] {
      ++recorded;
      return told;
    });
  }

  std::shared_ptr<CudaContext> context;
  std::optional<CudaContext::Current> current;
  void *stream = nullptr;
  LaunchGraphs graphs;
  int recorded = 0;
};
} // namespace

TEST_F(LaunchGraphsTest, ASequenceIsRecordedWhenItComesAgain) {
  EXPECT_EQ(*graphOf(0), nullptr);
  EXPECT_EQ(recorded, 0);
  void *const graph = *graphOf(0);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(*graphOf(0), graph);
  EXPECT_EQ(recorded, 1);
  // A launch with another record offset is another sequence.
  EXPECT_EQ(*graphOf(8), nullptr);
  EXPECT_NE(*graphOf(8), graph);
  EXPECT_EQ(recorded, 2);
}

TEST_F(LaunchGraphsTest, TheOneNotUsedForLongestIsForgotten) {
  for (const uint64_t offset : {0, 1}) {
    EXPECT_EQ(*graphOf(offset), nullptr);
    EXPECT_NE(*graphOf(offset), nullptr);
  }
  void *const kept = *graphOf(0);
  EmulatedGpu::get().record();
  // With these two, more sequences than are remembered.
  for (uint64_t offset = 2; offset < 65; ++offset) {
    EXPECT_EQ(*graphOf(offset), nullptr);
  }
  EXPECT_EQ(EmulatedGpu::get().calls("cuGraphExecDestroy").size(), 1U);
  EXPECT_EQ(*graphOf(0), kept);
  EXPECT_EQ(*graphOf(1), nullptr);
}

TEST_F(LaunchGraphsTest, AfterAFailureTheStreamIsNotRecorded) {
  EXPECT_EQ(*graphOf(0), nullptr);
  const Result<void *> failed =
      graphOf(0, Status(StatusCode::Internal, "no launch", __FILE_NAME__, __LINE__));
  EXPECT_EQ(failed.status().message(), "no launch");
  EXPECT_TRUE(context->call(context->driver().cuStreamSynchronize, stream).ok());
  EXPECT_NE(*graphOf(0), nullptr);
}

/// Sequences without a graph are not captured again.
TEST_F(LaunchGraphsTest, WithoutMemoryThereIsNoGraph) {
  uint64_t offset = 0;
  for (const char *const function :
       {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    SCOPED_TRACE(function);
    ++offset;
    EXPECT_EQ(*graphOf(offset), nullptr);
    EmulatedGpu::get().fail(function, 1, 2);
    const Result<void *> refused = graphOf(offset);
    EXPECT_TRUE(EmulatedGpu::get().hasFailed());
    EmulatedGpu::get().fail(nullptr, 0, 0);
    ASSERT_EQ(refused.status().message(), "");
    EXPECT_EQ(*refused, nullptr);
    EXPECT_TRUE(context->call(context->driver().cuStreamSynchronize, stream).ok());
    const int before = recorded;
    EXPECT_EQ(*graphOf(offset), nullptr);
    EXPECT_EQ(recorded, before);
  }
  // Others are.
  EXPECT_EQ(*graphOf(0), nullptr);
  EXPECT_NE(*graphOf(0), nullptr);
}

/// A launch that lacks memory fails as it does without a graph.
TEST_F(LaunchGraphsTest, LaunchesMayLackMemory) {
  EXPECT_EQ(*graphOf(0), nullptr);
  const Status refused(StatusCode::ResourceExhausted, "no memory", __FILE_NAME__, __LINE__);
  EXPECT_EQ(graphOf(0, refused).status().message(), "no memory");
  EXPECT_NE(*graphOf(0), nullptr);
}

TEST_F(LaunchGraphsTest, WhatIsClearedIsNew) {
  EXPECT_EQ(*graphOf(0), nullptr);
  EXPECT_NE(*graphOf(0), nullptr);
  graphs.clear();
  EXPECT_EQ(*graphOf(0), nullptr);
}
