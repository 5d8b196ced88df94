// SPDX-License-Identifier: Apache-2.0
///
/// The arguments of `heddle analyze` and `heddle compare`.
#include "base/Utf8.h"
#include "heddle/Limits.h"
#include "runtime/Tools/NumberReader.h"
#include "runtime/Tools/RawOptions.h"

#include <fmt/format.h>

namespace heddle::tools {

static void declareSources(CLI::App &app, RawOptions &raw) {
  app.add_option("--input", raw.input,
                 "Texts: one a line, .jsonl has {\"text\": ...} a line, - is standard input")
      ->type_name("FILE");
  app.add_option("--beam", raw.beam, "Hypotheses that are followed; 1 is greedy (the model's)")
      ->type_name("K");
  app.add_flag("--tokens", raw.tokens, "Lines are token ids with spaces between them");
  declareTruncate(app, raw);
  declareOnError(app, raw, "it is left out");
  declareExecution(app, raw);
}

/// What both commands have.
template <typename Options>
static std::optional<UsageError> readSources(const CLI::App &app, const RawOptions &raw,
                                             Options &options) {
  NumberReader reader(app);
  options.model = raw.model;
  options.json = raw.json;
  options.input = raw.input;
  options.beam = reader.whole("--beam", raw.beam, 1, mostBeams);
  options.tokens = raw.tokens;
  options.truncate = raw.truncate;
  if (auto error = readOnError(app, raw, options.onError)) {
    return error;
  }
  options.isa = raw.isa;
  options.threads = threadsOf(raw.threads);
  return options.threads == 0 ? badThreads(app, raw.threads) : reader.error;
}

void declareAnalyze(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  declareSources(app, raw);
  app.add_option("--output", raw.output, "Where the analysis goes, as .json (-)")
      ->type_name("FILE");
  app.add_option("--svg", raw.svg, "A heat map of it")->type_name("FILE");
  app.add_option("--theta", raw.theta,
                 "Also the policy of sharing: layers whose similarity is above T share")
      ->type_name("T");
  app.add_option("--blocks", raw.blocks,
                 "largest: the largest block above T; extend: the last before it falls to T "
                 "(largest)")
      ->type_name("RULE");
}

CommandLine readAnalyze(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so", "--input"})) {
    return *error;
  }
  AnalyzeOptions options;
  if (const auto error = readSources(app, raw, options)) {
    return *error;
  }
  if (app.get_option("--output")->count() > 0) {
    options.output = raw.output;
  }
  options.svg = raw.svg;
  if (options.svg == "-" && options.output == "-") {
    return usage(app, "--output and --svg are both standard output, expected one of them");
  }
  NumberReader reader(app);
  options.theta = reader.number<double>("--theta", raw.theta, "a number from 0 to 1",
                                        [](double value) { return value >= 0 && value <= 1; });
  if (reader.error) {
    return *reader.error;
  }
  if (app.get_option("--blocks")->count() > 0) {
    if (raw.blocks != "largest" && raw.blocks != "extend") {
      return usage(app,
                   fmt::format("--blocks is {}, expected largest or extend", quote(raw.blocks)));
    }
    if (const auto error = without(app, "--theta", {"--blocks"})) {
      return *error;
    }
    options.blocks = raw.blocks == "extend" ? BlockRule::Extend : BlockRule::Largest;
  }
  return options;
}

void declareCompare(CLI::App &app, RawOptions &raw) {
  app.add_option("A.so", raw.model, "A model that heddlec compiled")->type_name("");
  app.add_option("B.so", raw.other, "What it is compared with")->type_name("");
  app.add_flag("--json", raw.json, "For programs: JSON instead of a table, no progress");
  declareSources(app, raw);
}

CommandLine readCompare(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"A.so", "B.so", "--input"})) {
    return *error;
  }
  CompareOptions options;
  options.other = raw.other;
  if (const auto error = readSources(app, raw, options)) {
    return *error;
  }
  return options;
}

} // namespace heddle::tools
