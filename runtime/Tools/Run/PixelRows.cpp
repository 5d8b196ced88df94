// SPDX-License-Identifier: Apache-2.0
///
/// Only changes shapes: the order of the elements stays.
#include "runtime/Tools/Run/PixelRows.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::tools {

/// Returns whether a tensor has `width` elements for each sequence, in any axes except rows of
/// tokens.
static bool areWhole(std::span<const int64_t> shape, int64_t width, bool hasLengths) {
  int64_t elements = 1;
  for (size_t axis = 1; axis < shape.size(); ++axis) {
    if (__builtin_mul_overflow(elements, shape[axis], &elements)) {
      return false;
    }
  }
  return elements == width && (shape.size() > 2 || (shape.size() == 2 && !hasLengths));
}

/// Whether a tensor has as many elements as one sequence, in any axes.
static bool isOne(std::span<const int64_t> shape, int64_t width) {
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) {
      return false;
    }
  }
  return elements == width;
}

Result<std::vector<SafetensorsTensor>> pixelsAsRows(const EntryInfo &entry,
                                                    std::span<const SafetensorsTensor> tensors,
                                                    std::string_view where) {
  std::vector<SafetensorsTensor> flat(tensors.begin(), tensors.end());
  const int64_t across = entry.lengthMultiple;
  const bool hasLengths = std::any_of(tensors.begin(), tensors.end(),
                                      [](const auto &tensor) { return tensor.name == "lengths"; });
  for (SafetensorsTensor &tensor : flat) {
    const auto input = std::find_if(entry.inputs.begin(), entry.inputs.end(),
                                    [&](const PortInfo &each) { return each.name == tensor.name; });
    if (input == entry.inputs.end() || input->shape.size() != 2) {
      continue;
    }
    const int64_t width = input->shape.back();
    if (entry.maxLength == 1 && areWhole(tensor.shape, width, hasLengths)) {
      tensor.shape = {tensor.shape[0], 1, width};
      continue;
    }
    if (entry.maxLength == 1 && isOne(tensor.shape, width)) {
      tensor.shape = {1, 1, width};
      continue;
    }
    std::vector<int64_t> shape = tensor.shape;
    if (width == 1 && shape.size() == 3) {
      shape.push_back(1);
    }
    if (across == 1 || shape.size() != 4 || shape[2] != across || shape[3] != width) {
      continue;
    }
    if (shape[0] == 0 || shape[1] == 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: tensor {} has shape {}, expected at least one row of "
                                      "pixels in at least one example",
                                      where, quote(tensor.name), formatShape(tensor.shape)));
    }
    tensor.shape = {shape[0], shape[1] * across, width};
  }
  return flat;
}

} // namespace heddle::tools
