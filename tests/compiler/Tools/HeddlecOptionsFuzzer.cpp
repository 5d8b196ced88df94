// SPDX-License-Identifier: Apache-2.0
///
/// Any words as the command line of heddlec, one a line: options that are well formed, or an exit
/// code of those that are promised.
#include "compiler/Tools/CommandLine.h"
#include "tests/Fuzzing/TextMutation.h"

#include <cstdlib>

using namespace heddle;

static constexpr std::string_view words[] = {
    "-o",
    "--target",
    "--precision",
    "--emit",
    "--stop-after",
    "--start-at",
    "--report",
    "--analysis",
    "--help",
    "--share-attention",
    "--version",
    "--disable-pass",
    "--",
    "-",
    "--emit=",
    "-oOUT",
    "--report=a.html",
    "fuse-attention",
    "model.mlir",
    "self:1,5",
};

static void mutateWords(std::string &text, fuzzing::Choice &choice) {
  fuzzing::mutateText(text, words, choice);
}

HEDDLE_FUZZ_MUTATION(mutateWords)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  std::vector<char *> arguments;
  std::string program = "heddlec";
  arguments.push_back(program.data());
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    arguments.push_back(text.data() + begin);
    if (end < text.size()) {
      text[end] = '\0';
    }
    begin = end + 1;
  }
  arguments.push_back(nullptr);
  CommandLine line;
  const std::optional<int> code =
      parseCommandLine(static_cast<int>(arguments.size() - 1), arguments.data(), line);
  if (code ? *code != 0 && *code != 2 : line.input.empty()) {
    std::abort();
  }
  return 0;
}
