// SPDX-License-Identifier: Apache-2.0
///
/// What a GPU can do at best, as the runtime measures it: on the emulated GPU the numbers mean
/// nothing, but each is measured once, with few launches, and every failure is one of it alone.
#include "runtime/Device/Device.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>

using namespace heddle;
using namespace heddle::fixture;

static constexpr Arithmetic arithmetics[] = {
    Arithmetic::F32, Arithmetic::Integers, Arithmetic::Bf16, Arithmetic::Tf32, Arithmetic::Tf32x3};
/// What no cache holds takes the emulated GPU long to read.
static constexpr uint64_t fewBytes = 64 << 10;

namespace {
struct Roofs : testing::Test {
  void TearDown() override {
    EmulatedGpu::get().fail(nullptr, 0, 0);
    model.reset();
    device.reset();
    EXPECT_EQ(EmulatedGpu::get().leaks(), "");
  }
  /// Loads the test model.
  void load(ModelSpec spec = withDevice(fixture::model())) {
    Result<Model> loaded = loadOn("cuda", spec, "roofs.so");
    ASSERT_EQ(loaded.status().message(), "");
    model = *std::move(loaded);
    open();
  }
  void open() {
    const auto devices = openDevices("cuda");
    ASSERT_EQ(devices.status().message(), "");
    device = devices->front();
  }
  Result<double> peak(Arithmetic arithmetic = Arithmetic::F32) const {
    return device->measurePeak(1, arithmetic, "sm_80");
  }

  std::optional<Model> model;
  std::shared_ptr<Device> device;
};
} // namespace

TEST_F(Roofs, ArePositiveAndFinite) {
  load();
  for (const Arithmetic arithmetic : arithmetics) {
    const Result<double> rate = peak(arithmetic);
    ASSERT_EQ(rate.status().message(), "");
    EXPECT_GT(*rate, 0);
    EXPECT_TRUE(std::isfinite(*rate));
  }
  // Three products for one.
  EXPECT_DOUBLE_EQ(*peak(Arithmetic::Tf32x3) * 3, *peak(Arithmetic::Tf32));
  for (const uint64_t bytes : {uint64_t(0), uint64_t(3), fewBytes, beyondCaches}) {
    const Result<double> rate = device->measureReading(1, bytes);
    ASSERT_EQ(rate.status().message(), "");
    EXPECT_GT(*rate, 0);
    EXPECT_TRUE(std::isfinite(*rate));
  }
}

TEST_F(Roofs, AreMeasuredOnceWithFewLaunches) {
  load();
  EmulatedGpu &gpu = EmulatedGpu::get();
  gpu.record();
  const auto begin = std::chrono::steady_clock::now();
  const double first = *peak();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  const std::vector<std::string> launches = gpu.calls("cuLaunchKernel");
  EXPECT_GE(launches.size(), 1U);
  EXPECT_LE(launches.size(), 100U);
  EXPECT_LT(time.count(), 10);
  for (const std::string &launch : launches) {
    // As many blocks as the GPU takes, of the threads that the kernel wants.
    EXPECT_EQ(launch, "cuLaunchKernel(roof$multiply_f32, 2 x 64)");
  }
  // Events of the driver, before and after each.
  EXPECT_EQ(gpu.calls("cuEventElapsedTime").size(), 2 * launches.size());
  gpu.record();
  EXPECT_EQ(*peak(), first);
  EXPECT_EQ(gpu.journal(), "");
}

TEST_F(Roofs, BlocksHaveTheSharedMemoryOfTheirKernel) {
  load();
  EmulatedGpu &gpu = EmulatedGpu::get();
  gpu.record();
  ASSERT_EQ(peak(Arithmetic::Bf16).status().message(), "");
  EXPECT_EQ(gpu.calls("cuLaunchKernel").front(),
            "cuLaunchKernel(roof$multiply_bf16_by_warpgroups, 2 x 256)");
  gpu.record();
  ASSERT_EQ(peak(Arithmetic::Integers).status().message(), "");
  EXPECT_EQ(gpu.calls("cuLaunchKernel").front(), "cuLaunchKernel(roof$multiply_integers, 2 x 128)");
  gpu.record();
  ASSERT_EQ(device->measureReading(1, fewBytes).status().message(), "");
  EXPECT_EQ(gpu.calls("cuLaunchKernel").front(), "cuLaunchKernel(roof$read, 2 x 64)");
}

TEST_F(Roofs, NeedAModel) {
  open();
  const Status status = peak().status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "GPU 0 (emulated): no model with code for sm_80 is loaded, whose "
                              "image measures the GPU");
  load();
  EXPECT_TRUE(peak().ok());
  EXPECT_EQ(device->measurePeak(1, Arithmetic::F32, "sm_90a").status().message(),
            "GPU 0 (emulated): no model with code for sm_90a is loaded, whose image measures the "
            "GPU");
  // What was measured stays known; what was not needs a model again.
  model.reset();
  EXPECT_TRUE(peak().ok());
  EXPECT_EQ(device->measureReading(1, 64).status().message(),
            "GPU 0 (emulated): no model with code for a GPU is loaded, whose image measures the "
            "GPU");
}

TEST_F(Roofs, OlderImagesHaveNone) {
  ModelSpec older = withDevice(fixture::model());
  setImages(older, {{manifest::ImageKind::Host, olderImage()}});
  load(older);
  Result<std::vector<float>> values = embedTwo(*model);
  EXPECT_EQ(values.status().message(), "");
  const Status status = peak().status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_EQ(status.message(), "GPU 0 (emulated): the image for sm_80 has no kernels that measure "
                              "the GPU, expected them of a newer heddlec");
  // Another model may have them.
  const Result<Model> newer = loadOn("cuda", withDevice(fixture::model()), "newer.so");
  ASSERT_EQ(newer.status().message(), "");
  EXPECT_TRUE(peak().ok());
}

TEST_F(Roofs, NeedMemory) {
  const Setting small("HEDDLE_EMULATOR_MEMORY", "100000000");
  load();
  EXPECT_EQ(device->measureReading(1, beyondCaches).status().code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(device->measureReading(1, fewBytes).ok());
}

// A GPU computes f32 products as their dispatch says, and a processor as they are.
TEST_F(Roofs, ProfilesSayWhatProductsWereComputedAs) {
  ModelSpec spec = withDevice(fixture::model());
  const std::pair<manifest::FloatProducts, Arithmetic> kinds[] = {
      {manifest::FloatProducts::Exact, Arithmetic::F32},
      {manifest::FloatProducts::Tf32, Arithmetic::Tf32},
      {manifest::FloatProducts::Tf32x3, Arithmetic::Tf32x3},
      {manifest::FloatProducts::Bf16, Arithmetic::Bf16}};
  const auto arithmeticOn = [&](const std::string &on) {
    const Result<Model> loaded = loadOn(on, spec, "products.so");
    EXPECT_EQ(loaded.status().message(), "");
    Result<Session> session = Session::create(*loaded, {.profile = true});
    EXPECT_EQ(embedTwo(*session).status().message(), "");
    const std::vector<DispatchProfile> profile = session->profile();
    const auto found = std::find_if(profile.begin(), profile.end(), [](const auto &dispatch) {
      return dispatch.kernel == "linear";
    });
    return found->arithmetic;
  };
  const auto setAll = [&](auto set) {
    for (EntrySpec &entry : spec.entries) {
      std::for_each(entry.dispatches.begin(), entry.dispatches.end(), set);
    }
  };
  for (const auto &[products, arithmetic] : kinds) {
    setAll([&](DispatchSpec &dispatch) { dispatch.floatProducts = uint8_t(products); });
    EXPECT_EQ(arithmeticOn("cuda"), arithmetic);
    EXPECT_EQ(arithmeticOn("cpu"), Arithmetic::F32);
  }
  setAll([](DispatchSpec &dispatch) {
    dispatch.arithmetic = uint8_t(manifest::Arithmetic::Integers);
  });
  EXPECT_EQ(arithmeticOn("cuda"), Arithmetic::Integers);
  EXPECT_EQ(arithmeticOn("cpu"), Arithmetic::Integers);
}

/// Returns the functions of the driver that a measurement calls.
static std::set<std::string> functionsCalled(const std::string &journal) {
  std::set<std::string> functions;
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);) {
    functions.insert(line.substr(0, line.find('(')));
  }
  return functions;
}

TEST_F(Roofs, EveryCallMayFail) {
  EmulatedGpu &gpu = EmulatedGpu::get();
  load();
  gpu.record();
  ASSERT_EQ(peak().status().message(), "");
  ASSERT_EQ(device->measureReading(1, fewBytes).status().message(), "");
  const std::set<std::string> called = functionsCalled(gpu.journal());
  for (const char *const expected :
       {"cuModuleGetFunction", "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuMemAlloc_v2",
        "cuStreamCreate", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2", "cuEventCreate",
        "cuEventRecord", "cuLaunchKernel", "cuStreamSynchronize", "cuEventElapsedTime"}) {
    EXPECT_TRUE(called.contains(expected)) << expected;
  }
  // Calls that release something, whose failures are ignored.
  static const std::set<std::string> silent = {"cuMemFree_v2", "cuMemFreeHost",
                                               "cuStreamDestroy_v2", "cuEventDestroy_v2"};
  for (const std::string &function : called) {
    // The first call and a later one; a transient failure, and one that ends the context.
    for (const auto &[call, code] : {std::pair{1, 2}, {2, 2}, {1, 700}}) {
      model.reset();
      device.reset();
      load();
      gpu.fail(function.c_str(), call, code);
      const Status first = peak().status();
      const Status second = first.ok() ? device->measureReading(1, fewBytes).status() : first;
      const bool hasFailed = gpu.hasFailed() != 0;
      gpu.fail(nullptr, 0, 0);
      if (!hasFailed || silent.contains(function)) {
        EXPECT_EQ(second.message(), "") << function;
      } else if (!second.ok()) {
        EXPECT_NE(second.message().find(function), std::string::npos) << second.message();
      } else {
        // Also used to release something.
        EXPECT_TRUE(function.starts_with("cuCtx") || function == "cuStreamSynchronize")
            << function << ", call " << call;
      }
      // After a transient failure, the next measurement works.
      if (code == 2 && !function.starts_with("cuCtx")) {
        EXPECT_EQ(peak().status().message(), "") << function << ", call " << call;
      }
    }
  }
}
