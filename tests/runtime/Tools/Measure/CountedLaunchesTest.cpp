// SPDX-License-Identifier: Apache-2.0
///
/// Launches as text and as JSON.
#include "runtime/Tools/Measure/CountedLaunches.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

TEST(CountedLaunches, AreMeans) {
  const LaunchUse steps = {.kernels = 0,
                           .graphs = 6,
                           .kernelsOfGraphs = 186,
                           .copiesToDevice = 18,
                           .copiesToHost = 6,
                           .copiesWithin = 5,
                           .waits = 6};
  const GenerationLaunches all = {1, {.kernels = 27, .copiesToDevice = 3, .waits = 2}, 6, steps};
  const std::vector<CountedLaunches> list = countedLaunches(all);
  EXPECT_EQ(launchesText(list),
            "launches a timed encoding: 27 kernels, 3 copies to the device, 2 waits\n"
            "launches a timed step: 1 graph of 31 kernels, 3 copies to the device, 1 copy to the "
            "host, 0.83 copies within the device, 1 wait\n");
  const Json record = launchesRecord(list);
  EXPECT_EQ(record["encoding"], Json::parse(R"({"count": 1, "graphs": 0, "kernels_of_graphs": 0,
      "kernels": 27, "copies_to_device": 3, "copies_to_host": 0, "copies_within": 0, "waits": 2})"));
  EXPECT_EQ(record["step"], Json::parse(R"({"count": 6, "graphs": 1, "kernels_of_graphs": 31,
      "kernels": 0, "copies_to_device": 3, "copies_to_host": 1, "copies_within": 0.83,
      "waits": 1})"));
}

TEST(CountedLaunches, TellKernelsOfGraphsFromOthers) {
  const LaunchUse use = {.kernels = 1, .graphs = 2, .kernelsOfGraphs = 2, .waits = 1};
  EXPECT_EQ(launchesText(countedLaunches(1, use)),
            "launches a timed run: 2 graphs of 1 kernel, 1 single kernel, 1 wait\n");
}

TEST(CountedLaunches, OfNothingAreNothing) {
  // A processor: there are steps, and no driver.
  const std::vector<CountedLaunches> onCpu = countedLaunches(GenerationLaunches{1, {}, 6, {}});
  EXPECT_EQ(launchesText(onCpu), "");
  EXPECT_EQ(launchesRecord(onCpu), Json::object());
  // A model without sources: nothing is encoded.
  const std::vector<CountedLaunches> noSources =
      countedLaunches(GenerationLaunches{0, {}, 1, {.kernels = 2}});
  EXPECT_EQ(launchesText(noSources), "launches a timed step: 2 kernels\n");
  EXPECT_EQ(launchesRecord(noSources).size(), 1U);
}

TEST(CountedLaunches, OfAPartOfTheWork) {
  const std::vector<CountedLaunches> before = countedLaunches(2, {.graphs = 1, .waits = 4});
  const std::vector<CountedLaunches> after = countedLaunches(3, {.graphs = 2, .waits = 6});
  EXPECT_EQ(launchesBetween(before, after), countedLaunches(1, {.graphs = 1, .waits = 2}));
}

} // namespace heddle::tools
