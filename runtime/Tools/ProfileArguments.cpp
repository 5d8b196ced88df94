// SPDX-License-Identifier: Apache-2.0
///
/// The arguments of `heddle profile`.
#include "heddle/Limits.h"
#include "runtime/Tools/NumberReader.h"
#include "runtime/Tools/TextReader.h"

namespace heddle::tools {

static constexpr int64_t mostRuns = 1'000'000;

static constexpr std::pair<std::string_view, ProfileBy> groupings[] = {
    {"name", ProfileBy::Name},
    {"dispatch", ProfileBy::Dispatch},
    {"layer", ProfileBy::Layer},
    {"kind", ProfileBy::Kind},
};

void declareProfile(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  app.add_option("--shapes", raw.shapes, "Batches of one entry: SENTENCESxTOKENS, as 1x16,32x128")
      ->type_name("LIST");
  app.add_option("--entry", raw.entry, "The function of the model that --shapes run (the first)")
      ->type_name("NAME");
  declareCases(app, raw);
  app.add_option("--input", raw.input,
                 "Texts to embed or generate from: .txt has one a line, .jsonl has {\"text\": ...} "
                 "a line, - is standard input")
      ->type_name("FILE");
  app.add_flag("--tokens", raw.tokens, "Lines of --input are token ids with spaces between them");
  app.add_option("--beam", raw.beam, "Hypotheses of each text of --input (as the model says)")
      ->type_name("K");
  app.add_option("--by", raw.by,
                 "A row for each name, numbers of layers left out (name), for each dispatch, layer "
                 "or kind of kernel")
      ->type_name("WHAT");
  app.add_option("--runs", raw.runs, "Runs that are measured, after one to warm up (5)")
      ->type_name("N");
  app.add_option("--trace", raw.trace, "One more run as a trace for chrome://tracing or Perfetto")
      ->type_name("FILE.json");
  app.add_option("--output", raw.output, "All numbers")->type_name("FILE.json");
  declareExecution(app, raw);
}

/// --trace and --output.
static std::optional<UsageError> readFiles(const CLI::App &app, const RawOptions &raw,
                                           ProfileOptions &options) {
  options.trace = raw.trace;
  options.output = raw.output;
  for (const auto &[name, path] : {std::pair("--trace", raw.trace), {"--output", raw.output}}) {
    if (!path.empty() && !path.ends_with(".json")) {
      return usage(
          app, fmt::format("{} {} has no known ending, expected a .json file", name, quote(path)));
    }
  }
  options.input = raw.input;
  if (!raw.input.empty() && !raw.tokens && !textFormatOf(raw.input)) {
    return usage(app, fmt::format("--input {} has no known ending, expected a .txt or .jsonl file, "
                                  "or - for standard input",
                                  quote(raw.input)));
  }
  return std::nullopt;
}

static std::optional<UsageError> readBy(const CLI::App &app, const RawOptions &raw,
                                        ProfileOptions &options) {
  if (app.get_option("--by")->count() == 0) {
    return std::nullopt;
  }
  for (const auto &[name, by] : groupings) {
    if (raw.by == name) {
      options.by = by;
      return std::nullopt;
    }
  }
  return usage(app,
               fmt::format("--by is {}, expected name, dispatch, layer or kind", quote(raw.by)));
}

CommandLine readProfile(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so"})) {
    return *error;
  }
  ProfileOptions options{{raw.model, raw.json}};
  options.entry = raw.entry;
  options.tokens = raw.tokens;
  options.isa = raw.isa;
  options.threads = threadsOf(raw.threads);
  if (options.threads == 0) {
    return badThreads(app, raw.threads);
  }
  if (const auto error =
          readCases(app, raw, options.cases, options.sourceLength, options.targetLength)) {
    return *error;
  }
  NumberReader reader(app);
  options.runs = reader.whole("--runs", raw.runs, int64_t(1), mostRuns).value_or(options.runs);
  options.beam = reader.whole("--beam", raw.beam, 1, mostBeams);
  if (reader.error) {
    return *reader.error;
  }
  for (const auto &read : {readFiles, readBy}) {
    if (const auto error = read(app, raw, options)) {
      return *error;
    }
  }
  if (app.get_option("--shapes")->count() > 0) {
    Result<std::vector<Shape>> shapes = parseShapes(raw.shapes);
    if (!shapes.ok()) {
      return usage(app, fmt::format("--shapes: {}", shapes.status().message()));
    }
    options.shapes = std::move(*shapes);
  }
  if (options.shapes.empty() && options.cases.empty() && options.input.empty()) {
    return usage(app, "--shapes, --cases or --input is missing, expected at least one of them");
  }
  return options;
}

} // namespace heddle::tools
