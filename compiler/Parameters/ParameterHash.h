// SPDX-License-Identifier: Apache-2.0
///
/// How a pass reads the content of parameters. Values never enter the program: the caller, who has
/// the checkpoint, passes functions that read them, or read and hash them.
#ifndef HEDDLE_COMPILER_PARAMETERS_PARAMETERHASH_H
#define HEDDLE_COMPILER_PARAMETERS_PARAMETERHASH_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace heddle {

namespace transformer {
class ParameterOp;
}

/// What there is to compare of some values: 128 bits of them all.
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  /// Whether every bit of every value is zero.
  bool isZero = false;

  friend bool operator==(const ContentHash &, const ContentHash &) = default;
};

/// Hashes `count` rows of a parameter's values from row `first` on, along its first axis; nothing
/// if they cannot be read.
using ParameterHasher = std::function<std::optional<ContentHash>(transformer::ParameterOp parameter,
                                                                 int64_t first, int64_t count)>;

/// All values of a parameter, row major; nothing if they cannot be read.
using ParameterReader =
    std::function<std::optional<std::vector<float>>(transformer::ParameterOp parameter)>;

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_PARAMETERHASH_H
