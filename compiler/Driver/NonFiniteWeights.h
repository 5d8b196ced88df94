// SPDX-License-Identifier: Apache-2.0
///
/// Notes which tensors of a model have numbers that are NaN or infinite, as training that diverged
/// leaves them. Linking reads every tensor that a binary uses; each is looked at while it is there.
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
  /// Looks at the values of a tensor from `first` on, unless they were seen before.
  void see(std::string_view name, ElementType element, std::span<const std::byte> values,
           int64_t first = 0);
  /// The same of the scales of a tensor of codes.
  void see(std::string_view name, std::span<const float> scales);

  /// Names the first of them and says how many more there are; empty if all numbers are finite.
  std::string text() const;

private:
  std::set<std::pair<std::string, int64_t>> seen;
  std::set<std::string, std::less<>> found;
  std::string firstFound;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_NONFINITEWEIGHTS_H
