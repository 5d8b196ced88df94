// SPDX-License-Identifier: Apache-2.0
///
/// Model folders that heddlec refuses, each spoiled in one place: the exit code, the message, and
/// that nothing is written.
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/frontend/Import/ModelFolder.h"

#include <bit>
#include <functional>

namespace heddle {
namespace {

using Spoil = std::function<void(ModelFolder &)>;

/// Begins a message of `message` with "FOLDER/" unless `message` begins with ":".
struct FolderCase {
  const char *name;
  const char *message;
  Spoil spoil;
};

Spoil write(std::string file, std::string text) {
  return [=](ModelFolder &folder) { folder.files().write(file, text); };
}

Spoil config(std::string from, std::string to) {
  return [=](ModelFolder &folder) { folder.editConfig(from, to); };
}

/// Keeps that many bytes of a file.
Spoil truncate(std::string file, size_t size) {
  return [=](ModelFolder &folder) { std::filesystem::resize_file(folder / file, size); };
}

Spoil remove(std::string file) {
  return [=](ModelFolder &folder) { std::filesystem::remove(folder / file); };
}

Spoil withoutTensor(std::string name) {
  return [=](ModelFolder &folder) {
    folder.editTensors([&](std::vector<SafetensorsTensor> &tensors) {
      std::erase_if(tensors, [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
    });
  };
}

/// Replaces a tensor by zeros, or adds one.
Spoil withTensor(std::string name, Dtype dtype, std::vector<int64_t> shape) {
  return [=](ModelFolder &folder) {
    folder.editTensors([&](std::vector<SafetensorsTensor> &tensors) {
      std::erase_if(tensors, [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
      tensors.push_back(folder.zeros(name, dtype, shape));
    });
  };
}

/// A weights file with this header, `bytes` zeros of data, and this length in its first 8 bytes
/// unless it is the header's.
Spoil weights(std::string header, size_t bytes, uint64_t length = 0) {
  return [=](ModelFolder &folder) {
    uint64_t size = length != 0 ? length : header.size();
    std::string prefix(reinterpret_cast<const char *>(&size), sizeof(size));
    static_assert(std::endian::native == std::endian::little);
    folder.files().write("model.safetensors", prefix + header + std::string(bytes, '\0'));
  };
}

/// tokenizer.json of the oracles after a replacement of text.
Spoil tokenizer(std::string from, std::string to) {
  return [=](ModelFolder &folder) {
    std::ifstream stream(HEDDLE_TEST_DATA "/oracles/tokenizers/wordpiece/tokenizer.json");
    std::string text(std::istreambuf_iterator<char>(stream), {});
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder.files().write("tokenizer.json", text.replace(at, from.size(), to));
  };
}

/// A sentence-transformers folder: the modules after the encoder, and files beside it.
Spoil modules(std::string others, std::string pooling = R"({"pooling_mode_mean_tokens": true})",
              std::string limits = "{}") {
  return [=](ModelFolder &folder) {
    folder.files().write("modules.json",
                         R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"})" +
                             others + "]");
    folder.files().write("1_Pooling/config.json", pooling);
    folder.files().write("sentence_bert_config.json", limits);
  };
}

const std::string pooling =
    R"(, {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
const std::string weightsOf =
    R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": )";

const std::vector<FolderCase> folderCases = {
    // config.json
    {"NoConfig", "/config.json: cannot open: No such file or directory", remove("config.json")},
    {"EmptyConfig", "/config.json: the file is empty", write("config.json", "")},
    {"TruncatedConfig", "", truncate("config.json", 100)},
    {"ConfigNotUtf8", "", write("config.json", "{\"model_type\": \"b\xe9rt\"}")},
    {"ConfigTooDeep", "", write("config.json", std::string(5000, '['))},
    {"ConfigIsAList", "", write("config.json", "[1]")},
    {"ConfigHasAKeyTwice", "", config("\"model_type\"", "\"hidden_size\"")},
    {"UnknownModelType", "", config("\"bert\"", "\"gpt2\"")},
    {"NoModelType", "", config("\"model_type\"", "\"type\"")},
    {"ModelTypeIsANumber", "", config("\"model_type\": \"bert\"", "\"model_type\": 3")},
    {"Decoder", "", config("\"is_decoder\": false", "\"is_decoder\": true")},
    {"UnknownActivation", "", config("\"gelu\"", "\"swish\"")},
    {"NoHeads", "", config("\"num_attention_heads\": 3", "\"num_attention_heads\": 0")},
    {"HeadsDoNotDivide", "", config("\"num_attention_heads\": 3", "\"num_attention_heads\": 5")},
    {"NegativeSize", "", config("\"hidden_size\": 72", "\"hidden_size\": -72")},
    {"HugeSize", "", config("\"hidden_size\": 72", "\"hidden_size\": 4611686018427387904")},
    {"FractionalLayers", "", config("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2.5")},
    {"EpsilonIsText", "", config("1e-12", "\"small\"")},
    // Tensors against the model
    {"MissingTensor", "", withoutTensor("encoder.layer.1.output.dense.weight")},
    {"SurplusTensor", "", withTensor("encoder.layer.9.output.dense.bias", Dtype::F32, {72})},
    {"WrongShape", "", withTensor("pooler.dense.weight", Dtype::F32, {72, 71})},
    {"WrongRank", "", withTensor("pooler.dense.bias", Dtype::F32, {72, 1})},
    {"WrongType", "", withTensor("pooler.dense.weight", Dtype::I64, {72, 72})},
    {"DoublePrecision", "", withTensor("pooler.dense.weight", Dtype::F64, {72, 72})},
    // model.safetensors itself
    {"NoWeights", "", remove("model.safetensors")},
    {"EmptyWeights", "", truncate("model.safetensors", 0)},
    {"TinyWeights", "", truncate("model.safetensors", 6)},
    {"TruncatedHeader", "", truncate("model.safetensors", 1000)},
    {"TruncatedData", "", truncate("model.safetensors", 500000)},
    {"DataAfterTheLast", "",
     [](ModelFolder &folder) {
       std::ofstream(folder / "model.safetensors", std::ios::app) << "more";
     }},
    {"HugeHeader", "", weights("{}", 0, uint64_t(1) << 63)},
    {"HeaderNotJson", "", weights("{\"a\": ", 0)},
    {"HeaderNotUtf8", "", weights("{\"\xff\": 1}", 0)},
    {"HeaderTooDeep", "", weights("{\"a\": " + std::string(200, '['), 0)},
    {"HeaderIsNoObject", "", weights("[1, 2]", 0)},
    {"TensorIsNoObject", "", weights("{\"a\": 7}", 0)},
    {"UnknownType", "", weights(weightsOf + R"({"dtype": "F31", "shape": [2], "data_offsets": [8, 16]}})", 16)},
    {"NegativeOffset", "", weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}})", 16)},
    {"OffsetsBackwards", "", weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [16, 8]}})", 16)},
    {"OffsetsOutside", "", weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}})", 15)},
    {"HugeOffset", "", weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 18446744073709551615]}})", 16)},
    {"Overlap", "", weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})", 12)},
    {"Gap", "", weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [12, 20]}})", 20)},
    {"ShapeOverflows", "", weights(weightsOf + R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [8, 16]}})", 16)},
    {"ShapeAndBytesDiffer", "", weights(weightsOf + R"({"dtype": "F32", "shape": [3], "data_offsets": [8, 16]}})", 16)},
    {"TensorTwice", "", weights(R"({"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, "a": 1})", 0)},
    {"IndexWithoutItsFile", "",
     [](ModelFolder &folder) {
       remove("model.safetensors")(folder);
       write("model.safetensors.index.json", R"({"weight_map": {"a": "part-1.safetensors"}})")(folder);
     }},
    {"IndexLeavesTheFolder", "",
     [](ModelFolder &folder) {
       remove("model.safetensors")(folder);
       write("model.safetensors.index.json", R"({"weight_map": {"a": "../part.safetensors"}})")(folder);
     }},
    // tokenizer.json
    {"EmptyTokenizer", "", write("tokenizer.json", "")},
    {"TokenizerNotJson", "", write("tokenizer.json", "{\"model\": {\"type\"")},
    {"TokenizerIsAList", "", write("tokenizer.json", "[]")},
    {"TokenizerOfAnotherKind", "", tokenizer("\"type\": \"WordPiece\",\n    \"unk", "\"type\": \"BPE\",\n    \"unk")},
    {"NoVocabulary", "", tokenizer("\"vocab\"", "\"words\"")},
    {"UnknownToken", "", tokenizer("\"unk_token\": \"[UNK]\"", "\"unk_token\": \"[???]\"")},
    {"UnknownNormalizer", "", tokenizer("BertNormalizer", "NFKC")},
    {"UnknownPreTokenizer", "", tokenizer("BertPreTokenizer", "ByteLevel")},
    // modules.json and what it names
    {"UnknownModule", "", modules(pooling + R"(, {"idx": 2, "path": "2_Dense", "type": "sentence_transformers.models.Dense"})")},
    {"NoPooling", "", modules("")},
    {"ModuleOutside", "", modules(R"(, {"idx": 1, "path": "../1_Pooling", "type": "sentence_transformers.models.Pooling"})")},
    {"ModulesAreAnObject", "", write("modules.json", "{}")},
    {"NoPoolingConfig", "",
     [](ModelFolder &folder) {
       modules(pooling)(folder);
       remove("1_Pooling/config.json")(folder);
     }},
    {"UnknownPooling", "", modules(pooling, R"({"pooling_mode_weightedmean_tokens": true})")},
    {"TwoPoolings", "", modules(pooling, R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})")},
    {"PoolingOfAnotherWidth", "", modules(pooling, R"({"pooling_mode_mean_tokens": true, "word_embedding_dimension": 71})")},
    {"MaxLengthZero", "", modules(pooling, R"({"pooling_mode_mean_tokens": true})", R"({"max_seq_length": 0})")},
    {"MaxLengthIsText", "", modules(pooling, R"({"pooling_mode_mean_tokens": true})", R"({"max_seq_length": "256"})")},
};

class HeddlecFolderTest : public HeddlecTest, public testing::WithParamInterface<FolderCase> {};

TEST_P(HeddlecFolderTest, GivesItsMessage) {
  ModelFolder folder;
  GetParam().spoil(folder);
  expectError({folder.path(), "-o", work / "out.so"}, folder.path() + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Heddlec, HeddlecFolderTest, testing::ValuesIn(folderCases),
                         [](const auto &info) { return info.param.name; });

TEST_F(HeddlecTest, InputsThatAreNoModel) {
  expectError({work / "absent", "-o", work / "out.so"}, work / "absent: no such file or folder");
  expectError({tiny + "/config.json", "-o", work / "out.so"},
              tiny + "/config.json: is neither a model's folder nor a .mlir file");
}

TEST_F(HeddlecTest, LongestTextIsThatOfThePositions) {
  ModelFolder folder;
  tokenizer("\"version\"", "\"version\"")(folder);
  modules(pooling, R"({"pooling_mode_mean_tokens": true})", R"({"max_seq_length": 512})")(folder);
  tools::Outcome outcome = heddlec({folder.path(), "-o", work / "out.so"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error, "heddlec: note: \"max_seq_length\" is 512, but the model has 40 "
                           "positions: texts are cut there\n");
}

} // namespace
} // namespace heddle
