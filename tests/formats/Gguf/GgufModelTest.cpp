// SPDX-License-Identifier: Apache-2.0
///
/// Files of the architecture "bert" as models: configuration, names, pooling, tokenizer; and
/// unsupported files, each with its whole message.
#include "formats/Gguf/GgufModel.h"

#include "formats/Config/Json.h"
#include "tests/formats/Gguf/SmallBert.h"

#include <functional>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// A file on disk, opened as a model.
struct OpenedModel {
  TemporaryFolder folder;
  Result<Checkpoint> checkpoint;
  Result<GgufModel> model;

  explicit OpenedModel(const GgufBytes &bytes)
      : checkpoint(Checkpoint::open(folder.write("m.gguf", bytes.file()))),
        model(checkpoint.ok() ? readGgufModel(*checkpoint->gguf()) : checkpoint.status()) {}

  /// Returns the message without the folder.
  std::string message() const {
    std::string text(model.status().message());
    const size_t at = text.find(folder.path() + "/");
    return at == std::string::npos ? text : text.erase(at, folder.path().size() + 1);
  }
};

TEST(GgufModel, IsDescribedAsAFolder) {
  const OpenedModel opened(SmallBert().bytes());
  ASSERT_TRUE(opened.model.ok()) << opened.model.status().message();
  const Config &config = opened.model->config;
  EXPECT_EQ(*config.string("model_type"), "bert");
  EXPECT_EQ(*config.integer("hidden_size", 1, 1000), 64);
  EXPECT_EQ(*config.integer("vocab_size", 1, 1000), 12);
  EXPECT_EQ(*config.integer("max_position_embeddings", 1, 1000), 16);
  // As written in decimal, not the nearest f32.
  EXPECT_EQ(*config.number("layer_norm_eps", 0, 1), 1e-12);
  EXPECT_EQ(opened.model->sentence.pooling, Pooling::Mean);
  ASSERT_EQ(opened.model->sentence.modules.size(), 1u);
  EXPECT_EQ(opened.model->sentence.modules[0].kind, SentenceModule::Kind::Normalize);
  EXPECT_TRUE(opened.model->tokenizer.lowersCase());
  EXPECT_EQ(opened.model->notes,
            (std::vector<std::string>{
                "\"tokenizer.ggml.normalizer.lowercase\" is missing: texts are put in lower case, "
                "as the words of the file have no capitals",
                "a GGUF file does not say whether embeddings are normalized: they are, as in "
                "llama.cpp"}));
  EXPECT_EQ(opened.model->tensors.size(), SmallBert().tensors.size());
}

TEST(GgufModel, PoolingAndItsAbsence) {
  const auto withPooling = [](uint32_t pooling) {
    GgufBytes bytes = SmallBert().bytes();
    return bytes.without("bert.pooling_type").add("bert.pooling_type", GgufKind::U32, pooling);
  };
  EXPECT_EQ(OpenedModel(withPooling(2)).model->sentence.pooling, Pooling::Cls);
  EXPECT_EQ(OpenedModel(withPooling(0)).model->notes[1],
            "\"bert.pooling_type\" is 0 (none): \"embed\" is the mean of the rows");
  EXPECT_EQ(OpenedModel(SmallBert().bytes().without("bert.pooling_type")).model->notes[1],
            "\"bert.pooling_type\" is missing: \"embed\" is the mean of the rows");
}

std::vector<uint8_t> packed(const TokenizerFile &file) {
  Result<std::vector<uint8_t>> bytes = file.packAlone();
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *bytes : std::vector<uint8_t>();
}

/// Returns the pieces of the golden tokenizer.
std::vector<std::string> goldenPieces() {
  const Result<nlohmann::json> json =
      readJsonFile(HEDDLE_TEST_DATA "/oracles/tokenizers/wordpiece/tokenizer.json");
  EXPECT_TRUE(json.ok());
  std::vector<std::string> pieces((*json)["model"]["vocab"].size());
  for (const auto &[piece, id] : (*json)["model"]["vocab"].items()) {
    pieces[id.get<size_t>()] = piece;
  }
  return pieces;
}

TEST(GgufModel, TokenizerIsThatOfTheFolder) {
  SmallBert small;
  small.pieces = goldenPieces();
  small.tensors[0] = {"token_embd.weight",
                      "",
                      {int64_t(small.pieces.size()), small.width},
                      findGgufType(0),
                      std::string(small.pieces.size() * 4 * small.width, '\0')};
  const TemporaryFolder folder;
  std::string text;
  for (const std::string &piece : small.pieces) {
    text += piece + "\n";
  }
  folder.write("vocab.txt", text);
  const Result<FolderTokenizers> expected = findTokenizers(folder.path());
  ASSERT_TRUE(expected.ok());
  const OpenedModel opened(small.bytes());
  ASSERT_TRUE(opened.model.ok()) << opened.model.status().message();
  EXPECT_EQ(packed(opened.model->tokenizer), packed(*expected->source));
  // Older files have neither types nor ids.
  GgufBytes old = small.bytes();
  for (const char *const key : {"token_type", "padding_token_id", "unknown_token_id",
                                "cls_token_id", "seperator_token_id", "mask_token_id"}) {
    old.without(std::string("tokenizer.ggml.") + key);
  }
  const OpenedModel openedOld(old);
  ASSERT_TRUE(openedOld.model.ok()) << openedOld.model.status().message();
  EXPECT_EQ(packed(openedOld.model->tokenizer), packed(*expected->source));
}

TEST(GgufModel, CaseIsWhatTheFileSaysOrItsWordsShow) {
  GgufBytes bytes = SmallBert().bytes();
  bytes.add("tokenizer.ggml.normalizer.lowercase", GgufKind::Bool, uint8_t(0));
  const OpenedModel said(bytes);
  EXPECT_FALSE(said.model->tokenizer.lowersCase());
  EXPECT_EQ(said.model->notes.size(), 1U);
  SmallBert cased;
  cased.pieces.back() = "Cat";
  const OpenedModel shown(cased.bytes());
  EXPECT_FALSE(shown.model->tokenizer.lowersCase());
  EXPECT_EQ(shown.model->notes[0],
            "\"tokenizer.ggml.normalizer.lowercase\" is missing: texts keep their case, as the "
            "words of the file have capitals");
}

struct RefusalCase {
  const char *name;
  std::function<void(GgufBytes &)> spoil;
  const char *message;

  friend void PrintTo(const RefusalCase &refusal, std::ostream *stream) { *stream << refusal.name; }
};

std::function<void(GgufBytes &)> without(std::string key) {
  return [key](GgufBytes &file) { file.without(key); };
}
std::function<void(GgufBytes &)> number(std::string key, uint32_t value) {
  return [=](GgufBytes &file) { file.without(key).add(key, GgufKind::U32, value); };
}
std::function<void(GgufBytes &)> text(std::string key, std::string value) {
  return [=](GgufBytes &file) { file.without(key).addText(key, value); };
}

const std::vector<RefusalCase> refusals = {
    {"NoArchitecture", without("general.architecture"),
     "m.gguf: \"general.architecture\" is missing, expected a string"},
    {"AnotherArchitecture", text("general.architecture", "llama"),
     "m.gguf: the architecture \"llama\" is not supported in GGUF files, expected \"bert\", or the "
     "model's folder in Hugging Face's format, as 'hf download OWNER/NAME --local-dir NAME' "
     "fetches it"},
    {"Split", number("split.count", 3),
     "m.gguf: is one of 3 files of a model, expected a single one: 'llama-gguf-split --merge' "
     "makes it"},
    {"NoLayers", without("bert.block_count"),
     "m.gguf: \"bert.block_count\" is missing, expected an integer from 1 to 1024"},
    {"LayersAreAText", text("bert.block_count", "6"),
     "m.gguf: \"bert.block_count\" is \"6\", expected an integer from 1 to 1024"},
    {"EpsilonIsNotANumber",
     [](GgufBytes &file) {
       const char *key = "bert.attention.layer_norm_epsilon";
       file.without(key).add(key, GgufKind::F32, std::numeric_limits<float>::quiet_NaN());
     },
     "m.gguf: \"bert.attention.layer_norm_epsilon\" is \"nan\", expected a number from 0 to 1"},
    {"WidthIsAList",
     [](GgufBytes &file) {
       file.without("bert.embedding_length")
           .addList<uint32_t>("bert.embedding_length", GgufKind::U32, {64});
     },
     "m.gguf: \"bert.embedding_length\" is \"an array of 1 u32\", expected an integer from 1 "
     "to 16777216"},
    {"HeadsDoNotDivide", number("bert.attention.head_count", 5),
     "m.gguf: \"bert.attention.head_count\" is 5, expected a divisor of 64, the "
     "\"bert.embedding_length\""},
    {"FewerHeadsOfKeys", number("bert.attention.head_count_kv", 1),
     "m.gguf: \"bert.attention.head_count_kv\" is 1, expected 2, as "
     "\"bert.attention.head_count\""},
    {"Causal",
     [](GgufBytes &file) {
       file.without("bert.attention.causal")
           .add("bert.attention.causal", GgufKind::Bool, uint8_t(1));
     },
     "m.gguf: \"bert.attention.causal\" is true, expected an encoder"},
    {"PoolingOfTheLast", number("bert.pooling_type", 3),
     "m.gguf: \"bert.pooling_type\" is 3 (the last token), expected 0 (none), 1 (mean) or 2 (the "
     "first token)"},
    {"PoolingOfAScore", number("bert.pooling_type", 4),
     "m.gguf: \"bert.pooling_type\" is 4 (a score), expected 0 (none), 1 (mean) or 2 (the first "
     "token)"},
    {"AnotherTokenizer", text("tokenizer.ggml.model", "t5"),
     "m.gguf: \"tokenizer.ggml.model\" is \"t5\", expected \"bert\" (word pieces), or the model's "
     "folder in Hugging Face's format"},
    {"NoTokens", without("tokenizer.ggml.tokens"),
     "m.gguf: key \"tokenizer.ggml.tokens\" is missing, expected an array of strings"},
    {"TokensAreNumbers",
     [](GgufBytes &file) {
       file.without("tokenizer.ggml.tokens")
           .addList<int32_t>("tokenizer.ggml.tokens", GgufKind::I32, {1, 2});
     },
     "m.gguf: key \"tokenizer.ggml.tokens\" is an array of 2 i32, expected an array of strings"},
    {"FewerTypesThanTokens",
     [](GgufBytes &file) {
       file.without("tokenizer.ggml.token_type")
           .addList<int32_t>("tokenizer.ggml.token_type", GgufKind::I32, {3, 3});
     },
     "m.gguf: \"tokenizer.ggml.token_type\" has 2 types, expected 12, one for each of "
     "\"tokenizer.ggml.tokens\""},
    {"SpecialTokenPastTheEnd", number("tokenizer.ggml.cls_token_id", 12),
     "m.gguf: \"tokenizer.ggml.cls_token_id\" is 12, expected an integer from 0 to 11"},
    {"NoUnknownToken",
     [](GgufBytes &file) {
       file.without("tokenizer.ggml.unknown_token_id").without("tokenizer.ggml.tokens");
       file.without("tokenizer.ggml.token_type");
       file.addTexts("tokenizer.ggml.tokens", {"[CLS]", "[SEP]", "[PAD]",
                                               "\xE2\x96\x81"
                                               "a",
                                               "b"});
     },
     "m.gguf: has neither \"tokenizer.ggml.unknown_token_id\" nor the token \"[UNK]\", expected "
     "one of them"},
    {"AnotherVocabularySize", number("bert.vocab_size", 13),
     "m.gguf: \"tokenizer.ggml.tokens\" has 12 tokens, expected 13, the \"bert.vocab_size\""},
    {"MoreTokensThanRows",
     [](GgufBytes &file) {
       std::vector<std::string> tokens(13, "x");
       std::copy_n(std::begin({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}), 5, tokens.begin());
       file.without("tokenizer.ggml.token_type").without("tokenizer.ggml.tokens");
       file.addTexts("tokenizer.ggml.tokens", tokens);
     },
     "m.gguf: tensor \"token_embd.weight\" has shape [12, 64], expected [13, 64]"},
    {"NoTensor",
     [](GgufBytes &file) {
       std::erase_if(file.tensors, [](const auto &one) { return one.name == "blk.0.attn_k.bias"; });
     },
     "m.gguf: tensor \"blk.0.attn_k.bias\" is missing, expected one of shape [64]"},
    {"AnotherInnerWidth", number("bert.feed_forward_length", 128),
     "m.gguf: tensor \"blk.0.ffn_up.weight\" has shape [64, 64], expected [128, 64]"},
};

class GgufRefusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(GgufRefusal, GivesItsMessage) {
  GgufBytes bytes = SmallBert().bytes();
  GetParam().spoil(bytes);
  EXPECT_EQ(OpenedModel(bytes).message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, GgufRefusal, testing::ValuesIn(refusals),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle
