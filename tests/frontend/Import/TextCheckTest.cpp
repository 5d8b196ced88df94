// SPDX-License-Identifier: Apache-2.0
///
/// Programs that nest deeper than MLIR's parser can handle, each in a different way, and programs
/// that only appear to.
#include "frontend/Import/TextCheck.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

std::string repeated(std::string_view text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

/// A program that nests in one way, to a given depth.
struct Nesting {
  const char *name;
  std::string (*text)(size_t depth);
};

const Nesting nestings[] = {
    {"Attributes", [](size_t depth) { return repeated("[", depth) + repeated("]", depth); }},
    {"Dictionaries", [](size_t depth) { return repeated("{a = ", depth) + repeated("}", depth); }},
    {"Types",
     [](size_t depth) { return repeated("tuple<", depth) + "i32" + repeated(">", depth); }},
    {"Regions",
     [](size_t depth) { return repeated("module {\n", depth) + repeated("}\n", depth); }},
    {"Locations",
     [](size_t depth) {
       return repeated("loc(callsite(\"a\" at ", depth / 2) + repeated("))", depth / 2);
     }},
    {"Minuses",
     [](size_t depth) { return "affine_map<(d0) -> (" + repeated("-", depth - 2) + "d0)>"; }},
    {"Sums",
     [](size_t depth) { return "affine_map<(d0) -> (d0" + repeated(" + d0", depth - 2) + ")>"; }},
    {"Remainders",
     [](size_t depth) { return "affine_map<(d0) -> (d0" + repeated(" mod 7", depth - 2) + ")>"; }},
    {"RemaindersBehindNumbers",
     [](size_t depth) { return "affine_map<() -> (7" + repeated("mod 7", depth - 2) + ")>"; }},
    {"Aliases",
     [](size_t depth) {
       std::string text = "#a1 = [unit]\n";
       for (size_t i = 2; i <= depth; ++i) {
         text += fmt::format("#a{} =\n  [#a{}] // nothing\n", i, i - 1);
       }
       return text;
     }},
    {"AliasesBehindComments",
     [](size_t depth) {
       std::string text = "#a1 // c\n= [unit]\n";
       for (size_t i = 2; i <= depth; ++i) {
         text += fmt::format("#a{} // c = 1\n // d\n  = [#a{}]\n", i, i - 1);
       }
       return text;
     }},
    {"AliasesOfTypes",
     [](size_t depth) {
       std::string text = "!a1 = tuple<i32>\n";
       for (size_t i = 2; i <= depth; ++i) {
         text += fmt::format("!a{0} = tuple<!a{1}>\n#a{0} = dense<1>\n : !a{1}\n", i, i - 1);
       }
       return text;
     }},
    {"BehindComparisons",
     [](size_t depth) { return "(d0 >= 0, d0 <= 1) " + repeated("(", depth); }},
};

class NestingTest : public testing::TestWithParam<Nesting> {};

TEST_P(NestingTest, IsBounded) {
  const Status deepest = checkProgramText(GetParam().text(deepestNesting), "p.mlir");
  EXPECT_TRUE(deepest.ok()) << deepest.message();
  for (const size_t depth : {size_t(deepestNesting) + 2, size_t(100000)}) {
    const Status status = checkProgramText(GetParam().text(depth), "p.mlir");
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find("error: the text nests 257 levels deep, expected at most 256"),
              std::string::npos)
        << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(TextCheck, NestingTest, testing::ValuesIn(nestings),
                         [](const auto &info) { return info.param.name; });

TEST(TextCheckTest, SaysWhere) {
  const std::string text = "module {\n  \"a\"() : " + repeated("(", 300);
  EXPECT_EQ(checkProgramText(text, "p.mlir").message(),
            "p.mlir:2:266: error: the text nests 257 levels deep, expected at most 256");
}

TEST(TextCheckTest, WhatOnlyLooksDeep) {
  const std::string brackets = repeated("([{<", 200);
  for (const std::string &text : {
           "// " + brackets + "\n",
           "\"" + brackets + "\"",
           "\"\\\"" + brackets + "\"",
           "@\"" + brackets + "\"",
           "dense<[" + repeated("-1, ", 1000) + "-1]>",
           "dense<[" + repeated("1.0e-3, ", 1000) + "1]>",
           "affine_set<(d0) : (" + repeated("d0 <= 5, d0 >= 0, ", 1000) + "d0 == 0)>",
           repeated("func.func @f(i32) -> i32\n", 1000),
           repeated("%0 = arith.constant -1 : i32\n", 1000),
           "module {\n" + repeated("%0 = arith.constant -1 : i32\n", 1000) + "}",
           repeated("#a = [unit]\n", 1000) + "[#a, #a]",
       }) {
    const Status status = checkProgramText(text, "p.mlir");
    EXPECT_TRUE(status.ok()) << status.message() << " in " << text.substr(0, 40);
  }
}

TEST(TextCheckTest, Bytecode) {
  EXPECT_EQ(checkProgramText("ML\xefR\r", "p.mlir").message(),
            "p.mlir: is MLIR bytecode, expected a program in text");
}

} // namespace
} // namespace heddle
