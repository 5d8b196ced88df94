// SPDX-License-Identifier: Apache-2.0
///
/// ONNX files that other exporters wrote, compiled and run by `heddle run` on every target of the
/// machine: padded batches, full ones, and masks with holes. tests/oracles/onnx/models.json lists
/// the files; unsupported ones are rejected for the reason given here.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/TestDevice.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/onnx/";
const std::string programs = HEDDLE_BINARY_DIR "/bin/";

/// A line of models.json.
struct OnnxModelCase {
  std::string file;
  int attentions = 0;
  double tolerance = 0;
  std::vector<std::string> cases;

  std::string folder() const { return file.substr(0, file.find('/')); }
};

void PrintTo(const OnnxModelCase &model, std::ostream *stream) { *stream << model.file; }

/// The texts in the messages about files that are rejected.
const std::map<std::string, std::vector<std::string>> refused = {
    {"torch-encoder/ts-torch-op17.onnx",
     {"reshapes 24 * batch * size 1 elements to 168 * batch, expected as many; they agree where "
      "\"sequence\" is 7, of which the exporter made a constant: --static takes the graph for that "
      "size"}},
};

/// Returns the compile options for the sizes of the exporter's example.
std::vector<std::string> optionsOf(const OnnxModelCase &model) {
  return refused.contains(model.file) ? std::vector<std::string>{"--static"}
                                      : std::vector<std::string>();
}

/// Returns whether a graph has biases by distance: those of columns are not part of a fused
/// attention.
bool knowsDistances(const OnnxModelCase &model) {
  return model.folder() == "mpnet" || model.folder() == "t5-encoder";
}

std::vector<OnnxModelCase> readCases(bool areRefused) {
  std::ifstream file(oracles + "models.json");
  std::vector<OnnxModelCase> cases;
  const nlohmann::json list = nlohmann::json::parse(file);
  for (const auto &line : list["models"]) {
    const std::string name = line["file"];
    // These continue texts: OnnxCachesTest.
    const bool continues = name.starts_with("gpt2-past/") || name.starts_with("llama-past/");
    if (!continues && std::ifstream(oracles + name).good() &&
        (!areRefused || refused.contains(name))) {
      cases.push_back({name, line["attentions"], line["tolerance"], line["cases"]});
    }
  }
  return cases;
}

std::string testName(const testing::TestParamInfo<OnnxModelCase> &info) {
  std::string name = info.param.file.substr(0, info.param.file.rfind('.'));
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

std::vector<float> valuesOf(const Checkpoint &tensors, const std::string &name) {
  size_t count = 1;
  for (const int64_t size : tensors.find(name)->shape) {
    count *= static_cast<size_t>(size);
  }
  std::vector<float> values(count);
  EXPECT_TRUE(tensors.readF32(name, values).ok());
  return values;
}

/// Returns the targets of a graph that attends to a source or to earlier rows; null if it does not.
const SafetensorsTensor *findTargets(const Checkpoint &inputs) {
  if (inputs.find("query") != nullptr || inputs.find("past_key") != nullptr) {
    return inputs.find(inputs.find("query") != nullptr ? "query" : "x");
  }
  const SafetensorsTensor *const target = inputs.find("target");
  return target != nullptr || inputs.find("encoder_attention_mask") == nullptr
             ? target
             : inputs.find("input_ids");
}

/// Returns which rows of a rectangle are not padding: according to a mask of ones or of Booleans
/// that are true there, or to tokens other than 0. Targets have no padding.
std::vector<bool> visibleRows(const Checkpoint &inputs) {
  std::vector<bool> visible;
  if (const SafetensorsTensor *const targets = findTargets(inputs)) {
    visible.assign(static_cast<size_t>(targets->shape[0] * targets->shape[1]), true);
    return visible;
  }
  if (const SafetensorsTensor *const padding = inputs.find("padding")) {
    for (const std::byte value : padding->bytes) {
      visible.push_back(value == std::byte(0));
    }
    return visible;
  }
  if (const SafetensorsTensor *const lengths = inputs.find("lengths")) {
    std::vector<int32_t> counts(static_cast<size_t>(lengths->shape[0]));
    EXPECT_TRUE(inputs.readI32("lengths", counts).ok());
    const int64_t columns = inputs.find("x")->shape[1];
    for (const int32_t count : counts) {
      for (int64_t column = 0; column < columns; ++column) {
        visible.push_back(column < count);
      }
    }
    return visible;
  }
  std::string name = inputs.names().front();
  for (const char *const mask : {"attention_mask", "mask"}) {
    name = inputs.find(mask) != nullptr ? mask : name;
  }
  if (inputs.find(name)->dtype == ElementType::F32) {
    // Images have no padding, nor do rows of floats alone.
    return {true};
  }
  const std::vector<int64_t> shape = inputs.find(name)->shape;
  if (inputs.find(name)->dtype == ElementType::F32) {
    visible.assign(static_cast<size_t>(shape[0] * shape[1]), true);
    return visible;
  }
  std::vector<int32_t> values(static_cast<size_t>(shape[0] * shape[1]));
  EXPECT_TRUE(inputs.readI32(name, values).ok());
  for (const int32_t value : values) {
    visible.push_back(value != 0);
  }
  return visible;
}

/// Compares computed with expected outputs; rows of padding are zero.
void compare(const Checkpoint &inputs, const Checkpoint &expected, const Checkpoint &found,
             double tolerance, const std::string &what) {
  const std::vector<bool> visible = visibleRows(inputs);
  for (const std::string &name : expected.names()) {
    ASSERT_NE(found.find(name), nullptr) << what << " " << name;
    const std::vector<int64_t> &shape = expected.find(name)->shape;
    ASSERT_EQ(found.find(name)->shape, shape) << what << " " << name;
    std::vector<float> wanted = valuesOf(expected, name);
    const std::vector<float> values = valuesOf(found, name);
    const auto width = static_cast<size_t>(shape.back());
    // One row for each token, or for each sequence, represented by its first column.
    const size_t step = visible.size() / (wanted.size() / width);
    double largest = 1;
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_TRUE(std::isfinite(wanted[i])) << what << " " << name;
      largest = std::max(largest, std::abs(double(wanted[i])));
      wanted[i] = visible[i / width * step] ? wanted[i] : 0;
    }
    EXPECT_LE(largestDifference(values, wanted) / largest, tolerance) << what << " " << name;
  }
}

class OnnxModels : public testing::TestWithParam<OnnxModelCase> {};

TEST_P(OnnxModels, AgreeWithTheirExporters) {
  const OnnxModelCase &model = GetParam();
  const std::string binary = compileModel(oracles + model.file, optionsOf(model));
  ASSERT_FALSE(binary.empty());
  const TemporaryFolder folder;
  for (const std::string &isa : runnableTargets(binary)) {
    for (const std::string &name : model.cases) {
      const std::string base = oracles + model.folder() + "/" + name;
      const tools::Outcome outcome = tools::runHeddle(
          withTestDevice({"run", binary, "--isa", isa, "--inputs", base + ".inputs.safetensors",
                          "--outputs", folder / "out.safetensors"}));
      ASSERT_EQ(outcome.code, 0) << outcome.error;
      const auto inputs = Checkpoint::open(base + ".inputs.safetensors");
      const auto expected = Checkpoint::open(base + ".outputs.safetensors");
      const auto found = Checkpoint::open(folder / "out.safetensors");
      ASSERT_TRUE(inputs.ok() && expected.ok() && found.ok());
      compare(*inputs, *expected, *found, model.tolerance, isa + " " + name);
    }
  }
}

/// Returns the number of occurrences of a text in another.
int countOf(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

/// Returns the number of attentions of a function: those with their own keys and values, and
/// weights that several layers share, each with its own values.
int attentionsIn(const std::string &body) {
  static const std::string shared = "transformer.attend ";
  std::set<std::string> weights;
  for (size_t at = body.find(shared); at != std::string::npos; at = body.find(shared, at + 1)) {
    const size_t begin = at + shared.size();
    weights.insert(body.substr(begin, body.find(',', begin) - begin));
  }
  return countOf(body, "transformer.attention ") + static_cast<int>(weights.size());
}

/// Returns the number of attentions of each entry. Entries call a function for their common part.
std::vector<int> attentionsOf(const std::string &text) {
  static const std::string function = "func.func ", hidden = "private ";
  std::map<std::string, int> shared;
  std::vector<int> counts;
  for (size_t at = text.find(function); at != std::string::npos;) {
    const size_t begin = at + function.size();
    at = text.find(function, begin);
    const std::string body = text.substr(begin, at - begin);
    int count = attentionsIn(body);
    if (body.starts_with(hidden)) {
      const size_t name = hidden.size();
      shared[body.substr(name, body.find('(') - name)] = count;
      continue;
    }
    for (const auto &[name, each] : shared) {
      count += countOf(body, "call " + name + "(") * each;
    }
    counts.push_back(count);
  }
  return counts;
}

TEST_P(OnnxModels, HaveTheirAttentionsFused) {
  const OnnxModelCase &model = GetParam();
  std::string text;
  ASSERT_EQ(runCommand("(" + programs + "heddlec " + oracles + model.file +
                           (optionsOf(model).empty() ? "" : " --static") +
                           " --emit=fused 2>/dev/null)",
                       text),
            0);
  std::vector<int> attentions = attentionsOf(text);
  EXPECT_FALSE(attentions.empty());
  const auto has = [&](const char *entry) { return text.find(entry) != std::string::npos; };
  if (has("func.func @encode(") || has("func.func @run_source(") || has("func.func @run_past(")) {
    // The attentions of source and targets are in one graph.
    attentions = {std::accumulate(attentions.begin(), attentions.end(), 0)};
  }
  const bool isSpelt = knowsDistances(model);
  if (isSpelt) {
    EXPECT_EQ(attentions.back(), 0);
    attentions.pop_back();
  }
  for (const int each : attentions) {
    EXPECT_EQ(each, model.attentions);
  }
  EXPECT_EQ(countOf(text, "transformer.softmax"), isSpelt ? model.attentions : 0);
}

INSTANTIATE_TEST_SUITE_P(All, OnnxModels, testing::ValuesIn(readCases(false)), testName);

/// Returns the message of `heddle run` about ids and a mask, [2, 3].
std::string runMessage(const std::vector<int32_t> &ids, const std::vector<int32_t> &mask,
                       const char *file = "roberta/dynamo-eager-op20.onnx") {
  const std::string binary = compileModel(oracles + file);
  const TemporaryFolder folder;
  const std::vector<SafetensorsTensor> tensors = {
      {"input_ids", ElementType::I32, {2, 3}, std::as_bytes(std::span(ids))},
      {"attention_mask", ElementType::I32, {2, 3}, std::as_bytes(std::span(mask))}};
  EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
  std::string text;
  runCommand("(cd " + folder.path() + " && " + programs + "heddle run " + binary +
                 " --inputs in.safetensors --outputs out.safetensors)",
             text);
  return text;
}

TEST(OnnxRectangles, SayWhatIsNoMask) {
  EXPECT_EQ(runMessage({5, 6, 7, 8, 9, 10}, {1, 1, 0, 0, 1, 1}), "");
  EXPECT_EQ(runMessage({5, 6, 1, 8, 9, 10}, {1, 1, 0, 1, 1, 1}), "");
  // RoBERTa compares the number with 0; the optimizer's BERT sums it.
  EXPECT_EQ(runMessage({5, 6, 7, 8, 9, 10}, {1, 1, 1, 1, 2, 1}), "");
  EXPECT_EQ(
      runMessage({5, 6, 7, 8, 9, 10}, {1, 1, 1, 1, 2, 1}, "bert/ort-eager-op17.onnx"),
      "heddle: in.safetensors: tensor \"attention_mask\": row 2, column 2 is 2, expected 0 or "
      "1\n");
  EXPECT_EQ(runMessage({5, 6, 7, 8, 9, 10}, {1, 1, 1, 0, 0, 0}),
            "heddle: in.safetensors: row 2 is all padding, expected at least one token\n");
  EXPECT_EQ(runMessage({5, 6, 7, 1, 9, 10}, {1, 1, 1, 0, 1, 1}),
            "heddle: in.safetensors: tensor \"input_ids\": row 2, column 1 is 1, which the model "
            "counts positions without, expected it only where the rest of a row is padding\n");
}

TEST(OnnxRectangles, MayHaveTheNumberOfTokens) {
  const std::string binary = compileModel(oracles + "attention-lengths/hand-op17.onnx");
  const TemporaryFolder folder;
  const std::vector<float> rows(2 * 3 * 36, 0.5F);
  const auto message = [&](const std::vector<int32_t> &counts) {
    const std::vector<SafetensorsTensor> tensors = {
        {"x", ElementType::F32, {2, 3, 36}, std::as_bytes(std::span(rows))},
        {"lengths", ElementType::I32, {2}, std::as_bytes(std::span(counts))}};
    EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
    std::string text;
    runCommand("(cd " + folder.path() + " && " + programs + "heddle run " + binary +
                   " --inputs in.safetensors --outputs out.safetensors)",
               text);
    return text;
  };
  EXPECT_EQ(message({3, 1}), "");
  EXPECT_EQ(message({3, 4}),
            "heddle: in.safetensors: tensor \"lengths\": sequence 2 has 4, expected 0 to 3\n");
}

class OnnxRefusals : public testing::TestWithParam<OnnxModelCase> {};

TEST_P(OnnxRefusals, NameWhatIsNotRead) {
  std::string text;
  EXPECT_EQ(runCommand(programs + "heddlec " + oracles + GetParam().file + " --emit=model", text),
            1);
  for (const std::string &part : refused.at(GetParam().file)) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "expected " << part;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnnxRefusals, testing::ValuesIn(readCases(true)), testName);

} // namespace
} // namespace heddle
