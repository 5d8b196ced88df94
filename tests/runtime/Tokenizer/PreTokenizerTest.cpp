// SPDX-License-Identifier: Apache-2.0
///
/// Texts are split into words as in the Hugging Face tokenizers library.
#include "runtime/Tokenizer/PreTokenizer.h"
#include "tests/runtime/Tokenizer/PartsTable.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Kind = manifest::PreTokenizer;
using Words = std::vector<std::string>;

Words split(PartsTable &table, std::string_view text, bool first = true, size_t limit = 100) {
  const Result<PreTokenizer> steps = PreTokenizer::load(*table.finish());
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  Words words;
  PreTokenizer::Scratch scratch;
  steps->split(text, first, scratch, [&](std::string_view word) {
    words.emplace_back(word);
    return words.size() < limit;
  });
  return words;
}

Words byteLevelWords(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const size_t bytes = firstByteLevelWord(text);
    words.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return words;
}

TEST(PreTokenizerTest, ByteLevelWords) {
  EXPECT_EQ(byteLevelWords("Hello, world's 42nd"),
            (Words{"Hello", ",", " world", "'s", " 42", "nd"}));
  EXPECT_EQ(byteLevelWords("we'll I've you're I'd it's I'm can't"),
            (Words{"we", "'ll", " I", "'ve", " you", "'re", " I", "'d", " it", "'s", " I", "'m",
                   " can", "'t"}));
  // Only lower case, and only where the apostrophe begins.
  EXPECT_EQ(byteLevelWords("IT'S a 's !'s"), (Words{"IT", "'", "S", " a", " '", "s", " !'", "s"}));
  EXPECT_EQ(byteLevelWords("été ½² a\u0301"), (Words{"été", " ½²", " a", "\u0301"}));
}

TEST(PreTokenizerTest, ByteLevelWhiteSpace) {
  // The last of several white-space characters joins the word if it is a space.
  EXPECT_EQ(byteLevelWords("a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(byteLevelWords("a \nb"), (Words{"a", " ", "\n", "b"}));
  EXPECT_EQ(byteLevelWords("a\n b"), (Words{"a", "\n", " b"}));
  EXPECT_EQ(byteLevelWords("a\n\n"), (Words{"a", "\n\n"}));
  EXPECT_EQ(byteLevelWords("   "), (Words{"   "}));
  EXPECT_EQ(byteLevelWords("\u3000\u3000x \u3000"), (Words{"\u3000", "\u3000", "x", " \u3000"}));
}

TEST(PreTokenizerTest, ByteLevel) {
  PartsTable table;
  table.setPreTokenizer(Kind::ByteLevelPreTokenizer,
                        manifest::CreateByteLevelPreTokenizer(table.builder, true, true));
  EXPECT_EQ(split(table, "a é"), (Words{"Ġa", "ĠÃ©"}));
  PartsTable whole;
  whole.setPreTokenizer(Kind::ByteLevelPreTokenizer,
                        manifest::CreateByteLevelPreTokenizer(whole.builder, false, false));
  EXPECT_EQ(split(whole, "a b\n"), (Words{"aĠbĊ"}));
}

Words metaspace(manifest::PrependScheme scheme, bool splits, std::string_view text, bool first) {
  PartsTable table;
  const auto replacement = table.builder.CreateString("▁");
  table.setPreTokenizer(
      Kind::MetaspacePreTokenizer,
      manifest::CreateMetaspacePreTokenizer(table.builder, replacement, scheme, splits));
  return split(table, text, first);
}

TEST(PreTokenizerTest, Metaspace) {
  using Scheme = manifest::PrependScheme;
  EXPECT_EQ(metaspace(Scheme::Always, true, "a b", false), (Words{"▁a", "▁b"}));
  EXPECT_EQ(metaspace(Scheme::Always, true, "  a ", true), (Words{"▁", "▁a", "▁"}));
  EXPECT_EQ(metaspace(Scheme::Always, true, "▁a", true), (Words{"▁a"}));
  EXPECT_EQ(metaspace(Scheme::First, true, "a", true), (Words{"▁a"}));
  EXPECT_EQ(metaspace(Scheme::First, true, "a", false), (Words{"a"}));
  EXPECT_EQ(metaspace(Scheme::Never, true, "a b", true), (Words{"a", "▁b"}));
  EXPECT_EQ(metaspace(Scheme::Always, false, "a b", true), (Words{"▁a▁b"}));
}

TEST(PreTokenizerTest, SequencesAndLimits) {
  PartsTable table;
  auto &builder = table.builder;
  const auto replacement = builder.CreateString("▁");
  const auto spaces =
      manifest::CreatePreTokenizerStep(builder, Kind::WhiteSpacePreTokenizer,
                                       manifest::CreateWhiteSpacePreTokenizer(builder).Union());
  const auto meta = manifest::CreatePreTokenizerStep(
      builder, Kind::MetaspacePreTokenizer,
      manifest::CreateMetaspacePreTokenizer(builder, replacement, manifest::PrependScheme::Always,
                                            true)
          .Union());
  const auto steps = builder.CreateVector(std::vector{spaces, meta});
  table.setPreTokenizer(Kind::PreTokenizerSequence,
                        manifest::CreatePreTokenizerSequence(builder, steps));
  EXPECT_EQ(split(table, " a\u3000b  c\n"), (Words{"▁a", "▁b", "▁c"}));
  const Result<PreTokenizer> loaded = PreTokenizer::load(*table.finish());
  EXPECT_EQ(split(table, "a b c d", true, 2), (Words{"▁a", "▁b"}));
}

/// Sets a table whose only step splits with one branch.
void setSplit(PartsTable &table, const std::vector<const char *> &expressions,
              manifest::SplitBehavior behavior) {
  std::vector<flatbuffers::Offset<manifest::SplitBranch>> branches;
  for (const char *const expression : expressions) {
    branches.push_back(
        manifest::CreateSplitBranch(table.builder, table.builder.CreateString(expression)));
  }
  const auto packed = table.builder.CreateVector(branches);
  table.setPreTokenizer(Kind::SplitPreTokenizer,
                        manifest::CreateSplitPreTokenizer(table.builder, packed, behavior));
}

TEST(PreTokenizerTest, SplitsStopEarly) {
  for (const auto behavior :
       {manifest::SplitBehavior::Isolated, manifest::SplitBehavior::MergedWithNext}) {
    PartsTable table;
    setSplit(table, {"[0-9]"}, behavior);
    EXPECT_EQ(split(table, "1a2b3c", true, 2).size(), 2u);
  }
}

TEST(PreTokenizerTest, DamagedSplits) {
  const auto refusal = [](const std::vector<const char *> &expressions,
                          manifest::SplitBehavior behavior) {
    PartsTable table;
    setSplit(table, expressions, behavior);
    return table.refusal();
  };
  EXPECT_EQ(refusal({}, manifest::SplitBehavior::Removed),
            "tokenizer: the pattern has no branches");
  EXPECT_EQ(refusal({"a", "(b"}, manifest::SplitBehavior::Removed),
            "tokenizer: RE2 refuses the pattern: missing ): (b");
  EXPECT_EQ(refusal({"a"}, static_cast<manifest::SplitBehavior>(9)),
            "tokenizer: a behavior of a split of kind 9, expected at most 4");
  // A pattern that matches the empty text must not loop.
  PartsTable empty;
  setSplit(empty, {"b*|\\b"}, manifest::SplitBehavior::Isolated);
  EXPECT_EQ(split(empty, "abba"), (Words{"a", "bb", "a"}));
}

TEST(PreTokenizerTest, DamagedTables) {
  PartsTable missing;
  missing.preTokenizerKind = Kind::PreTokenizerSequence;
  EXPECT_EQ(missing.refusal(), "tokenizer: the pre-tokenizer is missing");
  PartsTable empty;
  const auto nothing = empty.builder.CreateString("");
  empty.setPreTokenizer(Kind::MetaspacePreTokenizer,
                        manifest::CreateMetaspacePreTokenizer(empty.builder, nothing));
  EXPECT_EQ(empty.refusal(), "tokenizer: the replacement of a pre-tokenizer is empty");
  PartsTable scheme;
  const auto text = scheme.builder.CreateString("▁");
  scheme.setPreTokenizer(Kind::MetaspacePreTokenizer,
                         manifest::CreateMetaspacePreTokenizer(
                             scheme.builder, text, static_cast<manifest::PrependScheme>(9)));
  EXPECT_EQ(scheme.refusal(), "tokenizer: a prepend scheme of kind 9, expected at most 2");
}

TEST(PreTokenizerTest, DamagedSequences) {
  const auto sequence = [](PartsTable &table, Kind kind, size_t count) {
    std::vector<flatbuffers::Offset<manifest::PreTokenizerStep>> steps;
    for (size_t i = 0; i < count; ++i) {
      steps.push_back(manifest::CreatePreTokenizerStep(
          table.builder, kind, manifest::CreateBertPreTokenizer(table.builder).Union()));
    }
    const auto packed = table.builder.CreateVector(steps);
    table.setPreTokenizer(Kind::PreTokenizerSequence,
                          manifest::CreatePreTokenizerSequence(table.builder, packed));
  };
  PartsTable nested;
  sequence(nested, Kind::PreTokenizerSequence, 1);
  EXPECT_EQ(nested.refusal(),
            "tokenizer: a sequence of pre-tokenizers inside another, expected none");
  PartsTable many;
  sequence(many, Kind::BertPreTokenizer, 9);
  EXPECT_EQ(many.refusal(), "tokenizer: 9 pre-tokenizers, expected at most 8");
  PartsTable none;
  sequence(none, Kind::NONE, 1);
  EXPECT_EQ(none.refusal(), "tokenizer: the pre-tokenizer is missing");
}

} // namespace
} // namespace heddle
