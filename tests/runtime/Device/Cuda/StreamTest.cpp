// SPDX-License-Identifier: Apache-2.0
///
/// The lane of a GPU: sending, launching, copying and fetching, and the behaviour after a kernel
/// has failed.
#include "runtime/Device/Device.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"

#include <cstring>
#include <numeric>

using namespace heddle;
using namespace heddle::fixture;

namespace {
/// A stream of the GPU, and memory.
struct Lane {
  Lane() : device(openDevices("cuda")->front()), stream(*device->createStream(4)) {
    EXPECT_TRUE(memory.grow(*device, 1 << 16).ok());
  }

  void send(uint64_t offset, const std::vector<uint8_t> &bytes) {
    std::byte *const staged = stream->stage(0, memory.data() + offset, bytes.size());
    ASSERT_NE(staged, nullptr);
    std::memcpy(staged, bytes.data(), bytes.size());
    stream->send(0);
  }
  std::vector<uint8_t> fetch(uint64_t offset, uint64_t bytes) {
    const std::byte *const found = stream->fetch(0, memory.data() + offset, bytes);
    EXPECT_NE(found, nullptr) << stream->failure().message();
    const auto *const values = reinterpret_cast<const uint8_t *>(found);
    return found == nullptr ? std::vector<uint8_t>() : std::vector<uint8_t>(values, values + bytes);
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<DeviceStream> stream;
  DeviceMemory memory;
};
} // namespace

static std::vector<uint8_t> numbered(size_t count, uint8_t first) {
  std::vector<uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

TEST(CudaStream, HasOneLane) {
  const Lane lane;
  EXPECT_EQ(lane.stream->lanes(), 1);
  EXPECT_GT(lane.stream->chunkTokens(), 0);
  EXPECT_TRUE(lane.stream->failure().ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(lane.memory.data()) % 4096, 0u);
}

TEST(CudaStream, SendsInOrder) {
  Lane lane;
  // More pieces than pinned buffers, overlapping each other.
  for (uint8_t i = 0; i < 5; ++i) {
    lane.send(i, numbered(64, static_cast<uint8_t>(10 * i)));
  }
  const std::vector<uint8_t> found = lane.fetch(0, 68);
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[3], 30);
  EXPECT_EQ(found[4], 40);
  EXPECT_EQ(found[67], 103);
}

TEST(CudaStream, FetchesRows) {
  Lane lane;
  lane.send(0, numbered(64, 0));
  const FetchedRows rows = lane.stream->fetchRows(0, lane.memory.data() + 2, 3, 4, 16);
  ASSERT_NE(rows.first, nullptr);
  for (uint64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(std::to_integer<int>(rows.first[row * rows.pitch]), 2 + 16 * int(row));
    EXPECT_EQ(std::to_integer<int>(rows.first[row * rows.pitch + 3]), 5 + 16 * int(row));
  }
}

TEST(CudaStream, CopiesRows) {
  Lane lane;
  lane.send(0, numbered(64, 0));
  std::byte *const start = lane.memory.data();
  const CopiedRows list[] = {{start + 128, start, 3, 2, 8},
                             {start + 192, start + 128, 1, 2, 0},
                             {start + 194, start, 0, 2, 8},
                             {start + 256, start, 2, 8, 8}};
  lane.stream->copy(list);
  EXPECT_EQ(lane.fetch(128, 2), numbered(2, 0));
  EXPECT_EQ(lane.fetch(144, 2), numbered(2, 16));
  EXPECT_EQ(lane.fetch(192, 2), numbered(2, 0));
  EXPECT_EQ(lane.fetch(256, 16), numbered(16, 0));
}

TEST(CudaStream, CachesAreZeros) {
  Lane lane;
  Result<DeviceMemory> cache = lane.device->allocate(1 << 20, MemoryUse::Cache, "a test");
  ASSERT_TRUE(cache.ok());
  const std::byte *const last = lane.stream->fetch(0, cache->data() + cache->size() - 1, 1);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(*last, std::byte(0));
  EXPECT_EQ(lane.device->allocate(0, MemoryUse::Cache, "nothing")->data(), nullptr);
}

TEST(CudaStream, HasAClock) {
  const Lane lane;
  const double before = lane.stream->now();
  EXPECT_GE(lane.stream->now(), before);
}

TEST(CudaStream, ScratchIsForManyCallers) {
  const Lane lane;
  // Two multiprocessors of 512 callers each, but at least the callers of one block.
  EXPECT_EQ(lane.stream->scratchBytes(64), 64u * 1024);
  EXPECT_EQ(lane.stream->scratchBytes(uint64_t(1) << 30), uint64_t(1) << 40);
}

/// Returns the bytes of all allocations while a model runs whose kernel "linear" has a megabyte of
/// scratch per caller, and blocks with so much shared memory.
static uint64_t bytesAllocated(uint32_t shared) {
  ModelSpec spec = withDevice(model());
  spec.kernels[1].scratch = 1 << 20;
  spec.kernels[1].launches[2] = {manifest::LaunchUnit::Caller, 32, shared, 0, 0, 0, 0, 0, 0};
  EmulatedGpu::get().record();
  // Its code takes each thread for a caller, so the result does not matter.
  (void)embedTwo(*loadOn("cuda", spec, "scratch.so"));
  uint64_t sum = 0;
  for (const std::string &line : EmulatedGpu::get().calls("cuMemAlloc_v2")) {
    sum += std::stoull(line.substr(line.find('(') + 1));
  }
  return sum;
}

TEST(CudaStream, BlocksThatWorkTogetherNeedNoScratch) {
  // Two multiprocessors of 512 callers each.
  EXPECT_GT(bytesAllocated(/*shared=*/0), uint64_t(1) << 30);
  EXPECT_LT(bytesAllocated(/*shared=*/16), uint64_t(1) << 24);
}

/// Returns a model whose kernel "linear" fails.
static ModelSpec wrongModel() {
  ModelSpec spec = withDevice(model());
  spec.kernels[1].symbols[2] = "wrong_address";
  return spec;
}

TEST(CudaFailure, NamesTheKernelsAndLasts) {
  const Result<Model> model = loadOn("cuda", wrongModel(), "wrong.so");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Session> one = Session::create(*model);
  Result<Session> other = Session::create(*model);
  const Status first = embedTwo(*one).status();
  EXPECT_EQ(first.code(), StatusCode::Internal);
  EXPECT_EQ(
      first.message(),
      "GPU 0 (emulated): cuStreamSynchronize, after 5 launches, \"gather\" the first, \"mean\" the "
      "last, failed with CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was "
      "encountered");
  // The context is unusable: all of its users get the first failure.
  EXPECT_EQ(embedTwo(*one).status().message(), first.message());
  EXPECT_EQ(embedTwo(*other).status().message(), first.message());
  EXPECT_EQ(Session::create(*model).status().message(), first.message());
  EXPECT_EQ(loadOn("cuda", withDevice(fixture::model()), "right.so").status().message(),
            temporaryPath("right.so") + ": image 0: " + std::string(first.message()));
}

TEST(CudaFailure, OthersGoOn) {
  const ModelSpec spec = withDevice(model());
  const Result<Model> onCpu = loadOn("cpu", spec, "right.so");
  const Result<std::vector<float>> expected = embedTwo(*onCpu);
  ASSERT_TRUE(expected.ok());
  {
    const Result<Model> wrong = loadOn("cuda", wrongModel(), "wrong.so");
    ASSERT_TRUE(wrong.ok());
    EXPECT_FALSE(embedTwo(*wrong).ok());
    EXPECT_EQ(*embedTwo(*onCpu), *expected);
  }
  EXPECT_EQ(EmulatedGpu::get().leaks(), "");
  // A new context, after all users of the old one have released it.
  const Result<Model> again = loadOn("cuda", spec, "right.so");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*embedTwo(*again), *expected);
}

TEST(CudaFailure, OfASessionIsItsOwn) {
  const Result<Model> model = loadOn("cuda", withDevice(fixture::model()), "right.so");
  Result<Session> one = Session::create(*model);
  Result<Session> other = Session::create(*model);
  // No pinned memory for the data to send.
  EmulatedGpu::get().fail("cuMemHostAlloc", 1, 2);
  const Status first = embedTwo(*one).status();
  EmulatedGpu::get().fail(nullptr, 0, 0);
  EXPECT_EQ(first.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(first.message(), "GPU 0 (emulated): cuMemHostAlloc of 65536 bytes failed with "
                             "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  EXPECT_EQ(embedTwo(*one).status().message(), first.message());
  EXPECT_TRUE(embedTwo(*other).ok());
}

/// Without memory for a graph, kernels are launched one by one.
TEST(CudaFailure, OfAGraphIsNone) {
  const Result<Model> model = loadOn("cuda", withDevice(fixture::model()), "right.so");
  Result<Session> session = Session::create(*model);
  const Result<std::vector<float>> expected = embedTwo(*session);
  ASSERT_TRUE(expected.ok());
  EmulatedGpu &gpu = EmulatedGpu::get();
  gpu.record();
  gpu.fail("cuGraphInstantiateWithFlags", 1, 2);
  for (int run = 0; run < 4; ++run) {
    const Result<std::vector<float>> found = embedTwo(*session);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(*found, *expected);
  }
  EXPECT_TRUE(gpu.hasFailed());
  gpu.fail(nullptr, 0, 0);
  EXPECT_EQ(gpu.calls("cuStreamBeginCapture_v2").size(), 1U);
  EXPECT_TRUE(gpu.calls("cuGraphLaunch").empty());
}

TEST(CudaProfile, TimesLaunches) {
  const Result<Model> model = loadOn("cuda", withDevice(fixture::model()), "right.so");
  Result<Session> session =
      Session::create(*model, {.threads = 4, .profile = true, .traceRuns = 9});
  ASSERT_TRUE(embedTwo(*session).ok());
  ASSERT_TRUE(embedTwo(*session).ok());
  const std::vector<DispatchProfile> profile = session->profile();
  ASSERT_EQ(profile.size(), 4u);
  for (const DispatchProfile &dispatch : profile) {
    EXPECT_EQ(dispatch.calls, 2u);
    EXPECT_GT(dispatch.seconds, 0);
    EXPECT_LT(dispatch.seconds, 10);
  }
  const std::vector<DispatchRun> trace = session->trace();
  ASSERT_EQ(trace.size(), 8u);
  for (size_t i = 1; i < trace.size(); ++i) {
    EXPECT_GE(trace[i].start, trace[i - 1].start);
  }
}
