// SPDX-License-Identifier: Apache-2.0
///
/// CLI11 cuts the arguments into options; what their values must be is checked here, so that every
/// message has the project's form.
#include "runtime/Tools/CommandLine.h"

#include "base/Utf8.h"
#include "runtime/Tools/NumberReader.h"
#include "runtime/Tools/RawOptions.h"
#include "runtime/Tools/TextReader.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

namespace heddle::tools {

static constexpr int threadLimit = 1024;

namespace {
/// What one command takes, and how its options become a CommandLine.
struct Command {
  const char *name;
  const char *description;
  std::function<void(CLI::App &, RawOptions &)> declare;
  std::function<CommandLine(const CLI::App &, const RawOptions &)> read;
};
} // namespace

UsageError usage(const CLI::App &app, std::string message) {
  return UsageError{std::move(message), app.get_name()};
}

std::optional<UsageError> missing(const CLI::App &app, std::initializer_list<const char *> names) {
  for (const char *name : names) {
    const CLI::Option *option = app.get_option(name);
    const std::string argument =
        option->get_positional() ? option->get_name() : fmt::format("{} FILE", name);
    if (option->count() == 0) {
      return usage(app, fmt::format("{} is missing", argument));
    }
    // A variable of a script that is not set, most likely.
    if (option->results().front().empty()) {
      return usage(app, fmt::format("{} is empty, expected a path", argument));
    }
  }
  return std::nullopt;
}

std::optional<UsageError> without(const CLI::App &app, const char *needed,
                                  std::initializer_list<const char *> names) {
  for (const char *name : names) {
    if (app.get_option(name)->count() > 0 && app.get_option(needed)->count() == 0) {
      return usage(app, fmt::format("{} is given without {}, expected both", name, needed));
    }
  }
  return std::nullopt;
}

int threadsOf(const std::string &text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool valid = error == std::errc() && end == text.data() + text.size() && value >= 1 &&
                     value <= threadLimit;
  return valid ? value : 0;
}

UsageError badThreads(const CLI::App &app, const std::string &text) {
  return usage(app, fmt::format("--threads {} is not a number of threads, expected 1 to {}",
                                quote(text), threadLimit));
}

std::optional<UsageError> badInputName(const CLI::App &app, const std::string &path) {
  if (textFormatOf(path)) {
    return std::nullopt;
  }
  return usage(app,
               fmt::format("--input {} has no known ending, expected a .txt or .jsonl file, or "
                           "- for standard input",
                           quote(path)));
}

void declareModel(CLI::App &app, RawOptions &raw) {
  app.add_option("OUT.so", raw.model, "A model that heddlec compiled")->type_name("");
  app.add_flag("--json", raw.json, "For programs: JSON where there is a choice, no progress");
}

static void declareTexts(CLI::App &app, RawOptions &raw) {
  app.add_option(
         "--input", raw.input,
         "Texts: .txt has one a line, .jsonl has {\"text\": ...} a line, - is standard input")
      ->type_name("FILE");
}

void declareOnError(CLI::App &app, RawOptions &raw, const char *whatContinues) {
  app.add_option("--on-error", raw.onError,
                 fmt::format("A line that cannot be used is reported. continue: {}, the run goes "
                             "on, and the exit code is 1; stop: the run ends before it (continue)",
                             whatContinues))
      ->type_name("WHAT");
}

std::optional<UsageError> readOnError(const CLI::App &app, const RawOptions &raw,
                                      OnError &onError) {
  if (app.get_option("--on-error")->count() == 0) {
    return std::nullopt;
  }
  if (raw.onError != "continue" && raw.onError != "stop") {
    return usage(app,
                 fmt::format("--on-error is {}, expected continue or stop", quote(raw.onError)));
  }
  onError = raw.onError == "stop" ? OnError::Stop : OnError::Continue;
  return std::nullopt;
}

void declareTruncate(CLI::App &app, RawOptions &raw) {
  app.add_flag("--truncate", raw.truncate,
               "Cut sources that are longer than the model allows; without it they are errors");
}

void declareExecution(CLI::App &app, RawOptions &raw) {
  app.add_option("--threads", raw.threads, "Threads that compute; all give the same bits (1)")
      ->type_name("N");
  app.add_option("--isa", raw.isa,
                 "The target to run, for example x86-64-v3 (the best this machine has)")
      ->type_name("NAME");
}

static CommandLine readEmbed(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so", "--input"})) {
    return *error;
  }
  if (const auto error = badInputName(app, raw.input)) {
    return *error;
  }
  EmbedOptions options{{raw.model, raw.json}, raw.input, "-", threadsOf(raw.threads), raw.isa};
  if (app.get_option("--output")->count() > 0) {
    options.output = raw.output;
  }
  if (options.output != "-" && !options.output.ends_with(".jsonl") &&
      !options.output.ends_with(".npy")) {
    return usage(app,
                 fmt::format("--output {} has no known ending, expected a .jsonl or .npy file, "
                             "or - for standard output",
                             quote(options.output)));
  }
  if (options.threads == 0) {
    return badThreads(app, raw.threads);
  }
  if (const auto error = readOnError(app, raw, options.onError)) {
    return *error;
  }
  return options;
}

static CommandLine readTokenize(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so", "--input"})) {
    return *error;
  }
  if (const auto error = badInputName(app, raw.input)) {
    return *error;
  }
  TokenizeOptions options{{raw.model, raw.json}, raw.input};
  if (const auto error = readOnError(app, raw, options.onError)) {
    return *error;
  }
  return options;
}

static CommandLine readRun(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so", "--inputs", "--outputs"})) {
    return *error;
  }
  RunOptions options{{raw.model, raw.json},  raw.entry, raw.inputs, raw.outputs,
                     threadsOf(raw.threads), raw.isa};
  if (options.threads == 0) {
    return badThreads(app, raw.threads);
  }
  return options;
}

template <typename Options>
static CommandLine readModelOnly(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so"})) {
    return *error;
  }
  return Options{{raw.model, raw.json}};
}

static void declareEmbed(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  declareTexts(app, raw);
  app.add_option(
         "--output", raw.output,
         "Embeddings: .jsonl has {\"text\", \"tokens\", \"embedding\"} a line, .npy a matrix "
         "[texts, width] of float32, - is standard output (-)")
      ->type_name("FILE");
  declareOnError(app, raw, "it gets {\"text\", \"error\"}, in a matrix a row of NaN");
  declareExecution(app, raw);
}

static void declareTokenize(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  declareTexts(app, raw);
  declareOnError(app, raw, "it gets {\"text\", \"error\"}");
}

static void declareRun(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  app.add_option("--entry", raw.entry, "The function of the model to run")->type_name("NAME");
  app.add_option("--inputs", raw.inputs,
                 "safetensors with the inputs, named as 'heddle info' lists them (input_ids; of "
                 "a model that generates, source and target): [B,S] and, where there is padding, "
                 "attention_mask [B,S]; or, of one entry, [tokens] and lengths [sequences]")
      ->type_name("FILE");
  app.add_option("--outputs", raw.outputs, "safetensors with all outputs of the entry, by name")
      ->type_name("FILE");
  declareExecution(app, raw);
}

static const std::vector<Command> &commands() {
  static const std::vector<Command> all = {
      {"embed", "Embed texts", declareEmbed, readEmbed},
      {"tokenize", "Print the token ids of texts as .jsonl", declareTokenize, readTokenize},
      {"generate", "Generate texts from texts", declareGenerate, readGenerate},
      {"score", "Print the log-probability of translations", declareScore, readScore},
      {"analyze", "Say how much the attention of a model's layers differs", declareAnalyze,
       readAnalyze},
      {"compare", "Say how two models differ in what they make of texts", declareCompare,
       readCompare},
      {"run", "Run an entry over tensors in a safetensors file", declareRun, readRun},
      {"bench", "Measure the speed of an entry or of generation, as JSON lines", declareBench,
       readBench},
      {"profile", "Say where the time of a model goes, dispatch by dispatch", declareProfile,
       readProfile},
      {"info", "Say what is inside a compiled model", declareModel, readModelOnly<InfoOptions>},
      {"verify", "Check structure and checksums of a compiled model", declareModel,
       readModelOnly<VerifyOptions>},
  };
  return all;
}

/// An argument that gives an option no value, in a form that would take the next one for it: as in
/// `--input= --json` and `--output --json`; or a file without a name.
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
      const bool isOption =
          value.starts_with("--") && application.get_option_no_throw(value) != nullptr;
      const bool isNoFile = value.empty() && option->get_type_name() == "FILE";
      if ((isOption || isNoFile) && option->get_items_expected_max() > 0) {
        return option->get_name();
      }
    }
  }
  return std::nullopt;
}

/// Arguments that the command has no place for. A file without its option is what people write
/// first.
static UsageError unexpected(const CLI::App &application, const std::string &argument) {
  std::string hint;
  const bool isFile = !argument.starts_with("-") && !argument.ends_with(".so");
  for (const char *name :
       {"--input", "--source", "--target", "--inputs", "--outputs", "--shapes"}) {
    const CLI::Option *const option = application.get_option_no_throw(name);
    if (hint.empty() && isFile && option != nullptr && option->count() == 0) {
      hint = fmt::format(", expected {} {}", name, argument);
    }
  }
  return usage(application, fmt::format("unexpected argument {}{}", quote(argument), hint));
}

/// The command that was named, or nothing.
static std::string parsedCommand(const CLI::App &app) {
  const std::vector<CLI::App *> parsed = app.get_subcommands();
  return parsed.empty() ? "" : parsed.front()->get_name();
}

/// What CLI11 found wrong with an option (its message begins "--name: "), in the project's form.
static std::string describeMismatch(const CLI::ArgumentMismatch &error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  return text.find("received") == std::string::npos
             ? fmt::format("{} has no value, expected one after it", option)
             : fmt::format("{} is given more than once, expected it once", option);
}

/// What is wrong when no command was found among the arguments.
static UsageError noCommand(const CLI::App &app) {
  std::vector<std::string_view> names;
  for (const Command &command : commands()) {
    names.push_back(command.name);
  }
  const std::vector<std::string> rest = app.remaining();
  const std::string seen =
      rest.empty() ? "no command" : fmt::format("unknown command {}", quote(rest.front()));
  return UsageError{fmt::format("{}, expected one of {}", seen, fmt::join(names, ", ")), ""};
}

/// Declares the program with the names of all its commands, and the options of some.
static std::vector<CLI::App *>
declareSome(CLI::App &app, RawOptions &raw,
            const std::function<bool(std::string_view command)> &hasOptions) {
  app.name("heddle");
  app.description("Runs models that heddlec compiled");
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  // Arguments that nobody asked for are reported by the reader, in the project's form.
  app.allow_extras();
  app.prefix_command(false);
  std::vector<CLI::App *> applications;
  for (const Command &command : commands()) {
    CLI::App *application = app.add_subcommand(command.name, command.description);
    if (hasOptions(command.name)) {
      command.declare(*application, raw);
    }
    application->allow_extras();
    applications.push_back(application);
  }
  return applications;
}

std::vector<CLI::App *> declareCommands(CLI::App &app, RawOptions &raw) {
  return declareSome(app, raw, [](std::string_view) { return true; });
}

CommandLine parseCommandLine(std::span<const char *const> arguments) {
  RawOptions raw;
  CLI::App app;
  // A command that is not there takes no options, and to declare them all takes most of the time.
  const std::vector<CLI::App *> applications = declareSome(app, raw, [&](std::string_view command) {
    return std::ranges::any_of(arguments, [&](const char *each) { return command == each; });
  });
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForVersion &version) {
    return HelpText{fmt::format("{}\n", version.what())};
  } catch (const CLI::CallForHelp &) {
    return HelpText{app.help()};
  } catch (const CLI::ArgumentMismatch &error) {
    return UsageError{describeMismatch(error), parsedCommand(app)};
  } catch (const CLI::ParseError &error) {
    return UsageError{error.what(), parsedCommand(app)};
  }
  for (size_t index = 0; index < applications.size(); ++index) {
    const CLI::App &application = *applications[index];
    if (!application.parsed()) {
      continue;
    }
    if (const auto option = optionWithoutValue(application, arguments)) {
      return usage(application, fmt::format("{} has no value, expected one after it", *option));
    }
    const std::vector<std::string> rest = application.remaining();
    return rest.empty() ? commands()[index].read(application, raw)
                        : unexpected(application, rest.front());
  }
  return noCommand(app);
}

} // namespace heddle::tools
