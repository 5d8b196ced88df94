// SPDX-License-Identifier: Apache-2.0
///
/// BPE and Unigram models: damaged files, each with its message, and settings with the same effect
/// as in the Hugging Face tokenizers library.
#include "formats/Config/Json.h"
#include "formats/Tokenizer/DoubleArray.h"
#include "formats/Tokenizer/DoubleArrayBuilder.h"
#include "tests/formats/Tokenizer/ImportedTokenizer.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

Json bpe() {
  return *parseJson(R"({"model": {"type": "BPE", "unk_token": "<unk>",
    "vocab": {"<unk>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "abc": 5, "bc": 6, "<0xC3>": 7,
              "<0xA9>": 8},
    "merges": ["a b", ["b", "c"], "ab c"]}})",
                    "small");
}

Json unigram() {
  return *parseJson(R"({"model": {"type": "Unigram", "unk_id": 0,
    "vocab": [["<unk>", 0], ["a", -1], ["b", -1.5], ["ab", -2], ["abc", -9], ["c", -3]]}})",
                    "small");
}

std::string messageAfter(Json json, const char *pointer, const char *value) {
  json[Json::json_pointer(pointer)] = *parseJson(value, "value");
  ImportedTokenizer imported;
  const Status status = imported.import(json);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::InvalidArgument);
  return std::string(status.message());
}

Ids idsAfter(Json json, const char *pointer, const char *value, const char *text) {
  json[Json::json_pointer(pointer)] = *parseJson(value, "value");
  ImportedTokenizer imported;
  const Status status = imported.import(json);
  EXPECT_TRUE(status.ok()) << status.message();
  return *imported.tokenizer->encode(text);
}

TEST(BpeImportTest, BadMerges) {
  const auto message = [](const char *merges) {
    return messageAfter(bpe(), "/model/merges", merges);
  };
  EXPECT_EQ(message("7"), "tokenizer.json: \"model\": \"merges\" is 7, expected a list of at most "
                          "4194304");
  EXPECT_EQ(message(R"(["a b", "ab"])"), "tokenizer.json: \"model\": item 2 of \"merges\" is "
                                         "\"ab\", expected two tokens");
  EXPECT_EQ(message(R"(["a b c"])"), "tokenizer.json: \"model\": item 1 of \"merges\" is "
                                     "\"a b c\", expected two tokens");
  EXPECT_EQ(message(R"([["a"]])"), "tokenizer.json: \"model\": item 1 of \"merges\" is a list of "
                                   "1, expected two tokens");
  EXPECT_EQ(message(R"(["a x"])"), "tokenizer.json: \"model\": item 1 of \"merges\" needs \"x\", "
                                   "which is not a token of the vocabulary");
  EXPECT_EQ(message(R"(["c a"])"), "tokenizer.json: \"model\": item 1 of \"merges\" needs \"ca\", "
                                   "which is not a token of the vocabulary");
}

TEST(BpeImportTest, BadSettings) {
  EXPECT_EQ(messageAfter(bpe(), "/model/dropout", "0.5"),
            "tokenizer.json: \"model\": \"dropout\" is 0.5, expected none: ids would be random");
  EXPECT_EQ(messageAfter(bpe(), "/model/unk_token", "\"?\""),
            "tokenizer.json: \"model\": \"unk_token\" is \"?\", expected a token of the "
            "vocabulary");
  EXPECT_EQ(messageAfter(bpe(), "/model/fuse_unk", "1"),
            "tokenizer.json: \"model\": \"fuse_unk\" is 1, expected true or false");
  EXPECT_EQ(messageAfter(bpe(), "/model/dropout", "0"), "");
}

TEST(BpeImportTest, Merges) {
  EXPECT_EQ(idsAfter(bpe(), "/model/dropout", "null", "abcab"), (Ids{5, 4}));
  // The merge with the lower rank is applied first, regardless of the position.
  EXPECT_EQ(idsAfter(bpe(), "/model/merges", R"(["b c", "a b", "ab c"])", "abc"), (Ids{1, 6}));
  // If a pair has two merges, the last one counts.
  EXPECT_EQ(idsAfter(bpe(), "/model/merges", R"(["a b", "b c", "a b"])", "abc"), (Ids{1, 6}));
  // A word that is a token, but that no sequence of merges produces.
  EXPECT_EQ(idsAfter(bpe(), "/model/merges", R"(["a b"])", "abc"), (Ids{4, 3}));
  EXPECT_EQ(idsAfter(bpe(), "/model/ignore_merges", "true", "bc"), (Ids{6}));
  EXPECT_EQ(idsAfter(bpe(), "/model/merges", "[]", "bc"), (Ids{2, 3}));
  Json ignores = bpe();
  ignores["model"]["ignore_merges"] = true;
  EXPECT_EQ(idsAfter(ignores, "/model/merges", "[]", "bc"), (Ids{6}));
}

TEST(BpeImportTest, UnknownCharacters) {
  EXPECT_EQ(idsAfter(bpe(), "/model/unk_token", "null", "axb"), (Ids{4}));
  EXPECT_EQ(idsAfter(bpe(), "/model/fuse_unk", "false", "xya"), (Ids{0, 0, 1}));
  EXPECT_EQ(idsAfter(bpe(), "/model/fuse_unk", "true", "xya"), (Ids{0, 1}));
  EXPECT_EQ(idsAfter(bpe(), "/model/byte_fallback", "true", "éx"), (Ids{7, 8, 0}));
  // Some of the bytes have no token.
  EXPECT_EQ(idsAfter(bpe(), "/model/byte_fallback", "true", "è"), (Ids{0}));
}

TEST(BpeImportTest, PrefixAndSuffix) {
  Json json = bpe();
  json["model"]["vocab"] = {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"##b", 3}, {"ab", 4}};
  json["model"]["merges"] = {"a ##b"};
  EXPECT_EQ(idsAfter(json, "/model/continuing_subword_prefix", "\"##\"", "abb"), (Ids{4, 3}));
  json["model"]["vocab"] = {{"<unk>", 0}, {"a", 1}, {"a</w>", 2}, {"aa</w>", 3}};
  json["model"]["merges"] = {"a a</w>"};
  EXPECT_EQ(idsAfter(json, "/model/end_of_word_suffix", "\"</w>\"", "aaa"), (Ids{1, 3}));
  EXPECT_EQ(idsAfter(json, "/model/end_of_word_suffix", "\"</w>\"", "a"), (Ids{2}));
}

TEST(BpeImportTest, OlderFilesDoNotSayTheKind) {
  Json json = bpe();
  json["model"].erase("type");
  EXPECT_EQ(idsAfter(json, "/model/unk_token", "\"\"", "ab"), (Ids{4}));
  Json scores = unigram();
  scores["model"].erase("type");
  EXPECT_EQ(idsAfter(scores, "/model/unk_id", "0", "ab"), (Ids{3}));
}

TEST(BpeImportTest, LongWordsTakeNoSquareTime) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) {
    text += "abc"[i % 3];
  }
  EXPECT_EQ(idsAfter(bpe(), "/model/dropout", "null", text.c_str()).size(), 100'000u);
}

TEST(UnigramImportTest, BadModels) {
  const auto message = [](const char *pointer, const char *value) {
    return messageAfter(unigram(), pointer, value);
  };
  EXPECT_EQ(message("/model/vocab", "{}"), "tokenizer.json: \"model\": \"vocab\" is an object of "
                                           "0, expected a list of tokens with scores");
  EXPECT_EQ(message("/model/vocab", "[]"), "tokenizer.json: \"model\": the vocabulary has 0 "
                                           "tokens, expected 1 to 1048576");
  EXPECT_EQ(message("/model/vocab/1", R"(["a"])"),
            "tokenizer.json: \"model\": item 2 of \"vocab\" "
            "is a list of 1, expected a token and its score");
  EXPECT_EQ(message("/model/vocab/1", R"(["b", 0])"),
            "tokenizer.json: \"model\": the tokens with ids 1 and 2 are both \"b\"");
  EXPECT_EQ(message("/model/unk_id", "6"),
            "tokenizer.json: \"model\": \"unk_id\" is 6, expected an integer from 0 to 5");
  EXPECT_EQ(message("/model/unk_id", "null"),
            "tokenizer.json: \"model\": \"unk_id\" is null, expected an integer from 0 to 5");
}

TEST(UnigramImportTest, BestSegmentation) {
  EXPECT_EQ(idsAfter(unigram(), "/model/byte_fallback", "false", "abcb"), (Ids{3, 5, 2}));
  EXPECT_EQ(idsAfter(unigram(), "/model/vocab/4", R"(["abc", -4])", "abcb"), (Ids{4, 2}));
  // Adjacent unknown characters are merged.
  EXPECT_EQ(idsAfter(unigram(), "/model/unk_id", "0", "axyb"), (Ids{1, 0, 2}));
  Json bytes = unigram();
  bytes["model"]["vocab"].push_back({"<0xC3>", -20});
  bytes["model"]["vocab"].push_back({"<0xA9>", -20});
  EXPECT_EQ(idsAfter(bytes, "/model/byte_fallback", "true", "aéx"), (Ids{1, 0}));
  EXPECT_EQ(idsAfter(bytes, "/model/byte_fallback", "true", "aéb"), (Ids{1, 6, 7, 2}));
}

TEST(UnigramImportTest, TokensThatAreNotUtf8) {
  Json json = unigram();
  json["model"]["vocab"][1][0] = "\xFF";
  ImportedTokenizer imported;
  EXPECT_EQ(imported.import(json).message(),
            "tokenizer.json: \"model\": the token with id 1 is \"\\xff\", which is not UTF-8");
}

/// Returns the value of a key, if the trie has it.
std::optional<uint32_t> lookUp(const DoubleArray &trie, std::string_view key) {
  DoubleArray::Place place = trie.root();
  for (const char byte : key) {
    if (!trie.step(place, static_cast<unsigned char>(byte))) {
      return std::nullopt;
    }
  }
  return place.endsKey ? std::optional(trie.value(place)) : std::nullopt;
}

TEST(DoubleArrayBuilderTest, FindsEveryKeyAndNothingElse) {
  std::vector<std::string> texts;
  uint64_t random = 7;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    do {
      random = random * 6364136223846793005U + 1442695040888963407U;
      text.push_back(static_cast<char>(1 + (random >> 33) % (i % 2 == 0 ? 3 : 255)));
    } while (random >> 62 != 0);
    texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::vector<DoubleArrayKey> keys;
  for (size_t i = 0; i < texts.size(); i += 2) {
    keys.push_back({texts[i], static_cast<uint32_t>(i)});
  }
  keys.push_back({"", 1});
  const std::vector<uint32_t> units = buildDoubleArray(keys);
  const DoubleArray trie({reinterpret_cast<const char *>(units.data()), units.size() * 4});
  EXPECT_TRUE(trie.isSafe(static_cast<uint32_t>(texts.size())));
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(lookUp(trie, texts[i]), i % 2 == 0 ? std::optional<uint32_t>(i) : std::nullopt);
    EXPECT_EQ(lookUp(trie, texts[i] + '\0'), std::nullopt);
  }
  EXPECT_EQ(lookUp(trie, std::string_view("\0", 1)), std::nullopt);
}

TEST(DoubleArrayBuilderTest, NoKeys) {
  const std::vector<uint32_t> units = buildDoubleArray({{"", 0}});
  const DoubleArray trie({reinterpret_cast<const char *>(units.data()), units.size() * 4});
  EXPECT_TRUE(trie.isSafe(0));
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(lookUp(trie, std::string(1, static_cast<char>(byte))), std::nullopt) << byte;
  }
}

} // namespace
} // namespace heddle
