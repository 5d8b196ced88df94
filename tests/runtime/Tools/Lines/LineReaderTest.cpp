// SPDX-License-Identifier: Apache-2.0
///
/// Every line ending, every form of text, every message.
#include "runtime/Tools/Lines/LineReader.h"

#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle::tools {

namespace {
struct LineReaderTest : testing::Test {
  /// Returns all texts of a file, or its error, without the folder.
  std::string textsOf(const std::string &name, const std::string &content) {
    const std::string path = folder.write(name, content);
    Result<LineReader> reader = LineReader::openTexts(path, LineFormat::ByName);
    if (!reader.ok()) {
      return shortened(reader.status());
    }
    std::string all;
    std::vector<Text> block;
    while (true) {
      if (const Status status = reader->nextBlock(block); !status.ok()) {
        return shortened(status);
      }
      if (block.empty()) {
        return all;
      }
      for (const Text &text : block) {
        if (!text.status.ok()) {
          return shortened(text.status);
        }
        all += '<' + text.text + '>';
      }
    }
  }

  std::string shortened(const Status &status) const {
    std::string message(status.message());
    const std::string prefix = folder.path() + "/";
    const size_t at = message.find(prefix);
    return at == std::string::npos ? message : message.erase(at, prefix.size());
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(LineReaderTest, LinesAreTexts) {
  EXPECT_EQ(textsOf("a.txt", "one\ntwo\n"), "<one><two>");
  EXPECT_EQ(textsOf("a.txt", "one\ntwo"), "<one><two>");
  EXPECT_EQ(textsOf("a.txt", "one\r\ntwo\r\n"), "<one><two>");
  EXPECT_EQ(textsOf("a.txt", "one\n\ntwo\n\n"), "<one><><two><>");
  EXPECT_EQ(textsOf("a.txt", "\n"), "<>");
  EXPECT_EQ(textsOf("a.txt", "\r\n"), "<>");
  EXPECT_EQ(textsOf("a.txt", "a\rb\n"), "<a\rb>");
  EXPECT_EQ(textsOf("a.txt", "\xef\xbb\xbfone\n\xef\xbb\xbftwo\n"), "<one><\xef\xbb\xbftwo>");
  EXPECT_EQ(textsOf("a.txt", std::string("a\0b\n", 4)), std::string("<a\0b>", 5));
  EXPECT_EQ(textsOf("a.txt", "\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80\n"),
            "<\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80>");
}

TEST_F(LineReaderTest, ObjectsAreTexts) {
  EXPECT_EQ(textsOf("a.jsonl", "{\"text\": \"one\"}\n{\"id\": 7, \"text\": \"t\\u00e9\\nwo\"}\r\n"),
            "<one><t\xc3\xa9\nwo>");
  EXPECT_EQ(textsOf("a.jsonl", "  {\"text\":\"\"}"), "<>");
}

TEST_F(LineReaderTest, LongLinesCrossReads) {
  const std::string text(200'000, 'x');
  EXPECT_EQ(textsOf("a.txt", text + "\r\n" + text + "\n"), '<' + text + "><" + text + '>');
}

TEST_F(LineReaderTest, BlocksAreBounded) {
  std::string lines;
  for (size_t line = 0; line < blockTexts + 1; ++line) {
    lines += "short\n";
  }
  const std::string half(blockBytes / 2, 'x');
  Result<LineReader> many =
      LineReader::openTexts(folder.write("many.txt", lines), LineFormat::ByName);
  Result<LineReader> large = LineReader::openTexts(
      folder.write("large.txt", half + '\n' + half + '\n' + half + '\n'), LineFormat::ByName);
  ASSERT_TRUE(many.ok() && large.ok());
  std::vector<Text> block;
  ASSERT_TRUE(many->nextBlock(block).ok());
  EXPECT_EQ(block.size(), blockTexts);
  ASSERT_TRUE(many->nextBlock(block).ok());
  EXPECT_EQ(block.size(), 1U);
  EXPECT_EQ(many->number(), static_cast<int64_t>(blockTexts + 1));
  ASSERT_TRUE(large->nextBlock(block).ok());
  EXPECT_EQ(block.size(), 2U);
}

/// The accepted names are checked by the options of a command.
TEST_F(LineReaderTest, LinesThatFailTogether) {
  EXPECT_EQ(placesFrom("a.txt:3", 1), "a.txt:3");
  EXPECT_EQ(placesFrom("a.txt:3", 5), "a.txt:3 and 4 after it");
}

TEST_F(LineReaderTest, OnlyJsonlHasObjects) {
  const std::string line = R"({"text": "x"})";
  EXPECT_EQ(textsOf("a.jsonl", line), "<x>");
  EXPECT_EQ(textsOf("a.txt", line), '<' + line + '>');
  EXPECT_EQ(textsOf("jsonl", line), '<' + line + '>');
}

TEST_F(LineReaderTest, FilesThatCannotBeRead) {
  const Result<LineReader> absent =
      LineReader::openTexts(folder / "absent.txt", LineFormat::ByName);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.status().code(), StatusCode::NotFound);
  EXPECT_EQ(shortened(absent.status()), "absent.txt: cannot open: No such file or directory");
  std::filesystem::create_directory(folder / "folder.txt");
  Result<LineReader> reader = LineReader::openTexts(folder / "folder.txt", LineFormat::ByName);
  ASSERT_TRUE(reader.ok());
  std::vector<Text> block;
  EXPECT_EQ(shortened(reader->nextBlock(block)), "folder.txt: cannot read: Is a directory");
}

TEST_F(LineReaderTest, NoTexts) {
  EXPECT_EQ(textsOf("a.txt", ""), "a.txt: no texts, expected at least one");
  EXPECT_EQ(textsOf("a.jsonl", ""), "a.jsonl: no texts, expected at least one");
}

TEST_F(LineReaderTest, TextsThatAreNotUtf8) {
  EXPECT_EQ(textsOf("a.txt", "fine\nnot \xff fine\n"), "a.txt:2: byte 5 is 0xff, expected UTF-8");
  EXPECT_EQ(textsOf("a.txt", "cut \xc3"), "a.txt:1: byte 5 is 0xc3, expected UTF-8");
  EXPECT_EQ(textsOf("a.txt", "\xed\xa0\x80"), "a.txt:1: byte 1 is 0xed, expected UTF-8");
  EXPECT_EQ(textsOf("a.jsonl", "{\"text\": \"\xfe\"}\n"),
            "a.jsonl:1: byte 11 is 0xfe, expected UTF-8");
}

TEST_F(LineReaderTest, RecordsThatAreNone) {
  const std::string expected = R"(expected an object such as {"text": "..."})";
  const std::string good = "{\"text\": \"x\"}\n";
  EXPECT_EQ(textsOf("a.jsonl", good + "\n"), "a.jsonl:2: the line is empty, " + expected);
  EXPECT_EQ(textsOf("a.jsonl", good + "7\n"), "a.jsonl:2: found 7, " + expected);
  EXPECT_EQ(textsOf("a.jsonl", "{\"body\": \"x\"}\n"), "a.jsonl:1: no key \"text\", " + expected);
  EXPECT_EQ(textsOf("a.jsonl", "{\"text\": 7}\n"), "a.jsonl:1: \"text\" is 7, expected a string");
  EXPECT_EQ(textsOf("a.jsonl", good + good + "{\"text\": \"x\"\n").substr(0, 11), "a.jsonl:3: ");
}

TEST_F(LineReaderTest, LinesThatAreTooLong) {
  EXPECT_EQ(textsOf("a.txt", "x\n" + std::string(lineLimit + (1 << 17), 'x')),
            "a.txt:2: the line is longer than 16777216 bytes, expected a shorter text");
}

/// Every unusable line has its failure, and the lines after it are read.
TEST_F(LineReaderTest, ReadingGoesOnAfterABadLine) {
  const std::string tooLong(lineLimit + (1 << 17), 'x');
  const std::string path = folder.write("a.txt", "one\n\xff\n" + tooLong + "\ntwo\n" + tooLong);
  Result<LineReader> reader = LineReader::openTexts(path, LineFormat::ByName);
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> seen;
  while (true) {
    Result<std::optional<Line>> line = reader->next();
    ASSERT_TRUE(line.ok()) << line.status().message();
    if (!*line) {
      break;
    }
    seen.push_back((*line)->status.ok() ? std::string((*line)->text) : shortened((*line)->status));
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{
                "one", "a.txt:2: byte 1 is 0xff, expected UTF-8",
                "a.txt:3: the line is longer than 16777216 bytes, expected a shorter text", "two",
                "a.txt:5: the line is longer than 16777216 bytes, expected a shorter text"}));
  EXPECT_EQ(reader->number(), 5);
}

/// The limit is the same wherever reads split the line.
TEST_F(LineReaderTest, TheLongestLine) {
  const std::string longest(lineLimit, 'x');
  EXPECT_EQ(textsOf("a.txt", longest + "\n").size(), lineLimit + 2);
  EXPECT_EQ(textsOf("a.txt", longest + "x\n"),
            "a.txt:1: the line is longer than 16777216 bytes, expected a shorter text");
}

TEST_F(LineReaderTest, TextsAreCounted) {
  const Result<std::optional<int64_t>> count = countTexts(folder.write("a.txt", "one\n\nthree"));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 3);
  const Result<std::optional<int64_t>> input = countTexts("-");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(*input, std::nullopt);
}

TEST_F(LineReaderTest, BlankLinesArePassedOver) {
  Result<LineReader> reader = LineReader::open(folder.write("a", "\n one\n \t\r\n\ntwo \n \n"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader->nextText())->text, " one");
  EXPECT_TRUE(reader->where().ends_with("a:2"));
  EXPECT_EQ((*reader->nextText())->text, "two ");
  EXPECT_TRUE(reader->where().ends_with("a:5"));
  EXPECT_FALSE(reader->nextText()->has_value());
}

TEST_F(LineReaderTest, SourcesComeFromLinesOrRecords) {
  const std::string path = folder.write("a.jsonl", R"({"text": "one"})"
                                                   "\n"
                                                   R"({"id": 2, "text": ""})"
                                                   "\n[3]\n");
  Result<LineReader> texts = openSources(path, false, LineFormat::ByName);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ((*texts->next())->text, "one");
  EXPECT_EQ((*texts->next())->text, "");
  EXPECT_EQ(texts->where(), path + ":2");
  EXPECT_EQ((*texts->next())->status.message(),
            path + R"(:3: found a list of 1, expected an object such as {"text": "..."})");
  // Token ids are lines, whatever the name is.
  Result<LineReader> tokens = openSources(path, true, LineFormat::ByName);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens->next())->text, R"({"text": "one"})");
}

TEST_F(LineReaderTest, AFormatThatIsSaidCountsMoreThanTheName) {
  const std::string record = R"({"text": "one"})";
  const auto firstOf = [&](const std::string &name, LineFormat format) {
    Result<LineReader> reader = openSources(folder.write(name, record + "\n"), false, format);
    return std::string((*reader->next())->text);
  };
  EXPECT_EQ(firstOf("a.txt", LineFormat::ByName), record);
  EXPECT_EQ(firstOf("a.txt", LineFormat::JsonLines), "one");
  EXPECT_EQ(firstOf("a.jsonl", LineFormat::Text), record);
}

/// Lines keep their numbers in every command, so a line without an object is an error even if empty
/// texts are skipped.
TEST_F(LineReaderTest, BlankLinesAreNoObjects) {
  const std::string lines = "{\"text\": \" \"}\n\t\n{\"text\": \"one\"}\n\n";
  const std::string path = folder.write("b.jsonl", lines);
  const std::string problem = R"(: the line is empty, expected an object such as {"text": "..."})";
  Result<LineReader> all = LineReader::openTexts(path, LineFormat::ByName);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all->nextText())->status.message(), path + ":2" + problem);
  EXPECT_EQ((*all->nextText())->text, "one");
  EXPECT_EQ((*all->nextText())->status.message(), path + ":4" + problem);
  EXPECT_FALSE(all->nextText()->has_value());
  std::vector<Text> block;
  Result<LineReader> again = LineReader::openTexts(path, LineFormat::ByName);
  ASSERT_TRUE(again.ok() && again->nextBlock(block).ok());
  ASSERT_EQ(block.size(), 4U);
  EXPECT_EQ(block[1].status.message(), path + ":2" + problem);
  EXPECT_EQ(block[2].text, "one");
  EXPECT_EQ(block[3].status.message(), path + ":4" + problem);
}

} // namespace heddle::tools
