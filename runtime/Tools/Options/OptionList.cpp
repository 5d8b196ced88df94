// SPDX-License-Identifier: Apache-2.0
///
/// Declares options to CLI11, and checks them in the order in which users correct a command line:
/// missing options, each value, then combinations.
#include "runtime/Tools/Options/OptionList.h"

#include "base/SameFile.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace heddle::tools {

DeclaredOption &DeclaredOption::required() {
  isRequired = true;
  return *this;
}

DeclaredOption &DeclaredOption::otherwise(std::string_view without) {
  option->description(fmt::format("{} ({})", help, without));
  return *this;
}

DeclaredOption &DeclaredOption::needs(const char *other) {
  needed = other;
  return *this;
}

DeclaredOption &DeclaredOption::endings(std::span<const std::string_view> endings,
                                        std::string_view expected) {
  endingList = endings;
  endingsExpected = expected;
  return *this;
}

DeclaredOption &DeclaredOption::hinted() {
  isHinted = true;
  return *this;
}

DeclaredOption &DeclaredOption::written() {
  isWritten = true;
  return *this;
}

std::string describeEnding(const std::string &path, std::span<const std::string_view> endings,
                           std::string_view expected) {
  const bool known = std::any_of(endings.begin(), endings.end(),
                                 [&](std::string_view ending) { return path.ends_with(ending); });
  return known ? std::string()
               : fmt::format(" {} has no known ending, expected {}", quote(path), expected);
}

DeclaredOption &OptionList::add(const char *name, const char *type, const char *help,
                                DeclaredOption::Reader read) {
  DeclaredOption &option = *options.emplace_back(std::make_unique<DeclaredOption>());
  option.name = name;
  option.help = help;
  option.read = std::move(read);
  option.option = app.add_option(name, option.text, help)->type_name(type);
  return option;
}

DeclaredOption &OptionList::addFlag(const char *name, const char *help,
                                    DeclaredOption::Reader read) {
  DeclaredOption &option = *options.emplace_back(std::make_unique<DeclaredOption>());
  option.name = name;
  option.help = help;
  option.read = std::move(read);
  option.isSet = false;
  option.option = app.add_flag(name, option.isSet, help);
  return option;
}

DeclaredOption &OptionList::addPath(const char *name, std::string &path, const char *type,
                                    const char *help, DeclaredOption::Stream stream) {
  DeclaredOption &option = add(name, type, help, [&path](const std::string &text) {
    path = text;
    return std::string();
  });
  option.path = &path;
  option.stream = stream;
  if (!path.empty()) {
    option.otherwise(path);
  }
  return option;
}

DeclaredOption &OptionList::argument(const char *name, std::string &path, const char *help) {
  return addPath(name, path, "", help, DeclaredOption::Stream::None);
}

DeclaredOption &OptionList::arguments(const char *name, std::vector<std::string> &texts,
                                      const char *help) {
  DeclaredOption &option = *options.emplace_back(std::make_unique<DeclaredOption>());
  option.name = name;
  option.help = help;
  // CLI11 has already assigned them.
  option.isSet = false;
  option.option = app.add_option(name, texts, help)->type_name("");
  return option;
}

DeclaredOption &OptionList::file(const char *name, std::string &path, const char *help,
                                 const char *type) {
  return addPath(name, path, type, help, DeclaredOption::Stream::None);
}

DeclaredOption &OptionList::input(const char *name, std::string &path, const char *help) {
  return addPath(name, path, "FILE", help, DeclaredOption::Stream::Input);
}

DeclaredOption &OptionList::output(const char *name, std::string &path, const char *help) {
  return addPath(name, path, "FILE", help, DeclaredOption::Stream::Output).written();
}

DeclaredOption &OptionList::text(const char *name, std::string &field, const char *type,
                                 const char *help) {
  return add(name, type, help, [&field](const std::string &text) {
    field = text;
    return std::string();
  });
}

DeclaredOption &OptionList::texts(const char *name, std::vector<std::string> &fields,
                                  const char *type, const char *help) {
  DeclaredOption &option = arguments(name, fields, help);
  option.option->type_name(type)->allow_extra_args(false);
  return option;
}

std::string OptionList::listed(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

void OptionList::check(std::function<std::string()> problem) {
  checks.push_back(std::move(problem));
}

bool OptionList::given(const char *name) const { return app.get_option(name)->count() > 0; }

UsageError OptionList::usage(std::string message) const {
  return UsageError{std::move(message), app.get_name()};
}

std::optional<UsageError> OptionList::checkRequired() const {
  for (const std::unique_ptr<DeclaredOption> &each : options) {
    if (!each->isRequired) {
      continue;
    }
    const std::string shown =
        each->option->get_positional() ? each->name : fmt::format("{} FILE", each->name);
    if (each->option->count() == 0) {
      return usage(fmt::format("{} is missing", shown));
    }
    // Most likely an unset variable of a script.
    if (each->text.empty()) {
      return usage(fmt::format("{} is empty, expected a path", shown));
    }
  }
  return std::nullopt;
}

/// Checks that standard input and standard output are each used once.
std::optional<UsageError> OptionList::checkStreams() const {
  const DeclaredOption *users[2] = {};
  for (const std::unique_ptr<DeclaredOption> &each : options) {
    if (each->stream == DeclaredOption::Stream::None || *each->path != "-") {
      continue;
    }
    const bool reads = each->stream == DeclaredOption::Stream::Input;
    const DeclaredOption *&user = users[reads ? 0 : 1];
    if (user != nullptr) {
      return usage(fmt::format("{} and {} are both standard {}, expected one of them", user->name,
                               each->name, reads ? "input" : "output"));
    }
    user = each.get();
  }
  return std::nullopt;
}

/// An output replaces its file when the command ends: it may not be an input, or another output.
std::optional<UsageError> OptionList::checkFiles() const {
  const auto isFile = [](const DeclaredOption &option) {
    const bool isStream = option.stream != DeclaredOption::Stream::None && *option.path == "-";
    return option.path != nullptr && !option.path->empty() && !isStream;
  };
  for (const std::unique_ptr<DeclaredOption> &output : options) {
    if (!output->isWritten || !isFile(*output)) {
      continue;
    }
    for (const std::unique_ptr<DeclaredOption> &other : options) {
      if (other != output && isFile(*other) && isSameFile(*output->path, *other->path)) {
        return usage(fmt::format("{} {} is the file of {}, expected another one", output->name,
                                 quote(*output->path), other->name));
      }
    }
  }
  return std::nullopt;
}

std::optional<UsageError> OptionList::read() const {
  if (auto error = checkRequired()) {
    return error;
  }
  for (const std::unique_ptr<DeclaredOption> &each : options) {
    // A flag may be given as "--json=false".
    if (each->option->count() == 0 || !each->isSet) {
      continue;
    }
    std::string problem = each->read(each->text);
    const bool isStream = each->stream != DeclaredOption::Stream::None && each->text == "-";
    const bool hasEnding = !each->endingList.empty() && !isStream && !each->text.empty();
    if (problem.empty() && hasEnding) {
      problem = describeEnding(each->text, each->endingList, each->endingsExpected);
    }
    if (!problem.empty()) {
      return usage(each->name + problem);
    }
  }
  if (auto error = checkStreams()) {
    return error;
  }
  if (auto error = checkFiles()) {
    return error;
  }
  for (const std::unique_ptr<DeclaredOption> &each : options) {
    if (each->option->count() > 0 && !each->needed.empty() && !given(each->needed.c_str())) {
      return usage(fmt::format("{} is given without {}, expected both", each->name, each->needed));
    }
  }
  for (const std::function<std::string()> &check : checks) {
    if (std::string problem = check(); !problem.empty()) {
      return usage(std::move(problem));
    }
  }
  return std::nullopt;
}

/// Returns the option that a misspelt one most likely stands for, ignoring a value after "=".
static std::string nearestOption(const CLI::App &app, const std::string &argument) {
  std::vector<std::string> names;
  for (const CLI::Option *const option : app.get_options()) {
    for (const std::string &name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::optional<std::string> nearest =
      nearestName(argument.substr(0, argument.find('=')), names);
  return nearest ? fmt::format(", did you mean {}?", *nearest) : std::string();
}

UsageError OptionList::unexpected(const std::string &argument) const {
  const bool isFile = !argument.starts_with("-") && !argument.ends_with(".so");
  std::string hint = argument.starts_with("-") ? nearestOption(app, argument) : "";
  for (const std::unique_ptr<DeclaredOption> &each : options) {
    if (hint.empty() && isFile && each->isHinted && each->option->count() == 0) {
      hint = fmt::format(", expected {} {}", each->name, argument);
    }
  }
  return usage(fmt::format("unexpected argument {}{}", quote(argument), hint));
}

std::vector<std::string> OptionList::acceptedWords() const {
  std::vector<std::string> all;
  for (const std::unique_ptr<DeclaredOption> &each : options) {
    all.insert(all.end(), each->words.begin(), each->words.end());
  }
  return all;
}

} // namespace heddle::tools
