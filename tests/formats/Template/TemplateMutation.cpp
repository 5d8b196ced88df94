// SPDX-License-Identifier: Apache-2.0
///
/// The words are those of the library's tables, and the variables of the fuzz target.
#include "tests/formats/Template/TemplateMutation.h"

#include "formats/Template/Callable.h"
#include "tests/Fuzzing/TextMutation.h"

#include <algorithm>
#include <vector>

namespace heddle::fuzzing {

static constexpr std::string_view partsOfTemplates[] = {"messages",
                                                        "s",
                                                        "n",
                                                        "l",
                                                        "d",
                                                        "loop.index",
                                                        "loop.last",
                                                        "loop.changed(n)",
                                                        "loop.cycle(1, 2)",
                                                        "loop.previtem",
                                                        "ns.x",
                                                        "caller()",
                                                        "varargs",
                                                        "kwargs",
                                                        "range(3)",
                                                        "namespace(x=1)",
                                                        "dict(a=1)",
                                                        "raise_exception('x')",
                                                        "strftime_now('%Y')",
                                                        "'%s %5d' % (1, 2)",
                                                        "'{0:>8} {a!r}'.format(1, a=2)",
                                                        "[::-1]",
                                                        "[1:]",
                                                        "[-2:]",
                                                        "is defined",
                                                        "is not none",
                                                        "is string",
                                                        "is mapping",
                                                        "is odd",
                                                        "not in",
                                                        " in ",
                                                        " and ",
                                                        " or ",
                                                        "not ",
                                                        " if ",
                                                        " else ",
                                                        "**",
                                                        "//",
                                                        "~",
                                                        "{{ ",
                                                        " }}",
                                                        "{{- ",
                                                        " -}}",
                                                        "{% ",
                                                        " %}",
                                                        "{%- ",
                                                        " -%}",
                                                        "{#",
                                                        "#}",
                                                        "{% raw %}",
                                                        "{% endraw %}",
                                                        "{% break %}",
                                                        "{% continue %}",
                                                        "{% else %}",
                                                        "{% elif n %}",
                                                        "none",
                                                        "true",
                                                        "false",
                                                        "1.5",
                                                        "-1",
                                                        "9223372036854775807",
                                                        "(-9223372036854775807 - 1)",
                                                        "''",
                                                        "'a\\n'",
                                                        "é😀",
                                                        "\n",
                                                        "\r\n"};

static std::vector<std::string> wordsOfTemplates() {
  std::vector<std::string> words(std::begin(partsOfTemplates), std::end(partsOfTemplates));
  for (const auto table : {chat::textFilters(), chat::listFilters()}) {
    for (const chat::Callable &each : table) {
      words.push_back(" | " + std::string(each.name));
    }
  }
  for (const auto table : {chat::stringMethods(), chat::dictMethods(), chat::listMethods()}) {
    for (const chat::Callable &each : table) {
      words.push_back("." + std::string(each.name) + "(s)");
    }
  }
  return words;
}

void mutateTemplate(std::string &text, Choice &choice) {
  static const std::vector<std::string> words = wordsOfTemplates();
  static constexpr std::pair<std::string_view, std::string_view> blocks[] = {
      {"{% if n %}", "{% endif %}"},
      {"{% for x in messages %}", "{% endfor %}"},
      {"{% for a, b in d.items() if a %}", "{% endfor %}"},
      {"{% set x %}", "{% endset %}{{ x }}"},
      {"{% filter upper | trim %}", "{% endfilter %}"},
      {"{% macro f(a, b=2) %}", "{% endmacro %}{{ f(1) }}"},
      {"{% macro g() %}{{ caller(1) }}{% endmacro %}{% call(y) g() %}", "{% endcall %}"},
      {"{% with z = 1 %}", "{% endwith %}"},
      {"{% generation %}", "{% endgeneration %}"},
      {"{{ (", ") }}"},
      {"[", "]"}};
  switch (choice.below(4)) {
  case 0: {
    const size_t first = choice.below(text.size() + 1);
    const size_t last = first + choice.below(text.size() - first + 1);
    const auto &[open, close] = choice.of(blocks);
    text.insert(last, close);
    text.insert(first, open);
    break;
  }
  case 1:
    text.insert(choice.below(text.size() + 1), choice.of(words));
    break;
  default:
    mutateText(text, words, choice);
  }
}

} // namespace heddle::fuzzing
