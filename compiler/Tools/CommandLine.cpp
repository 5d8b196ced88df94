// SPDX-License-Identifier: Apache-2.0
///
/// heddlec's options, by CLI11.
#include "compiler/Tools/CommandLine.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace heddle {

std::optional<int> parseCommandLine(int argc, char **argv, CommandLine &line) {
  CLI::App app("Compiles Transformer variants to one binary.", "heddlec");
  app.add_option("INPUT", line.input, "a model folder, or a program FILE.mlir")->required();
  app.add_option("-o", line.output, "the binary OUT.so, or the program after --stop-after");
  app.add_option("--target", line.targets, "targets of the binary, separated by commas, or native")
      ->capture_default_str();
  app.add_option("--precision", line.precision, "of weights and products")->capture_default_str();
  app.add_option("--emit", line.emitPhase, "print the program after a phase");
  app.add_option("--stop-after", line.stopAfter, "write the program after a phase to -o");
  app.add_option("--start-at", line.startAt, "the first phase to run: INPUT is the result of the one before");
  app.add_option("--report", line.reportFile,
                 "write every candidate of every pass, taken or not, and why, as JSON");
  app.add_option("--disable-pass", line.disabledPasses, "leave a pass out; may be repeated")
      ->allow_extra_args(false);
  app.set_version_flag("--version", "heddlec " HEDDLE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    return app.exit(request);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "heddlec: %s\nheddlec: see 'heddlec --help'\n", error.what());
    return 2;
  }
  return std::nullopt;
}

} // namespace heddle
