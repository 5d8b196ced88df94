// SPDX-License-Identifier: Apache-2.0
///
/// --device of the real program, with the emulated GPU (tests/Emulator) and without any.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using nlohmann::json;

namespace {
struct DeviceCommand : testing::Test {
  DeviceCommand() {
    EXPECT_EQ(fixture::write(fixture::withDevice(fixture::model()), model).message(), "");
    folder.write("texts.txt", "a b c\nhello z\n");
    // The first file found is not a library.
    folder.write("libcuda.so.1", "");
  }

  ProcessOptions withGpu() const {
    return {.environment = {std::string("LD_LIBRARY_PATH=") + HEDDLE_EMULATOR_FOLDER}};
  }
  ProcessOptions withoutGpu() const {
    return {.environment = {"LD_LIBRARY_PATH=" + (folder / "")}};
  }
  Outcome embed(const std::string &device, const ProcessOptions &options) const {
    return runHeddle(
        {"embed", model, "--input", folder / "texts.txt", "--json", "--device", device}, options);
  }

  TemporaryFolder folder;
  const std::string model = folder / "model.so";
};
} // namespace

static constexpr const char *noDriver =
    "no NVIDIA driver: the dynamic loader does not load libcuda.so.1: ";

TEST_F(DeviceCommand, RunsOnAGpu) {
  const Outcome onCpu = embed("cpu", withoutGpu());
  const Outcome onGpu = embed("cuda", withGpu());
  EXPECT_EQ(onCpu.code, 0) << onCpu.error;
  // A resource leak would be reported, with another exit code.
  EXPECT_EQ(onGpu.code, 0) << onGpu.error;
  EXPECT_EQ(onGpu.error, "");
  EXPECT_EQ(onGpu.output, onCpu.output);
}

TEST_F(DeviceCommand, SaysWhatItLookedFor) {
  const Outcome outcome = embed("cuda", withoutGpu());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.error.find(std::string("heddle: device \"cuda\": ") + noDriver), 0u)
      << outcome.error;
  EXPECT_NE(outcome.error.find(folder / "libcuda.so.1"), std::string::npos) << outcome.error;
}

TEST_F(DeviceCommand, TakesTheCpuIfAskedTo) {
  const Outcome outcome = embed("auto", withoutGpu());
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, embed("auto", withGpu()).output);
}

TEST_F(DeviceCommand, RefusesOtherNames) {
  const Outcome outcome = embed("gpu", withGpu());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.error, "heddle: --device: device \"gpu\", expected cpu, cuda, cuda:N or auto\n"
                           "heddle: try 'heddle embed --help'\n");
}

TEST_F(DeviceCommand, NamesTheTargetsOfTheGpu) {
  const Outcome outcome = runHeddle(
      {"embed", model, "--input", folder / "texts.txt", "--device", "cuda", "--isa", "x86-64-v3"},
      withGpu());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("GPU 0 (emulated) cannot run target x86-64-v3, it can run sm_90a, "
                               "sm_80"),
            std::string::npos)
      << outcome.error;
}

TEST_F(DeviceCommand, InfoListsDevices) {
  const Outcome with = runHeddle({"info", model}, withGpu());
  EXPECT_EQ(with.code, 0) << with.error;
  EXPECT_NE(with.output.find("\nimage       sm_80: host, "), std::string::npos) << with.output;
  EXPECT_NE(with.output.find("\ndevice      cpu: this CPU; takes x86-64-v"), std::string::npos);
  EXPECT_NE(with.output.find("\ndevice      cuda:0: emulated, compute capability 9.0, 2 "
                             "multiprocessors, 17179869184 bytes; takes sm_80\n"),
            std::string::npos)
      << with.output;
  const Outcome without = runHeddle({"info", model, "--json"}, withoutGpu());
  const json info = json::parse(without.output);
  ASSERT_EQ(info["devices"].size(), 1u);
  EXPECT_EQ(info["devices"][0]["device"], "cpu");
  EXPECT_EQ(info["no_gpu"].get<std::string>().find(noDriver), 0u);
}

TEST_F(DeviceCommand, MeasuresNoRoof) {
  const Outcome bench = runHeddle(
      {"bench", model, "--device", "cuda", "--shapes", "1x4", "--runs", "1", "--roofline"},
      withGpu());
  EXPECT_EQ(bench.code, 0) << bench.error;
  EXPECT_EQ(bench.error, "heddle: note: GPU 0 (emulated): Heddle cannot measure the peak rate of a "
                         "GPU yet: nothing is held against it\n");
  const json machine = json::parse(bench.output.substr(0, bench.output.find('\n')));
  EXPECT_EQ(machine["vectors"], "GPU 0 (emulated)");
  EXPECT_TRUE(machine["peak_gflops"].is_null());
  EXPECT_EQ(bench.output.find("\"fraction_of_peak\":0"), std::string::npos) << bench.output;
  const Outcome profile = runHeddle(
      {"profile", model, "--device", "cuda", "--shapes", "1x4", "--runs", "1"}, withGpu());
  EXPECT_EQ(profile.code, 0) << profile.error;
  EXPECT_EQ(profile.output.find("inf"), std::string::npos) << profile.output;
  EXPECT_NE(profile.output.find("linear"), std::string::npos) << profile.output;
}

} // namespace heddle::tools
