// SPDX-License-Identifier: Apache-2.0
///
/// The arguments of `heddle generate`, `heddle score` and `heddle bench --cases`: numbers, and what
/// goes together.
#include "base/Utf8.h"
#include "heddle/Limits.h"
#include "runtime/Generate/SearchRules.h"
#include "runtime/Tools/NumberReader.h"
#include "runtime/Tools/RawOptions.h"

#include <fmt/format.h>
#include <limits>

namespace heddle::tools {

void declareGenerate(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  const auto file = [&](const char *name, std::string &to, const char *text) {
    app.add_option(name, to, text)->type_name("FILE");
  };
  const auto value = [&](const char *name, std::string &to, const char *type, const char *text) {
    app.add_option(name, to, text)->type_name(type);
  };
  file("--input", raw.input,
       "Sources: one a line, .jsonl has {\"text\": ...} a line, - is standard input");
  file("--output", raw.output, "Where the texts go, in the order of their sources (-)");
  file("--prefix", raw.prefix, "What each text begins with, one a line");
  file("--shortlist", raw.shortlist, "The only token ids of each text, one line each");
  value("--rules", raw.rules, "RULES", "paper, transformers or ctranslate2 (the model's)");
  value("--beam", raw.beam, "K", "Hypotheses that are followed; 1 is greedy (the model's)");
  value("--nbest", raw.nbest, "N", "Texts of each source (1)");
  value("--length-penalty", raw.lengthPenalty, "A", "Exponent of the length (the rules')");
  value("--coverage-penalty", raw.coveragePenalty, "B", "Weight of uncovered source tokens (0)");
  value("--min-length", raw.minLength, "N", "Tokens before the end");
  value("--max-length", raw.maxLength, "N", "Tokens at most, the end included (the model's)");
  value("--no-repeat-ngram", raw.noRepeatNgram, "N", "No N tokens come twice (0: they may)");
  value("--repetition-penalty", raw.repetitionPenalty, "P", "Penalty for repeated tokens (1)");
  app.add_flag("--early-stopping", raw.earlyStopping, "End with as many texts as hypotheses");
  app.add_flag(
      "--alternatives", raw.alternatives,
      "Instead of the N best texts, the N most probable ways to go on after --prefix: each "
      "begins with another token and is finished by a search of its own. '--nbest 3 "
      "--alternatives' gives three texts that differ in their first token");
  app.add_flag("--sample", raw.sample, "Draw tokens instead of taking the best");
  value("--temperature", raw.temperature, "T", "Sampling temperature (1)");
  value("--top-k", raw.topK, "K", "Draw from the K most probable tokens (all)");
  value("--top-p", raw.topP, "P", "Draw from the fewest that add up to P (1)");
  value("--seed", raw.seed, "S", "The same seed gives the same text in any batch (0)");
  value("--batch-tokens", raw.batchTokens, "N", "Source tokens times hypotheses at once (4096)");
  value("--cache", raw.cache, "MIB", "Memory of keys and values at most (1024)");
  app.add_flag("--scores", raw.scores, "Scores before the texts, a tab between them");
  value("--format", raw.format, "FORMAT", "text, or jsonl with sources, texts, tokens and scores");
  app.add_flag("--tokens", raw.tokens, "Lines are token ids with spaces between them");
  declareTruncate(app, raw);
  declareOnError(app, raw, "it gets an empty line, in jsonl {\"source\", \"error\"}");
  declareExecution(app, raw);
}

/// Options that mean nothing without another.
static std::optional<UsageError> onlyWithSample(const CLI::App &app, const RawOptions &raw) {
  if (auto error = without(app, "--sample", {"--temperature", "--top-k", "--top-p", "--seed"})) {
    return error;
  }
  if (raw.sample && raw.alternatives) {
    return usage(app, "--sample and --alternatives are both given, expected one of them");
  }
  return std::nullopt;
}

static std::optional<UsageError> checkTogether(const CLI::App &app, const RawOptions &raw,
                                               const GenerationOptions &options) {
  if (const auto error = onlyWithSample(app, raw)) {
    return error;
  }
  if (options.sample && options.beam.value_or(1) > 1) {
    return usage(app, fmt::format("--beam is {} with --sample, expected 1: --nbest gives several "
                                  "samples",
                                  *options.beam));
  }
  if (!options.sample && !options.alternatives && options.beam && options.nbest > *options.beam) {
    return usage(app, fmt::format("--nbest {} needs --beam {}, got --beam {}", options.nbest,
                                  options.nbest, *options.beam));
  }
  if (options.minLength && options.maxLength && *options.minLength > *options.maxLength) {
    return usage(app, fmt::format("--min-length is {}, expected at most --max-length, {}",
                                  *options.minLength, *options.maxLength));
  }
  return std::nullopt;
}

static std::optional<UsageError> readSearch(const CLI::App &app, const RawOptions &raw,
                                            GenerationOptions &options) {
  NumberReader reader(app);
  const auto positive = [](float value) { return value > 0; };
  if (app.get_option("--rules")->count() > 0) {
    options.rules = parseRules(raw.rules);
    if (!options.rules) {
      return usage(app,
                   fmt::format("--rules is {}, expected {}", quote(raw.rules), ruleNamesListed));
    }
  }
  options.beam = reader.whole("--beam", raw.beam, 1, mostBeams);
  options.nbest = reader.whole("--nbest", raw.nbest, 1, mostBeams).value_or(1);
  options.lengthPenalty = reader.number(
      "--length-penalty", raw.lengthPenalty,
      fmt::format("a number from {} to {}", -largestLengthPenalty, largestLengthPenalty),
      [](float value) { return value >= -largestLengthPenalty && value <= largestLengthPenalty; });
  options.coveragePenalty =
      reader
          .number("--coverage-penalty", raw.coveragePenalty, "a number, at least 0",
                  [](float value) { return value >= 0; })
          .value_or(0);
  options.minLength = reader.whole("--min-length", raw.minLength, 0, mostTokens);
  options.maxLength = reader.whole("--max-length", raw.maxLength, 1, mostTokens);
  options.noRepeatNgram = reader.whole("--no-repeat-ngram", raw.noRepeatNgram, 0, mostTokens);
  options.repetitionPenalty = reader.number(
      "--repetition-penalty", raw.repetitionPenalty,
      fmt::format("a number from {} to {}", leastRepetitionPenalty, largestRepetitionPenalty),
      [](float value) {
        return value >= leastRepetitionPenalty && value <= largestRepetitionPenalty;
      });
  if (raw.earlyStopping) {
    options.earlyStopping = EarlyStopping::Yes;
  }
  options.alternatives = raw.alternatives;
  options.sample = raw.sample;
  options.temperature =
      reader.number("--temperature", raw.temperature, "a number above 0", positive).value_or(1);
  options.topK = reader.whole("--top-k", raw.topK, 1, mostTokens).value_or(0);
  options.topP = reader
                     .number("--top-p", raw.topP, "more than 0 and at most 1",
                             [](float value) { return value > 0 && value <= 1; })
                     .value_or(1);
  options.seed = reader.whole("--seed", raw.seed, uint64_t(0), std::numeric_limits<uint64_t>::max())
                     .value_or(0);
  return reader.error ? reader.error : checkTogether(app, raw, options);
}

/// --format, --output, --threads and --batch-tokens of both commands.
template <typename Options>
static std::optional<UsageError> readShared(const CLI::App &app, const RawOptions &raw,
                                            Options &options) {
  NumberReader reader(app);
  options.batchTokens =
      reader.whole("--batch-tokens", raw.batchTokens, int64_t(1), int64_t(mostTokens))
          .value_or(4096);
  if (app.get_option("--output")->count() > 0) {
    options.output = raw.output;
  }
  if (app.get_option("--format")->count() > 0 && raw.format != "text" && raw.format != "jsonl") {
    return usage(app, fmt::format("--format is {}, expected text or jsonl", quote(raw.format)));
  }
  if (raw.format == "text" && raw.json) {
    return usage(app, "--format text and --json are both given, expected one of them");
  }
  options.jsonLines = raw.format == "jsonl" || raw.json;
  options.tokens = raw.tokens;
  options.truncate = raw.truncate;
  if (auto error = readOnError(app, raw, options.onError)) {
    return error;
  }
  options.isa = raw.isa;
  options.threads = threadsOf(raw.threads);
  return options.threads == 0 ? badThreads(app, raw.threads) : reader.error;
}

/// Standard input is one file.
static std::optional<UsageError> onceFromInput(const CLI::App &app, const RawOptions &raw) {
  const std::pair<const char *, const std::string &> files[] = {
      {"--input", raw.input}, {"--prefix", raw.prefix}, {"--shortlist", raw.shortlist}};
  const char *first = nullptr;
  for (const auto &[name, path] : files) {
    if (path == "-" && first != nullptr) {
      return usage(
          app, fmt::format("{} and {} are both standard input, expected one of them", first, name));
    }
    first = path == "-" ? name : first;
  }
  return std::nullopt;
}

CommandLine readGenerate(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so", "--input"})) {
    return *error;
  }
  GenerateOptions options;
  options.model = raw.model;
  options.json = raw.json;
  options.input = raw.input;
  options.prefix = raw.prefix;
  options.shortlist = raw.shortlist;
  if (const auto error = readShared(app, raw, options)) {
    return *error;
  }
  if (const auto error = onceFromInput(app, raw)) {
    return *error;
  }
  if (const auto error = readSearch(app, raw, options.generation)) {
    return *error;
  }
  NumberReader reader(app);
  options.cacheMegabytes =
      reader.whole("--cache", raw.cache, int64_t(1), int64_t(1) << 24).value_or(1024);
  options.scores = raw.scores;
  if (reader.error) {
    return *reader.error;
  }
  return options;
}

void declareScore(CLI::App &app, RawOptions &raw) {
  declareModel(app, raw);
  app.add_option("--source", raw.source, "Sources, as those of generate")->type_name("FILE");
  app.add_option("--target", raw.target, "One target a line, of the source on the same line")
      ->type_name("FILE");
  app.add_option("--output", raw.output, "Where the scores go (-)")->type_name("FILE");
  app.add_option("--batch-tokens", raw.batchTokens, "Tokens at once (4096)")->type_name("N");
  app.add_option("--format", raw.format,
                 "text: the sum, a tab, and every token's log-probability; or jsonl")
      ->type_name("FORMAT");
  app.add_flag("--tokens", raw.tokens, "Lines are token ids with spaces between them");
  declareTruncate(app, raw);
  declareOnError(app, raw, "it gets an empty line, in jsonl {\"source\", \"target\", \"error\"}");
  declareExecution(app, raw);
}

CommandLine readScore(const CLI::App &app, const RawOptions &raw) {
  if (const auto error = missing(app, {"OUT.so", "--source", "--target"})) {
    return *error;
  }
  ScoreOptions options;
  options.model = raw.model;
  options.json = raw.json;
  options.source = raw.source;
  options.target = raw.target;
  if (const auto error = readShared(app, raw, options)) {
    return *error;
  }
  if (options.source == "-" && options.target == "-") {
    return usage(app, "--source and --target are both standard input, expected one of them");
  }
  return options;
}

} // namespace heddle::tools
