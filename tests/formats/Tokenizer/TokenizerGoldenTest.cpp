// SPDX-License-Identifier: Apache-2.0
///
/// Ids and texts of real tokenizers, compared with the Hugging Face tokenizers library and
/// SentencePiece.
#include "base/Utf8.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "runtime/Tokenizer/TextStream.h"
#include "tests/formats/Tokenizer/ImportedTokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace heddle {
namespace {

/// Reads the lines of a .jsonl file.
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

/// Returns the text of ids, streamed. No piece splits a character.
std::string streamed(const Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
  TextStream stream(tokenizer);
  std::string text;
  for (size_t i = 0; i <= ids.size(); ++i) {
    const Result<std::string> piece = i < ids.size() ? stream.add(ids[i]) : stream.finish();
    EXPECT_TRUE(piece.ok()) << piece.status().message();
    EXPECT_EQ(validUtf8Prefix(*piece), piece->size());
    text += *piece;
  }
  return text;
}

/// Compares streams with decoding for parts of the ids, half of them shuffled: this gives
/// incomplete characters and special tokens anywhere.
void checkStreams(const Tokenizer &tokenizer, const std::vector<int32_t> &ids,
                  std::mt19937 &generator) {
  for (int round = 0; round < 8 && !ids.empty(); ++round) {
    std::vector<int32_t> part = ids;
    if (round % 2 == 0) {
      std::shuffle(part.begin(), part.end(), generator);
    }
    const size_t begin = generator() % part.size();
    part.erase(part.begin(), part.begin() + static_cast<ptrdiff_t>(begin));
    part.resize(generator() % (part.size() + 1));
    EXPECT_EQ(streamed(tokenizer, part), *tokenizer.decode(part));
  }
}

std::string withoutSpaces(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

/// Checks that the concatenated bytes of the tokens are the text, except for spaces at its ends.
void checkBytes(const Tokenizer &tokenizer, const std::vector<int32_t> &ids,
                const std::string &decoded) {
  const auto bytes = tokenizer.tokenBytes(
      static_cast<size_t>(ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1));
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  std::string text;
  for (const int32_t id : ids) {
    const std::optional<std::string> &own = (*bytes)[static_cast<size_t>(id)];
    // The unknown token decodes to text that no token has.
    if (!own && !tokenizer.decode({&id, 1})->empty()) {
      return;
    }
    text += own.value_or("");
  }
  if (validUtf8Prefix(text) == text.size()) {
    EXPECT_EQ(withoutSpaces(text), withoutSpaces(decoded));
  }
}

/// Checks the ids and the decoded text of every line, also streamed, and the round trip from
/// tokens.
void checkLines(const Tokenizer &tokenizer, const std::string &path, size_t count = 55) {
  const std::vector<nlohmann::json> lines = readLines(path);
  EXPECT_EQ(lines.size(), count);
  std::mt19937 generator(11);
  for (const nlohmann::json &line : lines) {
    const std::string text = line["text"];
    const Result<std::vector<int32_t>> ids = tokenizer.encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, line["ids"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(*tokenizer.decode(*ids), line["decoded"].get<std::string>()) << text;
    EXPECT_EQ(streamed(tokenizer, *ids), line["decoded"].get<std::string>()) << text;
    checkStreams(tokenizer, *ids, generator);
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
  const bool joins = std::string_view(GetParam()) != "wordpiece";
  for (const nlohmann::json &line : readLines(folder + "/golden.jsonl")) {
    if (joins) {
      checkBytes(*imported.tokenizer, line["ids"], line["decoded"]);
    }
  }
  EXPECT_EQ(
      imported.tokenizer->tokenBytes(1).status().message(),
      joins ? ""
            : "the tokenizer joins pieces of words with spaces, expected one whose text is that "
              "of its tokens, end to end");
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerFileTest,
                         testing::Values("wordpiece", "bpe-bytelevel", "unigram-metaspace"));

/// Tokenizers of language models: patterns like GPT-4's, digits in groups of one or three, whole
/// words before merges, byte tokens without a pre-tokenizer.
class LanguageModelTest : public testing::TestWithParam<const char *> {};

TEST_P(LanguageModelTest, IdsAndTexts) {
  const std::string folder = std::string(HEDDLE_TEST_DATA "/oracles/") + GetParam();
  ImportedTokenizer imported;
  ASSERT_NO_FATAL_FAILURE(importFile(folder + "/tokenizer.json", std::nullopt, imported));
  checkLines(*imported.tokenizer, folder + "/tokenizer.jsonl", 18);
  int count = 0;
  for (const nlohmann::json &line : readLines(folder + "/tokenizer.jsonl")) {
    checkBytes(*imported.tokenizer, line["ids"], line["decoded"]);
    // Arbitrary tokens, as a generated answer may have.
    std::mt19937 generator(13);
    std::vector<int32_t> ids = line["ids"];
    std::shuffle(ids.begin(), ids.end(), generator);
    checkBytes(*imported.tokenizer, ids, *imported.tokenizer->decode(ids));
    ++count;
  }
  EXPECT_EQ(count, 18);
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
  for (const nlohmann::json &line : readLines(folder + "/golden.jsonl")) {
    checkBytes(*tokenizer, line["ids"], line["decoded"]);
  }
  // As long as an answer. This would take minutes if each step decoded all ids.
  std::vector<int32_t> ids;
  for (const nlohmann::json &line : readLines(folder + "/golden.jsonl")) {
    const auto more = line["ids"].get<std::vector<int32_t>>();
    ids.insert(ids.end(), more.begin(), more.end());
  }
  ASSERT_GT(ids.size(), 100U);
  while (ids.size() < 50'000) {
    const std::vector<int32_t> once = ids;
    ids.insert(ids.end(), once.begin(), once.end());
  }
  EXPECT_EQ(streamed(*tokenizer, ids), *tokenizer->decode(ids));
  std::mt19937 generator(12);
  std::shuffle(ids.begin(), ids.end(), generator);
  EXPECT_EQ(streamed(*tokenizer, ids), *tokenizer->decode(ids));
  // Arbitrary ids, half of the time only the first ones: control pieces, the unknown one, bytes.
  const int32_t highest = *std::max_element(ids.begin(), ids.end());
  for (int round = 0; round < 2000; ++round) {
    const auto most = static_cast<size_t>(round % 2 == 0 ? highest + 1 : 20);
    std::vector<int32_t> some(generator() % 12);
    std::generate(some.begin(), some.end(),
                  [&] { return static_cast<int32_t>(generator() % most); });
    EXPECT_EQ(streamed(*tokenizer, some), *tokenizer->decode(some)) << testing::PrintToString(some);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SentencePieceFileTest,
                         testing::Values("sentencepiece-unigram", "sentencepiece-bpe"));

/// Returns the folder of all-MiniLM-L6-v2: $HEDDLE_MINILM, or the folder that the build fetches it
/// to.
std::string miniLmFolder() {
  const char *const folder = std::getenv("HEDDLE_MINILM");
  return folder != nullptr ? folder : HEDDLE_BINARY_DIR "/minilm";
}

TEST(TokenizerGoldenTest, Pairs) {
  std::map<std::string, ImportedTokenizer> tokenizers;
  const std::vector<nlohmann::json> lines =
      readLines(HEDDLE_TEST_DATA "/oracles/tokenizers/pairs.jsonl");
  EXPECT_EQ(lines.size(), 480u);
  for (const nlohmann::json &line : lines) {
    const std::string name = line["tokenizer"];
    ImportedTokenizer &imported = tokenizers[name];
    if (!imported.tokenizer) {
      ASSERT_NO_FATAL_FAILURE(importFile(HEDDLE_TEST_DATA "/oracles/" + name + "/tokenizer.json",
                                         std::nullopt, imported));
    }
    const Result<Tokenizer::Pair> pair = imported.tokenizer->encodePair(
        line["texts"][0].get<std::string>(), line["texts"][1].get<std::string>(), line["most"]);
    ASSERT_TRUE(pair.ok()) << pair.status().message();
    EXPECT_EQ(pair->ids, line["ids"].get<std::vector<int32_t>>()) << line;
    EXPECT_EQ(pair->typeIds, line["type_ids"].get<std::vector<int32_t>>()) << line;
  }
}

TEST(TokenizerGoldenTest, StreamsGiveTextsEarly) {
  ImportedTokenizer imported;
  ASSERT_NO_FATAL_FAILURE(
      importFile(HEDDLE_TEST_DATA "/oracles/qwen2-tiny/tokenizer.json", std::nullopt, imported));
  // With this vocabulary, an ideograph consists of three tokens of one byte each.
  const Result<std::vector<int32_t>> ids = imported.tokenizer->encode("a\u6771b");
  ASSERT_EQ(ids->size(), 5u);
  TextStream stream(*imported.tokenizer);
  std::vector<std::string> pieces;
  for (const int32_t id : *ids) {
    pieces.push_back(*stream.add(id));
  }
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "", "\u6771", "b"}));
  EXPECT_EQ(stream.add(1'000'000).status().code(), StatusCode::OutOfRange);
  EXPECT_EQ(*stream.finish(), "");
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
