// SPDX-License-Identifier: Apache-2.0
///
/// Missing or insufficient drivers: the messages for users, and that the program can continue.
#include "runtime/Device/Cuda/Driver.h"

#include "runtime/Device/Device.h"
#include "tests/runtime/Device/Cuda/EmulatedGpu.h"

#include <gtest/gtest.h>

using namespace heddle;

TEST(Driver, NoLibrary) {
  const Result<Driver> driver = Driver::load("libcuda-not-there.so.1");
  EXPECT_EQ(driver.status().code(), StatusCode::NotFound);
  EXPECT_EQ(driver.status().message(),
            "no NVIDIA driver: the dynamic loader does not load libcuda-not-there.so.1: "
            "libcuda-not-there.so.1: cannot open shared object file: No such file or directory");
}

TEST(Driver, MissingFunctionsAreNamed) {
  const Result<Driver> driver = Driver::load(HEDDLE_PARTIAL_DRIVER);
  EXPECT_EQ(driver.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(driver.status().message(),
            std::string("the NVIDIA driver ") + HEDDLE_PARTIAL_DRIVER +
                " does not have cuMemHostAlloc, cuEventElapsedTime, expected one for CUDA 12.0 or "
                "later");
}

TEST(Driver, OldDriver) {
  const Result<Driver> driver = Driver::load(HEDDLE_OLD_DRIVER);
  EXPECT_EQ(driver.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(driver.status().message(), std::string("the NVIDIA driver ") + HEDDLE_OLD_DRIVER +
                                           " is for CUDA 11.4, expected 12.0 or later");
}

TEST(Driver, NoGpu) {
  EmulatedGpu::get();
  const Setting none("HEDDLE_EMULATOR_GPUS", "0");
  const Result<Driver> driver = Driver::load("libcuda.so.1");
  EXPECT_EQ(driver.status().code(), StatusCode::NotFound);
  EXPECT_EQ(driver.status().message(), "cuInit failed with CUDA_ERROR_NO_DEVICE (100): no "
                                       "CUDA-capable device is detected");
}

TEST(Driver, FailsToBegin) {
  for (const char *const function : {"cuInit", "cuDriverGetVersion"}) {
    EmulatedGpu::get().fail(function, 1, 999);
    const Result<Driver> driver = Driver::load("libcuda.so.1");
    EXPECT_EQ(driver.status().message(),
              std::string(function) + " failed with CUDA_ERROR_UNKNOWN (999): unknown error");
    EmulatedGpu::get().fail(nullptr, 0, 0);
  }
}

TEST(Driver, CodesWithoutAName) {
  const Result<Driver> driver = Driver::load("libcuda.so.1");
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  EXPECT_EQ(driver->failure(12345, "cuInit").message(),
            "cuInit failed with code 12345, which the driver has no name for");
  EXPECT_EQ(driver->version, 13000);
}

TEST(Driver, KnowsWhatLasts) {
  for (const int code : {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999}) {
    EXPECT_TRUE(isSticky(code)) << code;
  }
  for (const int code : {1, 2, 201, 209, 400, 600, 701, 713, 720}) {
    EXPECT_FALSE(isSticky(code)) << code;
  }
}

TEST(OpenDevices, KnowsTheirNames) {
  for (const char *const name : {"", "cpu"}) {
    const auto devices = openDevices(name);
    ASSERT_TRUE(devices.ok());
    ASSERT_EQ(devices->size(), 1u);
    EXPECT_EQ(devices->front(), hostDevice());
  }
  for (const char *const name : {"cuda", "cuda:0"}) {
    const auto devices = openDevices(name);
    ASSERT_TRUE(devices.ok()) << devices.status().message();
    ASSERT_EQ(devices->size(), 1u);
    EXPECT_EQ(devices->front()->id(), "cuda:0");
    EXPECT_EQ(devices->front()->name(), "GPU 0 (emulated)");
    EXPECT_FALSE(devices->front()->sharesHostMemory());
    EXPECT_EQ(devices->front(), openDevices("cuda")->front());
  }
  const auto both = openDevices("auto");
  ASSERT_TRUE(both.ok());
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ(both->back(), hostDevice());
  EXPECT_EQ(EmulatedGpu::get().leaks(), "1 contexts\n");
}

TEST(OpenDevices, RefusesOthers) {
  for (const char *const name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1000", "CPU"}) {
    const auto devices = openDevices(name);
    EXPECT_EQ(devices.status().code(), StatusCode::InvalidArgument) << name;
    EXPECT_EQ(devices.status().message(),
              "device \"" + std::string(name) + "\", expected cpu, cuda, cuda:N or auto");
  }
  EXPECT_EQ(openDevices("cuda:3").status().message(),
            "device \"cuda:3\": no GPU 3: the NVIDIA driver has 1, counted from 0");
}

TEST(OpenDevices, NeedsTheCapabilityOfATarget) {
  const Setting old("HEDDLE_EMULATOR_CAPABILITY", "75");
  EXPECT_EQ(openDevices("cuda").status().message(),
            "device \"cuda\": GPU 0 (emulated) has compute capability 7.5, expected at least 8.0");
  const auto devices = openDevices("auto");
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ(devices->front(), hostDevice());
}

TEST(OpenDevices, TargetsAreThoseOfTheCapability) {
  const std::pair<const char *, std::vector<std::string>> known[] = {
      {"80", {"sm_80"}}, {"89", {"sm_80"}}, {"90", {"sm_90a", "sm_80"}}, {"100", {"sm_80"}}};
  for (const auto &[capability, targets] : known) {
    const Setting setting("HEDDLE_EMULATOR_CAPABILITY", capability);
    const auto devices = openDevices("cuda");
    ASSERT_TRUE(devices.ok()) << devices.status().message();
    EXPECT_EQ(devices->front()->targets(), targets) << capability;
  }
}

TEST(FindDevices, DescribesAll) {
  const Setting two("HEDDLE_EMULATOR_GPUS", "2");
  const MachineDevices devices = findDevices();
  ASSERT_EQ(devices.found.size(), 3u);
  EXPECT_EQ(devices.found[0].id, "cpu");
  EXPECT_EQ(devices.found[2].id, "cuda:1");
  EXPECT_EQ(devices.found[2].description,
            "emulated, compute capability 9.0, 2 multiprocessors, 17179869184 bytes");
  EXPECT_EQ(devices.missing, "");
  EmulatedGpu::get().fail("cuDeviceGetCount", 1, 999);
  EXPECT_EQ(findDevices().missing,
            "cuDeviceGetCount failed with CUDA_ERROR_UNKNOWN (999): unknown error");
  EmulatedGpu::get().fail(nullptr, 0, 0);
}
