// SPDX-License-Identifier: Apache-2.0
///
/// Schemas that are rejected, with the reasons.
#include "formats/JsonSchema/JsonGrammar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace heddle;

namespace {

struct BadSchema {
  const char *name;
  std::string text;
  StatusCode code;
  std::string message;
};

void PrintTo(const BadSchema &schema, std::ostream *out) { *out << schema.name; }

/// Returns a schema with this number of alternatives.
std::string alternatives(size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i) {
    list += fmt::format("{}{{\"type\": \"string\", \"minLength\": {}}}", i > 0 ? "," : "", i);
  }
  return "{\"anyOf\": [" + list + "]}";
}

std::string constants(size_t count) {
  std::string list = "[]";
  for (size_t i = 1; i < count; ++i) {
    list += ",[]";
  }
  return "{\"enum\": [" + list + "]}";
}

constexpr auto invalid = StatusCode::InvalidArgument;
constexpr auto unsupported = StatusCode::Unsupported;

const std::vector<BadSchema> badSchemas = {
    {"Empty", "", invalid, "schema: "},
    {"NoJson", "{", invalid, "schema: "},
    {"List", "[]", invalid,
     "schema: #: a schema is a list of 0, expected an object, true or false"},
    {"TwoOfOneName", R"({"type": "string", "type": "null"})", invalid, "schema: "},
    {"TooManyBytes", std::string(mostSchemaBytes + 1, ' '), invalid,
     "schema: 1048577 bytes, expected at most 1048576"},
    {"TooManyAlternatives", alternatives(mostAlternatives + 1), unsupported,
     "schema: #: more than 256 alternatives"},
    {"TooManySchemas", constants(mostSchemas), unsupported,
     "more than 10000 schemas and constants"},
    {"UnknownType", R"({"type": "text"})", invalid,
     "schema: #/type: \"type\" is \"text\", expected array, boolean, integer, null, number, object "
     "or "
     "string, or a list of these"},
    {"TypeOfNumber", R"({"type": 3})", invalid, "schema: #/type: \"type\" is 3, expected array"},
    {"UnknownTypeInList", R"({"type": ["null", 4]})", invalid,
     "schema: #/type/1: \"type\" has 4, expected array"},
    {"Pattern", R"({"properties": {"a/b": {"type": "string", "pattern": "^a"}}})", unsupported,
     "schema: #/properties/a~1b/pattern: \"pattern\" is not supported"},
    {"Format", R"({"type": "string", "format": "date"})", unsupported,
     "schema: #/format: \"format\" is not supported"},
    {"Not", R"({"items": {"not": {}}})", unsupported,
     "schema: #/items/not: \"not\" is not supported"},
    {"Misspelt", R"({"propertys": {}})", unsupported,
     "schema: #/propertys: \"propertys\" is not supported"},
    {"MultipleOf", R"({"type": "integer", "multipleOf": 3})", unsupported,
     "schema: #/multipleOf: \"multipleOf\" is not supported"},
    {"BoundsOfNumbers", R"({"type": "number", "minimum": 0})", unsupported,
     "schema: #/minimum: \"minimum\" of numbers is not supported, expected \"type\" to be "
     "\"integer\""},
    {"BoundsOfAnything", R"({"exclusiveMaximum": 0})", unsupported,
     "schema: #/exclusiveMaximum: \"exclusiveMaximum\" of numbers is not supported"},
    {"BoundIsNone", R"({"type": "integer", "exclusiveMinimum": true})", invalid,
     "schema: #/exclusiveMinimum: \"exclusiveMinimum\" is true, expected a number"},
    {"Length", R"({"type": "string", "minLength": -1})", invalid,
     "schema: #/minLength: \"minLength\" is -1, expected a whole number from 0 to 2147483647"},
    {"LengthIsHuge", R"({"type": "string", "maxLength": 18446744073709551615})", invalid,
     "expected a whole number from 0 to 2147483647"},
    {"HugeInteger", R"({"const": 123456789012345678901234567890})", invalid, "schema: "},
    {"UniqueItems", R"({"type": "array", "uniqueItems": true})", unsupported,
     "schema: #/uniqueItems: \"uniqueItems\" is true, expected false"},
    {"ItemsAreAList", R"({"type": "array", "items": [{}]})", invalid,
     "schema: #/items: \"items\" is a list of 1, expected one schema: \"prefixItems\" has those of "
     "first items"},
    {"FirstItems", R"({"type": "array", "prefixItems": {}})", invalid,
     "schema: #/prefixItems: \"prefixItems\" is an object of 0, expected a list of schemas"},
    {"Properties", R"({"properties": []})", invalid,
     "schema: #/properties: \"properties\" is a list of 0, expected an object of schemas"},
    {"Required", R"({"required": ["a", 1]})", invalid,
     "schema: #/required/1: \"required\" has 1, expected a list of strings"},
    {"RequiredText", R"({"required": "a"})", invalid,
     "schema: #/required: \"required\" is \"a\", expected a list of strings"},
    {"TypeInAList", R"({"properties": {"a": {"type": ["null", "text"]}}})", invalid,
     "schema: #/properties/a/type/1: \"type\" has \"text\", expected array"},
    {"Property", R"({"properties": {"a": "string"}})", invalid,
     "schema: #/properties/a: a schema is \"string\", expected an object, true or false"},
    {"Enum", R"({"enum": "a"})", invalid, "schema: #/enum: \"enum\" is \"a\", expected a list"},
    {"EnumBesideLength", R"({"enum": ["a"], "minLength": 1})", unsupported,
     "schema: #: \"minLength\" beside \"enum\" is not supported"},
    {"EnumBesideConst", R"({"enum": ["a"], "const": "a"})", unsupported,
     "schema: #: \"const\" beside \"enum\" is not supported"},
    {"AnyOfBesideType", R"({"type": "object", "anyOf": [{}]})", unsupported,
     "schema: #: \"type\" beside \"anyOf\" is not supported"},
    {"ReferenceBesideType", R"({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}})",
     unsupported, "schema: #: \"type\" beside \"$ref\" is not supported"},
    {"AnyOf", R"({"anyOf": {}})", invalid,
     "schema: #/anyOf: \"anyOf\" is an object of 0, expected a list of schemas"},
    {"AllOf", R"({"allOf": [{}, {}]})", unsupported,
     "schema: #/allOf: \"allOf\" has 2 schemas, expected one"},
    {"Reference", R"({"$ref": 1})", invalid, "schema: #/$ref: \"$ref\" is 1, expected a string"},
    {"ReferenceAway", R"({"$ref": "https://example.org/a"})", unsupported,
     "schema: #/$ref: \"$ref\" is \"https://example.org/a\", expected \"#\" or \"#/\" and a "
     "pointer "
     "into this schema"},
    {"ReferenceToNothing", R"({"items": {"$ref": "#/$defs/a"}})", invalid,
     "schema: #/items/$ref: \"$ref\" is \"#/$defs/a\", which is not there"},
    {"IdWithin", R"({"items": {"$id": "b"}})", unsupported,
     "schema: #/items/$id: an \"$id\" within a schema is not supported"},
    // Schemas that no text satisfies.
    {"False", "false", invalid, "schema: #: no text satisfies the schema: the schema is false"},
    {"NoType", R"({"type": []})", invalid,
     "schema: #: no text satisfies the schema: \"type\" is empty"},
    {"EmptyEnum", R"({"enum": []})", invalid,
     "schema: #: no text satisfies the schema: \"enum\" is empty"},
    {"EnumOfAnotherType", R"({"enum": [1, "a"], "type": "null"})", invalid,
     "schema: #: no text satisfies the schema: nothing in \"enum\" is of its type"},
    {"ConstOfAnotherType", R"({"const": 1.5, "type": "integer"})", invalid,
     "schema: #: no text satisfies the schema: \"const\" is of another type"},
    {"Choices", R"({"anyOf": []})", invalid,
     "schema: #: no text satisfies the schema: \"anyOf\" is empty"},
    {"Lengths", R"({"type": "string", "minLength": 3, "maxLength": 2})", invalid,
     "schema: #: no text satisfies the schema: \"minLength\" is 3, above \"maxLength\", 2"},
    {"Integers", R"({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 1})", invalid,
     "schema: #: no text satisfies the schema: no integer of at most 18 digits is within its "
     "bounds"},
    {"LongIntegers", R"({"type": "integer", "minimum": 1e18})", invalid,
     "no integer of at most 18 digits is within its bounds"},
    {"Items", R"({"type": "array", "minItems": 3, "maxItems": 2})", invalid,
     "schema: #: no text satisfies the schema: \"minItems\" is 3, above \"maxItems\", 2"},
    {"ItemsOfFalse", R"({"type": "array", "minItems": 1, "items": false})", invalid,
     "schema: #/items: no text satisfies the schema: the schema is false"},
    {"RequiredFalse", R"({"type": "object", "properties": {"a": false}, "required": ["a"]})",
     invalid, "schema: #/properties/a: no text satisfies the schema: the schema is false"},
    {"RequiredAndExcluded",
     R"({"type": "object", "required": ["a"], "additionalProperties": false})", invalid,
     "schema: #/additionalProperties: no text satisfies the schema: the schema is false"},
    {"WithinItself", R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
     invalid,
     "schema: #: no text satisfies the schema: every value has another one of this schema within "
     "it, "
     "without an end"},
    {"OnlyItself", R"({"$ref": "#"})", invalid, "without an end"},
    {"EachOther",
     R"({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "array", "items": {"$ref": "#"},
         "minItems": 1}}})",
     invalid, "without an end"},
};

class BadSchemas : public testing::TestWithParam<BadSchema> {};

TEST_P(BadSchemas, AreRefused) {
  const Result<JsonGrammar> grammar = JsonGrammar::read(GetParam().text);
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(grammar.status().code(), GetParam().code) << grammar.status().message();
  EXPECT_NE(grammar.status().message().find(GetParam().message), std::string::npos)
      << grammar.status().message();
}

INSTANTIATE_TEST_SUITE_P(All, BadSchemas, testing::ValuesIn(badSchemas),
                         [](const auto &info) { return info.param.name; });

/// A server compiles schemas while it serves other requests, so the time must not grow
/// quadratically with the length; the time limit of the test would show that. References lead
/// forwards and backwards.
TEST(JsonGrammar, FollowsLongChainsOfReferences) {
  constexpr int links = 9000;
  for (const int step : {-1, 1}) {
    std::string members;
    for (int i = 0; i < links; ++i) {
      const int next = i + step;
      const bool isLast = next < 0 || next == links;
      members += fmt::format("{}\"a{}\": {}", i == 0 ? "" : ", ", i,
                             isLast ? R"({"type": "string"})"
                                    : fmt::format(R"({{"$ref": "#/properties/a{}"}})", next));
    }
    const Result<JsonGrammar> grammar =
        JsonGrammar::read(R"({"type": "object", "properties": {)" + members + "}}");
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    const JsonValue &root = grammar->value(JsonGrammar::root);
    ASSERT_EQ(root.members.size(), size_t(links));
    const auto end = grammar->value(root.members.front().value).alternatives;
    ASSERT_EQ(end.size(), 1U);
    EXPECT_TRUE(grammar->value(end.front()).isString);
    for (const JsonMember &member : root.members) {
      ASSERT_EQ(grammar->value(member.value).alternatives, end);
    }
  }
}

/// Unused definitions are not read, and optional parts that cannot be satisfied are accepted.
TEST(JsonGrammar, TakesWhatCanBeSatisfied) {
  for (const char *schema :
       {"true", "{}", R"({"$defs": {"a": {"pattern": "x"}}})",
        R"({"$schema": "x", "$id": "y", "title": "", "default": [1], "examples": 3})",
        R"({"type": "object", "properties": {"a": false}})",
        R"({"type": "array", "items": false, "maxItems": 4})",
        R"({"anyOf": [false, {"enum": []}, {"type": "null"}]})",
        R"({"type": ["string", "array"], "minLength": 3, "maxLength": 2, "items": false})",
        R"({"type": "string", "minimum": 3, "items": {}})",
        R"({"properties": {"a": {"$ref": "#"}}})", R"({"$ref": "#/%24defs/a", "$defs": {"a": {}}})",
        R"({"$ref": "#/anyOf/0", "anyOf": [{}]})"}) {
    const Result<JsonGrammar> grammar = JsonGrammar::read(schema);
    const bool isMixed = std::string_view(schema).starts_with(R"({"$ref": "#/anyOf)");
    EXPECT_EQ(grammar.ok(), !isMixed) << schema << grammar.status().message();
  }
}

} // namespace
