// SPDX-License-Identifier: Apache-2.0
///
/// Keys of config.json that no family reads: known ones are accepted, those that would change the
/// mathematics are rejected, all others are reported.
#include "frontend/Import/Import.h"

#include "tests/frontend/Import/ModelFolder.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace heddle {

/// One key added to the configuration of a tiny model.
struct KeyCase {
  const char *name;
  const char *folder;
  /// "key": value
  const char *entry;
  /// The expected message, where "{}" is the folder; empty if there is none.
  const char *message;
};

static Result<ImportedModel> importWith(mlir::MLIRContext &context, const ModelFolder &folder) {
  return importModel(context, folder.path());
}

/// Inserts an entry before all others; the key must not be in the configuration yet.
static void insert(ModelFolder &folder, const char *entry) {
  folder.editConfig("{", fmt::format("{{\n  {},", entry));
}

struct RefusedKeys : testing::TestWithParam<KeyCase> {};

TEST_P(RefusedKeys, GiveTheirMessage) {
  ModelFolder folder(GetParam().folder);
  insert(folder, GetParam().entry);
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importWith(context, folder);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().message(), fmt::format(fmt::runtime(GetParam().message), folder.path()));
}

static const KeyCase refusedKeys[] = {
    {"MisspeltSharing", "transformer-post", "\"cross_attention_sharng\": [3]",
     "{}/config.json: unknown key \"cross_attention_sharng\", did you mean "
     "\"cross_attention_sharing\"?"},
    {"LaterVariant", "transformer-post", "\"memory_self_attention\": {\"kind\": \"window\"}",
     "{}/config.json: unknown key \"memory_self_attention\", did you mean "
     "\"decoder_self_attention\"?"},
    {"NothingNear", "transformer-post", "\"zzzzzzzzzzzz\": null",
     "{}/config.json: unknown key \"zzzzzzzzzzzz\", expected one of the keys of "
     "docs/model-format.md"},
    {"KeyOfAnotherFormat", "transformer-pre", "\"architectures\": [\"TransformerModel\"]",
     "{}/config.json: unknown key \"architectures\", expected one of the keys of "
     "docs/model-format.md"},
    {"InsideBranches", "transformer-post",
     "\"branches\": {\"count\": 4, \"ffn\": \"shared\", \"fn\": 1}",
     "{}/config.json: \"branches\": unknown key \"fn\", did you mean \"ffn\"?"},
    {"PositionEmbeddingType", "roberta-tiny", "\"position_embedding_type\": \"relative_key\"",
     "{}/config.json: \"position_embedding_type\" is \"relative_key\", expected one of absolute"},
    {"PositionEmbeddingTypeUnread", "distilbert-tiny", "\"position_embedding_type\": \"rotary\"",
     "{}/config.json: \"position_embedding_type\" is \"rotary\", expected \"absolute\""},
    {"SlidingWindow", "bert-tiny", "\"sliding_window\": 128",
     "{}/config.json: \"sliding_window\" is 128, expected false"},
    {"RopeScaling", "bart-tiny", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}",
     "{}/config.json: \"rope_scaling\" is an object of 2, expected a model without"},
    {"PrunedHeads", "bert-tiny", "\"pruned_heads\": {\"0\": [1]}",
     "{}/config.json: \"pruned_heads\" is an object of 1, expected {{}}"},
    {"Quantized", "t5-tiny", "\"quantization_config\": {\"bits\": 4}",
     "{}/config.json: \"quantization_config\": \"quant_method\" is missing, expected one of "
     "compressed-tensors, gptq, awq"},
    {"PreNormBart", "bart-tiny", "\"normalize_before\": true",
     "{}/config.json: \"normalize_before\" is true, expected false"},
    {"MarianWithoutSinusoids", "marian-tiny", "\"static_position_embeddings\": false",
     "{}/config.json: \"static_position_embeddings\" is false, expected true"},
};
INSTANTIATE_TEST_SUITE_P(All, RefusedKeys, testing::ValuesIn(refusedKeys),
                         [](const auto &info) { return info.param.name; });

struct KnownKeys : testing::TestWithParam<KeyCase> {};

TEST_P(KnownKeys, PassOrAreSaid) {
  ModelFolder folder(GetParam().folder);
  insert(folder, GetParam().entry);
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importWith(context, folder);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(fmt::format("{}", fmt::join(model->warnings, "\n")),
            fmt::format(fmt::runtime(GetParam().message), folder.path()));
}

static const KeyCase knownKeys[] = {
    {"TypoInAnothersFormat", "bert-tiny", "\"hiden_size\": 72",
     "{}/config.json: unknown key \"hiden_size\", its value 72 is ignored"},
    {"UnknownList", "t5-tiny", "\"window\": [1, 2]",
     "{}/config.json: unknown key \"window\", its value a list of 2 is ignored"},
    {"UnknownButNotSet", "bert-tiny", "\"window\": null", ""},
    {"NotSet", "bert-tiny", "\"rope_scaling\": null", ""},
    {"Training", "bert-tiny", "\"layerdrop\": 0.1", ""},
    {"OldPooler", "bert-tiny", "\"pooler_type\": \"first_token_transform\"", ""},
    {"OldMarian", "marian-tiny", "\"static_position_embeddings\": true", ""},
    {"SearchOfAnEncoder", "bert-tiny", "\"num_beams\": 4", ""},
    {"AbsolutePositions", "distilbert-tiny", "\"position_embedding_type\": \"absolute\"", ""},
};
INSTANTIATE_TEST_SUITE_P(All, KnownKeys, testing::ValuesIn(knownKeys),
                         [](const auto &info) { return info.param.name; });

/// A model of a particular class of Transformers.
struct ArchitectureCase {
  const char *name;
  const char *folder;
  const char *from;
  const char *to;
  /// The expected error; empty if the model compiles.
  const char *error;
  /// The expected warning; empty if there is none.
  const char *warning;
};

struct Architecture : testing::TestWithParam<ArchitectureCase> {};

TEST_P(Architecture, IsCompiledOrRefused) {
  const ArchitectureCase &item = GetParam();
  ModelFolder folder(item.folder);
  folder.editConfig(item.from, item.to);
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importWith(context, folder);
  const auto inFolder = [&](const char *text) {
    return fmt::format(fmt::runtime(text), folder.path());
  };
  if (*item.error != '\0') {
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.status().message(), inFolder(item.error));
    return;
  }
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(fmt::format("{}", fmt::join(model->warnings, "\n")), inFolder(item.warning));
}

static const ArchitectureCase architectures[] = {
    {"Questions", "bert-tiny", "BertModel", "BertForQuestionAnswering",
     "{}/config.json: \"architectures\" has \"BertForQuestionAnswering\", whose head is not "
     "supported, expected \"BertModel\"; with [\"BertModel\"] in its place the model is compiled "
     "without the head",
     ""},
    {"Choices", "distilbert-tiny", "DistilBertModel", "DistilBertForMultipleChoice",
     "{}/config.json: \"architectures\" has \"DistilBertForMultipleChoice\", whose head is "
     "not supported, expected \"DistilBertModel\"; with [\"DistilBertModel\"] in its place the "
     "model is compiled without the head",
     ""},
    {"ClassifierOfASequenceModel", "bart-tiny", "BartForConditionalGeneration",
     "BartForSequenceClassification",
     "{}/config.json: \"architectures\" has \"BartForSequenceClassification\", whose head is not "
     "supported, expected \"BartForConditionalGeneration\"; with "
     "[\"BartForConditionalGeneration\"] in its place the model is compiled without the head",
     ""},
    {"EncoderOfT5", "t5-tiny", "T5ForConditionalGeneration", "T5EncoderModel",
     "{}/config.json: \"architectures\" has \"T5EncoderModel\", whose head is not supported, "
     "expected \"T5ForConditionalGeneration\"; with [\"T5ForConditionalGeneration\"] in its place "
     "the model is compiled without the head",
     ""},
    {"NoList", "roberta-tiny", "[\n    \"RobertaModel\"\n  ]", "7",
     "{}/config.json: \"architectures\" is 7, expected a list of strings", ""},
    {"Pretraining", "roberta-tiny", "RobertaModel", "RobertaForMaskedLM", "", ""},
    {"ClassifierOfAnotherClass", "bert-tiny", "BertModel", "TFBertForSequenceClassification",
     "{}/config.json: \"architectures\" has \"TFBertForSequenceClassification\", whose head is not "
     "supported, expected \"BertModel\"; with [\"BertModel\"] in its place the model is compiled "
     "without the head",
     ""},
    {"PretrainingOfAnotherClass", "bert-tiny", "BertModel", "TFBertForMaskedLM", "",
     "{}/config.json: unknown architecture \"TFBertForMaskedLM\", compiled as \"BertModel\""},
    {"OwnClass", "bert-tiny", "BertModel", "NomicBertModel", "",
     "{}/config.json: unknown architecture \"NomicBertModel\", compiled as \"BertModel\""},
};
INSTANTIATE_TEST_SUITE_P(All, Architecture, testing::ValuesIn(architectures),
                         [](const auto &info) { return info.param.name; });

TEST(Heads, OfPretrainingAreNoted) {
  ModelFolder folder;
  folder.editConfig("BertModel", "BertForMaskedLM");
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importWith(context, folder);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->notes.front(),
            folder.path() + "/config.json: the head of \"BertForMaskedLM\" is left out");
}

TEST(Heads, DoNotMatterToASentenceEncoder) {
  ModelFolder folder;
  folder.editConfig("BertModel", "BertForSequenceClassification");
  folder.files().write("modules.json",
                       R"([{"idx": 0, "name": "0", "path": "",
                            "type": "sentence_transformers.models.Transformer"},
                           {"idx": 1, "name": "1", "path": "1_Pooling",
                            "type": "sentence_transformers.models.Pooling"}])");
  folder.files().write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importWith(context, folder);
  EXPECT_TRUE(model.ok()) << model.status().message();
}

} // namespace heddle
