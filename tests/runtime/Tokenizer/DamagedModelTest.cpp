// SPDX-License-Identifier: Apache-2.0
///
/// Damaged tables of models other than WordPiece. Each is rejected with its own message.
#include "tests/runtime/Tokenizer/PartsTable.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Kind = manifest::TokenizerModel;

/// A BPE model of three tokens and one merge.
struct BpeTable : PartsTable {
  std::vector<manifest::MergeSlot> slots = std::vector<manifest::MergeSlot>(4);
  std::vector<uint8_t> whole = {0};
  int64_t unknown = -1;

  BpeTable() { slots[mergePlace(0, 1) % 4] = {0, 1, 0, 3}; }

  std::string message() {
    const auto tokens = vocabulary({"a", "b", "ab"});
    const auto packedSlots = builder.CreateVectorOfStructs(slots);
    const auto packedWhole = builder.CreateVector(whole);
    setModel(Kind::Bpe,
             manifest::CreateBpe(builder, tokens, packedSlots, packedWhole, unknown, false, true));
    return refusal();
  }
};

TEST(DamagedModelTest, Bpe) {
  EXPECT_EQ(BpeTable().message(), "");
  BpeTable odd;
  odd.slots.resize(3);
  EXPECT_EQ(odd.message(), "merges: hash table of 3 places, expected a power of two");
  BpeTable full;
  full.slots.assign(4, {0, 1, 0, 3});
  EXPECT_EQ(full.message(), "merges: hash table of 4 places has none free");
  BpeTable result;
  result.slots.assign(4, {});
  result.slots[0] = {0, 1, 0, 5};
  EXPECT_EQ(result.message(), "merges: a merge gives id 4, which no token has");
  BpeTable flags;
  flags.whole.clear();
  EXPECT_EQ(flags.message(), "merges: 0 bytes of flags for 3 tokens, expected 1");
  BpeTable unknown;
  unknown.unknown = 3;
  EXPECT_EQ(unknown.message(), "vocabulary: no token has the unknown id 3");
  BpeTable wide;
  wide.unknown = int64_t(1) << 32;
  EXPECT_EQ(wide.message(), "vocabulary: no token has the unknown id 4294967296");
}

TEST(DamagedModelTest, BpeMergesAndUnknowns) {
  BpeTable table;
  EXPECT_EQ(table.message(), "");
  const Result<Tokenizer> tokenizer = Tokenizer::load(table.finish());
  // Without an unknown token, characters that are not tokens are dropped.
  EXPECT_EQ(*tokenizer->encode("abcba"), (std::vector<int32_t>{2, 1, 0}));
  EXPECT_EQ(*tokenizer->tokens(std::vector{2, 0}), (std::vector<std::string>{"ab", "a"}));
  EXPECT_EQ(tokenizer->tokens(std::vector{2, 7}).status().message(),
            "id 7 belongs to no token in a vocabulary of 3");
  EXPECT_EQ(tokenizer->idOf("ab"), 2);
  EXPECT_FALSE(tokenizer->idOf("ba"));
}

/// A Unigram model of one token; its trie is empty.
struct UnigramTable : PartsTable {
  std::vector<double> scores = {0};
  std::vector<uint32_t> trie = std::vector<uint32_t>(256);
  uint32_t unknown = 0;

  std::string message() {
    const auto tokens = vocabulary({"a"});
    const auto packedScores = builder.CreateVector(scores);
    const auto packedTrie = builder.CreateVector(trie);
    setModel(Kind::Unigram,
             manifest::CreateUnigram(builder, tokens, packedScores, packedTrie, unknown));
    return refusal();
  }
};

TEST(DamagedModelTest, Unigram) {
  EXPECT_EQ(UnigramTable().message(), "");
  UnigramTable scores;
  scores.scores = {0, 1};
  EXPECT_EQ(scores.message(), "vocabulary: 2 scores for 1 tokens");
  UnigramTable trie;
  trie.trie.resize(255);
  EXPECT_EQ(trie.message(),
            "vocabulary: a trie of 255 units points outside itself or its 1 tokens");
  UnigramTable none;
  none.trie.clear();
  EXPECT_EQ(none.message(), "vocabulary: a trie of 0 units points outside itself or its 1 tokens");
  UnigramTable unknown;
  unknown.unknown = 1;
  EXPECT_EQ(unknown.message(), "vocabulary: no token has the unknown id 1");
}

TEST(DamagedModelTest, WordList) {
  PartsTable table;
  const auto tokens = table.vocabulary({"a", "<unk>"});
  table.setModel(Kind::WordList, manifest::CreateWordList(table.builder, tokens, 2));
  EXPECT_EQ(table.refusal(), "vocabulary: no token has the unknown id 2");
  PartsTable good;
  const auto same = good.vocabulary({"a", "<unk>"});
  good.setModel(Kind::WordList, manifest::CreateWordList(good.builder, same, 1));
  const Result<Tokenizer> tokenizer = Tokenizer::load(good.finish());
  EXPECT_EQ(*tokenizer->encode(" a  b\ta\n"), (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(*tokenizer->decode(std::vector{0, 1}), "a <unk>");
}

TEST(DamagedModelTest, SentencePiece) {
  PartsTable table;
  const auto bytes = table.builder.CreateVector(std::vector<uint8_t>{0x0A, 0x20, 'a'});
  table.setModel(Kind::SentencePiece, manifest::CreateSentencePiece(table.builder, bytes));
  EXPECT_EQ(table.refusal(), "sentencepiece: the model is cut off or damaged");
}

} // namespace
} // namespace heddle
