// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary words as the command line of heddlec, one per line: valid options, or one of the
/// documented exit codes.
#include "compiler/Tools/CommandLine.h"
#include "tests/Fuzzing/CommandLineInput.h"
#include "tests/Fuzzing/TextMutation.h"

#include <CLI/CLI.hpp>

using namespace heddle;

static const std::vector<std::string> &words() {
  static const std::vector<std::string> list = [] {
    CLI::App app;
    CommandLine line;
    declareOptions(app, line);
    std::vector<std::string> declared = fuzzing::declaredWords(app);
    declared.insert(declared.end(),
                    {"-oOUT", "a.html", "fuse-attention", "model.mlir", "self:1,5"});
    return declared;
  }();
  return list;
}

static void mutateWords(std::string &text, fuzzing::Choice &choice) {
  fuzzing::mutateText(text, words(), choice);
}

HEDDLE_FUZZ_MUTATION(mutateWords)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string program = "heddlec";
  std::string text(reinterpret_cast<const char *>(data), size);
  std::vector<char *> arguments = fuzzing::argumentsOf(program, text);
  CommandLine line;
  const std::optional<int> code =
      parseCommandLine(static_cast<int>(arguments.size() - 1), arguments.data(), line);
  fuzzing::require(code ? *code == 0 || *code == 2 : !line.request.path.empty());
  return 0;
}
