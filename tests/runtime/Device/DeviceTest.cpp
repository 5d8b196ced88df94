// SPDX-License-Identifier: Apache-2.0
///
/// The guarantees of every device, on the one that models are loaded on. (Kernels need a model's
/// file: tests of sessions launch them.)
#include "runtime/Device/Device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace heddle;

static std::unique_ptr<DeviceStream> makeStream(int lanes) {
  Result<std::unique_ptr<DeviceStream>> stream = hostDevice()->createStream(lanes);
  EXPECT_TRUE(stream.ok()) << stream.status().message();
  return *std::move(stream);
}

TEST(Device, IsOneForAll) {
  EXPECT_EQ(hostDevice(), hostDevice());
  EXPECT_FALSE(hostDevice()->name().empty());
  EXPECT_FALSE(hostDevice()->targets().empty());
}

TEST(DeviceMemory, GrowsAndKeeps) {
  const std::shared_ptr<Device> device = hostDevice();
  DeviceMemory memory;
  EXPECT_EQ(memory.data(), nullptr);
  ASSERT_TRUE(memory.grow(*device, 100).ok());
  std::byte *const block = memory.data();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u);
  ASSERT_TRUE(memory.grow(*device, 64 << 10).ok());
  EXPECT_EQ(memory.data(), block);
  ASSERT_TRUE(memory.grow(*device, 5 << 20).ok());
  EXPECT_GE(memory.size(), uint64_t(5 << 20));
  const Status status = memory.grow(*device, uint64_t(1) << 60);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(),
            "the batch needs 1152921504606846976 bytes of working memory: Cannot allocate memory");
  // A failed call leaves no memory, and the next call starts afresh.
  EXPECT_EQ(memory.size(), 0u);
  EXPECT_TRUE(memory.grow(*device, 100).ok());
}

TEST(DeviceMemory, IsZerosAndMayBeLargerThanTheMachine) {
  const std::shared_ptr<Device> device = hostDevice();
  const std::unique_ptr<DeviceStream> stream = makeStream(1);
  Result<DeviceMemory> memory = device->allocate(uint64_t(1) << 40, MemoryUse::Cache, "a test");
  ASSERT_EQ(memory.status().message(), "");
  EXPECT_EQ(memory->size(), uint64_t(1) << 40);
  const std::byte *const last = stream->fetch(0, memory->data() + memory->size() - 1, 1);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(*last, std::byte(0));
}

TEST(DeviceMemory, SaysWhatItWasFor) {
  const Result<DeviceMemory> memory =
      hostDevice()->allocate(uint64_t(1) << 62, MemoryUse::Cache, "a test");
  EXPECT_EQ(memory.status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(memory.status().message().find("4611686018427387904 bytes of addresses for a test: "),
            0u)
      << memory.status().message();
}

TEST(DeviceMemory, MovesAndMayBeEmpty) {
  const std::shared_ptr<Device> device = hostDevice();
  Result<DeviceMemory> none = device->allocate(0, MemoryUse::Cache, "nothing");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->data(), nullptr);
  DeviceMemory memory = *device->allocate(4096, MemoryUse::Cache, "a test");
  std::byte *const data = memory.data();
  DeviceMemory other = std::move(memory);
  EXPECT_EQ(other.data(), data);
  memory = std::move(other);
  EXPECT_EQ(memory.data(), data);
}

TEST(DeviceStream, RunsAsManyLanesAsItIsAskedFor) {
  const std::unique_ptr<DeviceStream> stream = makeStream(3);
  ASSERT_EQ(stream->lanes(), 3);
  for (const int count : {1, 2, 3}) {
    std::atomic<int> lanes = 0;
    auto task = [&](int lane) { lanes += 1 << lane; };
    EXPECT_TRUE(stream->run(count, task).ok());
    EXPECT_EQ(lanes, (1 << count) - 1);
  }
}

TEST(DeviceStream, FetchesWhatWasSentAndCopied) {
  const std::shared_ptr<Device> device = hostDevice();
  const std::unique_ptr<DeviceStream> stream = makeStream(1);
  DeviceMemory memory;
  ASSERT_TRUE(memory.grow(*device, 4096).ok());
  std::vector<uint8_t> expected(64);
  std::iota(expected.begin(), expected.end(), uint8_t(1));
  auto task = [&](int lane) {
    std::memcpy(stream->stage(lane, memory.data(), expected.size()), expected.data(),
                expected.size());
    stream->send(lane);
  };
  ASSERT_TRUE(stream->run(1, task).ok());
  // Three rows of two bytes, eight apart; then over themselves, shifted by a byte of the first row.
  const CopiedRows list[] = {{memory.data() + 32, memory.data(), 3, 2, 8},
                             {memory.data() + 60, memory.data() + 33, 1, 1, 0}};
  stream->copy(list);
  for (size_t row = 0; row < 3; ++row) {
    std::copy_n(expected.begin() + row * 8, 2, expected.begin() + 32 + row * 8);
  }
  expected[60] = expected[33];
  const std::byte *const found = stream->fetch(0, memory.data(), expected.size());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::memcmp(found, expected.data(), expected.size()), 0);
}

TEST(DeviceStream, HasAClock) {
  const std::unique_ptr<DeviceStream> stream = makeStream(1);
  const double before = stream->now();
  EXPECT_GE(stream->now(), before);
}
