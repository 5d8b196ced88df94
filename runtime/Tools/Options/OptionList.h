// SPDX-License-Identifier: Apache-2.0
///
/// The options of one command. Each is declared once, with the field that takes its value, its
/// name, help text, type, default and check. Parsing, --help, the manual pages, shell completion
/// and the fuzz target are all derived from that declaration.
#ifndef HEDDLE_RUNTIME_TOOLS_OPTIONS_OPTIONLIST_H
#define HEDDLE_RUNTIME_TOOLS_OPTIONS_OPTIONLIST_H

#include "base/NearestName.h"
#include "base/Utf8.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace heddle::tools {

/// Invalid arguments. `command` is the one they were given to, or empty.
struct UsageError {
  std::string message;
  std::string command;
};

/// A word that an option accepts, and the value it stands for.
template <typename Value> struct Word {
  std::string_view name;
  Value value;
};

/// The range of numbers that an option accepts: a test, and its description after "expected".
template <typename Number> struct NumberRange {
  std::string expected;
  std::function<bool(Number)> contains;
};

/// Returns the range from `least` to `most`.
template <typename Number> NumberRange<Number> numbersBetween(Number least, Number most) {
  return {fmt::format("a number from {} to {}", least, most),
          [=](Number value) { return value >= least && value <= most; }};
}

/// Parses all of `text` as a number; infinities and NaN are rejected.
template <typename Number> std::optional<Number> parseNumber(std::string_view text) {
  Number value = 0;
  const char *const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  bool valid = error == std::errc() && stop == end;
  if constexpr (std::is_floating_point_v<Number>) {
    valid = valid && std::isfinite(value);
  }
  return valid ? std::optional(value) : std::nullopt;
}

/// Parses all of `text` as a whole number from `least` to `most`.
template <typename Number>
std::optional<Number> parseWhole(std::string_view text, Number least, Number most) {
  const std::optional<Number> value = parseNumber<Number>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

/// The type of an option's value: `Number` for fields of type `Number` and `std::optional<Number>`.
template <typename Field> struct ValueOf {
  using Type = Field;
};
template <typename Value> struct ValueOf<std::optional<Value>> {
  using Type = Value;
};

/// The declaration of one option. The methods set its properties and return the declaration, so
/// that calls can be chained.
class DeclaredOption {
public:
  /// Makes the option required.
  DeclaredOption &required();
  /// Sets the help text for the default behaviour, which replaces the field's initial value.
  DeclaredOption &otherwise(std::string_view without);
  /// Declares that the option is only valid together with another one.
  DeclaredOption &needs(const char *other);
  /// Restricts a file's name to these endings, which must outlive the list; `expected` names them
  /// in the message.
  DeclaredOption &endings(std::span<const std::string_view> endings, std::string_view expected);
  /// Makes messages about an unexpected argument suggest this option.
  DeclaredOption &hinted();
  /// The command writes this file.
  DeclaredOption &written();

private:
  friend class OptionList;
  /// Parses a text and sets the field. Returns an empty string on success, otherwise the problem,
  /// as the continuation of a message that begins with the option's name.
  using Reader = std::function<std::string(const std::string &text)>;
  enum class Stream { None, Input, Output };

  CLI::Option *option = nullptr;
  std::string name;
  std::string help;
  Reader read;
  /// The value on the command line: a text, or for a flag whether it is set.
  std::string text;
  bool isSet = true;
  const std::string *path = nullptr;
  Stream stream = Stream::None;
  bool isRequired = false;
  bool isHinted = false;
  bool isWritten = false;
  std::string needed;
  std::span<const std::string_view> endingList;
  std::string endingsExpected;
  std::vector<std::string> words;
};

/// Returns the problem with a file's name, to follow the name of its option; empty if there is
/// none.
std::string describeEnding(const std::string &path, std::span<const std::string_view> endings,
                           std::string_view expected);

/// The declarations of one command, on top of CLI11. Declares into an application and fields that
/// must outlive it; --help lists the options in the order of their declaration.
class OptionList {
public:
  explicit OptionList(CLI::App &app) : app(app) {}
  OptionList(const OptionList &) = delete;
  OptionList &operator=(const OptionList &) = delete;

  /// Declares a positional argument: a path.
  DeclaredOption &argument(const char *name, std::string &path, const char *help);
  /// Declares the remaining positional arguments: any texts.
  DeclaredOption &arguments(const char *name, std::vector<std::string> &texts, const char *help);
  /// Declares an option for a path.
  DeclaredOption &file(const char *name, std::string &path, const char *help,
                       const char *type = "FILE");
  /// Declare an option for a path, or "-" for standard input or standard output, which can be given
  /// once.
  DeclaredOption &input(const char *name, std::string &path, const char *help);
  DeclaredOption &output(const char *name, std::string &path, const char *help);
  /// Declares an option for any text.
  DeclaredOption &text(const char *name, std::string &field, const char *type, const char *help);
  /// As text(), for an option that may be given several times.
  DeclaredOption &texts(const char *name, std::vector<std::string> &fields, const char *type,
                        const char *help);

  /// Declares an option without a value, which sets the field to `value`.
  template <typename Field, typename Value>
  DeclaredOption &flag(const char *name, Field &field, Value value, const char *help) {
    return addFlag(name, help, [&field, value](const std::string & /*text*/) {
      field = value;
      return std::string();
    });
  }
  DeclaredOption &flag(const char *name, bool &field, const char *help) {
    return flag(name, field, true, help);
  }

  /// Declares an option whose value `parse` reads: `std::string parse(const std::string &text,
  /// Field &field)` sets the field, or returns the problem, as the continuation of a message that
  /// begins with the option's name.
  template <typename Field, typename Parse>
  DeclaredOption &value(const char *name, Field &field, const char *type, const char *help,
                        const Parse &parse) {
    return add(name, type, help,
               [&field, parse](const std::string &text) { return parse(text, field); });
  }

  /// Declares an option for a whole number from `least` to `most`.
  template <typename Field>
  DeclaredOption &whole(const char *name, Field &field, typename ValueOf<Field>::Type least,
                        typename ValueOf<Field>::Type most, const char *type, const char *help) {
    const auto parse = [least, most](const std::string &text, Field &to) {
      const auto value = parseWhole(text, least, most);
      if (value) {
        to = *value;
      }
      return value ? std::string()
                   : fmt::format(" is {}, expected a whole number from {} to {}", quote(text),
                                 least, most);
    };
    return withDefault(value(name, field, type, help, parse), field);
  }

  /// Declares an option for a number in a range.
  template <typename Field>
  DeclaredOption &number(const char *name, Field &field,
                         const NumberRange<typename ValueOf<Field>::Type> &range, const char *type,
                         const char *help) {
    const auto parse = [range](const std::string &text, Field &to) {
      const auto value = parseNumber<typename ValueOf<Field>::Type>(text);
      const bool valid = value && range.contains(*value);
      if (valid) {
        to = *value;
      }
      return valid ? std::string()
                   : fmt::format(" is {}, expected {}", quote(text), range.expected);
    };
    return withDefault(value(name, field, type, help, parse), field);
  }

  /// Declares an option for one of several words, which must outlive the list.
  template <typename Field, size_t count>
  DeclaredOption &word(const char *name, Field &field,
                       const Word<typename ValueOf<Field>::Type> (&words)[count], const char *type,
                       const char *help) {
    std::vector<std::string> names;
    for (const auto &word : words) {
      names.emplace_back(word.name);
    }
    const auto parse = [&words, names](const std::string &text, Field &to) {
      for (const auto &word : words) {
        if (text == word.name) {
          to = word.value;
          return std::string();
        }
      }
      return fmt::format(" is {}, expected {}{}", quote(text), listed(names),
                         didYouMean(text, names));
    };
    DeclaredOption &option = value(name, field, type, help, parse);
    for (const auto &word : words) {
      if (Field(word.value) == field) {
        option.otherwise(word.name);
      }
    }
    option.words = std::move(names);
    return option;
  }

  /// Adds a check of several options that runs after all are parsed: it returns the whole message,
  /// or an empty string. It may also complete the options.
  void check(std::function<std::string()> problem);

  /// Returns whether an option was given.
  bool given(const char *name) const;

  /// Sets all fields after CLI11 has split the arguments, or returns the error.
  std::optional<UsageError> read() const;
  /// Returns the error for an unexpected argument, which suggests the option that is most likely
  /// missing.
  UsageError unexpected(const std::string &argument) const;
  /// Returns an error of this command.
  UsageError usage(std::string message) const;

  /// Returns the words that options accept as their values.
  std::vector<std::string> acceptedWords() const;
  const CLI::App &application() const { return app; }

private:
  DeclaredOption &add(const char *name, const char *type, const char *help,
                      DeclaredOption::Reader read);
  DeclaredOption &addFlag(const char *name, const char *help, DeclaredOption::Reader read);
  DeclaredOption &addPath(const char *name, std::string &path, const char *type, const char *help,
                          DeclaredOption::Stream stream);
  /// Shows the initial value of a field in the help, unless the field is optional.
  template <typename Field>
  static DeclaredOption &withDefault(DeclaredOption &option, const Field &field) {
    if constexpr (std::is_same_v<Field, typename ValueOf<Field>::Type>) {
      option.otherwise(fmt::format("{}", field));
    }
    return option;
  }
  /// Returns "a, b or c".
  static std::string listed(std::span<const std::string> names);

  std::optional<UsageError> checkRequired() const;
  std::optional<UsageError> checkStreams() const;
  std::optional<UsageError> checkFiles() const;

  CLI::App &app;
  std::vector<std::unique_ptr<DeclaredOption>> options;
  std::vector<std::function<std::string()>> checks;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_OPTIONS_OPTIONLIST_H
