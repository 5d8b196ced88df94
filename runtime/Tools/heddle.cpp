// SPDX-License-Identifier: Apache-2.0
///
/// heddle runs, measures and describes models that heddlec compiled. The exit code is 1 if the
/// input was at fault and 2 if the command line was. A signal ends it as it ends any program, after
/// a whole line of output; so does a reader that closes the pipe, which is not an error.
#include "base/Signals.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Options/CommandLine.h"

#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <type_traits>
#include <variant>

using namespace heddle;
using namespace heddle::tools;

/// If standard error is closed as well, only the exit code reports the failure.
static void report(const std::string &lines) { std::fputs(lines.c_str(), stderr); }

static int reportUsage(const UsageError &error) {
  const std::string command = error.command.empty() ? "heddle" : "heddle " + error.command;
  report(fmt::format("heddle: {}\nheddle: try '{} --help'\n", error.message, command));
  return 2;
}

static Status execute(const HelpText &help) {
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(help.text));
  return output.finish();
}

/// Reports a failure and returns the exit code of a command that ended with this status.
static int end(const Status &status, const char *command) {
  if (isOptionError(status)) {
    return reportUsage({std::string(status.message()), command});
  }
  const bool isWell = status.ok() || (status.code() == StatusCode::InputOutput && readerHasLeft());
  if (!isWell) {
    report(fmt::format("heddle: {}\n", status.message()));
  }
  if (interrupted()) {
    endBySignal(interruption());
  }
  return isWell ? 0 : 1;
}

static int run(std::span<const char *const> arguments) {
  return std::visit(
      [&](const auto &options) {
        if constexpr (std::is_same_v<std::decay_t<decltype(options)>, UsageError>) {
          return reportUsage(options);
        } else {
          using ::execute;
          using heddle::tools::execute;
          // A parsed command line begins with the command, or asks for help.
          return end(execute(options), arguments.size() > 1 ? arguments[1] : "");
        }
      },
      parseCommandLine(arguments));
}

int main(int argc, char **argv) {
  handleSignals();
  try {
    return run(std::span<const char *const>(argv, static_cast<size_t>(argc)));
  } catch (const std::bad_alloc &) {
    std::fputs("heddle: out of memory\n", stderr);
  } catch (const std::exception &error) {
    report(fmt::format("heddle: internal error: {}\n", error.what()));
  }
  return 1;
}
