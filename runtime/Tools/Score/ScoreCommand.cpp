// SPDX-License-Identifier: Apache-2.0
///
/// Scores pairs of lines, each block in one pass of the model. TextScoring.cpp scores single texts.
#include "runtime/Tools/Commands.h"

#include "heddle/Generation.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Score/ScoredBlocks.h"
#include "runtime/Tools/Score/TextScoring.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

void declare(OptionList &list, ScoreOptions &options) {
  declareModel(list, options);
  list.input("--source", options.source,
             "Sources, or prompts: one a line, .jsonl has {\"text\": ...} a line, - is standard "
             "input")
      .hinted();
  list.input("--target", options.target,
             "Targets, or continuations, each on the line of its source")
      .hinted();
  list.input("--input", options.input,
             "In place of both, texts that a model without an encoder scores from their beginning: "
             "also the perplexity of each");
  list.whole("--stride", options.stride, int64_t(1), int64_t(mostTokens), "N",
             "A text that is longer than the model allows is scored in windows that begin N tokens "
             "apart")
      .otherwise("half of the positions")
      .needs("--input");
  list.check([&list]() -> std::string {
    if (!list.given("--input")) {
      return !list.given("--source")   ? "--source FILE or --input FILE is missing"
             : !list.given("--target") ? "--target FILE is missing"
                                       : "";
    }
    for (const char *const other :
         {"--source", "--target", "--truncate", "--source-language", "--target-language"}) {
      if (list.given(other)) {
        return fmt::format("--input and {} are both given, expected one of them", other);
      }
    }
    return "";
  });
  declareLanguages(list, options.sourceLanguage, options.targetLanguage);
  list.output("--output", options.output, "Where the scores go");
  declareBatchTokens(list, options, "Tokens that are scored together");
  declareFormat(list, options, options.json,
                "text: the sum, a tab, and every token's log-probability; or jsonl");
  declareSources(list, options,
                 "it gets an empty line, in jsonl {\"source\", \"target\", \"error\"}");
  declareExecution(list, options);
}

namespace {
/// A pair of lines; without a source it counts as blank.
struct Pair : Scored<ScoringRequest> {
  std::string source;
  std::string target;
};

/// One run of the command, which reads two files in parallel.
struct ScoreRun {
  using Item = Pair;

  const ScoreOptions &options;
  Generator generator;
  LineReader sources;
  LineReader targets;
  OutputStream output;
  LineErrors errors;

  Result<std::optional<Pair>> next();
  Result<std::optional<ScoringRequest>> requestOf(const Line &source, const Line &target) const;
  Result<std::vector<std::vector<float>>> scoresOf(std::span<const ScoringRequest> requests) {
    return generator.score(requests);
  }
  Status write(std::span<const Pair> block);
};
} // namespace

/// Returns the request of two lines; nullopt for an empty source. Every failure is the lines'.
Result<std::optional<ScoringRequest>> ScoreRun::requestOf(const Line &source,
                                                          const Line &target) const {
  HEDDLE_TRY(source.status);
  HEDDLE_TRY(target.status);
  if (isBlank(source.text)) {
    return std::optional<ScoringRequest>();
  }
  Result<std::vector<int32_t>> from = sourceTokens(generator, options, source.text);
  HEDDLE_TRY_WITH(from.status(), sources.where());
  Result<std::vector<int32_t>> to =
      options.tokens ? parseTokenLine(target.text) : generator.encodeTarget(target.text);
  HEDDLE_TRY_WITH(to.status(), targets.where());
  ScoringRequest request{.target = std::move(*to)};
  (generator.hasSources() ? request.source : request.prefix) = std::move(*from);
  request.sourceLanguage = options.sourceLanguage;
  request.targetLanguage = options.targetLanguage;
  HEDDLE_TRY_WITH(generator.check(request), sources.where());
  return std::optional(std::move(request));
}

Result<std::optional<Pair>> ScoreRun::next() {
  HEDDLE_ASSIGN(const std::optional<Line> source, sources.next());
  HEDDLE_ASSIGN(const std::optional<Line> target, targets.next());
  if (source.has_value() != target.has_value() && !interrupted()) {
    const LineReader &shorter = source ? targets : sources;
    const LineReader &longer = source ? sources : targets;
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: no line for {}, expected as many lines "
                                                     "as the other file has",
                                                     shorter.name(), longer.where()));
  }
  if (!source || !target) {
    return std::optional<Pair>();
  }
  Pair pair{{.where = sources.where()}, std::string(source->text), std::string(target->text)};
  Result<std::optional<ScoringRequest>> request = requestOf(*source, *target);
  pair.status = request.status();
  if (request.ok()) {
    pair.request = std::move(*request);
  }
  return std::optional(std::move(pair));
}

/// Returns the answer to a pair with a failure.
static std::string errorText(const ScoreOptions &options, const Pair &pair) {
  return options.jsonLines ? jsonText({{"source", pair.source},
                                       {"target", pair.target},
                                       {"error", pair.status.message()}}) +
                                 "\n"
                           : "\n";
}

/// Returns the answer to a pair: the sum and every token's score. As text, an empty line for a pair
/// without a source.
static std::string scoreText(const ScoreOptions &options, const Pair &pair) {
  double sum = 0;
  Json list = Json::array();
  for (const float score : pair.scores) {
    sum += static_cast<double>(score);
    list.push_back(jsonScore(static_cast<double>(score)));
  }
  if (options.jsonLines) {
    return jsonText({{"source", pair.source},
                     {"target", pair.target},
                     {"score", jsonScore(sum)},
                     {"scores", std::move(list)}}) +
           "\n";
  }
  return pair.request ? fmt::format("{:.7f}\t{:.7f}\n", sum, fmt::join(pair.scores, " ")) : "\n";
}

Status ScoreRun::write(std::span<const Pair> block) {
  std::string lines;
  for (const Pair &pair : block) {
    lines += pair.status.ok() ? scoreText(options, pair) : errorText(options, pair);
  }
  return output.write(lines);
}

Status execute(const ScoreOptions &options) {
  if (!options.input.empty()) {
    return scoreTexts(options);
  }
  HEDDLE_ASSIGN(LineReader sources,
                openSources(options.source, options.tokens, options.inputFormat));
  HEDDLE_ASSIGN(LineReader targets,
                openSources(options.target, options.tokens, options.inputFormat));
  HEDDLE_ASSIGN(const std::optional<int64_t> total, countTexts(options.source));
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  if (!options.tokens) {
    HEDDLE_TRY(checkTokenizer(model));
  }
  HEDDLE_TRY(checkLanguages(model, options.sourceLanguage, options.targetLanguage, options.tokens));
  HEDDLE_ASSIGN(Generator generator,
                Generator::create(model, {.session = {.threads = options.threads},
                                          .batchTokens = options.batchTokens}));
  HEDDLE_ASSIGN(OutputStream output, OutputStream::open(options.output));
  LineErrors errors(options.onError, sources.name());
  ScoreRun run{options,           std::move(generator), std::move(sources), std::move(targets),
               std::move(output), std::move(errors)};
  Progress progress("sentences", options.json);
  noteInterruptions();
  HEDDLE_ASSIGN(const ScoredBlocks scored, scoreBlocks(run, progress, total));
  return run.errors.finish(run.output, scored.written, scored.failure);
}

} // namespace heddle::tools
