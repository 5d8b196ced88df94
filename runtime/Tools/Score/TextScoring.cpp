// SPDX-License-Identifier: Apache-2.0
///
/// Reads texts in blocks, and scores each block in as few passes as it takes. The perplexity of all
/// texts is said in the end.
#include "runtime/Tools/Score/TextScoring.h"

#include "heddle/Generation.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

namespace {
/// A line, and what becomes of it; a blank one has no tokens, and is written without a score.
struct ScoredText {
  std::string text;
  std::string where;
  std::vector<int32_t> tokens = {};
  Status status = {};
  std::vector<float> scores = {};
};

/// One run of the command.
struct TextRun {
  const ScoreOptions &options;
  Generator generator;
  LineReader lines;
  OutputStream output;
  LineErrors errors;
  double sum = 0;
  int64_t tokens = 0;
  int64_t texts = 0;

  Status readBlock(std::vector<ScoredText> &block, bool &more);
  Result<std::vector<int32_t>> tokensOf(const Line &line) const;
  void score(std::vector<ScoredText> &block);
  std::string answerTo(const ScoredText &text) const;
  Status write(std::span<const ScoredText> block);
};
} // namespace

/// None for a blank line. Every failure is the line's.
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

/// The next texts; `more` says whether others may follow. What ends the run leaves the texts before
/// it in the block.
Status TextRun::readBlock(std::vector<ScoredText> &block, bool &more) {
  // Small enough that an answer does not wait long.
  constexpr size_t blockLines = 64;
  while (block.size() < blockLines && !interrupted()) {
    Result<std::optional<Line>> line = lines.next();
    more = line.ok() && line->has_value();
    if (!more) {
      return line.status();
    }
    ScoredText text{std::string((*line)->text), lines.where()};
    Result<std::vector<int32_t>> ids = tokensOf(**line);
    text.status = ids.status();
    if (ids.ok()) {
      text.tokens = *std::move(ids);
    } else if (!errors.goOn(text.status)) {
      more = false;
      return {};
    }
    block.push_back(std::move(text));
  }
  return {};
}

/// Gives every text its scores. Where a block cannot be scored, its texts are scored one by one, so
/// that the failure is that of a line.
void TextRun::score(std::vector<ScoredText> &block) {
  std::vector<ScoredText *> asked;
  std::vector<std::vector<int32_t>> ids;
  for (ScoredText &text : block) {
    if (!text.tokens.empty()) {
      asked.push_back(&text);
      ids.push_back(text.tokens);
    }
  }
  Result<std::vector<std::vector<float>>> scores = generator.scoreTexts(ids, options.stride);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (scores.ok()) {
      asked[i]->scores = std::move((*scores)[i]);
      continue;
    }
    auto alone = generator.scoreTexts({&ids[i], 1}, options.stride);
    if (alone.ok()) {
      asked[i]->scores = std::move(alone->front());
      continue;
    }
    asked[i]->status = alone.status().annotate(asked[i]->where);
    if (!errors.goOn(asked[i]->status)) {
      block.resize(static_cast<size_t>(asked[i] - block.data()));
      return;
    }
  }
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

/// The sum, the perplexity and every token's score, or an object with these; empty for a blank line
/// and one that cannot be used.
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
  HEDDLE_ASSIGN(LineReader lines, openSources(options.input, options.tokens));
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
  int64_t written = 0;
  Status failure;
  for (bool more = true; more && !run.errors.stopped() && !interrupted();) {
    std::vector<ScoredText> block;
    failure = run.readBlock(block, more);
    run.score(block);
    HEDDLE_TRY(run.write(block));
    written += static_cast<int64_t>(block.size());
    progress.update(written, total);
  }
  if (run.tokens > 0 && !options.json) {
    sayAboveProgress(fmt::format("heddle: {} {}, {} tokens, perplexity {:.4f}\n", run.texts,
                                 run.texts == 1 ? "text" : "texts", run.tokens,
                                 perplexityOf(run.sum, run.tokens)));
  }
  return run.errors.finish(run.output, written, failure);
}

} // namespace heddle::tools
