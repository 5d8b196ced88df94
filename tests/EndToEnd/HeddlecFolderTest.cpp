// SPDX-License-Identifier: Apache-2.0
///
/// Model folders that heddlec rejects, each with one defect: the exit code, the message, and that
/// nothing is written.
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/frontend/Import/ModelFolder.h"

#include <bit>
#include <functional>

namespace heddle {
namespace {

using Spoil = std::function<void(ModelFolder &)>;

/// A folder with one defect; `{}` in the message is the folder.
struct FolderCase {
  const char *name;
  const char *message;
  Spoil spoil;

  friend void PrintTo(const FolderCase &folderCase, std::ostream *stream) {
    *stream << folderCase.name;
  }
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
Spoil withTensor(std::string name, ElementType dtype, std::vector<int64_t> shape) {
  return [=](ModelFolder &folder) {
    folder.editTensors([&](std::vector<SafetensorsTensor> &tensors) {
      std::erase_if(tensors, [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
      tensors.push_back(folder.zeros(name, dtype, shape));
    });
  };
}

/// Writes a weights file with this header, `bytes` zeros of data, and `length` in its first 8
/// bytes, or the header's length if that is 0.
Spoil weights(std::string header, size_t bytes, uint64_t length = 0) {
  return [=](ModelFolder &folder) {
    uint64_t size = length != 0 ? length : header.size();
    std::string prefix(reinterpret_cast<const char *>(&size), sizeof(size));
    static_assert(std::endian::native == std::endian::little);
    folder.files().write("model.safetensors", prefix + header + std::string(bytes, '\0'));
  };
}

/// Writes tokenizer.json of the oracles with a text replaced.
Spoil tokenizer(std::string from, std::string to) {
  return [=](ModelFolder &folder) {
    std::ifstream stream(HEDDLE_TEST_DATA "/oracles/tokenizers/wordpiece/tokenizer.json");
    std::string text(std::istreambuf_iterator<char>(stream), {});
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder.files().write("tokenizer.json", text.replace(at, from.size(), to));
  };
}

/// Writes a sentence-transformers folder: the modules after the encoder, and their files.
Spoil modules(std::string others, std::string pooling = R"({"pooling_mode_mean_tokens": true})",
              std::string limits = "{}") {
  return [=](ModelFolder &folder) {
    folder.files().write(
        "modules.json",
        R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"})" + others +
            "]");
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
    {"NoConfig",
     "{}: no config.json in it, expected the folder of a model: config.json, weights and tokenizer",
     remove("config.json")},
    {"EmptyConfig", "{}/config.json: the file is empty", write("config.json", "")},
    {"TruncatedConfig",
     "{}/config.json: not JSON at line 6, byte 25, near \"ttention_probs_dropo\"",
     truncate("config.json", 100)},
    {"ConfigNotUtf8", "{}/config.json: byte 18 is 0xe9, expected UTF-8",
     write("config.json", "{\"model_type\": \"b\xe9rt\"}")},
    {"ConfigTooDeep", "{}/config.json: lists and objects nest deeper than 64 levels",
     write("config.json", std::string(5000, '['))},
    {"ConfigIsAList", "{}/config.json: is a list of 1, expected an object",
     write("config.json", "[1]")},
    {"ConfigHasAKeyTwice", "{}/config.json: key \"hidden_size\" appears twice",
     config("\"model_type\"", "\"hidden_size\"")},
    {"UnknownModelType",
     "{}/config.json: \"model_type\" is \"rwkv\", expected one of albert, bart, bert, camembert, "
     "distilbert, gemma2, gemma3_text, gpt2, gpt_neox, llama, m2m_100, marian, mbart, mistral, "
     "mixtral, modernbert, mpnet, multimodel, pegasus, phi3, qwen2, qwen3, qwen3_moe, recurrent, "
     "roberta, t5, transformer, xlm-roberta",
     config("\"bert\"", "\"rwkv\"")},
    {"NoModelType", "{}/config.json: \"model_type\" is missing, expected a string",
     config("\"model_type\"", "\"type\"")},
    {"ModelTypeIsANumber", "{}/config.json: \"model_type\" is 3, expected a string",
     config("\"model_type\": \"bert\"", "\"model_type\": 3")},
    {"Decoder", "{}/config.json: \"is_decoder\" is true, expected an encoder",
     config("\"is_decoder\": false", "\"is_decoder\": true")},
    {"UnknownActivation",
     "{}/config.json: \"hidden_act\" is \"mish\", expected one of gelu, gelu_new, "
     "relu, tanh, silu, sigmoid, quick_gelu, softplus, abs, sin, cos, floor, rsqrt, exp, log, erf, "
     "sqrt, reciprocal, nan_to_zero, "
     "gelu_pytorch_tanh, "
     "swish; did you mean \"swish\"?",
     config("\"gelu\"", "\"mish\"")},
    {"NoHeads", "{}/config.json: \"num_attention_heads\" is 0, expected an integer from 1 to 65536",
     config("\"num_attention_heads\": 3", "\"num_attention_heads\": 0")},
    {"HeadsDoNotDivide",
     "{}/config.json: \"num_attention_heads\" is 5, expected a divisor of \"hidden_size\", 72",
     config("\"num_attention_heads\": 3", "\"num_attention_heads\": 5")},
    {"NegativeSize", "{}/config.json: \"hidden_size\" is -72, expected an integer from 1 to 65536",
     config("\"hidden_size\": 72", "\"hidden_size\": -72")},
    {"HugeSize",
     "{}/config.json: \"hidden_size\" is 4611686018427387904, expected an integer from 1 to 65536",
     config("\"hidden_size\": 72", "\"hidden_size\": 4611686018427387904")},
    {"FractionalLayers",
     "{}/config.json: \"num_hidden_layers\" is 2.5, expected an integer from 1 to 1024",
     config("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2.5")},
    {"EpsilonIsText",
     "{}/config.json: \"layer_norm_eps\" is \"small\", expected a number from 0 to 1",
     config("1e-12", "\"small\"")},
    // Tensors that do not match the model
    {"MissingTensor",
     "{}/model.safetensors: tensor \"encoder.layer.1.output.dense.weight\" is missing, expected "
     "one of shape [72, 100]",
     withoutTensor("encoder.layer.1.output.dense.weight")},
    {"SurplusTensor",
     "{}/model.safetensors: tensor \"encoder.layer.9.output.dense.bias\" is unused, expected only "
     "the 55 of the model",
     withTensor("encoder.layer.9.output.dense.bias", ElementType::F32, {72})},
    {"WrongShape",
     "{}/model.safetensors: tensor \"pooler.dense.weight\" has shape [72, 71], expected [72, 72]",
     withTensor("pooler.dense.weight", ElementType::F32, {72, 71})},
    {"WrongRank",
     "{}/model.safetensors: tensor \"pooler.dense.bias\" has shape [72, 1], expected [72]",
     withTensor("pooler.dense.bias", ElementType::F32, {72, 1})},
    {"WrongType",
     "{}/model.safetensors: tensor \"pooler.dense.weight\" has type I64, expected F32, F16 or BF16",
     withTensor("pooler.dense.weight", ElementType::I64, {72, 72})},
    {"DoublePrecision",
     "{}/model.safetensors: tensor \"pooler.dense.weight\" has type F64, expected F32, F16 or BF16",
     withTensor("pooler.dense.weight", ElementType::F64, {72, 72})},
    // model.safetensors itself
    {"NoWeights", "{}: has neither model.safetensors nor model.safetensors.index.json",
     remove("model.safetensors")},
    {"EmptyWeights", "{}/model.safetensors: the file is empty", truncate("model.safetensors", 0)},
    {"TinyWeights",
     "{}/model.safetensors: 6 bytes long, expected at least 8 for the length of the header: not a "
     "safetensors file",
     truncate("model.safetensors", 6)},
    {"TruncatedHeader",
     "{}/model.safetensors: the header's length is 5704, but only 992 bytes follow",
     truncate("model.safetensors", 1000)},
    {"TruncatedData",
     "{}/model.safetensors: tensor \"encoder.layer.2.output.dense.weight\": \"data_offsets\" is "
     "[475248, 504048], but the file has 494288 bytes of data",
     truncate("model.safetensors", 500000)},
    {"DataAfterTheLast",
     "{}/model.safetensors: 525076 bytes of data, but the tensors end at byte 525072",
     [](ModelFolder &folder) {
       std::ofstream(folder / "model.safetensors", std::ios::app) << "more";
     }},
    {"HugeHeader",
     "{}/model.safetensors: 10 bytes long, the first 8 say that the header has "
     "9223372036854775808, expected at most 100000000: not a safetensors file",
     weights("{}", 0, uint64_t(1) << 63)},
    {"HeaderNotJson", "{}/model.safetensors: header: not JSON at byte 7, near \"{\\\"a\\\": \"",
     weights("{\"a\": ", 0)},
    {"HeaderNotUtf8", "{}/model.safetensors: header: byte 3 is 0xff, expected UTF-8",
     weights("{\"\xff\": 1}", 0)},
    {"HeaderTooDeep", "{}/model.safetensors: header: lists and objects nest deeper than 64 levels",
     weights("{\"a\": " + std::string(200, '['), 0)},
    {"HeaderIsNoObject", "{}/model.safetensors: the header begins with \"[\", expected \"{\"",
     weights("[1, 2]", 0)},
    {"TensorIsNoObject", "{}/model.safetensors: tensor \"a\": is 7, expected an object",
     weights("{\"a\": 7}", 0)},
    {"UnknownType",
     "{}/model.safetensors: tensor \"b\": \"dtype\" is \"F31\", expected one of F32, I32, F64, "
     "F16, "
     "BF16, "
     "F8_E4M3, F8_E5M2, I64, I16, I8, U64, U32, U16, U8, BOOL",
     weights(weightsOf + R"({"dtype": "F31", "shape": [2], "data_offsets": [8, 16]}})", 16)},
    {"NegativeOffset",
     "{}/model.safetensors: tensor \"b\": item 1 of \"data_offsets\" is -8, expected an integer "
     "from 0 to 9223372036854775807",
     weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}})", 16)},
    {"OffsetsBackwards",
     "{}/model.safetensors: tensor \"b\": \"data_offsets\" is [16, 8], which ends before it begins",
     weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [16, 8]}})", 16)},
    {"OffsetsOutside",
     "{}/model.safetensors: tensor \"b\": \"data_offsets\" is [8, 16], but the file has 15 bytes "
     "of data",
     weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}})", 15)},
    {"HugeOffset",
     "{}/model.safetensors: tensor \"b\": item 2 of \"data_offsets\" is 18446744073709551615, "
     "expected an integer from 0 to 9223372036854775807",
     weights(weightsOf +
                 R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 18446744073709551615]}})",
             16)},
    {"Overlap",
     "{}/model.safetensors: tensor \"b\": begins at byte 4, inside tensor \"a\", which ends at "
     "byte 8",
     weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})", 12)},
    {"Gap",
     "{}/model.safetensors: tensor \"b\": begins at byte 12, expected 8: the bytes between belong "
     "to no tensor",
     weights(weightsOf + R"({"dtype": "F32", "shape": [2], "data_offsets": [12, 20]}})", 20)},
    {"ShapeOverflows",
     "{}/model.safetensors: tensor \"b\": F32 [4294967296, 4294967296] takes 2^63 bytes or more",
     weights(weightsOf +
                 R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [8, 16]}})",
             16)},
    {"ShapeAndBytesDiffer",
     "{}/model.safetensors: tensor \"b\": \"data_offsets\" is [8, 16], 8 bytes, expected 12 for "
     "F32 [3]",
     weights(weightsOf + R"({"dtype": "F32", "shape": [3], "data_offsets": [8, 16]}})", 16)},
    {"TensorTwice", "{}/model.safetensors: header: key \"a\" appears twice",
     weights(R"({"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, "a": 1})", 0)},
    {"IndexWithoutItsFile",
     "{}/model.safetensors.index.json: {}/part-1.safetensors: cannot open: No such file or "
     "directory",
     [](ModelFolder &folder) {
       remove("model.safetensors")(folder);
       write("model.safetensors.index.json",
             R"({"weight_map": {"a": "part-1.safetensors"}})")(folder);
     }},
    {"IndexLeavesTheFolder",
     "{}/model.safetensors.index.json: tensor \"a\": its file is \"../part.safetensors\", expected "
     "the name of a file beside the index",
     [](ModelFolder &folder) {
       remove("model.safetensors")(folder);
       write("model.safetensors.index.json",
             R"({"weight_map": {"a": "../part.safetensors"}})")(folder);
     }},
    // tokenizer.json
    {"EmptyTokenizer", "{}/tokenizer.json: the file is empty", write("tokenizer.json", "")},
    {"TokenizerNotJson",
     "{}/tokenizer.json: not JSON at byte 18, near \"{\\\"model\\\": {\\\"type\\\"\"",
     write("tokenizer.json", "{\"model\": {\"type\"")},
    {"TokenizerIsAList", "{}/tokenizer.json: is a list of 0, expected an object",
     write("tokenizer.json", "[]")},
    {"TokenizerOfAnotherKind",
     "{}/tokenizer.json: \"model\": \"type\" is \"WordLevel\", expected one of WordPiece, BPE, "
     "Unigram",
     tokenizer("\"type\": \"WordPiece\",\n    \"unk", "\"type\": \"WordLevel\",\n    \"unk")},
    {"NoVocabulary",
     "{}/tokenizer.json: \"model\": \"vocab\" is missing, expected an object of ids by token",
     tokenizer("\"vocab\"", "\"words\"")},
    {"UnknownToken",
     "{}/tokenizer.json: \"model\": \"unk_token\" is \"[???]\", expected a token of the vocabulary",
     tokenizer("\"unk_token\": \"[UNK]\"", "\"unk_token\": \"[???]\"")},
    {"UnknownNormalizer",
     "{}/tokenizer.json: \"normalizer\": \"type\" is \"Upper\", expected one of BertNormalizer, "
     "NFC, "
     "NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, Strip, Replace, Prepend, Precompiled, "
     "Sequence",
     tokenizer("BertNormalizer", "Upper")},
    {"UnknownPreTokenizer",
     "{}/tokenizer.json: \"pre_tokenizer\": \"type\" is \"UnicodeScripts\", expected one of "
     "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Split, "
     "Whitespace, WhitespaceSplit, Sequence",
     tokenizer("BertPreTokenizer", "UnicodeScripts")},
    // modules.json and the files that it names
    {"UnknownModule",
     "{}/modules.json: module 3: \"type\" is \"sentence_transformers.models.CNN\", expected one of "
     "Transformer, Pooling, Dense, LayerNorm, Normalize",
     modules(pooling +
             R"(, {"idx": 2, "path": "2_CNN", "type": "sentence_transformers.models.CNN"})")},
    {"NoPooling",
     "{}/modules.json: the modules are [Transformer], expected Transformer, Pooling, then any of "
     "Dense, LayerNorm and Normalize",
     modules("")},
    {"ModuleOutside",
     "{}/modules.json: module 2: \"path\" is \"../1_Pooling\", expected a path inside the model's "
     "folder",
     modules(
         R"(, {"idx": 1, "path": "../1_Pooling", "type": "sentence_transformers.models.Pooling"})")},
    {"ModulesAreAnObject", "{}/modules.json: is an object of 0, expected a list of modules",
     write("modules.json", "{}")},
    {"NoPoolingConfig", "{}/1_Pooling/config.json: cannot open: No such file or directory",
     [](ModelFolder &folder) {
       modules(pooling)(folder);
       remove("1_Pooling/config.json")(folder);
     }},
    {"UnknownPooling",
     "{}/1_Pooling/config.json: \"pooling_mode_weightedmean_tokens\" is not supported, expected "
     "pooling_mode_cls_token, pooling_mode_mean_tokens or pooling_mode_max_tokens",
     modules(pooling, R"({"pooling_mode_weightedmean_tokens": true})")},
    {"TwoPoolings",
     "{}/1_Pooling/config.json: the enabled pooling modes are [pooling_mode_cls_token, "
     "pooling_mode_mean_tokens], expected a single one",
     modules(pooling, R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})")},
    {"PoolingOfAnotherWidth",
     "{}/config.json: the hidden size is 72, but the pooling's \"word_embedding_dimension\" is 71, "
     "expected the same",
     modules(pooling, R"({"pooling_mode_mean_tokens": true, "word_embedding_dimension": 71})")},
    {"MaxLengthZero",
     "{}/sentence_bert_config.json: \"max_seq_length\" is 0, expected an integer from 1 to "
     "1073741824",
     modules(pooling, R"({"pooling_mode_mean_tokens": true})", R"({"max_seq_length": 0})")},
    {"MaxLengthIsText",
     "{}/sentence_bert_config.json: \"max_seq_length\" is \"256\", expected an integer from 1 to "
     "1073741824",
     modules(pooling, R"({"pooling_mode_mean_tokens": true})", R"({"max_seq_length": "256"})")},
};

class HeddlecFolderTest : public HeddlecTest, public testing::WithParamInterface<FolderCase> {};

TEST_P(HeddlecFolderTest, GivesItsMessage) {
  ModelFolder folder;
  GetParam().spoil(folder);
  std::string message = GetParam().message;
  for (size_t at = 0; (at = message.find("{}", at)) != std::string::npos;
       at += folder.path().size()) {
    message.replace(at, 2, folder.path());
  }
  expectError({folder.path(), "-o", work / "out.so"}, message);
}

INSTANTIATE_TEST_SUITE_P(Heddlec, HeddlecFolderTest, testing::ValuesIn(folderCases),
                         [](const auto &info) { return info.param.name; });

TEST_F(HeddlecTest, InputsThatAreNoModel) {
  expectError({work / "absent", "-o", work / "out.so"}, work / "absent: no such file or folder");
  expectError({tiny + "/config.json", "-o", work / "out.so"},
              tiny + "/config.json: is one file of a model, expected the folder: heddlec " + tiny);
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
