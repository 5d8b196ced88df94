// SPDX-License-Identifier: Apache-2.0
///
/// Writes the manual page and the shell completion of heddlec during the build.
#include "base/ManualPage.h"
#include "compiler/Tools/CommandLine.h"

#include <CLI/CLI.hpp>

using namespace heddle;

int main(int argc, char **argv) {
  CLI::App app;
  CommandLine line;
  declareOptions(app, line);
  return writeManual(app, {"heddlec " HEDDLE_VERSION, "heddle(1)"}, argc, argv);
}
