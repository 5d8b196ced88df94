// SPDX-License-Identifier: Apache-2.0
///
/// Texts and numbers as lines.
#include "runtime/Tools/GenerationRecord.h"

#include "runtime/Tools/TokenLine.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

static std::string lineOf(const Json &record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A score with the digits that its float32 origins have.
static Json scoreOf(double score) {
  return std::isfinite(score) ? Json(std::round(score * 1e7) / 1e7) : Json(nullptr);
}

static Result<std::string> textOf(const GenerateOptions &options, const Generator &generator,
                                  const Hypothesis &hypothesis) {
  if (options.tokens) {
    return tokenLine(hypothesis.tokens);
  }
  return generator.decode(hypothesis.tokens);
}

Result<std::string> generationRecord(const GenerateOptions &options, const Generator &generator,
                                     std::string_view source, const GenerationResult &result) {
  std::string lines;
  Json list = Json::array();
  for (const Hypothesis &hypothesis : result.hypotheses) {
    HEDDLE_ASSIGN(std::string text, textOf(options, generator, hypothesis));
    if (options.jsonLines) {
      list.push_back(
          {{"text", text}, {"tokens", hypothesis.tokens}, {"score", scoreOf(hypothesis.score)}});
      continue;
    }
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    if (options.scores) {
      lines += fmt::format("{:.7f}\t", hypothesis.score);
    }
    lines += text + "\n";
  }
  if (options.jsonLines) {
    return lineOf({{"source", source}, {"hypotheses", std::move(list)}});
  }
  // Every source has as many lines, so that they can be counted.
  const auto wanted = static_cast<size_t>(options.generation.nbest);
  lines.append(wanted - std::min(wanted, result.hypotheses.size()), '\n');
  return lines;
}

std::string emptyRecord(const GenerateOptions &options, std::string_view source) {
  return options.jsonLines ? lineOf({{"source", source}, {"hypotheses", Json::array()}})
                           : std::string(static_cast<size_t>(options.generation.nbest), '\n');
}

std::string errorRecord(const GenerateOptions &options, std::string_view source,
                        const Status &failure) {
  return options.jsonLines ? lineOf({{"source", source}, {"error", failure.message()}})
                           : emptyRecord(options, source);
}

std::string errorRecord(const ScoreOptions &options, std::string_view source,
                        std::string_view target, const Status &failure) {
  return options.jsonLines
             ? lineOf({{"source", source}, {"target", target}, {"error", failure.message()}})
             : "\n";
}

std::string scoreRecord(const ScoreOptions &options, std::string_view source,
                        std::string_view target, std::span<const float> scores) {
  double sum = 0;
  Json list = Json::array();
  for (const float score : scores) {
    sum += static_cast<double>(score);
    list.push_back(scoreOf(static_cast<double>(score)));
  }
  if (options.jsonLines) {
    return lineOf({{"source", source},
                   {"target", target},
                   {"score", scoreOf(sum)},
                   {"scores", std::move(list)}});
  }
  return fmt::format("{:.7f}\t{:.7f}\n", sum, fmt::join(scores, " "));
}

} // namespace heddle::tools
