// SPDX-License-Identifier: Apache-2.0
///
/// A tensor of a checkpoint, whatever format its file has. Quantized tensors keep their items and
/// the scales beside them until somebody asks for values.
#ifndef HEDDLE_FORMATS_CHECKPOINT_STOREDTENSOR_H
#define HEDDLE_FORMATS_CHECKPOINT_STOREDTENSOR_H

#include "formats/Checkpoint/Safetensors.h"

#include <cstddef>
#include <span>

namespace heddle {

/// What safetensors files have, and the scales that CTranslate2 has beside quantized weights.
struct StoredTensor : SafetensorsTensor {
  /// f32 at any alignment, one for all items or one for each row (index of the first dimension);
  /// a value is its item divided by its scale. Empty: the items are the values.
  std::span<const std::byte> scales;

  /// Whether the values are real numbers, so that Checkpoint::readF32() gives them.
  bool isReal() const {
    return !scales.empty() || dtype == Dtype::F32 || dtype == Dtype::F16 || dtype == Dtype::BF16;
  }
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_STOREDTENSOR_H
