// SPDX-License-Identifier: Apache-2.0
///
/// `heddle compare` on compiled models: a model and itself, a model and a version of it with other
/// rounding, different models, the prediction from their sizes, and models that cannot be compared.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/RunLogits.h"
#include "tests/EndToEnd/ScaledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle {
namespace {

using Json = nlohmann::json;
const std::string oracles = HEDDLE_TEST_DATA "/oracles/";
constexpr size_t vocabulary = 61;
const std::string lines = "5 6 7 8\n\n9 10 11 12 13 14 15\n20\n";

tools::Outcome compare(const std::string &a, const std::string &b, const std::string &input,
                       std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"compare", a, b, "--tokens", "--input", "-"});
  return tools::runHeddle(options, {.input = input});
}

/// Returns the softmax of a row, in double.
std::vector<double> distributionOf(std::span<const float> logits) {
  std::vector<double> values(logits.begin(), logits.end());
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double &value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (double &value : values) {
    value /= sum;
  }
  return values;
}

/// Returns the divergences that `heddle compare` must find for the texts of `a`, by definition.
std::pair<double, double> divergencesOf(const std::string &a, const std::string &b,
                                        const std::vector<std::vector<int32_t>> &sources,
                                        const TemporaryFolder &folder) {
  std::pair<double, double> sums;
  size_t rows = 0;
  for (const std::vector<int32_t> &source : sources) {
    const tools::Outcome outcome =
        tools::runHeddle({"generate", a, "--tokens", "--input", "-"},
                         {.input = fmt::format("{}\n", fmt::join(source, " "))});
    std::istringstream words(outcome.output);
    // Prepend the start token and remove the end token.
    std::vector<int32_t> target = {1};
    target.insert(target.end(), std::istream_iterator<int32_t>(words), {});
    EXPECT_EQ(target.back(), 2);
    target.pop_back();
    const std::map<std::string, std::vector<int32_t>> inputs = {{"source", source},
                                                                {"target", target}};
    const std::vector<float> own = runLogits(a, inputs, target.size(), vocabulary);
    const std::vector<float> its = runLogits(b, inputs, target.size(), vocabulary);
    for (size_t row = 0; row < target.size(); ++row, ++rows) {
      const auto p = distributionOf(std::span(own).subspan(row * vocabulary, vocabulary));
      const auto q = distributionOf(std::span(its).subspan(row * vocabulary, vocabulary));
      for (size_t i = 0; i < vocabulary; ++i) {
        const double mean = (p[i] + q[i]) / 2;
        sums.first += p[i] * std::log2(p[i] / q[i]);
        sums.second += (p[i] * std::log2(p[i] / mean) + q[i] * std::log2(q[i] / mean)) / 2;
      }
    }
  }
  return {sums.first / static_cast<double>(rows), sums.second / static_cast<double>(rows)};
}

/// Returns the minimum seconds of one run over the lines, from the counts of every dispatch in
/// `heddle profile` and the roofs that the comparison measured.
double leastSecondsOf(const Json &record, const char *side) {
  const tools::Outcome outcome =
      tools::runHeddle({"profile", record[side]["file"], "--tokens", "--input", "-", "--by",
                        "dispatch", "--runs", "1", "--json"},
                       {.input = lines});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  std::map<std::string, double> bandwidth;
  for (const Json &entry : record[side]["entries"]) {
    EXPECT_GT(entry["pass_bytes"], 1000);
    bandwidth[entry["entry"]] = entry["roof_gb_per_s"];
  }
  const Json works = Json::parse(outcome.output)["works"];
  double seconds = 0;
  for (const Json &row : works[0]["rows"]) {
    const double bytes = row["weight_bytes"].get<double>() + row["cache_bytes"].get<double>();
    seconds +=
        1e-9 * std::max(row["flops"].get<double>() / record[side]["peak_gflops"].get<double>(),
                        bytes / bandwidth.at(row["entry"]));
  }
  return seconds;
}

/// Checks that the prediction follows from the counts and the roofs, for the same number of tokens.
void expectPrediction(const Json &record) {
  double atBest[2];
  for (const char *const side : {"a", "b"}) {
    const double least = leastSecondsOf(record, side);
    // The roofs are printed with few digits.
    EXPECT_NEAR(record[side]["least_seconds"], least, least * 0.02);
    atBest[side[0] - 'a'] = record[side]["tokens"].get<double>() / least;
  }
  const double expected = atBest[1] / atBest[0];
  EXPECT_NEAR(record["predicted_ratio"], expected, expected * 0.04);
}

TEST(Compare, AModelAndItself) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const tools::Outcome outcome = compare(binary, binary, lines, {"--json", "--beam", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json result = Json::parse(outcome.output);
  EXPECT_EQ(result["sentences"], 3);
  const Json &difference = result["b_against_a"];
  EXPECT_EQ(difference["equal_tokens"], 1);
  EXPECT_EQ(difference["identical_lines"], 1);
  EXPECT_EQ(difference["kl_bits"], 0);
  EXPECT_EQ(difference["jsd_bits"], 0);
  EXPECT_EQ(difference["bleu"], 100);
  EXPECT_EQ(difference["chrf"], 100);
  for (const char *const side : {"a", "b"}) {
    EXPECT_EQ(result[side]["file"], Json(binary));
    EXPECT_GT(result[side]["tokens_per_s"], 0);
    EXPECT_GT(result[side]["seconds"], 0);
    EXPECT_GT(result[side]["weight_bytes"], 100000);
    // Keys and values of 48 floats in three layers.
    EXPECT_EQ(result[side]["cache_bytes_per_token"]["target"], 2 * 3 * 48 * 4);
    EXPECT_EQ(result[side]["cache_bytes_per_token"]["source"], 2 * 3 * 48 * 4);
  }
  EXPECT_GT(result["speed_ratio"], 0);
  // The same counts are compared with the same roofs.
  EXPECT_EQ(result["predicted_ratio"], 1);
  EXPECT_GT(result["a"]["least_seconds"], 0);
  EXPECT_EQ(result["a"]["least_seconds"], result["b"]["least_seconds"]);
}

TEST(Compare, LayersThatShareTheirAttentionPromiseMore) {
  // Texts of an exact number of tokens, whatever they contain: untrained models end anywhere.
  TemporaryFolder folder;
  for (const char *const file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(oracles + "marian-tiny/" + file, folder / file);
  }
  folder.write("generation_config.json", R"({"min_length": 12, "max_length": 12})");
  const std::string a = compileModel(folder.path());
  const std::string b = compileModel(folder.path(), {"--share-attention=self:2,cross:2"});
  const tools::Outcome outcome = compare(a, b, lines, {"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json result = Json::parse(outcome.output);
  EXPECT_EQ(result["a"]["tokens"], result["b"]["tokens"]);
  // Half of the maps of queries and keys, of their caches and their readers; neither the
  // feed-forward networks nor the logits.
  EXPECT_GT(result["predicted_ratio"], 1.05);
  EXPECT_LT(result["b"]["least_seconds"], result["a"]["least_seconds"]);
  expectPrediction(result);
}

TEST(Compare, ModelsThatDiffer) {
  const std::string a = compileModel(oracles + "transformer-post");
  TemporaryFolder folder;
  const std::string b = compileModel(
      scaledModel(oracles + "transformer-post", "decoder.layers.2.ffn.outer.weight", 4.0F, folder));
  const tools::Outcome outcome = compare(a, b, lines, {"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json result = Json::parse(outcome.output);
  // Texts of other lengths: the prediction is for the same number of tokens.
  EXPECT_NE(result["a"]["tokens"], result["b"]["tokens"]);
  expectPrediction(result);
  const Json &difference = result["b_against_a"];
  const double kl = difference["kl_bits"];
  const double jsd = difference["jsd_bits"];
  EXPECT_GT(kl, 1e-4);
  const auto [expectedKl, expectedJsd] =
      divergencesOf(a, b, {{5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15}, {20}}, folder);
  EXPECT_NEAR(kl, expectedKl, 1e-5);
  EXPECT_NEAR(jsd, expectedJsd, 1e-5);
  const tools::Outcome table = compare(a, b, lines);
  ASSERT_EQ(table.code, 0) << table.error;
  EXPECT_EQ(table.output.find("a  " + a + "\nb  " + b + "\n\n3 sentences "), 0U) << table.output;
  for (const char *const part :
       {"\ntokens/s ", "\npredicted ", "\nweight bytes ", "\ncache bytes a target token ",
        "1152            1152", "\nb against a: ", " % of tokens equal, ", "BLEU ", "chrF ",
        "\ndistributions after a's texts: KL "}) {
    EXPECT_NE(table.output.find(part), std::string::npos) << part << "\n" << table.output;
  }
}

TEST(Compare, Embeddings) {
  const std::string path = oracles + "bert-tiny";
  const std::string a = compileModel(path);
  auto model = Model::load(a);
  ASSERT_TRUE(model.ok());
  if (model->findEntry("embed") == nullptr) {
    const tools::Outcome refused = compare(a, a, lines);
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(refused.error.find("the models do not generate, expected ones that embed: "),
              std::string::npos)
        << refused.error;
    return;
  }
  const std::string b = compileModel(path, {"--disable-pass=fuse-attention"});
  const tools::Outcome outcome = compare(a, b, lines, {"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const Json result = Json::parse(outcome.output);
  EXPECT_NEAR(result["b_against_a"]["mean_cosine"], 1, 1e-5);
  EXPECT_NEAR(result["b_against_a"]["least_cosine"], 1, 1e-5);
  EXPECT_GT(result["b_against_a"]["rank_correlation"], 0.99);
  const tools::Outcome table = compare(a, compileModel(path, {"--precision=int8-weights"}), lines);
  ASSERT_EQ(table.code, 0) << table.error;
  for (const char *part : {"\nprecision ", " int8-weights\n", "\ncosine of embeddings: mean ",
                           "\nrank correlation of the similarities of all pairs of "}) {
    EXPECT_NE(table.output.find(part), std::string::npos) << part << "\n" << table.output;
  }
  EXPECT_FALSE(result["a"].contains("cache_bytes_per_token"));
  expectPrediction(result);
}

// Integer products are close to those of f32: a trained model generates the same texts, with
// distributions that differ by less than the 1e-3 nats observed for tiny models.
TEST(Compare, ATrainedModelSaysTheSameInFewerBits) {
  const std::string model = HEDDLE_TEST_DATA "/../examples/dates/model";
  const std::string a = compileModel(model);
  std::ifstream file(HEDDLE_TEST_DATA "/../examples/dates/page.txt");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const char *const precision : {"int8-weights", "int8", "int8-g128", "int4"}) {
    const std::string b = compileModel(model, {"--precision=" + std::string(precision)});
    const tools::Outcome outcome =
        tools::runHeddle({"compare", a, b, "--input", "-", "--json"}, {.input = page});
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    const Json result = Json::parse(outcome.output);
    EXPECT_EQ(result["b"]["precision"], precision);
    EXPECT_EQ(result["b_against_a"]["identical_lines"], 1) << precision;
    EXPECT_LT(result["b_against_a"]["kl_bits"], 1e-3 / std::log(2)) << precision;
    EXPECT_LT(result["b"]["weight_bytes"], 0.3 * result["a"]["weight_bytes"].get<double>());
  }
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  const std::string a = compileModel(oracles + "transformer-post");
  const std::string other = compileModel(oracles + "marian-tiny");
  const std::string bert = compileModel(oracles + "bert-tiny");
  const auto expectRefusal = [&](const tools::Outcome &outcome, const std::string &message) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.output, "");
    EXPECT_NE(outcome.error.find(message), std::string::npos) << outcome.error;
  };
  expectRefusal(compare(a, other, lines), a + " and " + other + ": the vocabularies have 61 and ");
  expectRefusal(compare(a, bert, lines), ": only the first generates, expected both or neither");
  expectRefusal(compare(bert, a, lines), ": only the second generates, expected both or neither");
  const tools::Outcome beam = compare(bert, bert, lines, {"--beam", "2"});
  EXPECT_EQ(beam.code, 2);
  EXPECT_NE(beam.error.find("--beam is given, and the models do not generate: leave it out"),
            std::string::npos)
      << beam.error;
  expectRefusal(compare(a, a, "\n"), "standard input: no texts, expected at least one");
  expectRefusal(compare(a, a, "5\n6 61\n", {"--on-error", "stop"}),
                "standard input:2: " + a + ": source");
  // By default the others are compared, and the exit code reports that one was not.
  const tools::Outcome some = compare(a, a, "5 7 9\n6 61\n", {"--json"});
  EXPECT_EQ(some.code, 1);
  EXPECT_EQ(Json::parse(some.output)["sentences"], 1);
  EXPECT_NE(some.error.find("heddle: standard input: 1 of 2 lines could not be used\n"),
            std::string::npos)
      << some.error;
  expectRefusal(compare(a, "/nowhere/b.so", lines), "/nowhere/b.so: ");
  expectRefusal(tools::runHeddle({"compare", a, a, "--input", "-"}, {.input = "x\n"}),
                a + ": the model has no tokenizer, expected one or --tokens");
}

} // namespace
} // namespace heddle
