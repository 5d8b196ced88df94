// SPDX-License-Identifier: Apache-2.0
///
/// Folders with tokenizers of every kind: the files that are used, the tokens around texts, and the
/// errors.
#include "formats/Tokenizer/TokenizerFile.h"

#include "base/MappedFile.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/SentencePieceModel.h"
#include "runtime/Tokenizer/TextStream.h"
#include "runtime/Tokenizer/Tokenizer.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

const std::string oracles = HEDDLE_TEST_DATA "/oracles/tokenizers/";

/// A temporary folder that is removed after the test.
struct TokenizerFileTest : testing::Test {
  TokenizerFileTest() {
    const testing::TestInfo *const info = testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(testing::TempDir()) / (std::string("heddle-") + info->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~TokenizerFileTest() override { fs::remove_all(folder); }

  void write(const char *name, std::string_view text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  void copy(const std::string &from, const char *name) const {
    fs::copy_file(oracles + from, folder / name);
  }
  std::string refusal() const {
    const Result<FolderTokenizers> found = findTokenizers(folder.string());
    if (!found.ok()) {
      return std::string(found.status().message());
    }
    return std::string(found->source->packAlone().status().message());
  }

  fs::path folder;
};

/// A packed tokenizer and the table that it refers to.
struct Packed {
  explicit Packed(const TokenizerFile &file, const LengthLimits &limits = {}) {
    Result<std::vector<uint8_t>> bytes = file.packAlone(limits);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    table = *std::move(bytes);
    flatbuffers::Verifier verifier(table.data(), table.size());
    EXPECT_TRUE(verifier.VerifyBuffer<manifest::Tokenizer>(nullptr));
    Result<Tokenizer> loaded =
        Tokenizer::load(flatbuffers::GetRoot<manifest::Tokenizer>(table.data()));
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    tokenizer.emplace(*std::move(loaded));
  }
  const Tokenizer *operator->() const { return &*tokenizer; }

  std::vector<uint8_t> table;
  std::optional<Tokenizer> tokenizer;
};

/// Returns the number of bytes that each of two tokenizers adds to one table.
std::pair<size_t, size_t> sizesOf(const TokenizerFile &first, const TokenizerFile &second) {
  flatbuffers::FlatBufferBuilder builder;
  EXPECT_TRUE(first.pack(builder).ok());
  const size_t before = builder.GetSize();
  EXPECT_TRUE(second.pack(builder).ok());
  return {before, builder.GetSize() - before};
}

TEST_F(TokenizerFileTest, TwoTokenizersStoreTheirVocabularyOnce) {
  std::vector<std::string> words;
  for (int i = 0; i < 5000; ++i) {
    words.push_back("word" + std::to_string(i));
  }
  words.emplace_back("</s>");
  const TokenizerFile plain = TokenizerFile::fromWords(words, {}, "target");
  const TokenizerFile ended = TokenizerFile::fromWords(words, {.after = {"</s>"}}, "source");
  const auto [first, second] = sizesOf(ended, plain);
  EXPECT_GT(first, 100'000U);
  EXPECT_LT(second, 500U);
  // A different vocabulary is written in full.
  words.front() = "another";
  const auto [one, other] = sizesOf(ended, TokenizerFile::fromWords(words, {}, "target"));
  EXPECT_GT(other, one / 2);
}

/// Tokenizers that share a vocabulary in one table work as they do alone.
TEST_F(TokenizerFileTest, TokenizersOfOneVocabularyAreWhole) {
  const std::vector<std::string> words = {"<unk>", "</s>", "a", "b", "c"};
  flatbuffers::FlatBufferBuilder builder;
  const auto source = TokenizerFile::fromWords(words, {.after = {"</s>"}}, "s").pack(builder);
  const auto target = TokenizerFile::fromWords(words, {}, "t").pack(builder);
  ASSERT_TRUE(source.ok() && target.ok());
  const auto both = builder.CreateVector(std::vector{*source, *target});
  builder.Finish(both);
  const auto *table =
      flatbuffers::GetRoot<flatbuffers::Vector<flatbuffers::Offset<manifest::Tokenizer>>>(
          builder.GetBufferPointer());
  const Result<Tokenizer> first = Tokenizer::load(table->Get(0));
  const Result<Tokenizer> second = Tokenizer::load(table->Get(1));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first->encode("b c x"), (Ids{3, 4, 0, 1}));
  EXPECT_EQ(*second->encode("b c x"), (Ids{3, 4, 0}));
}

TEST_F(TokenizerFileTest, NoTokenizer) {
  const Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->source);
  EXPECT_FALSE(found->target);
}

TEST_F(TokenizerFileTest, TokenizerJsonComesFirst) {
  copy("bpe-bytelevel/tokenizer.json", "tokenizer.json");
  copy("sentencepiece-bpe/source.spm", "spiece.model");
  const Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->target);
  EXPECT_EQ(found->source->path(), (folder / "tokenizer.json").string());
  const Packed tokenizer(*found->source, {.maxLength = 4});
  EXPECT_EQ(tokenizer->encode("The cat sits")->size(), 4u);
  EXPECT_EQ(tokenizer->encode("The cat sits", false)->size(), 4u);
  EXPECT_EQ((*tokenizer->encode("The cat sits"))[0], 0);
  EXPECT_NE((*tokenizer->encode("The cat sits", false))[0], 0);
}

TEST_F(TokenizerFileTest, Marian) {
  copy("sentencepiece-unigram/source.spm", "source.spm");
  copy("sentencepiece-bpe/source.spm", "target.spm");
  write("vocab.json", R"({"</s>": 0, "<unk>": 1, "▁the": 2, "▁": 3, "s": 4, ">>fra<<": 5,
                          "<pad>": 6, "▁cat": 7})");
  const Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->source->files(),
            (std::vector{(folder / "source.spm").string(), (folder / "vocab.json").string()}));
  EXPECT_EQ(found->target->path(), (folder / "target.spm").string());
  const Packed source(*found->source);
  const Ids ids = *source->encode(">>fra<< s \u4F60");
  EXPECT_EQ(ids.front(), 5);
  EXPECT_EQ(ids.back(), 0);
  EXPECT_NE(std::find(ids.begin(), ids.end(), 1), ids.end());
  const Packed target(*found->target);
  EXPECT_EQ(*target->decode(Ids{2, 7, 4, 1, 0, 6}), "the cats");
  EXPECT_EQ(*target->decode(Ids{2, 0}, false), "the </s>");
  std::mt19937 random(3);
  for (int round = 0; round < 4000; ++round) {
    const Tokenizer &tokenizer = round % 2 == 0 ? *source.tokenizer : *target.tokenizer;
    const bool skipsSpecial = round % 3 != 0;
    TextStream stream(tokenizer, skipsSpecial);
    Ids some(random() % 12);
    std::string text;
    for (int32_t &id : some) {
      id = static_cast<int32_t>(random() % 8);
      text += *stream.add(id);
    }
    text += *stream.finish();
    EXPECT_EQ(text, *tokenizer.decode(some, skipsSpecial)) << testing::PrintToString(some);
  }
}

TEST_F(TokenizerFileTest, MarianWithTwoVocabularies) {
  copy("sentencepiece-unigram/source.spm", "source.spm");
  copy("sentencepiece-unigram/source.spm", "target.spm");
  write("vocab.json", R"({"</s>": 0, "<unk>": 1})");
  write("target_vocab.json", R"({"</s>": 1, "<unk>": 0, "▁": 2})");
  const Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(Packed(*found->source)->encode("")->back(), 0);
  EXPECT_EQ(Packed(*found->target)->encode("")->back(), 1);
}

TEST_F(TokenizerFileTest, BadMarian) {
  copy("sentencepiece-unigram/source.spm", "source.spm");
  copy("sentencepiece-unigram/source.spm", "target.spm");
  const std::string vocabulary = (folder / "vocab.json").string();
  const std::string model = (folder / "source.spm").string();
  write("vocab.json", "[]");
  EXPECT_EQ(refusal(), vocabulary + ": the vocabulary is a list of 0, expected an object of ids by "
                                    "token");
  write("vocab.json", R"({"</s>": 0})");
  EXPECT_EQ(refusal(), model + ": the vocabulary beside it has no \"<unk>\", which stands for the "
                               "pieces that are not in it");
  write("vocab.json", R"({"<unk>": 0})");
  EXPECT_EQ(refusal(),
            model + ": \"</s>\" is put around every text, but is not a token of the vocabulary");
  write("vocab.json", R"({"</s>": 0, "<unk>": 0})");
  EXPECT_EQ(refusal(), vocabulary + ": \"</s>\" and \"<unk>\" have the same id 0");
  write("vocab.json", R"({"</s>": 0, "<unk>": 1})");
  fs::resize_file(folder / "source.spm", 1000);
  EXPECT_EQ(refusal(), model + ": sentencepiece: the model is cut off or damaged");
}

TEST_F(TokenizerFileTest, T5) {
  copy("sentencepiece-unigram/source.spm", "spiece.model");
  Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->target);
  const Result<MappedFile> file = MappedFile::open((folder / "spiece.model").string());
  const Result<SentencePieceModel> model = SentencePieceModel::load(file->text());
  const Packed tokenizer(*found->source);
  const Ids ids = *tokenizer->encode("the <extra_id_0>");
  ASSERT_GE(ids.size(), 3u);
  EXPECT_EQ(ids.back(), model->endId());
  EXPECT_EQ(ids[ids.size() - 2], model->size() + 99);
  EXPECT_EQ(*tokenizer->decode(ids), "the");
  EXPECT_EQ(*tokenizer->token(model->size()), "<extra_id_99>");
  write("tokenizer_config.json", R"({"extra_ids": 0})");
  found = findTokenizers(folder.string());
  EXPECT_FALSE(Packed(*found->source)->token(model->size()));
  write("tokenizer_config.json", R"({"extra_ids": -1})");
  EXPECT_EQ(refusal(), (folder / "tokenizer_config.json").string() +
                           ": \"extra_ids\" is -1, expected an integer from 0 to 10000");
}

TEST_F(TokenizerFileTest, XlmRoberta) {
  copy("sentencepiece-bpe/source.spm", "sentencepiece.bpe.model");
  const Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  const Result<MappedFile> file = MappedFile::open((folder / "sentencepiece.bpe.model").string());
  const Result<SentencePieceModel> model = SentencePieceModel::load(file->text());
  const Packed tokenizer(*found->source);
  Ids expected = {0};
  ASSERT_TRUE(model->encode("The cat", expected).ok());
  for (size_t i = 1; i < expected.size(); ++i) {
    ++expected[i];
  }
  expected.push_back(2);
  EXPECT_EQ(*tokenizer->encode("The cat"), expected);
  EXPECT_EQ(*tokenizer->decode(expected), "The cat");
  EXPECT_EQ(tokenizer->idOf("<mask>"), model->size() + 1);
}

/// Returns the pieces of the golden tokenizer as a vocab.txt.
static std::string goldenPieces(const char *lineEnd) {
  const Result<nlohmann::json> json = readJsonFile(oracles + "wordpiece/tokenizer.json");
  EXPECT_TRUE(json.ok());
  std::vector<std::string> pieces((*json)["model"]["vocab"].size());
  for (const auto &[piece, id] : (*json)["model"]["vocab"].items()) {
    pieces[id.get<size_t>()] = piece;
  }
  std::string text;
  for (const std::string &piece : pieces) {
    text += piece + lineEnd;
  }
  return text;
}

/// A tokenizer.json with languages, without the template of its class.
constexpr const char *languageTokenizer = R"({
  "added_tokens": [
    {"id": 0, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 3, "content": "deu_Latn", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 4, "content": "eng_Latn", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 5, "content": "fra_Latn", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": false},
    {"id": 6, "content": "<mask>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "pre_tokenizer": {"type": "Whitespace"},
  "post_processor": null,
  "model": {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 9, "vocab": {"</s>": 0, "<unk>": 1, "cat": 2}}})";

TEST_F(TokenizerFileTest, LanguagesStandWhereTheirClassHasThem) {
  write("tokenizer.json", languageTokenizer);
  struct Case {
    const char *config;
    Ids ids;
    bool startsTarget;
  };
  for (const Case &each :
       {Case{R"({"tokenizer_class": "NllbTokenizer"})", {4, 2, 0}, false},
        Case{R"({"tokenizer_class": "NllbTokenizerFast", "src_lang": "deu_Latn"})",
             {3, 2, 0},
             false},
        Case{R"({"tokenizer_class": "NllbTokenizer", "legacy_behaviour": true})", {2, 0, 4}, false},
        Case{
            R"({"tokenizer_class": "MBart50Tokenizer", "src_lang": "eng_Latn"})", {4, 2, 0}, false},
        Case{R"({"tokenizer_class": "MBartTokenizer", "src_lang": "eng_Latn",
                 "eos_token": {"content": "</s>"}})",
             {2, 0, 4},
             true}}) {
    SCOPED_TRACE(each.config);
    write("tokenizer_config.json", each.config);
    const Result<FolderTokenizers> found = findTokenizers(folder.string());
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_TRUE(found->languages);
    EXPECT_EQ(found->languages->tokens,
              (std::map<std::string, int32_t>{{"deu_Latn", 3}, {"eng_Latn", 4}}));
    EXPECT_EQ(found->languages->endsSource, each.ids.back() != 0);
    EXPECT_EQ(found->languages->startsTarget, each.startsTarget);
    EXPECT_EQ(found->languages->target, "");
    EXPECT_EQ(found->source->files().size(), 2u);
    const Packed tokenizer(*found->source);
    EXPECT_EQ(*tokenizer->encode("cat"), each.ids);
    EXPECT_EQ(*tokenizer->decode(each.ids), "cat");
  }
  write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer", "src_lang": "eng_Latn"})");
  EXPECT_FALSE(findTokenizers(folder.string())->languages);
}

TEST_F(TokenizerFileTest, BadLanguages) {
  const std::string config = (folder / "tokenizer_config.json").string();
  const auto message = [&](const char *text) {
    write("tokenizer_config.json", text);
    return refusal();
  };
  write("tokenizer.json", languageTokenizer);
  EXPECT_EQ(message(R"({"tokenizer_class": "NllbTokenizer", "src_lang": "dru_Latn"})"),
            config + ": \"src_lang\" is \"dru_Latn\", expected one of the 2 languages of the "
                     "tokenizer; did you mean \"deu_Latn\"?");
  EXPECT_EQ(message(R"({"tokenizer_class": "NllbTokenizer", "tgt_lang": "x"})"),
            config + ": \"tgt_lang\" is \"x\", expected one of the 2 languages of the tokenizer");
  EXPECT_EQ(message(R"({"tokenizer_class": "MBart50Tokenizer"})"),
            config + ": \"src_lang\" is missing, expected one of the 2 languages of the tokenizer");
  EXPECT_EQ(message(R"({"tokenizer_class": "M2M100Tokenizer"})"),
            config +
                ": \"tokenizer_class\" is \"M2M100Tokenizer\", but no special token is that of "
                "a language, expected some such as \"__en__\"");
  EXPECT_EQ(message(R"({"tokenizer_class": "NllbTokenizer", "eos_token": "<end>"})"),
            (folder / "tokenizer.json").string() +
                ": \"added_tokens\" lacks \"<end>\", the \"eos_token\" of " + config);
  fs::remove(folder / "tokenizer.json");
  copy("sentencepiece-bpe/source.spm", "sentencepiece.bpe.model");
  EXPECT_EQ(message(R"({"tokenizer_class": "NllbTokenizer"})"),
            folder.string() + ": has a NllbTokenizer without tokenizer.json, expected that file");
  EXPECT_EQ(message(R"({"tokenizer_class": "M2M100Tokenizer"})"),
            folder.string() + ": has a M2M100Tokenizer without vocab.json, expected that file");
  write("vocab.json", "[]");
  EXPECT_EQ(refusal(), (folder / "vocab.json").string() +
                           ": is a list of 0, expected an object of ids by token");
}

/// The pieces of the golden model with different ids, followed by languages.
TEST_F(TokenizerFileTest, M2M100HasItsLanguagesAfterItsVocabulary) {
  copy("sentencepiece-bpe/source.spm", "sentencepiece.bpe.model");
  const auto model = MappedFile::open((folder / "sentencepiece.bpe.model").string());
  ASSERT_TRUE(model.ok());
  const auto pieces = readPieces(model->text(), "golden");
  ASSERT_TRUE(pieces.ok());
  nlohmann::json vocabulary;
  const auto last = static_cast<int32_t>(pieces->size()) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    vocabulary[(*pieces)[static_cast<size_t>(i)]] = last - i;
  }
  write("vocab.json", vocabulary.dump());
  write("tokenizer_config.json",
        R"({"tokenizer_class": "M2M100Tokenizer", "src_lang": "de", "tgt_lang": "ast"})");
  write("special_tokens_map.json",
        R"({"additional_special_tokens": ["__ast__", {"content": "__de__"}, "other", "__en__"]})");
  const Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_TRUE(found->languages);
  EXPECT_EQ(found->languages->tokens, (std::map<std::string, int32_t>{
                                          {"ast", last + 1}, {"de", last + 2}, {"en", last + 3}}));
  EXPECT_EQ(found->languages->target, "ast");
  const Packed tokenizer(*found->source);
  std::ifstream golden(oracles + "sentencepiece-bpe/golden.jsonl");
  size_t count = 0;
  for (std::string line; std::getline(golden, line); ++count) {
    const nlohmann::json expected = nlohmann::json::parse(line, nullptr, false);
    Ids ids = expected["ids"].get<Ids>();
    std::transform(ids.begin(), ids.end(), ids.begin(), [&](int32_t id) { return last - id; });
    ids.insert(ids.begin(), last + 2);
    ids.push_back(vocabulary["</s>"].get<int32_t>());
    EXPECT_EQ(*tokenizer->encode(expected["text"].get<std::string>()), ids) << expected["text"];
  }
  EXPECT_GE(count, 20u);
  EXPECT_EQ(tokenizer->encode("a __en__ b")->at(2), last + 3);
}

TEST_F(TokenizerFileTest, WordPiecesOfAnOldFolder) {
  for (const char *const lineEnd : {"\n", "\r\n"}) {
    write("vocab.txt", goldenPieces(lineEnd));
    const Result<FolderTokenizers> found = findTokenizers(folder.string());
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->source->files(), std::vector{(folder / "vocab.txt").string()});
    EXPECT_TRUE(found->source->lowersCase());
    const Packed tokenizer(*found->source);
    std::ifstream golden(oracles + "wordpiece/golden.jsonl");
    size_t count = 0;
    for (std::string line; std::getline(golden, line); ++count) {
      const nlohmann::json expected = nlohmann::json::parse(line, nullptr, false);
      const Ids ids = *tokenizer->encode(expected["text"].get<std::string>());
      EXPECT_EQ(ids, expected["ids"].get<Ids>());
      EXPECT_EQ(*tokenizer->decode(ids), expected["decoded"].get<std::string>());
    }
    EXPECT_EQ(count, 55u);
  }
}

TEST_F(TokenizerFileTest, WordPiecesAreConfigured) {
  write("vocab.txt", "<pad>\n<unk>\n<cls>\n<sep>\n<mask>\nCat\n\u4f60\n\u4f60\u597d\n\u00e9\ne");
  write("tokenizer_config.json", R"({"do_lower_case": false, "tokenize_chinese_chars": false,
      "strip_accents": false, "pad_token": "<pad>", "unk_token": {"content": "<unk>"},
      "cls_token": "<cls>", "sep_token": "<sep>", "mask_token": "<mask>"})");
  Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->source->lowersCase());
  EXPECT_EQ(found->source->files().size(), 2u);
  EXPECT_EQ(*Packed(*found->source)->encode("Cat cat \u4f60\u597d \u00e9 <mask>"),
            (Ids{2, 5, 1, 7, 8, 4, 3}));
  write("tokenizer_config.json", R"({"tokenize_chinese_chars": true, "strip_accents": true,
      "do_lower_case": false, "pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<cls>",
      "sep_token": "<sep>", "mask_token": "<mask>"})");
  found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*Packed(*found->source)->encode("\u4f60\u597d \u00e9"), (Ids{2, 6, 1, 9, 3}));
}

TEST_F(TokenizerFileTest, BadWordPieces) {
  const std::string pieces = (folder / "vocab.txt").string();
  const std::string config = (folder / "tokenizer_config.json").string();
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[MASK]\n");
  EXPECT_EQ(refusal(), pieces + ": has no piece \"[SEP]\", which is its \"sep_token\"");
  write("vocab.txt", "[PAD]\n\xff\n");
  EXPECT_EQ(refusal(), pieces + ": line 2, byte 1 is 0xff, expected UTF-8");
  // Neither padding nor mask tokens are required.
  write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  EXPECT_EQ(refusal(), "");
  write("tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_EQ(refusal(), config +
                           ": \"tokenizer_class\" is \"BertJapaneseTokenizer\", expected one of "
                           "BertTokenizer, BertTokenizerFast, DistilBertTokenizer, "
                           "DistilBertTokenizerFast");
  write("tokenizer_config.json", R"({"word_tokenizer_type": "mecab"})");
  EXPECT_EQ(refusal(), config + ": \"word_tokenizer_type\" is \"mecab\", expected one of basic");
  write("tokenizer_config.json", R"({"subword_tokenizer_type": "character"})");
  EXPECT_EQ(refusal(),
            config + ": \"subword_tokenizer_type\" is \"character\", expected one of wordpiece");
  write("tokenizer_config.json", R"({"never_split": ["w1"]})");
  EXPECT_EQ(refusal(), config + ": \"never_split\" is a list of 1, expected none, or a "
                                "tokenizer.json in the folder");
  write("tokenizer_config.json", R"({"do_basic_tokenize": false})");
  EXPECT_EQ(refusal(), config + ": \"do_basic_tokenize\" is false, expected true, or a "
                                "tokenizer.json in the folder");
  write("tokenizer_config.json", R"({"strip_accents": 3})");
  EXPECT_EQ(refusal(), config + ": \"strip_accents\" is 3, expected true or false");
}

TEST_F(TokenizerFileTest, WordLists) {
  write("source_vocabulary.txt", "<blank>\n<s>\n</s>\nب\nد\n");
  write("target_vocabulary.txt", "<blank>\n<s>\n</s>\nb\nd\n");
  Result<FolderTokenizers> found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*Packed(*found->source)->encode("ب x د"), (Ids{3, 5, 4}));
  EXPECT_EQ(*Packed(*found->target)->decode(Ids{1, 3, 4, 5, 2}), "b d <unk>");
  fs::remove(folder / "source_vocabulary.txt");
  fs::remove(folder / "target_vocabulary.txt");
  write("shared_vocabulary.json", R"(["<unk>", "<s>", "</s>", "a"])");
  found = findTokenizers(folder.string());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->target);
  EXPECT_EQ(*Packed(*found->source)->encode("a b"), (Ids{3, 0}));
}

TEST_F(TokenizerFileTest, WordsInMemory) {
  const TokenizerFile file = TokenizerFile::fromWords(
      {"<s>", "</s>", "a", "a"}, {.unknown = "?", .before = {"<s>"}, .after = {"</s>"}}, "list");
  const Packed tokenizer(file);
  EXPECT_EQ(*tokenizer->encode("a b"), (Ids{0, 2, 4, 1}));
  EXPECT_EQ(*tokenizer->encode("a b", false), (Ids{2, 4}));
  EXPECT_EQ(*tokenizer->decode(Ids{0, 3, 4, 1}), "a ?");
  EXPECT_EQ(
      TokenizerFile::fromWords({"a"}, {.before = {"<s>"}}, "list").packAlone().status().message(),
      "list: \"<s>\" is put around every text, but is not a token of the vocabulary");
  EXPECT_EQ(
      file.packAlone({.maxLength = 1}).status().message(),
      "list: the longest text has 1 ids, expected 2 to 2147483647, the 2 of the template included");
}

TEST_F(TokenizerFileTest, SameInputSameBytes) {
  copy("sentencepiece-bpe/source.spm", "a.spm");
  const Result<TokenizerFile> file = TokenizerFile::open((folder / "a.spm").string());
  EXPECT_EQ(*file->packAlone(), *file->packAlone());
  copy("unigram-metaspace/tokenizer.json", "tokenizer.json");
  const Result<TokenizerFile> json = TokenizerFile::open((folder / "tokenizer.json").string());
  EXPECT_EQ(*json->packAlone(), *json->packAlone());
}

TEST_F(TokenizerFileTest, MissingFiles) {
  EXPECT_EQ(TokenizerFile::open("absent.spm").status().code(), StatusCode::NotFound);
  EXPECT_EQ(TokenizerFile::open("absent.json").status().code(), StatusCode::NotFound);
}

} // namespace
} // namespace heddle
