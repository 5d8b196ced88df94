// SPDX-License-Identifier: Apache-2.0
///
/// Manual pages and shell completion, generated from the declarations of a program's options, so
/// that they always agree with --help.
#ifndef HEDDLE_BASE_MANUALPAGE_H
#define HEDDLE_BASE_MANUALPAGE_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace CLI {
class App;
} // namespace CLI

namespace heddle {

/// The parts of a manual page that options do not provide.
struct ManualSource {
  /// The name and version, for example "heddle 0.3.0".
  std::string version;
  /// Other pages, as in "heddlec(1)".
  std::string seeAlso;
};

/// Returns the manual page of a program or of one of its commands, in man(7) format.
std::string manualPage(const CLI::App &app, std::string_view program, const ManualSource &source);

/// Return the completion of commands and options, for bash and for zsh.
std::string bashCompletion(const CLI::App &app);
std::string zshCompletion(const CLI::App &app);

/// Writes all files below a folder, laid out as in an installation: share/man/man1/PROGRAM.1 and
/// PROGRAM-COMMAND.1, share/bash-completion/completions/PROGRAM, share/zsh/site-functions/_PROGRAM.
Status writeManual(const CLI::App &app, const ManualSource &source, const std::string &folder);

/// Implements main() with writeManual(). The only argument is the folder, by default the current
/// one. Failures go to standard error. Returns the exit code.
int writeManual(const CLI::App &app, const ManualSource &source, int argc, char **argv);

} // namespace heddle

#endif // HEDDLE_BASE_MANUALPAGE_H
