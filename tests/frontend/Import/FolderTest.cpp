// SPDX-License-Identifier: Apache-2.0
///
/// Import of model folders: the result, and every error in a folder.
#include "frontend/Import/Import.h"

#include "tests/frontend/Builder/PrintedModule.h"
#include "tests/frontend/Import/ModelFolder.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {

static Status importStatus(const std::string &path) {
  mlir::MLIRContext context;
  return importModel(context, path).status();
}

/// Returns the source hash of a folder that can be imported.
static std::string hashOf(const std::string &path) {
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? model->sourceHash : "";
}

TEST(FolderTest, TinyModelsAreImported) {
  const std::pair<const char *, int64_t> models[] = {
      {"bert", 40}, {"distilbert", 29}, {"roberta", 31}};
  for (const auto &[type, positions] : models) {
    mlir::MLIRContext context;
    const Result<ImportedModel> model =
        importModel(context, fmt::format("{}/oracles/{}-tiny", HEDDLE_TEST_DATA, type));
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->modelType, type);
    EXPECT_EQ(model->positions, positions);
    EXPECT_EQ(model->sourceHash.size(), 32u);
    EXPECT_FALSE(model->tokenizer);
    ASSERT_NE(model->checkpoint, nullptr);
    EXPECT_EQ(model->notes.size(), 2u);
  }
}

TEST(FolderTest, EncoderDecodersAreImported) {
  const std::pair<const char *, std::optional<int64_t>> models[] = {{"transformer-post", 64},
                                                                    {"transformer-pre", 64},
                                                                    {"marian-tiny", 64},
                                                                    {"bart-tiny", 48},
                                                                    {"t5-tiny", std::nullopt}};
  for (const auto &[name, positions] : models) {
    mlir::MLIRContext context;
    const Result<ImportedModel> model =
        importModel(context, fmt::format("{}/oracles/{}", HEDDLE_TEST_DATA, name));
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->positions, positions);
    // Only the note about the missing tokenizer: these models have no "embed".
    EXPECT_EQ(model->notes.size(), 1u);
  }
}

TEST(FolderTest, CTranslate2FoldersAreTransformers) {
  for (const char *name : {"tied-f32", "tied-i8", "tied-i16", "separate"}) {
    mlir::MLIRContext context;
    const Result<ImportedModel> model = importModel(
        context, fmt::format("{}/formats/CTranslate2/models/{}", HEDDLE_TEST_DATA, name));
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->modelType, "transformer");
    EXPECT_TRUE(contains(printed(*model->module), "rules = \"ctranslate2\""));
    EXPECT_NE(model->checkpoint->ctranslate2(), nullptr);
    ASSERT_TRUE(model->tokenizer);
    // Only sources end with an added token, so targets have a tokenizer of their own.
    EXPECT_TRUE(model->tokenizer->target);
  }
}

TEST(FolderTest, GenerationFilesAreReadAndHashed) {
  ModelFolder folder("marian-tiny");
  const std::string before = hashOf(folder.path());
  folder.files().write("generation_config.json", "{\"num_beams\": 6}");
  EXPECT_NE(hashOf(folder.path()), before);
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, folder.path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(contains(printed(*model->module), "num_beams = 6 : i32"));
  folder.files().write("generation_config.json", "{\"num_beams\": 0}");
  EXPECT_EQ(importStatus(folder.path()).message(),
            folder / "generation_config.json" +
                ": \"num_beams\" is 0, expected an integer from 1 to 1024");
}

TEST(FolderTest, PrefixesAndHeadsOfTasksAreUnderstood) {
  ModelFolder folder;
  folder.editTensors([&](std::vector<SafetensorsTensor> &tensors) {
    for (SafetensorsTensor &tensor : tensors) {
      tensor.name = "bert." + tensor.name;
    }
    std::erase_if(tensors,
                  [](const SafetensorsTensor &t) { return t.name.starts_with("bert.pooler"); });
    tensors.push_back(folder.zeros("cls.predictions.bias", ElementType::F32, {211}));
    tensors.push_back(folder.zeros("bert.embeddings.position_ids", ElementType::I64, {1, 40}));
  });
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, folder.path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::string text = printed(**&model->module);
  EXPECT_TRUE(contains(text, "@bert.encoder.layer.0.output.dense.weight"));
  EXPECT_EQ(text.find("pooler_output"), std::string::npos);
  EXPECT_EQ(model->notes.front(),
            "tensors the model does not use: bert.embeddings.position_ids, cls.");
}

TEST(FolderTest, NormsMayBeCalledGammaAndBeta) {
  ModelFolder folder;
  folder.editTensors([](std::vector<SafetensorsTensor> &tensors) {
    for (SafetensorsTensor &tensor : tensors) {
      const size_t at = tensor.name.find("LayerNorm.");
      if (at != std::string::npos) {
        tensor.name.replace(at + 10, std::string::npos,
                            tensor.name.ends_with("weight") ? "gamma" : "beta");
      }
    }
  });
  EXPECT_TRUE(importStatus(folder.path()).ok()) << importStatus(folder.path()).message();
}

TEST(FolderTest, HalfPrecisionWeightsAreAccepted) {
  ModelFolder folder;
  folder.editTensors([&](std::vector<SafetensorsTensor> &tensors) {
    named(tensors, "pooler.dense.weight") =
        folder.zeros("pooler.dense.weight", ElementType::BF16, {72, 72});
    named(tensors, "pooler.dense.bias") = folder.zeros("pooler.dense.bias", ElementType::F16, {72});
  });
  EXPECT_TRUE(importStatus(folder.path()).ok()) << importStatus(folder.path()).message();
}

/// Makes a tiny model's folder one of sentence-transformers.
static void writeSentenceModules(const ModelFolder &folder, int width, const char *limits) {
  folder.files().write("modules.json", R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  folder.files().write(
      "1_Pooling/config.json",
      fmt::format(R"({{"word_embedding_dimension": {}, "pooling_mode_cls_token": true}})", width));
  folder.files().write("sentence_bert_config.json", limits);
  folder.files().write("tokenizer.json", R"({"normalizer": {"lowercase": false}})");
}

TEST(FolderTest, SentenceEncodersSayHowTheyPool) {
  ModelFolder folder;
  writeSentenceModules(folder, 72, R"({"max_seq_length": 16})");
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, folder.path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(contains(printed(**&model->module), "transformer.normalize"));
  ASSERT_TRUE(model->tokenizer);
  EXPECT_EQ(model->tokenizer->file.path(), folder / "tokenizer.json");
  EXPECT_EQ(model->tokenizer->maxLength, 16);
  EXPECT_TRUE(model->notes.empty());
}

/// Imports a tiny model with a Dense module of this configuration; its weights may be missing.
static Status denseStatus(const char *config, const char *weights) {
  ModelFolder folder;
  writeSentenceModules(folder, 72, "{}");
  folder.files().write("modules.json", R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  folder.files().write("2_Dense/config.json", config);
  if (*weights != 0) {
    folder.files().write(std::string("2_Dense/") + weights, "\x80");
  } else {
    const std::string bytes(72 * 5 * 4, 0);
    const SafetensorsTensor tensor = {
        "linear.weight", ElementType::F32, {5, 72}, std::as_bytes(std::span(bytes))};
    EXPECT_TRUE(writeSafetensors(folder / "2_Dense/model.safetensors", {&tensor, 1}).ok());
  }
  const std::string path = folder.path();
  const Status status = importStatus(path);
  std::string message(status.message());
  for (size_t at = 0; (at = message.find(path)) != std::string::npos;) {
    message.replace(at, path.size(), "{}");
  }
  return Status(status.code(), message);
}

TEST(FolderTest, WeightsOfModulesAreChecked) {
  const char *const config = R"({"in_features": 72, "out_features": 5, "bias": false,
                                 "activation_function": "torch.nn.modules.linear.Identity"})";
  EXPECT_EQ(denseStatus(config, "").message(), "");
  EXPECT_NE(denseStatus(config, "pytorch_model.bin")
                .message()
                .find("{}/2_Dense/pytorch_model.bin: holds pickled tensors of PyTorch, which are "
                      "not supported, expected model.safetensors"),
            std::string::npos);
  EXPECT_EQ(denseStatus(config, "readme").message(),
            "{}/2_Dense: has neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(
      denseStatus(R"({"in_features": 71, "out_features": 5})", "").message(),
      "{}/2_Dense/config.json: \"in_features\" is 71, expected 72, the width of what comes to "
      "the module");
  EXPECT_EQ(denseStatus(R"({"in_features": 72, "out_features": 5})", "").message(),
            "{}: tensor \"2_Dense.linear.bias\" is missing, expected one of shape [5]");
  EXPECT_NE(denseStatus(R"({"in_features": 72, "out_features": 6, "bias": false})", "")
                .message()
                .find("tensor \"2_Dense.linear.weight\" has shape [5, 72], expected [6, 72]"),
            std::string::npos);
}

TEST(FolderTest, TextsAreNeverLongerThanThePositions) {
  ModelFolder folder;
  writeSentenceModules(folder, 72, R"({"max_seq_length": 512})");
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, folder.path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->tokenizer->maxLength, 40);
  EXPECT_EQ(model->notes.front(),
            "\"max_seq_length\" is 512, but the model has 40 positions: texts are cut there");
}

TEST(FolderTest, PoolingOfAnotherWidthIsRefused) {
  ModelFolder folder;
  writeSentenceModules(folder, 71, "{}");
  EXPECT_EQ(importStatus(folder.path()).message(),
            folder / "config.json: the hidden size is 72, but the pooling's "
                     "\"word_embedding_dimension\" is 71, expected the same");
}

TEST(FolderTest, LowerCaseIsTheTokenizersBusiness) {
  ModelFolder folder;
  writeSentenceModules(folder, 72, R"({"do_lower_case": true})");
  EXPECT_EQ(importStatus(folder.path()).message(),
            folder / "tokenizer.json: the normalizer keeps upper case, but \"do_lower_case\" of "
                     "sentence_bert_config.json is true, expected \"lowercase\": true");
  folder.files().write("tokenizer.json", "[1]");
  EXPECT_FALSE(importStatus(folder.path()).ok());
  folder.files().write("tokenizer.json", R"({"normalizer": {"lowercase": true}})");
  EXPECT_TRUE(importStatus(folder.path()).ok());
}

TEST(FolderTest, TheHashIsThatOfTheContents) {
  ModelFolder one, two;
  const std::string hash = hashOf(one.path());
  EXPECT_EQ(hash, hashOf(two.path()));
  two.editConfig("0.02", "0.03");
  EXPECT_NE(hash, hashOf(two.path()));
  ModelFolder three;
  three.editTensors([&](std::vector<SafetensorsTensor> &tensors) {
    named(tensors, "pooler.dense.bias") = three.zeros("pooler.dense.bias", ElementType::F32, {72});
  });
  EXPECT_NE(hash, hashOf(three.path()));
  ModelFolder four;
  four.files().write("tokenizer.json", "{}");
  EXPECT_NE(hash, hashOf(four.path()));
  ModelFolder five, six;
  writeSentenceModules(five, 72, R"({"max_seq_length": 16})");
  writeSentenceModules(six, 72, R"({"max_seq_length": 17})");
  EXPECT_NE(hashOf(five.path()), hashOf(six.path()));
}

/// A folder with one defect; `{}` in the message is the folder.
struct FolderCase {
  const char *name;
  const char *message;
  std::function<void(ModelFolder &)> spoil;
};

class SpoiledFolder : public testing::TestWithParam<FolderCase> {};

TEST_P(SpoiledFolder, GivesItsMessage) {
  ModelFolder folder;
  GetParam().spoil(folder);
  EXPECT_EQ(importStatus(folder.path()).message(),
            fmt::format(fmt::runtime(GetParam().message), folder.path()));
}

static std::function<void(ModelFolder &)>
tensors(std::function<void(ModelFolder &, std::vector<SafetensorsTensor> &)> edit) {
  return [edit](ModelFolder &folder) {
    folder.editTensors([&](std::vector<SafetensorsTensor> &list) { edit(folder, list); });
  };
}

/// Removes a tensor.
static std::function<void(ModelFolder &)> without(std::string name) {
  return tensors([name](ModelFolder &, std::vector<SafetensorsTensor> &list) {
    std::erase_if(list, [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
  });
}

/// Replaces a tensor with zeros, or adds one.
static std::function<void(ModelFolder &)> with(std::string name, ElementType dtype,
                                               std::vector<int64_t> shape) {
  return tensors([=](ModelFolder &folder, std::vector<SafetensorsTensor> &list) {
    std::erase_if(list, [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
    list.push_back(folder.zeros(name, dtype, shape));
  });
}

static std::function<void(ModelFolder &)> config(std::string from, std::string to) {
  return [=](ModelFolder &folder) { folder.editConfig(from, to); };
}

static const FolderCase folderCases[] = {
    {"MissingTable",
     "{}/model.safetensors: tensor \"embeddings.word_embeddings.weight\" is missing, expected one "
     "of shape [211, 72]",
     without("embeddings.word_embeddings.weight")},
    {"MissingWeight",
     "{}/model.safetensors: tensor \"encoder.layer.2.output.dense.weight\" is missing, expected "
     "one of shape [72, 100]",
     without("encoder.layer.2.output.dense.weight")},
    {"MissingBias",
     "{}/model.safetensors: tensor \"encoder.layer.1.attention.self.key.bias\" is missing, "
     "expected one of shape [72]",
     without("encoder.layer.1.attention.self.key.bias")},
    {"HalfAPooler",
     "{}/model.safetensors: tensor \"pooler.dense.weight\" is missing, expected one of shape "
     "[72, 72]",
     without("pooler.dense.weight")},
    {"MissingLayer",
     "{}/model.safetensors: tensor \"encoder.layer.3.attention.self.query.weight\" is missing, "
     "expected one of shape [72, 72]",
     config("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4")},
    {"SurplusLayer",
     "{}/model.safetensors: tensor \"encoder.layer.2.attention.output.LayerNorm.bias\" is unused, "
     "expected only the 39 of the model",
     config("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2")},
    {"SurplusTensor",
     "{}/model.safetensors: tensor \"encoder.extra\" is unused, expected only the 55 of the model",
     with("encoder.extra", ElementType::F32, {2})},
    {"AlmostAHead",
     "{}/model.safetensors: tensor \"clsx\" is unused, expected only the 55 of the model",
     with("clsx", ElementType::F32, {2})},
    {"TransposedWeight",
     "{}/model.safetensors: tensor \"encoder.layer.0.output.dense.weight\" has shape [100, 72], "
     "expected [72, 100]",
     with("encoder.layer.0.output.dense.weight", ElementType::F32, {100, 72})},
    {"FlatWeight",
     "{}/model.safetensors: tensor \"pooler.dense.weight\" has shape [5184], expected [72, 72]",
     with("pooler.dense.weight", ElementType::F32, {5184})},
    {"ShortTable",
     "{}/model.safetensors: tensor \"embeddings.position_embeddings.weight\" has shape [40, 72], "
     "expected [64, 72]",
     config("\"max_position_embeddings\": 40", "\"max_position_embeddings\": 64")},
    {"SmallVocabulary",
     "{}/model.safetensors: tensor \"embeddings.word_embeddings.weight\" has shape [211, 72], "
     "expected [30522, 72]",
     config("\"vocab_size\": 211", "\"vocab_size\": 30522")},
    {"WholeNumbers",
     "{}/model.safetensors: tensor \"pooler.dense.bias\" has type I64, expected F32, F16 or BF16",
     with("pooler.dense.bias", ElementType::I64, {72})},
    {"DoublePrecision",
     "{}/model.safetensors: tensor \"pooler.dense.bias\" has type F64, expected F32, F16 or BF16",
     with("pooler.dense.bias", ElementType::F64, {72})},
    {"UnknownModelType",
     "{}/config.json: \"model_type\" is \"gpt_neo\", expected one of albert, bart, bert, "
     "camembert, "
     "distilbert, gemma2, gemma3_text, gpt2, gpt_neox, llama, m2m_100, marian, mbart, mistral, "
     "mixtral, modernbert, mpnet, multimodel, pegasus, phi3, qwen2, qwen3, qwen3_moe, recurrent, "
     "roberta, t5, transformer, xlm-roberta",
     config("\"model_type\": \"bert\"", "\"model_type\": \"gpt_neo\"")},
    {"UnknownModelTypeWithoutWeights",
     "{}/config.json: \"model_type\" is \"rwkv\", expected one of albert, bart, bert, camembert, "
     "distilbert, gemma2, gemma3_text, gpt2, gpt_neox, llama, m2m_100, marian, mbart, mistral, "
     "mixtral, modernbert, mpnet, multimodel, pegasus, phi3, qwen2, qwen3, qwen3_moe, recurrent, "
     "roberta, t5, transformer, xlm-roberta",
     [](ModelFolder &folder) {
       std::filesystem::remove(folder / "model.safetensors");
       folder.editConfig("\"model_type\": \"bert\"", "\"model_type\": \"rwkv\"");
     }},
    {"OtherFamily", "{}/config.json: \"dim\" is missing, expected an integer from 1 to 65536",
     config("\"model_type\": \"bert\"", "\"model_type\": \"distilbert\"")},
    {"Heads",
     "{}/config.json: \"num_attention_heads\" is 7, expected a divisor of \"hidden_size\", 72",
     config("\"num_attention_heads\": 3", "\"num_attention_heads\": 7")},
    {"NoWeights", "{0}: has neither model.safetensors nor model.safetensors.index.json",
     [](ModelFolder &folder) { std::filesystem::remove(folder / "model.safetensors"); }},
};
INSTANTIATE_TEST_SUITE_P(All, SpoiledFolder, testing::ValuesIn(folderCases),
                         [](const auto &info) { return info.param.name; });

TEST(SpoiledFolders, NameTheFile) {
  ModelFolder folder;
  std::filesystem::remove(folder / "config.json");
  EXPECT_TRUE(importStatus(folder.path())
                  .message()
                  .starts_with(folder.path() + ": no config.json in it, expected"));
  EXPECT_EQ(importStatus(folder.path()).code(), StatusCode::NotFound);
  folder.files().write("config.json", "{\"model_type\": ");
  EXPECT_TRUE(importStatus(folder.path()).message().starts_with(folder / "config.json: "));
  ModelFolder cut;
  cut.files().write("model.safetensors", "short");
  EXPECT_TRUE(importStatus(cut.path()).message().starts_with(cut / "model.safetensors: "));
}

TEST(SpoiledFolders, ShardsAreNamed) {
  ModelFolder folder;
  folder.editTensors(
      [](std::vector<SafetensorsTensor> &list) {
        std::erase_if(list,
                      [](const SafetensorsTensor &t) { return t.name.starts_with("pooler"); });
      },
      "a.safetensors");
  folder.editTensors(
      [&](std::vector<SafetensorsTensor> &list) {
        list = {folder.zeros("pooler.dense.weight", ElementType::F32, {71, 72}),
                folder.zeros("pooler.dense.bias", ElementType::F32, {72})};
      },
      "b.safetensors");
  std::filesystem::remove(folder / "model.safetensors");
  const Result<Checkpoint> first = Checkpoint::open(folder / "a.safetensors");
  ASSERT_TRUE(first.ok());
  std::string map =
      R"("pooler.dense.weight": "b.safetensors", "pooler.dense.bias": "b.safetensors")";
  for (const std::string &name : first->names()) {
    map += fmt::format(", \"{}\": \"a.safetensors\"", name);
  }
  folder.files().write("model.safetensors.index.json",
                       fmt::format("{{\"weight_map\": {{{}}}}}", map));
  EXPECT_EQ(importStatus(folder.path()).message(),
            folder / "b.safetensors: tensor \"pooler.dense.weight\" has shape [71, 72], expected "
                     "[72, 72]");
}

TEST(SpoiledFolders, OtherPathsAreRefused) {
  TemporaryFolder folder;
  EXPECT_EQ(importStatus(folder / "absent").message(), folder / "absent: no such file or folder");
  EXPECT_EQ(importStatus(folder.write("model.txt", "x")).message(),
            folder / "model.txt: is neither a model's folder nor a GGUF, ONNX or .mlir file");
}

} // namespace heddle
