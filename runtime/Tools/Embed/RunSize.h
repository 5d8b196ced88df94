// SPDX-License-Identifier: Apache-2.0
///
/// Chooses how many tokens go through a model in one run. Signals are checked between runs, so a
/// run has to be short for any model and machine: the time of the last run determines the size of
/// the next one.
#ifndef HEDDLE_RUNTIME_TOOLS_EMBED_RUNSIZE_H
#define HEDDLE_RUNTIME_TOOLS_EMBED_RUNSIZE_H

#include <algorithm>
#include <cstdint>

namespace heddle::tools {

class RunSize {
public:
  /// The target duration of a run: a fifth of what people perceive as immediate, because other work
  /// on the machine may slow the next run down by that much.
  static constexpr double seconds = 0.2;
  /// The tokens of the first run, and the minimum: enough that reading the weights is worthwhile,
  /// and less than a second on one core for models of 300 million weights.
  static constexpr int64_t fewest = 64;

  int64_t tokens() const { return size; }

  /// Records that `tokens` tokens took `time` seconds. Grows at most fourfold, so that one wrong
  /// measurement does not matter.
  void took(int64_t tokens, double time) {
    const auto next = time > 0 ? static_cast<double>(tokens) * seconds / time : 4.0 * most;
    size = std::clamp(static_cast<int64_t>(std::min<double>(next, most)), fewest,
                      std::min(4 * size, most));
  }

private:
  /// More tokens than any block of texts has.
  static constexpr int64_t most = int64_t(1) << 26;
  int64_t size = fewest;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_EMBED_RUNSIZE_H
