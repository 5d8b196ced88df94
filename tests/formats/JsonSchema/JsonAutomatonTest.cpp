// SPDX-License-Identifier: Apache-2.0
///
/// Texts that conform to schemas and texts that do not, case by case, and properties of states.
#include "formats/JsonSchema/JsonAutomaton.h"

#include <gtest/gtest.h>

using namespace heddle;

static std::shared_ptr<const JsonGrammar> grammarOf(std::string_view schema) {
  Result<JsonGrammar> grammar = JsonGrammar::read(schema);
  EXPECT_TRUE(grammar.ok()) << schema << grammar.status().message();
  return grammar.ok() ? std::make_shared<const JsonGrammar>(*std::move(grammar)) : nullptr;
}

static JsonAutomaton::State after(JsonAutomaton &automaton, std::string_view text) {
  JsonAutomaton::State state = automaton.start();
  for (const char byte : text) {
    state = automaton.next(state, static_cast<uint8_t>(byte));
  }
  return state;
}

namespace {
struct Case {
  const char *name;
  const char *schema;
  std::vector<std::string> answers;
  std::vector<std::string> others;
};
void PrintTo(const Case &each, std::ostream *out) { *out << each.name; }

const std::vector<Case> cases = {
    {"Spaces",
     R"({"type": "array", "items": {"type": "object"}})",
     {"[]", " []", "[ ]", "[{}]", "[ { }, {} ]", R"([{"a": 1 },{"b":null}])"},
     {"[] ", "  []", "[  ]", "[\n]", R"([{"a" :1}])", "[{} ,{}]", "[{}, ]", "[,]", "[{},]"}},
    {"Strings",
     R"({"type": "string", "minLength": 2, "maxLength": 3})",
     {R"("ab")", R"("abc")", "\"\u00e4\U0001F600\"", R"("\"\\")", R"("\u0000\u00E4\/")",
      R"("\ud83d\ude00b")", "\"\x7f\x7f\""},
     {R"("a")", R"("abcd")", "\"a\n\"", R"("\x12")", R"("\ud83da")", R"("\ude00a")", "\"\xff\xff\"",
      "\"\xc0\x80\x61\"", "\"\xed\xa0\x80\x61\"", "\"\xf4\x90\x80\x80\x61\"", R"("\u12g4a")",
      R"("ab)"}},
    {"Numbers",
     R"({"type": "number"})",
     {"0", "-0", "12", "-0.5", "1e5", "1.25E-10", "0e+07", "123456789012345678.1", "1e99"},
     {"", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1e100", "1234567890123456789", "NaN",
      "Infinity", "0x1"}},
    {"Integers",
     R"({"type": "integer"})",
     {"0", "7", "-12", "999999999999999999"},
     {"-0", "1.0", "1e3", "00", "1000000000000000000"}},
    {"Bounds",
     R"({"type": "integer", "minimum": -12, "exclusiveMaximum": 105.5})",
     {"-12", "-1", "0", "9", "99", "100", "105"},
     {"-13", "-20", "-100", "106", "110", "200", "1000", "-0"}},
    {"BoundsAbove",
     R"({"type": "integer", "minimum": 20})",
     {"20", "99", "100", "3000"},
     {"-1", "0", "1", "2", "19"}},
    {"BoundsBelow", R"({"type": "integer", "maximum": -20})", {"-20", "-100"}, {"-1", "-19", "5"}},
    {"Constants",
     R"({"enum": [1, 12, "a\"", null, [1, {"x": []}], 1.5, true]})",
     {"1", "12", R"("a\"")", "null", R"([1, {"x": [] } ])", "1.5", "true"},
     {"2", "11", "123", R"("a\u0022")", "1.50", "false", R"([1,{"x":[],"x":[]}])", "[1]"}},
    {"TypedConstants",
     R"({"enum": [1, 2.0, "a", 1.5], "type": "integer"})",
     {"1", "2.0"},
     {R"("a")", "1.5", "2"}},
    {"Members",
     R"({"type": "object", "properties": {"a": {"type": "integer"}, "ab": {"type": "null"},
         "c": false}, "required": ["ab"], "additionalProperties": false})",
     {R"({"ab":null})", R"({"a": 1,"ab": null})", R"({"ab":null, "a":1 })"},
     {"{}", R"({"a":1})", R"({"ab":null,"ab":null})", R"({"ab":1})", R"({"c":1,"ab":null})",
      R"({"abc":1,"ab":null})", R"({"\u0061b":null})"}},
    {"OtherMembers",
     R"({"type": "object", "properties": {"a": {"type": "integer"}},
         "additionalProperties": {"type": "string"}, "required": ["b\n"]})",
     {R"({"b\n":"x"})", R"({"":"","aa":"","a":1,"b\n":""})", R"({"\u0001":"","b\n":""})"},
     {"{}", R"({"b\n":1})", R"({"b\u000a":""})", R"({"a":"","b\n":""})",
      R"({"\u0041":"","b\n":""})", R"({"\u001F":"","b\n":""})", R"({"\/":"","b\n":""})"}},
    {"FirstItems",
     R"({"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}],
         "items": {"type": "integer"}, "minItems": 1, "maxItems": 4})",
     {"[null]", "[null,true]", "[null,false,1,2]"},
     {"[]", "[true]", "[null,1]", "[null,true,1,2,3]", "[null,true,null]"}},
    {"NoOtherItems",
     R"({"type": "array", "prefixItems": [true, false, true]})",
     {"[]", "[1]"},
     {"[1,1]"}},
    {"Choices",
     R"({"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}},
         "additionalProperties": false}, {"type": "object", "properties": {"a": {"type": "string"}},
         "required": ["a"]}, {"oneOf": [{"const": 1}, {"allOf": [{"const": 12}]}]}]})",
     {"{}", R"({"a":1})", R"({"a":"x","b":[]})", "1", "12"},
     {R"({"a":1,"b":2})", R"({"b":1})", "2", "121"}},
    {"Recursion",
     R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"left":
         {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}, "additionalProperties":
         false}}})",
     {"{}", R"({"left":{"right":{"left":{},"right":{}}}})"},
     {R"({"left":{)", R"({"left":{"right":1}})", R"({"left":{"middle":{}}})"}},
    {"Anything", "true", {"1", "\"\"", R"({"a":[{"b":null}]})", "[[[[[[]]]]]]"}, {"", "[", "nul"}},
    {"SeveralTypes",
     R"({"type": ["integer", "null", "boolean"]})",
     {"1", "null", "true", "false"},
     {"1.5", "\"a\"", "nil"}},
};
} // namespace

class Texts : public testing::TestWithParam<Case> {};

TEST_P(Texts, FollowOrDoNot) {
  JsonAutomaton automaton(grammarOf(GetParam().schema));
  for (const std::string &text : GetParam().answers) {
    EXPECT_TRUE(automaton.isWhole(after(automaton, text))) << text;
  }
  for (const std::string &text : GetParam().others) {
    EXPECT_FALSE(automaton.isWhole(after(automaton, text))) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Texts, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

/// Arrays with different items have the same state between items, so that what is computed for one
/// state is reused for all.
TEST(JsonAutomaton, StatesDoNotCountWhatNeedNotBeCounted) {
  JsonAutomaton automaton(grammarOf(R"({"type": "array", "items": {"type": "string"}})"));
  const JsonAutomaton::State one = after(automaton, R"(["a")");
  const size_t states = automaton.size();
  EXPECT_EQ(after(automaton, R"(["a","b","a")"), after(automaton, R"(["b", "a")"));
  EXPECT_EQ(after(automaton, R"(["ab","b")"), one);
  EXPECT_LE(automaton.size(), states + 2);
}

TEST(JsonAutomaton, StatesMoveToAnotherAutomaton) {
  const auto grammar = grammarOf(
      R"({"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"type": "integer"}}},
                    {"type": "array", "items": {"$ref": "#"}, "maxItems": 3}]})");
  JsonAutomaton old(grammar), now(grammar);
  const std::string_view text = R"([{"a":[[],{"b": 12,"a":[[)";
  for (size_t length = 0; length <= text.size(); ++length) {
    const JsonAutomaton::State state = now.adopt(old, after(old, text.substr(0, length)));
    EXPECT_EQ(state, after(now, text.substr(0, length))) << length;
  }
}

/// A common prefix of several alternatives, at any depth, does not multiply the states.
TEST(JsonAutomaton, AlternativesThatLookAlikeAreFollowedTogether) {
  JsonAutomaton automaton(grammarOf(
      R"({"$ref": "#/$defs/s", "$defs": {"s": {"anyOf": [
          {"type": "object", "properties": {"x": {"$ref": "#/$defs/s"}, "a": {"type": "null"}}},
          {"type": "object", "properties": {"x": {"$ref": "#/$defs/s"}, "b": {"type": "null"}}},
          {"type": "null"}]}}})"));
  std::string text;
  for (int depth = 0; depth < 200; ++depth) {
    text += R"({"x":)";
  }
  text += "null" + std::string(200, '}');
  EXPECT_TRUE(automaton.isWhole(after(automaton, text)));
  EXPECT_LT(automaton.size(), 3000U);
}
