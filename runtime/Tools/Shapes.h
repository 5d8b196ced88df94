// SPDX-License-Identifier: Apache-2.0
///
/// Batches as `heddle bench` takes them: rectangular ("32x128": 32 sentences of 128 tokens), or
/// ragged from a file with one length a line.
#ifndef HEDDLE_RUNTIME_TOOLS_SHAPES_H
#define HEDDLE_RUNTIME_TOOLS_SHAPES_H

#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// One piece of work: the lengths of its sentences, all run as one batch.
struct Shape {
  std::string name;
  std::vector<int32_t> lengths;

  /// The sum of the lengths.
  int64_t tokens() const;
};

/// The most tokens one batch may have.
inline constexpr int64_t shapeTokenLimit = int64_t(1) << 26;

/// A list such as "1x16,32x128".
Result<std::vector<Shape>> parseShapes(std::string_view list);

/// The lengths in a file, as one batch named "lengths".
Result<Shape> readLengths(const std::string &path);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_SHAPES_H
