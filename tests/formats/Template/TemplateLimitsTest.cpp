// SPDX-License-Identifier: Apache-2.0
///
/// Hostile templates: those that would run forever or exhaust the memory or the stack end quickly
/// with a message.
#include "formats/Template/Template.h"

#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using chat::Template;

static std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}

static std::string failureOf(const std::string &text) {
  const Result<Template> parsed = Template::parse(text);
  if (!parsed.ok()) {
    return std::string(parsed.status().message());
  }
  const Result<std::string> rendered = parsed->render({{"x", "y"}}, {.steps = 4'000'000});
  return rendered.ok() ? "it renders" : std::string(rendered.status().message());
}

struct Hostile {
  const char *name;
  std::string text;
  std::string message;
};

static const std::string steps = "the template takes more than 4000000 steps";
static const std::string bytes = "the template makes a text of more than 16777216 bytes";

class HostileTemplate : public testing::TestWithParam<Hostile> {};

TEST_P(HostileTemplate, endsWithAMessage) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_NE(failureOf(GetParam().text).find(GetParam().message), std::string::npos)
      << failureOf(GetParam().text);
  // Generous: sanitizers and busy machines are slow.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

static const std::string loop = "{% for a in range(100000) %}";
static const std::string longTexts =
    "{% set s = 'a' * 4000000 %}{% set upper = 'A' * 4000000 %}{% set space = ' ' * 4000000 %}"
    "{% set other = 'a' * 3999999 ~ 'b' %}"
    "{% set flags = '%' ~ '-' * 3999999 ~ 'd' %}{% set item = '{0[' ~ 'a' * 3999999 ~ ']}' %}" +
    loop + loop;

/// Returns a template that evaluates an expression over long strings repeatedly.
static std::string repeatedly(const std::string &expression) {
  return longTexts + "{% if " + expression + " %}{% endif %}{% endfor %}{% endfor %}";
}

/// Returns a template with too many variables for linear search, which looks up an undefined one
/// repeatedly.
static std::string manyVariables() {
  std::string out;
  for (int i = 0; i < 60000; ++i) {
    out += fmt::format("{{%set v{}=1%}}", i);
  }
  return out + loop + loop + "{{ w }}{% endfor %}{% endfor %}";
}

static std::string manyParameters() {
  std::string names;
  for (int i = 0; i < 256; ++i) {
    names += fmt::format("{}a{}", i == 0 ? "" : ",", i);
  }
  return "{% macro f(" + names + ") %}{% endmacro %}" + loop + loop +
         "{{ f() }}{% endfor %}{% endfor %}";
}

static const std::string doubled = "{% set ns = namespace(x='abcdefgh') %}{% for i in range(60) %}";

INSTANTIATE_TEST_SUITE_P(
    All, HostileTemplate,
    testing::Values(
        Hostile{"nested_loops", loop + loop + loop + "{% endfor %}{% endfor %}{% endfor %}", steps},
        Hostile{"loop_of_text", loop + repeated("0123456789", 100) + "{% endfor %}", bytes},
        Hostile{"recursion", "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
                "the template nests calls, blocks and expressions more than 600 deep"},
        Hostile{"recursion_in_blocks",
                "{% macro f() %}" + repeated("{% if true %}", 90) + "{{ f() }}" +
                    repeated("{% endif %}", 90) + "{% endmacro %}{{ f() }}",
                "more than 600 deep"},
        Hostile{"doubling", doubled + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}", bytes},
        Hostile{"doubling_sum", doubled + "{% set ns.x = ns.x + ns.x %}{% endfor %}", bytes},
        Hostile{
            "doubling_lists",
            "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}"
            "{% endfor %}",
            steps},
        Hostile{
            "shared_lists",
            "{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
            "{% endfor %}{{ ns.x }}",
            steps},
        Hostile{"comparing_shared_lists",
                "{% set ns = namespace(x=[], y=[]) %}{% for i in range(60) %}"
                "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
                "{{ ns.x == ns.y }}",
                steps},
        Hostile{"deep_values",
                "{% set ns = namespace(x=[]) %}" + loop + "{% set ns.x = [ns.x] %}{% endfor %}",
                "the template nests values more than 100 deep"},
        Hostile{"repetition", "{{ 'ab' * 9000000000000 }}", bytes},
        Hostile{"repeated_list", "{{ [1] * 9000000000000 }}", steps},
        Hostile{"width", "{{ '%99999999s' % 'a' }}", bytes},
        Hostile{"format_width", "{{ '{:99999999}'.format('a') }}", bytes},
        Hostile{"indent", "{{ 'a' | indent(999999999, true) }}", bytes},
        Hostile{"center", "{{ 'a' | center(999999999) }}", bytes},
        Hostile{"replacing", "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}", bytes},
        Hostile{"searching_backwards", "{{ ('a' * 16000000).rfind('b' ~ 'a' * 8000000) }}", steps},
        Hostile{"stripping", "{{ ('a' * 16000000).strip('b' * 8000000 ~ 'a') }}", steps},
        Hostile{"variables", manyVariables(), steps},
        Hostile{"parameters", manyParameters(), steps},
        Hostile{"isascii", repeatedly("s.isascii()"), steps},
        Hostile{"isupper", repeatedly("upper.isupper()"), steps},
        Hostile{"islower", repeatedly("s.islower()"), steps},
        Hostile{"stripping_space", repeatedly("space.strip()"), steps},
        Hostile{"beginnings", repeatedly("s.startswith((other,) * 100000)"), steps},
        Hostile{"ends", repeatedly("s.endswith((other,) * 100000)"), steps},
        Hostile{"prefix", repeatedly("s.removeprefix(s)"), steps},
        Hostile{"float", repeatedly("s | float"), steps},
        Hostile{"int", repeatedly("s | int"), steps},
        Hostile{"max", repeatedly("[s, 'b'] | max == 1"), steps},
        Hostile{"attribute", repeatedly("namespace()[s]"), steps},
        Hostile{"path", repeatedly("['b'] | map(attribute=s) | list"), steps},
        Hostile{"percent_flags", repeatedly("flags % 1"), steps},
        Hostile{"format_item", repeatedly("item.format(namespace())"), steps},
        Hostile{"characters", "{{ ('a' * 400000) | list | length }}", steps},
        Hostile{"words", "{{ ('a ' * 400000).split() | length }}", steps},
        Hostile{"range", "{{ range(100001) | list }}",
                "\"range\" of 100001 numbers, expected 100000 at most"},
        Hostile{"brackets", "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}",
                "more than 100 brackets and blocks in each other"},
        Hostile{"minus_signs", "{{ " + repeated("-", 5000) + "1 }}", "more than 100 brackets"},
        Hostile{"nots", "{{ " + repeated("not ", 5000) + "1 }}", "more than 100 brackets"},
        Hostile{"blocks", repeated("{% if x %}", 5000) + repeated("{% endif %}", 5000),
                "more than 100 brackets and blocks in each other"},
        Hostile{"sum", "{{ 1" + repeated(" + 1", 5000) + " }}",
                "an expression of more than 400 parts in each other"},
        Hostile{"filters", "{{ 'a'" + repeated(" | upper", 5000) + " }}", "more than 400 parts"},
        Hostile{"attributes", "{{ x" + repeated(".y", 5000) + " }}", "more than 400 parts"},
        Hostile{"keys",
                "{% set ns = namespace(t=(1, 2)) %}{% for i in range(90) %}"
                "{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ {ns.t: 1} }}",
                "steps"},
        Hostile{"lines", repeated("a\n", 1000000), "2000000 bytes, expected 1048576 at most"}),
    [](const auto &info) { return info.param.name; });

TEST(TemplateLimits, whatIsLinearIsDone) {
  const std::string text = "{{ ('a' * 8000000 in 'a' * 4000000 ~ 'b' ~ 'a' * 7999999) }} {{ ('ab' "
                           "* 4000000) | length }}";
  const Result<Template> parsed = Template::parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Result<std::string> rendered = parsed->render(nlohmann::ordered_json::object());
  ASSERT_TRUE(rendered.ok()) << rendered.status().message();
  EXPECT_EQ(*rendered, "False 8000000");
}

TEST(TemplateLimits, aNamespaceMayHoldItselfAndALoop) {
  const std::string text =
      "{% set ns = namespace() %}{% set ns.ns = ns %}{% for i in [1, 2] %}"
      "{% set ns.loop = loop %}{% set x = loop.changed(loop, ns) %}{% endfor %}"
      "{{ ns.ns.ns.loop.length }}{{ ns.loop.changed(ns.loop) }}";
  const Result<Template> parsed = Template::parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed->render(nlohmann::ordered_json::object()), "0True");
}

TEST(TemplateLimits, aMillionLinesOfAConversationAreRendered) {
  const Result<Template> parsed = Template::parse(
      "{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim + '\n' }}{% endfor %}");
  ASSERT_TRUE(parsed.ok());
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  for (int i = 0; i < 1000; ++i) {
    messages.push_back({{"role", "user"}, {"content", repeated("abcdef\n", 1000)}});
  }
  const Result<std::string> rendered = parsed->render({{"messages", messages}});
  ASSERT_TRUE(rendered.ok()) << rendered.status().message();
  EXPECT_EQ(rendered->size(), 1000U * (7000 + 6));
}
