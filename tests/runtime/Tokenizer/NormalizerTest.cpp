// SPDX-License-Identifier: Apache-2.0
///
/// The small normalizers, which behave as in the Hugging Face tokenizers library, and damaged
/// tables.
#include "runtime/Tokenizer/Normalizer.h"
#include "tests/runtime/Tokenizer/PartsTable.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Kind = manifest::Normalizer;

std::string normal(PartsTable &table, std::string_view text) {
  const Result<Normalizer> steps = Normalizer::load(*table.finish());
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  std::string result;
  steps->append(text, result);
  return result;
}

std::string replaced(std::string_view pattern, std::string_view content, uint32_t least,
                     std::string_view text) {
  PartsTable table;
  const auto from = table.builder.CreateString(pattern);
  const auto to = table.builder.CreateString(content);
  table.setNormalizer(Kind::ReplaceNormalizer,
                      manifest::CreateReplaceNormalizer(table.builder, from, to, least));
  return normal(table, text);
}

TEST(NormalizerTest, Replace) {
  EXPECT_EQ(replaced("ab", "x", 0, "abcabab"), "xcxx");
  EXPECT_EQ(replaced(" {2,}", " ", 0, "a  b {2,}"), "a  b ");
  EXPECT_EQ(replaced(" ", "_", 2, "a b  c   "), "a b_c_");
  EXPECT_EQ(replaced("a", "", 1, "aabaa"), "b");
  EXPECT_EQ(replaced("aa", "b", 0, "aaa"), "ba");
}

TEST(NormalizerTest, StripAndPrepend) {
  PartsTable left;
  left.setNormalizer(Kind::StripNormalizer,
                     manifest::CreateStripNormalizer(left.builder, true, false));
  EXPECT_EQ(normal(left, "\u3000\t a b "), "a b ");
  PartsTable right;
  right.setNormalizer(Kind::StripNormalizer,
                      manifest::CreateStripNormalizer(right.builder, false, true));
  EXPECT_EQ(normal(right, " a b\u3000 \n"), " a b");
  EXPECT_EQ(normal(right, " \u3000"), "");
  PartsTable prepend;
  const auto content = prepend.builder.CreateString("▁");
  prepend.setNormalizer(Kind::PrependNormalizer,
                        manifest::CreatePrependNormalizer(prepend.builder, content));
  EXPECT_EQ(normal(prepend, "a"), "▁a");
  EXPECT_EQ(normal(prepend, ""), "");
}

TEST(NormalizerTest, CharacterByCharacter) {
  PartsTable lower;
  lower.setNormalizer(Kind::LowercaseNormalizer,
                      manifest::CreateLowercaseNormalizer(lower.builder));
  EXPECT_EQ(normal(lower, "ÀBİ ΟΣ"), "àbi\u0307 οσ");
  PartsTable accents;
  accents.setNormalizer(Kind::StripAccentsNormalizer,
                        manifest::CreateStripAccentsNormalizer(accents.builder));
  EXPECT_EQ(normal(accents, "e\u0301é\u0903"), "eé");
  PartsTable nmt;
  nmt.setNormalizer(Kind::NmtNormalizer, manifest::CreateNmtNormalizer(nmt.builder));
  EXPECT_EQ(normal(nmt, "a\tb\x01\u200B\u2581c\x7F\u00A0"), "a b  c\u00A0");
  PartsTable form;
  form.setNormalizer(Kind::UnicodeNormalizer,
                     manifest::CreateUnicodeNormalizer(form.builder, manifest::UnicodeForm::Nfkc));
  EXPECT_EQ(normal(form, "ﬁe\u0301"), "fié");
}

TEST(NormalizerTest, SequenceInOrder) {
  PartsTable table;
  auto &builder = table.builder;
  const auto text = builder.CreateString("İ");
  const auto prepend = manifest::CreateNormalizerStep(
      builder, Kind::PrependNormalizer, manifest::CreatePrependNormalizer(builder, text).Union());
  const auto lower = manifest::CreateNormalizerStep(
      builder, Kind::LowercaseNormalizer, manifest::CreateLowercaseNormalizer(builder).Union());
  const auto strip = manifest::CreateNormalizerStep(
      builder, Kind::StripNormalizer, manifest::CreateStripNormalizer(builder, true, true).Union());
  const auto steps = builder.CreateVector(std::vector{strip, prepend, lower});
  table.setNormalizer(Kind::NormalizerSequence, manifest::CreateNormalizerSequence(builder, steps));
  EXPECT_EQ(normal(table, " A "), "i\u0307a");
  EXPECT_EQ(normal(table, "  "), "");
}

TEST(NormalizerTest, DamagedTables) {
  PartsTable missing;
  missing.normalizerKind = Kind::NormalizerSequence;
  EXPECT_EQ(missing.refusal(), "tokenizer: the normalizer is missing");
  PartsTable form;
  form.setNormalizer(
      Kind::UnicodeNormalizer,
      manifest::CreateUnicodeNormalizer(form.builder, static_cast<manifest::UnicodeForm>(9)));
  EXPECT_EQ(form.refusal(), "tokenizer: a normal form of kind 9, expected at most 3");
  PartsTable empty;
  const auto nothing = empty.builder.CreateString("");
  empty.setNormalizer(Kind::ReplaceNormalizer,
                      manifest::CreateReplaceNormalizer(empty.builder, nothing, nothing));
  EXPECT_EQ(empty.refusal(), "tokenizer: the pattern of a normalizer is empty");
  PartsTable nested;
  const auto step =
      manifest::CreateNormalizerStep(nested.builder, Kind::NormalizerSequence,
                                     manifest::CreateNmtNormalizer(nested.builder).Union());
  const auto steps = nested.builder.CreateVector(std::vector{step});
  nested.setNormalizer(Kind::NormalizerSequence,
                       manifest::CreateNormalizerSequence(nested.builder, steps));
  EXPECT_EQ(nested.refusal(), "tokenizer: a sequence of normalizers inside another, expected none");
  PartsTable map;
  const auto bytes = map.builder.CreateVector(std::vector<uint8_t>{1, 2, 3});
  map.setNormalizer(Kind::CharsMapNormalizer,
                    manifest::CreateCharsMapNormalizer(map.builder, bytes));
  EXPECT_EQ(map.refusal(), "tokenizer: charsmap: a trie of 0 bytes, with 3 bytes after its size, "
                           "expected a multiple of 4 and text after it");
}

} // namespace
} // namespace heddle
