// SPDX-License-Identifier: Apache-2.0
///
/// Sorts and truncates when twice as many texts are held as are kept.
#include "runtime/Tools/Similarity/Ranking.h"

#include "runtime/Tools/Lines/LineFormats.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tuple>

namespace heddle::tools {

void Ranking::sort() {
  const auto order = [](const RankedText &text) {
    return std::tuple(std::isnan(text.score), std::isnan(text.score) ? 0 : -text.score, text.place);
  };
  std::sort(texts.begin(), texts.end(),
            [&](const RankedText &a, const RankedText &b) { return order(a) < order(b); });
  if (most != 0 && texts.size() > most) {
    texts.resize(most);
  }
}

void Ranking::add(double score, std::string text, int64_t line) {
  texts.push_back({score, std::move(text), line, added++});
  // Bounds the memory for a long file.
  if (most != 0 && texts.size() / 2 > most) {
    sort();
  }
}

std::vector<RankedText> Ranking::take() {
  sort();
  return std::move(texts);
}

std::string rankedText(const std::vector<RankedText> &texts, std::string_view name, bool json) {
  std::string result;
  for (const RankedText &text : texts) {
    if (json) {
      nlohmann::ordered_json record = {{std::string(name), jsonScore(text.score)},
                                       {"text", text.text}};
      if (text.line > 0) {
        record["line"] = text.line;
      }
      result += jsonText(record) + "\n";
      continue;
    }
    // One line for each text, whatever it contains.
    std::string line = text.text;
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    result += fmt::format("{:.4f}\t{}\n", text.score, line);
  }
  return result;
}

} // namespace heddle::tools
