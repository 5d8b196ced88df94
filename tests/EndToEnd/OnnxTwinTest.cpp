// SPDX-License-Identifier: Apache-2.0
///
/// A BERT of an ONNX graph and the same BERT of a folder: one fused program, and the same bits. The
/// folder is made of the graph's weights, however the exporter named and transposed them.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Onnx/OnnxFile.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/onnx/bert/";
const std::string programs = HEDDLE_BINARY_DIR "/bin/";

constexpr const char *configuration = R"({
  "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 51, "hidden_size": 24,
  "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 34,
  "max_position_embeddings": 40, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
  "hidden_act": "gelu"})";

/// The matrices of a layer, in the order in which a graph multiplies by them.
constexpr const char *matrices[] = {"attention.self.query", "attention.self.key",
                                    "attention.self.value", "attention.output.dense",
                                    "intermediate.dense",   "output.dense"};

std::vector<std::byte> transposed(const OnnxTensor &matrix) {
  const auto rows = static_cast<size_t>(matrix.shape[0]),
             columns = static_cast<size_t>(matrix.shape[1]);
  std::vector<std::byte> result(matrix.bytes.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      std::memcpy(&result[(column * rows + row) * 4], &matrix.bytes[(row * columns + column) * 4],
                  4);
    }
  }
  return result;
}

/// Writes the folder of a graph's weights.
void writeFolder(const std::string &graph, const TemporaryFolder &folder) {
  const auto file = OnnxFile::open(graph);
  ASSERT_TRUE(file.ok());
  std::map<std::string_view, const OnnxTensor *> constants;
  std::vector<SafetensorsTensor> tensors;
  for (const OnnxTensor &each : file->model().graph.initializers) {
    constants[each.name] = &each;
    if (each.name.starts_with("m.") && each.dtype == ElementType::F32) {
      tensors.push_back({std::string(each.name.substr(2)), each.dtype, each.shape, each.bytes});
    }
  }
  std::vector<std::vector<std::byte>> turned;
  turned.reserve(std::size(matrices) * 2);
  for (const OnnxNode &node : file->model().graph.nodes) {
    if (node.type != "MatMul" || !constants.contains(node.inputs[1])) {
      continue;
    }
    const OnnxTensor &matrix = *constants[node.inputs[1]];
    const size_t number = turned.size();
    ASSERT_LT(number, std::size(matrices) * 2);
    turned.push_back(transposed(matrix));
    tensors.push_back({"encoder.layer." + std::to_string(number / std::size(matrices)) + "." +
                           matrices[number % std::size(matrices)] + ".weight",
                       matrix.dtype,
                       {matrix.shape[1], matrix.shape[0]},
                       turned.back()});
  }
  ASSERT_EQ(turned.size(), std::size(matrices) * 2);
  folder.write("config.json", configuration);
  ASSERT_TRUE(writeSafetensors(folder / "model.safetensors", tensors).ok());
}

/// Returns the operations up to the pooler's, without the names of parameters, locations and
/// arguments.
std::string operationsOf(const std::string &model) {
  std::string text;
  EXPECT_EQ(runCommand("(" + programs + "heddlec " + model + " --emit=fused 2>/dev/null)", text),
            0);
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("transformer.pool cls") != std::string::npos) {
      break;
    }
    if (line.find(" = transformer.") != std::string::npos &&
        line.find("transformer.parameter") == std::string::npos) {
      line = std::regex_replace(line, std::regex("@(\"[^\"]*\"|[\\w.]+)"), "@");
      line = std::regex_replace(line, std::regex("%arg[0-9]+"), "%arg");
      line = std::regex_replace(line, std::regex(" loc\\(.*"), "");
      result += line + "\n";
    }
  }
  return result;
}

std::vector<float> statesOf(const std::string &path) {
  const auto tensors = Checkpoint::open(path);
  EXPECT_TRUE(tensors.ok());
  const auto &shape = tensors->find("last_hidden_state")->shape;
  std::vector<float> values(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
  EXPECT_TRUE(tensors->readF32("last_hidden_state", values).ok());
  return values;
}

class OnnxTwins : public testing::TestWithParam<std::string> {};

TEST_P(OnnxTwins, AreTheModelOfTheirFolder) {
  const std::string graph = oracles + GetParam();
  const TemporaryFolder folder;
  writeFolder(graph, folder);
  const std::string found = operationsOf(graph);
  EXPECT_NE(found.find("transformer.attention "), std::string::npos) << found;
  EXPECT_NE(found.find("transformer.layer_norm "), std::string::npos) << found;
  EXPECT_NE(found.find("transformer.activate gelu "), std::string::npos) << found;
  EXPECT_EQ(found.find("transformer.reduce"), std::string::npos) << found;
  EXPECT_TRUE(operationsOf(folder.path()).starts_with(found)) << found << "folder:\n"
                                                              << operationsOf(folder.path());
  const std::string ofGraph = compileModel(graph), ofFolder = compileModel(folder.path());
  ASSERT_FALSE(ofGraph.empty() || ofFolder.empty());
  for (const std::string &isa : runnableTargets(ofGraph)) {
    for (const char *const name : {"padded", "full"}) {
      const std::string run =
          " --isa " + isa + " --inputs " + oracles + name + ".inputs.safetensors --outputs ";
      std::string text;
      ASSERT_EQ(runCommand(programs + "heddle run " + ofGraph + run + (folder / "a"), text), 0)
          << text;
      ASSERT_EQ(
          runCommand(programs + "heddle run " + ofFolder + " --entry encode" + run + (folder / "b"),
                     text),
          0)
          << text;
      const std::vector<float> a = statesOf(folder / "a"), b = statesOf(folder / "b");
      ASSERT_EQ(a.size(), b.size());
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << isa << " " << name;
    }
  }
}

// Norms and activations as primitive operations, by name, and an Attention; the scale is one number
// in all.
INSTANTIATE_TEST_SUITE_P(Bert, OnnxTwins,
                         testing::Values("ts-eager-op13.onnx", "dynamo-eager-op18.onnx",
                                         "dynamo-sdpa-op23.onnx"),
                         [](const auto &info) {
                           return std::regex_replace(info.param.substr(0, info.param.size() - 5),
                                                     std::regex("-"), "_");
                         });

} // namespace
} // namespace heddle
