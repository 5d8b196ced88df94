// SPDX-License-Identifier: Apache-2.0
///
/// Sums of divergences, and the file of an analysis: every written file can be read, and every
/// error has its message.
#include "formats/Analysis/AttentionAnalysis.h"
#include "runtime/Kernels/JensenShannon.h"

#include <gtest/gtest.h>

using namespace heddle;

TEST(DivergenceSum, IsTheMeanOfAllRows) {
  DivergenceSum sum(3);
  EXPECT_EQ(sum.similarity(), SimilarityMatrix(3, std::vector<double>(3, 1.0)));
  const float first[] = {1, 0};
  const float second[] = {0, 1};
  const float *const apart[] = {first, second, first};
  sum.add(apart, 2);
  const SimilarityMatrix expected = {{1, 0, 1}, {0, 1, 0}, {1, 0, 1}};
  EXPECT_EQ(sum.similarity(), expected);
  // A single key counts as agreement.
  const float one[] = {1};
  const float *const alike[] = {one, one, one};
  sum.add(alike, 1);
  EXPECT_EQ(sum.similarity()[0][1], 0.5);
  EXPECT_EQ(sum.similarity()[2][1], 0.5);
  EXPECT_EQ(sum.similarity()[0][2], 1);
  EXPECT_EQ(sum.count(), 2);
}

static AttentionAnalysis example() {
  AttentionAnalysis analysis;
  analysis.model = "a \"model\".so";
  analysis.theta = 0.8;
  analysis.sentences = 3;
  analysis.positions = 41;
  analysis.kinds = {{"decoder",
                     {"d.0", "d.1"},
                     20,
                     {{1, 0.1234567890123456}, {0.1234567890123456, 1}},
                     std::vector<int64_t>{2}},
                    {"cross", {"c"}, 20, {{1}}, std::nullopt}};
  return analysis;
}

TEST(AttentionAnalysis, IsReadAsItWasWritten) {
  const AttentionAnalysis analysis = example();
  const std::string text = writeAnalysis(analysis);
  Result<AttentionAnalysis> read = readAnalysis(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->model, analysis.model);
  EXPECT_EQ(read->theta, analysis.theta);
  EXPECT_EQ(read->sentences, 3);
  EXPECT_EQ(read->positions, 41);
  ASSERT_EQ(read->kinds.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->kinds[i].kind, analysis.kinds[i].kind);
    EXPECT_EQ(read->kinds[i].layers, analysis.kinds[i].layers);
    EXPECT_EQ(read->kinds[i].positions, analysis.kinds[i].positions);
    EXPECT_EQ(read->kinds[i].similarity, analysis.kinds[i].similarity);
    EXPECT_EQ(read->kinds[i].policy, analysis.kinds[i].policy);
  }
  EXPECT_EQ(writeAnalysis(*read), text);
  // The file describes its numbers before it lists them.
  const size_t measure =
      text.find("\"measure\": \"similarity of layers, 1 for equal attention, 0 for "
                "nothing in common: 1 - Jensen-Shannon divergence in bits\"");
  EXPECT_LT(measure, text.find("\"similarity\": ["));
  AttentionAnalysis none;
  EXPECT_EQ(writeAnalysis(*readAnalysis(writeAnalysis(none))), writeAnalysis(none));
}

TEST(AttentionAnalysis, GivesWhatHeddlecTakes) {
  const auto of = [](const std::string &kind, const std::vector<int64_t> &policy) {
    int64_t layers = 0;
    for (const int64_t size : policy) {
      layers += size;
    }
    const auto count = static_cast<size_t>(layers);
    return KindAnalysis{kind, std::vector<std::string>(count, "l"), 1,
                        SimilarityMatrix(count, std::vector<double>(count, 1.0)), policy};
  };
  AttentionAnalysis analysis;
  // No policy was requested.
  EXPECT_EQ(shareAttention(analysis), std::nullopt);
  EXPECT_NE(writeAnalysis(analysis).find("\n \"share_attention\": null}\n"), std::string::npos);
  // A policy was requested, but nothing is shared.
  analysis.theta = 0.8;
  analysis.kinds = {of("encoder", {1, 1, 1}), of("decoder", {1}), of("cross", {1, 1})};
  EXPECT_EQ(shareAttention(analysis), "");
  EXPECT_NE(writeAnalysis(analysis).find("\n \"share_attention\": \"\"}\n"), std::string::npos);
  analysis.kinds = {of("encoder", {1, 1, 1}), of("decoder", {1, 5}), of("cross", {4, 2})};
  EXPECT_EQ(shareAttention(analysis), "self:1,5,cross:4,2");
  EXPECT_NE(writeAnalysis(analysis).find("\"share_attention\": \"self:1,5,cross:4,2\"}\n"),
            std::string::npos);
  analysis.kinds = {of("encoder", {2})};
  EXPECT_EQ(shareAttention(analysis), "encoder:2");
}

TEST(AttentionAnalysis, SaysWhatIsWrong) {
  const std::string rest = R"("sentences": 1, "positions": 2)";
  const auto file = [&](const std::string &kind) {
    return R"({"model": "m", "theta": null, )" + rest + R"(, "kinds": [)" + kind + "]}";
  };
  const auto kind = [&](const std::string &matrix, const std::string &policy) {
    return file(R"({"kind": "cross", "layers": ["a", "b"], "similarity": )" + matrix +
                R"(, "policy": )" + policy + "}");
  };
  const std::string nested = std::string(100000, '[') + std::string(100000, ']');
  const std::pair<std::string, std::string> cases[] = {
      {"", "not a JSON object, expected what 'heddle analyze' writes"},
      {"[1]", "not a JSON object"},
      {R"({"model": 1})", "\"model\" is 1, expected a string"},
      {R"({"model": "m", "theta": "x"})", "\"theta\" is \"x\", expected a number or null"},
      {R"({"model": "m", "theta": )" + nested + "}", "\"theta\" is a list of 1, expected a number"},
      {R"({"model": "m", "sentences": -1})",
       "\"sentences\" is -1, expected an integer of at least 0"},
      {R"({"model": "m", "sentences": 1})",
       "\"positions\" is null, expected an integer of at least 0"},
      {R"({"model": "m", )" + rest + "}", "\"kinds\" is null, expected a list"},
      {file("3"), "\"kinds\"[0] is 3, expected an object"},
      {file(R"({"kind": "self"})"),
       "\"kinds\"[0].\"kind\" is \"self\", expected \"encoder\", \"decoder\" or \"cross\""},
      {file(R"({"kind": "cross", "layers": []})"),
       "\"kinds\"[0].\"layers\" is [], expected 1 to 4096 layer names"},
      {file(R"({"kind": "cross", "layers": [1]})"), "\"layers\" is [1], expected"},
      {file(R"({"kind": "cross", "layers": ["a"], "divergence": [[0]]})"),
       "\"kinds\"[0].\"divergence\" is what an earlier version wrote, expected \"similarity\": run "
       "'heddle analyze' again"},
      {kind("[[0, 0.5]]", "null"),
       "\"kinds\"[0].\"similarity\" is a list of 1, expected 2 rows of 2 numbers from 0 to 1"},
      {kind("[[0, 0.5], [0.5]]", "null"), "\"similarity\"[1] is [0.5], expected 2 rows of 2"},
      {kind("[[0, 1.5], [0.5, 0]]", "null"),
       "\"similarity\"[0][1] is 1.5, expected a number from 0 to 1"},
      {kind("[[0, null], [0.5, 0]]", "null"), "\"similarity\"[0][1] is null, expected a number"},
      {kind("[[0, 0.5], [0.5, 0]]", "[1]"),
       "\"policy\" is [1], expected null, or block sizes of at least 1 that add up to 2"},
      {kind("[[0, 0.5], [0.5, 0]]", "[1, 0, 1]"), "\"policy\" is [1,0,1], expected null"},
      {kind("[[0, 0.5], [0.5, 0]]", "[18446744073709551615]"), "\"policy\" is [18446744073709"},
      {kind("[[0, 0.5], [0.5, 0]]", "2"), "\"policy\" is 2, expected null"},
  };
  for (const auto &[text, message] : cases) {
    const Result<AttentionAnalysis> read = readAnalysis(text);
    ASSERT_FALSE(read.ok()) << text.substr(0, 200);
    EXPECT_NE(read.status().message().find(message), std::string::npos)
        << read.status().message() << "\n"
        << message;
  }
}
