// SPDX-License-Identifier: Apache-2.0
///
/// Words of pre-tokenizers with regular expressions, compared with the Hugging Face tokenizers
/// library (oracles/make_patterns.py), and time limits.
#include "formats/Tokenizer/TokenizerImport.h"
#include "runtime/Tokenizer/PreTokenizer.h"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// A packed tokenizer that has only a pre-tokenizer.
struct PackedPreTokenizer {
  explicit PackedPreTokenizer(const nlohmann::json &part) {
    const Result<Member<manifest::PreTokenizer>> packed =
        packPreTokenizer(builder, {{"pre_tokenizer", part}}, "tokenizer.json");
    EXPECT_TRUE(packed.ok()) << packed.status().message();
    if (!packed.ok()) {
      return;
    }
    const auto pieces = builder.CreateVectorOfStructs(
        std::vector{manifest::TemplatePiece(manifest::TemplatePieceKind::Text, 0, 0)});
    const auto nothing = builder.CreateString("");
    manifest::TokenizerBuilder table(builder);
    table.add_pre_tokenizer_type(packed->kind);
    table.add_pre_tokenizer(packed->offset);
    table.add_model_type(manifest::TokenizerModel::WordPiece);
    table.add_model(nothing.Union());
    table.add_template_(pieces);
    builder.Finish(table.Finish());
    Result<PreTokenizer> loaded =
        PreTokenizer::load(*flatbuffers::GetRoot<manifest::Tokenizer>(builder.GetBufferPointer()));
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    steps = *std::move(loaded);
  }

  std::vector<std::string> split(std::string_view text) const {
    std::vector<std::string> words;
    PreTokenizer::Scratch scratch;
    steps.split(text, true, scratch, [&](std::string_view word) {
      words.emplace_back(word);
      return true;
    });
    return words;
  }

  flatbuffers::FlatBufferBuilder builder;
  PreTokenizer steps;
};

TEST(PatternGoldenTest, WordsOfTheReference) {
  std::ifstream file(HEDDLE_TEST_DATA "/oracles/tokenizers/patterns.jsonl");
  size_t patterns = 0;
  for (std::string line; std::getline(file, line); ++patterns) {
    const nlohmann::json golden = nlohmann::json::parse(line, nullptr, false);
    const PackedPreTokenizer packed(golden["pre_tokenizer"]);
    for (const nlohmann::json &item : golden["words"]) {
      EXPECT_EQ(packed.split(item[0].get<std::string>()), item[1].get<std::vector<std::string>>())
          << golden["pre_tokenizer"] << " of " << item[0];
    }
  }
  EXPECT_EQ(patterns, 40u);
}

TEST(PatternGoldenTest, TimeIsLinear) {
  // A backtracking engine would not terminate.
  const PackedPreTokenizer nested(
      {{"type", "Split"}, {"pattern", {{"Regex", "(?:a+)+b|a"}}}, {"behavior", "Isolated"}});
  EXPECT_EQ(nested.split(std::string(2000, 'a')).size(), 2000u);
  const PackedPreTokenizer spaces({{"type", "Split"},
                                   {"pattern", {{"Regex", "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}}},
                                   {"behavior", "Isolated"}});
  EXPECT_EQ(spaces.split(std::string(1'000'000, ' ') + "x").size(), 3u);
}

} // namespace
} // namespace heddle
