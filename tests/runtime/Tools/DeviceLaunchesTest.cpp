// SPDX-License-Identifier: Apache-2.0
///
/// The launches that `heddle bench` and `heddle profile` print, beside the journal of the emulated
/// GPU.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using nlohmann::json;

namespace {
struct DeviceLaunches : testing::Test {
  /// Writes a model with an image and returns its path.
  std::string write(const fixture::ModelSpec &spec, const std::string &name) const {
    EXPECT_EQ(fixture::write(fixture::withDevice(spec), folder / name).message(), "");
    return folder / name;
  }
  Outcome heddle(const std::vector<std::string> &arguments) const {
    const Outcome outcome = runHeddle(
        arguments, {.environment = {std::string("LD_LIBRARY_PATH=") + HEDDLE_EMULATOR_FOLDER,
                                    "HEDDLE_EMULATOR_JOURNAL=" + (folder / "journal.txt")}});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome;
  }
  Outcome generate(const std::string &model, const std::string &command, const std::string &device,
                   const std::string &runs) const {
    return heddle({command, model, "--device", device, "--cases", "2x1", "--source-length", "3",
                   "--target-length", "5", "--runs", runs, "--json"});
  }
  /// Returns the number of calls of each function in the last process, and the kernels of graphs.
  std::map<std::string, int64_t> journal() const {
    std::map<std::string, int64_t> calls;
    std::ifstream lines(folder / "journal.txt");
    for (std::string line; std::getline(lines, line);) {
      const size_t bracket = line.find('(');
      const std::string function = line.substr(0, bracket);
      ++calls[function];
      if (function == "cuGraphLaunch") {
        calls["kernels of graphs"] += std::stol(line.substr(bracket + 1));
      }
    }
    return calls;
  }

  TemporaryFolder folder;
};
} // namespace

/// What a further run adds to the journal is what bench says of a run.
TEST_F(DeviceLaunches, OfBenchAreThoseOfTheJournal) {
  for (const bool selects : {true, false}) {
    const std::string model =
        write(selects ? fixture::selectingModel() : fixture::generatingModel(), "model.so");
    generate(model, "bench", "cuda", "3");
    std::map<std::string, int64_t> before = journal();
    const Outcome bench = generate(model, "bench", "cuda", "4");
    std::map<std::string, int64_t> calls = journal();
    for (auto &[function, count] : calls) {
      count -= before[function];
    }
    const json launches = json::parse(bench.output)["launches"];
    EXPECT_EQ(launches["encoding"]["count"], 1);
    EXPECT_EQ(launches["step"]["count"], 5);
    const auto total = [&](const char *key) {
      double sum = 0;
      for (const char *const unit : {"encoding", "step"}) {
        sum += launches[unit]["count"].get<double>() * launches[unit][key].get<double>();
      }
      return std::lround(sum);
    };
    EXPECT_EQ(total("graphs"), calls["cuGraphLaunch"]);
    EXPECT_EQ(total("kernels_of_graphs"), calls["kernels of graphs"]);
    EXPECT_EQ(total("kernels"), calls["cuLaunchKernel"]);
    EXPECT_EQ(total("copies_to_device"), calls["cuMemcpyHtoDAsync_v2"]);
    EXPECT_EQ(total("copies_to_host") + total("copies_within"), calls["cuMemcpyDtoHAsync_v2"] +
                                                                    calls["cuMemcpyDtoDAsync_v2"] +
                                                                    calls["cuMemcpy2DAsync_v2"]);
    // The other waits are for the memory of copies, one before each.
    EXPECT_EQ(total("waits"), calls["cuStreamSynchronize"] + calls["cuEventSynchronize"] -
                                  calls["cuMemcpyHtoDAsync_v2"]);
    if (selects) {
      EXPECT_EQ(launches["step"]["graphs"], 1);
      EXPECT_EQ(launches["step"]["waits"], 1);
    }
  }
}

/// Info says what a pass launches where that is known without running it.
TEST_F(DeviceLaunches, AreInInfo) {
  const std::string model = write(fixture::selectingModel(), "model.so");
  const json bench = json::parse(generate(model, "bench", "cuda", "3").output)["launches"];
  for (const json &entry : json::parse(heddle({"info", model, "--json"}).output)["entries"]) {
    SCOPED_TRACE(entry["name"]);
    // The kernels of a step depend on its searches.
    EXPECT_EQ(entry.contains("kernels_of_pass"), entry["name"] != "decode");
    if (entry["name"] == "encode") {
      EXPECT_EQ(entry["kernels_of_pass"].size(), 1U) << "only GPUs launch kernels";
      EXPECT_EQ(entry["kernels_of_pass"]["sm_80"]["least"],
                bench["encoding"]["kernels_of_graphs"].get<int>() +
                    bench["encoding"]["kernels"].get<int>());
      EXPECT_EQ(entry["kernels_of_pass"]["sm_80"]["most"],
                entry["kernels_of_pass"]["sm_80"]["least"]);
      EXPECT_NE(heddle({"info", model})
                    .output.find("\n  launches " +
                                 entry["kernels_of_pass"]["sm_80"]["least"].dump() +
                                 " kernels for all outputs on sm_80\n"),
                std::string::npos);
    }
  }
}

/// Long sequences have sections, which a kernel of its own merges; and kernels round rows first.
TEST_F(DeviceLaunches, AreARangeInInfoIfTheyDependOnTheBatch) {
  fixture::ModelSpec spec = fixture::withDevice(fixture::model());
  const std::string path = folder / "ranges.so";
  ASSERT_EQ(fixture::write(spec, path).message(), "");
  const auto kernelsOf = [&] {
    const json info = json::parse(heddle({"info", path, "--json"}).output);
    return info["entries"][0]["kernels_of_pass"]["sm_80"];
  };
  const json before = kernelsOf();
  EXPECT_EQ(before["least"], before["most"]);
  ASSERT_EQ(spec.kernels[1].name, "linear");
  // What finishes rows takes the place of what merges sections, so those are of another kernel.
  const std::pair<size_t, manifest::LaunchShape> shapes[] = {
      {0, {manifest::LaunchUnit::Caller, 32, 128, 16, 4, 0, 0, 1, 1}},
      {1, {manifest::LaunchUnit::Caller, 32, 128, 0, 0, 8, 128, 0, 0}},
  };
  const std::vector<fixture::KernelSpec> plain = spec.kernels;
  for (const auto &[kernel, shape] : shapes) {
    spec.kernels = plain;
    spec.kernels[kernel].launches[2] = shape;
    ASSERT_EQ(fixture::write(spec, path).message(), "");
    const json after = kernelsOf();
    EXPECT_EQ(after["least"], before["least"]);
    EXPECT_GT(after["most"], before["most"]);
    EXPECT_NE(heddle({"info", path})
                  .output.find("\n  launches " + after["least"].dump() + " to " +
                               after["most"].dump() + " kernels for all outputs on sm_80\n"),
              std::string::npos);
  }
}

/// Launches are timed, so that a profile has more calls for the same kernels.
TEST_F(DeviceLaunches, OfAProfileAreTheSameKernels) {
  const std::string model = write(fixture::selectingModel(), "model.so");
  const json bench = json::parse(generate(model, "bench", "cuda", "3").output)["launches"];
  const json profile =
      json::parse(generate(model, "profile", "cuda", "1").output)["works"][0]["launches"];
  for (const char *const unit : {"encoding", "step"}) {
    const auto kernels = [&](const json &launches) {
      return launches[unit]["kernels"].get<double>() +
             launches[unit]["kernels_of_graphs"].get<double>();
    };
    EXPECT_EQ(profile[unit]["count"], bench[unit]["count"]);
    EXPECT_EQ(kernels(profile), kernels(bench)) << unit;
    EXPECT_GT(kernels(profile), 0) << unit;
  }
  const Outcome text = heddle({"profile", model, "--device", "cuda", "--cases", "1x1",
                               "--source-length", "3", "--target-length", "5", "--runs", "1"});
  EXPECT_NE(text.output.find("\nlaunches a timed encoding: "), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("\nlaunches a timed step: "), std::string::npos) << text.output;
}

TEST_F(DeviceLaunches, OfAnEncoderAreThoseOfARun) {
  const std::string model = write(fixture::model(), "model.so");
  const std::vector<std::string> work = {model, "--shapes", "2x4", "--runs", "3"};
  const auto with = [&](const std::string &command, std::vector<std::string> more) {
    more.insert(more.begin(), work.begin(), work.end());
    more.insert(more.begin(), command);
    return heddle(more).output;
  };
  const json bench = json::parse(with("bench", {"--device", "cuda"}))["launches"];
  EXPECT_EQ(bench.size(), 1U) << bench;
  EXPECT_EQ(bench["run"]["count"], 1);
  EXPECT_GT(bench["run"]["waits"], 0);
  const auto kernels =
      bench["run"]["kernels"].get<int>() + bench["run"]["kernels_of_graphs"].get<int>();
  EXPECT_GT(kernels, 0);
  EXPECT_NE(with("profile", {"--device", "cuda"})
                .find("\nlaunches a timed run: " + std::to_string(kernels) + " kernel"),
            std::string::npos);
  // Processors have no driver.
  EXPECT_FALSE(json::parse(with("bench", {})).contains("launches"));
  EXPECT_EQ(with("profile", {}).find("launches a "), std::string::npos);
  EXPECT_EQ(json::parse(with("profile", {"--json"}))["works"][0]["launches"], json::object());
}

} // namespace heddle::tools
