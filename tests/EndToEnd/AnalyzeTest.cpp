// SPDX-License-Identifier: Apache-2.0
///
/// `heddle analyze` on compiled models: the similarities agree with other programs' attention and
/// do not depend on passes or the division of the work; outputs that show attention cost nothing
/// unless requested.
#include "formats/Analysis/AttentionAnalysis.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
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
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <sstream>
#include <tuple>

namespace heddle {
namespace {

using Json = nlohmann::json;
const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

/// Returns the integers of a tensor, row by row.
std::vector<std::vector<int32_t>> readRows(const std::string &oracle, const std::string &name) {
  auto file = Checkpoint::open(oracles + oracle + "/expected.safetensors");
  EXPECT_TRUE(file.ok());
  const auto &shape = file->find(name)->shape;
  const auto width = static_cast<std::ptrdiff_t>(shape[1]);
  std::vector<int32_t> values(static_cast<size_t>(shape[0] * shape[1]));
  EXPECT_TRUE(file->readI32(name, values).ok());
  std::vector<std::vector<int32_t>> rows;
  for (auto begin = values.begin(); begin != values.end(); begin += width) {
    rows.emplace_back(begin, begin + width);
  }
  return rows;
}

/// Returns the texts of an oracle as lines of ids, without their padding: where `mask` is not 0.
std::string linesOf(const std::string &oracle, const std::string &ids, const std::string &mask) {
  const auto rows = readRows(oracle, ids);
  const auto masks = readRows(oracle, mask);
  std::string lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto length =
        std::count_if(masks[i].begin(), masks[i].end(), [](int32_t m) { return m != 0; });
    lines += fmt::format("{}\n", fmt::join(rows[i].begin(), rows[i].begin() + length, " "));
  }
  return lines;
}

tools::Outcome analyze(const std::string &binary, const std::string &lines,
                       std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"analyze", binary, "--tokens", "--input", "-"});
  return tools::runHeddle(options, {.input = lines});
}

std::string repeated(const std::string &text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

/// Compares with the result of make_analysis.py.
void expectOracle(const std::string &output, const std::string &oracle, const std::string &what) {
  Result<AttentionAnalysis> found = readAnalysis(output);
  ASSERT_TRUE(found.ok()) << found.status().message() << "\n" << output << what;
  const Json expected = Json::parse(readBytes(oracles + oracle + "/analysis.json"));
  EXPECT_EQ(found->sentences, expected["sentences"]) << what;
  EXPECT_EQ(found->positions, expected["positions"]) << what;
  ASSERT_EQ(found->kinds.size(), expected["kinds"].size()) << what;
  for (size_t i = 0; i < found->kinds.size(); ++i) {
    const KindAnalysis &kind = found->kinds[i];
    const Json &its = expected["kinds"][i];
    EXPECT_EQ(Json(kind.kind), its["kind"]) << what;
    EXPECT_EQ(kind.positions, its["positions"]) << what;
    ASSERT_EQ(Json(kind.layers), its["layers"]) << what;
    for (size_t row = 0; row < kind.layers.size(); ++row) {
      for (size_t column = 0; column < kind.layers.size(); ++column) {
        EXPECT_NEAR(kind.similarity[row][column], 1 - its["divergence"][row][column].get<double>(),
                    1e-5)
            << oracle << " " << kind.kind << " " << row << " " << column << " " << what;
      }
    }
  }
}

void expectAgreement(const std::string &oracle, const std::string &ids, const std::string &mask,
                     const std::vector<std::string> &options) {
  const std::string lines = linesOf(oracle, ids, mask);
  // The kernel for probabilities, and the mathematics that it implements.
  for (const std::vector<std::string> &passes :
       std::vector<std::vector<std::string>>{{}, {"--disable-pass=fuse-attention"}}) {
    const std::string binary = compileModel(oracles + oracle, passes);
    ASSERT_FALSE(binary.empty());
    for (const std::string &isa : runnableTargets(binary)) {
      std::vector<std::string> all = options;
      all.insert(all.end(), {"--isa", isa});
      const tools::Outcome outcome = analyze(binary, lines, all);
      ASSERT_EQ(outcome.code, 0) << outcome.error;
      expectOracle(outcome.output, oracle, passes.empty() ? isa : passes[0] + " " + isa);
      // The same bits with any number of threads.
      all.insert(all.end(), {"--threads", "2"});
      EXPECT_EQ(analyze(binary, lines, all).output, outcome.output);
    }
  }
}

TEST(Analyze, AgreesWithTransformerPost) {
  expectAgreement("transformer-post", "source", "source", {"--beam", "1"});
}
TEST(Analyze, AgreesWithTransformerPre) {
  expectAgreement("transformer-pre", "source", "source", {"--beam", "1"});
}
TEST(Analyze, AgreesWithSharedAttention) {
  expectAgreement("san", "source", "source", {"--beam", "1"});
}
TEST(Analyze, AgreesWithBert) { expectAgreement("bert-tiny", "input_ids", "attention_mask", {}); }
TEST(Analyze, AgreesWithMistral) {
  expectAgreement("mistral-tiny", "input_ids", "attention_mask", {});
}

TEST(Analyze, WritesPoliciesAndPictures) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const std::string lines = linesOf("transformer-post", "source", "source");
  TemporaryFolder folder;
  const tools::Outcome outcome = analyze(
      binary, lines,
      {"--beam", "4", "--theta", "0.7", "--output", folder / "a.json", "--svg", folder / "a.svg"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, "");
  Result<AttentionAnalysis> found = readAnalysis(readBytes(folder / "a.json"));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->theta, 0.7);
  for (const KindAnalysis &kind : found->kinds) {
    EXPECT_EQ(kind.policy, sharingPolicy(kind.similarity, 0.7)) << kind.kind;
  }
  // heddlec accepts the policy in the file.
  const std::string option = Json::parse(readBytes(folder / "a.json"))["share_attention"];
  ASSERT_NE(option, "");
  const std::string shared =
      compileModel(oracles + "transformer-post", {"--share-attention=" + option});
  EXPECT_EQ(Json::parse(tools::runHeddle({"info", shared, "--json"}).output)["sharing"],
            Json(option));
  const std::string svg = readBytes(folder / "a.svg");
  EXPECT_EQ(svg.substr(0, 5), "<svg ");
  const double some = found->kinds[1].similarity[0][2];
  EXPECT_NE(svg.find(fmt::format("{:.4f}", some)), std::string::npos);
  // Another rule for blocks, and no policy unless requested.
  const tools::Outcome extend =
      analyze(binary, lines, {"--beam", "4", "--theta", "0.7", "--blocks", "extend"});
  found = readAnalysis(extend.output);
  ASSERT_TRUE(found.ok()) << extend.error;
  for (const KindAnalysis &kind : found->kinds) {
    EXPECT_EQ(kind.policy, sharingPolicy(kind.similarity, 0.7, BlockRule::Extend)) << kind.kind;
  }
  found = readAnalysis(analyze(binary, lines, {"--beam", "4"}).output);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->theta || found->kinds[0].policy);
}

/// One map of a drawing: the weight of each pair of words that has a square.
struct DrawnMap {
  std::string name;
  std::vector<std::tuple<std::string, std::string, double>> squares;
};

std::vector<DrawnMap> mapsOf(const std::string &svg) {
  static const std::regex part("font-weight=\"600\">([^<]*)<|<title>(.*), (.*): ([0-9.]+)</title>");
  std::vector<DrawnMap> maps;
  for (std::sregex_iterator each(svg.begin(), svg.end(), part), end; each != end; ++each) {
    if ((*each)[1].matched) {
      maps.push_back({(*each)[1], {}});
    } else {
      maps.back().squares.emplace_back((*each)[2], (*each)[3], std::stod((*each)[4]));
    }
  }
  maps.erase(maps.begin());
  return maps;
}

/// Checks that each row is a distribution over the keys, up to rounding and undrawn squares.
void expectDistributions(const std::vector<DrawnMap> &maps) {
  size_t crossed = 0;
  for (const DrawnMap &map : maps) {
    const bool isCross = map.name.find("cross") != std::string::npos;
    const bool isOfEncoder = map.name.starts_with("encoder");
    crossed += isCross ? 1 : 0;
    std::map<std::string, double> sums;
    for (const auto &[row, key, weight] : map.squares) {
      sums[row] += weight;
      const bool isKey = key.size() == 1 && key >= "5" && key <= "8";
      EXPECT_TRUE(isKey || !(isCross || isOfEncoder)) << map.name << " " << key;
    }
    if (isOfEncoder) {
      EXPECT_EQ(sums.size(), 4U) << map.name;
      for (const auto &[row, sum] : sums) {
        EXPECT_NEAR(sum, 1, 0.03) << map.name << " " << row;
      }
    }
  }
  EXPECT_GT(crossed, 0U);
}

/// Checks that the encoder's weights are those of its outputs.
void expectWeightsOfTheEncoder(const std::string &binary, const DrawnMap &map) {
  auto model = Model::load(binary);
  auto session = Session::create(*model);
  const PortInfo &port = model->findEntry("encode")->observed.front();
  const auto heads = static_cast<size_t>(port.shape[1]);
  std::vector<float> values(4 * heads * 4);
  const std::vector<int32_t> ids = {5, 6, 7, 8}, lengths = {4};
  const Input input{model->findEntry("encode")->inputs[0].name, ids};
  const Output output{port.name, values};
  ASSERT_TRUE(session->run("encode", lengths, {&input, 1}, {&output, 1}).ok());
  ASSERT_EQ(map.name, port.name);
  for (const auto &[row, key, weight] : map.squares) {
    double sum = 0;
    for (size_t head = 0; head < heads; ++head) {
      const size_t place = (static_cast<size_t>(std::stoi(row) - 5) * heads + head) * 4;
      sum += static_cast<double>(values[place + static_cast<size_t>(std::stoi(key) - 5)]);
    }
    EXPECT_NEAR(weight, sum / static_cast<double>(heads), 6e-4) << row << " " << key;
  }
}

TEST(Analyze, DrawsTheAlignmentsOfALine) {
  const std::string binary = compileModel(oracles + "transformer-post");
  TemporaryFolder folder;
  const auto draw = [&](const std::vector<std::string> &options) {
    std::vector<std::string> all = {"--alignments", folder / "a.svg", "--output",
                                    folder / "a.json"};
    all.insert(all.end(), options.begin(), options.end());
    const tools::Outcome outcome = analyze(binary, "x\n5 6 7 8\n9 10 11\n", all);
    EXPECT_EQ(outcome.code, 1) << outcome.error;
    return mapsOf(readBytes(folder / "a.svg"));
  };
  const std::vector<DrawnMap> maps = draw({});
  ASSERT_FALSE(maps.empty());
  expectDistributions(maps);
  expectWeightsOfTheEncoder(binary, maps.front());
  // Another line; and a line with nothing to draw.
  EXPECT_NE(readBytes(folder / "a.svg").find(">8<"), std::string::npos);
  draw({"--line", "3"});
  const std::string third = readBytes(folder / "a.svg");
  EXPECT_EQ(third.find(">8<"), std::string::npos);
  EXPECT_NE(third.find(">11<"), std::string::npos);
  for (const char *const line : {"1", "4"}) {
    const tools::Outcome none = analyze(binary, "x\n5 6 7 8\n9 10 11\n",
                                        {"--alignments", folder / "b.svg", "--line", line});
    EXPECT_EQ(none.code, 2);
    EXPECT_NE(none.error.find(fmt::format("heddle: --line is {}, and standard input has no text "
                                          "there that can be used",
                                          line)),
              std::string::npos)
        << none.error;
    EXPECT_FALSE(std::filesystem::exists(folder / "b.svg"));
  }
  const tools::Outcome alone = analyze(binary, "5 6\n", {"--line", "1"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.error.find("--line is given without --alignments, expected both"),
            std::string::npos)
      << alone.error;
}

/// Returns the floats of a tensor.
std::vector<float> readFloats(const std::string &oracle, const std::string &name) {
  auto file = Checkpoint::open(oracles + oracle + "/expected.safetensors");
  EXPECT_TRUE(file.ok());
  const auto &shape = file->find(name)->shape;
  std::vector<float> values(static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies())));
  EXPECT_TRUE(file->readF32(name, values).ok());
  return values;
}

/// A window's Gaussian factor follows the softmax: the drawing shows the weights that the context
/// is computed from.
TEST(Analyze, DrawsWhatAnAttentionComesTo) {
  const std::string oracle = "recurrent/gru-concat-local-p";
  const std::string binary = compileModel(oracles + oracle);
  const auto sources = readRows(oracle, "source");
  const auto targets = readRows(oracle, "target");
  const auto greedy = readRows(oracle, "greedy.tokens");
  const std::vector<float> attention = readFloats(oracle, "attention");
  // The first sentence is fed the text that a search finds.
  const auto end = std::find(targets[0].begin(), targets[0].end(), 0);
  ASSERT_TRUE(std::equal(targets[0].begin() + 1, end, greedy[0].begin()));
  TemporaryFolder folder;
  const auto length = std::find(sources[0].begin(), sources[0].end(), 0) - sources[0].begin();
  const tools::Outcome outcome = analyze(
      binary, fmt::format("{}\n", fmt::join(sources[0].begin(), sources[0].begin() + length, " ")),
      {"--alignments", folder / "a.svg", "--output", folder / "a.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::vector<DrawnMap> maps = mapsOf(readBytes(folder / "a.svg"));
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].name, "attention");
  std::map<std::pair<std::string, std::string>, double> wanted;
  double leastSum = 1;
  for (std::ptrdiff_t row = 0; row + 1 < end - targets[0].begin(); ++row) {
    double sum = 0;
    for (std::ptrdiff_t column = 0; column < length; ++column) {
      const auto place = static_cast<size_t>(row) * sources[0].size() + static_cast<size_t>(column);
      sum += static_cast<double>(attention[place]);
      // Words may occur several times; the sum does not distinguish them.
      wanted[{std::to_string(targets[0][static_cast<size_t>(row + 1)]),
              std::to_string(sources[0][static_cast<size_t>(column)])}] +=
          static_cast<double>(attention[place]);
    }
    leastSum = std::min(leastSum, sum);
  }
  EXPECT_LT(leastSum, 0.95) << "no row is less than its softmax";
  std::map<std::pair<std::string, std::string>, double> drawn;
  for (const auto &[row, key, weight] : maps[0].squares) {
    drawn[{row, key}] += weight;
  }
  for (const auto &[words, weight] : wanted) {
    EXPECT_NEAR(drawn[words], weight, 0.012) << words.first << " " << words.second;
  }
}

/// A model without attention to its source: the map shows the loss of tokens when a word is
/// omitted, as `heddle score` computes it.
TEST(Analyze, DrawsTheInfluenceOfWordsWhereThereIsNoAttention) {
  const std::string binary = compileModel(oracles + "recurrent/lstm-none");
  const std::vector<std::string> source = {"5", "9", "13"};
  TemporaryFolder folder;
  const tools::Outcome outcome =
      analyze(binary, fmt::format("{}\n", fmt::join(source, " ")),
              {"--alignments", folder / "a.svg", "--output", folder / "a.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::vector<DrawnMap> maps = mapsOf(readBytes(folder / "a.svg"));
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].name, "probability lost without a word of the source");
  EXPECT_FALSE(maps[0].squares.empty());
  // There are no layers that could share.
  Result<AttentionAnalysis> found = readAnalysis(readBytes(folder / "a.json"));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->kinds.empty());

  const std::string text = tools::runHeddle({"generate", binary, "--tokens", "--input", "-"},
                                            {.input = fmt::format("{}\n", fmt::join(source, " "))})
                               .output;
  std::ofstream(folder / "target.txt") << text << text << text << text;
  std::ofstream sources(folder / "source.txt");
  sources << fmt::format("{}\n", fmt::join(source, " ")) << "9 13\n5 13\n5 9\n";
  sources.close();
  const tools::Outcome scored =
      tools::runHeddle({"score", binary, "--tokens", "--format", "jsonl", "--source",
                        folder / "source.txt", "--target", folder / "target.txt"});
  ASSERT_EQ(scored.code, 0) << scored.error;
  std::vector<Json> scores;
  std::istringstream lines(scored.output);
  for (std::string line; std::getline(lines, line);) {
    scores.push_back(Json::parse(line));
  }
  ASSERT_EQ(scores.size(), 4U);
  std::istringstream words(text);
  size_t row = 0;
  size_t checked = 0;
  for (std::string word; words >> word; ++row) {
    for (size_t left = 0; left < source.size(); ++left) {
      const double lost = std::exp(scores[0]["scores"][row].get<double>()) -
                          std::exp(scores[left + 1]["scores"][row].get<double>());
      for (const auto &[token, key, weight] : maps[0].squares) {
        if (token == word && key == source[left]) {
          EXPECT_NEAR(weight, lost, 6e-4) << word << " without " << key;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 0U);
}

TEST(Analyze, DrawsTheWordsOfTexts) {
  const std::string binary = compileModel(HEDDLE_TEST_DATA "/../examples/dates/model");
  TemporaryFolder folder;
  const tools::Outcome outcome =
      tools::runHeddle({"analyze", binary, "--input", "-", "--alignments", folder / "a.svg"},
                       {.input = "May 3, 2021\n"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::string svg = readBytes(folder / "a.svg");
  for (const char *const word : {">M<", ">ay<", ">␣<", ">5<", ">-<"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
}

/// The analysis covers the usable lines, and the exit code reports that some were not usable.
TEST(Analyze, LinesThatCannotBeUsedAreLeftOut) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const tools::Outcome good = analyze(binary, "5 6 7\n8 9\n");
  const std::string tooLong = repeated("5 ", 65);
  const tools::Outcome some = analyze(binary, "5 6 7\n5 61\nx\n" + tooLong + "\n8 9\n");
  EXPECT_EQ(good.code, 0) << good.error;
  EXPECT_EQ(some.code, 1);
  EXPECT_EQ(some.output, good.output);
  EXPECT_EQ(some.error,
            "heddle: standard input:2: source: token 2 is 61, expected 0 to 60\n"
            "heddle: standard input:3: word 1 is \"x\", expected a token id\n"
            "heddle: standard input:4: source has 65 tokens, expected at most 64, the positions of "
            "the model: --truncate cuts it\n"
            "heddle: standard input: 3 of 5 lines could not be used\n");
  EXPECT_EQ(analyze(binary, tooLong + "\n", {"--truncate"}).output,
            analyze(binary, repeated("5 ", 64) + "\n").output);
}

TEST(Analyze, RefusesWhatItCannotAnalyze) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const std::string blind =
      compileModel(oracles + "transformer-post", {"--disable-pass=observe-attention"});
  const std::string bert = compileModel(oracles + "bert-tiny");
  const auto expectRefusal = [&](const tools::Outcome &outcome, const std::string &message) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.output, "");
    EXPECT_NE(outcome.error.find(message), std::string::npos) << outcome.error;
  };
  expectRefusal(analyze(blind, "5 6\n"),
                ": no output shows an attention, expected a model that has some, compiled without "
                "--disable-pass=observe-attention");
  expectRefusal(analyze(compileModel(oracles + "recurrent/lstm-none"), "5 6\n"),
                ": no output shows an attention, expected a model that has some, compiled without "
                "--disable-pass=observe-attention");
  expectRefusal(analyze(binary, "\n \n"), "standard input: no texts, expected at least one");
  expectRefusal(analyze(binary, "5 6\n\n5 61\n", {"--on-error", "stop"}),
                "standard input:3: source");
  expectRefusal(analyze(binary, "5 x\n"), "standard input:1: ");
  const tools::Outcome beam = analyze(bert, "5 6\n", {"--beam", "2"});
  EXPECT_EQ(beam.code, 2);
  EXPECT_NE(beam.error.find("--beam is given, and " + bert + " does not generate: leave it out"),
            std::string::npos)
      << beam.error;
  expectRefusal(analyze(bert, "5 100000\n"), "standard input:1: text");
  std::string longLine;
  for (int i = 0; i < 600; ++i) {
    longLine += "7 ";
  }
  expectRefusal(analyze(bert, longLine + "\n"), "standard input:1: text has 600 tokens, expected "
                                                "at most ");
  expectRefusal(tools::runHeddle({"analyze", binary, "--input", "-"}, {.input = "x\n"}),
                ": the model has no tokenizer, expected one or --tokens");
  expectRefusal(tools::runHeddle({"analyze", binary, "--tokens", "--input", "nowhere.txt"}),
                "nowhere.txt: ");
  expectRefusal(analyze(binary, "5 6\n", {"--output", "/nowhere/a.json"}), "/nowhere/a.json: ");
  expectRefusal(analyze(binary, "5 6\n", {"--svg", "/nowhere/a.svg"}), "/nowhere/a.svg: ");
}

TEST(Analyze, SaysWhatIsNoNumber) {
  TemporaryFolder folder;
  const std::string binary =
      compileModel(scaledModel(oracles + "bert-tiny", "encoder.layer.1.attention.self.query.weight",
                               std::numeric_limits<float>::quiet_NaN(), folder));
  const tools::Outcome outcome = analyze(binary, "5 6 7\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find(": attention \"encoder.layer.0.attention.self\" or "
                               "\"encoder.layer.1.attention.self\" has probabilities that are no "
                               "numbers"),
            std::string::npos)
      << outcome.error;
}

/// Returns the dispatches that run for one output of an entry, and their number of runs.
std::vector<std::pair<std::string, uint64_t>>
dispatchesFor(const std::string &binary, const std::string &entry, const std::string &output) {
  auto model = Model::load(binary);
  auto session = Session::create(*model, {.profile = true});
  const Ragged batch = randomSentences(4, 12, 60, 1);
  std::vector<float> values(batch.ids.size() * 4096);
  for (const PortInfo &port : model->findEntry(entry)->outputs) {
    if (port.name == output) {
      values.resize(batch.ids.size() * static_cast<size_t>(port.shape[1]));
    }
  }
  const Input input{model->findEntry(entry)->inputs[0].name, batch.ids};
  const Output wanted{output, values};
  const Status status = session->run(entry, batch.lengths, {&input, 1}, {&wanted, 1});
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const DispatchProfile &dispatch : session->profile()) {
    found.emplace_back(dispatch.name, dispatch.calls);
  }
  return found;
}

TEST(ObservedOutputs, CostNothingUnasked) {
  for (const auto &[oracle, output] :
       {std::pair("transformer-post", "encoder"), std::pair("bert-tiny", "last_hidden_state")}) {
    const std::string with = compileModel(oracles + oracle);
    const std::string without =
        compileModel(oracles + oracle, {"--disable-pass=observe-attention"});
    auto watched = Model::load(with);
    auto plain = Model::load(without);
    ASSERT_TRUE(watched.ok() && plain.ok());
    ASSERT_EQ(watched->entries().size(), plain->entries().size());
    for (size_t i = 0; i < plain->entries().size(); ++i) {
      const EntryInfo &a = watched->entries()[i];
      const EntryInfo &b = plain->entries()[i];
      EXPECT_FALSE(a.observed.empty());
      EXPECT_TRUE(b.observed.empty());
      EXPECT_EQ(a.outputs.size(), b.outputs.size());
      EXPECT_EQ(a.dispatches, b.dispatches) << oracle << " " << a.name;
      EXPECT_GT(a.observedDispatches, 0);
      EXPECT_EQ(b.observedDispatches, 0);
      EXPECT_EQ(a.flopsPerToken, b.flopsPerToken);
      EXPECT_EQ(a.flopsPerTokenAndKey, b.flopsPerTokenAndKey);
      EXPECT_EQ(a.arenaBytesPerToken, b.arenaBytesPerToken) << oracle << " " << a.name;
      EXPECT_EQ(a.arenaBytesPerTokenAndLongest, b.arenaBytesPerTokenAndLongest);
    }
    const std::string entry = plain->entries()[0].name;
    EXPECT_EQ(dispatchesFor(with, entry, output), dispatchesFor(without, entry, output)) << oracle;
  }
}

TEST(ObservedOutputs, AreDistributionsThatDependOnNothingElse) {
  const std::string binary = compileModel(oracles + "bert-tiny");
  auto model = Model::load(binary);
  ASSERT_TRUE(model.ok());
  const EntryInfo &entry = *model->findEntry("encode");
  ASSERT_FALSE(entry.observed.empty());
  const PortInfo &port = entry.observed.back();
  EXPECT_EQ(port.observed, Observed::Encoder);
  const auto heads = static_cast<size_t>(port.shape[1]);
  const Ragged batch = randomSentences(9, 14, 60, 4);
  const auto longest =
      static_cast<size_t>(*std::max_element(batch.lengths.begin(), batch.lengths.end()));
  const auto run = [&](const SessionOptions &options, std::span<const int32_t> lengths,
                       std::span<const int32_t> ids, size_t keys) {
    auto session = Session::create(*model, options);
    std::vector<float> values(ids.size() * heads * keys, 7.0F);
    const Input input{"input_ids", ids};
    const Output output{port.name, values};
    const Status status = session->run("encode", lengths, {&input, 1}, {&output, 1});
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  };
  const std::vector<float> all = run({}, batch.lengths, batch.ids, longest);
  EXPECT_EQ(run({.threads = 2}, batch.lengths, batch.ids, longest), all);
  EXPECT_EQ(run({.threads = 2, .chunkTokens = 8}, batch.lengths, batch.ids, longest), all);
  EXPECT_EQ(
      run({.threads = 2, .schedule = Schedule::Cooperative}, batch.lengths, batch.ids, longest),
      all);
  size_t first = 0;
  for (const int32_t length : batch.lengths) {
    const auto keys = static_cast<size_t>(length);
    const std::vector<float> alone =
        run({}, {&length, 1}, std::span(batch.ids).subspan(first, keys), keys);
    for (size_t row = 0; row < keys * heads; ++row) {
      const float *const found = all.data() + (first * heads + row) * longest;
      double sum = 0;
      for (size_t key = 0; key < longest; ++key) {
        EXPECT_EQ(found[key], key < keys ? alone[row * keys + key] : 0.0F);
        sum += static_cast<double>(found[key]);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    first += keys;
  }
  auto session = Session::create(*model);
  std::vector<float> values(5);
  const Input input{"input_ids", batch.ids};
  const Output output{port.name, values};
  EXPECT_EQ(
      session->run("encode", batch.lengths, {&input, 1}, {&output, 1}).message(),
      fmt::format("entry \"encode\": output \"{}\" has room for 5 floats, expected {} rows of "
                  "{}",
                  port.name, batch.ids.size(), heads * longest));
}

TEST(ObservedOutputs, AreCountedByInfo) {
  const std::string binary = compileModel(oracles + "transformer-post");
  const tools::Outcome text = tools::runHeddle({"info", binary});
  EXPECT_NE(text.output.find("  shows   3 attentions, for those who ask\n"), std::string::npos)
      << text.output;
  EXPECT_NE(text.output.find("  shows   6 attentions, for those who ask\n"), std::string::npos);
  const Json described = Json::parse(tools::runHeddle({"info", binary, "--json"}).output);
  const Json &shown = described["entries"][1]["observed"];
  ASSERT_EQ(shown.size(), 6U);
  EXPECT_EQ(shown[0]["name"], Json("decoder.layers.0.self_attention"));
  EXPECT_EQ(shown[0]["observed"], Json("decoder"));
  EXPECT_EQ(shown[1]["observed"], Json("cross"));
  EXPECT_EQ(shown[0]["shape"], Json::array({"tokens", 4, "longest"}));
  const std::string blind =
      compileModel(oracles + "transformer-post", {"--disable-pass=observe-attention"});
  EXPECT_EQ(tools::runHeddle({"info", blind}).output.find("shows"), std::string::npos);
}

} // namespace
} // namespace heddle
