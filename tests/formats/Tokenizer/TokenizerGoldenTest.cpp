// SPDX-License-Identifier: Apache-2.0
///
/// Ids and texts of real tokenizers, as the Hugging Face tokenizers library and SentencePiece give
/// them.
#include "formats/Config/Json.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "tests/formats/Tokenizer/ImportedTokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// The lines of a .jsonl file.
std::vector<nlohmann::json> readLines(const std::string &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(nlohmann::json::parse(line, nullptr, false));
  }
  return lines;
}

void importFile(const std::string &path, std::optional<int64_t> maxLength,
                ImportedTokenizer &imported) {
  const Result<nlohmann::json> json = readJsonFile(path);
  ASSERT_TRUE(json.ok()) << json.status().message();
  const Status status = imported.import(*json, maxLength);
  ASSERT_TRUE(status.ok()) << status.message();
}

/// Every id, every decoded text, and the way back from the tokens.
void checkLines(const Tokenizer &tokenizer, const std::string &path, size_t count = 55) {
  const std::vector<nlohmann::json> lines = readLines(path);
  EXPECT_EQ(lines.size(), count);
  for (const nlohmann::json &line : lines) {
    const std::string text = line["text"];
    const Result<std::vector<int32_t>> ids = tokenizer.encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, line["ids"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(*tokenizer.decode(*ids), line["decoded"].get<std::string>()) << text;
    const Result<std::vector<std::string>> tokens = tokenizer.tokens(*ids);
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    for (size_t i = 0; i < ids->size(); ++i) {
      EXPECT_EQ(tokenizer.idOf((*tokens)[i]), (*ids)[i]);
    }
  }
}

class TokenizerFileTest : public testing::TestWithParam<const char *> {};

TEST_P(TokenizerFileTest, IdsAndTexts) {
  const std::string folder = std::string(HEDDLE_TEST_DATA "/oracles/tokenizers/") + GetParam();
  ImportedTokenizer imported;
  ASSERT_NO_FATAL_FAILURE(importFile(folder + "/tokenizer.json", std::nullopt, imported));
  checkLines(*imported.tokenizer, folder + "/golden.jsonl");
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerFileTest,
                         testing::Values("wordpiece", "bpe-bytelevel", "unigram-metaspace"));

/// Tokenizers of language models: patterns of GPT-4's kind, digits by one and by three, whole words
/// before merges, byte tokens without a pre-tokenizer.
class LanguageModelTest : public testing::TestWithParam<const char *> {};

TEST_P(LanguageModelTest, IdsAndTexts) {
  const std::string folder = std::string(HEDDLE_TEST_DATA "/oracles/") + GetParam();
  ImportedTokenizer imported;
  ASSERT_NO_FATAL_FAILURE(importFile(folder + "/tokenizer.json", std::nullopt, imported));
  checkLines(*imported.tokenizer, folder + "/tokenizer.jsonl", 18);
}

INSTANTIATE_TEST_SUITE_P(All, LanguageModelTest,
                         testing::Values("qwen2-tiny", "llama3-tiny", "mistral-tiny"));

class SentencePieceFileTest : public testing::TestWithParam<const char *> {};

TEST_P(SentencePieceFileTest, IdsAndTexts) {
  const std::string folder = std::string(HEDDLE_TEST_DATA "/oracles/tokenizers/") + GetParam();
  const Result<TokenizerFile> file = TokenizerFile::open(folder + "/source.spm");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<std::vector<uint8_t>> table = file->packAlone();
  ASSERT_TRUE(table.ok()) << table.status().message();
  const Result<Tokenizer> tokenizer =
      Tokenizer::load(flatbuffers::GetRoot<manifest::Tokenizer>(table->data()));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  checkLines(*tokenizer, folder + "/golden.jsonl");
}

INSTANTIATE_TEST_SUITE_P(All, SentencePieceFileTest,
                         testing::Values("sentencepiece-unigram", "sentencepiece-bpe"));

/// The folder of all-MiniLM-L6-v2: $HEDDLE_MINILM, or where the build fetches it to.
std::string miniLmFolder() {
  const char *const folder = std::getenv("HEDDLE_MINILM");
  return folder != nullptr ? folder : HEDDLE_BINARY_DIR "/minilm";
}

TEST(TokenizerGoldenTest, MiniLm) {
  const std::string file = miniLmFolder() + "/tokenizer.json";
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << " is not there: set HEDDLE_MINILM to a folder of all-MiniLM-L6-v2";
  }
  ImportedTokenizer imported;
  ASSERT_NO_FATAL_FAILURE(importFile(file, 256, imported));
  const std::vector<nlohmann::json> lines =
      readLines(HEDDLE_TEST_DATA "/oracles/minilm/embeddings.jsonl");
  EXPECT_EQ(lines.size(), 55u);
  for (const nlohmann::json &line : lines) {
    const std::string text = line["text"];
    EXPECT_EQ(*imported.tokenizer->encode(text), line["ids"].get<std::vector<int32_t>>()) << text;
  }
}

} // namespace
} // namespace heddle
