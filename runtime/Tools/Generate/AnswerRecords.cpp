// SPDX-License-Identifier: Apache-2.0
///
/// Writes answers as lines of text or of JSON.
#include "runtime/Tools/Generate/AnswerRecords.h"

#include "runtime/Generate/SearchRules.h"
#include "runtime/Tools/Lines/LineFormats.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::tools {

/// Returns the text of a hypothesis, given its tokens without a prompt, or the ids.
Result<std::string> AnswerRecords::textOf(const Hypothesis &hypothesis,
                                          std::span<const int32_t> tokens) const {
  if (options.tokens) {
    return tokenLine(tokens);
  }
  return hypothesis.finish == FinishReason::Stop ? hypothesis.text : generator.decode(tokens);
}

Json AnswerRecords::hypothesisRecord(const Hypothesis &hypothesis, std::span<const int32_t> tokens,
                                     const std::string &text) const {
  Json record = {{"text", text},
                 {"tokens", std::vector(tokens.begin(), tokens.end())},
                 {"score", jsonScore(hypothesis.score)},
                 {"finish", finishName(hypothesis.finish)}};
  if (options.generation.tokenScores) {
    Json &list = record["token_scores"] = Json::array();
    for (const float score : hypothesis.tokenScores) {
      list.push_back(jsonScore(static_cast<double>(score)));
    }
  }
  if (options.generation.topScores > 0) {
    Json &places = record["top_scores"] = Json::array();
    for (const std::vector<TokenScore> &best : hypothesis.topScores) {
      Json list = Json::array();
      for (const TokenScore &each : best) {
        list.push_back(
            {{"token", each.token}, {"score", jsonScore(static_cast<double>(each.score))}});
      }
      places.push_back(std::move(list));
    }
  }
  return record;
}

/// Returns the answer to a source: one line for each text, best first, or one JSON line {"source",
/// "hypotheses": [{"text", "tokens", "score", "finish"}]}. The answer to a prompt, whose field is
/// "prompt", excludes the prompt. In plain lines, line breaks of a text become spaces.
Result<std::string> AnswerRecords::generationRecord(std::string_view source,
                                                    const GenerationResult &result) const {
  std::string lines;
  Json list = Json::array();
  for (const Hypothesis &hypothesis : result.hypotheses) {
    const size_t before = generator.hasSources() ? 0 : static_cast<size_t>(result.prefix);
    const std::span<const int32_t> tokens = std::span(hypothesis.tokens).subspan(before);
    HEDDLE_ASSIGN(std::string text, textOf(hypothesis, tokens));
    if (options.jsonLines) {
      list.push_back(hypothesisRecord(hypothesis, tokens, text));
      continue;
    }
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    if (options.scores) {
      lines += fmt::format("{:.7f}\t", hypothesis.score);
    }
    lines += text + "\n";
  }
  if (options.jsonLines) {
    return jsonText({{asked(), source}, {"hypotheses", std::move(list)}}) + "\n";
  }
  // Every source has the same number of lines, so that they can be counted.
  const auto wanted = static_cast<size_t>(options.generation.nbest);
  lines.append(wanted - std::min(wanted, result.hypotheses.size()), '\n');
  return lines;
}

/// Returns the answer to an empty line.
std::string AnswerRecords::emptyRecord(std::string_view source) const {
  return options.jsonLines ? jsonText({{asked(), source}, {"hypotheses", Json::array()}}) + "\n"
                           : std::string(static_cast<size_t>(options.generation.nbest), '\n');
}

/// Returns the answer to a line that cannot be used: as many empty lines as an answer has, or a
/// JSON line {"source", "error"}. `source` is the readable part of the line.
std::string AnswerRecords::errorRecord(std::string_view source, const Status &failure) const {
  return options.jsonLines ? jsonText({{asked(), source}, {"error", failure.message()}}) + "\n"
                           : emptyRecord(source);
}

} // namespace heddle::tools
