// SPDX-License-Identifier: Apache-2.0
///
/// Writes the manual pages and the shell completion of heddle. Runs during the build.
#include "base/ManualPage.h"
#include "runtime/Tools/Options/CommandLine.h"

using namespace heddle;
using namespace heddle::tools;

int main(int argc, char **argv) {
  const DeclaredProgram program;
  return writeManual(program.application(), {"heddle " HEDDLE_VERSION, "heddlec(1)"}, argc, argv);
}
