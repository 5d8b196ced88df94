// SPDX-License-Identifier: Apache-2.0
///
/// Writes the manual pages and shell completion of heddle, when it is built.
#include "base/ManualPage.h"
#include "runtime/Tools/RawOptions.h"

using namespace heddle;
using namespace heddle::tools;

int main(int argc, char **argv) {
  CLI::App app;
  RawOptions raw;
  declareCommands(app, raw);
  return writeManual(app, {"heddle " HEDDLE_VERSION, "heddlec(1)"}, argc, argv);
}
