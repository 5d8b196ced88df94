// SPDX-License-Identifier: Apache-2.0
///
/// `heddle profile` on compiled models: the work of dispatches is counted by hand here, and
/// compared with the table, the record and the trace.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr double width = 48, inner = 96, words = 61, layers = 3;
constexpr double number = sizeof(float);

class ProfileTool : public testing::Test {
protected:
  TemporaryFolder work;

  static std::string transformer() {
    return compileModel(HEDDLE_TEST_DATA "/oracles/transformer-post");
  }
  static std::string bert() { return compileModel(HEDDLE_TEST_DATA "/oracles/bert-tiny"); }

  tools::Outcome profile(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "profile");
    return tools::runHeddle(arguments);
  }
  /// Returns the works of --json.
  Json works(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const tools::Outcome outcome = profile(std::move(arguments));
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.code == 0 ? Json::parse(outcome.output).at("works") : Json::array();
  }
  static Json rowOf(const Json &measured, const std::string &entry, const std::string &name,
                    const std::string &kernel) {
    for (const Json &row : measured["rows"]) {
      if (row["entry"] == entry && row["name"] == name &&
          row["kernel"].get<std::string>().starts_with(kernel)) {
        return row;
      }
    }
    ADD_FAILURE() << "no row of " << entry << " " << name << " " << kernel;
    return Json::object();
  }
};

TEST_F(ProfileTool, CountsWhatGenerationDoes) {
  const double source = 10, target = 7;
  const Json list = works({transformer(), "--cases", "1x1", "--source-length", "10",
                           "--target-length", "7", "--runs", "2"});
  ASSERT_EQ(list.size(), 1u);
  const Json &measured = list[0];
  EXPECT_EQ(measured["work"], "1x1, 10 to 7 tokens");
  EXPECT_EQ(measured["tokens"], 7);
  EXPECT_EQ(measured["runs"], 2);
  // One call per step, for every layer.
  const Json ffn = rowOf(measured, "decode", "decoder.layers.*.ffn.inner", "contract");
  EXPECT_EQ(ffn["calls"], layers * target);
  EXPECT_EQ(ffn["flops"], layers * target * 2 * width * inner);
  EXPECT_EQ(ffn["weight_bytes"], layers * target * number * (width * inner + inner));
  EXPECT_EQ(ffn["cache_bytes"], 0);
  // Step j reads j positions of its history, keys and values.
  const double seen = target * (target + 1) / 2;
  const Json self = rowOf(measured, "decode", "decoder.layers.*.self_attention", "attention");
  EXPECT_EQ(self["cache_bytes"], layers * seen * 2 * width * number);
  EXPECT_EQ(self["flops"], layers * seen * 4 * width);
  const Json cross = rowOf(measured, "decode", "decoder.layers.*.cross_attention", "attention");
  EXPECT_EQ(cross["cache_bytes"], layers * target * source * 2 * width * number);
  EXPECT_EQ(cross["flops"], layers * target * source * 4 * width);
  // A row of a table for each token, not the table; and all of it for the logits.
  const Json embed = rowOf(measured, "decode", "shared", "gather");
  EXPECT_EQ(embed["weight_bytes"], target * 2 * width * number);
  const Json logits = rowOf(measured, "decode", "shared", "contract");
  EXPECT_EQ(logits["flops"], target * 2 * words * width);
  const Json encoder = rowOf(measured, "encode", "encoder.layers.*.ffn.inner", "contract");
  EXPECT_EQ(encoder["calls"], layers);
  EXPECT_EQ(encoder["flops"], layers * source * 2 * width * inner);
  EXPECT_EQ(encoder["weight_bytes"], layers * number * (width * inner + inner));
}

TEST_F(ProfileTool, HypothesesHaveHistoriesOfTheirOwnAndOneMemory) {
  const double source = 10, target = 2, beams = 3;
  const Json list = works({transformer(), "--cases", "1x3", "--source-length", "10",
                           "--target-length", "2", "--runs", "1"});
  ASSERT_EQ(list.size(), 1u);
  // The first step has one hypothesis.
  const Json self = rowOf(list[0], "decode", "decoder.layers.*.self_attention", "attention");
  EXPECT_EQ(self["cache_bytes"], layers * (1 + beams * 2) * 2 * width * number);
  const Json cross = rowOf(list[0], "decode", "decoder.layers.*.cross_attention", "attention");
  EXPECT_EQ(cross["cache_bytes"], layers * target * source * 2 * width * number);
  EXPECT_EQ(cross["flops"], layers * (1 + beams) * source * 4 * width);
}

TEST_F(ProfileTool, ExpertsAreCountedAndOnlyThoseUsedAreRead) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/multimodel/multimodel-text";
  const Json config = Json::parse(readBytes(folder + "/config.json"));
  const auto experts = config["moe"]["experts"].get<size_t>();
  const double active = config["moe"]["active"], source = 3;
  for (const char *const threads : {"1", "2"}) {
    const Json list =
        works({compileModel(folder), "--cases", "1x1", "--source-length", "3", "--target-length",
               "1", "--runs", "2", "--by", "dispatch", "--threads", threads});
    ASSERT_EQ(list.size(), 1u);
    int found = 0;
    for (const Json &row : list[0]["rows"]) {
      if (row["entry"] != "encode" || !row.contains("group_rows")) {
        continue;
      }
      found += 1;
      const auto rows = row["group_rows"].get<std::vector<double>>();
      EXPECT_EQ(rows.size(), experts);
      EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), 0.0), source * active);
      const auto used = static_cast<double>(experts) -
                        static_cast<double>(std::count(rows.begin(), rows.end(), 0.0));
      // Three rows choose at most three times as many experts as one; only their weights are read.
      EXPECT_LE(used, source * active);
      const double width = config["d_model"], hidden = config["moe"]["hidden"];
      EXPECT_LE(row["weight_bytes"], used * number * (width * hidden + std::max(width, hidden)));
      EXPECT_GE(row["weight_bytes"], used * number * width * hidden);
    }
    EXPECT_GE(found, 2);
  }
  const tools::Outcome table = profile({compileModel(folder), "--cases", "1x1", "--source-length",
                                        "3", "--target-length", "1", "--runs", "2"});
  EXPECT_NE(table.output.find(" groups of weights, "), std::string::npos) << table.output;
  EXPECT_NE(table.output.find(" idle; rows of each in a run: "), std::string::npos) << table.output;
}

TEST_F(ProfileTool, SaysWhatItsTimesAre) {
  const Json list = works({bert(), "--shapes", "1x8", "--runs", "3"});
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["times"], "median");
  EXPECT_LE(list[0]["least_ms"], list[0]["ms"]);
  EXPECT_LE(list[0]["ms"], list[0]["most_ms"]);
  EXPECT_GT(list[0]["peak_gflops_before"], 0);
  EXPECT_GT(list[0]["peak_gflops_after"], 0);
  EXPECT_TRUE(list[0]["disturbed"].is_boolean());
  EXPECT_GE(list[0]["spread"], 1);
  const tools::Outcome table = profile({bert(), "--shapes", "1x8", "--runs", "3"});
  EXPECT_NE(table.output.find("; medians of 3 runs\n"), std::string::npos) << table.output;
}

TEST_F(ProfileTool, HasWorkForEveryModel) {
  const tools::Outcome encoder = profile({bert(), "--runs", "1"});
  ASSERT_EQ(encoder.code, 0) << encoder.error;
  EXPECT_EQ(encoder.error, "heddle: note: no work is named, taking --shapes 1x16,8x40\n");
  for (const char *work : {"\n1x16: ", "\n8x40: "}) {
    EXPECT_NE(encoder.output.find(work), std::string::npos) << encoder.output;
  }
  const tools::Outcome decoder = profile({transformer(), "--runs", "1"});
  ASSERT_EQ(decoder.code, 0) << decoder.error;
  EXPECT_EQ(decoder.error, "heddle: note: no work is named, taking --cases 1x1,8x4 --source-length "
                           "24 --target-length 24\n");
  EXPECT_NE(decoder.output.find("\n8x4, 24 to 24 tokens: "), std::string::npos) << decoder.output;
  // Images have whole rows, of 29 pixels here.
  const std::string images =
      compileModel(HEDDLE_TEST_DATA "/oracles/multimodel/multimodel-image-class");
  const tools::Outcome image = profile({images, "--runs", "1"});
  ASSERT_EQ(image.code, 0) << image.error;
  EXPECT_EQ(image.error, "heddle: note: no work is named, taking --shapes 1x29,8x87\n");
  const tools::Outcome bench = tools::runHeddle({"bench", transformer(), "--runs", "1"});
  ASSERT_EQ(bench.code, 0) << bench.error;
  EXPECT_EQ(bench.error, decoder.error);
  EXPECT_EQ(std::count(bench.output.begin(), bench.output.end(), '\n'), 2) << bench.output;
  EXPECT_EQ(Json::parse(bench.output.substr(0, bench.output.find('\n')))["spread"], 1);
}

TEST_F(ProfileTool, SharesAddUp) {
  for (const char *by : {"name", "dispatch", "layer", "kind"}) {
    const Json list = works({bert(), "--shapes", "4x32", "--by", by, "--threads", "2"});
    ASSERT_EQ(list.size(), 1u);
    for (const Json &measured : list) {
      double milliseconds = measured["outside_ms"], share = 0, flops = 0;
      for (const Json &row : measured["rows"]) {
        milliseconds += row["ms"].get<double>();
        share += row["share"].get<double>();
        flops += row["flops"].get<double>();
        EXPECT_GE(row["fraction_of_roof"], 0);
      }
      EXPECT_GE(milliseconds, measured["ms"].get<double>() * 0.999);
      EXPECT_LE(share, 1.1) << by;
      EXPECT_GT(share, 0) << by;
      EXPECT_GT(flops, 0);
    }
  }
}

TEST_F(ProfileTool, WritesATrace) {
  const std::string file = work / "trace.json", record = work / "record.json";
  const tools::Outcome outcome =
      profile({transformer(), "--cases", "2x2,1x1", "--source-length", "9", "--target-length", "5",
               "--threads", "2", "--runs", "1", "--trace", file, "--output", record});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "");
  const Json works = Json::parse(readBytes(record))["works"];
  const Json events = Json::parse(readBytes(file))["traceEvents"];
  std::map<std::pair<int, int>, double> end;
  std::map<int, std::string> processes;
  std::map<std::string, double> flops;
  int names = 0;
  for (const Json &event : events) {
    const int process = event["pid"], thread = event["tid"];
    if (event["ph"] == "M") {
      names += event["name"] == "thread_name";
      if (event["name"] == "process_name") {
        processes[process] = event["args"]["name"];
      }
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    EXPECT_LT(thread, 2);
    // Complete events of a thread do not overlap; times are rounded to nanoseconds.
    double &last = end[{process, thread}];
    EXPECT_GE(event["ts"].get<double>(), last - 0.002);
    last = event["ts"].get<double>() + event["dur"].get<double>();
    if (process == 1 && thread == 0 && event["name"] == "decoder.layers.1.ffn.inner") {
      flops["ffn"] += event["args"]["flops"].get<double>();
      EXPECT_EQ(event["cat"], "decode");
      EXPECT_EQ(event["args"]["weight_bytes"], number * (width * inner + inner));
    }
  }
  EXPECT_EQ(processes,
            (std::map<int, std::string>{{1, "2x2, 9 to 5 tokens"}, {2, "1x1, 9 to 5 tokens"}}));
  EXPECT_EQ(names, 4);
  // The first step has one hypothesis of each of two sentences, the others have two.
  EXPECT_EQ(flops["ffn"], (2 + 4 * 4) * 2 * width * inner);
  ASSERT_EQ(works.size(), 2u);
}

TEST_F(ProfileTool, ReadsFiles) {
  const std::string ids = work.write("ids.txt", "5 9 12\n\n7 3\n");
  Json list = works({bert(), "--input", ids, "--tokens", "--runs", "1"});
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["work"], "ids.txt");
  EXPECT_EQ(list[0]["tokens"], 5);
  list = works({transformer(), "--input", ids, "--tokens", "--runs", "1", "--beam", "2"});
  ASSERT_EQ(list.size(), 1u);
  const Json encoder = rowOf(list[0], "encode", "encoder.layers.*.ffn.inner", "contract");
  EXPECT_EQ(encoder["flops"], layers * 5 * 2 * width * inner);
}

TEST_F(ProfileTool, Errors) {
  const auto expectError = [&](const std::vector<std::string> &arguments,
                               const std::string &message) {
    const tools::Outcome outcome = profile(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.error, "heddle: " + message + "\n");
  };
  const auto expectUsage = [&](const std::vector<std::string> &arguments,
                               const std::string &message) {
    const tools::Outcome outcome = profile(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.error, "heddle: " + message + "\nheddle: try 'heddle profile --help'\n");
  };
  const std::string model = bert();
  expectUsage({model, "--cases", "1x1"},
              "--cases: " + model +
                  ": the model does not generate, expected one with a decoder, or --shapes");
  expectUsage({model, "--shapes", "1x8", "--entry", "x"},
              "--entry \"x\": " + model + ": no entry \"x\", expected one of encode, embed");
  const std::string ids = work.write("ids.txt", "5 6\n");
  expectUsage({model, "--input", ids, "--tokens", "--beam", "2"},
              "--beam is given, and nothing is generated: leave it out");
  expectUsage({transformer(), "--shapes", "1x8", "--entry", "decode"},
              "--entry \"decode\": " + transformer() +
                  ": the entry reads caches, which generation fills, expected one that reads none");
  const std::string texts = work.write("texts.txt", "a\n");
  expectError({model, "--input", texts},
              model + ": the model has no tokenizer, expected one or --tokens");
  const std::string empty = work.write("empty.txt", "\n\n");
  expectError({model, "--input", empty, "--tokens"}, empty + ": no tokens, expected a text a line");
  expectError({model, "--input", texts, "--tokens"},
              texts + ":1: word 1 is \"a\", expected a token id");
  const std::string absent = work / "absent/trace.json";
  expectError({model, "--shapes", "1x8", "--trace", absent},
              absent + ": cannot create: No such file or directory");
  expectUsage({model, "--shapes", "1x100000"},
              "--shapes: 1x100000 has sequences of 100000 tokens, expected at most 40, the "
              "positions of the model");
  EXPECT_EQ(work.names().size(), 3u);
}

} // namespace
} // namespace heddle
