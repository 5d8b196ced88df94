// SPDX-License-Identifier: Apache-2.0
///
/// Records which tensors of a model contain NaN or infinity, for example after diverged training.
/// Linking reads every tensor that a binary uses, and each is checked when it is read.
#ifndef HEDDLE_COMPILER_DRIVER_NONFINITEWEIGHTS_H
#define HEDDLE_COMPILER_DRIVER_NONFINITEWEIGHTS_H

#include "heddle/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace heddle {

class NonFiniteWeights {
public:
  /// Checks the values of a tensor from element `first` on, unless they have been checked before.
  void see(std::string_view name, ElementType element, std::span<const std::byte> values,
           int64_t first = 0);
  /// The same for the scales of a quantised tensor.
  void see(std::string_view name, std::span<const float> scales);

  /// Names the first affected tensor and how many more there are; empty if all numbers are finite.
  std::string text() const;

private:
  std::set<std::pair<std::string, int64_t>> seen;
  std::set<std::string, std::less<>> found;
  std::string firstFound;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_NONFINITEWEIGHTS_H
