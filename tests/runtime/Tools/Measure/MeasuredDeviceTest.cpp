// SPDX-License-Identifier: Apache-2.0
///
/// The device that a model runs on, as tools measure it: a processor, and the emulated GPU.
#include "runtime/Tools/Measure/MachineRoof.h"

#include "tests/runtime/Device/Cuda/GpuModel.h"

#include <cmath>
#include <gtest/gtest.h>

namespace heddle::tools {

using namespace fixture;

static MeasuredDevice deviceOf(const Model &model, int threads) {
  Result<MeasuredDevice> device = MeasuredDevice::of(model, threads);
  EXPECT_EQ(device.status().message(), "");
  return *std::move(device);
}

// Times are summed over lanes: divided by threads, those of a GPU would be too short.
TEST(MeasuredDevice, AGpuIsOneLane) {
  const Result<Model> onGpu = loadOn("cuda", withDevice(model()), "lanes.so");
  ASSERT_EQ(onGpu.status().message(), "");
  EXPECT_EQ(deviceOf(*onGpu, 4).lanes(), 1);
  const Result<Model> onCpu = loadOn("cpu", withDevice(model()), "lanes.so");
  ASSERT_EQ(onCpu.status().message(), "");
  EXPECT_EQ(deviceOf(*onCpu, 4).lanes(), 4);
}

TEST(MeasuredDevice, EveryReasonIsNotedOnce) {
  const Result<Model> loaded = loadOn("cuda", withDevice(model()), "noted.so");
  ASSERT_EQ(loaded.status().message(), "");
  MeasuredDevice device = deviceOf(*loaded, 1);
  EmulatedGpu &gpu = EmulatedGpu::get();
  const auto failing = [&](const char *function, auto measure) {
    gpu.fail(function, 1, 1);
    const double limit = measure();
    gpu.fail(nullptr, 0, 0);
    return limit;
  };
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::isinf(failing("cuStreamCreate", [&] { return device.peak(); })));
    EXPECT_TRUE(std::isinf(failing("cuStreamCreate", [&] { return device.reading(64); })));
  }
  EXPECT_TRUE(std::isinf(failing("cuLaunchKernel", [&] { return device.reading(64); })));
  const std::string notes = testing::internal::GetCapturedStderr();
  const std::string begin = "heddle: note: GPU 0 (emulated): ", failed = " failed with ";
  EXPECT_EQ(notes.find(begin + "cuStreamCreate" + failed), 0U) << notes;
  const size_t second = notes.find('\n') + 1;
  EXPECT_EQ(notes.find(begin + "cuLaunchKernel of roof$read" + failed, second), second) << notes;
  EXPECT_EQ(notes.find('\n', second), notes.size() - 1) << notes;
  // A failure is not kept.
  EXPECT_TRUE(std::isfinite(device.peak()));
  EXPECT_TRUE(std::isfinite(device.reading(64)));
}

} // namespace heddle::tools
