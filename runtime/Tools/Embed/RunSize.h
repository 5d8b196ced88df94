// SPDX-License-Identifier: Apache-2.0
///
/// How many tokens go through a model in one run. A signal is looked at between runs, so that a run
/// has to be short whatever the model and the machine are: what the last one took says how much the
/// next one gets.
#ifndef HEDDLE_RUNTIME_TOOLS_EMBED_RUNSIZE_H
#define HEDDLE_RUNTIME_TOOLS_EMBED_RUNSIZE_H

#include <algorithm>
#include <cstdint>

namespace heddle::tools {

class RunSize {
public:
  /// What a run is to take, a fifth of what people call at once: other work on the machine may make
  /// the next run as much slower.
  static constexpr double seconds = 0.2;
  /// The first run's tokens, and the fewest: enough that reading the weights is worth it, and less
  /// than a second of one core for models of 300 million weights.
  static constexpr int64_t fewest = 64;

  int64_t tokens() const { return size; }

  /// So many tokens took so long. Grows to four times at once, so that one wrong clock does not
  /// matter.
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
