// SPDX-License-Identifier: Apache-2.0
///
/// Normalizers, pre-tokenizers and decoders of a tokenizer.json: those that are rejected, each with
/// its message, and the effect of the others.
#include "formats/Config/Json.h"
#include "formats/Tokenizer/TokenizerImport.h"
#include "tests/formats/Tokenizer/ImportedTokenizer.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

/// Returns a tokenizer with one token per character, so that ids show the output of a normalizer.
Json characterTokenizer() {
  return *parseJson(R"({
    "model": {"type": "BPE", "unk_token": "?", "merges": [],
              "vocab": {"?": 0, "a": 1, "b": 2, "x": 3, "y": 4, " ": 5, "▁": 6, "é": 7, "e": 8,
                        "\u0301": 9, "Ġ": 10}}})",
                    "small");
}

/// Returns the output of a normalizer or pre-tokenizer: its tokens, joined.
std::string tokensOf(const char *key, const char *part, const char *text) {
  Json json = characterTokenizer();
  json[key] = *parseJson(part, "part");
  ImportedTokenizer imported;
  const Status status = imported.import(json);
  EXPECT_TRUE(status.ok()) << status.message();
  const Result<Ids> ids = imported.tokenizer->encode(text);
  const Result<std::vector<std::string>> tokens = imported.tokenizer->tokens(*ids);
  std::string result;
  for (const std::string &token : *tokens) {
    result += token;
  }
  return result;
}

std::string refusalOf(const char *key, const char *part, StatusCode code) {
  Json json = characterTokenizer();
  json[key] = *parseJson(part, "part");
  ImportedTokenizer imported;
  const Status status = imported.import(json);
  EXPECT_EQ(status.code(), code);
  return std::string(status.message());
}

std::string badNormalizer(const char *part, StatusCode code = StatusCode::InvalidArgument) {
  return refusalOf("normalizer", part, code);
}

TEST(PartImportTest, Normalizers) {
  const auto normal = [](const char *part, const char *text) {
    return tokensOf("normalizer", part, text);
  };
  EXPECT_EQ(normal(R"({"type": "NFC"})", "e\u0301"), "é");
  EXPECT_EQ(normal(R"({"type": "NFD"})", "é"), "e\u0301");
  EXPECT_EQ(normal(R"({"type": "NFKC"})", "ａe\u0301"), "aé");
  EXPECT_EQ(normal(R"({"type": "NFKD"})", "ａé"), "ae\u0301");
  EXPECT_EQ(normal(R"({"type": "Lowercase"})", "AÉ"), "aé");
  EXPECT_EQ(normal(R"({"type": "StripAccents"})", "e\u0301"), "e");
  EXPECT_EQ(normal(R"({"type": "Nmt"})", "a\tb"), "a b");
  EXPECT_EQ(normal(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " a "), "a ");
  EXPECT_EQ(normal(R"({"type": "Prepend", "prepend": "▁"})", "a"), "▁a");
}

TEST(PartImportTest, Replacements) {
  const auto replaced = [](const char *pattern, const char *text) {
    const std::string part =
        std::string(R"({"type": "Replace", "content": "x", "pattern": )") + pattern + "}";
    return tokensOf("normalizer", part.c_str(), text);
  };
  EXPECT_EQ(replaced(R"({"String": "a+"})", "aa+"), "ax");
  EXPECT_EQ(replaced(R"({"Regex": "ab"})", "aabb"), "axb");
  EXPECT_EQ(replaced(R"({"Regex": " {2,}"})", "a  b a"), "axb a");
  EXPECT_EQ(replaced(R"({"Regex": "a+"})", "aaba"), "xbx");
  EXPECT_EQ(replaced(R"({"Regex": "é+"})", "aéé"), "ax");
  const auto message = [](const char *regex) {
    const std::string part = std::string(R"({"type": "Replace", "content": "x", "pattern": )") +
                             R"({"Regex": ")" + regex + "\"}}";
    return badNormalizer(part.c_str(), StatusCode::Unsupported);
  };
  const std::string expected =
      " is not supported, expected plain characters, or a single one followed by + or {n,}";
  const std::string begin = "tokenizer.json: \"normalizer\": \"pattern\": the regular expression ";
  EXPECT_EQ(message("a|b"), begin + "\"a|b\"" + expected);
  EXPECT_EQ(message("ab+"), begin + "\"ab+\"" + expected);
  EXPECT_EQ(message("a{2}"), begin + "\"a{2}\"" + expected);
  EXPECT_EQ(message("a{0,}"), begin + "\"a{0,}\"" + expected);
  EXPECT_EQ(message("[ab]"), begin + "\"[ab]\"" + expected);
}

TEST(PartImportTest, BadNormalizers) {
  EXPECT_EQ(badNormalizer(R"({"type": "Other"})"),
            "tokenizer.json: \"normalizer\": \"type\" is \"Other\", expected one of "
            "BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, Strip, Replace, "
            "Prepend, Precompiled, Sequence");
  EXPECT_EQ(badNormalizer(R"({"type": "Replace", "pattern": {"String": ""}, "content": "x"})"),
            "tokenizer.json: \"normalizer\": \"pattern\": \"String\" is empty, expected a text");
  EXPECT_EQ(badNormalizer(R"({"type": "Sequence"})"),
            "tokenizer.json: \"normalizer\": \"normalizers\" is missing, expected a list");
  EXPECT_EQ(badNormalizer(R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, 7]})"),
            "tokenizer.json: \"normalizer\": item 2 of \"normalizers\": is 7, expected an object");
  EXPECT_EQ(
      badNormalizer(R"({"type": "Precompiled", "precompiled_charsmap": "a"})"),
      "tokenizer.json: \"normalizer\": \"precompiled_charsmap\" is text of 1, which is not base64");
  EXPECT_EQ(badNormalizer(R"({"type": "Precompiled", "precompiled_charsmap": "AAAAAAA="})"),
            "tokenizer.json: \"normalizer\": charsmap: a trie of 0 bytes, with 1 bytes after its "
            "size, expected a multiple of 4 and text after it");
  Json many = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  for (int i = 0; i < 65; ++i) {
    many["normalizers"].push_back({{"type", "NFC"}});
  }
  EXPECT_EQ(badNormalizer(many.dump().c_str()),
            "tokenizer.json: \"normalizer\": item 65 of \"normalizers\": has more than 64 parts, "
            "which is the limit");
}

TEST(PartImportTest, SequencesInsideSequences) {
  EXPECT_EQ(tokensOf("normalizer", R"({"type": "Sequence", "normalizers": [
                       {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
                       {"type": "Lowercase"}]})",
                     "E\u0301A"),
            "éa");
  EXPECT_EQ(tokensOf("normalizer", R"({"type": "Sequence", "normalizers": []})", "a"), "a");
}

TEST(PartImportTest, PreTokenizers) {
  const auto words = [](const char *part, const char *text) {
    return tokensOf("pre_tokenizer", part, text);
  };
  EXPECT_EQ(words(R"({"type": "ByteLevel", "add_prefix_space": true})", "a b"), "ĠaĠb");
  EXPECT_EQ(words(R"({"type": "Metaspace", "replacement": "▁"})", "a b"), "▁a▁b");
  EXPECT_EQ(words(R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false})", "a b"),
            "a▁b");
  EXPECT_EQ(words(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})", "a"),
            "a");
  EXPECT_EQ(words(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                      {"type": "Metaspace", "replacement": "▁"}]})",
                  " a  b"),
            "▁a▁b");
}

TEST(PartImportTest, BadPreTokenizers) {
  const auto message = [](const char *part, StatusCode code = StatusCode::InvalidArgument) {
    return refusalOf("pre_tokenizer", part, code);
  };
  EXPECT_EQ(
      message(R"({"type": "Split", "pattern": {"Regex": "(?<=a)b"}, "behavior": "Isolated"})",
              StatusCode::Unsupported),
      "tokenizer.json: \"pre_tokenizer\": \"pattern\": the regular expression \"(?<=a)b\" has "
      "a look-behind (?<=...), which is not supported, at byte 1");
  EXPECT_EQ(message(R"({"type": "Split"})"),
            "tokenizer.json: \"pre_tokenizer\": \"pattern\" is missing, expected an object");
  EXPECT_EQ(message(R"({"type": "Split", "pattern": {"String": "a"}})"),
            "tokenizer.json: \"pre_tokenizer\": \"behavior\" is missing, expected a string");
  EXPECT_EQ(message(R"({"type": "Split", "pattern": {"String": ""}, "behavior": "Removed"})"),
            "tokenizer.json: \"pre_tokenizer\": \"pattern\": \"String\" is empty, expected a text");
  EXPECT_EQ(message(R"({"type": "Punctuation", "behavior": "Apart"})"),
            "tokenizer.json: \"pre_tokenizer\": \"behavior\" is \"Apart\", expected one of "
            "Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed");
  EXPECT_EQ(message(R"({"type": "CharDelimiterSplit", "delimiter": "ab"})"),
            "tokenizer.json: \"pre_tokenizer\": \"delimiter\" is \"ab\", expected one character");
  EXPECT_EQ(message(R"({"type": "Metaspace", "replacement": "ab"})"),
            "tokenizer.json: \"pre_tokenizer\": \"replacement\" is \"ab\", expected one character");
  EXPECT_EQ(message(R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false,
                        "prepend_scheme": "first"})"),
            "tokenizer.json: \"pre_tokenizer\": \"prepend_scheme\" is \"first\" and "
            "\"add_prefix_space\" false, expected them to agree");
  Json many = {{"type", "Sequence"}, {"pretokenizers", Json::array()}};
  for (int i = 0; i < 9; ++i) {
    many["pretokenizers"].push_back({{"type", "WhitespaceSplit"}});
  }
  EXPECT_EQ(message(many.dump().c_str()), "tokenizer.json: 9 pre-tokenizers, expected at most 8");
}

std::string decoded(const char *part, const Ids &ids) {
  Json json = characterTokenizer();
  json["decoder"] = *parseJson(part, "part");
  ImportedTokenizer imported;
  const Status status = imported.import(json);
  EXPECT_TRUE(status.ok()) << status.message();
  return *imported.tokenizer->decode(ids);
}

TEST(PartImportTest, Decoders) {
  EXPECT_EQ(decoded(R"({"type": "ByteLevel"})", {10, 1, 10, 2}), " a b");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "▁"})", {6, 1, 6, 2}), "a b");
  EXPECT_EQ(
      decoded(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})", {6, 1}),
      " a");
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "x"})", {1, 3, 2, 3}), "a b");
  EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": [
                        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                        {"type": "ByteFallback"}, {"type": "Fuse"},
                        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
                    {6, 1, 6, 2}),
            "a b");
  EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": []})", {1, 2}), "ab");
  EXPECT_EQ(decoded("null", {1, 2}), "a b");
}

TEST(PartImportTest, BadDecoders) {
  EXPECT_EQ(refusalOf("decoder",
                      R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": " "})",
                      StatusCode::Unsupported),
            "tokenizer.json: \"decoder\": \"pattern\" matches runs, expected plain characters in a "
            "decoder");
  EXPECT_EQ(
      refusalOf("decoder", R"({"type": "BPEDecoder", "suffix": ""})", StatusCode::InvalidArgument),
      "tokenizer.json: \"decoder\": \"suffix\" is empty, expected a text");
}

TEST(Base64Test, Decodes) {
  EXPECT_EQ(decodeBase64(""), "");
  EXPECT_EQ(decodeBase64("aGVkZGxl"), "heddle");
  EXPECT_EQ(decodeBase64("aGVkZGw="), "heddl");
  EXPECT_EQ(decodeBase64("aGVkZA=="), "hedd");
  EXPECT_EQ(decodeBase64("+/8="), "\xFB\xFF");
  EXPECT_FALSE(decodeBase64("aGV"));
  EXPECT_FALSE(decodeBase64("aG=V"));
  EXPECT_FALSE(decodeBase64("a*=="));
}

} // namespace
} // namespace heddle
