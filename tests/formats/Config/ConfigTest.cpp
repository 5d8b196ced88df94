// SPDX-License-Identifier: Apache-2.0
///
/// Tests every typed accessor with valid, absent, null and wrong values.
#include "formats/Config/Config.h"

#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

/// Returns a configuration with one value of each type.
Config makeConfig() {
  return *Config::parse(R"({"size":384,"negative":-3,"huge":18446744073709551615,"eps":1e-12,
                            "whole":3.0,"act":"gelu","on":true,"nothing":null,
                            "names":["a","b"],"mixed":["a",1],
                            "inner":{"theta":"x"}})",
                        "config.json");
}

template <typename T> std::string messageOf(const Result<T> &result) {
  return std::string(result.status().message());
}

TEST(ConfigTest, Values) {
  const Config config = makeConfig();
  EXPECT_EQ(*config.integer("size", 1, 65536), 384);
  EXPECT_EQ(*config.integer("negative", -3, -3), -3);
  EXPECT_EQ(*config.number("eps", 0, 1), 1e-12);
  EXPECT_EQ(*config.number("size", 0, 1000), 384.0);
  EXPECT_EQ(*config.string("act"), "gelu");
  EXPECT_TRUE(*config.boolean("on"));
  EXPECT_EQ(*config.oneOf("act", {"relu", "gelu"}), "gelu");
  EXPECT_EQ(*config.strings("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(config.has("act"));
  EXPECT_FALSE(config.has("nothing"));
  EXPECT_FALSE(config.has("absent"));
  EXPECT_TRUE(config.isPresent("act"));
  EXPECT_TRUE(config.isPresent("nothing"));
  EXPECT_FALSE(config.isPresent("absent"));
  EXPECT_EQ(config.keys().size(), 11u);
  EXPECT_EQ(config.keys().front(), "act");
  EXPECT_EQ(config.where(), "config.json");
}

TEST(ConfigTest, AbsentAndNullTakeTheDefault) {
  const Config config = makeConfig();
  for (const char *key : {"absent", "nothing"}) {
    EXPECT_EQ(*config.integerOr(key, 1, 2, 7), 7);
    EXPECT_EQ(*config.numberOr(key, 1, 2, 0.5), 0.5);
    EXPECT_EQ(*config.stringOr(key, "s"), "s");
    EXPECT_TRUE(*config.booleanOr(key, true));
    EXPECT_EQ(*config.oneOfOr(key, {"x"}, "y"), "y");
  }
  EXPECT_EQ(*config.integerOr("size", 1, 1000, 7), 384);
  EXPECT_EQ(*config.numberOr("eps", 0, 1, 7), 1e-12);
  EXPECT_EQ(*config.stringOr("act", "s"), "gelu");
  EXPECT_TRUE(*config.booleanOr("on", false));
  EXPECT_EQ(*config.oneOfOr("act", {"gelu"}, "y"), "gelu");
}

TEST(ConfigTest, WrongValues) {
  const Config config = makeConfig();
  EXPECT_EQ(messageOf(config.integer("act", 1, 65536)),
            R"(config.json: "act" is "gelu", expected an integer from 1 to 65536)");
  EXPECT_EQ(messageOf(config.integer("absent", 1, 2)),
            R"(config.json: "absent" is missing, expected an integer from 1 to 2)");
  EXPECT_EQ(messageOf(config.integer("nothing", 1, 2)),
            R"(config.json: "nothing" is null, expected an integer from 1 to 2)");
  EXPECT_EQ(messageOf(config.integer("whole", 1, 9)),
            R"(config.json: "whole" is 3.0, expected an integer from 1 to 9)");
  EXPECT_EQ(messageOf(config.integer("negative", 0, 9)),
            R"(config.json: "negative" is -3, expected an integer from 0 to 9)");
  EXPECT_EQ(messageOf(config.integer("size", 0, 383)),
            R"(config.json: "size" is 384, expected an integer from 0 to 383)");
  EXPECT_EQ(messageOf(config.integer("huge", INT64_MIN, INT64_MAX)),
            R"(config.json: "huge" is 18446744073709551615, expected an integer from )"
            "-9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(messageOf(config.integerOr("on", 0, 1, 0)),
            R"(config.json: "on" is true, expected an integer from 0 to 1)");
  EXPECT_EQ(messageOf(config.number("act", 0, 1)),
            R"(config.json: "act" is "gelu", expected a number from 0 to 1)");
  EXPECT_EQ(messageOf(config.number("size", 0, 1)),
            R"(config.json: "size" is 384, expected a number from 0 to 1)");
  EXPECT_EQ(messageOf(config.numberOr("negative", 1e-20, 0.5, 0)),
            R"(config.json: "negative" is -3, expected a number from 1e-20 to 0.5)");
  EXPECT_EQ(messageOf(config.string("size")), R"(config.json: "size" is 384, expected a string)");
  EXPECT_EQ(messageOf(config.stringOr("on", "")),
            R"(config.json: "on" is true, expected a string)");
  EXPECT_EQ(messageOf(config.boolean("size")),
            R"(config.json: "size" is 384, expected true or false)");
  EXPECT_EQ(messageOf(config.booleanOr("act", true)),
            R"(config.json: "act" is "gelu", expected true or false)");
  EXPECT_EQ(messageOf(config.oneOf("act", {"relu", "silu"})),
            R"(config.json: "act" is "gelu", expected one of relu, silu; did you mean "relu"?)");
  EXPECT_EQ(messageOf(config.oneOf("act", {"tanh", "sigmoid"})),
            R"(config.json: "act" is "gelu", expected one of tanh, sigmoid)");
  EXPECT_EQ(messageOf(config.oneOfOr("size", {"relu"}, "relu")),
            R"(config.json: "size" is 384, expected one of relu)");
  EXPECT_EQ(messageOf(config.strings("act")),
            R"(config.json: "act" is "gelu", expected a list of strings)");
  EXPECT_EQ(messageOf(config.strings("mixed")),
            R"(config.json: item 2 of "mixed" is 1, expected a string)");
  EXPECT_EQ(messageOf(config.object("names")),
            R"(config.json: "names" is a list of 2, expected an object)");
}

TEST(ConfigTest, NestedObjectOutlivesItsParent) {
  const Config inner = *makeConfig().object("inner");
  EXPECT_EQ(*inner.string("theta"), "x");
  EXPECT_EQ(messageOf(inner.number("theta", 0, 1)),
            R"(config.json: "inner": "theta" is "x", expected a number from 0 to 1)");
}

TEST(ConfigTest, BadFiles) {
  EXPECT_EQ(messageOf(Config::parse("[1]", "c.json")),
            "c.json: is a list of 1, expected an object");
  EXPECT_EQ(messageOf(Config::parse("{", "c.json")), "c.json: not JSON at byte 2, near \"{\"");
  const TemporaryFolder folder;
  EXPECT_EQ(messageOf(Config::open(folder / "c.json")),
            folder / "c.json: cannot open: No such file or directory");
  EXPECT_EQ(messageOf(Config::open(folder.write("c.json", "true"))),
            folder / "c.json: is true, expected an object");
}

TEST(ConfigTest, IntegersAreOneOrAList) {
  const Config config = *Config::parse(R"({"one": 3, "some": [1, 2], "none": [], "mixed": [1, "a"],
                                           "lists": [[1], [2, 3]], "flat": [1]})",
                                       "config.json");
  EXPECT_EQ(*config.integers("one", 0, 3), std::vector<int64_t>({3}));
  EXPECT_EQ(*config.integers("some", 0, 3), std::vector<int64_t>({1, 2}));
  EXPECT_TRUE(config.integers("none", 0, 3)->empty());
  EXPECT_EQ(messageOf(config.integers("one", 0, 2)),
            "config.json: \"one\" is 3, expected an integer from 0 to 2, or a list of them");
  EXPECT_EQ(messageOf(config.integers("mixed", 0, 2)),
            "config.json: \"mixed\" is a list of 2, expected an integer from 0 to 2, or a list of "
            "them");
  EXPECT_EQ(
      messageOf(config.integers("absent", 0, 2)),
      "config.json: \"absent\" is missing, expected an integer from 0 to 2, or a list of them");
  EXPECT_EQ(*config.integerLists("lists", 0, 3), std::vector<std::vector<int64_t>>({{1}, {2, 3}}));
  EXPECT_EQ(
      messageOf(config.integerLists("flat", 0, 3)),
      "config.json: \"flat\" is a list of 1, expected a list of lists of integers from 0 to 3");
}

} // namespace
} // namespace heddle
