// SPDX-License-Identifier: Apache-2.0
///
/// JSON files that are rejected, with their messages.
#include "formats/Config/Json.h"

#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace heddle {
namespace {

std::string messageOf(std::string_view text) {
  const auto plain = parseJson(text, "x.json");
  const auto ordered = parseOrderedJson(text, "x.json");
  EXPECT_EQ(plain.status().message(), ordered.status().message());
  return std::string(plain.status().message());
}

TEST(JsonTest, Values) {
  const auto value =
      parseJson(R"( {"a":[1,-2,2.5,true,null,"\u00e9"],"b":{"c":{}},"d":[[],[]]} )", "x.json");
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(value->dump(),
            "{\"a\":[1,-2,2.5,true,null,\"\u00e9\"],\"b\":{\"c\":{}},\"d\":[[],[]]}");
  EXPECT_EQ(parseJson("3", "x.json")->dump(), "3");
}

TEST(JsonTest, OrderIsKept) {
  const auto value = parseOrderedJson(R"({"z":1,"a":{"y":2,"b":[{"q":1,"c":2}]}})", "x.json");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->dump(), R"({"z":1,"a":{"y":2,"b":[{"q":1,"c":2}]}})");
}

TEST(JsonTest, LongIntegersBecomeFloatsOrAreRefused) {
  const std::string text = R"({"a":[18446744073709551615,-9223372036854775808,1e300,2.5E19]})";
  EXPECT_TRUE(parseOrderedJson(text, "x.json", LongIntegers::Refuse).ok());
  for (const std::string digits : {"18446744073709551616", "-9223372036854775809"}) {
    EXPECT_TRUE(parseOrderedJson(digits, "x.json")->is_number_float());
    EXPECT_EQ(
        parseOrderedJson("[" + digits + "]", "x.json", LongIntegers::Refuse).status().message(),
        "x.json: integer \"" + digits + "\" needs more than 64 bits");
  }
}

TEST(JsonTest, SyntaxErrors) {
  EXPECT_EQ(messageOf(""), R"(x.json: not JSON at byte 1, near "")");
  EXPECT_EQ(messageOf("{\"a\" 1}"), R"(x.json: not JSON at byte 6, near "{\"a\" 1}")");
  EXPECT_EQ(messageOf("[1,]"), R"(x.json: not JSON at byte 4, near "[1,]")");
  EXPECT_EQ(messageOf("nul"), R"(x.json: not JSON at byte 4, near "nul")");
  EXPECT_EQ(messageOf("NaN"), R"(x.json: not JSON at byte 1, near "NaN")");
  EXPECT_EQ(messageOf("\"\\ud800\""), R"(x.json: not JSON at byte 8, near "\"\\ud800\"")");
  EXPECT_EQ(messageOf("[0,1,2,3,4,5,6,7,8,9,10,11,12,x,14,15,16,17,18,19]"),
            R"(x.json: not JSON at byte 31, near ",5,6,7,8,9,10,11,12,x,14,15,16")");
  EXPECT_EQ(messageOf("-1e400"), R"(x.json: a number is too large at byte 6, near "-1e400")");
}

TEST(JsonTest, PlacesInSeveralLines) {
  EXPECT_EQ(messageOf("{\n  \"a\" 1\n}"),
            R"(x.json: not JSON at line 2, byte 7, near "{\n  \"a\" 1\n}")");
  EXPECT_EQ(messageOf("{\n  \"a\": \"\xff\"\n}\n"),
            "x.json: line 2, byte 9 is 0xff, expected UTF-8");
  // A final line feed does not start a second line.
  EXPECT_EQ(messageOf("[\xff]\n"), "x.json: byte 2 is 0xff, expected UTF-8");
}

TEST(JsonTest, NotUtf8) {
  EXPECT_EQ(messageOf("\xff"), "x.json: byte 1 is 0xff, expected UTF-8");
  EXPECT_EQ(messageOf("[\"0123456789abcdef\xed\xa0\x80\"]"),
            "x.json: byte 19 is 0xed, expected UTF-8");
}

TEST(JsonTest, Depth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(messageOf(nested(jsonDepthLimit)), "");
  EXPECT_EQ(messageOf(nested(jsonDepthLimit + 1)),
            "x.json: lists and objects nest deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 1000000; ++i) {
    objects += "{\"\":";
  }
  EXPECT_EQ(messageOf(objects), "x.json: lists and objects nest deeper than 64 levels");
}

TEST(JsonTest, DuplicateKeys) {
  EXPECT_EQ(messageOf(R"({"a":1,"b":2,"a":3})"), "x.json: key \"a\" appears twice");
  EXPECT_EQ(messageOf(R"([{"a":1},{"a":1,"\u0061":2}])"), "x.json: key \"a\" appears twice");
}

TEST(JsonTest, Files) {
  const TemporaryFolder folder;
  const auto message = [](const std::string &path) {
    EXPECT_EQ(readJsonFile(path).status().message(), readOrderedJsonFile(path).status().message());
    return std::string(readJsonFile(path).status().message());
  };
  EXPECT_EQ(message(folder / "no"), folder / "no: cannot open: No such file or directory");
  EXPECT_EQ(message(folder.path()), folder.path() + ": is a directory, expected a file");
  EXPECT_EQ(message(folder.write("empty", "")), folder / "empty: the file is empty");
  EXPECT_EQ(message(folder.write("bad", "{")), folder / "bad: not JSON at byte 2, near \"{\"");
  EXPECT_EQ(message(folder.write("good", "{}")), "");
  // A sparse file, which takes no space.
  const std::string large = folder.write("large", "{");
  ASSERT_EQ(::truncate(large.c_str(), static_cast<off_t>(jsonFileLimit) + 1), 0);
  EXPECT_EQ(message(large), large + ": 536870913 bytes long, expected JSON of at most 536870912 "
                                    "bytes");
}

TEST(JsonTest, Descriptions) {
  const auto describe = [](std::string_view text) { return describeJson(*parseJson(text, "x")); };
  EXPECT_EQ(describe("12"), "12");
  EXPECT_EQ(describe("null"), "null");
  EXPECT_EQ(describe("[1,2]"), "a list of 2");
  EXPECT_EQ(describe(R"({"a":1})"), "an object of 1");
  EXPECT_EQ(describe(R"("a\u0007b")"), R"("a\x07b")");
  EXPECT_EQ(describe('"' + std::string(100, 'x') + '"'), '"' + std::string(80, 'x') + "...\"");
  EXPECT_EQ(describeJson(*parseOrderedJson("[]", "x")), "a list of 0");
}

} // namespace
} // namespace heddle
