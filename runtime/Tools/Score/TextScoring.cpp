// SPDX-License-Identifier: Apache-2.0
///
/// Scores texts, and reports the perplexity of all of them at the end.
#include "runtime/Tools/Score/TextScoring.h"

#include "heddle/Generation.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Score/ScoredBlocks.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

namespace {
/// A line, whose request is its tokens.
struct ScoredText : Scored<std::vector<int32_t>> {
  std::string text;
};

/// One run of the command.
struct TextRun {
  using Item = ScoredText;

  const ScoreOptions &options;
  Generator generator;
  LineReader lines;
  OutputStream output;
  LineErrors errors;
  double sum = 0;
  int64_t tokens = 0;
  int64_t texts = 0;

  Result<std::optional<ScoredText>> next();
  Result<std::vector<int32_t>> tokensOf(const Line &line) const;
  Result<std::vector<std::vector<float>>> scoresOf(std::span<const std::vector<int32_t>> asked) {
    return generator.scoreTexts(asked, options.stride);
  }
  std::string answerTo(const ScoredText &text) const;
  Status write(std::span<const ScoredText> block);
};
} // namespace

/// Returns the tokens of a line; none for a blank line. Every failure is the line's.
Result<std::vector<int32_t>> TextRun::tokensOf(const Line &line) const {
  HEDDLE_TRY(line.status);
  if (isBlank(line.text)) {
    return std::vector<int32_t>();
  }
  Result<std::vector<int32_t>> ids = sourceTokens(generator, options, line.text);
  HEDDLE_TRY_WITH(ids.status(), lines.where());
  HEDDLE_TRY_WITH(generator.checkText(*ids, options.stride), lines.where());
  return ids;
}

Result<std::optional<ScoredText>> TextRun::next() {
  HEDDLE_ASSIGN(const std::optional<Line> line, lines.next());
  if (!line) {
    return std::optional<ScoredText>();
  }
  ScoredText text{{.where = lines.where()}, std::string(line->text)};
  Result<std::vector<int32_t>> ids = tokensOf(*line);
  text.status = ids.status();
  if (ids.ok() && !ids->empty()) {
    text.request = *std::move(ids);
  }
  return std::optional(std::move(text));
}

static double sumOf(std::span<const float> scores) {
  double sum = 0;
  for (const float score : scores) {
    sum += static_cast<double>(score);
  }
  return sum;
}

static double perplexityOf(double sum, int64_t tokens) {
  return std::exp(-sum / static_cast<double>(tokens));
}

/// Returns the sum, the perplexity and every token's score, or an object with these; empty for a
/// blank line and one that cannot be used.
std::string TextRun::answerTo(const ScoredText &text) const {
  const double own = sumOf(text.scores);
  const auto count = static_cast<int64_t>(text.scores.size());
  if (!options.jsonLines) {
    return count == 0 ? "\n"
                      : fmt::format("{:.7f}\t{:.7f}\t{:.7f}\n", own, perplexityOf(own, count),
                                    fmt::join(text.scores, " "));
  }
  if (!text.status.ok()) {
    return jsonText({{"text", text.text}, {"error", text.status.message()}}) + "\n";
  }
  Json list = Json::array();
  for (const float score : text.scores) {
    list.push_back(jsonScore(static_cast<double>(score)));
  }
  return jsonText({{"text", text.text},
                   {"score", jsonScore(own)},
                   {"perplexity", count == 0 ? Json() : jsonScore(perplexityOf(own, count))},
                   {"scores", std::move(list)}}) +
         "\n";
}

Status TextRun::write(std::span<const ScoredText> block) {
  std::string answers;
  for (const ScoredText &text : block) {
    answers += answerTo(text);
    sum += sumOf(text.scores);
    tokens += static_cast<int64_t>(text.scores.size());
    texts += text.scores.empty() ? 0 : 1;
  }
  return output.write(answers);
}

Status scoreTexts(const ScoreOptions &options) {
  HEDDLE_ASSIGN(LineReader lines, openSources(options.input, options.tokens, options.inputFormat));
  HEDDLE_ASSIGN(const std::optional<int64_t> total, countTexts(options.input));
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  if (!options.tokens) {
    HEDDLE_TRY(checkTokenizer(model));
  }
  HEDDLE_ASSIGN(Generator generator,
                Generator::create(model, {.session = {.threads = options.threads},
                                          .batchTokens = options.batchTokens}));
  if (generator.hasSources()) {
    return optionError(
        fmt::format("--input is given, and {} answers sources: expected --source and "
                    "--target",
                    model.path()));
  }
  if (options.stride > 0 && generator.longestTarget() == 0) {
    return optionError(fmt::format("--stride is given, and {} has no limit of positions: expected "
                                   "no --stride, texts are scored whole",
                                   model.path()));
  }
  HEDDLE_ASSIGN(OutputStream output, OutputStream::open(options.output));
  LineErrors errors(options.onError, lines.name());
  TextRun run{options, std::move(generator), std::move(lines), std::move(output),
              std::move(errors)};
  Progress progress("texts", options.json);
  noteInterruptions();
  HEDDLE_ASSIGN(const ScoredBlocks scored, scoreBlocks(run, progress, total));
  if (run.tokens > 0 && !options.json) {
    sayAboveProgress(fmt::format("heddle: {} {}, {} tokens, perplexity {:.4f}\n", run.texts,
                                 run.texts == 1 ? "text" : "texts", run.tokens,
                                 perplexityOf(run.sum, run.tokens)));
  }
  return run.errors.finish(run.output, scored.written, scored.failure);
}

} // namespace heddle::tools
