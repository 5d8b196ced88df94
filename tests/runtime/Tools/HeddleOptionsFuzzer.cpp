// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary words as the command line of heddle, one per line. Parsing must give options within
/// the limits that commands rely on, a help text, or an error with a message.
#include "runtime/Tools/Options/CommandLine.h"
#include "tests/Fuzzing/CommandLineInput.h"
#include "tests/Fuzzing/TextMutation.h"

#include <cmath>

using namespace heddle;
using namespace heddle::tools;
using fuzzing::require;

static const std::vector<std::string> &words() {
  static const std::vector<std::string> list = [] {
    const DeclaredProgram program;
    std::vector<std::string> declared = fuzzing::declaredWords(program.application());
    const std::vector<std::string> accepted = program.acceptedWords();
    declared.insert(declared.end(), accepted.begin(), accepted.end());
    declared.insert(declared.end(), {"1x1,32x4", "s.txt", "s.jsonl"});
    return declared;
  }();
  return list;
}

static void mutateWords(std::string &text, fuzzing::Choice &choice) {
  fuzzing::mutateText(text, words(), choice);
}

HEDDLE_FUZZ_MUTATION(mutateWords)

/// Checks properties that commands rely on.
static void check(const UsageError &error) { require(!error.message.empty()); }
static void check(const HelpText &help) { require(!help.text.empty()); }
static void check(const SubcommandOptions &options) { require(!options.model.empty()); }
static void check(const GenerateOptions &options) {
  const int given =
      int(!options.input.empty()) + int(!options.inputs.empty()) + int(!options.prompt.empty());
  require(!options.model.empty() && given == 1);
  require(!options.chat || (options.inputs.empty() && !options.tokens));
  require(options.threads > 0 && options.batchTokens > 0 && options.cacheMegabytes > 0);
  const GenerationOptions &search = options.generation;
  require(search.beam.value_or(1) > 0 && search.nbest > 0 && search.topK.value_or(0) >= 0);
  require(std::isfinite(search.temperature.value_or(1)));
  require(search.topP.value_or(1) > 0 && search.topP.value_or(1) <= 1);
}
static void check(const ChatOptions &options) {
  require(!options.model.empty() && options.threads > 0 && options.cacheMegabytes > 0);
  require(options.generation.maxLength.value_or(1) > 0);
}
static void check(const BenchOptions &options) {
  require(options.threads > 0 && options.sourceLength > 0 && options.targetLength > 0);
  for (const GenerationCase &each : options.cases) {
    require(each.batch > 0 && each.beam > 0);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string program = "heddle";
  std::string text(reinterpret_cast<const char *>(data), size);
  std::vector<char *> arguments = fuzzing::argumentsOf(program, text);
  arguments.pop_back();
  const tools::CommandLine line = parseCommandLine(arguments);
  std::visit([](const auto &options) { check(options); }, line);
  return 0;
}
