// SPDX-License-Identifier: Apache-2.0
///
/// Errors of parsing a template, and errors of rendering it: every message, with its place.
#include "formats/Template/Template.h"

#include "formats/Config/Json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using chat::Template;

struct Wrong {
  std::string text;
  std::string message;
};

/// Returns "a100,a101" and so on.
static std::string namesTo(int count, const char *end) {
  std::string names;
  for (int i = 0; i < count; ++i) {
    names += fmt::format("{}a{}{}", i == 0 ? "" : ",", 100 + i, end);
  }
  return names;
}

class RefusedTemplate : public testing::TestWithParam<Wrong> {};

TEST_P(RefusedTemplate, namesLineColumnAndConstruct) {
  const Result<Template> parsed = Template::parse(GetParam().text);
  ASSERT_FALSE(parsed.ok()) << GetParam().text;
  EXPECT_EQ(parsed.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedTemplate,
    testing::Values(
        Wrong{"{{ " + std::string(257, 'a') + " }}",
              "line 1, column 4: a name of 257 bytes, expected 256 at most"},
        Wrong{"{% macro f(" + namesTo(257, "") + ") %}{% endmacro %}",
              "line 1, column 1292: a macro of more than 256 parameters"},
        Wrong{"{{ f(" + namesTo(257, "=1") + ") }}",
              "line 1, column 1798: a call of more than 256 arguments with names"},
        Wrong{"a\n{{ x | pprint }}", "line 2, column 8: filter \"pprint\" is not known"},
        Wrong{"é{{ x is wonderful }}", "line 1, column 10: test \"wonderful\" is not known"},
        Wrong{"{% include 'a' %}", "line 1, column 4: block \"include\" is not supported"},
        Wrong{"{% autoescape true %}", "line 1, column 4: block \"autoescape\" is not supported"},
        Wrong{"{% for a in b recursive %}", "line 1, column 15: recursive loops are not supported"},
        Wrong{"{{ cycler(1, 2) }}",
              "line 1, column 4: \"cycler\" is a function of Jinja that is not supported"},
        Wrong{"{{ x.encode() }}",
              "line 1, column 5: \"encode\" is a method of strings that is not supported"},
        Wrong{"{{ x | map('nope') }}", "line 1, column 12: filter \"nope\" is not known"},
        Wrong{"{{ x | select('nope') }}", "line 1, column 15: test \"nope\" is not known"},
        Wrong{"{{ x | map(attr='a') }}", "line 1, column 8: \"map\" has no argument \"attr\""},
        Wrong{"{{ x | map('e') }}", "line 1, column 12: escaped texts may only be written"},
        Wrong{"{{ x | trim(1, 2) }}",
              "line 1, column 8: \"trim\" takes 2 arguments at most, got 3"},
        Wrong{"{{ x | tojson(index=2) }}",
              "line 1, column 8: \"tojson\" has no argument \"index\""},
        Wrong{"{{ x | trim('a', chars='b') }}",
              "line 1, column 8: \"trim\" has the argument \"chars\" twice"},
        Wrong{"{{ x | replace('a') }}",
              "line 1, column 8: \"replace\" without its argument \"new\""},
        Wrong{"{{ (x | e) + 'a' }}",
              "line 1, column 9: filter \"e\" is only supported where its text "
              "is written at once"},
        Wrong{"{{ x", "line 1, column 1: \"{{\" without \"}}\""},
        Wrong{"a {% if x", "line 1, column 3: \"{%\" without \"%}\""},
        Wrong{"{# x", "line 1, column 1: a comment without \"#}\""},
        Wrong{"{% raw %} x", "line 1, column 1: a raw block without \"endraw\""},
        Wrong{"{% if x %}", "line 1, column 4: block \"if\" without \"endif\""},
        Wrong{"{% endif %}", "line 1, column 4: unexpected \"endif\""},
        Wrong{"{% break %}", "line 1, column 4: \"break\" outside of a loop"},
        Wrong{"{{ }}", "line 1, column 4: \"}}\", expected an expression"},
        Wrong{"{{ + }}", "line 1, column 6: \"}}\", expected a value"},
        Wrong{"{{ a b }}", "line 1, column 6: \"b\", expected \"}}\""},
        Wrong{"{% set a %}", "line 1, column 4: block \"set\" without \"endset\""},
        Wrong{"{% set true = 1 %}", "line 1, column 8: \"true\" cannot be assigned to"},
        Wrong{"{% set 1 = 1 %}", "line 1, column 8: the number 1, expected a name to assign to"},
        Wrong{"{% for a b %}", "line 1, column 10: \"b\", expected \"in\""},
        Wrong{"{{ a.'b' }}",
              "line 1, column 6: the string \"b\", expected the name of an attribute"},
        Wrong{"{{ a | 1.5 }}", "line 1, column 8: the number 1.5, expected the name of a filter"},
        Wrong{"{{ (a] }}", "line 1, column 6: unexpected \"]\", expected \")\""},
        Wrong{"{{ a) }}", "line 1, column 5: unexpected \")\""},
        Wrong{"{{ f(a=1, 2) }}", "line 1, column 11: an argument behind those with names"},
        Wrong{"{{ f(*a, *b) }}", "line 1, column 10: a second list of arguments"},
        Wrong{"{{ f(**a, **b) }}", "line 1, column 11: a second dict of arguments"},
        Wrong{"{{ 'abc }}", "line 1, column 4: a string without its end"},
        Wrong{"{{ '\\xq' }}", "line 1, column 5: \"\\x\" without 2 hexadecimal digits"},
        Wrong{"{{ '\\ud800' }}", "line 1, column 5: d800 is no character"},
        Wrong{"{{ '\\N{DASH}' }}",
              "line 1, column 5: characters by name (\"\\N\") are not supported"},
        Wrong{"{{ 99999999999999999999 }}",
              "line 1, column 4: \"99999999999999999999\" is no number of 64 bits"},
        Wrong{"{{ a ? b }}", "line 1, column 6: \"?\" cannot stand in a tag"},
        Wrong{"{% macro f(a=1, b) %}",
              "line 1, column 17: a parameter without a default behind one with it"},
        Wrong{"{% macro f(a, a) %}", "line 1, column 15: parameter \"a\" appears twice"},
        Wrong{"{% call x %}{% endcall %}", "line 1, column 9: a block \"call\" without a call"},
        Wrong{"\xff", "byte 1 is 0xff, expected UTF-8"}));

class FailingTemplate : public testing::TestWithParam<Wrong> {};

TEST_P(FailingTemplate, saysWhatWasSeen) {
  const Result<Template> parsed = Template::parse(GetParam().text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Result<std::string> text = parsed->render({{"s", "text"}, {"n", 1}, {"l", {1, 2}}});
  ASSERT_FALSE(text.ok()) << *text;
  EXPECT_EQ(text.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, FailingTemplate,
    testing::Values(
        Wrong{"a\n  {{ raise_exception('no ' ~ n) }}",
              "line 2, column 21: the template says: no 1"},
        Wrong{"{{ s + n }}", "line 1, column 6: \"+\" has no meaning for a string and an integer"},
        Wrong{"{{ x.y }}", "line 1, column 5: \"x\" is undefined"},
        Wrong{"{{ s.y.z }}", "line 1, column 7: a string has no \"y\""},
        Wrong{"{{ l[5].z }}", "line 1, column 8: a list has no item 5"},
        Wrong{"{{ l[none].z }}", "line 1, column 11: a list has no item at none"},
        Wrong{"{{ f() }}", "line 1, column 5: \"f\" is undefined"},
        Wrong{"{{ s() }}", "line 1, column 5: a string cannot be called"},
        Wrong{"{{ l.append(3) }}",
              "line 1, column 12: \"append\" changes a value, which templates may not"},
        Wrong{"{% for a in n %}{% endfor %}",
              "line 1, column 4: an integer has no items to go through"},
        Wrong{"{% set a, b, c = l %}", "line 1, column 4: 2 values for 3 names"},
        Wrong{"{% set s.a = 1 %}",
              "line 1, column 4: \"s\" is no namespace, so its attributes cannot be set"},
        Wrong{"{{ n | length }}", "line 1, column 8: an integer has no length"},
        Wrong{"{{ l | map('upper') }}", "line 1, column 1: an iterator has no text"},
        Wrong{"{{ x | tojson }}",
              "line 1, column 8: an undefined value cannot be written as JSON: \"x\" is undefined"},
        Wrong{"{{ s[::0] }}", "line 1, column 5: a slice with the step 0"},
        Wrong{"{{ s['a':] }}",
              "line 1, column 5: a string in a slice, expected an integer or none"},
        Wrong{"{{ n[1:] }}", "line 1, column 5: an integer has no slices"},
        Wrong{"{{ n // 0 }}", "line 1, column 6: division by zero"},
        Wrong{"{{ 9223372036854775807 + n }}",
              "line 1, column 24: an integer of more than 64 bits, "
              "which templates do not have"},
        Wrong{"{{ 1e20 | int }}", "line 1, column 11: an integer of more than 64 bits, "
                                  "which templates do not have"},
        Wrong{"{{ '-99999999999999999999' | int(3) }}",
              "line 1, column 30: an integer of more than 64 bits, which templates do not have"},
        Wrong{"{{ (-8) ** 0.5 }}", "line 1, column 9: a power that is no real number"},
        Wrong{"{{ 10.0 ** 999 }}", "line 1, column 9: a power that is too large for a float"},
        Wrong{"{{ -s }}", "line 1, column 4: \"-\" has no meaning for a string"},
        Wrong{"{{ {l: 1} }}", "line 1, column 4: a list cannot be the key of a dict"},
        Wrong{"{{ {(1, l): 1} }}", "line 1, column 4: a tuple cannot be the key of a dict"},
        Wrong{"{{ '%d' % s }}", "line 1, column 9: format \"d\" has no meaning for a string"},
        Wrong{"{{ '%s %s' % s }}", "line 1, column 12: a format with more places than values"},
        Wrong{"{{ '%s' % (1, 2) }}", "line 1, column 9: a format with fewer places than values"},
        Wrong{"{{ '%y' % 1 }}", "line 1, column 9: format \"%y\" is not known"},
        Wrong{"{{ '{} {}'.format(1) }}",
              "line 1, column 18: a format with more places than values"},
        Wrong{"{{ '{a}'.format(1) }}", "line 1, column 16: a format has no value \"a\""},
        Wrong{"{{ '}'.format(1) }}", "line 1, column 14: a single \"}\" in a format"},
        Wrong{"{{ '{:k}'.format(1) }}", "line 1, column 17: a format specification ends in \"k\", "
                                        "which is not known"},
        Wrong{"{{ ''.split('') }}", "line 1, column 12: \"split\" at an empty separator"},
        Wrong{"{{ s | round }}", "line 1, column 8: \"round\" expects a number, got a string"},
        Wrong{"{{ range(1, 2, 0) }}", "line 1, column 9: \"range\" with the step 0"},
        Wrong{"{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
              "line 1, column 35: macro \"f\" takes 1 arguments at most, got 2"},
        Wrong{"{% macro f(a) %}{% endmacro %}{{ f(b=2) }}",
              "line 1, column 35: macro \"f\" has no argument \"b\""},
        Wrong{"{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}",
              "line 1, column 35: macro \"f\" has the argument \"a\" twice"},
        Wrong{"{% filter length %}a{% endfilter %}",
              "line 1, column 4: a block \"filter\" that makes an integer, expected a string"},
        Wrong{"{{ loop.index }}", "line 1, column 8: \"loop\" is undefined"}));

TEST(TemplateRender, variablesAreAnObjectOfNumbersThatFit) {
  const Result<Template> parsed = Template::parse("{{ n }}");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->render(nlohmann::ordered_json::array()).status().message(),
            "variables of a template that are no object");
  EXPECT_EQ(parsed->render({{"n", UINT64_MAX}}).status().message(),
            "\"n\": number 18446744073709551615 is beyond 64 bits");
}

/// In the format of Python's repr().
TEST(TemplateRender, floatsOfAnySizeAreThoseOfPython) {
  const Result<Template> parsed = Template::parse("{{ n }}|{{ n | tojson }}");
  ASSERT_TRUE(parsed.ok());
  const std::pair<const char *, const char *> floats[] = {
      {"1e308", "1e+308"},
      {"1E+22", "1e+22"},
      {"-1.5e300", "-1.5e+300"},
      {"9223372036854775808.0", "9.223372036854776e+18"},
      {"1e16", "1e+16"},
      {"123456789012345678.5", "1.2345678901234568e+17"},
      {"1e-7", "1e-07"},
      {"0.0001", "0.0001"},
      {"-0.0", "-0.0"},
      {"1e15", "1000000000000000.0"},
      {"2.0", "2.0"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"}};
  for (const auto &[spelling, expected] : floats) {
    const auto variables =
        parseOrderedJson(fmt::format("{{\"n\":{}}}", spelling), "x", LongIntegers::Refuse);
    ASSERT_TRUE(variables.ok()) << variables.status().message();
    const Result<std::string> rendered = parsed->render(*variables);
    ASSERT_TRUE(rendered.ok()) << rendered.status().message();
    EXPECT_EQ(*rendered, fmt::format("{0}|{0}", expected));
  }
}

TEST(TemplateRender, timeIsThatOfTheOptions) {
  const Result<Template> parsed = Template::parse("{{ strftime_now('%d %b %Y') }}");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  std::tm now{};
  now.tm_mday = 26;
  now.tm_mon = 6;
  now.tm_year = 124;
  const Result<std::string> text = parsed->render(nlohmann::ordered_json::object(), {.now = now});
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "26 Jul 2024");
  EXPECT_EQ(parsed->render(nlohmann::ordered_json::object())->size(), 11U);
}
