// SPDX-License-Identifier: Apache-2.0
///
/// Any words as the command line of heddle, one a line: options within the limits that commands
/// rely on, a text of help, or an error with a message.
#include "runtime/Tools/CommandLine.h"
#include "tests/Fuzzing/TextMutation.h"

#include <cmath>
#include <cstdlib>

using namespace heddle;
using namespace heddle::tools;

static constexpr std::string_view words[] = {
    "embed",
    "generate",
    "score",
    "analyze",
    "compare",
    "tokenize",
    "run",
    "bench",
    "profile",
    "info",
    "verify",
    "--input",
    "--output",
    "--threads",
    "--beam",
    "--nbest",
    "--rules",
    "--isa",
    "--sample",
    "--top-k",
    "--top-p",
    "--temperature",
    "--seed",
    "--theta",
    "--blocks",
    "--cases",
    "--shapes",
    "--lengths",
    "--roofline",
    "--profile",
    "--json",
    "--tokens",
    "--scores",
    "--format",
    "--prefix",
    "--shortlist",
    "--cache",
    "--batch-tokens",
    "--max-length",
    "--min-length",
    "--alternatives",
    "--help",
    "--version",
    "--entry",
    "--inputs",
    "--outputs",
    "--source",
    "--target",
    "--svg",
    "--trace",
    "--by",
    "--runs",
    "1x1,32x4",
    "nan",
    "1e309",
    "-",
    "--",
    "-1",
    "model.so",
    "--length-penalty",
};

static void mutateWords(std::string &text, fuzzing::Choice &choice) {
  fuzzing::mutateText(text, words, choice);
}

HEDDLE_FUZZ_MUTATION(mutateWords)

static void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

/// What commands do not look at again.
static void check(const UsageError &error) { require(!error.message.empty()); }
static void check(const HelpText &help) { require(!help.text.empty()); }
static void check(const SubcommandOptions &options) { require(!options.model.empty()); }
static void check(const GenerateOptions &options) {
  require(!options.model.empty() && !options.input.empty());
  require(options.threads > 0 && options.batchTokens > 0 && options.cacheMegabytes > 0);
  const GenerationOptions &search = options.generation;
  require(search.beam.value_or(1) > 0 && search.nbest > 0 && search.topK >= 0);
  require(std::isfinite(search.temperature) && search.topP > 0 && search.topP <= 1);
}
static void check(const BenchOptions &options) {
  require(options.threads > 0 && options.sourceLength > 0 && options.targetLength > 0);
  for (const GenerationCase &each : options.cases) {
    require(each.batch > 0 && each.beam > 0);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  std::vector<const char *> arguments = {"heddle"};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    arguments.push_back(text.data() + begin);
    if (end < text.size()) {
      text[end] = '\0';
    }
    begin = end + 1;
  }
  const tools::CommandLine line = parseCommandLine(arguments);
  std::visit([](const auto &options) { check(options); }, line);
  return 0;
}
