// SPDX-License-Identifier: Apache-2.0
///
/// --device of the real program, with the emulated GPU (tests/Emulator) and without any.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

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

// What a user sees who expects a GPU here: why there is none.
TEST_F(DeviceCommand, SaysWhyAutoHasNoGpu) {
  fixture::ModelSpec spec = fixture::withDevice(fixture::model());
  spec.targets.erase(spec.targets.begin(), spec.targets.end() - 1);
  for (fixture::KernelSpec &kernel : spec.kernels) {
    kernel.symbols.erase(kernel.symbols.begin(), kernel.symbols.end() - 1);
    kernel.launches.erase(kernel.launches.begin(), kernel.launches.end() - 1);
  }
  fixture::setImages(spec, {{manifest::ImageKind::Host, fixture::emulatedImage()}});
  const std::string path = folder / "gpu-only.so";
  ASSERT_EQ(fixture::write(spec, path).message(), "");
  const auto embedOnly = [&](const ProcessOptions &options) {
    return runHeddle({"embed", path, "--input", folder / "texts.txt", "--device", "auto"}, options);
  };
  const Outcome without = embedOnly(withoutGpu());
  EXPECT_EQ(without.code, 1);
  const std::string start =
      "heddle: " + path + ": no target that this CPU can run: the file has sm_80, this CPU runs ";
  EXPECT_TRUE(without.error.starts_with(start)) << without.error;
  EXPECT_NE(without.error.find(std::string("; ") + noDriver), std::string::npos) << without.error;
  EXPECT_NE(without.error.find(folder / "libcuda.so.1"), std::string::npos) << without.error;
  EXPECT_EQ(embedOnly(withGpu()).code, 0);
  // --isa may ask for the GPU's code too.
  const Outcome asked = runHeddle(
      {"embed", model, "--input", folder / "texts.txt", "--device", "auto", "--isa", "sm_80"},
      withoutGpu());
  EXPECT_EQ(asked.code, 2);
  EXPECT_NE(asked.error.find("this CPU cannot run target sm_80, it can run "), std::string::npos)
      << asked.error;
  EXPECT_NE(asked.error.find(std::string("; ") + noDriver), std::string::npos) << asked.error;
}

// Without code for GPUs, none is missing.
TEST_F(DeviceCommand, MissesNoGpuForOtherModels) {
  const std::string path = folder / "plain.so";
  ASSERT_EQ(fixture::write(fixture::model(), path).message(), "");
  const Outcome outcome = runHeddle(
      {"embed", path, "--input", folder / "texts.txt", "--device", "auto", "--isa", "sm_80"},
      withoutGpu());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("no code for target \"sm_80\""), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find("libcuda"), std::string::npos) << outcome.error;
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

TEST_F(DeviceCommand, HoldsKernelsAgainstRoofs) {
  const Outcome bench = runHeddle(
      {"bench", model, "--device", "cuda", "--shapes", "1x4", "--runs", "1", "--roofline"},
      withGpu());
  EXPECT_EQ(bench.code, 0) << bench.error;
  EXPECT_EQ(bench.error, "");
  std::istringstream lines(bench.output);
  std::string first;
  std::getline(lines, first);
  const json machine = json::parse(first);
  EXPECT_EQ(machine["vectors"], "GPU 0 (emulated)");
  EXPECT_GT(machine["peak_gflops"].get<double>(), 0);
  EXPECT_GT(machine["bandwidth_gb_per_s"].get<double>(), 0);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(json::parse(line)["fraction_of_peak"].is_number()) << line;
  }
  EXPECT_GT(count, 1U);
  const std::vector<std::string> arguments = {"profile",  model, "--device", "cuda",
                                              "--shapes", "1x4", "--runs",   "1"};
  const Outcome profile = runHeddle(arguments, withGpu());
  EXPECT_EQ(profile.code, 0) << profile.error;
  EXPECT_EQ(profile.error, "");
  for (const char *const part : {" GFLOP/s, ", " GB/s from memory\n", " GB/s at best\n", "% "}) {
    EXPECT_NE(profile.output.find(part), std::string::npos) << part << " in " << profile.output;
  }
  std::vector<std::string> asJson = arguments;
  asJson.emplace_back("--json");
  const json record = json::parse(runHeddle(asJson, withGpu()).output);
  EXPECT_GT(record["peak_gflops"].get<double>(), 0);
  const json work = record["works"][0];
  EXPECT_GT(work["entries"][0]["roof_gb_per_s"].get<double>(), 0);
  // Rounded to four digits: that of a slow row may be none.
  double fractions = 0;
  for (const json &row : work["rows"]) {
    fractions += row["fraction_of_roof"].get<double>();
  }
  EXPECT_GT(fractions, 0) << work;
  // The same limits before and after the runs: a GPU is measured once.
  EXPECT_EQ(work["peak_gflops_before"], work["peak_gflops_after"]);
  EXPECT_EQ(work["disturbed"], false);
}

/// Bench and profile of a model print no limit, and one note, which ends so.
static void expectNoRoof(const std::string &model, const ProcessOptions &options,
                         const std::string &reason) {
  const std::string note = "heddle: note: " + reason + ": nothing is held against it\n";
  const Outcome bench = runHeddle(
      {"bench", model, "--device", "cuda", "--shapes", "1x4", "--runs", "1", "--roofline"},
      options);
  EXPECT_EQ(bench.code, 0) << bench.error;
  EXPECT_EQ(bench.error, note);
  const json machine = json::parse(bench.output.substr(0, bench.output.find('\n')));
  EXPECT_TRUE(machine["peak_gflops"].is_null());
  EXPECT_EQ(bench.output.find("\"fraction_of_peak\":0"), std::string::npos) << bench.output;
  const Outcome profile =
      runHeddle({"profile", model, "--device", "cuda", "--shapes", "1x4", "--runs", "1"}, options);
  EXPECT_EQ(profile.code, 0) << profile.error;
  EXPECT_EQ(profile.error, note);
  EXPECT_EQ(profile.output.find("inf"), std::string::npos) << profile.output;
  EXPECT_EQ(profile.output.find("from memory"), std::string::npos) << profile.output;
  EXPECT_NE(profile.output.find("linear"), std::string::npos) << profile.output;
}

TEST_F(DeviceCommand, SaysWhyThereAreNoRoofs) {
  fixture::ModelSpec older = fixture::withDevice(fixture::model());
  fixture::setImages(older, {{manifest::ImageKind::Host, fixture::olderImage()}});
  const std::string path = folder / "older.so";
  ASSERT_EQ(fixture::write(older, path).message(), "");
  expectNoRoof(
      path, withGpu(),
      "GPU 0 (emulated): the image for sm_80 has no kernels that measure the GPU, expected "
      "them of a newer heddlec");
}

// Measuring fails, and work goes on: loading has found five kernels before.
TEST_F(DeviceCommand, AFailedMeasurementIsANote) {
  ProcessOptions options = withGpu();
  options.environment.emplace_back("HEDDLE_EMULATOR_FAIL=cuModuleGetFunction:6:1");
  const Outcome profile =
      runHeddle({"profile", model, "--device", "cuda", "--shapes", "1x4", "--runs", "1"}, options);
  EXPECT_EQ(profile.code, 0) << profile.error;
  EXPECT_EQ(profile.error.find("heddle: note: GPU 0 (emulated): cuModuleGetFunction of "
                               "\"roof$multiply_f32\" failed with "),
            0U)
      << profile.error;
  // What was measured is printed: the peak after the runs, and the bandwidth.
  EXPECT_EQ(profile.output.find("inf"), std::string::npos) << profile.output;
  EXPECT_NE(profile.output.find(" GB/s from memory\n"), std::string::npos) << profile.output;
}

} // namespace heddle::tools
