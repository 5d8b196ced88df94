// SPDX-License-Identifier: Apache-2.0
///
/// A tensor of a checkpoint, whatever format its file has. Quantized tensors keep their items and
/// the scales beside them until somebody asks for values.
#ifndef HEDDLE_FORMATS_CHECKPOINT_STOREDTENSOR_H
#define HEDDLE_FORMATS_CHECKPOINT_STOREDTENSOR_H

#include "formats/Checkpoint/Convert.h"
#include "formats/Checkpoint/Safetensors.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

namespace heddle {

/// A tensor as in safetensors files, with the scales that CTranslate2 stores beside quantized
/// weights.
struct StoredTensor : SafetensorsTensor {
  /// Unaligned f32, one scale for all items or one for each row (index of the first dimension). A
  /// value is its item divided by its scale. If there are no scales, the items are the values.
  std::span<const std::byte> scales;

  /// Whether Checkpoint::readF32() can read the values.
  bool isReal() const {
    return !scales.empty() ||
           std::find(std::begin(realTypes), std::end(realTypes), dtype) != std::end(realTypes);
  }
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_STOREDTENSOR_H
