// SPDX-License-Identifier: Apache-2.0
///
/// Manual pages and shell completion, written from the declarations of a program's options, so that
/// they cannot say anything else than --help does.
#ifndef HEDDLE_BASE_MANUALPAGE_H
#define HEDDLE_BASE_MANUALPAGE_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace CLI {
class App;
} // namespace CLI

namespace heddle {

/// What a manual page says that options do not.
struct ManualSource {
  /// As in "heddle 0.3.0".
  std::string version;
  /// Other pages, as in "heddlec(1)".
  std::string seeAlso;
};

/// The manual page of a program, or of one of its commands, in the language of man(7).
std::string manualPage(const CLI::App &app, std::string_view program, const ManualSource &source);

/// Completion of commands and options, for bash and for zsh.
std::string bashCompletion(const CLI::App &app);
std::string zshCompletion(const CLI::App &app);

/// Writes all of it below a folder as an installation has it: share/man/man1/PROGRAM.1 and
/// PROGRAM-COMMAND.1, share/bash-completion/completions/PROGRAM, share/zsh/site-functions/_PROGRAM.
Status writeManual(const CLI::App &app, const ManualSource &source, const std::string &folder);

/// writeManual() as a main(): the folder is the only argument (the current one), a failure is said
/// on standard error. Answers the exit code.
int writeManual(const CLI::App &app, const ManualSource &source, int argc, char **argv);

} // namespace heddle

#endif // HEDDLE_BASE_MANUALPAGE_H
