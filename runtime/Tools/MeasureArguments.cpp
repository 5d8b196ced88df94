// SPDX-License-Identifier: Apache-2.0
///
/// The arguments of `heddle bench` and `heddle profile`.
#include "base/Utf8.h"
#include "heddle/Limits.h"
#include "runtime/Tools/NumberReader.h"
#include "runtime/Tools/RawOptions.h"

#include <charconv>
#include <fmt/format.h>

namespace heddle::tools {

static constexpr int64_t mostRuns = 1'000'000;

static constexpr std::pair<std::string_view, ProfileBy> groupings[] = {
    {"name", ProfileBy::Name},
    {"dispatch", ProfileBy::Dispatch},
    {"layer", ProfileBy::Layer},
    {"kind", ProfileBy::Kind},
};

static void declareCases(CLI::App &app, RawOptions &raw) {
  app.add_option("--cases", raw.cases, "Generation: SENTENCESxBEAM, for example 1x1,32x4")
      ->type_name("LIST");
  app.add_option("--source-length", raw.sourceLength, "Tokens of each source of --cases (24)")
      ->type_name("N");
  app.add_option("--target-length", raw.targetLength, "Tokens of each target of --cases (24)")
      ->type_name("N");
}

/// One of a list of cases.
static std::optional<GenerationCase> parseCase(std::string_view text) {
  GenerationCase result;
  const size_t cross = text.find('x');
  if (cross == std::string_view::npos) {
    return std::nullopt;
  }
  const auto read = [](std::string_view digits, int32_t &value, int32_t most) {
    const char *const end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, value);
    return code == std::errc() && stop == end && value >= 1 && value <= most;
  };
  const bool valid = read(text.substr(0, cross), result.batch, mostTokens) &&
                     read(text.substr(cross + 1), result.beam, mostBeams);
  return valid ? std::optional(result) : std::nullopt;
}

template <typename Options>
static std::optional<UsageError> readCases(const CLI::App &app, const RawOptions &raw,
                                           Options &options) {
  NumberReader reader(app);
  options.sourceLength =
      reader.whole("--source-length", raw.sourceLength, 1, mostTokens).value_or(24);
  options.targetLength =
      reader.whole("--target-length", raw.targetLength, 1, mostTokens).value_or(24);
  if (reader.error || app.get_option("--cases")->count() == 0) {
    return reader.error;
  }
  std::string_view rest = raw.cases;
  while (true) {
    const size_t comma = rest.find(',');
    const std::optional<GenerationCase> one = parseCase(rest.substr(0, comma));
    if (!one) {
      return usage(app, fmt::format("--cases: {} is no case, expected SENTENCESxBEAM, for example "
                                    "32x4",
                                    quote(rest.substr(0, comma))));
    }
    options.cases.push_back(*one);
    if (comma == std::string_view::npos) {
      return std::nullopt;
    }
    rest.remove_prefix(comma + 1);
  }
}

/// What both commands measure.
static void declareWork(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  app.add_option("--shapes", raw.shapes, "Batches of one entry: SENTENCESxTOKENS, as 1x16,32x128")
      ->type_name("LIST");
  app.add_option("--entry", raw.entry,
                 "The function of the model that batches run through (the first)")
      ->type_name("NAME");
  declareCases(app, raw);
}

template <typename Options>
static std::optional<UsageError> readWork(const CLI::App &app, const RawOptions &raw,
                                          Options &options) {
  if (auto error = missing(app, {"OUT.so"})) {
    return error;
  }
  options.model = raw.model;
  options.json = raw.json;
  options.entry = raw.entry;
  options.isa = raw.isa;
  options.threads = threadsOf(raw.threads);
  if (options.threads == 0) {
    return badThreads(app, raw.threads);
  }
  if (app.get_option("--shapes")->count() > 0) {
    Result<std::vector<Shape>> shapes = parseShapes(raw.shapes);
    if (!shapes.ok()) {
      return usage(app, fmt::format("--shapes: {}", shapes.status().message()));
    }
    options.shapes = std::move(*shapes);
  }
  return readCases(app, raw, options);
}

void declareBench(CLI::App &app, RawOptions &raw) {
  declareWork(app, raw);
  app.add_option("--lengths", raw.lengths, "One ragged batch: the lengths in this file, one a line")
      ->type_name("FILE");
  app.add_option("--shortlist", raw.shortlist, "Only the N lowest tokens may come in --cases (all)")
      ->type_name("N");
  app.add_option("--runs", raw.runs, "Time exactly so many runs after one (5 and 2 s after 3)")
      ->type_name("N");
  app.add_flag("--roofline", raw.roofline,
               "Also the share and speed of every kernel, and the machine's peak and bandwidth");
  app.add_flag("--profile", raw.profile, "Also the share and speed of every dispatch");
  declareExecution(app, raw);
}

CommandLine readBench(const CLI::App &app, const RawOptions &raw) {
  BenchOptions options;
  if (const auto error = readWork(app, raw, options)) {
    return *error;
  }
  options.lengths = raw.lengths;
  options.roofline = raw.roofline;
  options.profile = raw.profile;
  NumberReader reader(app);
  options.shortlist = reader.whole("--shortlist", raw.shortlist, 1, mostTokens).value_or(0);
  options.runs = reader.whole("--runs", raw.runs, 1, mostTokens).value_or(0);
  if (reader.error) {
    return *reader.error;
  }
  if (const auto error =
          without(app, "--cases", {"--source-length", "--target-length", "--shortlist"})) {
    return *error;
  }
  if (options.shapes.empty() && options.lengths.empty() && options.cases.empty()) {
    return usage(app, "--shapes, --lengths or --cases is missing, expected at least one of them");
  }
  return options;
}

void declareProfile(CLI::App &app, RawOptions &raw) {
  declareWork(app, raw);
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

/// --input, --trace and --output.
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
  return raw.input.empty() || raw.tokens ? std::nullopt : badInputName(app, raw.input);
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
  ProfileOptions options;
  if (const auto error = readWork(app, raw, options)) {
    return *error;
  }
  options.tokens = raw.tokens;
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
  if (const auto error = without(app, "--cases", {"--source-length", "--target-length"})) {
    return *error;
  }
  if (const auto error = without(app, "--input", {"--tokens", "--beam"})) {
    return *error;
  }
  if (options.shapes.empty() && options.cases.empty() && options.input.empty()) {
    return usage(app, "--shapes, --cases or --input is missing, expected at least one of them");
  }
  return options;
}

} // namespace heddle::tools
