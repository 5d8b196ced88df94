// SPDX-License-Identifier: Apache-2.0
///
/// Command lines of `heddle analyze` and `heddle compare`: their meaning, and every error in them.
#include "tests/runtime/Tools/ParsedArguments.h"

#include <gtest/gtest.h>

namespace heddle::tools {

TEST(AnalysisArguments, AnalyzeWithNothingAndWithAll) {
  const auto least = std::get<AnalyzeOptions>(parse({"analyze", "m.so", "--input", "-"}));
  EXPECT_EQ(least.model, "m.so");
  EXPECT_EQ(least.input, "-");
  EXPECT_EQ(least.output, "-");
  EXPECT_EQ(least.svg, "");
  EXPECT_FALSE(least.beam || least.theta || least.tokens);
  EXPECT_EQ(least.blocks, BlockRule::Largest);
  EXPECT_EQ(least.threads, 1);
  const auto all = std::get<AnalyzeOptions>(
      parse({"analyze", "m.so", "--input", "a.txt", "--output", "a.json", "--svg", "a.svg",
             "--beam", "4", "--theta", "0.85", "--blocks", "extend", "--threads", "3", "--isa",
             "x86-64-v3", "--tokens"}));
  EXPECT_EQ(all.output, "a.json");
  EXPECT_EQ(all.svg, "a.svg");
  EXPECT_EQ(all.beam, 4);
  EXPECT_EQ(all.theta, 0.85);
  EXPECT_EQ(all.blocks, BlockRule::Extend);
  EXPECT_EQ(all.threads, 3);
  EXPECT_EQ(all.isa, "x86-64-v3");
  EXPECT_TRUE(all.tokens);
}

TEST(AnalysisArguments, AnalyzeRefuses) {
  const auto refusal = [](std::vector<const char *> options) {
    options.insert(options.begin(), {"analyze", "m.so", "--input", "-"});
    return errorOf(std::move(options));
  };
  EXPECT_EQ(errorOf({"analyze"}), "analyze: OUT.so is missing");
  EXPECT_EQ(errorOf({"analyze", "m.so"}), "analyze: --input FILE is missing");
  EXPECT_EQ(refusal({"--theta", "1.5"}),
            "analyze: --theta is \"1.5\", expected a number from 0 to 1");
  EXPECT_EQ(refusal({"--theta", "x"}), "analyze: --theta is \"x\", expected a number from 0 to 1");
  EXPECT_EQ(refusal({"--blocks", "extend"}),
            "analyze: --blocks is given without --theta, expected both");
  EXPECT_EQ(
      refusal({"--theta", "0.5", "--blocks", "large"}),
      "analyze: --blocks is \"large\", expected largest or extend; did you mean \"largest\"?");
  EXPECT_EQ(refusal({"--svg", "-"}),
            "analyze: --output and --svg are both standard output, expected one of them");
  EXPECT_EQ(refusal({"--beam", "0"}),
            "analyze: --beam is \"0\", expected a whole number from 1 to 1024");
  EXPECT_EQ(refusal({"--threads", "0"}),
            "analyze: --threads \"0\" is not a number of threads, expected 1 to 1024");
}

TEST(AnalysisArguments, Compare) {
  const auto options = std::get<CompareOptions>(
      parse({"compare", "a.so", "b.so", "--input", "t.txt", "--beam", "2", "--json"}));
  EXPECT_EQ(options.model, "a.so");
  EXPECT_EQ(options.other, "b.so");
  EXPECT_EQ(options.input, "t.txt");
  EXPECT_EQ(options.beam, 2);
  EXPECT_TRUE(options.json);
  EXPECT_FALSE(options.tokens);
  EXPECT_EQ(errorOf({"compare"}), "compare: A.so is missing");
  EXPECT_EQ(errorOf({"compare", "a.so"}), "compare: B.so is missing");
  EXPECT_EQ(errorOf({"compare", "a.so", "b.so"}), "compare: --input FILE is missing");
  EXPECT_EQ(errorOf({"compare", "a.so", "b.so", "c.so"}), "compare: unexpected argument \"c.so\"");
  EXPECT_EQ(errorOf({"compare", "a.so", "b.so", "--input", "-", "--threads", "x"}),
            "compare: --threads \"x\" is not a number of threads, expected 1 to 1024");
}

} // namespace heddle::tools
