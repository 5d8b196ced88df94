// SPDX-License-Identifier: Apache-2.0
///
/// Declares heddlec's options and parses them with CLI11.
#include "compiler/Tools/CommandLine.h"

#include "base/NearestName.h"
#include "base/Utf8.h"
#include "compiler/Parameters/PrecisionNames.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace heddle {

/// The names of parts of the request in messages.
static constexpr RequestNames optionNames = {
    .targets = "--target",
    .precision = "--precision",
    .cache = "--cache",
    .keep = "--keep",
    .sharing = "--share-attention",
    .disabledPasses = "--disable-pass",
    .weights = "--weights",
    .startAt = "--start-at",
    .stopAfter = "--stop-after",
    .texts = "--emit",
    .analysis = "--analysis",
    .page = "--report=FILE.html",
    .codeCache = "--code-cache",
    .calibration = "--calibration",
    .chatTemplate = "--no-chat-template",
    .textLength = "--text-length",
    .staticSizes = "--static",
    .output = "-o",
    .ptxas = "--ptxas",
};

static CLI::Option *addText(CLI::App &app, std::string_view name, std::string &value,
                            const char *type, const char *help) {
  return app.add_option(std::string(name), value, help)->type_name(type);
}

/// Adds an option whose value is a phase. Errors in the value are reported after all arguments have
/// been parsed.
static void addPhase(CLI::App &app, std::string_view name, std::optional<Phase> &phase,
                     CommandLine &line, const char *help) {
  const auto read = [&phase, &line, name](const std::string &text) {
    phase = parsePhase(text);
    if (!phase && line.problem.empty()) {
      static const std::vector<std::string> names = {
#define HEDDLE_PHASE(Name, text, summary) text,
#include "compiler/Phases.def"
      };
      line.problem = fmt::format("{} is {}, expected one of {}{}", name, quote(text), phaseNames(),
                                 didYouMean(text, names));
    }
  };
  app.add_option_function<std::string>(std::string(name), read, help)->type_name("PHASE");
}

/// Adds the option for a length.
static void addTextLength(CLI::App &app, CommandLine &line) {
  const auto read = [&line](const std::string &text) {
    int64_t &length = line.request.textLength;
    const char *const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, length);
    const bool isWrong = error != std::errc() || stop != end || length < 1 || length > longestText;
    if (isWrong && line.problem.empty()) {
      line.problem = fmt::format("{} is {}, expected a number from 1 to {}", optionNames.textLength,
                                 quote(text), longestText);
    }
  };
  app.add_option_function<std::string>(
         std::string(optionNames.textLength), read,
         "the most tokens of a text, of a model whose rotary positions depend on that (dynamic, "
         "longrope); without it, as many as texts of its first training had")
      ->type_name("N");
}

/// Adds the option for targets, separated by commas; the check of the request reports an empty one.
static void addTargets(CLI::App &app, CompileRequest &request) {
  const auto read = [&request](const std::string &text) {
    request.targets.clear();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      request.targets.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  app.add_option_function<std::string>(std::string(optionNames.targets), read,
                                       "targets of the binary, separated by commas, or native; "
                                       "NAME:COLUMNS stores the matrices of products for that "
                                       "target in panels of so many columns")
      ->type_name("LIST")
      ->default_str(fmt::format("{} and what suits --precision, see below", leastTarget));
}

/// The option of layers in another precision.
static void addKeep(CLI::App &app, CompileRequest &request) {
  app.add_option(
         std::string(optionNames.keep), request.keep,
         "weights of another precision than all others, and products with them: "
         "attention.self=int8, or layer.4,layer.5=int8; a pattern matches the tensors that "
         "have its dotted parts in their names side by side, * is any part; may be repeated")
      ->type_name("LAYERS=PRECISION")
      ->allow_extra_args(false);
}

/// What a target has, and which binaries have code for it unless somebody chooses.
static std::string describeTarget(const KnownTarget &target) {
  if (target.name == leastTarget) {
    return target.summary + "; in every binary by default";
  }
  std::vector<std::string_view> users;
  for (const Precision &precision : precisions) {
    if (precision.isFor(target.name)) {
      users.push_back(precision.name);
    }
  }
  if (precisionOfFiles(/*quantisesRows=*/true).isFor(target.name)) {
    users.emplace_back("files that quantise rows");
  }
  return users.empty()
             ? target.summary
             : fmt::format("{}; by default for {}", target.summary, fmt::join(users, ", "));
}

/// Lists the values of options, each with the summary from its declaration.
static std::string describeNames() {
  std::string text = fmt::format("Phases of {}, {} and {}, in order:\n", optionNames.texts,
                                 optionNames.stopAfter, optionNames.startAt);
  const auto add = [&text](std::string_view name, std::string_view summary) {
    text += fmt::format("  {:<23} {}\n", name, summary);
  };
#define HEDDLE_PHASE(Name, text, summary)                                                          \
  add(text, Phase::Name == Phase::SharedObject ? summary ", which is only written to -o" : summary);
#include "compiler/Phases.def"
  text += fmt::format("\nTargets of {}:\n", optionNames.targets);
  for (const KnownTarget &target : knownTargets()) {
    add(target.name, describeTarget(target));
  }
  add("native", "the best of them that this machine has");
  text += fmt::format("\nPrecisions of {}:\n", optionNames.precision);
  for (const Precision &precision : precisions) {
    add(precision.name, precision.summary);
  }
  text += fmt::format("\nCaches of {}:\n", optionNames.cache);
  for (const CachePrecision &cache : cachePrecisions) {
    add(cache.name, cache.summary);
  }
  text +=
      fmt::format("\nPasses of {}, in the order in which they run:\n", optionNames.disabledPasses);
  for (const OptionalPass &pass : describePasses()) {
    add(pass.name, pass.summary);
  }
  return text + "\n'man heddlec' has this where Heddle is installed; docs/glossary.md explains the "
                "words.";
}

void declareOptions(CLI::App &app, CommandLine &line) {
  CompileRequest &request = line.request;
  request.names = optionNames;
  app.name("heddlec");
  app.description("Compiles Transformer variants to one binary");
  addText(app, "INPUT", request.path, "",
          "a model folder, a GGUF or ONNX file, or a program FILE.mlir");
  addText(app, "-o", line.output, "FILE", "the binary OUT.so, or the program after --stop-after");
  addTargets(app, request);
  addText(app, optionNames.precision, request.precision, "NAME", "of weights and products")
      ->default_str("f32, or as quantised files say");
  addText(app, optionNames.cache, request.cache, "NAME", "what caches keep of earlier tokens")
      ->capture_default_str();
  addKeep(app, request);
  addPhase(app, optionNames.texts, line.emit, line, "print the program after a phase");
  addPhase(app, optionNames.stopAfter, line.stopAfter, line,
           "write the program after a phase to -o");
  addPhase(app, optionNames.startAt, request.startAt, line,
           "the first phase to run: INPUT is the result of the one before; without it, the phase "
           "after the one that INPUT says it is in");
  addText(app, optionNames.weights, request.weights, "PATH",
          "the model's folder, a GGUF file or a file of weights, for a program FILE.mlir; without "
          "it, what lies beside the program");
  addText(app, "--report", line.reportFile, "FILE",
          "write every candidate of every pass, taken or not, and why: FILE.html is a page with "
          "the program before and after and its costs, any other name JSON; with no other output, "
          "no machine code is made");
  addText(app, optionNames.analysis, request.analysis, "FILE.json",
          "show this file of 'heddle analyze' in the page of --report");
  addText(app, optionNames.calibration, request.calibration, "TEXTS",
          "choose the codes of weights in 8 or 4 bits by what products read on the texts of this "
          "file, one a line: some hundred like those that the model will read");
  addTextLength(app, line);
  app.add_flag_callback(
      std::string(optionNames.staticSizes), [&request] { request.staticSizes = true; },
      "compile an ONNX graph in which the exporter made constants of sizes that its inputs leave "
      "open, for these sizes alone");
  addText(app, optionNames.sharing, request.sharing, "POLICY",
          "let blocks of layers share their attention, by kind (encoder, self, cross): "
          "self:1,5,cross:4,2");
  app.add_option(std::string(optionNames.disabledPasses), request.disabledPasses,
                 "leave a pass out; may be repeated")
      ->type_name("PASS")
      ->allow_extra_args(false);
  // Not a flag with the value false, which the help would show.
  app.add_flag_callback(
      std::string(optionNames.chatTemplate), [&request] { request.chatTemplate = false; },
      "leave the model's chat templates out");
  addText(app, optionNames.codeCache, request.codeCache, "FOLDER",
          "keep compiled functions in this folder, and do not compile again what is in it");
  addText(app, optionNames.ptxas, request.ptxas, "PATH",
          "assemble the kernels of GPUs by this program of CUDA too, so that no driver has to");
  app.set_version_flag("--version", "heddlec " HEDDLE_VERSION);
  app.footer(describeNames);
  // parseCommandLine() reports unexpected arguments with our own messages.
  app.allow_extras();
}

static int usage(const std::string &message) {
  std::fprintf(stderr, "heddlec: %s\nheddlec: try 'heddlec --help'\n", message.c_str());
  return 2;
}

static int withoutValue(const std::string &option) {
  return usage(option + " has no value, expected one after it");
}

/// Replaces CLI11's messages "--report: At Most 1 required but received 2" and "--report: 1
/// required TEXT missing".
static int reportMismatch(const CLI::ArgumentMismatch &error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  return text.find("received") == std::string::npos
             ? withoutValue(option)
             : usage(option + " is given more than once, expected it once");
}

/// Returns the option whose value is another option, as in `--report -o OUT.so`; null if there is
/// none.
static const CLI::Option *optionWithoutValue(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &value : option->results()) {
      if (value.starts_with("-") && app.get_option_no_throw(value) != nullptr) {
        return option;
      }
    }
  }
  return nullptr;
}

/// `unexpected argument "--emti=so", did you mean --emit?`
static int unexpected(const CLI::App &app, const std::string &argument) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const auto nearest = argument.starts_with("-")
                           ? nearestName(argument.substr(0, argument.find('=')), names)
                           : std::nullopt;
  return usage(fmt::format("unexpected argument {}{}", quote(argument),
                           nearest ? fmt::format(", did you mean {}?", *nearest) : ""));
}

/// Prints `text` and returns `code`, or 1 if it cannot be written.
static int finishOutput(const std::string &text, int code) {
  const bool isWritten = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!isWritten) {
    std::fprintf(stderr, "heddlec: standard output: cannot write: %s\n", std::strerror(errno));
  }
  return isWritten ? code : 1;
}

/// Determines the last phase and the outputs. Returns an error message, or nothing.
static std::string chooseOutputs(CommandLine &line) {
  CompileRequest &request = line.request;
  const bool saysBinary = line.emit == Phase::SharedObject;
  if (saysBinary) {
    line.emit.reset();
  }
  if (line.stopAfter) {
    request.stopAfter = *line.stopAfter;
  } else if (line.emit && line.output.empty()) {
    request.stopAfter = *line.emit;
  }
  if (!line.reportFile.empty()) {
    request.report = line.reportFile.ends_with(".html") ? ReportForm::Page : ReportForm::Json;
  }
  request.producer = "heddlec " HEDDLE_VERSION;
  const bool isReportAlone = !line.reportFile.empty() && line.output.empty() && !line.emit &&
                             !line.stopAfter && !saysBinary;
  if (isReportAlone) {
    // No later pass makes decisions.
    request.stopAfter = Phase::Dataflow;
    return {};
  }
  if (request.stopAfter != Phase::SharedObject) {
    request.texts.push_back(request.stopAfter);
  } else if (line.output == "-") {
    return "-o is \"-\", standard output, which is for texts, expected a file for the binary";
  } else if (!line.output.empty()) {
    request.output = line.output;
  } else if (saysBinary || line.stopAfter) {
    return std::string(saysBinary ? "--emit" : "--stop-after") +
           "=so is the binary, which is not printed, expected -o OUT.so";
  } else {
    return "no output, expected -o OUT.so, --emit=PHASE or --report=FILE";
  }
  if (line.emit && line.emit != request.stopAfter) {
    request.texts.push_back(*line.emit);
  }
  return {};
}

/// Returns an error about an option with an empty value, for example from an unset variable of a
/// script; nothing if the user of the value reports it.
static std::string describeEmpty(const CLI::App &app) {
  // The checks of these options report what they expect.
  static constexpr std::array<std::string_view, 9> checked = {
      optionNames.targets,        optionNames.cache,      optionNames.keep,
      optionNames.texts,          optionNames.startAt,    optionNames.stopAfter,
      optionNames.disabledPasses, optionNames.textLength, optionNames.output};
  for (const CLI::Option *option : app.get_options()) {
    const std::string name = option->get_name();
    const bool isEmpty = option->count() > 0 && option->results() == std::vector<std::string>{""};
    if (!isEmpty || option->get_positional() || std::ranges::find(checked, name) != checked.end()) {
      continue;
    }
    return name == optionNames.precision ? fmt::format("{} is {}", name, unknownPrecision(""))
                                         : fmt::format("{} is empty, expected a value", name);
  }
  return {};
}

std::optional<int> parseCommandLine(int argc, char **argv, CommandLine &line) {
  CLI::App app;
  declareOptions(app, line);
  for (int argument = 1; argument < argc; ++argument) {
    // CLI11 would take the next argument for the value. A value may end in "=" itself.
    const std::string text = argv[argument];
    if (text.starts_with("--") && text.find('=') == text.size() - 1) {
      return withoutValue(text.substr(0, text.size() - 1));
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    std::ostringstream text;
    const int code = app.exit(request, text, text);
    return finishOutput(text.str(), code);
  } catch (const CLI::ArgumentMismatch &error) {
    return reportMismatch(error);
  } catch (const CLI::ParseError &error) {
    return usage(error.what());
  }
  if (const CLI::Option *option = optionWithoutValue(app)) {
    return withoutValue(option->get_name());
  }
  std::vector<std::string> rest = app.remaining();
  // CLI11 gives back the mark behind which no argument is an option.
  if (const auto mark = std::find(rest.begin(), rest.end(), "--"); mark != rest.end()) {
    rest.erase(mark);
  }
  if (!rest.empty()) {
    return unexpected(app, rest.front());
  }
  if (const std::string empty = describeEmpty(app); !empty.empty()) {
    return usage(empty);
  }
  if (line.request.path.empty()) {
    return usage("no INPUT, expected a model folder, a GGUF or ONNX file, or a program FILE.mlir");
  }
  if (!line.problem.empty()) {
    return usage(line.problem);
  }
  if (const std::string problem = chooseOutputs(line); !problem.empty()) {
    return usage(problem);
  }
  return std::nullopt;
}

} // namespace heddle
