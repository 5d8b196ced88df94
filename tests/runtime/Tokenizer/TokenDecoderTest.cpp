// SPDX-License-Identifier: Apache-2.0
///
/// Converts tokens to texts as the Hugging Face tokenizers library does, and rejects damaged
/// tables.
#include "runtime/Tokenizer/TokenDecoder.h"
#include "runtime/Tokenizer/ByteCharacters.h"
#include "tests/runtime/Tokenizer/PartsTable.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Kind = manifest::Decoder;
using Tokens = std::vector<std::string>;

std::string decode(PartsTable &table, Tokens tokens) {
  const Result<TokenDecoder> decoder = TokenDecoder::load(*table.finish());
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  return decoder->decode(std::move(tokens));
}

TEST(TokenDecoderTest, ByteLevel) {
  PartsTable table;
  table.setDecoder(Kind::ByteLevelDecoder, manifest::CreateByteLevelDecoder(table.builder));
  EXPECT_EQ(decode(table, {"Ġthe", "ĠÃ", "©t", "Ã©"}), " the été");
  // If a character stands for no byte, the token is copied verbatim.
  EXPECT_EQ(decode(table, {"<s>", "你Ã©"}), "<s>你Ã©");
  EXPECT_EQ(decode(table, {"Ã", "a", "ðŁĺ"}), "\uFFFDa\uFFFD");
  EXPECT_EQ(decode(table, {}), "");
}

TEST(TokenDecoderTest, BytesThatAreNotUtf8) {
  const auto text = [](std::string_view bytes) {
    std::string result;
    appendAsUtf8(bytes, result);
    return result;
  };
  EXPECT_EQ(text("a\xC3(\xE2\x82z"), "a\uFFFD(\uFFFDz");
  EXPECT_EQ(text("\xF0\x9F\x98\xF0\x9F"), "\uFFFD\uFFFD");
  EXPECT_EQ(text("\xED\xA0\x80\xFF\xC0\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(text("\xE0\x80\x80\xF4\x90\x80\x80"),
            std::string("\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"));
}

TEST(TokenDecoderTest, Metaspace) {
  PartsTable table;
  const auto replacement = table.builder.CreateString("▁");
  table.setDecoder(Kind::MetaspaceDecoder,
                   manifest::CreateMetaspaceDecoder(table.builder, replacement, false));
  EXPECT_EQ(decode(table, {"▁The", "▁c", "at▁"}), "The cat ");
  EXPECT_EQ(decode(table, {"▁▁a▁b", "▁"}), "ab ");
  PartsTable keeps;
  const auto same = keeps.builder.CreateString("▁");
  keeps.setDecoder(Kind::MetaspaceDecoder,
                   manifest::CreateMetaspaceDecoder(keeps.builder, same, true));
  EXPECT_EQ(decode(keeps, {"▁a", "▁b"}), " a b");
}

TEST(TokenDecoderTest, SequenceOfBytesAndSpaces) {
  PartsTable table;
  auto &builder = table.builder;
  const auto underline = builder.CreateString("▁");
  const auto space = builder.CreateString(" ");
  const auto step = [&](Kind kind, flatbuffers::Offset<void> decoder) {
    return manifest::CreateDecoderStep(builder, kind, decoder);
  };
  const std::vector list = {
      step(Kind::ReplaceDecoder, manifest::CreateReplaceDecoder(builder, underline, space).Union()),
      step(Kind::ByteFallbackDecoder, manifest::CreateByteFallbackDecoder(builder).Union()),
      step(Kind::FuseDecoder, manifest::CreateFuseDecoder(builder).Union()),
      step(Kind::StripDecoder, manifest::CreateStripDecoder(builder, space, 1, 1).Union())};
  const auto steps = builder.CreateVector(list);
  table.setDecoder(Kind::DecoderSequence, manifest::CreateDecoderSequence(builder, steps));
  EXPECT_EQ(decode(table, {"▁▁a", "<0xE2>", "<0x82>", "<0xAC>", "b▁"}), " a€b");
  EXPECT_EQ(decode(table, {"<0xE2>", "<0x41>", "<0xZZ>", "<0x4>"}), "\uFFFD\uFFFD<0xZZ><0x4>");
  EXPECT_EQ(decode(table, {"a", "<0x41>"}), "aA");
}

TEST(TokenDecoderTest, Suffix) {
  PartsTable table;
  const auto suffix = table.builder.CreateString("</w>");
  table.setDecoder(Kind::SuffixDecoder, manifest::CreateSuffixDecoder(table.builder, suffix));
  EXPECT_EQ(decode(table, {"the</w>", "ca", "t</w>"}), "the cat");
}

TEST(TokenDecoderTest, DamagedTables) {
  PartsTable missing;
  missing.decoderKind = Kind::DecoderSequence;
  EXPECT_EQ(missing.refusal(), "tokenizer: the decoder is missing");
  PartsTable empty;
  const auto nothing = empty.builder.CreateString("");
  empty.setDecoder(Kind::SuffixDecoder, manifest::CreateSuffixDecoder(empty.builder, nothing));
  EXPECT_EQ(empty.refusal(), "tokenizer: the pattern of a decoder is empty");
  PartsTable nested;
  const auto step = manifest::CreateDecoderStep(
      nested.builder, Kind::DecoderSequence, manifest::CreateFuseDecoder(nested.builder).Union());
  const auto steps = nested.builder.CreateVector(std::vector{step});
  nested.setDecoder(Kind::DecoderSequence, manifest::CreateDecoderSequence(nested.builder, steps));
  EXPECT_EQ(nested.refusal(), "tokenizer: a sequence of decoders inside another, expected none");
}

} // namespace
} // namespace heddle
