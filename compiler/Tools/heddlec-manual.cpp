// SPDX-License-Identifier: Apache-2.0
///
/// Writes the manual page and shell completion of heddlec, when it is built.
#include "compiler/Tools/CommandLine.h"
#include "runtime/Base/ManualPage.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace heddle;

int main(int argc, char **argv) {
  CLI::App app;
  CommandLine line;
  declareOptions(app, line);
  const Status status =
      writeManual(app, {"heddlec " HEDDLE_VERSION, "heddle(1)"}, argc > 1 ? argv[1] : ".");
  if (!status.ok()) {
    std::fprintf(stderr, "heddlec-manual: %s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
