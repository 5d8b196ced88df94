// SPDX-License-Identifier: Apache-2.0
///
/// Writes the manual page and shell completion of heddlec, when it is built.
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
