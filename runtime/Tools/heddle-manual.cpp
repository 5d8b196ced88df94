// SPDX-License-Identifier: Apache-2.0
///
/// Writes the manual pages and shell completion of heddle, when it is built.
#include "runtime/Base/ManualPage.h"
#include "runtime/Tools/RawOptions.h"

#include <cstdio>

using namespace heddle;
using namespace heddle::tools;

int main(int argc, char **argv) {
  CLI::App app;
  RawOptions raw;
  declareCommands(app, raw);
  const Status status =
      writeManual(app, {"heddle " HEDDLE_VERSION, "heddlec(1)"}, argc > 1 ? argv[1] : ".");
  if (!status.ok()) {
    std::fprintf(stderr, "heddle-manual: %s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
