// SPDX-License-Identifier: Apache-2.0
///
/// Compiled CTranslate2 folders against CTranslate2's own results, which
/// tests/formats/CTranslate2/make_ctranslate2.py has recorded.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using Json = nlohmann::json;
using Tokens = std::vector<int32_t>;

class CTranslate2Folder : public testing::TestWithParam<std::pair<const char *, int32_t>> {};

TEST_P(CTranslate2Folder, ScoresAreThoseOfCTranslate2) {
  const auto &[name, end] = GetParam();
  const std::string folder = std::string(HEDDLE_TEST_DATA "/formats/CTranslate2/models/") + name;
  const std::string binary = compileModel(folder);
  ASSERT_FALSE(binary.empty());
  std::vector<Json> expected;
  std::string sources, targets;
  std::ifstream file(folder + "/scores.jsonl");
  for (std::string line; std::getline(file, line);) {
    expected.push_back(Json::parse(line, nullptr, false));
    Tokens target = expected.back()["target"].get<Tokens>();
    target.push_back(end);
    sources += fmt::format("{}\n", fmt::join(expected.back()["source"].get<Tokens>(), " "));
    targets += fmt::format("{}\n", fmt::join(target, " "));
  }
  ASSERT_EQ(expected.size(), 20U);
  TemporaryFolder files;
  const tools::Outcome outcome =
      tools::runHeddle({"score", binary, "--tokens", "--format", "jsonl", "--source",
                        files.write("s.txt", sources), "--target", files.write("t.txt", targets)});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  std::istringstream found(outcome.output);
  for (const Json &sentence : expected) {
    std::string line;
    std::getline(found, line);
    const auto scores = Json::parse(line, nullptr, false)["scores"].get<std::vector<double>>();
    const auto wanted = sentence["scores"].get<std::vector<double>>();
    ASSERT_EQ(scores.size(), wanted.size()) << sentence;
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(scores[i], wanted[i], 2e-5) << sentence << " token " << i;
    }
  }
}

// Post-norm, tied, computed positions; and pre-norm with every option, including targets that begin
// with zeros instead of an embedding.
INSTANTIATE_TEST_SUITE_P(All, CTranslate2Folder,
                         testing::Values(std::pair("tied-f32", 2), std::pair("separate", 8)),
                         [](const auto &info) {
                           std::string name = info.param.first;
                           return name.substr(0, name.find('-'));
                         });

} // namespace
} // namespace heddle
