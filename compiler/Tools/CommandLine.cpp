// SPDX-License-Identifier: Apache-2.0
///
/// heddlec's options, by CLI11.
#include "compiler/Tools/CommandLine.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace heddle {

void declareOptions(CLI::App &app, CommandLine &line) {
  app.name("heddlec");
  app.description("Compiles Transformer variants to one binary");
  app.add_option("INPUT", line.input, "a model folder, or a program FILE.mlir");
  app.add_option("-o", line.output, "the binary OUT.so, or the program after --stop-after");
  app.add_option("--target", line.targets, "targets of the binary, separated by commas, or native")
      ->capture_default_str();
  app.add_option("--precision", line.precision, "of weights and products")->capture_default_str();
  app.add_option("--emit", line.emitPhase, "print the program after a phase");
  app.add_option("--stop-after", line.stopAfter, "write the program after a phase to -o");
  app.add_option("--start-at", line.startAt,
                 "the first phase to run: INPUT is the result of the one before; without it, the "
                 "phase after the one that INPUT says it is in");
  app.add_option("--weights", line.weights,
                 "the model's folder, or a file of weights, for a program FILE.mlir; without it, "
                 "what lies beside the program");
  app.add_option("--report", line.reportFile,
                 "write every candidate of every pass, taken or not, and why: FILE.html is a page "
                 "with the program before and after and its costs, any other name JSON");
  app.add_option("--analysis", line.analysisFile,
                 "show this file of 'heddle analyze' in the page of --report");
  app.add_option("--share-attention", line.sharing,
                 "let blocks of layers share their attention, by kind (encoder, self, cross): "
                 "self:1,5,cross:4,2");
  app.add_option("--disable-pass", line.disabledPasses, "leave a pass out; may be repeated")
      ->allow_extra_args(false);
  app.set_version_flag("--version", "heddlec " HEDDLE_VERSION);
  // Arguments that nobody asked for are reported below, in the project's form.
  app.allow_extras();
}

static int usage(const std::string &message) {
  std::fprintf(stderr, "heddlec: %s\nheddlec: see 'heddlec --help'\n", message.c_str());
  return 2;
}

static int withoutValue(const std::string &option) {
  return usage(option + " has no value, expected one after it");
}

/// CLI11 says "--report: At Most 1 required but received 2" and "--report: 1 required TEXT
/// missing".
static int reportMismatch(const CLI::ArgumentMismatch &error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  return text.find("received") == std::string::npos
             ? withoutValue(option)
             : usage(option + " is given more than once, expected it once");
}

/// The option that took another option for its value, as in `--report -o OUT.so`.
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

/// The code to end with: what cannot be written is no success.
static int finishOutput(const std::string &text, int code) {
  const bool isWritten = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!isWritten) {
    std::fprintf(stderr, "heddlec: standard output: cannot write: %s\n", std::strerror(errno));
  }
  return isWritten ? code : 1;
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
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty()) {
    return usage("unexpected argument '" + rest.front() + "'");
  }
  line.hasTargets = app.count("--target") > 0;
  if (line.input.empty()) {
    return usage("no INPUT, expected a model folder or a program FILE.mlir");
  }
  return std::nullopt;
}

} // namespace heddle
