// SPDX-License-Identifier: Apache-2.0
///
/// Encoding, decoding, truncation and added tokens of a small tokenizer. The expected ids are those
/// of the Hugging Face tokenizers library for the same settings.
#include "tests/runtime/Tokenizer/SmallTokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using Ids = std::vector<int32_t>;

Ids encode(SmallTokenizer &table, std::string_view text) {
  const Result<Tokenizer> tokenizer = table.load();
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const Result<Ids> ids = tokenizer->encode(text);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return *ids;
}

/// As encode, without the template.
Ids encodeBare(SmallTokenizer &table, std::string_view text) {
  table.pieces = {{SmallTokenizer::text, 0, 0}};
  return encode(table, text);
}

TEST(TokenizerTest, Words) {
  SmallTokenizer table;
  EXPECT_EQ(encode(table, "The cats."), (Ids{2, 4, 5, 6, 8, 3}));
  EXPECT_EQ(encode(table, ""), (Ids{2, 3}));
  EXPECT_EQ(encode(table, " \t\n "), (Ids{2, 3}));
  EXPECT_EQ(encode(table, "dog cat"), (Ids{2, 1, 5, 3}));
  // The longest token at the beginning may leave a rest that no token covers.
  EXPECT_EQ(encode(table, "cato"), (Ids{2, 1, 3}));
}

TEST(TokenizerTest, LongWordIsUnknown) {
  SmallTokenizer table;
  table.maxWordCharacters = 4;
  EXPECT_EQ(encodeBare(table, "cats catss"), (Ids{5, 6, 1}));
  // The limit counts characters, not bytes.
  table.normalizer.stripAccents = false;
  table.tokens.push_back("##é");
  EXPECT_EQ(encodeBare(table, "éééé ééééé"), (Ids{11, 14, 14, 14, 1}));
}

TEST(TokenizerTest, NotUtf8) {
  SmallTokenizer table;
  const Result<Tokenizer> tokenizer = table.load();
  for (const std::string_view bad : {"cat \xff", "cat \xc3", "cat \xed\xa0\x80", "cat \xc0\x80"}) {
    const Result<Ids> ids = tokenizer->encode(bad);
    EXPECT_EQ(ids.status().code(), StatusCode::InvalidArgument);
    EXPECT_EQ(ids.status().message(), fmt::format("text: byte 5 is {:#04x}, expected UTF-8",
                                                  static_cast<unsigned char>(bad[4])));
  }
}

TEST(TokenizerTest, Truncation) {
  SmallTokenizer table;
  table.maxLength = 4;
  EXPECT_EQ(encode(table, "the cat the"), (Ids{2, 4, 5, 3}));
  EXPECT_EQ(encode(table, "the cat"), (Ids{2, 4, 5, 3}));
  // Inside a word too.
  EXPECT_EQ(encode(table, "the. cats"), (Ids{2, 4, 8, 3}));
  EXPECT_EQ(encode(table, "cats the"), (Ids{2, 5, 6, 3}));
  table.truncateLeft = true;
  EXPECT_EQ(encode(table, "the cat ."), (Ids{2, 5, 8, 3}));
  table.maxLength = 2;
  EXPECT_EQ(encode(table, "the cat"), (Ids{2, 3}));
  table.truncateLeft = false;
  EXPECT_EQ(encode(table, "the cat"), (Ids{2, 3}));
}

TEST(TokenizerTest, LongTextInChunks) {
  SmallTokenizer table;
  std::string text;
  Ids expected;
  while (expected.size() < 20000) {
    text += "the  cats ";
    expected.insert(expected.end(), {4, 5, 6});
  }
  EXPECT_EQ(encodeBare(table, text), expected);
}

TEST(TokenizerTest, TypeIds) {
  SmallTokenizer table;
  table.pieces = {
      {SmallTokenizer::token, 2, 7}, {SmallTokenizer::text, 0, 1}, {SmallTokenizer::token, 3, 2}};
  const Result<Tokenizer> tokenizer = table.load();
  EXPECT_EQ(tokenizer->typeIds(5), (Ids{7, 1, 1, 1, 2}));
  EXPECT_EQ(tokenizer->typeIds(2), (Ids{7, 2}));
}

TEST(TokenizerTest, WithoutPreTokenizerTheTextIsAWord) {
  SmallTokenizer table;
  table.preTokenizerKind = manifest::PreTokenizer::NONE;
  EXPECT_EQ(encodeBare(table, "cats"), (Ids{5, 6}));
  EXPECT_EQ(encodeBare(table, "cat s"), (Ids{1}));
  EXPECT_EQ(encodeBare(table, ""), (Ids{}));
}

TEST(TokenizerTest, WithoutNormalizerTheTextStays) {
  SmallTokenizer table;
  table.normalizerKind = manifest::Normalizer::NONE;
  table.added.push_back({"The", 40, false, false, false, true});
  EXPECT_EQ(encodeBare(table, "The é THE"), (Ids{40, 11, 1}));
}

TEST(TokenizerTest, AddedTokens) {
  SmallTokenizer table;
  // Found inside words, in the original text; the longest one is used.
  table.added = {{"[SEP]", 3}, {"[SEP]x", 50}, {"[SE", 51}};
  EXPECT_EQ(encodeBare(table, "cat[SEP]cat[SEP]xs [SEcat"), (Ids{5, 3, 5, 50, 7, 51, 5}));
  EXPECT_EQ(encodeBare(table, "[sep]"), (Ids{1, 1, 1}));
}

TEST(TokenizerTest, AddedTokensOfNormalizedText) {
  SmallTokenizer table;
  table.added = {{"É[X]", 50, false, false, false, true}};
  EXPECT_EQ(encodeBare(table, "cate[x]"), (Ids{5, 50}));
  // In the original text, marks of the letter are in between.
  EXPECT_EQ(encodeBare(table, "catE\u0301\u0323[X]"), (Ids{5, 50}));
  // Two with the same normal form: the smaller id. One without a normal form is never found.
  table.added = {{"é[x]", 52, false, false, false, true},
                 {"É[X]", 51, false, false, false, true},
                 {"\u0301", 53, false, false, false, true}};
  EXPECT_EQ(encodeBare(table, "e[x]\u0301cat"), (Ids{51, 5}));
}

TEST(TokenizerTest, SingleWord) {
  SmallTokenizer table;
  table.added = {{"<a>", 50, true}};
  EXPECT_EQ(encodeBare(table, "<a>"), (Ids{50}));
  EXPECT_EQ(encodeBare(table, ".<a>."), (Ids{8, 50, 8}));
  EXPECT_EQ(encodeBare(table, "cat<a>"), (Ids{5, 1, 1, 1}));
  EXPECT_EQ(encodeBare(table, "<a>cat"), (Ids{1, 1, 1, 5}));
  EXPECT_EQ(encodeBare(table, "é<a>"), (Ids{1, 1, 1, 1}));
}

TEST(TokenizerTest, StripsWhiteSpace) {
  SmallTokenizer table;
  table.normalizerKind = manifest::Normalizer::NONE;
  table.preTokenizerKind = manifest::PreTokenizer::NONE;
  table.added = {{"<l>", 50, false, true, false}, {"<r>", 51, false, false, true}};
  EXPECT_EQ(encodeBare(table, "cat \u3000<l>cat"), (Ids{5, 50, 5}));
  EXPECT_EQ(encodeBare(table, "cat<l> cat"), (Ids{5, 50, 1}));
  EXPECT_EQ(encodeBare(table, "cat<r> \u3000cat"), (Ids{5, 51, 5}));
  EXPECT_EQ(encodeBare(table, "cat <r>cat"), (Ids{1, 51, 5}));
  EXPECT_EQ(encodeBare(table, "<r> <l>"), (Ids{51, 50}));
  EXPECT_EQ(encodeBare(table, " <l>"), (Ids{50}));
}

TEST(TokenizerTest, TokensInStrippedWhiteSpaceAreFound) {
  SmallTokenizer table;
  table.preTokenizerKind = manifest::PreTokenizer::NONE;
  table.normalizerKind = manifest::Normalizer::NONE;
  table.added = {{"<r>", 51, false, false, true}, {"\t", 52}};
  EXPECT_EQ(encodeBare(table, "<r>\tcat"), (Ids{51, 52, 5}));
}

TEST(TokenizerTest, Decode) {
  SmallTokenizer table;
  const Result<Tokenizer> tokenizer = table.load();
  EXPECT_EQ(*tokenizer->decode(Ids{2, 4, 5, 6, 8, 3}), "the cats.");
  EXPECT_EQ(*tokenizer->decode(Ids{2, 4, 3}, false), "[CLS] the [SEP]");
  EXPECT_EQ(*tokenizer->decode(Ids{6, 6}), "##ss");
  EXPECT_EQ(*tokenizer->decode(Ids{}), "");
  EXPECT_EQ(*tokenizer->token(4), "the");
  EXPECT_FALSE(tokenizer->token(14));
  EXPECT_FALSE(tokenizer->token(-1));
}

TEST(TokenizerTest, DecodeCleansUpWithinTokens) {
  SmallTokenizer table;
  table.tokens = {"a",  "[UNK]", "[CLS]", "[SEP]",  ".",  "?",   "!",  ",",
                  "' ", "n't",   "'m",    "do not", "'s", "'ve", "'re"};
  const Result<Tokenizer> tokenizer = table.load();
  EXPECT_EQ(*tokenizer->decode(Ids{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}),
            "a.?!,'n't'm don't's've're");
  table.cleanup = false;
  const Result<Tokenizer> plain = table.load();
  EXPECT_EQ(*plain->decode(Ids{0, 4, 9}), "a . n't");
}

TEST(TokenizerTest, DecodeWithoutDecoderJoins) {
  SmallTokenizer table;
  table.decoderKind = manifest::Decoder::NONE;
  const Result<Tokenizer> tokenizer = table.load();
  EXPECT_EQ(*tokenizer->decode(Ids{4, 5, 6, 8}), "the cat ##s .");
}

TEST(TokenizerTest, DecodeOfUnknownId) {
  SmallTokenizer table;
  const Result<Tokenizer> tokenizer = table.load();
  for (const int32_t id : {14, -1}) {
    const Result<std::string> text = tokenizer->decode(Ids{4, id});
    EXPECT_EQ(text.status().code(), StatusCode::OutOfRange);
    EXPECT_EQ(text.status().message(),
              "id " + std::to_string(id) + " belongs to no token in a vocabulary of 14");
  }
}

TEST(TokenizerTest, IdsWithGaps) {
  SmallTokenizer table;
  table.ids = {0, 1, 2, 3, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000};
  EXPECT_EQ(encodeBare(table, "the cats"), (Ids{100, 200, 300}));
  const Result<Tokenizer> tokenizer = table.load();
  EXPECT_EQ(*tokenizer->decode(Ids{100, 200}), "the cat");
  EXPECT_FALSE(tokenizer->decode(Ids{101}).ok());
}

} // namespace
} // namespace heddle
