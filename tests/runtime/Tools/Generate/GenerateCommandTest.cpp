// SPDX-License-Identifier: Apache-2.0
///
/// `heddle generate` on the test model: the number of output lines, and the options that it rejects
/// before it reads a source.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

namespace heddle::tools {

namespace {
struct GenerateCommandTest : testing::Test {
  GenerateCommandTest() {
    EXPECT_EQ(fixture::write(fixture::generatingModel(), model).message(), "");
  }

  /// Writes a file and returns its path.
  std::string file(const std::string &name, const std::string &text) const {
    std::ofstream(folder / name) << text;
    return folder / name;
  }

  Outcome generate(const std::string &sources, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"generate", model, "--tokens", "--threads", "1", "--input",
                                         file("sources.txt", sources)});
    return runHeddle(arguments);
  }

  TemporaryFolder folder;
  std::string model = folder / "model.so";
};
} // namespace

TEST_F(GenerateCommandTest, EverySourceHasAsManyLines) {
  // There are only two first tokens: 7 and the end.
  const Outcome outcome =
      generate("5 6\n\n8\n", {"--beam", "1", "--alternatives", "--nbest", "3", "--max-length", "4",
                              "--shortlist", file("shortlists.txt", "7\n7\n7\n")});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  ASSERT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 9) << outcome.output;
  std::vector<bool> empty;
  for (size_t begin = 0; begin < outcome.output.size();) {
    const size_t end = outcome.output.find('\n', begin);
    empty.push_back(end == begin);
    begin = end + 1;
  }
  EXPECT_EQ(empty, (std::vector<bool>{false, false, true, true, true, true, false, false, true}))
      << outcome.output;
}

TEST_F(GenerateCommandTest, AMinimumThatOnlySomeSourcesAllow) {
  // At most 50 tokens more than the source has.
  const std::string longer = "5 6 7 8 9 10 11 12 13 14";
  const Outcome outcome = generate(longer + "\n", {"--beam", "1", "--min-length", "60"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_GE(std::count(outcome.output.begin(), outcome.output.end(), ' '), 59);
  const Outcome refused = generate(longer + "\n5\n", {"--beam", "1", "--min-length", "60"});
  EXPECT_EQ(refused.code, 1);
  // The line before it is answered.
  EXPECT_EQ(refused.output, outcome.output + "\n");
  EXPECT_NE(
      refused.error.find("sources.txt:2: minimum length is 60, expected at most the maximum, 51"),
      std::string::npos)
      << refused.error;
  const Outcome never = generate("", {"--min-length", "60", "--max-length", "60", "--nbest", "9"});
  EXPECT_EQ(never.code, 2);
  EXPECT_NE(never.error.find("--nbest 9 needs --beam 9: nbest is 9, expected at most the beam, 4"),
            std::string::npos)
      << never.error;
}

} // namespace heddle::tools
