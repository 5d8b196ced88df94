// SPDX-License-Identifier: Apache-2.0
///
/// heddle: runs, measures and describes models that heddlec compiled. Exit codes: 0; 1, the input
/// was at fault; 2, the command line was; 130, it was interrupted and what it wrote is whole lines.
#include "runtime/Tools/CommandLine.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Interruption.h"
#include "runtime/Tools/OutputStream.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <type_traits>
#include <variant>

using namespace heddle;
using namespace heddle::tools;

/// Where standard error is closed as well, the exit code has to do.
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

static int run(std::span<const char *const> arguments) {
  return std::visit(
      [](const auto &options) {
        if constexpr (std::is_same_v<std::decay_t<decltype(options)>, UsageError>) {
          return reportUsage(options);
        } else {
          using ::execute;
          using heddle::tools::execute;
          const Status status = execute(options);
          if (!status.ok()) {
            report(fmt::format("heddle: {}\n", status.message()));
          }
          return !status.ok() ? 1 : interrupted() ? 130 : 0;
        }
      },
      parseCommandLine(arguments));
}

int main(int argc, char **argv) {
  // A reader that goes away, or a file above its limit, is an error of writing as any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(std::span<const char *const>(argv, static_cast<size_t>(argc)));
  } catch (const std::bad_alloc &) {
    std::fputs("heddle: out of memory\n", stderr);
  } catch (const std::exception &error) {
    report(fmt::format("heddle: internal error: {}\n", error.what()));
  }
  return 1;
}
