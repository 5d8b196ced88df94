// SPDX-License-Identifier: Apache-2.0
///
/// Sorts texts by their scores, for the commands that rank.
#ifndef HEDDLE_RUNTIME_TOOLS_SIMILARITY_RANKING_H
#define HEDDLE_RUNTIME_TOOLS_SIMILARITY_RANKING_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// A text with its score.
struct RankedText {
  double score = 0;
  std::string text;
  /// Its line in the file; 0 for a text of the command line.
  int64_t line = 0;
  /// The number of texts before it.
  uint64_t place = 0;
};

/// The best texts so far.
class Ranking {
public:
  /// Keeps the best `top` texts; all if unset.
  explicit Ranking(std::optional<int64_t> top) : most(top ? static_cast<size_t>(*top) : 0) {}

  void add(double score, std::string text, int64_t line);
  /// Returns the texts in descending order of score, ties in order of arrival, and NaN last.
  std::vector<RankedText> take();

private:
  void sort();

  /// 0 means all.
  size_t most;
  std::vector<RankedText> texts;
  uint64_t added = 0;
};

/// Returns a line for each text: its score and itself or, as JSON, an object whose field `name` is
/// the score.
std::string rankedText(const std::vector<RankedText> &texts, std::string_view name, bool json);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_SIMILARITY_RANKING_H
