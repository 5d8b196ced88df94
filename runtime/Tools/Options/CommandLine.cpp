// SPDX-License-Identifier: Apache-2.0
///
/// CLI11 splits the arguments into options; the declarations of the command convert them to values.
/// All messages have the project's form.
#include "runtime/Tools/Options/CommandLine.h"

#include "base/NearestName.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::tools {

/// One command: its declarations, and the options that they set.
struct DeclaredProgram::Command {
  explicit Command(CLI::App &app) : list(app) {}

  OptionList list;
  std::function<CommandLine()> options;
};

template <typename Options>
void DeclaredProgram::add(const char *name, const char *description,
                          const std::function<bool(std::string_view command)> &declares) {
  CLI::App &application = *app->add_subcommand(name, description);
  Command &command = *commands.emplace_back(std::make_unique<Command>(application));
  const auto options = std::make_shared<Options>();
  if (declares(name)) {
    declare(command.list, *options);
  }
  command.options = [options] { return CommandLine(*options); };
  // Unexpected arguments are reported in the project's form.
  application.allow_extras();
}

DeclaredProgram::DeclaredProgram(const std::function<bool(std::string_view command)> &declares)
    : app(std::make_unique<CLI::App>()) {
  app->name("heddle");
  app->description("Runs models that heddlec compiled");
  app->set_version_flag("--version", "heddle " HEDDLE_VERSION);
  app->footer(
      "A classifier is the entry 'classify' of a model: 'heddle run --entry classify' gives its "
      "scores of tensors, and classify() in Python and C reads texts.\n'heddle help COMMAND' "
      "explains a command's options, as does 'man heddle-COMMAND' where Heddle is installed; "
      "docs/glossary.md explains the words.");
  app->allow_extras();
  app->prefix_command(false);
  // What follows the command is its own, be it the name of another.
  app->require_subcommand(0, 1);
  // In the order of --help.
  add<EmbedOptions>("embed", "Embed texts", declares);
  add<SimilarityOptions>("similarity", "Rank texts by how similar they are to a first one",
                         declares);
  add<RerankOptions>("rerank", "Rank texts by how well they answer a query", declares);
  add<TokenizeOptions>("tokenize", "Print the token ids of texts as .jsonl", declares);
  add<GenerateOptions>("generate", "Generate texts from texts", declares);
  add<ChatOptions>("chat", "Have a conversation with a model", declares);
  add<ScoreOptions>("score", "Print the log-probability of translations", declares);
  add<AnalyzeOptions>("analyze", "Measure how similar the attention of a model's layers is",
                      declares);
  add<CompareOptions>("compare", "Compare the results and the speed of two models on texts",
                      declares);
  add<RunOptions>("run", "Run an entry over tensors in a safetensors file", declares);
  add<BenchOptions>("bench", "Measure the speed of an entry or of generation, as JSON lines",
                    declares);
  add<ProfileOptions>("profile", "Show where a model spends its time, dispatch by dispatch",
                      declares);
  add<InfoOptions>("info", "Show what is inside a compiled model", declares);
  add<VerifyOptions>("verify", "Check structure and checksums of a compiled model", declares);
}

DeclaredProgram::~DeclaredProgram() = default;

std::vector<std::string> DeclaredProgram::acceptedWords() const {
  std::vector<std::string> words;
  for (const std::unique_ptr<Command> &command : commands) {
    const std::vector<std::string> accepted = command->list.acceptedWords();
    words.insert(words.end(), accepted.begin(), accepted.end());
  }
  return words;
}

/// Finds an option without its value, which would take the next argument as its value, as in
/// `--input= --json` and `--output --json`; or a file with an empty name.
static std::optional<std::string> optionWithoutValue(const CLI::App &application,
                                                     std::span<const char *const> arguments) {
  for (const std::string_view argument : arguments) {
    // A value may end in "=" itself.
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return std::string(argument.substr(0, argument.size() - 1));
    }
  }
  for (const CLI::Option *option : application.get_options()) {
    for (const std::string &value : option->results()) {
      // A positional argument may begin so, after "--".
      const bool isOption = !option->get_positional() && value.starts_with("--") &&
                            application.get_option_no_throw(value) != nullptr;
      const bool isNoFile = value.empty() && option->get_type_name() == "FILE";
      if ((isOption || isNoFile) && option->get_items_expected_max() > 0) {
        return option->get_name();
      }
    }
  }
  return std::nullopt;
}

/// Returns the command that was named, or an empty string.
static std::string parsedCommand(const CLI::App &app) {
  const std::vector<CLI::App *> parsed = app.get_subcommands();
  return parsed.empty() ? "" : parsed.front()->get_name();
}

/// Converts CLI11's error for an option (whose message begins "--name: ") to the project's form.
static std::string describeMismatch(const CLI::ArgumentMismatch &error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  return text.find("received") == std::string::npos
             ? fmt::format("{} has no value, expected one after it", option)
             : fmt::format("{} is given more than once, expected it once", option);
}

/// Returns the error if the arguments name no command; `rest` are the other arguments.
UsageError DeclaredProgram::noCommand(std::span<const std::string> rest) const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Command> &command : commands) {
    names.push_back(command->list.application().get_name());
  }
  const std::string seen =
      rest.empty() ? "no command" : fmt::format("unknown command {}", quote(rest.front()));
  const std::string nearest = rest.empty() ? "" : didYouMean(rest.front(), names);
  return UsageError{fmt::format("{}, expected one of {}{}", seen, fmt::join(names, ", "), nearest),
                    ""};
}

/// Gives an argument that is no option to the first that has room for it. False if none has.
static bool append(CLI::App &command, const std::string &argument) {
  for (CLI::Option *const option : command.get_options()) {
    const auto given = static_cast<int>(option->count());
    if (option->get_positional() && given < option->get_items_expected_max()) {
      option->add_result(argument);
      option->run_callback();
      return true;
    }
  }
  return false;
}

CommandLine DeclaredProgram::readCommand(const Command &command, Arguments arguments,
                                         Arguments operands) const {
  const OptionList &list = command.list;
  if (const std::vector<std::string> before = app->remaining(); !before.empty()) {
    return list.usage(fmt::format("unexpected argument {} before the command, expected it after {}",
                                  quote(before.front()), list.application().get_name()));
  }
  if (const auto option = optionWithoutValue(list.application(), arguments)) {
    return list.usage(fmt::format("{} has no value, expected one after it", *option));
  }
  if (const std::vector<std::string> rest = list.application().remaining(); !rest.empty()) {
    return list.unexpected(rest.front());
  }
  for (const char *const operand : operands) {
    if (!append(*app->get_subcommand(list.application().get_name()), operand)) {
      return list.unexpected(operand);
    }
  }
  if (auto error = list.read()) {
    return *std::move(error);
  }
  return command.options();
}

/// Where the mark "--" is, behind which no argument is an option; their number if there is none.
size_t DeclaredProgram::findMark(Arguments arguments) const {
  for (size_t i = 2; i < arguments.size(); ++i) {
    if (std::string_view(arguments[i]) != "--") {
      continue;
    }
    const auto takes = [&](const std::unique_ptr<Command> &command) {
      const CLI::Option *option = command->list.application().get_option_no_throw(arguments[i - 1]);
      return option != nullptr && !option->get_positional() && option->get_items_expected_min() > 0;
    };
    if (std::ranges::none_of(commands, takes)) {
      return i;
    }
  }
  return arguments.size();
}

/// `heddle help COMMAND` as `heddle COMMAND --help`.
CommandLine DeclaredProgram::parseHelp(std::span<const char *const> arguments) {
  const std::vector<std::string> words(arguments.begin() + 2, arguments.end());
  const auto isFirst = [&](const std::unique_ptr<Command> &command) {
    return command->list.application().get_name() == words.front();
  };
  if (!words.empty() && !words.front().starts_with("-") &&
      std::ranges::none_of(commands, isFirst)) {
    return noCommand(words);
  }
  if (words.size() > 1) {
    return UsageError{fmt::format("unexpected argument {}", quote(words[1])), ""};
  }
  std::vector<const char *> same = {arguments[0]};
  same.insert(same.end(), arguments.begin() + 2, arguments.end());
  same.push_back("--help");
  return parse(same);
}

CommandLine DeclaredProgram::parse(std::span<const char *const> arguments) {
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "help") {
    return parseHelp(arguments);
  }
  // CLI11 would give the program what is behind the mark, once the command has its arguments.
  const size_t mark = findMark(arguments);
  const Arguments options = arguments.first(mark);
  try {
    app->parse(static_cast<int>(options.size()), options.data());
  } catch (const CLI::CallForVersion &version) {
    return HelpText{fmt::format("{}\n", version.what())};
  } catch (const CLI::CallForHelp &) {
    const std::vector<std::string> rest = app->remaining();
    const bool isUnknown = parsedCommand(*app).empty() && !rest.empty() && rest[0][0] != '-';
    return isUnknown ? CommandLine(noCommand(rest)) : HelpText{app->help()};
  } catch (const CLI::ArgumentMismatch &error) {
    return UsageError{describeMismatch(error), parsedCommand(*app)};
  } catch (const CLI::ParseError &error) {
    return UsageError{error.what(), parsedCommand(*app)};
  }
  for (const std::unique_ptr<Command> &command : commands) {
    if (command->list.application().parsed()) {
      return readCommand(*command, options,
                         arguments.subspan(std::min(mark + 1, arguments.size())));
    }
  }
  return noCommand(app->remaining());
}

CommandLine parseCommandLine(std::span<const char *const> arguments) {
  const auto isNamed = [&](std::string_view command) {
    return std::ranges::any_of(arguments, [&](const char *each) { return command == each; });
  };
  return DeclaredProgram(isNamed).parse(arguments);
}

} // namespace heddle::tools
