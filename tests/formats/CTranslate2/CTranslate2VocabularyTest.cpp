// SPDX-License-Identifier: Apache-2.0
///
/// Vocabularies in all the forms that CTranslate2 has written, and damaged ones.
#include "formats/CTranslate2/CTranslate2Vocabulary.h"

#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using Tokens = std::vector<std::string>;

Tokens readShared(const TemporaryFolder &folder) {
  const auto read = readCTranslate2Vocabularies(folder.path(), "<unk>");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? read->target.tokens : Tokens();
}

std::string messageOf(const TemporaryFolder &folder) {
  return std::string(readCTranslate2Vocabularies(folder.path(), "<unk>").status().message());
}

TEST(CTranslate2VocabularyTest, Text) {
  const TemporaryFolder folder;
  const auto tokens = [&](std::string_view text) {
    folder.write("shared_vocabulary.txt", text);
    return readShared(folder);
  };
  EXPECT_EQ(tokens("<unk>\n<s>\na b\n"), (Tokens{"<unk>", "<s>", "a b"}));
  EXPECT_EQ(tokens("<s>\na"), (Tokens{"<s>", "a", "<unk>"}));
  EXPECT_EQ(tokens("\n\na"), (Tokens{"", "", "a", "<unk>"}));
  EXPECT_EQ(tokens("a\r\n<unk>\r\n"), (Tokens{"a", "<unk>"}));
  EXPECT_EQ(tokens("a\r\n<unk>\n"), (Tokens{"a\r", "<unk>"}));
  // Of equal tokens, the first one is found.
  EXPECT_EQ(tokens("a\nb\na\n"), (Tokens{"a", "b", "a", "<unk>"}));
  const auto read = readCTranslate2Vocabularies(folder.path(), "b");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->isShared());
  EXPECT_EQ(read->source.path, folder / "shared_vocabulary.txt");
  EXPECT_EQ(read->source.tokens, (Tokens{"a", "b", "a"}));
  EXPECT_EQ(read->source.find("a"), 0);
  EXPECT_EQ(read->source.find("b"), 1);
  EXPECT_EQ(read->source.find("c"), std::nullopt);
}

TEST(CTranslate2VocabularyTest, WhichFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      messageOf(folder),
      folder.path() +
          ": has neither shared_vocabulary nor target_vocabulary, expected one as .json or .txt");
  folder.write("target_vocabulary.txt", "t\n");
  EXPECT_EQ(messageOf(folder),
            folder.path() + ": has no source_vocabulary, expected it as .json or .txt");
  folder.write("source_1_vocabulary.json", "[\"s\"]");
  EXPECT_EQ(messageOf(folder), folder / "source_1_vocabulary.json: source features are not "
                                        "supported, expected a single source_vocabulary");
  folder.write("source_vocabulary.txt", "s\n");
  auto read = readCTranslate2Vocabularies(folder.path(), "<unk>");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_FALSE(read->isShared());
  EXPECT_EQ(read->source.tokens, (Tokens{"s", "<unk>"}));
  EXPECT_EQ(read->target.tokens, (Tokens{"t", "<unk>"}));
  folder.write("target_vocabulary.json", R"(["<unk>", "ü"])");
  read = readCTranslate2Vocabularies(folder.path(), "<unk>");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->target.tokens, (Tokens{"<unk>", "ü"}));
  folder.write("shared_vocabulary.txt", "both\n");
  EXPECT_EQ(readShared(folder), (Tokens{"both", "<unk>"}));
}

TEST(CTranslate2VocabularyTest, Bad) {
  const TemporaryFolder folder;
  const std::string json = folder / "shared_vocabulary.json";
  const auto message = [&](std::string_view text) {
    folder.write("shared_vocabulary.json", text);
    return messageOf(folder);
  };
  EXPECT_EQ(message(""), json + ": the file is empty");
  EXPECT_EQ(message("{}"), json + ": is an object of 0, expected a list of tokens");
  EXPECT_EQ(message(R"(["a", 3])"), json + ": token 2 is 3, expected a string");
  EXPECT_EQ(message("[\"a\""), json + ": not JSON at byte 5, near \"[\\\"a\\\"\"");
  const TemporaryFolder other;
  const std::string text = other.write("target_vocabulary.txt", "a\n\xff\n");
  EXPECT_EQ(messageOf(other), text + ": line 2, byte 1 is 0xff, expected UTF-8");
  other.write("target_vocabulary.txt", "a\n");
  other.write("source_vocabulary.txt", "");
  EXPECT_EQ(messageOf(other), other / "source_vocabulary.txt: the file is empty");
}

} // namespace
} // namespace heddle
