// SPDX-License-Identifier: Apache-2.0
///
/// Callbacks through which passes read the contents of parameters. Values never enter the program:
/// the caller, which has the checkpoint, passes functions that read, or read and hash them.
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

/// A 128-bit hash of values, for comparison.
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  /// Whether every bit of every value is zero.
  bool isZero = false;

  friend bool operator==(const ContentHash &, const ContentHash &) = default;
};

/// Hashes `count` rows of a parameter's values, along its first axis, starting at row `first`;
/// returns nothing if they cannot be read.
using ParameterHasher = std::function<std::optional<ContentHash>(transformer::ParameterOp parameter,
                                                                 int64_t first, int64_t count)>;

/// Returns all values of a parameter, row major; nothing if they cannot be read.
using ParameterReader =
    std::function<std::optional<std::vector<float>>(transformer::ParameterOp parameter)>;

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_PARAMETERHASH_H
