// SPDX-License-Identifier: Apache-2.0
///
/// tokenizer.json files that are rejected, each with its message, and the settings that are
/// imported.
#include "formats/Config/Json.h"
#include "formats/Tokenizer/VocabularyTable.h"
#include "tests/formats/Tokenizer/ImportedTokenizer.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

Json smallTokenizer() {
  return *parseJson(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 9, "content": "<new>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": true, "special": false}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
      "pair": [],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                         "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "cat": 3, "##s": 4, "é": 6}}})",
                    "small");
}

/// A change to the file, by JSON pointer; the value "remove" removes the key.
struct Change {
  const char *pointer;
  const char *value;
  const char *message;
};

std::string messageAfter(const Change &change) {
  Json json = smallTokenizer();
  const Json::json_pointer pointer(change.pointer);
  if (std::string_view(change.value) == "remove") {
    json.at(pointer.parent_pointer()).erase(pointer.back());
  } else {
    json[pointer] = Json::parse(change.value, nullptr, false);
  }
  ImportedTokenizer imported;
  const Status status = imported.import(json);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::InvalidArgument);
  return std::string(status.message());
}

const Change modelChanges[] = {
    {"/model", "remove", ": \"model\" is missing, expected an object"},
    {"/model", "[]", ": \"model\" is a list of 0, expected an object"},
    {"/model/type", "\"WordLevel\"",
     ": \"model\": \"type\" is \"WordLevel\", expected one of WordPiece, BPE, Unigram"},
    {"/model/vocab", "remove",
     ": \"model\": \"vocab\" is missing, expected an object of ids by token"},
    {"/model/vocab", "[1]",
     ": \"model\": \"vocab\" is a list of 1, expected an object of ids by token"},
    {"/model/vocab", "{}", ": \"model\": \"vocab\" has 0 tokens, expected 1 to 1048576"},
    {"/model/vocab/cat", "-1",
     ": \"model\": the id of \"cat\" is -1, expected an integer from 0 to 2147483647"},
    {"/model/vocab/cat", "4294967296",
     ": \"model\": the id of \"cat\" is 4294967296, expected an integer from 0 to 2147483647"},
    {"/model/vocab/cat", "18446744073709551615",
     ": \"model\": the id of \"cat\" is 18446744073709551615, expected an integer from 0 to "
     "2147483647"},
    {"/model/vocab/cat", "3.5",
     ": \"model\": the id of \"cat\" is 3.5, expected an integer from 0 to 2147483647"},
    {"/model/vocab/cat", "\"3\"",
     ": \"model\": the id of \"cat\" is \"3\", expected an integer from 0 to 2147483647"},
    {"/model/vocab/dog", "3", ": \"model\": \"cat\" and \"dog\" have the same id 3"},
    {"/model/unk_token", "remove", ": \"model\": \"unk_token\" is missing, expected a string"},
    {"/model/unk_token", "\"<unk>\"",
     ": \"model\": \"unk_token\" is \"<unk>\", expected a token of the vocabulary"},
    {"/model/continuing_subword_prefix", "7",
     ": \"model\": \"continuing_subword_prefix\" is 7, expected a string"},
    {"/model/max_input_chars_per_word", "0",
     ": \"model\": \"max_input_chars_per_word\" is 0, expected an integer from 1 to 10000"},
    {"/model/max_input_chars_per_word", "100000000",
     ": \"model\": \"max_input_chars_per_word\" is 100000000, expected an integer from 1 to "
     "10000"},
};

const Change addedTokenChanges[] = {
    {"/added_tokens", "7", ": \"added_tokens\" is 7, expected a list of at most 1048576"},
    {"/added_tokens/0", "7", ": item 1 of \"added_tokens\": is 7, expected an object"},
    {"/added_tokens/0/content", "remove",
     ": item 1 of \"added_tokens\": \"content\" is missing, expected a string"},
    {"/added_tokens/0/id", "-1",
     ": item 1 of \"added_tokens\": \"id\" is -1, expected an integer from 0 to 2147483647"},
    {"/added_tokens/0/id", "99999999999",
     ": item 1 of \"added_tokens\": \"id\" is 99999999999, expected an integer from 0 to "
     "2147483647"},
    {"/added_tokens/0/special", "1",
     ": item 1 of \"added_tokens\": \"special\" is 1, expected true or false"},
    {"/added_tokens/0/id", "8",
     ": item 1 of \"added_tokens\": \"[CLS]\" has id 8, expected 1 as in the vocabulary"},
    {"/added_tokens/1/id", "3",
     ": item 2 of \"added_tokens\": \"<new>\" has id 3, which the vocabulary gives to \"cat\""},
    {"/added_tokens/0",
     R"({"id": 9, "content": "<old>", "single_word": false, "lstrip": false, "rstrip": false,
         "normalized": true, "special": false})",
     ": item 2 of \"added_tokens\": \"<old>\" and \"<new>\" have the same id 9"},
    {"/added_tokens/0",
     R"({"id": 8, "content": "<new>", "single_word": false, "lstrip": false, "rstrip": false,
         "normalized": true, "special": false})",
     ": item 2 of \"added_tokens\": \"<new>\" appears twice"},
};

const Change partChanges[] = {
    {"/normalizer", "[]", ": \"normalizer\": is a list of 0, expected an object"},
    {"/normalizer/clean_text", "remove",
     ": \"normalizer\": \"clean_text\" is missing, expected true or false"},
    {"/normalizer/strip_accents", "1",
     ": \"normalizer\": \"strip_accents\" is 1, expected true or false"},
    {"/pre_tokenizer/type", "\"UnicodeScripts\"",
     ": \"pre_tokenizer\": \"type\" is \"UnicodeScripts\", expected one of BertPreTokenizer, "
     "ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Split, Whitespace, "
     "WhitespaceSplit, Sequence"},
    {"/decoder/type", "\"CTC\"",
     ": \"decoder\": \"type\" is \"CTC\", expected one of WordPiece, ByteLevel, Metaspace, "
     "Replace, "
     "ByteFallback, Fuse, Strip, BPEDecoder, Sequence"},
    {"/decoder/prefix", "remove", ": \"decoder\": \"prefix\" is missing, expected a string"},
    {"/truncation", "{}",
     ": \"truncation\": \"max_length\" is missing, expected an integer from 1 to 2147483647"},
    {"/truncation", R"({"max_length": 9, "direction": "Up"})",
     ": \"truncation\": \"direction\" is \"Up\", expected one of Left, Right"},
    {"/truncation", R"({"max_length": 1})",
     ": the longest text has 1 ids, expected 2 to 2147483647, the 2 of the template included"},
    {"/post_processor/type", "\"Other\"",
     ": \"post_processor\": \"type\" is \"Other\", expected one of BertProcessing, "
     "RobertaProcessing, TemplateProcessing, ByteLevel, Sequence"},
    {"/post_processor/type", "\"Sequence\"",
     ": \"post_processor\": \"processors\" is missing, expected a list"},
    {"/post_processor",
     R"({"type": "Sequence", "processors": [
         {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
         {"type": "RobertaProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}]})",
     ": \"post_processor\": two of \"processors\" add tokens, expected at most one"},
};

const Change templateChanges[] = {
    {"/post_processor/single", "remove", ": \"single\" is missing, expected a list"},
    {"/post_processor/single", "{}", ": \"single\" is an object of 0, expected a list"},
    {"/post_processor/special_tokens", "remove",
     ": \"special_tokens\" is missing, expected an object"},
    {"/post_processor/single/0", "\"[CLS]\"",
     ": item 1 of \"single\" is \"[CLS]\", expected a SpecialToken or a Sequence"},
    {"/post_processor/single/0", R"({"Other": {}})",
     ": item 1 of \"single\" is an object of 1, expected a SpecialToken or a Sequence"},
    {"/post_processor/single/0", R"({"SpecialToken": 7})",
     ": item 1 of \"single\": \"SpecialToken\" is 7, expected an object"},
    {"/post_processor/single/0/SpecialToken/id", "7",
     ": item 1 of \"single\": \"SpecialToken\": \"id\" is 7, expected a string"},
    {"/post_processor/single/0/SpecialToken/type_id", "-1",
     ": item 1 of \"single\": \"SpecialToken\": \"type_id\" is -1, expected an integer from 0 to "
     "2147483647"},
    {"/post_processor/single/1/Sequence/id", "\"B\"",
     ": item 2 of \"single\": \"Sequence\": \"id\" is \"B\", expected one of A"},
    {"/post_processor/single/1", R"({"SpecialToken": {"id": "[CLS]", "type_id": 0}})",
     ": the template contains the text 0 times, expected once"},
    {"/post_processor/single/0", R"({"Sequence": {"id": "A", "type_id": 0}})",
     ": the template contains the text 2 times, expected once"},
    {"/post_processor/single/0/SpecialToken/id", "\"<s>\"",
     ": the template names \"<s>\", which is not in \"special_tokens\""},
    {"/post_processor/special_tokens/[CLS]", "7",
     ": \"[CLS]\" in \"special_tokens\" is 7, expected an object with a list \"ids\""},
    {"/post_processor/special_tokens/[CLS]/ids", "[]",
     ": \"[CLS]\" in \"special_tokens\" is an object of 3, expected an object with a list "
     "\"ids\""},
    {"/post_processor/special_tokens/[CLS]/ids/0", "77",
     ": the id of \"[CLS]\" is 77, expected the id of a token"},
    {"/post_processor/special_tokens/[CLS]/ids/0", "-1",
     ": the id of \"[CLS]\" is -1, expected the id of a token"},
    {"/post_processor/special_tokens/[CLS]/ids/0", "18446744073709551615",
     ": the id of \"[CLS]\" is 18446744073709551615, expected the id of a token"},
    {"/post_processor/pair", "7", ": \"pair\" is 7, expected a list"},
    {"/post_processor/pair", R"([7])",
     ": item 1 of \"pair\" is 7, expected a SpecialToken or a Sequence"},
    {"/post_processor/pair", R"([{"Sequence": {"id": "C"}}])",
     ": item 1 of \"pair\": \"Sequence\": \"id\" is \"C\", expected one of A, B"},
    {"/post_processor/pair", R"([{"Sequence": {"id": "B"}}])",
     ": the template of pairs contains A 0 times, expected once"},
    {"/post_processor/pair", R"([{"Sequence": {"id": "A"}}])",
     ": the template of pairs contains B 0 times, expected once"},
    {"/post_processor", R"({"type": "BertProcessing", "sep": ["[SEP]", 2]})",
     ": \"cls\" is missing, expected a list of a token and its id"},
    {"/post_processor", R"({"type": "BertProcessing", "cls": ["[CLS]"], "sep": ["[SEP]", 2]})",
     ": \"cls\" is a list of 1, expected a list of a token and its id"},
    {"/post_processor", R"({"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", "2"]})",
     ": the id of \"sep\" is \"2\", expected the id of a token"},
};

TEST(TokenizerImportTest, BadModels) {
  for (const Change &change : modelChanges) {
    EXPECT_EQ(messageAfter(change), std::string("tokenizer.json") + change.message);
  }
}

TEST(TokenizerImportTest, BadAddedTokens) {
  for (const Change &change : addedTokenChanges) {
    EXPECT_EQ(messageAfter(change), std::string("tokenizer.json") + change.message);
  }
}

TEST(TokenizerImportTest, BadParts) {
  for (const Change &change : partChanges) {
    EXPECT_EQ(messageAfter(change), std::string("tokenizer.json") + change.message);
  }
}

TEST(TokenizerImportTest, BadTemplates) {
  for (const Change &change : templateChanges) {
    EXPECT_EQ(messageAfter(change),
              std::string("tokenizer.json: \"post_processor\"") + change.message);
  }
}

TEST(TokenizerImportTest, PairsOfBert) {
  Json json = smallTokenizer();
  json["post_processor"] = {{"type", "BertProcessing"},
                            {"cls", Json::array({"[CLS]", 1})},
                            {"sep", Json::array({"[SEP]", 2})}};
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  const Result<Tokenizer::Pair> pair = imported.tokenizer->encodePair("cat", "cats");
  ASSERT_TRUE(pair.ok()) << pair.status().message();
  EXPECT_EQ(pair->ids, (std::vector<int32_t>{1, 3, 2, 3, 4, 2}));
  EXPECT_EQ(pair->typeIds, (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(imported.tokenizer->encodePair("cat", "a\xff").status().message(),
            "second text: byte 2 is 0xff, expected UTF-8");
  EXPECT_EQ(imported.tokenizer->encodePair("cat", "cat", 2).status().message(),
            "at most 2 ids for a text, expected at least the 3 of the template");
  json["post_processor"] = nullptr;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_FALSE(imported.tokenizer->hasPairs());
  EXPECT_EQ(imported.tokenizer->encodePair("cat", "cat").status().message(),
            "the tokenizer has no template for pairs of texts, expected one");
}

TEST(TokenizerImportTest, NotAnObject) {
  ImportedTokenizer imported;
  EXPECT_EQ(imported.import(Json::array()).message(),
            "tokenizer.json: is a list of 0, expected an object");
}

TEST(TokenizerImportTest, TooManyTokens) {
  Json json = smallTokenizer();
  Json vocab = Json::object();
  for (size_t i = 0; i <= vocabularyLimit; ++i) {
    vocab[std::to_string(i)] = i;
  }
  json["model"]["vocab"] = std::move(vocab);
  ImportedTokenizer imported;
  EXPECT_EQ(imported.import(json).message(),
            "tokenizer.json: \"model\": \"vocab\" has 1048577 tokens, expected 1 to 1048576");
}

TEST(TokenizerImportTest, Encodes) {
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(smallTokenizer()).ok());
  EXPECT_EQ(*imported.tokenizer->encode("Cats<NEW>É"), (Ids{1, 3, 4, 9, 0, 2}));
  EXPECT_EQ(imported.tokenizer->typeIds(3), (Ids{0, 0, 1}));
  EXPECT_EQ(*imported.tokenizer->decode(Ids{1, 3, 4, 9, 6}), "cats <new> é");
}

TEST(TokenizerImportTest, SettingsAreTakenOver) {
  Json json = smallTokenizer();
  json["normalizer"]["strip_accents"] = false;
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("É"), (Ids{1, 6, 2}));
  // Null means the value of "lowercase".
  json["normalizer"]["strip_accents"] = nullptr;
  json["normalizer"]["lowercase"] = false;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("é É"), (Ids{1, 6, 0, 2}));
  json["model"]["max_input_chars_per_word"] = 3;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("cat cats"), (Ids{1, 3, 0, 2}));
}

TEST(TokenizerImportTest, PartsMayBeAbsent) {
  Json json = smallTokenizer();
  for (const char *key :
       {"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation"}) {
    json.erase(key);
  }
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("cats"), (Ids{3, 4}));
  EXPECT_EQ(*imported.tokenizer->encode("Cats"), (Ids{0}));
  EXPECT_EQ(*imported.tokenizer->decode(Ids{3, 4}), "cat ##s");
}

TEST(TokenizerImportTest, BertProcessing) {
  Json json = smallTokenizer();
  json["post_processor"] = {
      {"type", "BertProcessing"}, {"cls", {"[CLS]", 1}}, {"sep", {"[SEP]", 2}}};
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("cat"), (Ids{1, 3, 2}));
}

TEST(TokenizerImportTest, SequenceOfProcessors) {
  Json json = smallTokenizer();
  json["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       {{{"type", "ByteLevel"}},
        {{"type", "RobertaProcessing"}, {"cls", {"[CLS]", 1}}, {"sep", {"[SEP]", 2}}}}}};
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("cat"), (Ids{1, 3, 2}));
}

TEST(TokenizerImportTest, SpecialTokenOfSeveralIds) {
  Json json = smallTokenizer();
  json["post_processor"]["special_tokens"]["[CLS]"]["ids"] = {1, 9};
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("cat"), (Ids{1, 9, 3, 2}));
}

TEST(TokenizerImportTest, EmptyTokens) {
  // An empty token of the vocabulary is never found; an added one is skipped.
  Json json = smallTokenizer();
  json["model"]["vocab"][""] = 5;
  json["added_tokens"][1]["content"] = "";
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(*imported.tokenizer->encode("cat s"), (Ids{1, 3, 0, 2}));
  EXPECT_EQ(*imported.tokenizer->decode(Ids{3, 5, 3}), "cat  cat");
  EXPECT_FALSE(imported.tokenizer->token(9));
}

TEST(TokenizerImportTest, MaxLength) {
  Json json = smallTokenizer();
  ImportedTokenizer imported;
  ASSERT_TRUE(imported.import(json).ok());
  EXPECT_EQ(imported.tokenizer->maxLength(), 0u);
  ASSERT_TRUE(imported.import(json, std::nullopt, 512).ok());
  EXPECT_EQ(imported.tokenizer->maxLength(), 512u);
  json["truncation"] = {{"max_length", 128}, {"direction", "Left"}};
  ASSERT_TRUE(imported.import(json, std::nullopt, 512).ok());
  EXPECT_EQ(imported.tokenizer->maxLength(), 128u);
  ASSERT_TRUE(imported.import(json, std::nullopt, 64).ok());
  EXPECT_EQ(imported.tokenizer->maxLength(), 64u);
  ASSERT_TRUE(imported.import(json, 3, 512).ok());
  EXPECT_EQ(imported.tokenizer->maxLength(), 3u);
  EXPECT_EQ(*imported.tokenizer->encode("cats"), (Ids{1, 4, 2}));
  for (const int64_t bad : {int64_t(-1), int64_t(1), int64_t(1) << 40}) {
    EXPECT_EQ(imported.import(json, bad).message(),
              "tokenizer.json: the longest text has " + std::to_string(bad) +
                  " ids, expected 2 to 2147483647, the 2 of the template included");
  }
}

TEST(TokenizerImportTest, SameInputSameBytes) {
  ImportedTokenizer first;
  ImportedTokenizer second;
  ASSERT_TRUE(first.import(smallTokenizer()).ok());
  ASSERT_TRUE(second.import(smallTokenizer()).ok());
  const auto bytes = [](const ImportedTokenizer &imported) {
    return std::string(reinterpret_cast<const char *>(imported.builder.GetBufferPointer()),
                       imported.builder.GetSize());
  };
  EXPECT_EQ(bytes(first), bytes(second));
}

} // namespace
} // namespace heddle
