// SPDX-License-Identifier: Apache-2.0
///
/// `heddle tokenize` with a tokenizer's own file instead of a compiled model.
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::tools {

using nlohmann::json;

namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/tokenizers/";

/// Returns the lines of a .jsonl text.
std::vector<json> linesOf(std::istream &&text) {
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(json::parse(line, nullptr, false));
  }
  return lines;
}

class TokenizeFileTest : public testing::TestWithParam<const char *> {};

TEST_P(TokenizeFileTest, IdsOfTheOracle) {
  const std::string file = oracles + GetParam();
  const std::string golden = file.substr(0, file.rfind('/')) + "/golden.jsonl";
  const Outcome outcome = runHeddle({"tokenize", file, "--input", golden});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::vector<json> lines = linesOf(std::istringstream(outcome.output));
  const std::vector<json> expected = linesOf(std::ifstream(golden));
  ASSERT_EQ(lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["text"], expected[i]["text"]);
    EXPECT_EQ(lines[i]["tokens"], expected[i]["ids"]) << expected[i]["text"];
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizeFileTest,
                         testing::Values("wordpiece/tokenizer.json", "bpe-bytelevel/tokenizer.json",
                                         "unigram-metaspace/tokenizer.json",
                                         "sentencepiece-unigram/source.spm",
                                         "sentencepiece-bpe/source.spm"));

TEST(BadTokenizeFileTest, Messages) {
  const TemporaryFolder folder;
  const std::string texts = folder.write("texts.txt", "a\n");
  const auto error = [&](const std::string &file) {
    const Outcome outcome = runHeddle({"tokenize", file, "--input", texts});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.output, "");
    return outcome.error;
  };
  EXPECT_EQ(error(folder.write("list.json", "[]")),
            "heddle: " + folder / "list.json" + ": is a list of 0, expected an object\n");
  EXPECT_EQ(error(folder.write("text.spm", "plain text")),
            "heddle: " + folder / "text.spm" +
                ": sentencepiece: the model is cut off or damaged\n");
  EXPECT_NE(error(folder / "absent.model").find("absent.model"), std::string::npos);
}

} // namespace
} // namespace heddle::tools
